"""``sequester verify``: judge a release by its files."""

from pathlib import Path
from typing import Annotated

import typer

from sequester.cli.exits import DONE, UNMET
from sequester.cli.options import Json, Quiet
from sequester.cli.terminal import Terminal, levels


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The release folder, such as out/release.")],
    original: Annotated[
        Path | None,
        typer.Option(metavar="CONFIG", help="The configuration it was made from, to compare with its data."),
    ] = None,
    pseudonyms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who is who, where it is not in internal/ beside the release."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Check a release by its files.

    Hashes, every file and column against the claim, CSV against Parquet, every value against its hierarchy,
    then the promise. With --original, also the claim against the configuration. Exit 1 if anything is not as
    certified or not as asked for.
    """
    from sequester.workflow.verify import verify_release  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        found = verify_release(
            folder, original=original, pseudonyms=pseudonyms, progress=progress, warn=terminal.warn
        )
    if not found:
        for witness, line in zip(found.witnesses, found.lines, strict=True):
            what = "" if isinstance(witness, str) else "what breaks the promise: "
            terminal.say(f"error: {what}{line}")
    kept = f"is as certified and keeps its promise: {found.model}, {levels(found.achieved)}"
    broken = f"is not to be trusted: {found.violations:,} found against {found.model}"
    # A folder of snapshots has a certificate for each.
    own = [f"certificate {found.certificate_sha256}"] if found.certificate_sha256 else []
    terminal.answer(
        found.to_json(), [f"{folder} {kept}", *own, *found.not_checked] if found else [f"{folder} {broken}"]
    )
    return DONE if found else UNMET
