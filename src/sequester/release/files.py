"""Files of a release: names that are safe on every system, parts, and event logs in the input's format."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import numpy as np
import polars as pl

from sequester.data.text import as_text
from sequester.engine.local import cut_evenly
from sequester.errors import InputError
from sequester.hierarchies.labels import ROOT
from sequester.io.clinical import BETWEEN, CODE, NUMBER, SUBJECT, WHEN
from sequester.io.spmf import read_spmf, write_spmf
from sequester.io.xes import ACTIVITY, CASE, read_xes, write_times, write_xes
from sequester.io.xes import TIME as LOG_TIME
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from sequester._typing import Mask

REGIONS = "regions.geojson"
"""The outlines of released regions."""
HIERARCHIES = "hierarchies"
"""The folder of hierarchies in a release."""
_LONGEST = 120
"""Characters of a name, so that it fits everywhere with its ending and folder."""
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that mean a device on some systems, with any ending."""
_STRANGE = re.compile(r"[\x00-\x1f\x7f\\:]")


def unsafe_path_reason(name: str) -> str | None:
    """Return why a file name is unsafe, or None where it stays in the folder on every system.

    Examples
    --------
    >>> unsafe_path_reason("hierarchies/ZIP.csv")
    >>> unsafe_path_reason("../secrets.csv")
    'leaves the folder'
    """
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "is an absolute path"
    if _STRANGE.search(name):
        return "has a character that no released file name has"
    steps = name.split("/")
    if ".." in steps:
        return "leaves the folder"
    if "" in steps or "." in steps:
        return "is no plain path"
    return None


def hierarchy_files(attributes: Iterable[str]) -> dict[str, str]:
    """Return the hierarchy file of each attribute: safe on every system, and never the same for two.

    Letters, digits, ``_``, ``-`` and inner dots stay as they are; everything else is percent-encoded, which
    `urllib.parse.unquote` undoes. A name that would be too long is cut, and names that differ in nothing but
    case would fall together on some systems: both get a part of their SHA-256 behind a ``~``.

    Examples
    --------
    >>> hierarchy_files(["ZIP", "../x", "Länge"])
    {'ZIP': 'hierarchies/ZIP.csv', '../x': 'hierarchies/%2E.%2Fx.csv', 'Länge': 'hierarchies/L%C3%A4nge.csv'}
    >>> hierarchy_files(["zip", "ZIP"])["zip"]
    'hierarchies/zip~4a70fe9aa6436e02.csv'
    """
    stems = {attribute: _stem(attribute) for attribute in attributes}
    shared = Counter(stem.casefold() for stem in stems.values())
    names = {}
    for attribute, stem in stems.items():
        if len(stem) > _LONGEST or shared[stem.casefold()] > 1:
            digest = hashlib.sha256(attribute.encode()).hexdigest()
            stem = f"{stem[:_LONGEST]}~{digest[:16]}"  # noqa: PLW2901
        names[attribute] = f"{HIERARCHIES}/{stem}.csv"
    return names


def _stem(attribute: str) -> str:
    stem = quote(attribute, safe="").replace("~", "%7E")
    if _DEVICES.fullmatch(stem):
        return f"%{ord(stem[0]):02X}{stem[1:]}"
    if stem.startswith("."):
        stem = "%2E" + stem[1:]
    if stem.endswith("."):
        stem = stem[:-1] + "%2E"
    return stem


MOST_PARTS = 10_000
"""Files of a table in parts, at most."""


def part_file(table: str, number: int) -> str:
    """Return the name of a part of a table that is written in parts.

    Examples
    --------
    >>> part_file("events", 7)
    'events/part-0007.parquet'
    """
    return f"{table}/part-{number:04d}.parquet"


def cut_by_person(frame: pl.DataFrame, n_parts: int) -> list[pl.DataFrame]:
    """Cut a released table into consecutive parts with equally many persons, up to one, each in one part.

    Examples
    --------
    >>> [part["person"].to_list() for part in cut_by_person(pl.DataFrame({"person": list("aabccc")}), 2)]
    [['a', 'a', 'b'], ['c', 'c', 'c']]
    """
    starts = np.append(np.flatnonzero(mark_starts(frame[PERSON])), frame.height)
    shards = cut_evenly(len(starts) - 1, n_parts) or [range(0)]
    return [frame[starts[shard.start] : starts[shard.stop]] for shard in shards]


ARTIFICIAL = "sequester:artificial_time"
"""The attribute of an event in XES whose timestamp was made up to keep the order."""
LogFormat = Literal["xes", "spmf"]
"""Formats of event logs that a release may have beside CSV and Parquet."""
OtherFormat = Literal[LogFormat, "meds"]
"""The same, and MEDS, which is a folder."""


