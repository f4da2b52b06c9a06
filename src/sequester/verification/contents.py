"""The contents of a release, read from its files: tables, hierarchies, regions and event logs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import polars as pl

from sequester.data.places import AT, REGION
from sequester.errors import InputError
from sequester.hierarchies.labels import ROOT, in_label_order
from sequester.io.parquet import refuse_unreadable
from sequester.privacy.snapshots import COUNT, GROUP, TIME
from sequester.release.certificate import REGION_ROLES, with_role
from sequester.release.croissant import CROISSANT, croissant_json
from sequester.release.fields import read_document, safe_repr, safe_text
from sequester.release.files import (
    HIERARCHIES,
    REGIONS,
    LogFormat,
    expected_log,
    hierarchy_files,
    read_log,
    unsupported_reason,
    write_log,
)
from sequester.release.folder import (
    HIERARCHY_COLUMNS,
    HIERARCHY_SEPARATOR,
    check_files,
    hierarchy_csv,
    read_certificate,
)
from sequester.release.meds import MEDS_FILES, meds_files, without_writer
from sequester.release.open import Opened
from sequester.release.release import EVENTS, PERSON, PERSONS
from sequester.verification.claim import claimed_columns, hierarchy_columns
from sequester.verification.tables import check_persons, read_table, read_text_csv

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    from sequester.release.certificate import Certificate
    from sequester.release.fields import Field


REPORT = "report.html"
"""The page for recipients."""


_SNAPSHOTS = {"day": r"\d{4}-\d{2}-\d{2}", "week": r"\d{4}-W\d{2}", "month": r"\d{4}-\d{2}"}
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


def read_contents(
    folder: Path, certificate: Certificate, *, stem: str | None = None, ours: bool = False
) -> tuple[Contents | None, list[str]]:
    """Return the contents of all files of a release, or what is wrong with them.

    `stem` is what the files of one snapshot of a stream begin with. Files that are not `ours`, written by
    this very process, are read with care. `sequester.release.folder.check_files` has compared the hashes.
    """
    columns = claimed_columns(certificate)
    files = certificate.files
    stems = {name: _stem(name, stem) for name in columns}
    for name in stems.values():
        for ending in ("parquet", "csv"):
            if f"{name}.{ending}" not in files:
                msg = f"the release is incomplete: the certificate lists no {safe_text(name)}.{ending}"
                raise InputError(msg)
    allowed = {f"{name}.{ending}" for name in stems.values() for ending in ("parquet", "csv")}
    if stem is None:
        allowed |= {REPORT, CROISSANT}
        if REPORT not in files:
            msg = f"the release is incomplete: the certificate lists no {REPORT}"
            raise InputError(msg)
        if PERSON in columns.get(EVENTS, {}):
            allowed |= {f"{EVENTS}.{form}" for form in get_args(LogFormat)} | {*MEDS_FILES}
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
            f"{safe_text(paths[column])}: is not there, and column {safe_repr(column)} needs its hierarchy"
            for column in missing
        ]
    trees = {column: needed for column, needed in trees.items() if paths[column] in files}
    allowed |= {paths[column] for column in trees}
    surplus = sorted(set(files) - allowed)
    if surplus:
        return None, [f"{safe_text(name)}: {_reason(name, paths)}" for name in surplus]
    tables: dict[str, pl.DataFrame] = {}
    for name, roles in columns.items():
        n_rows = None if tables else certificate.events
        frame, findings = read_table(folder, stems[name], roles, files, n_rows=n_rows, ours=ours)
        if frame is None:
            return None, findings
        tables[name] = frame
    main = next(iter(tables.values()))
    findings = check_persons(tables, certificate) if PERSON in main.columns else check_order(tables)
    if stem is None and TIME in main.columns:
        findings += check_snapshot_names(main, certificate.parameters.get("snapshot"))
    if findings:
        return None, findings
    hierarchies, findings = read_hierarchies(folder, {column: paths[column] for column in trees}, tables)
    if stem is None:
        findings += check_event_logs(folder, files, main)
        findings += [] if findings else check_meds(folder, certificate, tables, hierarchies)
        findings += check_description(folder, certificate)
    findings += check_regions(folder, files, main)
    return (None, findings) if findings else (Contents(tables, hierarchies), [])


def open(path: str | os.PathLike[str]) -> Opened:  # noqa: A001  (as in sq.open, where it is plain)
    """Read one release folder; see `sequester.open`."""
    folder = Path(path)
    certificate, _ = read_certificate(folder)
    findings = check_files(folder, certificate.files)
    if findings:
        raise InputError(*findings)
    contents, findings = read_contents(folder, certificate)
    if contents is None:
        raise InputError(*findings)
    return Opened(contents.frame, contents.hierarchies, certificate, contents.tables)


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
    """Find snapshots whose name is not the day, week or month that they are; an order may be any text."""
    form = _SNAPSHOTS.get(str(unit))
    if form is None:
        return []
    names = frame[TIME].unique(maintain_order=True)
    strange = names.filter(~names.str.contains(f"^{form}(/{form})?$"))
    return [f"{TIME} must be a {unit}, and is {safe_repr(strange[0])}"] if len(strange) else []


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
        problems = _check_tree(tree, set(cells[column].unique().to_list()))
        if not problems:
            tree = tree.with_columns(pl.col("parent").fill_null(""), pl.col("leaves").cast(pl.Int64))
            hierarchies[column] = tree
            if hierarchy_csv(tree) != (folder / file).read_bytes():
                problems = ["is not written as a release is: other quotes, line ends or numbers"]
        findings += [f"{safe_text(file)}: {problem}" for problem in problems]
    return hierarchies, findings


def _check_tree(tree: pl.DataFrame, released: set[str]) -> list[str]:
    if tree.columns != HIERARCHY_COLUMNS:
        return [f"the columns must be {', '.join(HIERARCHY_COLUMNS)}, they are {safe_repr(tree.columns)}"]
    leaves = tree["leaves"].cast(pl.Int64, strict=False)
    if tree["node"].null_count() or leaves.null_count() or (leaves < 1).any():
        return ["every row must have a node and its number of leaves, 1 or more"]
    if tree["node"].is_duplicated().any():
        return [f"node {safe_repr(tree['node'].filter(tree['node'].is_duplicated())[0])} occurs twice"]
    parent = dict(zip(tree["node"].to_list(), tree["parent"].to_list(), strict=True))
    roots = [node for node, above in parent.items() if above is None]
    if roots != [ROOT]:
        return [f"there must be one node without a parent, {ROOT}; there are {safe_repr(roots)}"]
    orphans = [node for node, above in parent.items() if above is not None and above not in parent]
    if orphans:
        return [f"the parent of node {safe_repr(orphans[0])} is no node"]
    unknown = sorted(released - parent.keys())
    if unknown:
        return [f"{len(unknown):,} released values are no node of it, for example {safe_repr(unknown[0])}"]
    return (
        _check_ways_up(parent, released)
        or _check_leaves(parent, dict(zip(parent, leaves, strict=True)))
        or _check_order(parent)
    )


def _check_order(parent: dict[str, str | None]) -> list[str]:
    place = {node: row for row, node in enumerate(parent)}
    early = [node for node, above in parent.items() if above is not None and place[above] > place[node]]
    return [f"node {safe_repr(early[0])} stands before its parent"] if early else []


def _check_ways_up(parent: dict[str, str | None], released: set[str]) -> list[str]:
    """Find nodes that are not on a path from a released value to the root."""
    reached = {ROOT}
    for value in released:
        way: list[str] = []
        node: str | None = value
        while node is not None and node not in reached:
            reached.add(node)
            way.append(node)
            node = parent[node]
        if node is not None and node in way:
            return [f"node {safe_repr(node)} is above itself"]
    below = [node for node in parent if node not in reached]
    if below:
        return [
            f"node {safe_repr(below[0])} is not at or above a released value: it gives away what was there"
        ]
    return []


def _check_leaves(parent: dict[str, str | None], leaves: dict[str, int]) -> list[str]:
    under = dict.fromkeys(parent, 0)
    for node, above in parent.items():
        if above is not None:
            under[above] += leaves[node]
    short = [node for node in parent if under[node] > leaves[node]]
    if short:
        return [f"node {safe_repr(short[0])} has fewer leaves than the nodes below it"]
    return []


_NOWHERE = {"*", "(missing)"}
_DIGITS = 6
_FEWEST, _MOST = 4, 16
"""Corners of an outline, the first one repeated: a rectangle has 5, a cell of H3 at most 11."""


def check_regions(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare the outlines, where the certificate lists any, with the released rows."""
    if REGIONS not in files:
        return []
    if REGION not in frame.columns:
        return [f"{REGIONS}: does not belong here: there is no column {REGION}"]
    text = (folder / REGIONS).read_bytes()
    try:
        top = read_document(text, REGIONS)
    except InputError as error:
        msg = f"{REGIONS} is not readable as outlines of regions: {safe_text(error.lines[0])}"
        raise InputError(msg) from None
    try:
        _is(top.expect("type", "features").take("type"), "FeatureCollection")
        outlined = [_outline(feature) for feature in top.take("features").items()]
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
    if not findings and json.dumps(top.value, ensure_ascii=False).encode() + b"\n" != text:
        findings.append(
            f"{REGIONS}: is not written as a release is: blanks or other numbers can carry something"
        )
    return findings


