"""What an inspection says about a table, in Python, as text, as a document and as a page."""

from __future__ import annotations

import html
import json
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sequester as sq
import sequester.workflow.inspect as module
from oracles import halt
from sequester.attacks import exposure
from sequester.datasets import paper
from sequester.errors import InputError, ParameterError
from sequester.workflow.inspect import (
    MOST_COMBINATIONS,
    FrequentPatterns,
    Quartiles,
    count_targets,
    inspect_config,
)

FLAT = sq.Hierarchy.flat()


def clicks(*rows, **schema):
    frame = pl.DataFrame(
        [(f"u{number}", place, page) for number, row in enumerate(rows) for place, page in enumerate(row)],
        schema=["user", "n", "page"],
        orient="row",
    )
    return sq.EventTable(frame, sq.Schema("user", "n", symbol="page", **schema))


@pytest.fixture(scope="module")
def visits():
    frame = pl.DataFrame(
        {
            "who": ["SECRET-1", "SECRET-1", "SECRET-2", "SECRET-3", "SECRET-3"],
            "in": ["2010-01-30", "2010-03-01", "2010-01-30", "2010-03-01", "2010-03-01"],
            "out": ["2010-02-02", "2010-03-01", "2010-01-31", "2010-03-02", "2010-03-02"],
            "days": [3, 0, 1, 1, 1],
            "job": ["nurse", None, "nurse", "smith", "smith"],
            "disease": ["flu", "HIV", "flu", "HIV", "flu"],
        }
    )
    dates = sq.Hierarchy.dates(["month"])
    quasi = {"in": dates, "out": dates, "days": FLAT, "job": FLAT}
    schema = sq.Schema("who", time="in", quasi=quasi, sensitive={"disease": ["HIV"]})
    return sq.EventTable(frame, schema)


def test_everything_about_a_small_table(visits):
    found = sq.inspect(visits)
    shape = found.shape
    assert (shape.persons, shape.events, shape.alphabet) == (3, 5, 2 + 4 + 3 + 3)
    assert (shape.events_per_person.least, shape.events_per_person.median, shape.events_per_person.most) == (
        1,
        2,
        2,
    )
    assert (shape.days_between_events.least, shape.days_between_events.most) == (0, 30)
    columns = {each.name: each for each in shape.columns}
    assert (columns["job"].labels, columns["job"].missing, columns["job"].role) == (2, 1, "quasi")
    assert columns["in"].role == "time and quasi"
    assert columns["who"].labels is None
    assert ["in", "days", "out"] in found.to_json()["dependent"]
    assert ["out", "in"] in found.to_json()["dependent"]
    assert [(each.severity, each.rows) for each in found.problems] == [("note", (4, 5))]
    assert {each.kind for each in found.exposures} == {"ordered", "event", "anywhere"}
    assert found.exposures[0].confidence.base_rate == pytest.approx(2 / 3)


def test_document_has_the_agreed_shape(visits):
    document = json.loads(json.dumps(sq.inspect(visits).to_json()))
    assert (document["persons"], document["events"]) == (3, 5)
    assert all({"what", "count", "rows"} <= set(each) for each in document["problems"])
    assert [(each["kind"], each["known"]) for each in document["risk"]] == [
        (kind, known) for kind in ("ordered", "event", "anywhere") for known in (1, 2, 3)
    ]
    for each in document["risk"]:
        for share in (each["unique"], each["below_5"], each["below_10"]):
            low, high = share["interval"]
            assert 0 <= low <= share["value"] <= high <= 1
    assert "patterns" not in document
    # Each of the three is alone with the days that they left on.
    assert [(each["attribute"], each["known"], each["unique"]["value"]) for each in document["by_attribute"]][
        :3
    ] == [("out", known, 1.0) for known in (1, 2, 3)]


