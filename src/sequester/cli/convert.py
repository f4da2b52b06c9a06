"""``sequester convert``: the same events in another format."""

from pathlib import Path
from typing import Annotated

import typer

from sequester.cli.options import Force, Json, Quiet
from sequester.cli.terminal import Terminal


def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="The data, or a configuration whose data and roles are meant."),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Where to: .csv, .tsv, .spmf, .seq, .xes, each also .gz; .parquet, .arrow."
        ),
    ],
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Who; row where each row is a person.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="When: numbers, or text in order.")
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="When: times; twice for a column of dates and one of clocks."),
    ] = None,
    time_format: Annotated[
        str | None, typer.Option(metavar="FORM", help="How times are written, such as %Y%m%d.")
    ] = None,
    tie: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Second key where order or time repeat.")
    ] = None,
    symbol: Annotated[str | None, typer.Option(metavar="COLUMN", help="What happened.")] = None,
    format: Annotated[  # noqa: A002  (as in the configuration)
        str | None,
        typer.Option(metavar="NAME", help="Of IN, where its name does not tell: csv, spmf, seq, xes, ..."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Of IN, where it is CSV; otherwise found.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of IN, where it is text; otherwise utf-8.")
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write events in another format.

    Between tables nothing needs to be told. XES, SPMF and seq hold persons and what they did in order, so
    a table that does not use their names for columns needs --person, --symbol and --order or --time. What
    the new format cannot hold is said.
    """
    # --help need not wait for polars.
    from sequester.workflow.conversion.event_log import Roles  # noqa: PLC0415
    from sequester.workflow.convert import Source  # noqa: PLC0415
    from sequester.workflow.convert import convert as write  # noqa: PLC0415

    roles = Roles(
        person=person,
        order=order,
        time=tuple(time or ()),
        time_format=time_format,
        tie=tie,
        symbol=symbol,
    )
    data = Source(path=source, format=format, delimiter=delimiter, encoding=encoding, roles=roles)
    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        done = write(data, out, force=force, progress=progress)
    for line in done.lost:
        terminal.warn(line)
    terminal.answer(done.to_json(), [f"{out}: {done.rows:,} events"], made=out)
