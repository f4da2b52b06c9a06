"""``sequester inspect``: what the data gives away as it stands."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.options import ConfigPath, Force, Json, Quiet
from sequester.cli.terminal import Terminal

if TYPE_CHECKING:
    from sequester.workflow.inspection.inspection import Inspection


def inspect(
    config: ConfigPath,
    patterns: Annotated[
        bool, typer.Option("--patterns", help="Also list frequent patterns, where events are symbols.")
    ] = False,
    min_support: Annotated[
        int | None,
        typer.Option(metavar="N", help="List patterns of at least N persons, not of one in a hundred."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="List the N most frequent patterns, not 20.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write everything as a page, such as inspect.html."),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Above 100,000 persons, who is drawn comes from this text; the same by default.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what the data gives away as it stands.

    Shape, problems with row numbers, such as labels that look alike, quasi-identifiers that follow from
    others, and what somebody who knows 1, 2 or 3 items of a person could do today. Needs no method.
    """
    from sequester.workflow.inspect import inspect_config  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        found = inspect_config(
            config,
            out=out,
            force=force,
            patterns=patterns,
            min_support=min_support,
            top=top,
            seed=seed,
            progress=progress,
            warn=terminal.warn,
        )
    page = {} if out is None else {"page": str(out)}
    terminal.answer(found.to_json() | page, _tell(found, out), made=out)


def _tell(found: "Inspection", out: Path | None) -> Iterator[str]:
    from sequester.workflow.inspection.lines import lines  # noqa: PLC0415  (as above)

    yield from lines(found, bar=_bar())
    if out is not None:
        yield ""
        yield f"to read          {out} (keep it in the house)"


def _bar() -> str:
    """Give what bars are made of: a block, or a mark that every terminal has."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return "#"
    return "█"
