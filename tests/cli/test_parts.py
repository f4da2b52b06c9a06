"""Data and releases in parts on the command line: every command takes them as it takes one file."""

from __future__ import annotations

import json

import polars as pl
import pytest

from sequester.workbench import tasks

TOML = """
[data]
path = "{path}"
person = "who"
order = "day"
[data.quasi.ward]
hierarchy = {{ kind = "flat" }}
[data.sensitive.ill]
protect = ["HIV"]
[method]
name = "halt"
k = 2
c = 0.9
p = 2
[release]
path = "{out}"
pseudonyms = true
seed = "a sentence that nobody guesses"
{more}
"""
VISITS = pl.DataFrame(
    {
        "who": [name for name in "abcdefghij" for _ in range(2)],
        "day": [1, 2] * 10,
        "ward": ["x", "y"] * 8 + ["x", "z", "y", "y"],
        "ill": (["flu", "cold"] * 4 + ["HIV", "flu"]) * 2,
    }
)


@pytest.fixture
def here(run, tmp_path):
    """A folder of parts, and the function that runs commands beside it."""
    VISITS.write_csv(tmp_path / "visits.csv")
    assert run("convert", "visits.csv", "parts", "--partition", 3, "--person", "who").code == 0
    (tmp_path / "c.toml").write_text(TOML.format(path="parts", out="out", more=""))
    assert run("protect", "c.toml", "--quick", "--quiet").code == 0
    return run


def n_files(folder):
    return len([*(folder / "release/events").glob("part-*.parquet")])


def test_commands_take_a_release_in_parts(here, tmp_path):
    n_parts = len([*(tmp_path / "parts").iterdir()])
    assert n_files(tmp_path / "out") == n_parts > 1
    assert here("verify", "out/release", "--original", "c.toml").code == 0
    assert here("attack", "out/release", "--original", "c.toml", "--json").document["attacks"]
    # With attacks and reasons.
    assert here("protect", "c.toml", "--out", "whole", "--quiet").code == 0
    assert here("inspect", "c.toml", "--json").document["persons"] == 10
    assert here("protect", "c.toml", "--dry-run", "--out", "never").code == 0
    # A recipient without sequester's reader makes one file of it.
    assert here("convert", "out/release/events", "events.csv").code == 0
    assert pl.read_csv(tmp_path / "events.csv").height == len(
        pl.concat([pl.read_parquet(path) for path in sorted((tmp_path / "out/release/events").iterdir())])
    )


def test_compare_writes_its_releases_in_parts(here, tmp_path):
    found = here("compare", "c.toml", "--out", "all", "--methods", "halt", "--write-releases", "--json")
    assert found.code == 0
    (made,) = [path.parents[2] for path in (tmp_path / "all").rglob("part-0000.parquet")]
    assert n_files(made) == n_files(tmp_path / "out")


def test_force_replaces_parts_and_leaves_none_behind(here, tmp_path):
    for path in (tmp_path / "parts").iterdir():
        path.unlink()
    VISITS.write_parquet(tmp_path / "parts/all.parquet")
    assert here("protect", "c.toml", "--quick", "--quiet", "--force").code == 0
    assert n_files(tmp_path / "out") == 1
    assert here("verify", "out/release").code == 0


def test_a_series_goes_on_in_parts_and_in_one_file(here, tmp_path):
    (tmp_path / "more").mkdir()
    later = VISITS.with_columns(day=VISITS["day"] + 2)
    for number, names in enumerate(("abcde", "fghij")):
        later.filter(pl.col("who").is_in(list(names))).write_parquet(tmp_path / f"more/{number}.parquet")
    later.with_columns(day=later["day"] + 2).write_csv(tmp_path / "last.csv")
    for year, path, more in (
        ("2023", "parts", "series = true"),
        ("2024", "more", 'continues = "2023"'),
        ("2025", "last.csv", 'continues = "2024"'),
    ):
        (tmp_path / f"{year}.toml").write_text(TOML.format(path=path, out=year, more=more))
        assert here("protect", f"{year}.toml", "--quick", "--quiet").code == 0
    assert [n_files(tmp_path / year) for year in ("2023", "2024", "2025")][1:] == [2, 0]
    assert here("verify", "2025/release", "--with", "2023/release", "--with", "2024/release").code == 0
    assert here("verify", "2024/release", "--with", "2023/release", "--original", "2024.toml").code == 0
    joined = here("attack", "2023/release", "--also", "2024/release", "--original", "2024.toml", "--json")
    assert joined.code == 0
    assert joined.document["attacks"]


def test_the_workbench_checks_and_shows_it(here, tmp_path):
    given = tasks.TaskContext(folder=tmp_path)
    assert tasks.verify(given, release="out/release", original="c.toml")["holds"]
    shown = tasks.look(given, release="out/release", column="ward", value="y")
    assert shown["expected"] > 0
    assert "ward" in shown["columns"]
    assert json.dumps(tasks.changes(given, config="c.toml", internal="out/internal"))
