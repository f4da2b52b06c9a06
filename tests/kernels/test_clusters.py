"""Clusters step by step, also without the compiler: as the plain algorithm has them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

from methods.cblda.tables import by_oracle, classes_of, examples, run
from methods.cblda.test_clustering import demands
from oracles import cblda as oracle
from sequester import kernels
from sequester.methods.cblda import agglomerate

pytestmark = pytest.mark.kernel
few = settings(max_examples=15)


@few
@given(examples(most_persons=12), demands)
def test_clusters_equal_the_plain_algorithm(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agglomerate, "FEWEST_NEW", 2)
        solution = run(table, k=k, c=c, reading=reading)
    expected = oracle.cblda(example.rules(k, c, reading), example.risks, example.persons)
    assert classes_of(table, solution) == by_oracle(expected)


@few
@given(examples(most_persons=12), demands)
def test_blocks_and_the_baseline_run_too(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    for how in ({"is_random": True}, {"exact": 4, "block": 4}, {"split": True}):
        solution = run(table, k=k, c=c, reading=reading, **how)
        assert (solution.class_size >= k).all()


def test_states_differ():
    states = {kernels.clusters.GONE, kernels.clusters.WAITING, kernels.clusters.FINISHED}
    assert len(states) == 3