@pytest.mark.parametrize(
    "show",
    [
        repr,
        lambda found: found._repr_html_(),
        lambda found: found.to_html(),
        lambda found: json.dumps(found.to_json()),
    ],
)
def test_no_person_is_named(visits, show):
    shown = show(sq.inspect(visits))
    assert "SECRET" not in shown
    assert "anywhere" in shown


def test_text_tells_everything(visits):
    text = repr(sq.inspect(visits))
    assert text.startswith("3 persons, 5 events, 12 different items")
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for line in (
        "Events per person: 1 to 2; half have at most 2, nine in ten at most 2.",
        "Between events: 0 s to 30 days; half are at most 0 s, nine in ten at most 30 days.",
        "job quasi 2 1",
        "'in' and 'days' add up to 'out'",
        "ordered: items of different events, in their order, with gaps",
        "event: items of one event",
        "anywhere: items of any events, in no order",
        "out=2010-01-31 ordered 1",
        "attribute 1 item 2 items 3 items",
        "job 66.7% 66.7% 66.7%",
    ):
        assert line in rows
    assert "has a confidence of 66.7%" in " ".join(text.split())


def test_nothing_is_wrong_is_said_too():
    lines = repr(sq.inspect(clicks("ab", "ab"))).splitlines()
    assert lines[lines.index("Problems in the data") + 1] == "  None."
    assert not any("Quasi-identifiers" in line for line in lines)
    assert not any("confidence" in line for line in lines)


def test_page_stands_alone_and_stays_in_the_house(visits):
    page = sq.inspect(visits).to_html()
    assert page.lstrip().startswith("<!doctype html>")
    assert "Internal: do not share this page" in page
    assert page.count('<svg role="img"') == 9
    assert "Persons singled out by one attribute alone" in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", page)
    assert "Confidence with which a protected value can be inferred" in page
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    assert "'in' and 'days' add up to 'out'" in text


def test_labels_are_data_everywhere():
    found = sq.inspect(clicks(["<script>alert(1)</script>", "x\x1b[2J"], ["y"]))
    for shown in (found.to_html(), found._repr_html_()):
        assert "<script>" not in shown
        assert "\x1b" not in shown
    assert "\x1b" not in repr(found)


def test_notebook_shows_the_shares_and_the_plots(visits):
    shown = sq.inspect(visits)._repr_html_()
    assert shown.count("<svg") == 3
    assert "singled out" in shown
    assert "3 persons, 5 events" in shown


def test_drawn_shares_say_so(monkeypatch):
    monkeypatch.setattr(exposure, "EXACT", 3)
    found = sq.inspect(clicks("ab", "ab", "ba"))
    assert "drawn" not in repr(found)
    rows = ["ab", "ab", "ba", "abc", "c"] * 4
    exposures = exposure.expose(clicks(*rows), exact=5, targets=6)
    from dataclasses import replace

    text = " ".join(repr(replace(found, shape=replace(found.shape, persons=20), exposures=exposures)).split())
    assert "6 persons were drawn at random" in text
    assert "the share of all 20 lies with a confidence of 95%" in text
    assert re.search(r"0% \(0% to 4[0-9.]+%\)", text)


def test_cut_persons_are_counted_aloud(monkeypatch):
    from sequester.attacks import exposure_search

    monkeypatch.setattr(exposure_search, "MOST_COMBINATIONS", 1)
    text = " ".join(repr(sq.inspect(clicks("abc", "ca", "cb", "ba"))).split())
    assert "too many items to combine all of them: only the rarest were combined" in text


def test_same_seed_same_answer_other_seed_other_targets():
    table = clicks(
        *([label] * (1 + place % 2) for place, label in enumerate(map(str, range(60)))), *["x"] * 60
    )
    one, again, other = (exposure.expose(table, exact=9, targets=9, seed=seed) for seed in ("x", "x", "y"))
    assert one == again
    assert one != other


