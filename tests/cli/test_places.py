"""Location histories with something to hide, and trips: protect, verify and attack on the command line."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import polars as pl
import pytest

from sequester.datasets import trips

TOML = """
[data]
path = "gps.csv"
person = "user"
time = "at"
[data.place]
lat = "lat"
lon = "lon"
{place}
[data.sensitive.ill]
protect = ["hiv"]
[method]
name = "{name}"
k = 4
c = 0.5
{more}
[release]
path = "out"
"""
GRID = 'regions = { kind = "grid", cell = 3000 }'
DENSITY = 'regions = { kind = "density", cell = 1500, threshold = 0.1 }\ntime_of_day = [6, 14]'
SEED = ("--seed", "a sentence nobody guesses")
ATTACK = ["attack", "out/release", "--original", "release.toml", "--known", "1-2", "--targets", "20"]
ATTACK += ["--json", "--quiet"]


@pytest.fixture
def histories(tmp_path):
    """Several points a person, and something to be known of some of them."""
    points = trips.make(persons=40, every=1200).drop("trip")
    number = pl.col("user").str.slice(1).cast(pl.Int64)
    ill = pl.when(number % 10 == 0).then(pl.lit("hiv")).otherwise(pl.lit("flu"))
    points.with_columns(ill=ill).write_csv(tmp_path / "gps.csv")


def released(tmp_path):
    """Each person's regions, and whether they have what must not be learned."""
    rows, has_it = defaultdict(list), defaultdict(bool)
    for person, _, region, ill in pl.read_csv(tmp_path / "out/release/events.csv").iter_rows():
        rows[person].append(region)
        has_it[person] |= ill == "hiv"
    return rows, has_it


def members_of_classes(rows):
    """Who has the same regions in the same order."""
    classes = defaultdict(set)
    for person, regions in rows.items():
        classes[tuple(regions)].add(person)
    return classes


def holders_of_pairs(rows):
    """Who was in one region, or in one after another."""
    candidate_sets = defaultdict(set)
    for person, regions in rows.items():
        for size in (1, 2):
            for known in combinations(regions, size):
                candidate_sets[known].add(person)
    return candidate_sets


@pytest.mark.parametrize(
    ("name", "more", "candidate_sets", "place"),
    [("halt", "p = 2", holders_of_pairs, DENSITY), ("cblda", "", members_of_classes, GRID)],
    ids=["halt", "cblda"],
)
def test_a_location_history_with_something_to_hide(
    run, tmp_path, histories, name, more, candidate_sets, place
):
    (tmp_path / "release.toml").write_text(TOML.format(name=name, more=more, place=place))
    made = run("protect", "release.toml", "--quick", *SEED, "--quiet")
    assert made.code == 0, made.err
    assert run("verify", "out/release", "--original", "release.toml", "--quiet").code == 0
    tried = run(*ATTACK)
    assert tried.code == 0
    assert tried.document["holds"]
    assert any(each["bound"] is not None for each in tried.document["attacks"])
    rows, has_it = released(tmp_path)
    assert len(rows) > 20
    assert max(map(len, rows.values())) > 2
    assert {region for regions in rows.values() for region in regions} != {"*"}
    for candidate_set in candidate_sets(rows).values():
        assert len(candidate_set) >= 4
        assert sum(has_it[person] for person in candidate_set) <= 0.5 * len(candidate_set)


def test_trips_are_protected_verified_and_attacked(run, tmp_path):
    trips.make(persons=80).write_csv(tmp_path / "gps.csv")
    toml = TOML.replace('[data.sensitive.ill]\nprotect = ["hiv"]\n', "").replace("c = 0.5\n", "")
    toml = toml.replace('time = "at"', 'time = "at"\ntrip = "trip"')
    (tmp_path / "release.toml").write_text(toml.format(name="p2ka", more="", place=GRID))
    assert run("protect", "release.toml", "--quick", *SEED, "--quiet").code == 0
    assert run("verify", "out/release", "--original", "release.toml", "--quiet").code == 0
    tried = run(*ATTACK)
    assert tried.code == 0
    assert tried.document["holds"]
    refused = (tmp_path / "release.toml").read_text().replace("p2ka", "halt") + "c = 0.5\np = 2\n"
    (tmp_path / "other.toml").write_text(refused.replace('[release]\npath = "out"\n', "") + "\n")
    refusal = run("protect", "other.toml", "--out", "elsewhere", "--quiet")
    assert refusal.code == 2
    assert refusal.errors == ["halt needs one sequence per person, and trip makes several: leave trip out"]
