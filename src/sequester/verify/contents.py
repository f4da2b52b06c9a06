"""All that a release holds, read from its files alone: nothing else may be among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.event_log import LogFormat
from sequester.release.fields import bare, shown
from sequester.release.file_names import HIERARCHIES, REGIONS, hierarchy_files
from sequester.release.release import PERSON
from sequester.release.roles import REGION_ROLES
from sequester.verify.columns import EVENTS, claimed_columns, hierarchy_columns, with_role
from sequester.verify.event_logs import check_event_logs
from sequester.verify.nodes import read_hierarchies
from sequester.verify.regions import check_regions
from sequester.verify.tables import check_persons, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sequester.release.certificate import Certificate

REPORT = "report.html"
"""The page for recipients."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The tables of a release and the hierarchies of their columns."""

    tables: Mapping[str, pl.DataFrame]
    """By file name without ending, the main one first."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Column to its released nodes."""

    @property
    def frame(self) -> pl.DataFrame:
        """The main table."""
        return next(iter(self.tables.values()))


def read_contents(
    folder: Path, certificate: Certificate, *, stem: str | None = None, ours: bool = False
) -> tuple[Contents | None, list[str]]:
    """Read every file of a release; its contents, or what is wrong with them.

    `stem` is what the files of one snapshot of a stream begin with. Files that are not `ours`, written by
    this very process, are read with care. `sequester.verify.files.check_files` has compared the hashes.
    """
    columns = claimed_columns(certificate)
    files = certificate.files
    stems = {name: _stem(name, stem) for name in columns}
    for name in stems.values():
        for ending in ("parquet", "csv"):
            if f"{name}.{ending}" not in files:
                msg = f"the release is incomplete: the certificate lists no {bare(name)}.{ending}"
                raise InputError(msg)
    allowed = {f"{name}.{ending}" for name in stems.values() for ending in ("parquet", "csv")}
    if stem is None:
        allowed |= {REPORT}
        if REPORT not in files:
            msg = f"the release is incomplete: the certificate lists no {REPORT}"
            raise InputError(msg)
        if PERSON in columns.get(EVENTS, {}):
            allowed |= {f"{EVENTS}.{form}" for form in get_args(LogFormat)}
    places = with_role(columns, REGION_ROLES)
    if places:
        allowed |= {REGIONS}
        if REGIONS not in files:
            msg = f"the release is incomplete: the certificate lists no {REGIONS}"
            raise InputError(msg)
    paths = {column: _path(file, stem) for column, file in hierarchy_files(_all(columns)).items()}
    trees = hierarchy_columns(certificate, columns, n_rows=certificate.events, alone=stem is not None)
    missing = [column for column, needed in trees.items() if needed and paths[column] not in files]
    if missing:
        return None, [
            f"{bare(paths[column])}: is not there, and column {shown(column)} needs its hierarchy"
            for column in missing
        ]
    trees = {column: needed for column, needed in trees.items() if paths[column] in files}
    allowed |= {paths[column] for column in trees}
    surplus = sorted(set(files) - allowed)
    if surplus:
        return None, [f"{bare(name)}: {_reason(name, paths)}" for name in surplus]
    tables: dict[str, pl.DataFrame] = {}
    for name, roles in columns.items():
        n_rows = None if tables else certificate.events
        frame, findings = read_table(folder, stems[name], roles, files, n_rows=n_rows, ours=ours)
        if frame is None:
            return None, findings
        tables[name] = frame
    main = next(iter(tables.values()))
    findings = check_persons(main, certificate) if PERSON in main.columns else check_order(tables)
    if findings:
        return None, findings
    hierarchies, findings = read_hierarchies(folder, {column: paths[column] for column in trees}, main)
    if stem is None:
        findings += check_event_logs(folder, files, main)
    findings += check_regions(folder, files, main)
    return (None, findings) if findings else (Contents(tables, hierarchies), [])


def check_order(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Find records whose snapshots are apart, and groups that are not numbered from 1 in their order."""
    findings = []
    for name, frame in tables.items():
        if TIME in frame.columns:
            heads = frame[TIME].filter(frame[TIME].ne_missing(frame[TIME].shift(1)))
            if heads.is_duplicated().any():
                twice = heads.filter(heads.is_duplicated())[0]
                findings.append(
                    f"{name}.parquet: the records of snapshot {shown(twice)} do not stand together"
                )
        if COUNT in frame.columns and not _is_in_label_order(frame):
            findings.append(f"{name}.parquet: the values of a group are not in the order of their labels")
        if GROUP in frame.columns:
            expected = frame[GROUP].rle_id().cast(pl.Int64) + 1
            wrong = (frame[GROUP] != expected).arg_true()
            if len(wrong):
                row = wrong[0]
                findings.append(
                    f"{name}.parquet: row {row + 1:,} is of group {expected[row]:,} by its place, its "
                    f"{GROUP} is {frame[GROUP][row]:,}"
                )
    return findings


def _is_in_label_order(frame: pl.DataFrame) -> bool:
    """Return whether the values of every group are ascending, as labels or as text."""
    group, values = frame[GROUP], frame[frame.columns[1]]
    labels = values.unique().to_list()
    for order in (in_label_order(labels), sorted(labels)):
        ranks = values.replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
        if not ((group == group.shift(1)) & (ranks <= ranks.shift(1))).any():
            return True
    return False


def _all(columns: Mapping[str, Mapping[str, str]]) -> list[str]:
    return [column for roles in columns.values() for column in roles]


def _stem(name: str, stem: str | None) -> str:
    if stem is None:
        return name
    return stem if name == EVENTS else f"{stem}.{name}"


def _path(file: str, stem: str | None) -> str:
    return file if stem is None else f"{stem}.{file.replace('/', '.')}"


def _reason(name: str, paths: Mapping[str, str]) -> str:
    if name in paths.values():
        return "belongs to a column that has no hierarchy"
    if f"{HIERARCHIES}/" in name or f".{HIERARCHIES}." in name:
        return "belongs to no column of the table"
    if name == REGIONS:
        return "does not belong here: no column is a region"
    return "is no file that a release of this kind has"
