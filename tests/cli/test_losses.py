"""Nothing is lost in silence: what disappears before, in and after a method is counted on every face."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sequester as sq
from oracles.losses import count_losses
from sequester.datasets import trips
from sequester.workflow import protect as protecting
from workflow.stream.days import make_stream

HOSPITAL = """
[data]
path = "log.csv"
person = "case"
order = "n"
[data.symbol]
column = "activity"
[method]
name = "{name}"
k = 20
[release]
path = "out"
seed = "a sentence that nobody guesses"
pseudonyms = true
"""
ACTIVITIES = ["register", "triage", "blood", "x-ray", "fluids", "admit", "ward", "discharge"]


@pytest.fixture
def hospital(tmp_path):
    """Few frequent short cases, and many long ones that nobody else has; gives each case's activities."""
    random = np.random.default_rng(7)
    cases = [["register", "triage", "discharge"]] * 60 + [["triage", "blood"]] * 40
    for _ in range(120):
        cases.append([ACTIVITIES[each] for each in random.integers(0, 8, size=random.integers(8, 20))])
    frame = pl.DataFrame(
        [(f"c{case}", n, activity) for case, row in enumerate(cases) for n, activity in enumerate(row)],
        schema=["case", "n", "activity"],
        orient="row",
    )
    frame.write_csv(tmp_path / "log.csv")
    return {f"c{case}": row for case, row in enumerate(cases)}


def put(text):
    Path("release.toml").write_text(text, encoding="utf-8")


def aligned(cases):
    """What the oracle counts in the files that were written."""
    names = dict(pl.read_parquet("out/internal/pseudonyms.parquet").select("person", "pseudonym").iter_rows())
    released = pl.read_csv("out/release/events.csv")
    given = dict(released.group_by("person", maintain_order=True).agg("activity").iter_rows())
    return count_losses(list(cases.values()), [given.get(names.get(case), []) for case in cases])


@pytest.mark.parametrize("name", ["p2ka", "prefix-pruning"])
def test_a_moved_sequence_loses_what_is_not_in_it(run, hospital, name):
    put(HOSPITAL.format(name=name))
    ran = run("protect", "release.toml", "--quiet")
    assert ran.code == 0
    n_events = sum(map(len, hospital.values()))
    lost, moved, invented = aligned(hospital)
    assert lost / n_events > 0.5  # far more than those of persons who got nothing
    assert f"{lost:,} of {n_events:,} events are lost ({lost / n_events:.1%})" in ran.out
    assert (f"{invented:,} released items are invented" in ran.out) == (invented > 0)
    assert any(f"({lost:,} of {n_events:,})" in line for line in ran.warnings)
    report = json.loads(Path("out/internal/report.json").read_text())
    assert report["counts"]["events"]["lost"] == lost
    assert report["counts"]["events"]["invented"] == invented
    assert report["utility"]["suppressed_events"]["value"] == pytest.approx(lost / n_events)
    assert report["counts"]["journey"]["method"] == {
        "events": n_events,
        "lost": lost,
        "released": pl.read_csv("out/release/events.csv").height,
        "moved": moved,
        "invented": invented,
    }
    foretold = run("protect", "release.toml", "--dry-run", "--json", "--quiet", "--force").document
    assert foretold["lost_share"] == pytest.approx(lost / n_events)
    compared = run(
        *("compare", "release.toml", "--methods", name, "--set", "k=20", "--targets", "20"),
        *("--out", "compared", "--json", "--quiet"),
    ).document["candidates"][0]
    assert compared["lost_share"] == pytest.approx(lost / n_events)
    assert compared["utility"]["suppressed_events"]["value"] == pytest.approx(lost / n_events)
    assert compared["invented"] == invented


def test_the_limit_is_a_limit_on_what_is_lost(run, hospital):
    put(HOSPITAL.format(name="p2ka") + "max_suppressed = 0.5\n")
    for more in ((), ("--dry-run",)):
        ran = run("protect", "release.toml", "--quiet", *more)
        assert ran.code == 1
        assert "more than max_suppressed = 0.5 allows" in ran.errors[0]
    assert not Path("out").exists()


GPS = """
[data]
path = "gps.csv"
person = "user"
time = "at"
invalid = "drop"
[data.place]
lat = "lat"
lon = "lon"
regions = {regions}
{place}
[method]
name = "p2ka"
k = 2
[release]
path = "out"
seed = "a sentence that nobody guesses"
"""
GRID = '{ kind = "grid", cell = 5000 }'


