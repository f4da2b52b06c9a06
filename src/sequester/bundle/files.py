"""Write the files of ``release/``, for recipients, and of ``internal/``, as sensitive as the input."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.places import REGION
from sequester.errors import InternalError
from sequester.hierarchies.labels import in_label_order
from sequester.release.certificate import CERTIFICATE, HASH, Certificate
from sequester.release.fields import plain_table
from sequester.release.files import HIERARCHIES, REGIONS, hierarchy_files, unsupported_reason, write_log
from sequester.verify.contents import hierarchy_csv
from sequester.verify.files import hash_folder
from sequester.verify.original import PSEUDONYMS

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
    if release.event_log is not None and unsupported_reason(release.frame, release.event_log) is None:
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
    """Write the certificate of all other files of the folder, and return its own hash."""
    text = Certificate.of(release, hash_folder(folder)).to_json().encode()
    (folder / CERTIFICATE).write_bytes(text)
    return HASH + hashlib.sha256(text).hexdigest()


CHANGES = "changes.parquet"
"""Every changed cell or event, keyed by input row."""
CONFIGURATION = "release.toml"
"""The configuration of the run, to repeat it."""
PAGE = "report.html"
"""The page."""
DOCUMENT = "report.json"
"""The numbers of the page."""


def write_internal(release: Release, folder: Path, *, config_toml: str | None, pseudonyms: bool) -> None:
    """Write the internal files; pseudonyms only if asked for, or if the promise is checked with them.

    Only this file tells whose each trip is; persons cannot be counted without it.
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
    """Write the internal page, and its numbers."""
    for name, text in ((PAGE, page), (DOCUMENT, document)):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (folder / name).chmod(0o600)


def _settings(release: Release) -> str:
    """Return the settings of a run from Python; the roles of columns are in the program that ran it."""
    # Only needed where no configuration file was at hand.
    import tomli_w  # noqa: PLC0415

    method = {"name": release.method, **plain_table(release.parameters)}
    known = {name: value for name, value in method.items() if value is not None}
    head = "# Made from Python: the data and its roles are in the program that made it.\n"
    return head + tomli_w.dumps({"method": known, "release": {"seed": release.seed}})
