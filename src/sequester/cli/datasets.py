"""``sequester datasets``: invented data to try things on."""

from pathlib import Path
from typing import Annotated

import typer

from sequester.cli.commands import Command, Group
from sequester.cli.options import Force, Json, Quiet, whole_number
from sequester.cli.terminal import Terminal
from sequester.datasets import DATASETS, SEED

app = typer.Typer(cls=Group, help="Make invented data to try things on.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context, json: Json = False, quiet: Quiet = False) -> None:
    """List the generators and the papers' tables."""
    if context.invoked_subcommand is not None:
        return
    document = [
        {"name": each.name, "about": each.about, "columns": list(each.columns), "persons": each.persons}
        for each in DATASETS.values()
    ]
    width = 2 + max(map(len, DATASETS))
    lines = [f"{each.name:<{width}}{each.about} ({', '.join(each.columns)})" for each in DATASETS.values()]
    Terminal(json, quiet).answer({"datasets": document}, lines)


@app.command(cls=Command)
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(DATASETS)}.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to: .csv, .tsv, .csv.gz, .tsv.gz or .parquet.")
    ],
    persons: Annotated[
        int | None, typer.Option(metavar="N", parser=whole_number(), help="How many persons.")
    ] = None,
    seed: Annotated[str, typer.Option(metavar="TEXT", help="The same text gives the same file.")] = SEED,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make one of them into a file."""
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)
    from sequester.workflow.make_dataset import make_dataset  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        made = make_dataset(name, out, persons=persons, seed=seed, force=force, progress=progress)
    document = {"dataset": name, "path": str(out), "persons": made.persons, "events": made.events}
    lines = [
        f"{out}: {counted(made.persons, 'person', 'persons')}, {counted(made.events, 'event', 'events')}"
    ]
    if made.hierarchies:
        document |= {"hierarchies": [str(path) for path in made.hierarchies]}
        lines += [f"{path}: a hierarchy of it" for path in made.hierarchies]
    terminal.answer(document, lines, made=out)