def test_patterns_come_most_frequent_first():
    found = sq.inspect(clicks("ab", "ab", "ba", "abc"), patterns=True)
    assert found.frequent.patterns == ((("a", "b"), 3),)
    assert found.to_json()["patterns"] == {
        "min_support": 2,
        "max_length": 5,
        "total": 1,
        "first": [{"items": ["a", "b"], "persons": 3}],
    }
    assert "    a > b  3" in repr(found).splitlines()
    assert "a &gt; b" in found.to_html()


def test_no_pattern_is_an_answer():
    last = repr(sq.inspect(clicks("a", "b"), patterns=True)).splitlines()[-1]
    assert last == "  None that occur in the events of at least 2 persons."


def test_patterns_that_are_too_many_are_made_fewer(monkeypatch):

    monkeypatch.setattr(module, "_MOST", 5)
    found = FrequentPatterns.of(clicks(*["abcd"] * 4, *["ab"] * 4))
    assert (found.min_support, found.total) == (8, 1)


def test_more_patterns_than_are_shown_are_counted():
    found = sq.inspect(clicks("abcdef", "abcdef"), patterns=True)
    assert len(found.frequent.patterns) == 20
    assert f"The 20 most frequent of {found.frequent.total}" in repr(found)


def test_a_support_that_is_given_is_kept():
    table = clicks("ab", "ab", "ba", "abc")
    assert sq.inspect(table, patterns=True, min_support=1).frequent.total == 5
    found = sq.inspect(table, patterns=True, min_support=3).frequent
    assert (found.min_support, found.patterns) == (3, ((("a", "b"), 3),))


def test_too_many_patterns_at_a_given_support_are_refused(monkeypatch):

    monkeypatch.setattr(module, "_MOST", 5)
    with pytest.raises(ParameterError, match="more than 5 patterns have at least 2 supporters"):
        sq.inspect(clicks("abcd", "abcd"), patterns=True, min_support=2)


def test_as_many_patterns_are_listed_as_asked_for():
    found = sq.inspect(clicks("abcdef", "abcdef", "ab"), patterns=True, top=2)
    assert found.frequent.patterns == ((("a", "b"), 3), (("a", "b", "c"), 2))
    assert f"The 2 most frequent of {found.frequent.total}" in repr(found)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"top": 3}, "top needs patterns"),
        ({"min_support": 3}, "min_support needs patterns"),
        ({"patterns": True, "top": 0}, "top must be at least 1, got 0"),
        ({"patterns": True, "min_support": 0}, "min_support must be at least 1, got 0"),
    ],
)
def test_what_is_asked_about_patterns_must_make_sense(asked, message):
    with pytest.raises(ParameterError, match=message):
        sq.inspect(clicks("ab", "ab"), **asked)


def test_patterns_of_quasi_identifiers_are_refused(visits):
    with pytest.raises(InputError, match="--patterns lists patterns of symbols"):
        sq.inspect(visits, patterns=True)


def test_empty_table_has_nothing_to_give_away():
    frame = pl.DataFrame(schema={"user": pl.String, "n": pl.Int64, "page": pl.String})
    found = sq.inspect(sq.EventTable(frame, sq.Schema("user", "n", symbol="page")))
    assert (found.shape.persons, found.shape.events_per_person) == (0, None)
    assert all(each.below_10.value == 0 for each in found.exposures)
    assert "  Events per person: nobody has any." in repr(found).splitlines()


def test_one_person_is_told_from_nobody():
    frame = pl.DataFrame({"at": [1, 2, 3], "did": list("aba")})
    found = sq.inspect(sq.EventTable(frame, sq.Schema(person="all", order="at", symbol="did")))
    assert found.exposures == ()
    assert "There is one person" in str(found)
    assert "There is one person" in found.to_html()


def test_table_without_anything_to_know():
    frame = pl.DataFrame({"who": ["a", "b"], "n": [1, 1], "s": ["x", "H"]})
    found = sq.inspect(sq.EventTable(frame, sq.Schema("who", "n", sensitive={"s": ["H"]})))
    assert found.shape.alphabet == 0
    assert all(each.unique.value == 0 for each in found.exposures)
    assert {each.confidence.largest for each in found.exposures} == {0.5}


