"""The integer program of the first window against trying everything."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from methods.reposition.windows import LETTERS, contents, new_window, snapshot
from oracles import l_diversity, reposition
from sequester.errors import InternalError
from sequester.methods.reposition import integer_program
from sequester.methods.reposition import window as window_module
from sequester.methods.reposition.integer_program import best_arrangement

pytestmark = pytest.mark.kernel

days_of = st.lists(st.text("abc", max_size=3), min_size=1, max_size=3)


@given(days_of, st.sampled_from(["2", "3/2", "3"]), st.sampled_from(["linear", "quadratic"]))
@settings(max_examples=30)
def test_the_first_window_costs_what_trying_everything_costs(days, level, cost):
    assume(sum(map(len, days)) <= 7)
    window = new_window(size=len(days), level=level, cost=cost)
    window.first_window = "ilp"
    for day in days:
        window.feed(*snapshot(day))
    beta = dict(zip(LETTERS, window.costs.betas(LETTERS), strict=True))
    best = reposition.best_first_window(days, Fraction(level), window.costs.mu, beta)
    published, held = contents(window)
    assert reposition.information_loss(published, held, window.costs.mu, beta) == pytest.approx(best)
    assert window.loss() == pytest.approx(best)
    assert reposition.keeps_timestamp_order(published)


@given(days_of, st.sampled_from(["2", "3/2"]), st.sampled_from(["linear", "quadratic"]))
@settings(max_examples=30)
def test_a_window_that_is_planned_again_costs_what_trying_everything_costs(days, level, cost):
    assume(sum(map(len, days)) <= 7)
    window = new_window(size=len(days), level=level, cost=cost)
    window.search = "improve"
    for day in days:
        window.feed(*snapshot(day))
    beta = dict(zip(LETTERS, window.costs.betas(LETTERS), strict=True))
    best = reposition.best_first_window(days, Fraction(level), window.costs.mu, beta)
    is_held = window.lists.held_counts.any()
    output = window.flush()
    moved = sum(window.costs.mu[each.number - home] for each in output for home in each.homes)
    lost = sum(int(each.expired.sum()) for each in output) * window.costs.beta
    # Where nothing is suppressed, records may be farther from home than they have to.
    assert moved + lost == pytest.approx(best) if is_held else moved + lost >= best
    assert window.n_unplanned == 0


days_of_few = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=3), min_size=1, max_size=3
)


@given(days_of_few, st.sampled_from(["2", "3/2"]), st.sampled_from(["linear", "quadratic"]))
@settings(max_examples=60)
@pytest.mark.parametrize("way", ["improve", "ilp"])
def test_a_plan_with_each_person_once_in_a_slot_costs_what_trying_everything_costs(way, days, level, cost):
    assume(sum(map(len, days)) <= 7)
    window = new_window(size=len(days), level=level, cost=cost)
    window.search, window.first_window = ("improve", "grow") if way == "improve" else ("greedy", "ilp")
    letters = [[value for value, _ in day] for day in days]
    persons = [[person for _, person in day] for day in days]
    for values, people in zip(letters, persons, strict=True):
        window.feed(*snapshot(values, people))
    beta = dict(zip(LETTERS, window.costs.betas(LETTERS), strict=True))
    best = reposition.best_first_window(letters, Fraction(level), window.costs.mu, beta, persons)
    is_planned = way == "ilp" or window.lists.held_counts.any()
    output = window.flush()
    moved = sum(window.costs.mu[each.number - home] for each in output for home in each.homes)
    lost = sum(int(each.expired.sum()) for each in output) * window.costs.beta
    assert moved + lost == pytest.approx(best) if is_planned else moved + lost >= best
    assert window.n_unplanned == 0


def test_a_plan_knows_where_records_of_earlier_snapshots_stay():
    """The first snapshot has a record of the person already: their other one goes to the second."""
    present, betas = np.array([[0, 0, 0], [1, 0, 0]]), np.full(3, 2.0)
    for taken, published in ((False, [[0, 1, 0], [0, 0, 0]]), (True, [[0, 0, 0], [0, 1, 0]])):
        named = integer_program.Named(np.array([0]), np.array([1]), np.array([0]), np.array([[taken, False]]))
        fixed = np.array([[1, 0, 1], [0, 0, 1]])
        mu = np.array([0.0, 1.0])
        best = best_arrangement(present, level=Fraction(2), mu=mu, betas=betas, fixed=fixed, named=named)
        assert best[2].tolist() == published
        assert best[1].tolist() == [[0, 0, 0], [1, 0, 0]]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), max_size=5), max_size=8),
    st.integers(2, 3),
)
@settings(max_examples=60)
def test_planning_again_keeps_slots_eligible_and_persons_apart(days, size):
    window = new_window(size=size, level=2)
    window.search = "improve"
    published, n_records = [], 0
    for day in days:
        published += window.feed(*snapshot([value for value, _ in day], [person for _, person in day]))
    published += window.flush()
    for each in published:
        records = [days[home][row] for home, row in zip(each.homes, each.rows, strict=True)]
        assert all(0 <= each.number - home < size for home in each.homes)
        assert l_diversity.is_eligible([value for value, _ in records], 2)
        assert len({person for _, person in records}) == len(records)
        n_records += len(records) + int(each.expired.sum())
    assert [each.number for each in published] == list(range(len(days)))
    assert n_records == sum(map(len, days))
    assert window.n_unplanned == 0


def test_a_window_that_is_too_large_to_plan_stays_as_it_was(monkeypatch):
    monkeypatch.setattr(window_module, "MOST_VARIABLES", 1)
    lost = []
    for search in ("greedy", "improve"):
        window = new_window(size=2, level=2)
        window.search = search
        output = [each for day in ("aab", "ab", "b") for each in window.feed(*snapshot(day))]
        lost.append([each.expired.tolist() for each in [*output, *window.flush()]])
    assert lost[0] == lost[1]
    assert window.n_unplanned > 0


def test_a_stream_that_ends_before_the_window_is_full_is_settled_at_its_end():
    days = ["ac", "abc", "a"]
    losses = {}
    for first in ("grow", "ilp"):
        window = new_window(size=5, level=2)
        window.first_window = first
        for day in days:
            assert window.feed(*snapshot(day)) == []
        output = window.flush()
        losses[first] = sum(each.number - home for each in output for home in each.homes)
        assert sum(each.rows.size for each in output) == (5 if first == "grow" else 6)
    assert losses == {"grow": 0, "ilp": 1}


@pytest.mark.parametrize("most", [window_module.MOST_VARIABLES, 0])
def test_persons_in_the_way_leave_every_slot_eligible(monkeypatch, most):
    monkeypatch.setattr(window_module, "MOST_VARIABLES", most)
    window = new_window(size=2, level=2)
    window.first_window = "ilp"
    days = [("aab", [1, 2, 3]), ("b", [1])]
    for letters, persons in days:
        window.feed(*snapshot(letters, persons))
    for each in window.flush():
        letters = [days[home][0][row] for home, row in zip(each.homes, each.rows, strict=True)]
        persons = [days[home][1][row] for home, row in zip(each.homes, each.rows, strict=True)]
        assert l_diversity.is_eligible(letters, 2)
        assert len(set(persons)) == len(persons)


def test_counts_are_kept():
    present = np.array([[3, 0, 1], [0, 2, 2]])
    best = best_arrangement(present, level=Fraction(2), mu=np.array([0.0, 1.0]), betas=np.full(3, 2.0))
    assert (best.sum(axis=1) <= present).all()
    assert not best[1, 0].any()
    for slot in range(2):
        counts = Counter(dict(enumerate(best[:, slot].sum(axis=0).tolist())))
        assert max(counts.values()) * 2 <= counts.total()


def test_a_program_that_finds_nothing_is_our_fault(monkeypatch):
    nothing = SimpleNamespace(x=None, message="no time left")
    monkeypatch.setattr(integer_program, "milp", lambda *_, **__: nothing)
    with pytest.raises(InternalError, match="the first window found nothing: no time left"):
        best_arrangement(np.array([[1, 1]]), level=Fraction(2), mu=np.zeros(1), betas=np.ones(2))