def _outline(field: Field) -> str:
    """Return the region of an outline that is as a release has it: one ring of plain corners."""
    feature = field.table().expect("type", "properties", "geometry")
    _is(feature.take("type"), "Feature")
    region = feature.take("properties").table().expect(REGION).take(REGION).text()
    geometry = feature.take("geometry").table().expect("type", "coordinates")
    _is(geometry.take("type"), "Polygon")
    rings = geometry.take("coordinates")
    if len(rings.items()) != 1:
        rings.refuse("must be one ring")
    ring = rings.items()[0]
    corners = [tuple(number.number() for number in corner.items()) for corner in ring.items()]
    if not _FEWEST <= len(corners) <= _MOST or any(len(corner) != 2 for corner in corners):
        ring.refuse(f"must be {_FEWEST} to {_MOST} corners of two numbers each")
    if corners[0] != corners[-1]:
        ring.refuse("must end where it begins")
    for lon, lat in corners:
        if not (abs(lon) <= 360 and abs(lat) <= 90) or (lon, lat) != (
            round(lon, _DIGITS),
            round(lat, _DIGITS),
        ):
            ring.refuse(f"must be longitudes and latitudes of at most {_DIGITS} digits behind the point")
    return region


def _is(field: Field, value: str) -> None:
    if field.value != value:
        msg = f"{REGIONS}: {safe_text('.'.join(field.path))} must be {value!r}, got {safe_repr(field.value)}"
        raise InputError(msg)