def test_each_row_a_person():
    frame = pl.DataFrame({"a": list("xyx"), "b": list("121")})
    found = sq.inspect(sq.EventTable(frame, sq.Schema("row", quasi={"a": FLAT, "b": FLAT})))
    assert [str(each) for each in found.dependent] == ["'a' determines 'b'", "'b' determines 'a'"]
    assert "  Events per person: everybody has 1." in repr(found).splitlines()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_quantiles_are_the_smallest_numbers_that_so_many_do_not_exceed(numbers):
    spread = Quartiles.of(pl.Series(numbers).to_numpy())
    for share, found in ((0.1, spread.tenth), (0.5, spread.median), (0.9, spread.nine_tenths)):
        expected = min(
            number
            for number in numbers
            if sum(each <= number for each in numbers) >= share * len(numbers) - 1e-9
        )
        assert found == expected
    assert (spread.least, spread.most) == (min(numbers), max(numbers))
    assert spread.mean == pytest.approx(sum(numbers) / len(numbers))


def test_many_dependences_are_counted():
    columns = {f"c{i}": list("xyxy") for i in range(6)}
    frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, **columns})
    found = sq.inspect(sq.EventTable(frame, sq.Schema("who", "n", quasi=dict.fromkeys(columns, FLAT))))
    assert len(found.dependent) == 30
    assert "  and 10 more" in repr(found).splitlines()


def test_minimal_channels_are_counted_by_length():
    printed = paper("sehatkar-4.1")
    trees = {name: printed.hierarchies()[name] for name in ("AdmYr",)}
    schema = sq.Schema(
        "PID", "VID", quasi=trees, sensitive={"Disease": ["Cancer", "HIV"]}, drop=["ZIP", "DSFC", "LOS"]
    )
    table = sq.EventTable(printed.frame(), schema)
    found = sq.inspect(table, k=2, c=0.5)
    persons, protected = {}, {}
    for row in printed.frame().iter_rows(named=True):
        persons.setdefault(row["PID"], []).append({name: str(row[name]) for name in trees})
        protected.setdefault(row["PID"], set()).update({row["Disease"]} & {"Cancer", "HIV"})
    # What occurs is enough: all leaves of these trees lie at one depth.
    edges = {
        name: {
            tree.labels[node]: tree.labels[tree.parent[node]]
            for leaf in {event[name] for events in persons.values() for event in events}
            for node in [tree.node(leaf), *tree.ancestors(tree.node(leaf))]
            if node
        }
        for name, tree in trees.items()
    }
    minimal = halt.mine([*persons.values()], edges, [*protected.values()], 2, Fraction(1, 2), 3)
    expected = [sum(halt.length(each) == length for each in minimal) for length in (1, 2, 3)]
    assert found.channels.counts == tuple(expected)
    assert found.to_json()["channels"] == {
        "k": 2,
        "c": 0.5,
        "minimal": [{"length": n, "count": count} for n, count in enumerate(expected, start=1)],
    }
    assert "Minimal inference channels" in repr(found)
    assert "minimal channels" in found.to_html()


def test_channels_are_counted_as_far_as_there_is_not_too_much(visits, monkeypatch):
    assert len(sq.inspect(visits).channels.counts) == 3
    monkeypatch.setattr(module, "AFFORDABLE", 0)
    found = sq.inspect(visits)
    assert found.channels.counts == ()
    assert "too much to count" in " ".join(repr(found).split())


def test_symbols_have_no_channels():
    found = sq.inspect(clicks("ab", "ab"))
    assert found.channels is None
    assert "channels" not in found.to_json()


