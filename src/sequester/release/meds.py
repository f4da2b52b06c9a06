"""A release in the form of the Medical Event Data Standard (MEDS), made of the released tables alone."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import ROOT
from sequester.io.meds import BETWEEN, CODE, NUMBER, SUBJECT, WHEN
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

DATA, CODES, DATASET = "meds/data/0.parquet", "meds/metadata/codes.parquet", "meds/metadata/dataset.json"
MEDS_FILES = (DATA, CODES, DATASET)
"""The files, by their paths in the release folder."""
ARTIFICIAL = "artificial_time"
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
    of MEDS that is no text, such as ``numeric_value``, is there as text in ``numeric_value_range``; of its
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
        pl.lit(value=True).alias(ARTIFICIAL),
        *(events[name].alias(other) for name, other in columns.items()),
    )
    static = [
        persons.select(
            PERSON,
            pl.lit(0, pl.Int64).alias(ORDER),
            (name + pl.lit(BETWEEN) + persons[name]).alias(CODE),
            pl.lit(value=False).alias(ARTIFICIAL),
        )
        for name in static_columns(persons)
        if persons is not None
    ]
    rows = pl.concat([*static, timed], how="diagonal").join(subjects, on=PERSON, maintain_order="left")
    rows = rows.sort(SUBJECT, ORDER, maintain_order=True)
    return rows.select(pl.col(SUBJECT).cast(pl.Int64), WHEN, CODE, NUMBER, ARTIFICIAL, *columns.values())


def text_columns(events: pl.DataFrame) -> dict[str, str]:
    """Return the released columns beside the code, and the names that they have in ``data``."""
    own = [name for name in events.columns if name not in (PERSON, ORDER, CODE)]
    return {name: f"{name}_range" if name in (SUBJECT, WHEN, NUMBER, ARTIFICIAL) else name for name in own}


def unsupported_by_meds(events: pl.DataFrame) -> str | None:
    """Return why released events cannot be written in MEDS form; None where they can."""
    if CODE not in events.columns:
        return f"MEDS needs a column {CODE}"
    names = [SUBJECT, WHEN, NUMBER, ARTIFICIAL, *text_columns(events).values()]
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
