"""Clusters step by step, also without the compiler: as the plain algorithm has them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from methods.cblda.tables import by_oracle, classes_of, examples, run
from methods.cblda.test_clustering import demands
from oracles import cblda as oracle
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda import _search_kernels as search
from sequester.methods.cblda import merging
from sequester.methods.cblda.clusters import Clustering, ProtectedValues

pytestmark = pytest.mark.kernel
few = settings(max_examples=15)


@few
@given(examples(most_persons=12), demands)
def test_clusters_equal_the_plain_algorithm(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FEWEST_NEW", 2)
        solution = run(table, k=k, c=c, reading=reading)
    expected = oracle.cblda(example.rules(k, c, reading), example.risks, example.persons)
    assert classes_of(table, solution) == by_oracle(expected)


@few
@given(examples(most_persons=12), demands)
def test_blocks_and_the_baseline_run_too(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    for how in ({"is_random": True}, {"block": 2 * k}, {"split": True}):
        solution = run(table, k=k, c=c, reading=reading, **how)
        assert (solution.class_size >= k).all()


class LookAtAll(merging.Assignment):
    """Chooses as the definition says: the first of the cheapest finished clusters that stay private."""

    def find(self, cluster):
        work, state = self.work, self.work.state
        best, least = -1, None
        for other in np.sort(self.finished).tolist():
            before = merging.SavedClusters.of(work, work.members(np.array([cluster, other]))[0])
            worth = work.left_worth(np.array([cluster, other]))
            both = work.merge(cluster, other)
            extra = worth - work.left_worth(np.array([both]))
            is_private = state[both, kernels.STATUS] == kernels.FINISHED
            before.go_back(work)
            if is_private and (least is None or extra < least):
                best, least = other, extra
        return best, least or 0


@few
@given(examples(most_persons=24), demands, st.integers(1, 3))
def test_an_index_finds_the_cluster_that_a_look_at_all_finds(example, demand, n_new):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    with pytest.MonkeyPatch.context() as patch:
        # The index is made again all the time.
        patch.setattr(merging, "FEWEST_NEW", n_new)
        found = classes_of(table, run(table, k=k, c=c, reading=reading))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "Assignment", LookAtAll)
        expected = classes_of(table, run(table, k=k, c=c, reading=reading))
    assert found == expected


@given(st.lists(st.integers(0, 2**60), max_size=40))
def test_numbers_are_sorted(numbers):
    rows = np.empty((3, len(numbers)), np.int64)
    rows[0] = numbers
    row = search.sort_numbers(rows, len(numbers))
    assert rows[row].tolist() == sorted(numbers)


def work_of(example):
    table = example.table()
    is_counted = np.ones(table.n_persons, np.bool_)
    return Clustering.of(table, ProtectedValues.of(table), is_counted, k=2, c=1.0, each=False, seed=-1)


@few
@given(examples(most_persons=14))
def test_an_index_holds_every_cluster_once_however_little_room_it_begins_with(example):
    work = work_of(example)
    everybody = np.arange(len(example.persons))
    index = work.build_index(everybody)
    assert sorted(index.order.tolist()) == everybody.tolist()
    keys = [(work.state[each, kernels.LENGTH], work.state[each, kernels.SIZE], each) for each in everybody]
    again = index._replace(
        order=np.array([each for *_, each in sorted(keys)]), boxes=index.boxes[: work.longest].copy()
    )
    nodes = np.empty((2 * len(everybody), search.N_COLUMNS), np.int64)
    nodes[: index.n_roots] = index.nodes[: index.n_roots]
    again = again._replace(nodes=nodes)
    grown, numbers = np.array([0, index.n_roots, 0]), np.empty((3, len(everybody)), np.int64)
    while not search.grow_index(work.clusters, again, grown, work.trees.n_groups, numbers):
        again = again._replace(boxes=np.concatenate([again.boxes, np.empty_like(again.boxes)]))
    assert again.order.tolist() == index.order.tolist()
    assert nodes[: grown[1]].tolist() == index.nodes.tolist()
    assert again.boxes[: grown[2]].tolist() == index.boxes[: grown[2]].tolist()


@few
@given(examples(most_persons=9))
def test_merging_two_persons_leaves_what_the_oracle_says(example):
    work, rules = work_of(example), example.rules(2, 1.0, "any")
    worths = [oracle.kill(rules, events) for events in example.persons]
    assert work.state[:, kernels.WORTH_LEFT].tolist() == worths
    saving, pairs = oracle.align(rules, *example.persons[:2])
    assert work.merge(0, 1) == 0
    assert work.state[0, kernels.WORTH_LEFT] == saving
    assert work.state[0, kernels.LENGTH] == len(pairs)


def test_states_differ():
    states = {kernels.GONE, kernels.WAITING, kernels.FINISHED}
    assert len(states) == 3
