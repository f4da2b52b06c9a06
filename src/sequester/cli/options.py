"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is already there.")]
Seed = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Everything random comes from this text: same text, same bytes."),
]
ConfigPath = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="The configuration, such as release.toml.")
]


def whole_number(least: int | None = None) -> Callable[[str], int]:
    """Make what reads an option that is a whole number, of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            msg = f"must be a whole number, got {text!r}"
            raise typer.BadParameter(msg) from None
        if least is not None and number < least:
            msg = f"must be at least {least}, got {number}"
            raise typer.BadParameter(msg)
        return number

    return read
