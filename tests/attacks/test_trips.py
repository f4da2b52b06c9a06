"""Where persons have several trips, candidates are persons: in the original, and in the release."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sequester as sq
from oracles import attacks as oracle
from sequester.attacks import Inference, Linkage, attack_tables, hold_out
from sequester.attacks.background_knowledge import draw_targets
from sequester.attacks.context import AttackContext
from sequester.errors import UnattainableError
from sequester.hierarchies import Hierarchy

some_trips = st.lists(
    st.tuples(st.sampled_from("PQRS"), st.text("abc", min_size=1, max_size=4)), min_size=1, max_size=10
)
TREE = dict.fromkeys("abc", "*")


def table_of(trips):
    """One row per step of the trips, each given as a person and letters."""
    rows = [
        (person, number, step, letter)
        for number, (person, letters) in enumerate(trips)
        for step, letter in enumerate(letters)
    ]
    frame = pl.DataFrame(rows, schema=["who", "trip", "step", "page"], orient="row")
    return sq.EventTable(frame, sq.Schema(person="who", order="step", trip="trip", symbol="page"))


def released_table(trips):
    """The same trips under names of their own."""
    rows = [
        (f"t{number}", step + 1, letter)
        for number, (_, letters) in enumerate(trips)
        for step, letter in enumerate(letters)
    ]
    frame = pl.DataFrame(rows, schema=["person", "order", "page"], orient="row")
    return sq.EventTable(frame, sq.Schema(person="person", order="order", symbol="page", released=True))


def persons_who_fit(kind, items, trips):
    """Who has a trip that what is known fits."""
    pairs = [("page", label) for label in items]
    return {
        person
        for person, letters in trips
        if oracle.fits(kind, pairs, [{"page": letter} for letter in letters], {"page": TREE})
    }


@given(some_trips, st.data(), st.integers(1, 3))
@pytest.mark.kernel
def test_candidates_are_persons_and_not_trips(trips, data, known):
    kept = [trip for trip in trips if data.draw(st.booleans())] or trips
    kept = data.draw(st.permutations(kept))
    people = {person: number for number, person in enumerate(sorted({person for person, _ in kept}))}
    owners = np.array([people[person] for person, _ in kept], np.int32)
    context = AttackContext(released_table(kept), table_of(trips), owners=owners, targets=12)
    for kind in ("ordered", "anywhere", "consecutive"):
        found = context.find(kind, known)
        for trial, those in ((found.raw, trips), (found.release, kept)):
            assert trial.evidence.n_persons == len({person for person, _ in those})
            for nodes, size in zip(trial.knowledge.nodes, trial.candidates.sizes, strict=True):
                items = [context.domain.label(node) for node in nodes if node >= 0]
                assert size == len(persons_who_fit(kind, items, those))


def test_ten_trips_of_one_person_are_one_candidate():
    trips = [("P", "ab")] * 10 + [("Q", "cc"), ("R", "cc")]
    table, released = table_of(trips), released_table(trips)
    owners = np.array([0] * 10 + [1, 2], np.int32)
    unique = {
        name: attack_tables(released, original=table, kinds=["ordered"], known=[2], targets=60, **more)[1]
        for name, more in {"persons": {"owners": owners}, "trips": {}}.items()
    }
    assert {each.name for each in unique.values()} == {"unique"}
    # Everybody is a target equally often, however many trips they took.
    assert unique["persons"].raw.value == unique["persons"].value == pytest.approx(1 / 3)
    assert unique["trips"].value == 0
    assert Linkage().run(released, original=table).baseline == pytest.approx(1 / 12)


def test_what_a_person_has_on_one_trip_they_have_on_all():
    frame = pl.DataFrame(
        {"who": list("PPQQ"), "trip": [1, 2, 3, 4], "n": [1] * 4, "q": list("xyxy"), "ill": list("ynnn")}
    )
    schema = sq.Schema("who", "n", trip="trip", quasi={"q": Hierarchy.flat()}, sensitive={"ill": ["y"]})
    table = sq.EventTable(frame, schema)
    risk = Inference().run(table, original=table, targets=20)
    # Both have x, and both have y; one of them is ill, whatever the trip.
    assert (risk.value, risk.raw.value, risk.baseline) == (0.5, 0.5, 0.5)


def test_targets_are_persons_equally_often():
    owners = np.array([0, 0, 0, 1], np.int32)
    drawn = draw_targets(np.arange(4), 40, np.random.default_rng(3), owners)
    assert (owners[drawn] == 1).sum() == 20
    assert set(drawn) == {0, 1, 2, 3}


@given(some_trips, st.integers(2, 3))
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_releases_of_trips_keep_their_bounds(trips, k):
    table = table_of(trips)
    try:
        release = sq.BFP2kA(k=k).apply(table, seed="a sentence nobody guesses", evaluate=False)
    except UnattainableError:
        return
    risks = sq.attack(release, original=table, known=(2,), targets=10)
    assert any(risk.bound is not None for risk in risks)
    assert [str(risk) for risk in risks if not risk.is_within] == []


@given(some_trips)
def test_all_trips_of_a_person_are_held_out_together(trips):
    table = table_of(trips)
    if table.n_owners < 2:
        return
    inside, outside = hold_out(table)
    assert not {*inside.persons} & {*outside.persons}
    assert sorted([*inside.persons, *outside.persons]) == sorted(table.persons)
    for part in (inside, outside):
        assert part.n_owners == part.persons.n_unique()
        assert sorted(part.sequences.to_rows()) == sorted(
            row
            for person, row in zip(table.persons, table.sequences.to_rows(), strict=True)
            if person in {*part.persons}
        )
