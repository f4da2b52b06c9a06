"""The outlines of released regions: one for each region in the rows, and for no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.release.fields import bare, shown
from sequester.release.file_names import REGIONS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import polars as pl

_COLUMN = "region"
_NOWHERE = {"*", "(missing)"}
_AT = "@"


def check_regions(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare the outlines, where the certificate lists any, with the released rows."""
    if REGIONS not in files:
        return []
    if _COLUMN not in frame.columns:
        return [f"{REGIONS}: does not belong here: there is no column {_COLUMN}"]
    try:
        document = json.loads((folder / REGIONS).read_text(encoding="utf-8"))
        outlined = [feature["properties"][_COLUMN] for feature in document["features"]]
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        msg = f"{REGIONS} is not readable as outlines of regions: {bare(str(error))}"
        raise InputError(msg) from None
    values = frame[_COLUMN].drop_nulls().unique().to_list()
    released = {value if value in outlined else value.partition(_AT)[0] for value in values} - _NOWHERE
    findings = []
    for names, what in (
        (released - {*map(str, outlined)}, "has no outline of the released region"),
        ({*map(str, outlined)} - released, "has an outline of a region that is not released,"),
    ):
        findings += [f"{REGIONS}: {what} {shown(name)}" for name in sorted(names)[:5]]
    return findings
