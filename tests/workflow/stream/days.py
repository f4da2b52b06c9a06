"""A small stream: a configuration, a folder of days, and what a run of it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.datasets.days import make

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """
[data]
person = "patient"
time = "date"
drop = ["district"]
[data.quasi.sex]
hierarchy = {{ kind = "flat" }}
[data.quasi.age]
hierarchy = {{ kind = "intervals", width = [10, 30], origin = 0 }}
[data.sensitive.diagnosis]
protect = "all"
[method]
name = "reposition"
l = {l}
window = 3
then = "{then}"
[release]
seed = "a sentence that nobody guesses"
"""


def make_stream(folder: Path, *, days=6, persons=200, level=3, then="anatomy", packed=()):
    """Write ``c.toml`` and ``in``; the fourth day has no records, those in `packed` are Parquet files."""
    (folder / "in").mkdir(parents=True)
    (folder / "c.toml").write_text(CONFIG.format(l=level, then=then))
    records = make(persons=persons, days=days, seed="days of a stream")
    for number, ((day,), frame) in enumerate(records.group_by("date", maintain_order=True)):
        came = frame.head(0) if number == 3 else frame
        if number in packed:
            came.with_columns(pl.col("date").cast(pl.String)).write_parquet(folder / "in" / f"{day}.parquet")
        else:
            came.write_csv(folder / "in" / f"{day}.csv")
    return folder


def outputs(folder: Path) -> dict[str, bytes]:
    """Everything that was published, byte by byte."""
    return {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())}


def places(folder: Path) -> dict[str, Path]:
    return {"inputs": folder / "in", "out": folder / "out", "state": folder / "state"}