def unsupported_reason(frame: pl.DataFrame, form: OtherFormat) -> str | None:
    """Return why a released table cannot be written as an event log; None where it can.

    Examples
    --------
    >>> unsupported_reason(pl.DataFrame({"person": ["a"], "order": [1], "ZIP": ["1*"], "LOS": ["3"]}), "spmf")
    'SPMF has one attribute per event, the release has 2'
    """
    attributes = _attributes(frame)
    if PERSON not in frame.columns or not frame.height:
        return "it would have no persons"
    if form == "spmf" and len(attributes) != 1:
        return f"SPMF has one attribute per event, the release has {len(attributes)}"
    if form == "meds":
        return unsupported_by_meds(frame)
    if form == "xes" and CASE in attributes:
        return f"the released column {CASE} would stand in the place of the pseudonyms"
    return None


def write_log(frame: pl.DataFrame, form: LogFormat) -> bytes:
    """Return a released table as an event log, persons under their pseudonyms and without `order`.

    In XES every attribute is text, under its own name, and where ``concept:name`` is not released, the first
    attribute stands for it too. Where no time is released, each event has an artificial one that keeps the
    order, one second after the other from 1970 on, marked by ``sequester:artificial_time``. In SPMF persons
    are lines and every event is an itemset.
    """
    if form == "xes":
        columns = _xes_columns(frame)
        return write_xes(columns.pop(CASE), columns)
    (attribute,) = _attributes(frame)
    starts = mark_starts(frame[PERSON])
    return write_spmf(frame[attribute], starts, np.ones_like(starts))


def read_log(contents: bytes, name: str, form: LogFormat) -> pl.DataFrame:
    """Read an event log for comparison with `expected_log`."""
    return read_xes(contents, name) if form == "xes" else read_spmf(contents, name).cast(pl.String)


def expected_log(frame: pl.DataFrame, form: LogFormat) -> pl.DataFrame:
    """Return what `read_log` finds in the event log of a released table."""
    if form == "xes":
        texts = {
            name: write_times(column) if column.dtype == pl.Datetime else as_text(column)
            for name, column in _xes_columns(frame).items()
        }
        return pl.DataFrame({name: text for name, text in texts.items() if text.null_count() < len(text)})
    (attribute,) = _attributes(frame)
    person = np.cumsum(mark_starts(frame[PERSON]))
    columns = {"person": person, "order": frame[ORDER], "symbol": frame[attribute]}
    return pl.DataFrame(columns).cast(pl.String)


def _attributes(frame: pl.DataFrame) -> list[str]:
    return [column for column in frame.columns if column not in (PERSON, ORDER)]


def _xes_columns(frame: pl.DataFrame) -> dict[str, pl.Series]:
    attributes = {column: frame[column] for column in _attributes(frame)}
    activity = attributes.get(ACTIVITY, next(iter(attributes.values())))
    times = {}
    if LOG_TIME not in attributes:
        # Process miners need times; these say nothing but the order, and say so.
        seconds = (frame[ORDER].cast(pl.Int64) - 1) * 1_000_000
        times = {
            LOG_TIME: seconds.cast(pl.Datetime("us", "UTC")),
            ARTIFICIAL: pl.Series([True]).new_from_index(0, frame.height),
        }
    return {CASE: frame[PERSON], ACTIVITY: activity, **times, **attributes}


def mark_starts(persons: pl.Series) -> Mask:
    """Mark the rows at which another person begins."""
    marks: Mask = persons.ne_missing(persons.shift(1)).to_numpy()
    return marks


def first_of_each(persons: pl.Series) -> pl.Series:
    """Return each person once for every run of rows, in the order of the rows."""
    return persons.filter(mark_starts(persons))


DATA, CODES, DATASET = "meds/data/0.parquet", "meds/metadata/codes.parquet", "meds/metadata/dataset.json"
MEDS_FILES = (DATA, CODES, DATASET)
"""The files, by their paths in the release folder."""
ARTIFICIAL_TIME = "artificial_time"
"""The column that marks times that were made up to keep the order."""
_VERSION = "0.4.1"
"""Of the standard."""
_WRITER = re.compile(rb"parquet-cpp-arrow version \d+\.\d+\.\d+")
_ROWS_PER_GROUP = 2**17


