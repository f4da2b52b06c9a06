"""Snapshots are named as the day, week or month that they are: a name can carry nothing else."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import sequester as sq
from release.samples import Pages
from sequester.errors import SequesterWarning
from verification.doctoring import rehash

ROWS = [(f"p{i}", f"2024-01-{1 + i % 20:02d}", "flu" if i % 2 else "cold") for i in range(80)]


@pytest.fixture(params=["day", "week", "month"])
def folder(request, tmp_path):
    frame = pl.DataFrame(ROWS, schema=["who", "at", "ill"], orient="row")
    table = sq.EventTable(frame, sq.Schema(person="who", time="at", sensitive={"ill": "all"}))
    method = sq.MergeSnapshots if request.param == "month" else sq.Reposition
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        release = method(l=2, window=2, snapshot=request.param, then="none").apply(table)
        return sq.write(release, tmp_path, report=Pages()).path


def test_honest_names_hold(folder):
    assert sq.verify(folder)


@pytest.mark.parametrize("change", ["{} Ann Smith", "Ann/{}", "{}/Ann", " {}", "{}\n", ""])
def test_other_text_is_refused(folder, change):
    frame = pl.read_parquet(folder / "events.parquet")
    first = frame["time"][0]
    frame = frame.with_columns(pl.col("time").replace({first: change.format(first)}))
    frame.write_parquet(folder / "events.parquet")
    frame.write_csv(folder / "events.csv")
    rehash(folder)
    assert not sq.verify(folder)


def test_snapshots_are_in_the_order_of_time(folder):
    frame = pl.read_parquet(folder / "events.parquet", memory_map=False)
    if frame["time"].n_unique() == 1:
        pytest.skip("there is one snapshot")
    first, rest = frame.filter(pl.col("time") == frame["time"][0]), pl.col("time") != frame["time"][0]
    frame = pl.concat([frame.filter(rest), first], rechunk=True)
    frame.write_parquet(folder / "events.parquet", compression="zstd", row_group_size=128 * 1024)
    frame.write_csv(folder / "events.csv", line_terminator="\n", quote_style="necessary")
    rehash(folder)
    found = sq.verify(folder)
    assert not found.holds
    assert "order of time" in found.lines[0]
