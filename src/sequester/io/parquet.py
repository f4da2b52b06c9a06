"""Read and write Parquet and Arrow IPC files; a process of its own decodes untrusted files first."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from sequester.data.problems import first_line
from sequester.data.text import as_text
from sequester.data.times import shorten_times
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io import trial_program
from sequester.io.contents import read_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from sequester.engine import Engine

S = TypeVar("S")
T = TypeVar("T")


def read_parquet(path: Path) -> pl.DataFrame:
    """Read one Parquet file, types as they are."""
    check_parquet([path])
    return _decoded(path, "Parquet", scan_parquet(path).collect)


def read_parquet_folder(
    folder: Path,
    *,
    coded: Collection[str] = (),
    time: str | None = None,
    person: str | None = None,
    engine: Engine | None = None,
) -> pl.DataFrame:
    """Read the Parquet files of a folder one after the other, by name; all have the columns of the first.

    Of the `coded` columns, text and whole numbers become categories as each file is read: four bytes per
    cell, and the text of one file at a time is held. A column of the `time` becomes date-times where all of
    its texts can be read. A `person` who is in two files is refused by name. Workers of `engine` read files
    side by side.
    """
    paths = parquet_files(folder)
    read = [each for some in map_files(_read_coded, paths, ([*coded], time), engine) for each in some]
    first = read[0][0]
    if time is not None and len({frame.schema.get(time) for _, frame in read}) > 1:
        # Only some files have times that can be read as they are.
        return read_parquet_folder(folder, coded=coded, person=person, engine=engine)
    lines = [
        f"{path}: {difference}, unlike {paths[0].name}"
        for path, (schema, _) in zip(paths, read, strict=True)
        for difference in _differences(schema, first)
    ]
    if lines:
        raise InputError(*lines)
    frames = [frame for _, frame in read]
    if person is not None and person in first:
        shared = find_shared_persons([as_text(frame[person]) for frame in frames])
        if shared is not None:
            name, one, other, more = shared
            msg = (
                f"person {quoted(name)} is in {paths[one].name} and in {paths[other].name}"
                f"{f', and {more:,} more are in several files' if more else ''}: each person must be "
                "in one file, as sequester convert --partition writes them"
            )
            raise InputError(msg)
    # Series by series: as an expression, a column of the name * would mean all of them.
    return pl.concat([pl.DataFrame({name: frame[name] for name in first}) for frame in frames])


def _read_coded(
    paths: Sequence[Path], shared: tuple[Collection[str], str | None]
) -> list[tuple[pl.Schema, pl.DataFrame]]:
    """Read files, and return of each its types, and its rows with codes in the place of labels."""
    coded, time = shared
    check_parquet(paths)
    read = []
    for path in paths:
        frame = _decoded(path, "Parquet", scan_parquet(path).collect)
        columns = {name: frame[name] for name in frame.columns}
        for name in coded:
            if name in columns and (columns[name].dtype.is_integer() or columns[name].dtype == pl.String):
                columns[name] = as_text(columns[name]).cast(pl.Categorical)
        if time is not None and frame.schema.get(time) == pl.String:
            columns[time] = shorten_times(columns[time])
        read.append((frame.schema, pl.DataFrame(columns)))
    return read


def map_files(
    read: Callable[[Sequence[Path], S], T], paths: Sequence[Path], shared: S, engine: Engine | None
) -> Iterator[T]:
    """Yield what `read` makes of some files after the others, on the workers of `engine`, if there is one.

    A worker that does not see its files, because it is on another machine, leaves them to this process.
    """
    if engine is None:
        yield read(paths, shared)
        return
    # A worker is in another folder.
    paths = [path.absolute() for path in paths]
    parts = [paths[shard.start : shard.stop] for shard in engine.split(len(paths))]
    answers = engine.map(_read_there, parts, shared=(read, shared), phase="reading")
    for part, answer in zip(parts, answers, strict=True):
        yield read(part, shared) if answer is None else answer


def _read_there(paths: Sequence[Path], shared: tuple[Callable[[Sequence[Path], S], T], S]) -> T | None:
    """Return what is made of the files; None where they are not all here."""
    read, given = shared
    return read(paths, given) if all(os.access(path, os.R_OK) for path in paths) else None


def find_shared_persons(persons: Sequence[pl.Series]) -> tuple[str, int, int, int] | None:
    """Return the first person who is in two of the files, both files, and how many more there are.

    Examples
    --------
    >>> find_shared_persons([pl.Series(["ann", "bob"]), pl.Series(["cat"]), pl.Series(["bob"])])
    ('bob', 0, 2, 0)
    """
    keys = [
        pl.DataFrame({"person": each.drop_nulls().unique()}).with_columns(file=pl.lit(place, pl.UInt32))
        for place, each in enumerate(persons)
    ]
    everybody = pl.concat(keys)
    shared = everybody.filter(everybody["person"].is_duplicated())
    if shared.is_empty():
        return None
    name = str(shared["person"].min())
    one, other, *_ = shared.filter(shared["person"] == name)["file"].sort().to_list()
    return name, one, other, shared["person"].n_unique() - 1


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder, by name; a folder without any is refused."""
    try:
        paths = sorted(
            path for path in folder.iterdir() if path.suffix.lower() == ".parquet" and path.is_file()
        )
    except OSError as error:
        raise InputError(read_error(folder, error)) from None
    if not paths:
        msg = f"{folder}: is a folder without .parquet files"
        raise InputError(msg)
    # Events that nobody reads would be lost in silence.
    others = sorted(path for path in folder.iterdir() if path.suffix.lower() in _OTHERS)
    if others:
        raise InputError(
            *(f"{path}: is no Parquet file, and the others of its folder are" for path in others)
        )
    return paths


