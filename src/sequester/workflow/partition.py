"""Write events into a folder of Parquet files, each person in one of them; never all rows are held."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.schema import ALL, ROW
from sequester.data.text import as_text
from sequester.engine import silent
from sequester.errors import InputError, system_reason
from sequester.hierarchies.labels import quoted
from sequester.io.contents import check_cells, check_path, read_error
from sequester.io.csv import split_records
from sequester.io.database import Database
from sequester.io.parquet import check_parquet, parquet_files
from sequester.release.files import MOST_PARTS
from sequester.workflow.convert import Converted
from sequester.workflow.output_file import refuse_existing, refuse_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.engine import Progress
    from sequester.workflow.convert import Source

BATCH = 200_000
"""Rows of a Parquet file that are read at once."""
_PIECE = 16 * 2**20
"""Bytes of a CSV file that are read at once."""


def partition(
    source: Source, out: str | Path, n_parts: int, *, force: bool = False, progress: Progress = silent
) -> Converted:
    """Read `source` piece by piece, and write it to the folder `out`, in up to `n_parts` Parquet files.

    A keyed hash of the person, under a key that nobody keeps, says which file. Types stay as they are; CSV is
    text. Rows of a person stay in their order. CSV in UTF-8, Parquet, PostgreSQL and DuckDB are streamed.

    Raises
    ------
    InputError
        Where the input is at fault, the column of persons is not known, or the output is there already;
        nothing has been written.
    """
    out = Path(out)
    if not 1 <= n_parts <= MOST_PARTS:
        msg = f"--partition must be a number of files from 1 to {MOST_PARTS:,}, got {n_parts:,}"
        raise InputError(msg)
    if out.is_file():
        msg = f"--partition writes a folder, and {out} is a file"
        raise InputError(msg)
    refuse_existing(out, force=force)
    if force and out.is_dir() and any(path.suffix != ".parquet" for path in out.iterdir()):
        msg = f"{out} holds more than Parquet files, and is not replaced; name another folder"
        raise InputError(msg)
    refuse_inputs(out, inputs=source.inputs)
    source = source.completed()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.", suffix=".partial") as aside:
            n_rows = _scatter(source, Path(aside), n_parts, progress)
            made = Path(aside) / "parts"
            made.mkdir()
            for number in range(n_parts):
                pieces = sorted(Path(aside).glob(f"{number:05d}-*.arrow"))
                if pieces:
                    frame = pl.concat([pl.read_ipc(piece) for piece in pieces])
                    frame.write_parquet(made / f"part-{number:05d}.parquet")
                for piece in pieces:
                    piece.unlink()
                progress(0.7 + 0.3 * (number + 1) / n_parts, "writing files")
            if force and out.is_dir():
                out.rename(Path(aside) / "earlier")
            made.rename(out)
    except (OSError, pl.exceptions.ComputeError) as error:
        # polars says in either way that the disk is full.
        reason = system_reason(error)
        if reason is None:
            raise
        msg = f"cannot write {out}: {reason}"
        raise InputError(msg) from None
    return Converted(path=out, format="parquet", rows=n_rows, lost=())


def _scatter(source: Source, folder: Path, n_parts: int, progress: Progress) -> int:
    """Write the rows of each piece of the input into a file per part; return their number."""
    key, n_rows = secrets.token_bytes(32), 0
    for number, (done, frame) in enumerate(_pieces(source)):
        part_of = _parts(as_text(_persons(frame, source.roles.person)), n_parts, key)
        for (part,), rows in (
            frame.with_columns(part_of)
            .partition_by(part_of.name, maintain_order=True, include_key=False, as_dict=True)
            .items()
        ):
            rows.write_ipc(folder / f"{part:05d}-{number:06d}.arrow", compression="lz4")
        n_rows += frame.height
        progress(0.7 * done, "reading")
    if not n_rows:
        msg = f"{source.path}: has no rows"
        raise InputError(msg)
    return n_rows


def _persons(frame: pl.DataFrame, named: str | None) -> pl.Series:
    """Return the column of persons; where it is not known, it has to be named."""
    if named in (ROW, ALL):
        msg = f"--partition needs persons with several rows, and person is {named}"
        raise InputError(msg)
    person = named or next((name for name in ("person", "case:concept:name") if name in frame.columns), None)
    if person is None:
        msg = "--person is needed: the column of persons"
        raise InputError(msg)
    if person not in frame.columns:
        msg = f"--person is {quoted(person)}, and the table has no such column"
        raise InputError(msg)
    return frame[person]


def _parts(persons: pl.Series, n_parts: int, key: bytes) -> pl.Series:
    """Return the file of each row; rows without a person are in the first one."""
    name = "part" + secrets.token_hex(8)  # no column has this name
    known = persons.drop_nulls().unique()
    numbers = [
        int.from_bytes(hashlib.blake2b(each.encode(), key=key, digest_size=8).digest()) % n_parts
        for each in known.to_list()
    ]
    return persons.replace_strict(known, pl.Series(numbers, dtype=pl.Int64), default=0).alias(name)


def _pieces(source: Source) -> Iterator[tuple[float, pl.DataFrame]]:
    """Yield the input in pieces, each with the share that has been read then."""
    path = source.path
    if isinstance(path, Database):
        yield from ((0.5, frame) for frame in path.batches())
        return
    check_path(path)
    is_plain_csv = source.kind == "csv" and (source.encoding or "utf-8").lower() in ("utf-8", "utf8")
    if source.clinical is None and source.kind == "parquet":
        yield from _parquet_pieces(parquet_files(path) if path.is_dir() else [path])
    elif source.clinical is None and is_plain_csv and not path.name.lower().endswith(".gz"):
        try:
            yield from split_records(path, _PIECE, delimiter=source.delimiter)
        except OSError as error:
            raise InputError(read_error(path, error)) from None
    else:
        yield 1.0, source.read()


def _parquet_pieces(paths: list[Path]) -> Iterator[tuple[float, pl.DataFrame]]:
    check_parquet(paths)
    for number, path in enumerate(paths):
        scanned = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        n_rows = int(scanned.select(pl.len()).collect().item())
        for start in range(0, n_rows, BATCH):
            frame = check_cells(scanned.slice(start, BATCH).collect(), str(path))
            share = min(start + BATCH, n_rows) / n_rows
            yield (number + share) / len(paths), frame
