"""``sequester compare``: methods and parameters side by side."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.exits import DONE, OURS, UNMET
from sequester.cli.options import ConfigPath, Json, Quiet, Seed, whole_number
from sequester.cli.terminal import Terminal, levels

if TYPE_CHECKING:
    from sequester.workflow.comparison.comparison import Comparison


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
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="These methods; unless told, all that fit the data.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="K=2,5,10",
            help="Values of a parameter, for the methods that have it. Several times: every combination.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where everything goes; the same command resumes there.")
    ] = Path("sequester-compare"),
    measure: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The measure of utility that is drawn against the risk."),
    ] = None,
    adversary: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose risk is compared; found unless told, persons who are expected to be found.",
        ),
    ] = None,
    known: Annotated[
        int, typer.Option(metavar="N", parser=whole_number(1), help="How many items the adversary knows.")
    ] = 2,
    targets: Annotated[
        int, typer.Option(metavar="N", parser=whole_number(1), help="How many pieces of knowledge are tried.")
    ] = 10_000,
    max_risk: Annotated[
        float | None,
        typer.Option(
            metavar="X", parser=_share, help="Recommend the best candidate whose risk is at most this."
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number(1),
            help="Candidates side by side, at most; unless told, one per core. Memory may allow fewer.",
        ),
    ] = None,
    write_releases: Annotated[
        bool, typer.Option("--write-releases", help="Also write each release. Hand out one of them only.")
    ] = False,
    seed: Seed = None,
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew, and replace an earlier comparison.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare methods and parameters.

    Tries them all, one process each, and lets the same adversary try every release: a table, a drawing of
    the frontier between risk and utility, a page about each candidate, and which of them to look at first.
    Results are kept as they come. Exit 1 if no candidate keeps its promise, or none is within --max-risk.
    """
    from sequester.workflow.compare import Asked, compare_config  # noqa: PLC0415  (--help need not wait)
    from sequester.workflow.comparison.grid import read_methods, read_settings  # noqa: PLC0415  (as above)

    terminal = Terminal(json, quiet)
    asked = Asked(
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
    names, values = read_methods(methods), read_settings(settings or ())
    try:
        with terminal.progress() as progress:
            found = compare_config(
                config,
                out=out,
                methods=names,
                settings=values,
                asked=asked,
                progress=progress,
                warn=terminal.warn,
            )
    except KeyboardInterrupt:
        if (out / "comparison.json").exists():
            terminal.say(f"the results so far are kept in {out}; the same command goes on from there")
        raise
    if found.recommended is None:
        within = "" if max_risk is None or not found.made else f" with a risk of at most {max_risk:g}"
        terminal.say(f"error: no candidate keeps its promise{within}; {out / 'report.html'} says why")
    terminal.answer(found.to_json(), _tell(found, out), made=out)
    if any(each.is_ours for each in found.tried):
        return OURS
    return UNMET if found.recommended is None or found.beaten else DONE


def _tell(found: "Comparison", out: Path) -> Iterator[str]:
    from sequester.workflow.comparison.task import SINGLED_OUT  # noqa: PLC0415  (as above)
    from sequester.workflow.comparison.words import ADVERSARIES, known_words  # noqa: PLC0415  (as above)

    made = [place for place, each in enumerate(found.tried) if each.holds]
    if made:
        header = ("", "candidate", "risk", "95 %", found.measure, "lost", "invented", "reached", "seconds")
        rows = [header, *(_row(found, place) for place in made)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(header))]
        for row in rows:
            yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        yield ""
    for title, state in (("cannot be kept", "unattainable"), ("do not apply", "unfit"), ("failed", "failed")):
        others = [each for each in found.tried if each.state == state]
        if others:
            yield f"{title}:"
            yield from (f"  {each.label}: {each.reason}" for each in others)
            yield ""
    known = "" if found.adversary == "record_guess" else f", for somebody {known_words(found.knowledge)}"
    today = "" if found.original is None else f"; in the original it is {found.original.value:.3g}"
    yield f"risk: {ADVERSARIES[found.adversary]}{known}{today}"
    beyond = sorted({each.utility[SINGLED_OUT].value for each in found.made if SINGLED_OUT in each.utility})
    if beyond:
        span = " to ".join(f"{value:.1%}" for value in dict.fromkeys((beyond[0], beyond[-1])))
        yield f"beyond the promises: {span} of the persons are singled out by everything that is released"
    if found.recommended is not None:
        yield f"recommended      {found.tried[found.recommended].label}"
    yield f"to read          {out / 'report.html'} (keep it in the house)"
    yield f"table, drawing   {out / 'candidates.csv'}, {out / 'frontier.svg'}"


def _row(found: "Comparison", place: int) -> tuple[str, ...]:
    each, risk, score = found.tried[place], found.risk(place), found.score(place)
    stands = "*" if place == found.recommended else "+" if place in found.frontier else ""
    low, high = (0.0, 0.0) if risk is None else risk.interval
    return (
        stands + ("o" if place in found.local_optima else ""),
        each.label,
        "" if risk is None else f"{risk.value:.3g}",
        "" if risk is None or risk.is_exact else f"{low:.2g} to {high:.2g}",
        "" if score is None else f"{score.value:.4g}",
        f"{each.lost_share:.1%}",
        f"{each.invented:,}",
        levels(each.achieved),
        f"{each.seconds:.1f}",
    )
