"""``sequester workbench``: the whole way in a browser."""

from importlib.util import find_spec
from typing import Annotated

import typer

from sequester.cli.exits import DONE, INTERRUPTED
from sequester.cli.options import Json, Quiet, whole_number
from sequester.cli.terminal import Terminal
from sequester.errors import InputError


def workbench(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG or DATA",
            help="A configuration, a table of events, a folder, or a database; by default the folder here.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=whole_number(1), help="The port to listen at; a free one by default."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Open the workbench in a browser.

    From data to a verified release, step by step, on this machine only. Prints its address, which holds a
    token: who has it can use the workbench. Ends with Ctrl-C, and ends with it the work that is under way.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        msg = "the workbench needs the extra workbench: pip install 'sequester[workbench]'"
        raise InputError(msg)
    from sequester.workbench.server import serve  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)

    def announce(address: str) -> None:
        terminal.answer({"address": address}, [address])

    try:
        serve(source, port=port, open_browser=not no_browser, announce=announce)
    except KeyboardInterrupt:
        # It has no other end, and what it has made is in its place.
        return INTERRUPTED
    return DONE
