"""``sequester init``: a first configuration."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.options import Force, Json, Quiet
from sequester.cli.terminal import Terminal, plain
from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.workflow.init import Proposed


def init(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A table of events, in any format that is read.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the configuration goes.")] = Path(
        "release.toml"
    ),
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help='Who, where the guess is wrong; "row" if each row is a person.'),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="What nobody may learn about a person; may be given several times."
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Where the name of DATA does not tell.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(metavar="CHARACTER", help="Of a CSV file.")] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a text file that is not UTF-8.")
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a first configuration.

    Looks at the data, guesses the role and the hierarchy of every column, and explains each guess in a
    comment. What is sensitive is never guessed: it is asked on a terminal, and left open otherwise.
    """
    from sequester.workflow.init import init as draft  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        proposed = draft(
            data,
            out,
            person=person,
            format=form,
            delimiter=delimiter,
            encoding=encoding,
            force=force,
            progress=progress,
        )
    if sensitive:
        proposed = proposed.with_sensitive(sensitive)
    elif _may_ask(json, quiet):
        proposed = _ask(proposed, terminal, ask_person=person is None)
    proposed.write()
    for doubt in proposed.draft.doubts:
        terminal.warn(doubt)
    terminal.answer(proposed.to_json(), _tell(proposed))


def _may_ask(json: bool, quiet: bool) -> bool:
    return not json and not quiet and sys.stdin.isatty() and sys.stderr.isatty()


def _ask(proposed: "Proposed", terminal: Terminal, *, ask_person: bool) -> "Proposed":
    """Ask who and what is sensitive; an empty answer takes the guess, and leaves the other open."""
    if ask_person:
        guess = proposed.draft.person
        terminal.say(f"{proposed.data.path}: {guess.why}")
        answer = _answer(f"Who? A column, or row if each row is a person [{plain(guess.column)}]")
        while answer and answer != guess.column:
            try:
                proposed = proposed.with_person(answer)
                break
            except InputError as error:
                answer = _again(error, terminal)
    if proposed.draft.symbol is not None:
        return proposed
    terminal.say(f"What must nobody learn about a person?{_could_be(proposed)}")
    answer = _answer("Columns with commas between them, or nothing to decide later")
    while answer:
        try:
            return proposed.with_sensitive([name.strip() for name in answer.split(",")])
        except InputError as error:
            answer = _again(error, terminal)
    return proposed


def _could_be(proposed: "Proposed") -> str:
    names = ", ".join(each.name for each in proposed.draft.candidates)
    return f" It could be {names}." if names else ""


def _answer(question: str) -> str:
    answer: str = typer.prompt(question, default="", show_default=False, err=True)
    return answer.strip()


def _again(error: InputError, terminal: Terminal) -> str:
    terminal.say(str(error))
    return _answer("Again, or nothing")


def _tell(proposed: "Proposed") -> Iterator[str]:
    draft, out = proposed.draft, proposed.out
    who = "each row is a person" if draft.person.column == "row" else f"person {draft.person.column}"
    parts = [who]
    if draft.when is not None:
        parts.append(f"{'time' if draft.when.is_time else 'order'} {' and '.join(draft.when.columns)}")
    if draft.symbol is not None:
        parts.append(f"symbol {draft.symbol.column}")
    elif draft.quasi:
        parts.append(f"{len(draft.quasi)} quasi-identifier{'s' * (len(draft.quasi) != 1)}")
    if draft.sensitive:
        parts.append(f"sensitive {', '.join(each.name for each in draft.sensitive)}")
    if draft.drop:
        parts.append(f"{len(draft.drop)} dropped")
    yield f"{out}: {'; '.join(parts)}"
    if draft.symbol is None and not draft.sensitive:
        yield f"sensitive: yours to say, in {out}.{_could_be(proposed)}"
    yield f"next: read {out}, where each guess has its reason, and run sequester inspect {out}"
