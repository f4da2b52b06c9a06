"""Options that several commands share."""

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
