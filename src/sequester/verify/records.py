"""Released records without persons, read from the files alone: one table, or records and values apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.privacy.l_diversity import RECORDS, VALUES
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.verify.tables import EVENTS, Columns, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import polars as pl

    from sequester.release.certificate import Certificate

_RECORDS = Columns(first=(TIME,), inner=(1, None), numbers=frozenset(), words=f"{TIME} and attributes")
_GROUPED = Columns(
    first=(TIME,),
    last=(GROUP,),
    inner=(0, None),
    numbers=frozenset({GROUP}),
    words=f"{TIME}, attributes and {GROUP}",
)
_VALUES = Columns(
    first=(GROUP,),
    last=(COUNT,),
    inner=(1, 1),
    numbers=frozenset({GROUP, COUNT}),
    words=f"{GROUP}, the sensitive attribute and {COUNT}",
)
LAYOUTS: Mapping[str, tuple[Mapping[str, Columns], ...]] = {
    "LEligibility": ({EVENTS: _RECORDS},),
    "LDiversity": ({RECORDS: _GROUPED, VALUES: _VALUES}, {RECORDS: _GROUPED}),
}
"""Model to the tables that a release may consist of, the main one first; the first that is there counts."""


def read_records(
    folder: Path, certificate: Certificate, *, ours: bool = False, file_of: Callable[[str], str] = str
) -> tuple[dict[str, pl.DataFrame] | None, list[str]]:
    """Read the tables of a release of records; the tables, or what is wrong with them.

    `file_of` leads from the name of a table to its file without the ending.
    """
    layouts = LAYOUTS[certificate.model]
    present = [
        layout
        for layout in layouts
        if all(f"{file_of(name)}.parquet" in certificate.files for name in layout)
    ]
    if not present:
        names = " or ".join(" and ".join(f"{file_of(name)}.parquet" for name in each) for each in layouts)
        msg = f"the release is incomplete: the certificate lists no {names}"
        raise InputError(msg)
    tables: dict[str, pl.DataFrame] = {}
    for place, (name, columns) in enumerate(present[0].items()):
        frame, findings = read_table(
            folder,
            file_of(name),
            columns,
            certificate.files,
            n_rows=certificate.events if place == 0 else None,
            ours=ours,
        )
        if frame is None:
            return None, findings
        tables[name] = frame
    return tables, []