def meds_files(
    tables: Mapping[str, pl.DataFrame], hierarchies: Mapping[str, pl.DataFrame], *, title: str, version: str
) -> dict[str, bytes]:
    """Return the files of the MEDS dataset of a release, valid by the schemas of the package ``meds``.

    Raises
    ------
    InputError
        Where the extra ``meds`` is not installed.
    """
    try:
        from meds import CodeMetadataSchema, DataSchema  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = f"a release in MEDS form needs the extra meds ({error.name}): pip install 'sequester[meds]'"
        raise InputError(msg) from None
    about = {
        "dataset_name": title or "release",
        "etl_name": "sequester",
        "etl_version": version,
        "meds_version": _VERSION,
    }
    return {
        DATA: _parquet(DataSchema.align(data_rows(tables).to_arrow())),
        CODES: _parquet(CodeMetadataSchema.align(code_rows(tables, hierarchies).to_arrow())),
        DATASET: (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode(),
    }


def data_rows(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of ``data``: per person the attributes, which have no time, and then the events.

    Persons are numbered in the order of their table, or of the events where they have none. Times are
    artificial: they keep the order, one second after the other from 1970 on. A column that is called as one
    of MEDS that is not text, such as ``numeric_value``, is there as text in ``numeric_value_range``; of its
    labels, those that are numbers are also in the column itself.
    """
    events, persons = tables[EVENTS], tables.get(PERSONS)
    everybody = events[PERSON].unique(maintain_order=True) if persons is None else persons[PERSON]
    subjects = pl.DataFrame({PERSON: everybody}).with_row_index(SUBJECT, offset=1)
    columns = text_columns(events)
    number = pl.col(NUMBER) if NUMBER in columns else pl.lit(None, pl.String)
    timed = events.select(
        PERSON,
        ORDER,
        CODE,
        ((pl.col(ORDER) - 1) * 1_000_000).cast(pl.Datetime("us")).alias(WHEN),
        number.cast(pl.Float32, strict=False).alias(NUMBER),
        pl.lit(value=True).alias(ARTIFICIAL_TIME),
        *(events[name].alias(other) for name, other in columns.items()),
    )
    static = [
        persons.select(
            PERSON,
            pl.lit(0, pl.Int64).alias(ORDER),
            (name + pl.lit(BETWEEN) + persons[name]).alias(CODE),
            pl.lit(value=False).alias(ARTIFICIAL_TIME),
        )
        for name in static_columns(persons)
        if persons is not None
    ]
    rows = pl.concat([*static, timed], how="diagonal").join(subjects, on=PERSON, maintain_order="left")
    rows = rows.sort(SUBJECT, ORDER, maintain_order=True)
    return rows.select(pl.col(SUBJECT).cast(pl.Int64), WHEN, CODE, NUMBER, ARTIFICIAL_TIME, *columns.values())


def text_columns(events: pl.DataFrame) -> dict[str, str]:
    """Return the released columns beside the code, and the names that they have in ``data``."""
    own = [name for name in events.columns if name not in (PERSON, ORDER, CODE)]
    taken = (SUBJECT, WHEN, NUMBER, ARTIFICIAL_TIME)
    return {name: f"{name}_range" if name in taken else name for name in own}


def unsupported_by_meds(events: pl.DataFrame) -> str | None:
    """Return why released events cannot be written in MEDS form; None where they can."""
    if CODE not in events.columns:
        return f"MEDS needs a column {CODE}"
    names = [SUBJECT, WHEN, NUMBER, ARTIFICIAL_TIME, *text_columns(events).values()]
    twice = [name for name in names if names.count(name) > 1]
    return f"two columns would be called {twice[0]}" if twice else None


def static_columns(persons: pl.DataFrame | None) -> list[str]:
    """Return the attributes of persons, which become events without a time."""
    return [] if persons is None else [name for name in persons.columns if name != PERSON]


def code_rows(tables: Mapping[str, pl.DataFrame], hierarchies: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of ``codes``: every code of the data, and the nodes above it that are released.

    Descriptions are left out: no released table has them.
    """
    attributes = {CODE: ""} | {name: f"{name}{BETWEEN}" for name in static_columns(tables.get(PERSONS))}
    parents: dict[str, list[str] | None] = dict.fromkeys(data_rows(tables)[CODE].unique().to_list())
    for name, prefix in attributes.items():
        tree = hierarchies.get(name)
        if tree is not None:
            for node, parent in tree.filter(pl.col("node") != ROOT).select("node", "parent").iter_rows():
                parents[prefix + node] = None if parent == ROOT else [prefix + parent]
    return pl.DataFrame(
        sorted(parents.items()), schema={CODE: pl.String, "parent_codes": pl.List(pl.String)}, orient="row"
    ).with_columns(description=pl.lit(None, pl.String))


def without_writer(contents: bytes) -> bytes:
    """Return a Parquet file without the version of the program that wrote it."""
    return _WRITER.sub(b"", contents)


def _parquet(table: pa.Table) -> bytes:
    """Write a table so that every version of the writer gives the same bytes, but for its own version."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    buffer = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(None),
        buffer,
        compression="none",
        write_statistics=False,
        store_schema=False,
        row_group_size=_ROWS_PER_GROUP,
    )
    return buffer.getvalue()
