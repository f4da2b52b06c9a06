"""Whom knowledge of every kind fits, against enumeration."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import attacks as oracle
from sequester.attacks.crowds import find_crowds
from sequester.attacks.evidence import Clock, Evidence
from sequester.attacks.ground import Ground
from sequester.attacks.pieces import kinds_for
from sequester.attacks.source import Source
from sequester.attacks.world import World
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.hierarchies.hierarchy import Hierarchy

pytestmark = pytest.mark.kernel

TREES = {
    "q": {"a": "x", "b": "x", "c": "*", "x": "*"},
    "r": {"d": "y", "e": "y", "f": "z", "y": "z", "z": "*"},
    "s": {"flu": "*", "cold": "*", "HIV": "*"},
    "t": {"none": "*", "gin": "*"},
}
LEAVES = {"q": "abc", "r": "def", "s": ("flu", "cold", "HIV"), "t": ("none", "gin")}
PROTECTED = [("s", "HIV"), ("t", "gin")]
DAY = datetime.date(2010, 1, 1)


def labels_of(column):
    return st.sampled_from(sorted({*TREES[column], *TREES[column].values()}))


@st.composite
def worlds(draw_one):
    """Persons, and a release in which each cell may have become coarser and each event may be lost."""
    leaf = {name: st.sampled_from(list(LEAVES[name])) for name in TREES}
    event = st.fixed_dictionaries({**leaf, "day": st.integers(0, 4)})
    persons = draw_one(st.lists(st.lists(event, min_size=1, max_size=3), min_size=1, max_size=5))
    persons = [sorted(person, key=lambda each: each["day"]) for person in persons]
    released = []
    for person in persons:
        kept = [each for each in person if draw_one(st.integers(0, 4))]
        steps = {name: draw_one(st.sampled_from([0, 0, 1, 2, 9])) for name in ("q", "r")}
        released.append(
            [{name: above(name, each[name], steps.get(name, 0)) for name in TREES} for each in kept]
        )
    return persons, [person for person in released if person] or [persons[0]]


def above(column, label, steps):
    chain = oracle.above(TREES[column], label)
    return chain[min(steps, len(chain) - 1)]


def table_of(persons, *, released=False):
    rows = [
        {"who": f"p{number}", "n": place} | each
        for number, person in enumerate(persons)
        for place, each in enumerate(person)
    ]
    frame = pl.DataFrame(rows).drop("day", strict=False)
    when = {"order": "n"}
    if not released:
        days = [DAY + datetime.timedelta(days=each["day"]) for person in persons for each in person]
        frame = frame.with_columns(at=pl.Series(days)).drop("n")
        when = {"time": "at"}
    return EventTable(
        frame,
        Schema(
            person="who",
            **when,
            quasi={name: Hierarchy.from_edges(TREES[name].items()) for name in "qr"},
            sensitive={"s": ["HIV"], "t": ["gin"]},
            released=released,
        ),
    )


def plain(ground, node):
    column = int(ground.kernel.column[node])
    return ground.columns[column], ground.trees[column].labels[node - int(ground.starts[column])]


def expected(pieces, place, ground, persons, *, shown, days):
    """Count by enumeration whom a piece fits, who of them has something to find out, and most have."""
    items = [plain(ground, node) for node in pieces.nodes[place] if node >= 0]
    blank = {column for column in TREES if all(each[column] == "*" for person in persons for each in person)}
    # The days between items whose events are passed over add up.
    kept = [i for i, item in enumerate(items) if item[0] not in blank]
    spans = pieces.days[place][kept]
    crowd = [
        person
        for number, person in enumerate(persons)
        if oracle.fits(
            pieces.kind,
            [items[i] for i in kept],
            person,
            TREES,
            shown=shown,
            days=days[number],
            gaps=np.diff(spans).tolist(),
            n_events=None if pieces.n_events[place] < 0 else pieces.n_events[place],
            never=None if pieces.never[place] < 0 else plain(ground, pieces.never[place]),
        )
    ]
    hidden = [value for value in PROTECTED if value not in items]
    has = [{(s, v) for s, v in hidden for each in person if each[s] == v} for person in crowd]
    most = max((sum(value in each for each in has) for value in hidden), default=0)
    return len(crowd), sum(map(bool, has)), most


@given(worlds(), st.integers(1, 3), st.booleans())
def test_crowds_equal_enumeration(world, known, shown):
    persons, others = world
    original, released = table_of(persons), table_of(others, released=True)
    ground = Ground.of(original, released)
    source = Source.of(original, ground)
    rng = np.random.default_rng(7)
    clock = Clock.of(original, ground)
    unknown = [[(-100, 100)] * len(person) for person in others]
    exact = [[(each["day"], each["day"]) for each in person] for person in persons]
    for kind in kinds_for(original, ground):
        pieces = source.draw(kind, known, 2 * len(persons) + 1, rng=rng)
        for table, rows, days in ((original, persons, exact), (released, others, unknown)):
            evidence = Evidence.of(table, ground, clock=clock if kind == "gaps" else None)
            crowds = find_crowds(
                pieces, evidence, ground, shown=shown, engine=LocalEngine(threads=1, shards=2)
            )
            for place in range(len(pieces)):
                found = crowds.sizes[place], crowds.at_risk[place], crowds.most[place]
                if (
                    kind == "consecutive"
                    and rows is others
                    and any(
                        all(each[column] == "*" for person in others for each in person) for column in "qr"
                    )
                ):
                    continue  # what stands at known distances has a test of its own
                assert found == expected(pieces, place, ground, rows, shown=shown, days=days), kind


@given(worlds(), st.integers(1, 3))
def test_everybody_fits_what_is_known_of_them(world, known):
    original = table_of(world[0])
    ground = Ground.of(original, original)
    source = Source.of(original, ground)
    rng = np.random.default_rng(1)
    for kind in kinds_for(original, ground):
        pieces = source.draw(kind, known, original.n_persons, rng=rng)
        assert (pieces.nodes >= 0).sum(axis=1).max(initial=0) <= known
        clock = Clock.of(original, ground) if kind == "gaps" else None
        assert (find_crowds(pieces, Evidence.of(original, ground, clock=clock), ground).sizes > 0).all()


def test_every_kind_is_drawn():
    original = table_of([[{"q": "a", "r": "d", "s": "flu", "t": "gin", "day": 0}]])
    ground = Ground.of(original, original)
    assert set(kinds_for(original, ground)) == {
        "anywhere",
        "ordered",
        "consecutive",
        "event",
        "generalized",
        "mixed",
        "gaps",
        "count",
        "negative",
        "sensitive",
        "protected",
        "released",
    }


def test_consecutive_keeps_its_distance_over_a_column_of_stars():
    event = {"s": "flu", "t": "none", "day": 0}
    persons = [
        [{**event, "q": label, "r": "d"} for label in "abc"],
        [{**event, "q": label, "r": "d"} for label in "acb"],
    ]
    original = table_of(persons)
    released = table_of([[each | {"r": "*"} for each in person] for person in persons], released=True)
    ground = Ground.of(original, released)
    evidence = Evidence.of(released, ground)
    world = World.of(released, original, targets=2)
    pieces = world.draw("consecutive", 3)
    q, r = (int(ground.starts[place]) for place in (0, 1))
    nodes = [q + ground.trees[0].node("a"), r + ground.trees[1].node("d"), q + ground.trees[0].node("c")]
    pieces.nodes[:] = nodes
    assert find_crowds(pieces, evidence, ground).sizes.tolist() == [1, 1]


def test_a_released_date_tells_the_gap():
    rows = {"who": ["a", "a", "b", "b"], "at": ["2010-01-01", "2010-02-10", "2010-01-01", "2010-01-02"]}
    frame = pl.DataFrame(rows).with_columns(page=pl.lit("x"))
    roles = {"at": Hierarchy.dates(["month"]), "page": Hierarchy.flat()}
    original = EventTable(frame, Schema(person="who", time="at", quasi=roles))
    coarse = pl.DataFrame(
        {
            "person": ["a", "a", "b", "b"],
            "order": [1, 2, 1, 2],
            "at": ["2010-01", "2010-02", "2010-01", "2010-01"],
        }
    ).with_columns(page=pl.lit("x"))
    trees = {name: original.hierarchies[name] for name in roles}
    released = EventTable(coarse, Schema(person="person", order="order", quasi=trees, released=True))
    world = World.of(released, original, targets=40)
    found = world.find("gaps", 2)
    assert set(found.raw.crowds.sizes) == {1}
    # Forty days lie between the months, and not within one.
    assert set(found.release.crowds.sizes) == {1}
