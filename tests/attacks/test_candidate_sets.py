"""Whom knowledge of every kind fits, against enumeration."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import attacks as oracle
from sequester.attacks.background_knowledge import TargetPool, kinds_for
from sequester.attacks.candidate_sets import DayRanges, Evidence, find_candidates
from sequester.attacks.context import AttackContext
from sequester.attacks.domain import Domain
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


def plain(domain, node):
    column = int(domain.kernel.column[node])
    return domain.columns[column], domain.trees[column].labels[node - int(domain.starts[column])]


def expected(knowledge, place, domain, persons, *, shown, days):
    """Count by enumeration whom a piece fits, who of them has something to find out, and most have."""
    items = [plain(domain, node) for node in knowledge.nodes[place] if node >= 0]
    blank = {column for column in TREES if all(each[column] == "*" for person in persons for each in person)}
    # The days between items whose events are passed over add up.
    kept = [i for i, item in enumerate(items) if item[0] not in blank]
    spans = knowledge.days[place][kept]
    candidate_set = [
        person
        for number, person in enumerate(persons)
        if oracle.fits(
            knowledge.kind,
            [items[i] for i in kept],
            person,
            TREES,
            shown=shown,
            days=days[number],
            gaps=np.diff(spans).tolist(),
            n_events=None if knowledge.n_events[place] < 0 else knowledge.n_events[place],
            never=None if knowledge.never[place] < 0 else plain(domain, knowledge.never[place]),
        )
    ]
    hidden = [value for value in PROTECTED if value not in items]
    if knowledge.kind == "other_sensitive":
        hidden = [value for value in PROTECTED if value[0] not in {column for column, _ in items}]
    has = [{(s, v) for s, v in hidden for each in person if each[s] == v} for person in candidate_set]
    most = max((sum(value in each for each in has) for value in hidden), default=0)
    return len(candidate_set), sum(map(bool, has)), most


@given(worlds(), st.integers(1, 3), st.booleans())
def test_candidate_sets_equal_enumeration(context, known, shown):
    persons, others = context
    original, released = table_of(persons), table_of(others, released=True)
    domain = Domain.of(original, released)
    source = TargetPool.of(original, domain)
    rng = np.random.default_rng(7)
    clock = DayRanges.of(original, domain)
    unknown = [[(-100, 100)] * len(person) for person in others]
    exact = [[(each["day"], each["day"]) for each in person] for person in persons]
    for kind in kinds_for(original, domain):
        knowledge = source.draw(kind, known, 2 * len(persons) + 1, rng=rng)
        for table, rows, days in ((original, persons, exact), (released, others, unknown)):
            evidence = Evidence.of(table, domain, clock=clock if kind == "gaps" else None)
            candidates = find_candidates(
                knowledge, evidence, domain, shown=shown, engine=LocalEngine(threads=1, shards=2)
            )
            for place in range(len(knowledge)):
                found = candidates.sizes[place], candidates.at_risk[place], candidates.most[place]
                if (
                    kind == "consecutive"
                    and rows is others
                    and any(
                        all(each[column] == "*" for person in others for each in person) for column in "qr"
                    )
                ):
                    continue  # what stands at known distances has a test of its own
                assert found == expected(knowledge, place, domain, rows, shown=shown, days=days), kind


@given(worlds(), st.integers(1, 3))
def test_everybody_fits_what_is_known_of_them(context, known):
    original = table_of(context[0])
    domain = Domain.of(original, original)
    source = TargetPool.of(original, domain)
    rng = np.random.default_rng(1)
    for kind in kinds_for(original, domain):
        knowledge = source.draw(kind, known, original.n_persons, rng=rng)
        assert (knowledge.nodes >= 0).sum(axis=1).max(initial=0) <= known
        clock = DayRanges.of(original, domain) if kind == "gaps" else None
        assert (
            find_candidates(knowledge, Evidence.of(original, domain, clock=clock), domain).sizes > 0
        ).all()


def test_every_kind_is_drawn():
    original = table_of([[{"q": "a", "r": "d", "s": "flu", "t": "gin", "day": 0}]])
    domain = Domain.of(original, original)
    assert set(kinds_for(original, domain)) == {
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
        "other_sensitive",
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
    domain = Domain.of(original, released)
    evidence = Evidence.of(released, domain)
    context = AttackContext(released, original, targets=2)
    knowledge = context.draw("consecutive", 3)
    q, r = (int(domain.starts[place]) for place in (0, 1))
    nodes = [q + domain.trees[0].node("a"), r + domain.trees[1].node("d"), q + domain.trees[0].node("c")]
    knowledge.nodes[:] = nodes
    assert find_candidates(knowledge, evidence, domain).sizes.tolist() == [1, 1]


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
    context = AttackContext(released, original, targets=40)
    found = context.find("gaps", 2)
    assert set(found.raw.candidates.sizes) == {1}
    # Forty days lie between the months, and not within one.
    assert set(found.release.candidates.sizes) == {1}