@pytest.mark.parametrize(("method", "k"), [('[method]\nname = "halt"\nk = 2\nc = "1/3"\np = 1', 2), ("", 5)])
def test_the_method_says_what_a_channel_is(method, k, tmp_path):
    (tmp_path / "visits.csv").write_text("who,n,stay\na,1,2\nb,1,2\nc,1,3\n")
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "visits.csv"\nperson = "who"\norder = "n"\n'
        f'[data.quasi.stay]\nhierarchy = {{ kind = "flat" }}\n{method}\n[release]\npath = "out"\n'
    )
    found = inspect_config(tmp_path / "release.toml").channels
    assert (found.k, found.counts[0]) == (k, 1 if k == 2 else 2)


owned_trips = st.lists(
    st.tuples(st.sampled_from("PQRS"), st.text("abc", min_size=1, max_size=3)), min_size=1, max_size=8
)


@given(owned_trips)
def test_trips_of_a_person_are_one_person(given_trips):
    rows = [
        (person, number, place, page)
        for number, (person, pages) in enumerate(given_trips)
        for place, page in enumerate(pages)
    ]
    frame = pl.DataFrame(rows, schema=["user", "trip", "n", "page"], orient="row")
    found = sq.inspect(sq.EventTable(frame, sq.Schema("user", "n", symbol="page", trip="trip")))
    table = sq.EventTable(frame, sq.Schema("user", "n", symbol="page", trip="trip"))
    together = {}
    for person, row in zip(table.persons.to_list(), table.sequences.to_rows(), strict=True):
        together[person] = together.get(person, ()) + row
    alike = sq.inspect(clicks(*together.values()))
    assert [each.to_json() for each in found.exposures] == [each.to_json() for each in alike.exposures]
    document = found.to_json()
    assert (document["persons"], document["trips"]) == (len(together), len(given_trips))
    assert "trips" not in alike.to_json()


def test_what_is_said_of_trips():
    frame = pl.DataFrame(
        {"user": list("aabb"), "trip": [1, 2, 1, 2], "n": [1, 2, 1, 2], "page": list("xyxz")}
    )
    table = sq.EventTable(frame, sq.Schema("user", "n", symbol="page", trip="trip"))
    found = sq.inspect(table, patterns=True)
    lines = repr(found).splitlines()
    assert lines[0] == "2 persons, 4 trips, 4 events, 3 different items"
    assert "  Events per trip: every trip has 1." in lines
    assert "The trips of a person are looked at together" in " ".join(map(str.strip, lines))
    assert found.frequent.min_support == 2
    page = found.to_html()
    assert "Trips" in page
    assert "Events per trip: every trip has 1." in page
    assert found.to_json()["shape"]["events_per_trip"]["most"] == 1


def wide(persons, columns=50):
    """Return synthetic data of many quasi-identifiers, one event per person."""
    rng = np.random.default_rng(0)
    values = {
        f"q{place}": pl.Series(rng.integers(0, 2 + place % 9, persons)).cast(pl.String)
        for place in range(columns)
    }
    frame = pl.DataFrame({"who": np.arange(persons), "n": 1, **values})
    quasi = dict.fromkeys(values, sq.Hierarchy.flat())
    return sq.EventTable(frame, sq.Schema(person="who", order="n", quasi=quasi))


def test_of_wide_data_so_many_persons_are_targets_as_can_be_combined():
    targets = count_targets(wide(20_000))
    # Everybody has 50 items, and 19,600 combinations of three.
    assert targets == MOST_COMBINATIONS // 19_600
    assert count_targets(wide(300)) is None
    assert count_targets(wide(20_000, columns=4)) is None


def test_an_inspection_of_wide_data_says_who_was_looked_at(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 220 * 30)
    monkeypatch.setattr(module, "FEWEST_TARGETS", 10)
    table = wide(60, columns=12)
    found = module.inspect(table)
    assert {each.targets for each in found.exposures} == {30}
    assert "30 persons were drawn at random" in " ".join(repr(found).split())
    assert {each.targets for each in module.inspect(table, thorough=True).exposures} == {60}
