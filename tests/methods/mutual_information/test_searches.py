"""Every search is private by the oracle's count, and costs what the definition or exhaustion says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.mutual_information.cases import TREES, Case, cases
from oracles import mutual_information as oracles
from sequester.errors import ParameterError
from sequester.methods.mutual_information.algorithm import LeakagePlan
from sequester.methods.mutual_information.method import BottomUp, TopDown

both = st.sampled_from([TopDown, BottomUp])
NEAR = 1e-9


@given(cases())
def test_top_down_is_algorithm_1(case):
    expected = oracles.generalize(case.row, case.oracle(oracles.top_down))
    assert case.release(TopDown, search="greedy") == expected


@given(cases())
def test_bottom_up_is_algorithm_3(case):
    expected = oracles.generalize(case.row, case.oracle(oracles.bottom_up))
    assert case.release(BottomUp, search="greedy") == expected


@given(
    cases(),
    both,
    st.sampled_from(["greedy", "improve", "optimal"]),
    st.sampled_from(["global", "local"]),
)
def test_every_answer_is_private_by_the_oracles_count(case, method, search, scope):
    released = case.release(method, search=search, scope=scope)
    assert case.is_private(released)
    assert all(node in oracles.path(case.tree, a) for a, node in zip(case.row, released, strict=True))


@given(cases(longest=7), both)
@settings(max_examples=40)
def test_optimal_is_what_exhaustion_finds(case, method):
    released = case.release(method, search="optimal")
    assert case.loss(released) == pytest.approx(float(case.oracle(oracles.optimum)), abs=NEAR)


@given(cases(), both)
def test_each_step_further_costs_no_more(case, method):
    greedy, improve, optimal, local = (
        case.loss(case.release(method, **more))
        for more in (
            {"search": "greedy"},
            {},
            {"search": "optimal"},
            {"search": "greedy", "scope": "local"},
        )
    )
    assert optimal <= improve + NEAR
    assert improve <= greedy + NEAR
    assert local <= greedy + NEAR


@given(cases())
def test_a_local_answer_costs_no_more_than_holes_where_patterns_are(case):
    places = {
        place
        for pattern in case.patterns
        for each in oracles.index_tuples(len(case.row), len(pattern), case.window)
        if oracles.spelled(case.row, each) == pattern
        for place in each
    }
    holes = tuple("*" if place in places else a for place, a in enumerate(case.row))
    if case.is_private(holes):
        assert case.loss(case.release(TopDown, scope="local")) <= case.loss(holes) + NEAR


def test_improve_exchanges_what_greedy_cannot():
    """Top-Down takes the largest saving first; refining another symbol would have saved more in the end."""
    found = False
    chance = np.random.default_rng(2)
    for _ in range(200):
        case = random_case(chance)
        losses = [case.loss(case.release(TopDown, search=search)) for search in ("greedy", "improve")]
        found |= losses[1] < losses[0] - NEAR
    assert found


def random_case(chance, *, longest=14, tree="two levels"):
    symbols = oracles.leaves(TREES[tree])
    row = "".join(chance.choice(symbols, chance.integers(4, longest)))
    patterns = {tuple(chance.choice(symbols, 2).tolist()) for _ in range(chance.integers(1, 4))}
    return Case(
        row=row,
        patterns=sorted(patterns),
        tree=TREES[tree],
        window=3,
        cost="information-loss",
        bound={"share": float(chance.choice([0.3, 0.5, 0.7]))},
    )


@pytest.mark.thorough
def test_a_thousand_cases_show_what_the_searches_lose():
    """Top-Down loses at most 0.12 per symbol, and the local search closes at least half of the gap."""
    chance = np.random.default_rng(6)
    greedy, improve = [], []
    for _ in range(1000):
        case = random_case(chance)
        least, *others = (
            case.loss(case.release(TopDown, search=search)) for search in ("optimal", "greedy", "improve")
        )
        greedy.append(float(others[0] - least) / len(case.row))
        improve.append(float(others[1] - least) / len(case.row))
    assert 0 < np.mean(greedy) <= 0.12
    assert np.mean(improve) <= np.mean(greedy) / 2


def test_the_exact_search_refuses_what_would_take_too_long(monkeypatch):
    monkeypatch.setattr("sequester.methods.mutual_information.algorithm.MOST_WORK", 100)
    case = Case("abcdabdcacbd", [("a", "b")], TREES["two levels"], 3, "linear", {"share": 0.5})
    plan = LeakagePlan.of(TopDown(**{**case.parameters(), "search": "optimal"}), case.table())
    with pytest.raises(ParameterError, match='search must be "greedy" or "improve" here: with 4 symbols'):
        plan.solve(0)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MOST_TUPLES", 3, "window must be shorter: 12 events have 3.0e[+]01 index tuples of length 2"),
        ("MOST_DISTINCT", 3, "window must be shorter: 2 symbols make more different tuples of length 2"),
        ("LARGEST_KEY", 3, "window must be shorter: 2 symbols make more different tuples of length 2"),
    ],
)
def test_more_tuples_than_can_be_held_are_refused(monkeypatch, limit, value, message):
    case = Case("abababababab", [("a", "b")], TREES["two levels"], 3, "linear", {"share": 0.5})
    monkeypatch.setattr(f"sequester.methods.mutual_information.algorithm.{limit}", value)
    with pytest.raises(ParameterError, match=message):
        TopDown(**case.parameters()).apply(case.table())
