"""The contents of a release, read from its files: tables, hierarchies and regions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import polars as pl
from pydantic import AfterValidator

from sequester.data.places import AT, REGION
from sequester.errors import HierarchyError, InputError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT, in_label_order
from sequester.privacy.l_diversity import COUNT, GROUP, TIME
from sequester.release.certificate import REGION_ROLES, columns_with_role
from sequester.release.fields import (
    Number,
    Table,
    read_document,
    read_fields,
    refuse_field,
    safe_repr,
    safe_text,
)
from sequester.release.files import HIERARCHIES, MEDS_FILES, REGIONS, LogFormat, hierarchy_files, part_file
from sequester.release.folder import (
    CROISSANT,
    HIERARCHY_COLUMNS,
    HIERARCHY_SEPARATOR,
    croissant_json,
    hierarchy_csv,
)
from sequester.release.release import EVENTS, PERSON, PERSONS
from sequester.verification.claim import claimed_columns, hierarchy_columns
from sequester.verification.tables import (
    check_event_logs,
    check_histories,
    check_meds,
    check_persons,
    read_parts,
    read_table,
    read_text_csv,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from sequester.engine import Engine
    from sequester.release.certificate import Certificate
    from sequester.verification.claim import Roles


REPORT = "report.html"
"""The page for recipients."""


SNAPSHOTS = {"day": r"\d{4}-\d{2}-\d{2}", "week": r"\d{4}-W\d{2}", "month": r"\d{4}-\d{2}"}
"""Unit of snapshots to how they are named; several that were merged have a slash between two."""


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

    @property
    def persons(self) -> pl.DataFrame:
        """The table that has everybody."""
        return self.tables.get(PERSONS, self.frame)

    def as_text(self) -> Contents:
        """Return the same with labels for codes, which tables in parts have."""
        # By type: a column may have a name that means others as well.
        texts = pl.selectors.by_dtype(pl.Categorical).cast(pl.String)
        tables = {name: frame.with_columns(texts) for name, frame in self.tables.items()}
        return Contents(tables, self.hierarchies)


def read_release(
    folder: Path,
    certificate: Certificate,
    *,
    stem: str | None = None,
    ours: bool = False,
    engine: Engine | None = None,
) -> tuple[Contents | None, list[str]]:
    """Return the contents of all files of a release, or what is wrong with them.

    `stem` is what the files of one snapshot of a stream begin with. Files that are not `ours`, written by
    this very process, are read with care. `sequester.release.folder.check_files` has compared the hashes.
    Tables in parts are read file by file, by the workers of `engine` if there is one, and come coded.
    """
    columns = claimed_columns(certificate)
    in_parts = stem is None and PERSON in columns.get(EVENTS, {}) and bool(certificate.part_files(EVENTS))
    trees, findings = _check_listed(certificate, columns, stem, in_parts=in_parts)
    if findings:
        return None, findings
    tables: dict[str, pl.DataFrame] = {}
    for name, roles in columns.items():
        n_rows = None if tables else certificate.events
        if in_parts:
            parts = _part_names(name, certificate)
            frame, findings = read_parts(folder, parts, roles, n_rows=n_rows, ours=ours, engine=engine)
        else:
            file = _stem(name, stem)
            frame, findings = read_table(folder, file, roles, certificate.files, n_rows=n_rows, ours=ours)
        if frame is None:
            return None, findings
        tables[name] = frame
    main = next(iter(tables.values()))
    if PERSON not in main.columns:
        findings = check_order(tables)
    else:
        # Each part was checked by itself.
        findings = [] if in_parts else check_histories(main, f"{EVENTS}.parquet")
        findings = findings or check_persons(tables, certificate)
    if stem is None and TIME in main.columns:
        findings += check_snapshot_names(main, certificate.parameters.get("snapshot"))
    if findings:
        return None, findings
    hierarchies, findings = read_hierarchies(folder, trees, tables)
    if stem is None:
        findings += check_event_logs(folder, certificate.files, main)
        findings += [] if findings else check_meds(folder, certificate, tables, hierarchies)
        findings += check_description(folder, certificate)
    findings += check_regions(folder, certificate.files, main)
    return (None, findings) if findings else (Contents(tables, hierarchies), [])


def _check_listed(
    certificate: Certificate, columns: Roles, stem: str | None, *, in_parts: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the hierarchy file of each column that has one, or which listed files do not belong there.

    A release without one of its tables, its page or its outlines is incomplete, which is an `InputError`.
    """
    files = certificate.files
    needed: list[str] = []
    for name in columns:
        whole = [f"{_stem(name, stem)}.{ending}" for ending in ("parquet", "csv")]
        needed += _part_names(name, certificate) if in_parts else whole
    needed += [REPORT] if stem is None else []
    needed += [REGIONS] if columns_with_role(columns, REGION_ROLES) else []
    for file in needed:
        if file not in files:
            msg = f"the release is incomplete: the certificate lists no {safe_text(file)}"
            raise InputError(msg)
    allowed = {*needed}
    if stem is None:
        allowed |= {CROISSANT}
        if PERSON in columns.get(EVENTS, {}) and not in_parts:
            allowed |= {f"{EVENTS}.{form}" for form in get_args(LogFormat)} | {*MEDS_FILES}
    names = hierarchy_files(column for roles in columns.values() for column in roles)
    paths = {column: _path(file, stem) for column, file in names.items()}
    trees = hierarchy_columns(certificate, columns, n_rows=certificate.events, alone=stem is not None)
    missing = [column for column, is_needed in trees.items() if is_needed and paths[column] not in files]
    if missing:
        return {}, [
            f"{safe_text(paths[column])}: is not there, and column {safe_repr(column)} needs its hierarchy"
            for column in missing
        ]
    present = {column: paths[column] for column in trees if paths[column] in files}
    surplus = sorted({*files} - allowed - {*present.values()})
    return present, [f"{safe_text(name)}: {_reason(name, paths)}" for name in surplus]


