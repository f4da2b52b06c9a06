"""``sequester attack``: simulated adversaries against a release."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.exits import DONE, UNMET
from sequester.cli.options import Json, Quiet, whole_number
from sequester.cli.terminal import Terminal

if TYPE_CHECKING:
    from sequester.workflow.attack import Attack

_MOST_KNOWN = 10


def _sizes(text: str) -> str:
    """Accept how many items may be known: a number, or a range such as 1-3."""
    given = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", text)
    low, high = (int(given[1]), int(given[2] or given[1])) if given else (0, 0)
    if not 1 <= low <= high <= _MOST_KNOWN:
        msg = f"must be a number or a range such as 1-3, of 1 to {_MOST_KNOWN}, got {text!r}"
        raise typer.BadParameter(msg)
    return text


def attack(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The release folder, such as out/release.")],
    original: Annotated[
        Path,
        typer.Option(metavar="CONFIG", help="The configuration it was made from: what adversaries know."),
    ],
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="CONFIG", help="A configuration of persons who are not in the release: the control."
        ),
    ] = None,
    known: Annotated[
        str,
        typer.Option(metavar="1-3", parser=_sizes, help="How many items they know: a number or a range."),
    ] = "1-3",
    targets: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number(1), help="How many pieces of knowledge of every kind are tried."
        ),
    ] = 10_000,
    seed: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Who is drawn comes from this text; the same by default."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Let simulated adversaries try a release.

    They know some items of persons of the original, and look for them in the original, in the release and
    in a control: the release with its values dealt out anew, or instead of these persons others who were held
    out. Exit 1 if one of them achieves more than the release claims.
    """
    from sequester.workflow.attack import attack_release  # noqa: PLC0415  (--help need not wait for polars)

    low, _, high = known.partition("-")
    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        found = attack_release(
            folder,
            original=original,
            held_out=held_out,
            known=range(int(low), int(high or low) + 1),
            targets=targets,
            seed=seed,
            progress=progress,
            warn=terminal.warn,
        )
    for risk in found.beaten:
        terminal.say(f"error: an attack beat the claim {found.model}: {risk}")
    terminal.answer(found.to_json(), _lines(found))
    return DONE if found else UNMET


def _lines(found: "Attack") -> Iterator[str]:
    header = ("attack, known", "original", "release", "95 %", "chance", "control", "claimed")
    by_kind: dict[str, list[tuple[str, ...]]] = {}
    for risk in found.risks:
        low, high = risk.interval
        by_kind.setdefault(risk.kind, []).append(
            (
                f"{risk.name} {risk.known}",
                f"{risk.raw.value:.4f}",
                f"{risk.value:.4f}",
                f"{low:.4f} to {high:.4f}",
                f"{risk.baseline:.4f}",
                f"{risk.control.value:.4f}",
                "" if risk.bound is None else f"{risk.bound:.4f}{'' if risk.is_within else ' beaten'}",
            )
        )
    for kind, rows in by_kind.items():
        widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
        yield f"{kind}"
        for row in (header, *rows):
            first, *others = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            yield f"  {'  '.join((first, *others))}".rstrip()
        yield ""
    claimed = sum(risk.bound is not None for risk in found.risks)
    kept = "none was beaten" if found else f"{len(found.beaten):,} were beaten"
    yield f"{len(found.risks):,} attacks, {claimed:,} of them against the claim {found.model}: {kept}"
