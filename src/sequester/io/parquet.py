"""Read a Parquet file, or a folder of them that have the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io.contents import in_words

if TYPE_CHECKING:
    from pathlib import Path

MOST_ROWS = 2**31 - 1
"""Rows that a table may have; a few bytes of Parquet can claim any number."""


def read_parquet(path: Path) -> pl.DataFrame:
    """Read one Parquet file, types as they are."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start != b"PAR1":
            msg = f"{path}: is empty" if not start else f"{path}: is no Parquet file"
            raise InputError(msg)
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        n_rows = scan.select(pl.len()).collect().item()
        if n_rows > MOST_ROWS:
            msg = f"{path}: claims {n_rows:,} rows, at most {MOST_ROWS:,} are read"
            raise InputError(msg)
        frame = scan.collect()
    except OSError as error:
        raise InputError(in_words(path, error)) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        msg = f"{path}: the Parquet file is damaged ({str(error).splitlines()[0]})"
        raise InputError(msg) from None
    if not frame.height:
        msg = f"{path}: has no rows"
        raise InputError(msg)
    return frame


def read_parquet_folder(folder: Path) -> pl.DataFrame:
    """Read the Parquet files of a folder one after the other, by name; all have the columns of the first."""
    try:
        paths = sorted(
            path for path in folder.iterdir() if path.suffix.lower() == ".parquet" and path.is_file()
        )
    except OSError as error:
        raise InputError(in_words(folder, error)) from None
    if not paths:
        msg = f"{folder}: is a folder without .parquet files"
        raise InputError(msg)
    frames = [read_parquet(path) for path in paths]
    first = frames[0].schema
    lines = [
        f"{path}: {difference}, unlike {paths[0].name}"
        for path, frame in zip(paths[1:], frames[1:], strict=True)
        for difference in _differences(frame.schema, first)
    ]
    if lines:
        raise InputError(*lines)
    return pl.concat([frame.select(first.names()) for frame in frames])


def _differences(schema: pl.Schema, first: pl.Schema) -> list[str]:
    return [
        *(f"has no column {quoted(name)}" for name in first if name not in schema),
        *(f"has a column {quoted(name)}" for name in schema if name not in first),
        *(
            f"column {quoted(name)} holds {schema[name]} and not {dtype}"
            for name, dtype in first.items()
            if name in schema and schema[name] != dtype
        ),
    ]
