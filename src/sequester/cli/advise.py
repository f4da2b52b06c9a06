"""``sequester advise``: which method to use."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.exits import DONE, UNMET
from sequester.cli.options import ConfigPath, Json, Quiet
from sequester.cli.terminal import Terminal
from sequester.errors import InputError
from sequester.release.purpose import KEEP, KNOWN, QUESTIONS, RECIPIENT, RELEASE

if TYPE_CHECKING:
    from sequester.release.purpose import Question


def _option(question: "Question") -> typer.models.OptionInfo:
    answers = "; ".join(f"{answer}: {means}" for answer, means in question.answers.items())
    option: typer.models.OptionInfo = typer.Option(
        f"--{question.name}", metavar="ANSWER", help=f"{question.text} {answers}."
    )
    return option


def advise(
    config: ConfigPath,
    recipient: Annotated[str | None, _option(RECIPIENT)] = None,
    known: Annotated[str | None, _option(KNOWN)] = None,
    keep: Annotated[str | None, _option(KEEP)] = None,
    release: Annotated[str | None, _option(RELEASE)] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Recommend a method.

    Asks four questions, or takes their answers as options: who receives the data, what they may know, what
    must stay true, and whether it is one release. Exit 1 if no method serves the answers for this data.
    """
    given = dict(zip([each.name for each in QUESTIONS], (recipient, known, keep, release), strict=True))
    terminal = Terminal(json, quiet)
    answers = _answers(given, terminal, may_ask=not json and not quiet)
    from sequester.workflow.advise import advise as weigh  # noqa: PLC0415  (--help need not wait for polars)

    with terminal.progress() as progress:
        advice = weigh(config, **answers, progress=progress)
    terminal.answer(advice.to_json(), advice.lines())
    return DONE if advice else UNMET


def _answers(given: dict[str, str | None], terminal: Terminal, *, may_ask: bool) -> dict[str, str]:
    """Take the answers that are given, and ask for the others where somebody is there to answer."""
    asks = may_ask and sys.stdin.isatty() and sys.stderr.isatty()
    answers: dict[str, str] = {}
    lines = []
    for question in QUESTIONS:
        answer = given[question.name]
        if answer is None and asks:
            answer = _ask(question, terminal)
        if answer is not None and answer in question.answers:
            answers[question.name] = answer
        else:
            got = "is missing" if answer is None else f"got {answer!r}"
            words = ", ".join(question.answers)
            lines.append(f"--{question.name} must be one of {words}, {got}")
    if lines:
        raise InputError(*lines)
    return answers


def _ask(question: "Question", terminal: Terminal) -> str:
    terminal.say(question.text)
    for number, (answer, means) in enumerate(question.answers.items(), start=1):
        terminal.say(f"  {number}  {answer}: {means}")
    by_number = {str(number): answer for number, answer in enumerate(question.answers, start=1)}
    while True:
        said: str = typer.prompt("Number or word", err=True).strip()
        answer = by_number.get(said, said)
        if answer in question.answers:
            return answer
        terminal.say(f"{said!r} is none of them")