def check_event_logs(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare each event log that the certificate lists with the released table."""
    findings = []
    for form in get_args(LogFormat):
        path = folder / f"events.{form}"
        if path.name not in files:
            continue
        reason = unsupported_reason(frame, form)
        if reason is not None:
            findings.append(f"{path.name}: does not belong here: {safe_text(reason)}")
            continue
        contents = path.read_bytes()
        if contents == write_log(frame, form):
            continue
        try:
            found = read_log(contents, path.name, form)
        except (InputError, OSError) as error:
            msg = f"{path.name} is not readable: {safe_text(str(error).removeprefix(f'{path.name}: '))}"
            raise InputError(msg) from None
        findings += _compare(found, expected_log(frame, form), path.name) or [
            f"{path.name}: has the events of events.parquet, and is not written as a release is"
        ]
    return findings


def check_meds(
    folder: Path,
    certificate: Certificate,
    tables: Mapping[str, pl.DataFrame],
    hierarchies: Mapping[str, pl.DataFrame],
) -> list[str]:
    """Compare the MEDS dataset, where the certificate lists one, with what the tables make it."""
    listed = [name for name in MEDS_FILES if name in certificate.files]
    if not listed:
        return []
    reason = unsupported_reason(tables[EVENTS], "meds")
    if reason is not None:
        return [f"{listed[0]}: does not belong here: {safe_text(reason)}"]
    if len(listed) < len(MEDS_FILES):
        absent = next(name for name in MEDS_FILES if name not in listed)
        msg = f"the release is incomplete: the certificate lists no {absent}"
        raise InputError(msg)
    expected = meds_files(tables, hierarchies, title=certificate.about.title, version=certificate.version)
    findings = []
    for name, contents in expected.items():
        found = (folder / name).read_bytes()
        if without_writer(found) == without_writer(contents):
            continue
        differs = []
        if name.endswith(".parquet"):
            refuse_unreadable([folder / name], "Parquet")
            try:
                differs = _compare(pl.read_parquet(found), pl.read_parquet(contents), name, "the tables")
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                msg = f"{name} is not readable as Parquet"
                raise InputError(msg) from error
        findings += differs or [f"{name}: is not written as a release is: it carries something else"]
    return findings


def _compare(
    found: pl.DataFrame, expected: pl.DataFrame, name: str, other: str = "events.parquet"
) -> list[str]:
    pair = f"{name} and {other} differ"
    if set(found.columns) != set(expected.columns):
        return [
            f"{pair}: attributes {safe_repr(sorted(found.columns))} and {safe_repr(sorted(expected.columns))}"
        ]
    if found.height != expected.height:
        return [f"{pair}: {found.height:,} and {expected.height:,} events"]
    findings = []
    for column in expected.columns:
        rows = found[column].ne_missing(expected[column]).arg_true()
        if len(rows):
            findings.append(
                f"{pair}: {len(rows):,} values of {safe_repr(column)}, the first in event {rows[0] + 1:,}, "
                f"{safe_repr(found[column][rows[0]])} and {safe_repr(expected[column][rows[0]])}"
            )
    return findings
