"""Index tuples are counted as the definition counts them, and again only where something changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.mutual_information.cases import TREES, taxonomy
from oracles import mutual_information as oracles
from sequester.methods.mutual_information._kernels import (
    bottom_up,
    is_private,
    mark_participants,
    recount_alike,
    top_down,
)
from sequester.methods.mutual_information._search_kernels import (
    count_all_alike,
    improve,
    loss_at,
    nodes_at,
    optimal,
    refine_alone,
)
from sequester.methods.mutual_information.algorithm import (
    DENSE,
    SharedTask,
    costs_by_depth,
    count_index_tuples,
    describe,
    paths_of,
)
from sequester.privacy.mutual_information import MutualInformationPrivacy, count_spelled

pytestmark = pytest.mark.kernel

TREE = TREES["deep"]
SYMBOLS = oracles.leaves(TREE)
rows = st.text(SYMBOLS, min_size=2, max_size=8)
some_patterns = st.lists(st.text(SYMBOLS, min_size=1, max_size=3), min_size=1, max_size=3, unique=True)


def problem_of(row, patterns, window, *, share=0.5, worst_case=False, measure="exact"):
    """The problem of a row as the kernels take it; None where no pattern occurs."""
    tree = taxonomy(TREE)
    leaves = tree.nodes(SYMBOLS)
    patterns = sorted(patterns, key=lambda pattern: (len(pattern), pattern))
    task = SharedTask(
        tree=tree,
        paths=paths_of(tree, leaves),
        leaf_depths=tree.depth[leaves].astype(np.int64),
        costs=costs_by_depth(tree, SYMBOLS, "linear"),
        patterns=tuple(np.array([SYMBOLS.index(a) for a in pattern], np.int32) for pattern in patterns),
        model=MutualInformationPrivacy(
            sensitive={tuple(pattern) for pattern in patterns},
            window=window,
            max_leakage=share,
            worst_case=worst_case,
            measure=measure,
        ),
    )
    codes = np.array([SYMBOLS.index(a) for a in row], np.int32)
    found = np.array([oracles.frequency(row, pattern, window) for pattern in map(tuple, patterns)])
    if not found.any():
        return None
    occurring = [tuple(pattern) for pattern, often in zip(patterns, found, strict=True) if often]
    return describe(task, codes, found), occurring, tree


def released(row, person, depths, tree):
    nodes = nodes_at(person.problem, depths)
    return tuple(tree.labels[nodes[symbol]] for symbol in person.symbols)


measures = st.sampled_from(["exact", "paper"])


@given(rows, some_patterns, st.integers(1, 4), st.booleans(), measures, st.data())
@settings(max_examples=60)
def test_counts_of_what_looks_alike(row, patterns, window, worst_case, measure, data):
    asked = {"share": 0.5, "worst_case": worst_case, "measure": measure}
    made = problem_of(row, patterns, window, **asked)
    if made is None:
        return
    person, occurring, tree = made
    problem = person.problem
    nodes, alike = None, None
    for _ in range(3):
        depths = np.array([data.draw(st.integers(0, int(most))) for most in problem.leaf_depths])
        new = nodes_at(problem, depths)
        if nodes is None:
            alike = count_all_alike(problem, new)
        else:
            counted = np.empty_like(alike)
            recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
            alike = counted
        nodes = new
        shown = released(row, person, depths, tree)
        labels = dict(zip(row, shown, strict=True))
        images = [tuple(labels[a] for a in pattern) for pattern in occurring]
        assert alike.tolist() == [oracles.frequency(shown, image, window) for image in images]
        expected = oracles.is_private(row, shown, occurring, window, **asked)
        assert is_private(problem.patterns, nodes, alike, True) == expected
        assert is_private(problem.patterns, nodes, alike, False) or not expected


@given(rows, some_patterns, st.integers(1, 3), st.booleans(), measures)
@settings(max_examples=40)
def test_every_search_gives_a_private_answer(row, patterns, window, worst_case, measure):
    asked = {"share": 0.4, "worst_case": worst_case, "measure": measure}
    made = problem_of(row, patterns, window, **asked)
    if made is None:
        return
    person, occurring, tree = made
    problem = person.problem
    everything = np.ones(len(person.codes), np.bool_)
    start, merged = np.empty((2, len(everything)), np.int64)
    assert top_down(problem, everything, person.ranks, start)
    assert bottom_up(problem, everything, tree.parent, tree.depth, merged)
    refined = start.copy()
    refine_alone(problem, refined, everything)
    better = improve(problem, start, 1000, 100)
    best, ended = optimal(problem, better, person.is_sensitive, 10**7)
    assert ended
    answers = [start, merged, refined, better, best]
    for depths in answers:
        shown = released(row, person, depths, tree)
        assert oracles.is_private(row, shown, occurring, window, **asked)
    losses = [loss_at(problem, depths) for depths in answers]
    assert losses[4] <= min(losses) + 1e-9
    assert losses[3] <= losses[0] + 1e-9
    assert losses[2] <= losses[0] + 1e-9


@given(rows, st.text(SYMBOLS, min_size=1, max_size=3), st.integers(1, 4))
def test_places_that_take_part_and_spelled_patterns(row, pattern, window):
    codes = np.array([SYMBOLS.index(a) for a in row], np.int32)
    look = np.array([SYMBOLS.index(a) for a in pattern], np.int32)
    marked = np.zeros(len(row), np.bool_)
    mark_participants(codes, look, window, marked)
    spelled = [
        each
        for each in oracles.index_tuples(len(row), len(pattern), window)
        if oracles.spelled(row, each) == tuple(pattern)
    ]
    assert set(np.flatnonzero(marked).tolist()) == {place for each in spelled for place in each}
    offsets, asked = np.array([0, len(row), len(row)]), np.array([True, False])
    assert count_spelled(codes, codes, offsets, look, look, window, asked).tolist() == [len(spelled), 0]


sequences = st.lists(st.integers(-1, 2), max_size=9)


def counted(row, length, window, *, dense):
    tuples, counts = count_index_tuples(np.array(row, np.int32), 3, length, window, dense=dense)
    return list(map(tuple, tuples.tolist())), counts.tolist()


@given(sequences, st.integers(1, 5), st.integers(1, 6), st.sampled_from([0, DENSE]))
def test_every_tuple_is_counted_once(row, length, window, dense):
    places = oracles.index_tuples(len(row), length, window)
    expected = Counter(each for each in (oracles.spelled(row, place) for place in places) if -1 not in each)
    tuples, counts = counted(row, length, window, dense=dense)
    assert tuples == sorted(expected)
    assert counts == [expected[each] for each in tuples]


def test_a_table_that_grows_keeps_its_counts():
    row = (np.random.default_rng(1).permutation(3000)).astype(np.int32)
    tuples, counts = count_index_tuples(row, 3000, 2, 2, dense=0)
    assert len(tuples) == 2 * 3000 - 3
    assert counts.tolist() == [1] * len(tuples)
    assert sorted(map(tuple, tuples.tolist())) == list(map(tuple, tuples.tolist()))


@pytest.mark.parametrize("dense", [0, DENSE])
def test_more_different_tuples_than_can_be_held_are_not_listed(monkeypatch, dense):
    monkeypatch.setattr("sequester.methods.mutual_information.algorithm.MOST_DISTINCT", 100)
    row = np.arange(3000, dtype=np.int32)
    tuples, counts = count_index_tuples(row, 3000, 2, 3, dense=dense)
    assert tuples.shape == (0, 2)
    assert counts.size == 0
