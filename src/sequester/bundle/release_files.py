"""The files of ``release/``: tables twice, hierarchies, the page, and the certificate over all of them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.place import REGION
from sequester.errors import InternalError
from sequester.hierarchies.labels import in_label_order
from sequester.release.certificate import CERTIFICATE, HASH, Certificate
from sequester.release.event_log import misfit, write_log
from sequester.release.file_names import HIERARCHIES, REGIONS, hierarchy_files
from sequester.verify.files import hash_folder
from sequester.verify.nodes import hierarchy_csv

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.release.release import Release

ROWS_PER_GROUP = 128 * 1024
"""Rows of a group in Parquet: fixed, so that the same rows give the same bytes on every machine."""


def write_tables(release: Release, folder: Path) -> None:
    """Write every table as Parquet and as CSV, cell by cell the same, and the events as a log where asked."""
    for name, frame in release.tables.items():
        rebuilt = rebuild_columns(frame)
        rebuilt.write_parquet(
            folder / f"{name}.parquet", compression="zstd", statistics=True, row_group_size=ROWS_PER_GROUP
        )
        rebuilt.write_csv(folder / f"{name}.csv", line_terminator="\n", quote_style="necessary")
    if release.event_log is not None and misfit(release.frame, release.event_log) is None:
        log = write_log(rebuild_columns(release.frame), release.event_log)
        (folder / f"events.{release.event_log}").write_bytes(log)


def rebuild_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy a table so that it holds its rows and nothing else: no labels of rows that are gone.

    Examples
    --------
    >>> pages = pl.Series("page", ["a"], dtype=pl.Enum(["a", "b"]))
    >>> rebuild_columns(pl.DataFrame([pages])).dtypes
    [String]
    """
    # Series by series: in an expression, a column of the name * or ^x$ would mean others as well.
    kinds = {column: pl.Int64 if kind.is_integer() else pl.String for column, kind in frame.schema.items()}
    return pl.DataFrame([frame[column].cast(kind) for column, kind in kinds.items()]).rechunk()


def write_hierarchies(release: Release, folder: Path) -> None:
    """Write the hierarchy of each released attribute that has one."""
    if not release.hierarchies:
        return
    (folder / HIERARCHIES).mkdir()
    names = hierarchy_files(column for frame in release.tables.values() for column in frame.columns)
    for attribute, tree in release.hierarchies.items():
        if attribute not in names:
            msg = f"the release has a hierarchy for {attribute!r}, and no such column"
            raise InternalError(msg)
        (folder / names[attribute]).write_bytes(hierarchy_csv(tree))


def write_regions(release: Release, folder: Path) -> None:
    """Write the outlines of the released regions, and of no others, where there are places."""
    if release.regions is not None:
        values = in_label_order(release.frame[REGION].drop_nulls().unique())
        (folder / REGIONS).write_text(release.regions.geojson(values), encoding="utf-8", newline="\n")


def write_certificate(release: Release, folder: Path) -> str:
    """Certify all other files of the folder; gives the certificate's own hash."""
    text = Certificate.of(release, hash_folder(folder)).to_json().encode()
    (folder / CERTIFICATE).write_bytes(text)
    return HASH + hashlib.sha256(text).hexdigest()