def gps(**columns):
    points = trips.make(persons=30, every=1200).drop("trip").with_row_index("row")
    points = points.with_columns(at=pl.col("at").cast(pl.String), lat=pl.col("lat").cast(pl.String))
    points.with_columns(**columns).drop("row").write_csv("gps.csv")
    return points.height


SPOILED = pl.when(pl.col("row") % 10 > 0).then(pl.lit("999")).otherwise(pl.col("lat"))


def test_points_that_were_dropped_are_not_forgotten(run):
    n_rows = gps(lat=SPOILED)
    put(GPS.format(regions=GRID, place=""))
    ran = run("protect", "release.toml", "--dry-run", "--quiet")
    assert ran.code == 0
    n_dropped = sum(row % 10 > 0 for row in range(n_rows))
    share = n_dropped / n_rows
    assert "nothing is wrong" not in ran.out
    assert f"{n_rows:,} rows were read, {n_dropped:,} of them ({share:.1%}) left out" in ran.out
    journey = run("protect", "release.toml", "--dry-run", "--quiet", "--json").document["journey"]
    assert (journey["reading"]["rows"], journey["reading"]["dropped"]) == (n_rows, n_dropped)
    assert journey["unseen_share"] >= share
    made = run("protect", "release.toml", "--quiet")
    assert made.code == 0
    assert f"{n_dropped:,} of them ({share:.1%}) left out" in made.out
    assert f"{journey['unseen_share']:.1%} of all rows that were read are no longer shown" in made.out
    assert any(f"of the {n_rows:,} rows that were read" in line for line in made.warnings)
    page = Path("out/internal/report.html").read_text()
    assert "left out, all reasons together" in page
    assert f"{n_dropped:,}" in page
    # Recipients are told nothing of it.
    assert "left out" not in Path("out/release/report.html").read_text()


def test_dropped_rows_count_for_the_limit(run):
    gps(lat=SPOILED)
    put(GPS.format(regions=GRID, place="") + "max_suppressed = 0.8\n")
    for more in ((), ("--dry-run",)):
        ran = run("protect", "release.toml", "--quiet", *more)
        assert ran.code == 1
        assert "were left out on reading" in ran.errors[0]
        assert "more than max_suppressed = 0.8 allows" in ran.errors[0]
    gps()
    assert run("protect", "release.toml", "--quiet").code == 0


DENSE = '{{ kind = "density", cell = 1500, threshold = {}{} }}'


@pytest.mark.parametrize(
    ("regions", "place", "columns"),
    [
        (GRID, "", {}),
        (GRID, "max_speed = 5", {}),
        (DENSE.format(0.2, ""), "", {}),
        (DENSE.format(0.2, ', touch = "segments"'), "", {}),
        (GRID, "", {"user": pl.when(pl.col("row") % 3 > 0).then(pl.col("user"))}),
        (GRID, "", {"at": pl.when(pl.col("row") % 4 > 0).then(pl.col("at")).otherwise(pl.lit("soon"))}),
        (GRID, "", {"lat": SPOILED, "at": pl.when(pl.col("row") % 4 > 0).then(pl.col("at"))}),
    ],
    ids=["all", "too fast", "outside", "outside, lines", "no person", "no time", "two reasons"],
)
def test_every_row_is_accounted_for(run, regions, place, columns):
    n_rows = gps(**columns)
    put(GPS.format(regions=regions, place=place))
    ran = run("protect", "release.toml", "--dry-run", "--quiet", "--json")
    assert ran.code == 0, ran.err
    journey = ran.document["journey"]
    read, method = journey["reading"], journey["method"]
    assert read["rows"] == n_rows
    left = read["dropped"] + read["outside_regions"]
    assert n_rows - left - read["folded"] + read["crossed"] == read["events"] == method["events"]
    assert (left > 0) == (bool(columns) or place != "" or "density" in regions)
    assert sum(read["reasons"].values()) >= read["dropped"]
    shown = (1 - left / n_rows) * (1 - method["lost"] / method["events"])
    assert journey["unseen_share"] == pytest.approx(1 - shown)


