"""Nothing under ``release/`` tells more than the released rows and the claim."""

from __future__ import annotations

import dataclasses
import getpass
import os
import platform
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from release.samples import Pages, frame_of, release_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.methods.p2ka.method import BFP2kA
from sequester.workflow.write import write

SEED = "a sentence that nobody guesses"
GONE = ["gone-label-one", "gone-label-two"]

# Each example writes and syncs files, which is slow: a few hundred will do in any profile.
few = settings(max_examples=min(settings().max_examples, 200))


def table_of(persons: int = 12) -> EventTable:
    """Most persons alike, a few with labels that no release may hold."""
    rows = [["home", "news", "sport"] if i % 2 else ["home", "news"] for i in range(persons)]
    rows += [[gone, "home"] for gone in GONE]
    events = [
        (f"identifier-{person}", order, symbol)
        for person, row in enumerate(rows)
        for order, symbol in enumerate(row)
    ]
    frame = pl.DataFrame(events, schema=["user", "at", "page"], orient="row")
    return EventTable(frame, Schema(person="user", order="at", symbol="page"))


def released_bytes(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_no_identifier_dropped_label_path_user_seed_or_host_is_in_any_file(tmp_path):
    table = table_of()
    release = BFP2kA(k=3).apply(table, seed=SEED)
    written = write(release, tmp_path / "a-machine-path", original=table, pseudonyms=True)
    internal = b"".join(released_bytes(written.internal).values())
    assert b"gone-label-one" in internal
    secrets = [*GONE, "identifier-", SEED, "a-machine-path", str(tmp_path), str(Path.cwd()), platform.node()]
    secrets += [str(Path.home()), f"/{getpass.getuser()}/"]
    texts = released_bytes(written.path)
    assert sorted(texts) == [
        "certificate.json",
        "croissant.json",
        "events.csv",
        "events.parquet",
        "report.html",
    ]
    for name, text in texts.items():
        for secret in secrets:
            assert secret.encode() not in text, (name, secret)


def test_parquet_of_a_cut_categorical_frame_equals_that_of_fresh_rows(tmp_path):
    whole = frame_of(["ab", "ab", "xy", "xy", "ab"])
    labels = pl.Enum(["a", "b", "x", "y", "never-there"])
    cut = whole.with_columns(pl.col("page").cast(labels)).filter(pl.col("page").is_in(["a", "b"]))
    chunked = pl.concat([cut.head(3), cut.slice(3)], rechunk=False)
    base = release_of(["ab", "ab", "ab"])
    fresh = pl.DataFrame({name: chunked[name].to_list() for name in chunked.columns})
    written = [
        write(dataclasses.replace(base, tables={"events": frame}), tmp_path / str(i), report=Pages())
        for i, frame in enumerate((chunked, fresh))
    ]
    assert released_bytes(written[0].path) == released_bytes(written[1].path)


def test_parquet_metadata_statistics_and_dictionaries_hold_rows_only(tmp_path):
    rows = [[f"label-{person % 7}", "end"] for person in range(70)]
    written = write(release_of(rows), tmp_path, report=Pages())
    file = pq.ParquetFile(written.path / "events.parquet")
    frame = pl.read_parquet(written.path / "events.parquet")
    assert set(file.metadata.metadata) == {b"ARROW:schema"}
    assert file.schema_arrow.metadata is None
    assert all(
        field.metadata in (None, {}) or set(field.metadata) <= {b"PARQUET:field_id"}
        for field in file.schema_arrow
    )
    assert file.metadata.created_by.startswith("Polars")
    for group in range(file.metadata.num_row_groups):
        for position, column in enumerate(frame.columns):
            values = set(frame[column].to_list())
            statistics = file.metadata.row_group(group).column(position).statistics
            assert {statistics.min, statistics.max} <= values
    dictionaries = pq.read_table(written.path / "events.parquet", read_dictionary=["person", "page"])
    for column in ("person", "page"):
        for chunk in dictionaries[column].chunks:
            assert set(chunk.dictionary.to_pylist()) == set(frame[column].to_list())


@few
@given(
    rows=st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=6),
    seed=st.text(min_size=16, max_size=18),
)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path_factory, rows, seed):
    events = [
        (str(person), order, symbol)
        for person, row in enumerate(rows * 2)
        for order, symbol in enumerate(row)
    ]
    frame = pl.DataFrame(events, schema=["user", "at", "page"], orient="row")
    table = EventTable(frame, Schema(person="user", order="at", symbol="page"))
    out = tmp_path_factory.mktemp("out")
    runs = {
        name: released_bytes(write(BFP2kA(k=2).apply(table, seed=text), out / name, report=Pages()).path)
        for name, text in (("once", seed), ("again", seed), ("other", seed + "!"))
    }
    assert runs["once"] == runs["again"]
    assert runs["once"]["events.csv"] != runs["other"]["events.csv"]


REPEAT = """
import sys
import polars as pl
sys.path.insert(0, sys.argv[2])
from release.test_leaks import SEED, table_of
from sequester.workflow.write import write
from sequester.methods.p2ka.method import BFP2kA
table = table_of(400)
write(BFP2kA(k=3).apply(table, seed=SEED), sys.argv[1], original=table)
"""


@pytest.mark.full_work
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_another_process_with_other_threads_and_hashes_gives_the_same_bytes(tmp_path):
    table = table_of(400)
    here = write(BFP2kA(k=3).apply(table, seed=SEED), tmp_path / "here", original=table)
    environment = {**os.environ, "PYTHONHASHSEED": "1", "POLARS_MAX_THREADS": "1", "TZ": "Asia/Tokyo"}
    command = [sys.executable, "-c", REPEAT, str(tmp_path / "there"), str(Path(__file__).parents[1])]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path, timeout=600)
    assert released_bytes(here.path) == released_bytes(tmp_path / "there" / "release")
