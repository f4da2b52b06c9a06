"""``sequester hierarchy`` and ``sequester schema``."""

from pathlib import Path
from typing import Annotated

import typer

from sequester.cli.exits import DONE, NOT_SATISFIED
from sequester.cli.options import Command, ConfigPath, Force, Group, Json, Quiet, whole_number
from sequester.cli.terminal import Terminal

Attribute = Annotated[str, typer.Argument(metavar="ATTRIBUTE", help="A column that has a hierarchy.")]
_DEPTH, _CHILDREN = 2, 10

app = typer.Typer(cls=Group, help="Check, build and show hierarchies.", rich_markup_mode=None)


@app.callback()
def hierarchy() -> None:
    """Check, build and show hierarchies."""


@app.command(cls=Command)
def lint(config: ConfigPath, json: Json = False, quiet: Quiet = False) -> int:
    """Check hierarchies against their columns.

    Names cycles, second parents, doubled leaves, values of the data that are missing, and more. Exit 1
    on errors.
    """
    from sequester.workflow.hierarchy import lint_hierarchies  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        linted = lint_hierarchies(config, progress=progress)
    for each in linted:
        for finding in each.findings:
            terminal.say(f"{finding.severity}: {finding}")
    n_errors = sum(each.count("error") for each in linted)
    document = {"holds": not n_errors, "errors": n_errors, "hierarchies": [each.to_json() for each in linted]}
    terminal.answer(document, [each.summary() for each in linted] or ["no column has a hierarchy"])
    return NOT_SATISFIED if n_errors else DONE


@app.command(cls=Command)
def build(
    config: ConfigPath,
    attribute: Attribute,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write, in ARX format: one row per leaf.")
    ],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a hierarchy as a file.

    Binds the hierarchy of one attribute to its column and writes every leaf with what lies above it, to be
    looked at, edited, and named in the configuration: hierarchy = { path = "FILE" }.
    """
    from sequester.workflow.hierarchy import build_hierarchy  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        built = build_hierarchy(config, attribute, out, force=force, progress=progress, warn=terminal.warn)
    leaves, levels = len(built.tree.leaf_nodes), built.tree.height
    line = f"{out}: {leaves:,} lea{'f' if leaves == 1 else 'ves'}, {levels} level{'s' * (levels != 1)}"
    terminal.answer(built.to_json(), [line], made=out)


@app.command(cls=Command)
def show(
    config: ConfigPath,
    attribute: Attribute,
    depth: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number(0),
            help=f"Fold what lies deeper than this below the root (default {_DEPTH}; --json: nothing).",
        ),
    ] = None,
    children: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number(1), help="Show at most so many nodes under one (not --json)."
        ),
    ] = _CHILDREN,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a hierarchy as a tree.

    Beside each node: the events and the persons that have a value there, and how many of its leaves occur.
    """
    from sequester.workflow.hierarchy import show_hierarchy  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        shown = show_hierarchy(config, attribute, progress=progress)
    lines = shown.lines(depth=_DEPTH if depth is None else depth, children=children)
    terminal.answer(shown.to_json(depth=depth), lines)


def schema(json: Json = False, quiet: Quiet = False) -> None:  # noqa: ARG001  (a schema is JSON in any case)
    """Print the configuration's JSON Schema."""
    from sequester.workflow.config import config_schema  # noqa: PLC0415  (pydantic takes its time)

    Terminal(as_json=True, quiet=quiet).answer(config_schema(), ())
