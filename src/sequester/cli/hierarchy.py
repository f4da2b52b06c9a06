"""``sequester hierarchy``: look after hierarchies."""

import typer

from sequester.cli.commands import Command, Group
from sequester.cli.exits import DONE, UNMET
from sequester.cli.options import ConfigPath, Json, Quiet
from sequester.cli.terminal import Terminal

app = typer.Typer(cls=Group, help="Look after hierarchies.", rich_markup_mode=None)


@app.callback()
def hierarchy() -> None:
    """Look after hierarchies."""


@app.command(cls=Command)
def lint(config: ConfigPath, json: Json = False, quiet: Quiet = False) -> int:
    """Check hierarchies against their columns.

    Names cycles, second parents, doubled leaves, values of the data that are missing, and more. Exit 1
    on errors.
    """
    from sequester.workflow.lint import lint_hierarchies  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        linted = lint_hierarchies(config, progress=progress)
    for each in linted:
        for finding in each.findings:
            terminal.say(f"{finding.severity}: {finding}")
    n_errors = sum(each.count("error") for each in linted)
    document = {"holds": not n_errors, "errors": n_errors, "hierarchies": [each.to_json() for each in linted]}
    terminal.answer(document, [each.summary() for each in linted] or ["no column has a hierarchy"])
    return UNMET if n_errors else DONE
