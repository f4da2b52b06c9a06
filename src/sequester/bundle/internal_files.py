"""The files of ``internal/``: as sensitive as the input, and readable by their owner only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.release.fields import plain_table
from sequester.verify.pseudonyms import PSEUDONYMS

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.release.release import Release

CHANGES = "changes.parquet"
"""Every changed cell or event, keyed by input row."""
CONFIGURATION = "release.toml"
"""What was run, to run it again."""
PAGE = "report.html"
"""What people read."""
DOCUMENT = "report.json"
"""The numbers of the page."""


def write_internal(release: Release, folder: Path, *, config_toml: str | None, pseudonyms: bool) -> None:
    """Write what stays in the house; who is who only if asked for, or if the promise is checked with it.

    Whose trips are whose tells only this file, and persons cannot be counted without it.
    """
    (folder / CONFIGURATION).write_text(
        _settings(release) if config_toml is None else config_toml, encoding="utf-8", newline="\n"
    )
    release.changes.write_parquet(folder / CHANGES)
    for name, frame in release.evidence.items():
        frame.write_parquet(folder / f"{name}.parquet")
    if pseudonyms or release.model.needs_original or release.trips:
        release.pseudonyms.write_parquet(folder / PSEUDONYMS)
    for path in folder.iterdir():
        path.chmod(0o600)


def write_report(folder: Path, *, page: str, document: str) -> None:
    """Write the page that stays in the house, and its numbers."""
    for name, text in ((PAGE, page), (DOCUMENT, document)):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (folder / name).chmod(0o600)


def _settings(release: Release) -> str:
    """Say what was run from Python; the roles of columns are in the program that ran it."""
    # Only needed where no configuration file was at hand.
    import tomli_w  # noqa: PLC0415

    method = {"name": release.method, **plain_table(release.parameters)}
    known = {name: value for name, value in method.items() if value is not None}
    head = "# Made from Python: the data and its roles are in the program that made it.\n"
    return head + tomli_w.dumps({"method": known, "release": {"seed": release.seed}})
