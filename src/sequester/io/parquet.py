"""Read a Parquet file, or a folder of them that have the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.data.problems import first_line
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io.contents import in_words
from sequester.io.trial import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_parquet(path: Path) -> pl.DataFrame:
    """Read one Parquet file, types as they are."""
    check_parquet([path])
    return _read(path)


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
    check_parquet(paths)
    frames = [_read(path) for path in paths]
    first = frames[0].schema
    lines = [
        f"{path}: {difference}, unlike {paths[0].name}"
        for path, frame in zip(paths[1:], frames[1:], strict=True)
        for difference in _differences(frame.schema, first)
    ]
    if lines:
        raise InputError(*lines)
    # Series by series: as an expression, a column of the name * would mean all of them.
    return pl.concat([pl.DataFrame({name: frame[name] for name in first}) for frame in frames])


def check_parquet(paths: Sequence[Path]) -> None:
    """Refuse files that are no Parquet or are damaged, one line each; another process decodes them first."""
    lines = [line for path in paths if (line := _look(path))]
    if lines:
        raise InputError(*lines)
    refuse_unreadable(paths, "Parquet")


def _look(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        return in_words(path, error)
    if start == b"PAR1":
        return None
    return f"{path}: is no Parquet file" if start else f"{path}: is empty"


def _read(path: Path) -> pl.DataFrame:
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).collect()
    except OSError as error:
        raise InputError(in_words(path, error)) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        msg = f"{path}: the Parquet file is damaged ({first_line(error)})"
        raise InputError(msg) from None
    if not frame.height:
        msg = f"{path}: has no rows"
        raise InputError(msg)
    return frame


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
