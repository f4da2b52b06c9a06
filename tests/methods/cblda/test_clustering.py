"""The clustering equals the plain algorithm, merge by merge and class by class."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from methods.cblda.tables import by_oracle, classes_of, examples, run
from oracles import cblda as oracle

demands = st.tuples(
    st.integers(2, 4), st.sampled_from([0.3, 0.5, 0.7, 1.0]), st.sampled_from(["any", "each"])
)


@given(examples(), demands)
def test_classes_equal_the_plain_algorithm(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    solution = run(table, k=k, c=c, reading=reading)
    expected = oracle.cblda(example.rules(k, c, reading), example.risks, example.persons)
    assert classes_of(table, solution) == by_oracle(expected)
