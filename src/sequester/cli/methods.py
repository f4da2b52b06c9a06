"""Commands on methods: ``methods``, ``warmup``, ``advise``, ``compare`` and ``reproduce``."""

import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sequester._repr import aligned
from sequester.cli.exits import DONE, INTERNAL_ERROR, NOT_SATISFIED
from sequester.cli.options import (
    ConfigPath,
    EngineAddress,
    Json,
    Quiet,
    Seed,
    argument,
    flag,
    option,
    whole_number,
)
from sequester.cli.terminal import Terminal, duration, levels
from sequester.errors import InputError
from sequester.release.purpose import KEEP, KNOWN, QUESTIONS, RECIPIENT, RELEASE

if TYPE_CHECKING:
    from sequester.methods.method import Method
    from sequester.release.purpose import Question
    from sequester.reproduce import Design
    from sequester.reproduce.reproduce import Reproduction
    from sequester.workflow.comparison.comparison import Comparison


def methods(json: Json = False, quiet: Quiet = False) -> None:
    """List the methods to choose from.

    Of each: what it promises, what it changes, when to use it, and its parameters.
    """
    from sequester.methods import METHODS  # noqa: PLC0415  (--help need not wait for it)

    described = [_describe(method) for method in METHODS.values()]
    Terminal(json, quiet).answer({"methods": described}, _lines(described))


