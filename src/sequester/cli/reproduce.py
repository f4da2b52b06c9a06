"""``sequester reproduce``: run the experiments of a paper."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.exits import DONE
from sequester.cli.options import EngineAddress, Json, Quiet
from sequester.cli.terminal import Terminal
from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.reproduce.plan import Design
    from sequester.reproduce.reproduce import Reproduction


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="The paper, such as wang-2010.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of public data sets; without it, data is made."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run a part of the grid, within minutes.")] = False,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="Run a sample of the grid, by the design that the page states.")
    ] = False,
    finished: Annotated[
        bool,
        typer.Option("--finished", help="Run nothing; write the results of the cells that are finished."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where results go; out/reproduce/PAPER by default."),
    ] = None,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run the experiments of a paper, and compare with what it says.

    Writes tables, figures, and what the paper says beside what is measured. Every point of the grid is kept
    as it is done: a run that was stopped goes on where it ended.
    """
    from sequester.reproduce.reproduce import reproduce as run  # noqa: PLC0415  (--help need not wait)

    if quick and sampled:
        msg = "--quick and --sampled are different designs: choose one"
        raise InputError(msg)
    design: Design = "quick" if quick else "sampled" if sampled else "whole"
    terminal = Terminal(json, quiet)
    folder = out or Path("out") / "reproduce" / paper
    try:
        with terminal.engine(engine) as workers, terminal.progress() as progress:
            found = run(
                paper,
                out=folder,
                data=data,
                design=design,
                finished=finished,
                engine=workers,
                progress=progress,
            )
    except KeyboardInterrupt:
        if (folder / "cells").exists():
            terminal.say(f"the results so far are kept in {folder}; the same command goes on from there")
        raise
    terminal.answer(found.to_json(), _lines(found), made=found.out)
    return DONE


def _lines(found: "Reproduction") -> Iterator[str]:
    for claim in found.claims:
        yield f"{claim.verdict}: {claim.says}"
        yield f"         {claim.measured}"
        if claim.why:
            yield f"         {claim.why}"
    yield ""
    yield found.summary
    yield f"to read  {found.out / 'report.html'}"
