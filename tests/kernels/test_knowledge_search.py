"""The search finds the crowds and guesses that enumeration finds, whatever it skips on the way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import knowledge as oracles
from sequester.kernels.containment import list_first_places
from sequester.kernels.knowledge import Crowd, Found, Rows
from sequester.kernels.knowledge_search import search
from sequester.kernels.rows import count_ahead

pytestmark = pytest.mark.kernel

N_ITEMS = 3
events = st.lists(st.integers(0, N_ITEMS - 1), min_size=1, max_size=2, unique=True)
some_persons = st.lists(st.lists(events, min_size=1, max_size=4), min_size=1, max_size=6)
HUGE = 2**60


def indexed(persons):
    """One row per person, one group per event."""
    flat = [(item, number) for person in persons for number, event in enumerate(person) for item in event]
    sizes = [sum(map(len, person)) for person in persons]
    items = np.array([item for item, _ in flat], np.int32)
    groups = np.array([group for _, group in flat], np.int32)
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    owners = np.arange(len(persons), dtype=np.int32)
    ahead = count_ahead(items, offsets, N_ITEMS)
    return Rows(items, groups, offsets, owners, ahead, *list_first_places(items, offsets, N_ITEMS))


def crowd_of(weights, protected):
    values = np.array([value for each in protected for value in sorted(each)], np.int32)
    return Crowd(np.array(weights, np.int64), values, np.cumsum([0, *map(len, protected)]).astype(np.int64))


def nothing_found(n_targets, known, *, enough=0, surest=1.0):
    return Found(
        np.arange(n_targets, dtype=np.int32),
        np.full(n_targets, enough, np.int64),
        np.full(n_targets, HUGE, np.int64),
        np.full((n_targets, known), -1, np.int32),
        np.full(n_targets, surest),
        np.full(n_targets, 0, np.int64),
        np.full(n_targets, -1, np.int32),
        np.full((n_targets, known), -1, np.int32),
    )


def pieces(person, size):
    """What is known in exactly so many items."""
    return [piece for piece in oracles.pieces(person, "ordered", size) if len(piece) == size]


def weight_of(piece, persons, weights):
    return sum(weights[number] for number in oracles.crowd(piece, persons, "ordered"))


@given(some_persons, st.integers(1, 4), st.data())
def test_smallest_crowds_equal_enumeration(persons, size, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(persons), max_size=len(persons)))
    rows, firsts = indexed(persons), np.arange(N_ITEMS, dtype=np.int32)
    found = nothing_found(len(persons), 4)
    search(size, firsts, rows, crowd_of(weights, [()] * len(persons)), rows, N_ITEMS, 0, found)
    for target, person in enumerate(persons):
        crowds = {piece: weight_of(piece, persons, weights) for piece in pieces(person, size)}
        assert found.fewest[target] == min(crowds.values(), default=HUGE)
        named = tuple(item for item in found.rare[target].tolist() if item >= 0)
        assert crowds.get(named, HUGE) == found.fewest[target]


@given(some_persons, st.integers(1, 3), st.data())
def test_surest_guesses_equal_enumeration(persons, size, data):
    some_values = st.sets(st.integers(0, 2), max_size=2)
    protected = data.draw(st.lists(some_values, min_size=len(persons), max_size=len(persons)))
    rows, firsts = indexed(persons), np.arange(N_ITEMS, dtype=np.int32)
    found = nothing_found(len(persons), 3, enough=HUGE + 1, surest=0.0)
    found.surest[[not each for each in protected]] = 1.0
    search(size, firsts, rows, crowd_of([1] * len(persons), protected), rows, N_ITEMS, 3, found)
    for target, person in enumerate(persons):
        if not protected[target]:
            assert found.told[target] == -1
            continue
        crowds = {piece: oracles.crowd(piece, persons, "ordered") for piece in pieces(person, size)}
        guesses = {
            (piece, value): oracles.confidence(value, crowd, protected)
            for piece, crowd in crowds.items()
            for value in protected[target]
        }
        best = max(guesses.values(), default=Fraction(0))
        assert found.surest[target] == float(best)
        if guesses:
            told = tuple(item for item in found.telling[target].tolist() if item >= 0)
            assert guesses[told, found.told[target]] == best
            assert len(crowds[told]) == found.among[target]


@given(some_persons, st.integers(2, 3), st.integers(0, N_ITEMS - 1))
def test_only_what_begins_with_the_given_items_is_looked_at(persons, size, first):
    rows = indexed(persons)
    found = nothing_found(len(persons), 3)
    firsts = np.array([first], np.int32)
    search(size, firsts, rows, crowd_of([1] * len(persons), [()] * len(persons)), rows, N_ITEMS, 0, found)
    for target, person in enumerate(persons):
        crowds = [
            len(oracles.crowd(piece, persons, "ordered"))
            for piece in pieces(person, size)
            if piece[0] == first
        ]
        assert found.fewest[target] == min(crowds, default=HUGE)


@given(some_persons, st.integers(1, 3))
def test_a_target_that_is_done_with_stays_as_it_is(persons, size):
    rows, firsts = indexed(persons), np.arange(N_ITEMS, dtype=np.int32)
    found = nothing_found(len(persons), 3, enough=HUGE + 1)
    search(size, firsts, rows, crowd_of([1] * len(persons), [()] * len(persons)), rows, N_ITEMS, 0, found)
    assert (found.fewest == HUGE).all()
    assert (found.rare == -1).all()


def test_several_rows_of_one_owner_count_once():
    rows = indexed([[[0], [1]], [[0], [1]], [[0], [1]]])
    rows = rows._replace(owners=np.array([0, 0, 1], np.int32))
    found = nothing_found(2, 2)
    search(2, np.array([0], np.int32), rows, crowd_of([1, 4], [(), ()]), rows, N_ITEMS, 0, found)
    assert found.fewest.tolist() == [5, 5]


def test_projections_and_children_outgrow_their_first_buffers():
    n_items, n_persons = 90, 12
    items = np.tile(np.arange(n_items, dtype=np.int32), n_persons)
    offsets = np.arange(0, items.size + 1, n_items)
    index = list_first_places(items, offsets, n_items)
    owners = np.arange(n_persons, dtype=np.int32)
    rows = Rows(items, items, offsets, owners, count_ahead(items, offsets, n_items), *index)
    found = nothing_found(n_persons, 3)
    crowd = crowd_of([1] * n_persons, [()] * n_persons)
    search(3, np.array([0], np.int32), rows, crowd, rows, n_items, 0, found)
    assert found.fewest.tolist() == [n_persons] * n_persons