def warmup(
    methods: Annotated[
        list[str] | None, argument("[METHOD]...", "Methods to compile for; all unless named.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile ahead, so that the first use does not wait.

    Protects, verifies and attacks a small table with each method, which compiles the code that these
    commands need and keeps it. For images of containers, and for clusters.
    """
    terminal = Terminal(json, quiet)
    from sequester.workflow.warmup import warm_up  # noqa: PLC0415  (--help need not wait for numba)

    document: list[dict[str, Any]] = []
    for name, group in groupby(warm_up(methods or ()), key=lambda warmed: warmed.method or warmed.command):
        seconds = [each for warmed in group for each in warmed.kernels.values()]
        document.append({"name": name, "kernels": len(seconds), "seconds": round(sum(seconds), 1)})
        if not quiet:
            done = f"{len(seconds)} kernels compiled in {duration(sum(seconds))}"
            terminal.say(f"{name}: {done if seconds else 'compiled already'}")
    compiled = sum(each["kernels"] for each in document)
    terminal.answer({"compiled": document}, [f"{compiled} kernels were compiled"])


def _describe(method: "type[Method]") -> dict[str, Any]:
    from sequester.workflow.parameters import describe_type, parameters_of  # noqa: PLC0415  (as above)

    return {
        "name": method.name,
        "class": method.__name__,
        "promise": method.promise,
        "changes": method.changes,
        "use_when": method.use_when,
        "paper": method.paper,
        "parameters": [
            {
                "name": each.name,
                "must_be": describe_type(each.annotation),
                "required": each.required,
                **({} if each.required else {"default": each.default}),
                "about": each.about,
            }
            for each in parameters_of(method)
        ],
    }


def _lines(described: list[dict[str, Any]]) -> Iterator[str]:
    for place, each in enumerate(described):
        if place:
            yield ""
        yield each["name"]
        yield from _entry("promises", each["promise"])
        yield from _entry("changes", each["changes"])
        yield from _entry("use it", each["use_when"])
        for parameter in each["parameters"]:
            default = "" if parameter["required"] else f" (default {_toml(parameter['default'])})"
            about = f": {parameter['about']}" if parameter["about"] else ""
            yield from _entry(parameter["name"], f"{parameter['must_be']}{default}{about}")
        yield from _entry("paper", each["paper"])


def _entry(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, 96, initial_indent=f"  {name + ' ':<11}", subsequent_indent=" " * 13)


def _toml(value: object) -> str:
    if value == ():
        return "none"
    return str(value).lower() if isinstance(value, bool) or value is None else repr(value).replace("'", '"')


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
    answers = _answers(given, terminal)
    from sequester.workflow.advise import advise as weigh  # noqa: PLC0415  (--help need not wait for polars)

    with terminal.progress() as progress:
        advice = weigh(config, **answers, progress=progress)
    terminal.answer(advice.to_json(), advice.lines())
    return DONE if advice else NOT_SATISFIED


def _answers(given: dict[str, str | None], terminal: Terminal) -> dict[str, Any]:
    """Take the answers that are given, and ask for the others where somebody is there to answer."""
    answers: dict[str, str] = {}
    lines = []
    for question in QUESTIONS:
        answer = given[question.name]
        if answer is None and terminal.may_ask:
            answer = _ask(question, terminal)
        if answer is not None and answer in question.answers:
            answers[question.name] = answer
        else:
            words = ", ".join(question.answers)
            lines.append(
                f"--{question.name} is missing; it must be one of {words}"
                if answer is None
                else f"--{question.name} must be one of {words}, got {answer!r}"
            )
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


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        msg = f"must be a number from 0 to 1, got {text!r}"
        raise typer.BadParameter(msg)
    return value


def compare(
    config: ConfigPath,
    methods: Annotated[str | None, option("A,B", "These methods; by default all that fit the data.")] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "K=2,5,10",
            "Values of a parameter, for the methods that have it. Several times: every combination.",
            "--set",
        ),
    ] = None,
    out: Annotated[Path, option("DIR", "Where everything goes; the same command resumes there.")] = Path(
        "sequester-compare"
    ),
    measure: Annotated[
        str | None, option("NAME", "The measure of utility that is drawn against the risk.")
    ] = None,
    adversary: Annotated[
        str | None,
        option("NAME", "Whose risk is compared; by default found: persons expected to be re-identified."),
    ] = None,
    known: Annotated[int, option("N", "How many items the adversary knows.", parser=whole_number(1))] = 2,
    targets: Annotated[int, option("N", "How many targets are tried.", parser=whole_number(1))] = 10_000,
    max_risk: Annotated[
        float | None, option("X", "Recommend the best candidate whose risk is at most this.", parser=_share)
    ] = None,
    at_once: Annotated[
        int | None,
        option(
            "N",
            "Candidates side by side, at most; by default one per core. Memory may allow fewer.",
            parser=whole_number(1),
        ),
    ] = None,
    write_releases: Annotated[
        bool, flag("--write-releases", "Also write each release. Hand out one of them only.")
    ] = False,
    seed: Seed = None,
    force: Annotated[bool, flag("--force", "Begin anew, and replace an earlier comparison.")] = False,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare methods and parameters.

    Tries them all, one process each, and lets the same adversary try every release: a table, a drawing of
    the frontier between risk and utility, a page about each candidate, and which of them to look at first.
    Results are kept as they come. Exit 1 if no candidate keeps its promise, or none is within --max-risk.
    """
    from sequester.workflow.compare import CompareOptions, compare_config  # noqa: PLC0415  (--help need not wait)
    from sequester.workflow.comparison.grid import read_methods, read_settings  # noqa: PLC0415  (as above)

    terminal = Terminal(json, quiet)
    asked = CompareOptions(
        known=known,
        targets=targets,
        adversary=adversary,
        measure=measure,
        max_risk=max_risk,
        at_once=at_once,
        seed=seed,
        force=force,
        write_releases=write_releases,
    )
    with (
        terminal.resumable(
            out / "comparison.json",
            f"the results so far are kept in {out}; the same command goes on from there",
        ),
        terminal.work(engine) as run,
    ):
        found = compare_config(
            config,
            out=out,
            methods=read_methods(methods),
            settings=read_settings(settings or ()),
            asked=asked,
            run=run,
        )
    return _answer_comparison(found, out, terminal)


def _answer_comparison(found: "Comparison", out: Path, terminal: Terminal) -> int:
    """Print what was compared, and return the exit code."""
    if found.recommended is None:
        most = found.max_risk
        within = "" if most is None or not found.made else f" with a risk of at most {most:g}"
        terminal.say(f"error: no candidate keeps its promise{within}; {out / 'report.html'} says why")
    terminal.answer(found.to_json(), _comparison_lines(found, out), made=out)
    if any(each.is_ours for each in found.tried):
        return INTERNAL_ERROR
    return NOT_SATISFIED if found.recommended is None or found.beaten else DONE


def _comparison_lines(found: "Comparison", out: Path) -> Iterator[str]:
    from sequester.report.text import in_population, population_for  # noqa: PLC0415  (as above)
    from sequester.workflow.comparison.comparison import ADVERSARIES, describe_knowledge  # noqa: PLC0415  (as above)
    from sequester.workflow.comparison.trial import SINGLED_OUT  # noqa: PLC0415  (as above)

    made = [place for place, each in enumerate(found.tried) if each.holds]
    if made:
        header = ("", "candidate", "risk", "95%", found.measure, "lost", "invented", "reached", "seconds")
        yield from aligned([header, *(_row(found, place) for place in made)])
        yield ""
    for title, state in (("not feasible", "unattainable"), ("do not apply", "unfit"), ("failed", "failed")):
        others = [each for each in found.tried if each.state == state]
        if others:
            yield f"{title}:"
            yield from (f"  {each.label}: {each.reason}" for each in others)
            yield ""
    known = (
        ""
        if found.adversary == "record_guess"
        else f", for an adversary {describe_knowledge(found.knowledge)}"
    )
    today = ""
    if found.original is not None:
        value = found.original.value
        today = f"; in the original it is {in_population(value, population_for([value]))}"
    yield f"risk: {ADVERSARIES[found.adversary]}{known}{today}"
    alike = sum(not found.told_apart(place) for place in made if place != found.recommended)
    if alike:
        yield f"= marks {alike:,} whose risk has an interval that overlaps that of the recommended one"
    beyond = sorted({each.utility[SINGLED_OUT].value for each in found.made if SINGLED_OUT in each.utility})
    if beyond:
        span = " to ".join(f"{value:.1%}" for value in dict.fromkeys((beyond[0], beyond[-1])))
        yield f"beyond the promises: {span} of the persons are singled out by everything that is released"
    if found.recommended is not None:
        yield f"recommended      {found.tried[found.recommended].label}"
    yield f"to read          {out / 'report.html'} (internal: do not share)"
    yield f"table, drawing   {out / 'candidates.csv'}, {out / 'frontier.svg'}"


def _row(found: "Comparison", place: int) -> tuple[str, ...]:
    each, score = found.tried[place], found.score(place)
    stands = "*" if place == found.recommended else "+" if place in found.frontier else ""
    alike = "" if place == found.recommended or found.told_apart(place) else "="
    return (
        stands + ("o" if place in found.local_optima else "") + alike,
        each.label,
        found.risk_text(place),
        found.interval_text(place),
        "" if score is None else f"{score.value:.4g}",
        f"{each.lost_share:.1%}",
        f"{each.invented:,}",
        levels(each.achieved),
        f"{each.seconds:.1f}",
    )


def reproduce(
    paper: Annotated[str, argument("PAPER", "The paper, such as wang-2010.")],
    data: Annotated[
        Path | None, option("DIR", "The folder of public data sets; without it, data is made.")
    ] = None,
    quick: Annotated[bool, flag("--quick", "Run a part of the grid, within minutes.")] = False,
    sampled: Annotated[
        bool, flag("--sampled", "Run a sample of the grid, by the design that the page states.")
    ] = False,
    finished: Annotated[
        bool, flag("--finished", "Run nothing; write the results of the cells that are finished.")
    ] = False,
    out: Annotated[Path | None, option("DIR", "Where results go; out/reproduce/PAPER by default.")] = None,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run the experiments of a paper, and compare with what it says.

    Writes tables, figures, and what the paper says beside what is measured. Every point of the grid is kept
    as it is done: a run that was stopped goes on where it ended.
    """
    from sequester.reproduce.reproduce import reproduce as run_paper  # noqa: PLC0415  (--help need not wait)

    if quick and sampled:
        msg = "--quick and --sampled are different designs: choose one"
        raise InputError(msg)
    design: Design = "quick" if quick else "sampled" if sampled else "whole"
    terminal = Terminal(json, quiet)
    folder = out or Path("out") / "reproduce" / paper
    resume = f"the results so far are kept in {folder}; the same command goes on from there"
    with terminal.resumable(folder / "cells", resume), terminal.work(engine) as run:
        found = run_paper(
            paper,
            out=folder,
            data=data,
            design=design,
            finished=finished,
            engine=run.engine,
            progress=run.progress,
        )
    terminal.answer(found.to_json(), _claim_lines(found), made=found.out)
    return DONE


def _claim_lines(found: "Reproduction") -> Iterator[str]:
    for claim in found.claims:
        yield f"{claim.verdict}: {claim.says}"
        yield f"         {claim.measured}"
        if claim.why:
            yield f"         {claim.why}"
    yield ""
    yield found.summary
    yield f"to read  {found.out / 'report.html'}"