def count_rows(paths: Sequence[Path]) -> int | None:
    """Return the number of rows that files say they have; None where one is damaged, as reading says."""
    scans = [scan_parquet(path).select(pl.len()) for path in paths]
    try:
        return sum(int(scan.collect().item()) for scan in scans)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None


_OTHERS = (".csv", ".tsv", ".gz", ".arrow", ".xes", ".spmf", ".seq")
"""Endings of events in other formats."""


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
        return read_error(path, error)
    if start == b"PAR1":
        return None
    return f"{path}: is no Parquet file" if start else f"{path}: is empty"


def scan_parquet(path: Path) -> pl.LazyFrame:
    """Return the rows of one Parquet file, to be read when they are needed; its name is no pattern."""
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _decoded(path: Path, kind: str, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Return what `read` reads of a file that another process has decoded before; refuse one without rows."""
    try:
        frame = read()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        # It was opened before: what polars cannot read now is wrong inside.
        msg = f"{path}: the {kind} file is damaged ({first_line(error)})"
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


_FILE = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
_END = b"\xff\xff\xff\xff\0\0\0\0"


def read_arrow(path: Path) -> pl.DataFrame:
    """Read one Arrow IPC file or stream; another process decodes it first."""
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise InputError(read_error(path, error)) from None
    if not contents:
        msg = f"{path}: is empty"
        raise InputError(msg)
    if contents.startswith(_FILE):
        kind = "Arrow"
    elif contents.startswith(_STREAM):
        kind = "Arrow stream"
        # A stream that is cut off between two parts looks like a shorter one.
        if not contents.endswith(_END):
            msg = f"{path}: the Arrow stream file is cut off: it has no end mark"
            raise InputError(msg)
    else:
        msg = f"{path}: is no Arrow IPC file or stream"
        raise InputError(msg)
    refuse_unreadable([path], kind)
    decode = pl.read_ipc if kind == "Arrow" else pl.read_ipc_stream
    return _decoded(path, kind, lambda: decode(contents)).rechunk()


def write_arrow(frame: pl.DataFrame) -> bytes:
    """Write a frame as an Arrow IPC file that older readers understand too.

    Examples
    --------
    >>> pl.read_ipc(write_arrow(pl.DataFrame({"user": ["a"]}))).rows()
    [('a',)]
    """
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()


MOST_ROWS = 2**31 - 1
"""Rows that a table may have; a few bytes of Parquet can claim any number."""


@contextmanager
def try_decode(
    paths: Sequence[Path], kind: str, *, most_memory: int = 0
) -> Iterator[Callable[[], list[str | None]]]:
    """Decode files in another process; calling the value waits and returns what is wrong with each file.

    Parameters
    ----------
    paths
        Files of one kind.
    kind
        ``Parquet``, ``Arrow`` or ``Arrow stream``.
    most_memory
        Bytes that the other process may reserve; 0 is without a limit.
    """
    command = [sys.executable, "-P", trial_program.__file__, str(MOST_ROWS), str(most_memory), kind]
    # Finding the names of a panic's trace, which nobody will see, would take longer than reading. Every
    # thread reserves memory of its own, which must not depend on the machine.
    environment = os.environ | {"RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "2"}
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        # Where no process can be started, the files are read without a trial.
        yield lambda: [None] * len(paths)
        return
    with process:
        try:
            yield lambda: _answers(process, paths, kind)
        finally:
            process.kill()


def _answers(process: subprocess.Popen[bytes], paths: Sequence[Path], kind: str) -> list[str | None]:
    output, _ = process.communicate(b"\0".join(os.fsencode(path) for path in paths))
    answers = [json.loads(line) for line in output.splitlines()]
    # A process that ended on its own before the first file says nothing about it.
    if len(answers) < len(paths) and (answers or process.returncode < 0):
        answers.append(f"the {kind} file is damaged (reading it ends the process)")
    return answers + [None] * (len(paths) - len(answers))


def refuse_unreadable(paths: Sequence[Path], kind: str) -> None:
    """Refuse files that another process cannot decode, one line each."""
    with try_decode(paths, kind) as answers:
        lines = [f"{path}: {answer}" for path, answer in zip(paths, answers(), strict=True) if answer]
    if lines:
        raise InputError(*lines)


def write_parquet(frame: pl.DataFrame) -> bytes:
    """Write a table as Parquet, types as they are."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