def check_description(folder: Path, certificate: Certificate) -> list[str]:
    """Find a description for programs that says other than the certificate; older releases have none."""
    if CROISSANT not in certificate.files:
        return []
    others = {name: digest for name, digest in certificate.files.items() if name != CROISSANT}
    expected = croissant_json(certificate.about, certificate.columns, others, model=certificate.model)
    if (folder / CROISSANT).read_bytes() == expected:
        return []
    return [f"{CROISSANT}: does not say what the certificate says"]


def check_snapshot_names(frame: pl.DataFrame, unit: object) -> list[str]:
    """Find snapshots that are no day, week or month, or not in order; an order may be any text."""
    form = SNAPSHOTS.get(str(unit))
    if form is None:
        return []
    names = frame[TIME].unique(maintain_order=True)
    strange = names.filter(~names.str.contains(f"^{form}(/{form})?$"))
    if len(strange):
        return [f"{TIME} must be a {unit}, and is {safe_repr(strange[0])}"]
    return [] if names.is_sorted() else [f"{TIME}: the snapshots are not in the order of time"]


def check_order(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Find records whose snapshots are apart, and groups that are not numbered from 1 in their order."""
    findings = []
    for name, frame in tables.items():
        if TIME in frame.columns:
            heads = frame[TIME].filter(frame[TIME].ne_missing(frame[TIME].shift(1)))
            if heads.is_duplicated().any():
                twice = heads.filter(heads.is_duplicated())[0]
                findings.append(
                    f"{name}.parquet: the records of snapshot {safe_repr(twice)} do not stand together"
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


def _part_names(table: str, certificate: Certificate) -> list[str]:
    """Return the files that a table in parts must have: as many as there are, numbered from 0."""
    return [part_file(table, number) for number in range(max(len(certificate.part_files(table)), 1))]


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


def read_hierarchies(
    folder: Path, files: Mapping[str, str], tables: Mapping[str, pl.DataFrame]
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return the hierarchy of each column that has one, and what is wrong with them.

    `files` leads from the columns of `tables` that have a hierarchy to its file.
    """
    cells = {name: frame[name] for frame in [*tables.values()][::-1] for name in frame.columns}
    hierarchies: dict[str, pl.DataFrame] = {}
    findings: list[str] = []
    for column, file in files.items():
        tree = read_text_csv(folder / file, HIERARCHY_SEPARATOR)
        if tree.columns != HIERARCHY_COLUMNS:
            names = ", ".join(HIERARCHY_COLUMNS)
            problems = [f"the columns must be {names}, they are {safe_repr(tree.columns)}"]
        else:
            parent, leaves = pl.col("parent").fill_null(""), pl.col("leaves").cast(pl.Int64, strict=False)
            tree = hierarchies[column] = tree.with_columns(parent, leaves)
            problems = _check_tree(tree, set(cells[column].unique().to_list()))
            if not problems and hierarchy_csv(tree) != (folder / file).read_bytes():
                problems = ["is not written as a release is: other quotes, line ends or numbers"]
        findings += [f"{safe_text(file)}: {problem}" for problem in problems]
    return hierarchies, findings


def _check_tree(nodes: pl.DataFrame, released: set[str]) -> list[str]:
    """Find nodes that are no tree, or are not just those at and above released values, parents first."""
    parent = dict(nodes.select("node", "parent").iter_rows())
    unknown = sorted(released - parent.keys())
    if unknown:
        return [f"{len(unknown):,} released values are no node of it, for example {safe_repr(unknown[0])}"]
    needed = {"", ROOT}
    for node in released:
        while node not in needed:
            needed.add(node)
            node = parent.get(node, "")  # noqa: PLW2901 - the way up from a value
    seen = {""}
    for node, above in parent.items():
        if node not in needed:
            reason = "is not at or above a released value: it gives away what was there"
            return [f"node {safe_repr(node)} {reason}"]
        if above not in seen:
            return [f"the parent of node {safe_repr(node)} does not stand before it"]
        seen.add(node)
    try:
        Hierarchy.from_frame(nodes)
    except HierarchyError as error:
        return [safe_text(error.lines[0])]
    return []


_NOWHERE = {"*", "(missing)"}
_DIGITS = 6
_FEWEST, _MOST = 4, 16
"""Corners of an outline, the first one repeated: a rectangle has 5, a cell of H3 at most 11."""


def _check_ring(ring: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of an outline that is as a release has it."""
    if not _FEWEST <= len(ring) <= _MOST:
        refuse_field(f"must be {_FEWEST} to {_MOST} corners of two numbers each")
    if ring[0] != ring[-1]:
        refuse_field("must end where it begins")
    for lon, lat in ring:
        is_rounded = (lon, lat) == (round(lon, _DIGITS), round(lat, _DIGITS))
        if abs(lon) > 360 or abs(lat) > 90 or not is_rounded:
            refuse_field(f"must be longitudes and latitudes of at most {_DIGITS} digits behind the point")
    return ring


class _Geometry(Table):
    type: Literal["Polygon"]
    coordinates: tuple[Annotated[list[tuple[Number, Number]], AfterValidator(_check_ring)]]


class _Properties(Table):
    region: str


class _Feature(Table):
    type: Literal["Feature"]
    properties: _Properties
    geometry: _Geometry


class _Outlines(Table):
    """The fields of ``regions.geojson``: outlines of one ring each."""

    type: Literal["FeatureCollection"]
    features: list[_Feature]


def check_regions(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare the outlines, where the certificate lists any, with the released rows."""
    if REGIONS not in files:
        return []
    if REGION not in frame.columns:
        return [f"{REGIONS}: does not belong here: there is no column {REGION}"]
    text = (folder / REGIONS).read_bytes()
    try:
        document = read_document(text, REGIONS)
    except InputError as error:
        msg = f"{REGIONS} is not readable as outlines of regions: {safe_text(error.lines[0])}"
        raise InputError(msg) from None
    try:
        outlined = [each.properties.region for each in read_fields(_Outlines, document, REGIONS).features]
    except InputError as error:
        return list(error.lines)
    values = in_label_order(frame[REGION].drop_nulls().unique())
    released = dict.fromkeys(value if value in outlined else value.partition(AT)[0] for value in values)
    wanted = [name for name in released if name not in _NOWHERE]
    findings = []
    for names, what in (
        (set(wanted) - set(outlined), "has no outline of the released region"),
        (set(outlined) - set(wanted), "has an outline of a region that is not released,"),
    ):
        findings += [f"{REGIONS}: {what} {safe_repr(name)}" for name in sorted(names)[:5]]
    if not findings and outlined != wanted:
        findings.append(f"{REGIONS}: has outlines twice, or in another order than the regions")
    if not findings and json.dumps(document, ensure_ascii=False).encode() + b"\n" != text:
        findings.append(
            f"{REGIONS}: is not written as a release is: blanks or other numbers can carry something"
        )
    return findings