VISITS = """
[data]
path = "visits.csv"
person = "pid"
time = "at"
{data}
[data.quasi.ward]
hierarchy = {{ kind = "tree", tree = {{ A = ["a1", "a2"], B = ["b1", "b2"] }} }}
[data.sensitive.ill]
protect = ["hiv"]
[method]
name = "halt"
k = 2
c = 0.2
p = 1
infeasible = "drop"
[release]
path = "out"
seed = "a sentence that nobody guesses"
"""


def visits(n=40, *, missing=0):
    rows = [
        (
            "" if row < missing else f"p{row % 20}",
            f"2020-01-{row % 28 + 1:02}",
            f"{'ab'[row % 2]}{row % 4 // 2 + 1}",
        )
        for row in range(n)
    ]
    ill = ["hiv" if row % 20 < 6 else "flu" for row in range(n)]
    frame = pl.DataFrame(rows, schema=["pid", "at", "ward"], orient="row").with_columns(ill=pl.Series(ill))
    frame.write_csv("visits.csv")


def test_persons_who_were_dropped_as_infeasible_are_lost(run):
    visits()
    put(VISITS.format(data=""))
    ran = run("protect", "release.toml", "--quiet", "--json")
    assert ran.code == 0, ran.err
    counts, persons = ran.document["events"], ran.document["persons"]
    released = pl.read_csv("out/release/events.csv")
    assert persons["released"] < persons["input"]
    n_blank = released.filter(pl.col("ward") == "*").height
    assert counts["lost"] == counts["input"] - released.height + n_blank


def test_rows_without_a_person_are_counted(run):
    visits(missing=30)
    put(VISITS.format(data='invalid = "drop"'))
    ran = run("protect", "release.toml", "--quiet", "--dry-run", "--json")
    assert ran.code == 0, ran.err
    read = ran.document["journey"]["reading"]
    assert (read["rows"], read["dropped"], read["events"]) == (40, 30, 10)
    assert read["reasons"] == {"column 'pid': person is missing": 30}
    assert ran.document["journey"]["unseen_share"] >= 0.75


def test_a_trial_of_some_persons_tells_of_all_rows(run, monkeypatch):
    visits(missing=30)
    put(VISITS.format(data='invalid = "drop"'))
    monkeypatch.setattr(protecting, "TRIAL_EVENTS", 8)
    ran = run("protect", "release.toml", "--quiet", "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["tried_persons"] < ran.document["persons"]
    journey = ran.document["journey"]
    assert (journey["reading"]["rows"], journey["reading"]["events"]) == (40, 10)
    assert journey["method"]["events"] < 10
    assert journey["unseen_share"] >= 0.75


def test_inspect_and_the_cards_account_for_rows(run):
    visits(missing=30)
    put(VISITS.format(data='invalid = "drop"'))
    line = "40 rows were read, 30 of them (75.0%) left out: column 'pid': person is missing (30)"
    assert line in run("inspect", "release.toml", "--quiet").out
    found = run("inspect", "release.toml", "--quiet", "--json").document
    assert (found["reading"]["rows"], found["reading"]["dropped"], found["events"]) == (40, 30, 10)
    table = sq.read("release.toml")
    assert line in repr(table)
    assert line in table._repr_html_().replace("&#x27;", "'").replace("&#39;", "'")
    release = sq.HALT(k=2, c=0.9, p=1).apply(table, seed="a sentence that nobody guesses")
    assert "left out on reading 30 of 40 rows" in " ".join(repr(release).split())


def test_a_stream_says_which_rows_it_left_out(run, tmp_path):
    folder = make_stream(tmp_path, days=3)
    config = folder / "c.toml"
    config.write_text(config.read_text().replace("[data]", '[data]\ninvalid = "drop"'))
    first = min((folder / "in").iterdir())
    header, *rows = first.read_text().splitlines(keepends=True)
    place = header.strip().split(",").index("patient")
    spoiled = [_without(row, place) for row in rows[:2]]
    first.write_text("".join([header, *spoiled, *rows[2:]]))
    argv = ["stream", config, "--in", folder / "in", "--out", folder / "out", "--state", folder / "state"]
    ran = run(*argv, "--json", "--quiet")
    assert ran.code == 0, ran.err
    assert ran.document["left_out"] == {first.name: 2}
    assert any(line.startswith(f"{first.name}: ") and "2 of them" in line for line in ran.warnings)


def _without(row, place):
    cells = row.rstrip("\n").split(",")
    cells[place] = ""
    return ",".join(cells) + "\n"
