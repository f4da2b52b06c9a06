"""Attributes of persons are an event before all others: both promises equal the definition by enumeration."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import persons as oracle
from oracles.kcp import ROOT, Table
from oracles.persons import Tables
from privacy.releases import event_table, leaves_at, tables, trees
from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy
from sequester.privacy import KCPPrivacy, KCPrivacy

TWO_COLUMNS = {"D": ("D1", "D2")}
shares = st.sampled_from(["1/3", 0.5, "2/3", 0.9, 1])
levels_of_k = st.integers(2, 4)
readings = st.sampled_from(["any", "each"])


@st.composite
def with_attributes(draw):
    """Events as a method would release them, and one or two attributes of every person, and a secret one."""
    events = draw(tables(most_quasi=2, most_persons=5))
    forest = {name: draw(trees()) for name in ("A", "B")[: draw(st.integers(1, 2))]}
    pools = {
        name: [*leaves_at(tree, draw(st.integers(0, 3))), *[ROOT] * draw(st.integers(0, 1))]
        for name, tree in forest.items()
    }
    cells = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    secret = st.fixed_dictionaries({"S": st.sets(st.sampled_from("xy"), min_size=1, max_size=1)})
    attributes = [[(draw(cells), draw(secret))] for _ in events.persons]
    # Somebody may have no events.
    first, *rest = events.persons
    histories = [first, *(person if draw(st.integers(0, 5)) else [] for person in rest)]
    seen = Table(histories, events.trees, events.protect, events.levels, events.stars, events.both)
    return Tables(Table(attributes, forest, {"S": ("x",)}, events.levels, events.stars), seen)


def both_tables(given_tables: Tables) -> EventTable:
    """The two tables as the library has them."""
    attributes, events = given_tables.attributes, given_tables.events
    base = event_table(events, columns=TWO_COLUMNS)
    rows = [
        {"person": f"person {number}", **cells, "S": next(iter(values["S"]))}
        for number, ((cells, values),) in enumerate(attributes.persons)
    ]
    persons = Persons(
        pl.DataFrame(rows),
        quasi={name: Hierarchy.from_edges(tree.items()) for name, tree in attributes.trees.items()},
        sensitive={"S": ["x"]},
    )
    return EventTable(base.frame, base.schema, persons)


def split(events, names):
    """A witness as the oracle writes it: items of attributes, and those of events."""
    if events and events[0][0][0] in names:
        return events[0], events[1:]
    return (), events


@settings(max_examples=150)
@given(with_attributes(), levels_of_k, shares, st.integers(1, 3))
def test_kcp_equals_the_definition(given_tables, k, c, p):
    events = given_tables.events
    protect = events.protect | given_tables.attributes.protect
    model = KCPPrivacy(k=k, c=c, p=p, levels=events.levels, stars=events.stars, protect=protect)
    verdict = model.check(both_tables(given_tables))
    expected = oracle.channels(given_tables, k, c, p)
    smallest, largest = oracle.reached(given_tables, p)
    assert (verdict.holds, verdict.violations) == (not expected, len(expected))
    assert verdict.achieved == {"k": smallest, "c": float(largest)}
    shown = {split(each.events, given_tables.attributes.trees) for each in verdict.witnesses}
    assert len(shown) == min(len(expected), 5)
    assert shown <= expected


@settings(max_examples=150)
@given(with_attributes(), levels_of_k, shares, readings)
def test_kc_equals_the_definition(given_tables, k, c, reading):
    protect = given_tables.events.protect | given_tables.attributes.protect
    verdict = KCPrivacy(k=k, c=c, reading=reading, protect=protect).check(both_tables(given_tables))
    expected = oracle.broken_classes(given_tables, k, c, reading)
    found = oracle.classes(given_tables).values()
    assert (verdict.holds, verdict.violations) == (not expected, len(expected))
    assert verdict.achieved == {
        "k": min(map(len, found)),
        "c": float(max(oracle.risk(given_tables, numbers, reading) for numbers in found)),
    }
    shown = {split(each.events, given_tables.attributes.trees) for each in verdict.witnesses}
    assert shown <= set(expected)


# by hand

FLAT = Hierarchy.flat()
VISITS = Schema(person="PID", order="n", quasi={"week": FLAT}, sensitive={"ill": ["HIV"]})


def hospital(rows, *, quasi=("born",), sensitive=None):
    """Persons of a birth year, the weeks of their visits, and a diagnosis."""
    visits = [
        {"PID": name, "n": place, "week": week, "ill": ill}
        for name, _, weeks, ill in rows
        for place, week in enumerate(weeks)
    ]
    persons = pl.DataFrame([{"PID": name, "born": born} for name, born, _, _ in rows])
    return EventTable(
        pl.DataFrame(visits),
        VISITS,
        Persons(persons, quasi=dict.fromkeys(quasi, FLAT), sensitive=sensitive),
    )


UNIQUE = [
    ("a", "1950", ["w1"], "flu"),
    ("b", "1950", ["w2"], "flu"),
    ("c", "1960", ["w1"], "flu"),
    ("d", "1960", ["w1"], "flu"),
    ("e", "1950", ["w2"], "flu"),
]


def test_somebody_is_unique_by_birth_year_and_one_week():
    """Neither table alone singles out: the two together do."""
    table = hospital(UNIQUE)
    alone = table.replace(demographics=None)
    assert KCPPrivacy(k=2, c=1, p=2).check(alone)
    assert KCPPrivacy(k=2, c=1, p=1).check(table)
    verdict = KCPPrivacy(k=2, c=1, p=2).check(table)
    assert [str(each) for each in verdict.witnesses] == ["born = 1950 → week = w1: 1 person"]
    classes = KCPrivacy(k=2, c=1).check(table)
    assert [str(each) for each in classes.witnesses] == ["born = 1950 → week = w1: 1 person"]
    assert KCPrivacy(k=2, c=1).check(alone)


def test_only_the_combination_gives_a_protected_value_away():
    rows = [
        ("a", "1950", ["w1"], "HIV"),
        ("b", "1950", ["w1"], "HIV"),
        ("c", "1950", ["w2"], "flu"),
        ("d", "1950", ["w2"], "flu"),
        ("e", "1960", ["w1"], "flu"),
        ("f", "1960", ["w1"], "flu"),
    ]
    model = KCPPrivacy(k=2, c=0.5, p=2)
    assert model.check(hospital(rows).replace(demographics=None))
    verdict = model.check(hospital(rows))
    assert [str(each) for each in verdict.witnesses] == [
        "born = 1950 → week = w1: ill = HIV for 2 of 2 persons"
    ]


def test_nothing_is_no_star_and_no_item():
    """Columns of persons hold nothing in events: no star is counted that no cell shows."""
    table = hospital([(name, "1950", ["w1", "w1"], "flu") for name in "abc"])
    verdict = KCPPrivacy(k=3, c=1, p=3).check(table)
    assert (verdict.holds, verdict.achieved["k"]) == (True, 3)


def test_persons_without_events_are_company():
    rows = [("a", "1950", ["w1"], "flu"), ("b", "1950", ["w1"], "flu"), ("c", "1960", [], "")]
    table = hospital(rows)
    assert table.n_persons == 3
    verdict = KCPPrivacy(k=2, c=1, p=1).check(table)
    assert [str(each) for each in verdict.witnesses] == ["born = 1960: 1 person"]
    assert KCPPrivacy(k=2, c=1, p=1).check(hospital([*rows, ("d", "1960", [], "")]))


def test_a_secret_of_persons_is_protected():
    rows = [
        ("a", "x", ["w1"], "flu"),
        ("b", "y", ["w1"], "flu"),
        ("c", "y", ["w2"], "flu"),
        ("d", "x", ["w2"], "flu"),
    ]
    table = hospital(
        [(name, born, ["w1"], ill) for name, born, _, ill in rows], quasi=(), sensitive={"born": ["x"]}
    )
    assert KCPPrivacy(k=2, c=0.5, p=1).check(table)
    verdict = KCPPrivacy(k=2, c=Fraction(2, 5), p=1).check(table)
    assert str(verdict.witnesses[0]) == "nothing known: born = x for 2 of 4 persons"


@pytest.mark.parametrize("model", [KCPPrivacy(k=2, c=1, p=2), KCPrivacy(k=2, c=1)])
def test_claim_and_words_name_the_attributes(model):
    about = model.about(hospital(UNIQUE))
    assert about.claim()["persons"] == ["born"]
    assert type(model)(**about.claim()) == about
    assert "A person's born" in about.in_words()
    assert "persons" not in model.about(hospital(UNIQUE).replace(demographics=None)).claim()
