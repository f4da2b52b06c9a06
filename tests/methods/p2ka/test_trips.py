"""Trips: k persons and not k trips, in the method, in the check and from the files; and near regions."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sequester as sq
from oracles import trajectories as oracle
from sequester.data.places import DensityRegions, Gap, GridRegions, Place, Regions, box
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.datasets import trips as made_trips
from sequester.engine import LocalEngine
from sequester.errors import InputError, ParameterError, SchemaError, SequesterWarning, UnattainableError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.methods.p2ka.algorithm import Reconstructor
from sequester.methods.p2ka.method import Near
from sequester.mining.support import support, supports
from sequester.privacy.sequence_k import SequenceKAnonymity
from sequester.release.files import REGIONS
from sequester.utility.places import displacement
from sequester.verification.contents import check_regions

SEED = "a sentence nobody guesses"
trips = st.lists(
    st.tuples(st.sampled_from("PQRS"), st.text("abc", min_size=1, max_size=4)), min_size=1, max_size=12
)


def trip_table(given_trips):
    rows = [
        (person, number, step, item)
        for number, (person, items) in enumerate(given_trips)
        for step, item in enumerate(items)
    ]
    frame = pl.DataFrame(rows, schema=["who", "trip", "step", "page"], orient="row")
    return EventTable(frame, Schema(person="who", order="step", trip="trip", symbol="page"))


def owned(table):
    return list(zip(table.persons.to_list(), table.sequences.to_rows(), strict=True))


@given(trips, st.text("abc", max_size=3))
def test_supports_count_persons(given_trips, pattern):
    table = trip_table(given_trips)
    expected = oracle.person_support(pattern, given_trips)
    assert support(pattern, table) == expected
    assert supports([pattern, "zz"], table).tolist() == [expected, 0]


@given(
    trips,
    st.integers(2, 3),
    st.sampled_from([BFP2kA, PrefixPruning, partial(BFP2kA, reconstruction="truthful")]),
)
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_every_part_of_a_released_trip_has_k_persons(given_trips, k, method):
    table = trip_table(given_trips)
    try:
        release = method(k=k).apply(table, seed=SEED)
    except UnattainableError:
        return
    people = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    out = release.table
    released = [(people[name], row) for name, row in owned(out)]
    for _, row in released:
        assert oracle.person_support(row, released) >= k
        assert oracle.person_support(row, given_trips) >= k
    assert release.model.trips
    assert release.model.claim()["trips"]


def test_k_trips_of_one_person_are_no_candidate_set():
    table = trip_table([("P", "ab"), ("P", "ab"), ("Q", "ab"), ("P", "c"), ("P", "c"), ("P", "c")])
    release = BFP2kA(k=2).apply(table, seed=SEED)
    assert {row for _, row in owned(release.table)} == {("a", "b")}
    assert release.verdict.achieved == {"k": 3}  # trips, as a recipient counts them
    model = SequenceKAnonymity(k=2)
    verdict = model.check(table)
    assert (verdict.holds, verdict.witnesses, verdict.achieved) == (False, (("c",),), {"k": 1})


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_measures_say_whether_they_count_trips_or_persons():
    table = trip_table([("P", "ab"), ("P", "abc"), ("Q", "ab"), ("P", "c")])
    scores = BFP2kA(k=2).apply(table, seed=SEED).utility
    assert "of the 4 trips" in scores["invented_items"].means
    assert "per trip" in scores["edit_distance"].means
    assert scores["dropped_sequences"].means == "Share of the trips of which nothing is released; 0 is none."
    assert "2 persons, each once however many trips they have, contain" in scores["sim1"].means
    of_patterns = ("sim", "lost", "ghost")
    assert not any(
        "persons" in score.means for name, score in scores.items() if not name.startswith(of_patterns)
    )


def test_nothing_released_names_a_k_that_releases_something():
    table = trip_table([("P", "a"), ("Q", "a"), ("P", "a")])
    with pytest.raises(UnattainableError, match="k = 3 is more than the 2 persons; k = 2 releases something"):
        BFP2kA(k=3).apply(table, seed=SEED)
    with pytest.raises(UnattainableError, match="k = 2 is more than the 1 person; k = 2 releases nothing"):
        BFP2kA(k=2).apply(trip_table([("P", "a"), ("P", "a")]), seed=SEED)


def test_other_methods_refuse_trips():
    class Other(BFP2kA):
        takes_trips = False

    with pytest.raises(SchemaError, match="p2ka needs one sequence per person, and trip makes several"):
        Other(k=2).apply(trip_table([("P", "a"), ("Q", "a")]), seed=SEED)


@pytest.fixture(scope="module")
def city():
    frame = made_trips.make(persons=300)
    place = Place("lat", "lon", DensityRegions(500, 0.03), time_of_day=[6, 12])
    return EventTable(frame, Schema(person="user", time="at", trip="trip", place=place))


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_files_show_trips_and_the_original_persons(city, tmp_path):
    release = BFP2kA(k=5).apply(city, seed=SEED)
    sq.write(release, tmp_path / "out", original=city)
    folder = tmp_path / "out" / "release"
    assert sq.verify(folder)
    assert sq.verify(folder, original=city)
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["claim"]["parameters"] == {"k": 5, "strict": True, "trips": True}
    outlined = json.loads((folder / "regions.geojson").read_text())
    released = {label.partition("@")[0] for label in release.frame["region"].unique()}
    assert {each["properties"]["region"] for each in outlined["features"]} == released
    page = (folder / "report.html").read_text()
    assert "<polygon" in page
    assert "matching trips" in page  # the level is counted from the files
    assert (tmp_path / "out" / "internal" / "report.html").read_text().count("Visits per region, before") >= 1
    # One person behind all the trips: the files cannot tell, the publisher can.
    who = tmp_path / "out" / "internal" / "pseudonyms.parquet"
    known = pl.read_parquet(who)
    rows = owned(release.table)
    rare = min({row for _, row in rows}, key=lambda row: sum(other == row for _, other in rows))
    same = [name for name, row in rows if row[: len(rare)] == rare]
    known.with_columns(
        pl.when(pl.col("pseudonym").is_in(same))
        .then(pl.lit(known["person"][0]))
        .otherwise("person")
        .alias("person")
    ).write_parquet(who)
    assert sq.verify(folder)
    found = sq.verify(folder, original=city)
    assert not found
    assert "more than a pseudonym per trip" in found.lines[0]


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_one_person_short_is_found_only_with_the_original(tmp_path):
    table = trip_table([("P", "ab"), ("P", "ab"), ("Q", "ab"), ("Q", "c"), ("P", "c")])
    release = BFP2kA(k=2).apply(table, seed=SEED)
    sq.write(release, tmp_path / "out", original=table)
    folder = tmp_path / "out" / "release"
    other = trip_table([("P", "ab"), ("P", "ab"), ("P", "ab"), ("Q", "c"), ("P", "c")])
    who = tmp_path / "out" / "internal" / "pseudonyms.parquet"
    rows = dict(owned(release.table))
    known = pl.read_parquet(who)
    known.with_columns(
        pl.Series("person", ["P" if rows[name] == ("a", "b") else p for p, name in known.iter_rows()])
    ).write_parquet(who)
    assert sq.verify(folder)
    found = sq.verify(folder, original=other)
    assert found.witnesses == (("a", "b"),)


def test_outlines_must_be_those_of_the_released_regions(city, tmp_path):
    frame = pl.DataFrame({"region": ["1@06-12", "*"]})
    (tmp_path / REGIONS).write_text(city.regions.geojson(["1", "2"]))
    assert check_regions(tmp_path, [REGIONS], frame) == [
        "regions.geojson: has an outline of a region that is not released, '2'"
    ]
    assert check_regions(tmp_path, [REGIONS], pl.DataFrame({"region": ["1", "2", "3"]})) == [
        "regions.geojson: has no outline of the released region '3'"
    ]
    assert check_regions(tmp_path, [REGIONS], pl.DataFrame({"page": ["1"]})) == [
        "regions.geojson: does not belong here: there is no column region"
    ]
    assert check_regions(tmp_path, [], frame) == []
    (tmp_path / REGIONS).write_text("[]")
    with pytest.raises(InputError, match=r"regions.geojson is not readable as outlines"):
        check_regions(tmp_path, [REGIONS], frame)


LINE = Regions(
    {name: box(0, n / 100, 0.01, (n + 1) / 100) for n, name in enumerate("abcd")}, dict.fromkeys("abcd", ())
)
rows_of_four = st.lists(st.text("abcd", min_size=1, max_size=4), min_size=1, max_size=10)


@given(rows_of_four, st.integers(1, 3), st.sampled_from([1500, 4000]))
def test_the_closest_near_path_equals_definition(rows, k, metres):
    sequences = Sequences.from_rows(rows)
    labels = sequences.codebooks["symbol"].labels
    near = Near(metres=metres)
    reconstructor = Reconstructor(
        distinct=sequences.distinct(),
        strict=False,
        reattach=True,
        engine=LocalEngine(),
        weigh=lambda known: near.weights(LINE, labels, [labels[code] for code in known]),
    )
    found = reconstructor.run(k)
    items, offsets = found.tree.paths()
    paths = ["".join(labels[code] for code in items[a:b]) for a, b in pairwise(offsets)]
    table = near.weights(LINE, list("abcd"), list("abcd"))

    def weight(a, b):
        return int(table["abcd".index(a), "abcd".index(b)])

    for number, (a, b) in enumerate(pairwise(reconstructor.distinct.offsets)):
        row = "".join(labels[code] for code in reconstructor.distinct.items[a:b])
        if found.is_cut[number]:
            best = max(paths, key=lambda path: (oracle.near_common(row, path, weight), -len(path)))
            assert paths[found.targets[number]] == best
        else:
            assert paths[found.targets[number]] == row


@given(rows_of_four, rows_of_four)
def test_displacement_equals_definition(released, original):
    size = min(len(released), len(original))
    released, original = released[:size], original[:size]
    apart = LINE.metres("abcd")

    def distance(a, b):
        return float(apart["abcd".index(a), "abcd".index(b)])

    total = sum(
        len(before) * oracle.displacement(before, after, distance)
        for before, after in zip(original, released, strict=True)
    )
    score = displacement(Sequences.from_rows(released), original=Sequences.from_rows(original), regions=LINE)
    assert score.value == pytest.approx(total / sum(map(len, original)))
    back = displacement(
        Sequences.from_rows(released), original=Sequences.from_rows(original), regions=LINE, side="released"
    )
    total = sum(
        len(after) * oracle.displacement(after, before, distance)
        for before, after in zip(original, released, strict=True)
    )
    assert back.value == pytest.approx(total / sum(map(len, released)))


def test_a_visit_that_was_made_up_shows_from_the_release_only():
    original, released = Sequences.from_rows(["ab"]), Sequences.from_rows(["abd"])
    assert displacement(released, original=original, regions=LINE).value == 0
    assert displacement(released, original=original, regions=LINE, side="released").value == pytest.approx(
        LINE.metres("bd")[0, 1] / 3
    )
    with pytest.raises(ParameterError, match=r"side must be .*, got 'both'"):
        displacement(released, original=original, regions=LINE, side="both")


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_nearness_keeps_the_promise_and_shows_what_it_gains(city):
    plain = BFP2kA(k=5).apply(city, seed=SEED)
    near = BFP2kA(k=5, nearness=Near(metres=2000, minutes=60)).apply(city, seed=SEED)
    assert near.verdict
    assert near.parameters["nearness"] == {"metres": 2000, "minutes": 60}
    assert "nearness" not in plain.parameters
    assert near.utility["displacement_without_nearness"].value == plain.utility["displacement"].value
    assert near.utility["displacement"].value < plain.utility["displacement"].value
    assert (
        near.utility["displacement_of_released_without_nearness"].value
        == plain.utility["displacement_of_released"].value
    )
    only_space = BFP2kA(k=5, nearness=2000).apply(city, seed=SEED)
    assert only_space.verdict


def test_minutes_between_parts_of_the_day():
    regions = Regions(LINE.outlines, LINE.groups, ("06-10", "10-16", "16-20", "20-06"))
    symbols = [f"a@{part}" for part in regions.parts]
    assert regions.minutes(symbols, symbols).tolist() == [
        [0, 0, 360, 0],
        [0, 0, 0, 240],
        [360, 0, 0, 0],
        [0, 240, 0, 0],
    ]
    assert Near(metres=9).weights(regions, symbols[:2], symbols[:2]).tolist() == [[1000, 0], [0, 1000]]
    assert Near(metres=9, minutes=5).weights(regions, symbols[:2], symbols[:2]).tolist() == [
        [1000, 999],
        [999, 1000],
    ]


def test_nearness_needs_regions_and_sense(city):
    with pytest.raises(SchemaError, match="nearness needs regions"):
        BFP2kA(k=2, nearness=5).apply(trip_table([("P", "a"), ("Q", "a")]), seed=SEED)
    frame = made_trips.make(persons=5)
    place = Place("lat", "lon", GridRegions(500))
    plain = EventTable(frame, Schema(person="user", time="at", trip=Gap("1h"), drop=["trip"], place=place))
    with pytest.raises(SchemaError, match=r"nearness\.minutes needs parts of the day"):
        BFP2kA(k=2, nearness=Near(metres=5, minutes=5)).apply(plain, seed=SEED)
    with pytest.raises(ParameterError, match="nearness: metres must be a number above 0, got 0"):
        BFP2kA(k=2, nearness=0)
    for wrong in ({"minutes": 5}, {"metres": 5, "miles": 3}, {}):
        with pytest.raises(ParameterError, match="nearness must be metres, or a table of metres and minutes"):
            BFP2kA(k=2, nearness=wrong)
    near = BFP2kA(k=2, nearness={"metres": 5, "minutes": 30})
    assert near == BFP2kA(**near.parameters())
    with pytest.raises(ParameterError, match="nearness: minutes must be a number above 0, got True"):
        Near(metres=5, minutes=True)


@given(rows_of_four)
def test_without_a_release_there_is_nothing_to_compare(rows):
    assume(len(set(rows)) == len(rows))
    nothing = Sequences.from_rows([""] * len(rows))
    score = displacement(nothing, original=Sequences.from_rows(rows), regions=LINE)
    assert score.value == 0


def test_a_nearness_that_reaches_no_neighbour_warns(city):
    with pytest.warns(SequesterWarning, match=r"nearness of 1 m reaches no neighbour: .* m apart"):
        far = BFP2kA(k=5, nearness=1).apply(city, seed=SEED)
    assert far.frame.equals(BFP2kA(k=5).apply(city, seed=SEED).frame)
    labels = city.labels[city.symbol]
    apart = city.regions.metres(labels)
    least = min(apart[i, j] for i in range(len(labels)) for j in range(i) if apart[i, j] > 0)
    assert Near(metres=least * 1.001).unreachable(city.regions, labels) is None
    assert f"{least:,.0f} m apart" in Near(metres=least * 0.999).unreachable(city.regions, labels)
