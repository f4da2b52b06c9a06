"""Clusters step by step, also without the compiler: as the plain algorithm has them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

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


@few
@given(examples(most_persons=24), demands, st.integers(1, 3))
def test_an_index_finds_the_host_that_a_look_at_all_finds(example, demand, n_new):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    asked = []

    def look_at_all(forest, clusters, demand, persons, finished, longest):
        """Place persons as the definition says: each goes to the first of the cheapest that can take them."""
        scratch = kernels.clusters.new_scratch(forest, demand.n_values, longest)
        left = []
        for person in persons:
            host, _ = kernels.hosts.find_host(forest, clusters, demand, person, finished, scratch)
            if host < 0:
                left.append(person)
                continue
            both = kernels.clusters.merge(forest, clusters, demand, host, person, scratch)
            clusters.status[both] = kernels.clusters.FINISHED
            finished = np.sort(np.where(finished == host, both, finished))
        asked.append(len(persons))
        return finished, np.array(left, np.int64), 0

    with pytest.MonkeyPatch.context() as patch:
        # Compiled code keeps the number it was compiled with; without the compiler the index is made often.
        patch.setattr(kernels.hosts, "FEWEST_NEW", n_new)
        found = classes_of(table, run(table, k=k, c=c, reading=reading))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels.hosts, "place_persons", look_at_all)
        expected = classes_of(table, run(table, k=k, c=c, reading=reading))
    event(f"placed {sum(asked)}")
    assert found == expected


def test_states_differ():
    states = {kernels.clusters.GONE, kernels.clusters.WAITING, kernels.clusters.FINISHED}
    assert len(states) == 3
