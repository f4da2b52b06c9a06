"""Every format through ``release.toml``: the same persons, the same events, and a release in kind."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from sequester.io import read_frame
from sequester.io.csv import write_csv
from sequester.io.parquet import write_arrow
from sequester.io.spmf import read_spmf
from sequester.io.xes import ACTIVITY, CASE, TIME, write_xes
from sequester.verification.verify import verify
from sequester.workflow.config import Config
from sequester.workflow.protect import protect

ROWS = ["abc", "ab", "abc", "b", "ab"]
SEED = "a sentence that nobody will guess"
FRAME = pl.DataFrame(
    [
        (f"u{person}", f"2010-01-0{place}", f"0{9 - person}:30", str(place), symbol)
        for person, row in enumerate(ROWS)
        for place, symbol in enumerate(row, start=1)
    ],
    schema=["user", "day", "clock", "n", "page"],
    orient="row",
)


def xes(frame):
    times = (frame["day"] + "T" + frame["clock"] + ":00+01:00").str.to_datetime("%Y-%m-%dT%H:%M:%S%z")
    return write_xes(frame["user"], {ACTIVITY: frame["page"], TIME: times, "n": frame["n"]})


ROLES = 'person = "user"\ntime = "day"\ndrop = ["n", "clock"]\n[data.symbol]\ncolumn = "page"\n'
LINES = "".join(" ".join(f"{ord(symbol)} -1" for symbol in row) + " -2\n" for row in ROWS)
NAMES = "".join(f"@ITEM={ord(symbol)}={symbol}\n" for symbol in "abc")
WRITTEN = {
    "visits.tsv": (write_csv(FRAME, "\t"), ROLES),
    "visits.txt": (write_csv(FRAME, "|"), f'format = "csv"\n{ROLES}'),
    "visits.csv.gz": (gzip.compress(write_csv(FRAME)), ROLES),
    "visits.arrow": (write_arrow(FRAME), ROLES),
    "two.csv": (
        write_csv(FRAME),
        ROLES.replace('"day"', '["day", "clock"]').replace('["n", "clock"]', '["n"]'),
    ),
    "visits.spmf": ((NAMES + LINES).encode(), ""),
    "visits.txt.gz": (gzip.compress((NAMES + LINES).encode()), 'format = "spmf"\nperson = "row"\n'),
    "visits.xes": (
        xes(FRAME),
        f'person = "{CASE}"\ntime = "{TIME}"\ndrop = ["n"]\n[data.symbol]\ncolumn = "{ACTIVITY}"\n',
    ),
}


def config(folder, name):
    contents, settings = WRITTEN[name]
    (folder / name).write_bytes(contents)
    path = folder / "release.toml"
    path.write_text(
        f'[data]\npath = "{name}"\n{settings}[method]\nname = "p2ka"\nk = 2\n[release]\npath = "out"\n'
    )
    return Config.load(path)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_gives_the_same_sequences(tmp_path, name):
    table = config(tmp_path, name).table()
    assert table.sequences.to_rows() == [tuple(row) for row in ROWS]
    assert table.n_persons == len(ROWS)


def test_two_columns_of_time_order_events_of_one_day(tmp_path):
    (tmp_path / "x.csv").write_text(
        "user,day,clock,page\na,20100102,0700,c\na,20100101,1000,b\na,20100101,0900,a\n"
    )
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "x.csv"\nperson = "user"\ntime = ["day", "clock"]\ntime_format = "%Y%m%d %H%M"\n'
        '[data.symbol]\ncolumn = "page"\n'
    )
    table = Config.load(tmp_path / "release.toml").table()
    assert table.sequences.to_rows() == [("a", "b", "c")]
    assert [time.isoformat() for time in table.times] == [
        "2010-01-01T09:00:00+00:00",
        "2010-01-01T10:00:00+00:00",
        "2010-01-02T07:00:00+00:00",
    ]


def test_each_row_may_be_a_person(tmp_path):
    (tmp_path / "x.csv").write_text("page\nnews\ntech\nnews\n")
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "x.csv"\nperson = "row"\n[data.symbol]\ncolumn = "page"\n'
    )
    table = Config.load(tmp_path / "release.toml").table()
    assert table.sequences.to_rows() == [("news",), ("tech",), ("news",)]
    assert table.persons.to_list() == ["1", "2", "3"]


def released(folder, name):
    config(folder, name)
    return protect(folder / "release.toml", seed=SEED, quick=True).written.path


def test_xes_is_released_as_xes(tmp_path):
    path = released(tmp_path, "visits.xes")
    table = pl.read_parquet(path / "events.parquet")
    log = read_frame(path / "events.xes")
    assert set(log.columns) == {CASE, ACTIVITY, "time:timestamp", "sequester:artificial_time"}
    assert log[CASE].to_list() == table["person"].to_list()
    assert log[ACTIVITY].to_list() == table[ACTIVITY].to_list()
    contents = (path / "events.xes").read_text()
    assert "2010" not in contents
    assert "u0" not in contents
    assert verify(path)


def test_spmf_is_released_as_spmf(tmp_path):
    path = released(tmp_path, "visits.txt.gz")
    table = pl.read_parquet(path / "events.parquet")
    log = read_spmf((path / "events.spmf").read_bytes(), "x")
    assert log["symbol"].to_list() == table["symbol"].to_list()
    assert log["order"].to_list() == table["order"].to_list()
    assert log["person"].n_unique() == table["person"].n_unique()
    assert verify(path)


@pytest.mark.parametrize("name", ["visits.tsv", "visits.arrow"])
def test_tables_are_released_as_tables_only(tmp_path, name):
    assert {each.name for each in released(tmp_path, name).iterdir()} == {
        "certificate.json",
        "croissant.json",
        "events.csv",
        "events.parquet",
        "report.html",
    }


@pytest.mark.parametrize("name", ["visits.xes", "visits.spmf"])
def test_the_same_seed_gives_the_same_log(tmp_path, name):
    logs = []
    for place in "ab":
        (tmp_path / place).mkdir()
        path = released(tmp_path / place, name)
        logs.append((path / f"events.{name.removeprefix('visits.')}").read_bytes())
    assert logs[0] == logs[1]
