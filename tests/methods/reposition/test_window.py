"""The window against exhaustive search, the paper's theorems, and the holes of the paper."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.reposition.windows import LETTERS, contents, new_window, published_letters, snapshot
from oracles import l_diversity, reposition
from sequester.errors import ParameterError

pytestmark = pytest.mark.kernel

streams = st.lists(st.text("abc", max_size=4), min_size=1, max_size=5)
levels = st.sampled_from(["2", "3", "3/2", "5/2"])
costs = st.sampled_from(["linear", "quadratic", [0, 1, 2.5, 4.5]])
sizes = st.integers(1, 3)


@given(st.text("abcd", max_size=12), levels)
def test_the_initial_suppression_is_that_of_the_most_frequent_until_eligible(letters, level):
    window = new_window(size=1, level=level)
    window.feed(*snapshot(letters))
    published, held = contents(window)
    expected = reposition.suppress_most_frequent(letters, Fraction(level))
    assert Counter(letter for _, _, letter in published) == expected
    assert Counter(letter for _, letter in held) == Counter(letters) - expected


@given(streams, sizes, levels, costs, st.sampled_from([None, 1, 7, {"a": 9, "b": 1}]))
@settings(max_examples=60)
def test_every_step_costs_what_exhaustive_search_costs(days, size, level, cost, suppression):
    window = new_window(size=size, level=level, cost=cost, suppression=suppression)
    beta = dict(zip(LETTERS, window.costs.betas(LETTERS), strict=True))
    mu = window.costs.mu
    for number, letters in enumerate(days):
        published, held = contents(window)
        if number >= size:
            # The oldest slot leaves before the new snapshot comes, and its suppressed records with it.
            published = [each for each in published if each[0] > number - size]
            held = [each for each in held if each[0] > number - size]
        first = reposition.suppress_most_frequent(letters, Fraction(level))
        published += [(number, number, letter) for letter in first.elements()]
        held += [(number, letter) for letter in (Counter(letters) - first).elements()]
        best = reposition.best_loss(published, held, number, Fraction(level), mu, beta)
        window.feed(*snapshot(letters))
        assert reposition.information_loss(*contents(window), mu, beta) == pytest.approx(best)


@given(streams, sizes, levels, costs, st.booleans())
def test_records_come_out_once_later_than_they_came_eligible_and_in_order(days, size, level, cost, shaken):
    window = new_window(size=size, level=level, cost=cost, randomize=shaken)
    output = []
    for letters in days:
        output += window.feed(*snapshot(letters))
        assert reposition.keeps_timestamp_order(contents(window)[0])  # Theorem 1
    output += window.flush()
    assert [each.number for each in output] == list(range(len(days)))
    seen = Counter()
    for each in output:
        assert all(0 <= each.number - home < size for home in each.homes)
        letters = [days[home][row] for home, row in zip(each.homes, each.rows, strict=True)]
        assert l_diversity.is_eligible(letters, Fraction(level))
        seen.update(zip(each.homes.tolist(), each.rows.tolist(), strict=True))
    assert not seen or max(seen.values()) == 1
    n_expired = sum(int(each.expired.sum()) for each in output)
    assert seen.total() + n_expired == sum(map(len, days))


@given(streams, sizes, levels)
def test_relays_take_no_more_steps_than_theorem_2_allows(days, size, level):
    window = new_window(size=size, level=level)
    n_values = len({*"".join(days)})
    for letters in days:
        relays, steps = window.n_relays, window.n_steps
        window.feed(*snapshot(letters))
        assert window.n_steps - steps <= (window.n_relays - relays) * (size + n_values)
        assert window.n_steps - steps <= (window.n_relays - relays) * size


persons_of_days = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=5), min_size=1, max_size=5
)


@given(persons_of_days, sizes, levels, st.booleans())
def test_nobody_is_twice_in_a_published_snapshot(days, size, level, shaken):
    window = new_window(size=size, level=level, randomize=shaken)
    output = []
    for day in days:
        output += window.feed(*snapshot([letter for letter, _ in day], [person for _, person in day]))
    for each in output + window.flush():
        pairs = [days[home][row] for home, row in zip(each.homes, each.rows, strict=True)]
        assert len({person for _, person in pairs}) == len(pairs)
        assert l_diversity.is_eligible([letter for letter, _ in pairs], Fraction(level))


def test_hole_1_a_relay_that_pays_is_made_although_no_record_is_missing():
    window = new_window(size=2, level=2, suppression=3)
    window.feed(*snapshot("a"))
    window.feed(*snapshot("abcde"))
    published, held = contents(window)
    assert not held
    beta = dict.fromkeys(LETTERS, 3)
    assert reposition.information_loss(published, held, window.costs.mu, beta) == 1  # printed: 3


def test_hole_2_one_person_alone_is_never_published():
    window = new_window(size=2, level=2)
    output = window.feed(*snapshot("a", [7])) + window.feed(*snapshot("b", [7])) + window.flush()
    assert [each.rows.size for each in output] == [0, 0]
    assert sum(int(each.expired.sum()) for each in output) == 2


def test_hole_3_the_minimality_attack_is_real_and_chance_blurs_it():
    days = ["aaab", "cd"]

    def output(seed, *, randomize):
        window = new_window(size=2, level=2, seed=seed, randomize=randomize)
        made = [each for day in days for each in window.feed(*snapshot(day))] + window.flush()
        letters = published_letters(made, days)
        return tuple("".join(sorted(letter for _, letter in letters[slot])) for slot in (0, 1))

    assert {output(seed, randomize=False) for seed in range(20)} == {("ab", "aacd")}
    assert len({output(seed, randomize=True) for seed in range(60)}) > 2


def test_hole_4_with_fewer_values_than_l_nothing_is_ever_published():
    window = new_window(size=3, level=3)
    output = [each for day in ["ab", "abab", "ba"] for each in window.feed(*snapshot(day))] + window.flush()
    assert sum(each.rows.size for each in output) == 0


def test_hole_5_what_expires_is_counted_per_value():
    window = new_window(size=2, level=2)
    output = [each for day in ["aaab", "", "", ""] for each in window.feed(*snapshot(day))] + window.flush()
    assert output[0].expired.tolist() == [2, 0]
    assert sum(int(each.expired.sum()) for each in output) == 2


def test_hole_6_the_optimum_of_each_window_is_not_that_of_the_stream():
    losses = {}
    for days in (["ab", "ab", "a"], ["ac", "abc", "a"]):
        window = new_window(size=3, level=2)
        for day in days:
            window.feed(*snapshot(day))
        beta = dict(zip(LETTERS, window.costs.betas(LETTERS), strict=True))
        ours = reposition.information_loss(*contents(window), window.costs.mu, beta)
        losses[tuple(days)] = ours, reposition.best_first_window(days, 2, window.costs.mu, beta)
    assert losses[("ab", "ab", "a")] == (3, 3)
    assert losses[("ac", "abc", "a")] == (3, 1)


def test_hole_7_a_slot_that_has_left_does_not_change():
    window = new_window(size=1, level=2)
    window.feed(*snapshot("ab"))
    (gone,) = window.feed(*snapshot("aab"))
    before = gone.homes.copy(), gone.rows.copy()
    window.feed(*snapshot("aabb"))
    window.flush()
    assert (gone.homes == before[0]).all()
    assert (gone.rows == before[1]).all()


def test_a_second_record_of_a_person_waits_and_is_published_later():
    window = new_window(size=2, level=2)
    output = window.feed(*snapshot("aab", [1, 1, 2])) + window.feed(*snapshot("b", [3])) + window.flush()
    days = ["aab", "b"]
    letters = published_letters(output, days)
    assert letters[0] == [(0, "a"), (0, "b")]
    assert letters[1] == [(0, "a"), (1, "b")]


def test_chance_is_repeatable_and_decides_who_waits():
    def who(seed):
        window = new_window(size=1, level=2, seed=seed)
        window.feed(*snapshot("aaaab"))
        return sorted(window.flush()[0].rows.tolist())

    assert who(1) == who(1)
    assert len({tuple(who(seed)) for seed in range(30)}) == 4


def test_a_window_grows_with_its_values_and_records():
    window = new_window(size=3, level=2)
    sizes = [1, 5, 300, 2, 1500, 40]
    chance = np.random.default_rng(0)
    fed = [chance.integers(0, 1 + size % 8, size).astype(np.int32) for size in sizes]
    output = [each for values in fed for each in window.feed(values)] + window.flush()
    assert sum(each.rows.size + int(each.expired.sum()) for each in output) == sum(sizes)
    for each in output:
        values = [int(fed[home][row]) for home, row in zip(each.homes, each.rows, strict=True)]
        assert l_diversity.is_eligible(values, 2)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ((np.array([[1]]),), "one code per record, got 2 dimensions"),
        ((np.array([0.5]),), "one code per record, got 1 dimensions of float64"),
        ((np.array([-1]),), "codes from 0, got -1 to -1"),
        ((np.array([1], np.int32), np.array([1, 2])), "one per record, got 2 for 1 records"),
    ],
)
def test_a_snapshot_that_is_none_is_refused(given_, message):
    with pytest.raises(ParameterError, match=message):
        new_window(size=2, level=2).feed(*given_)
