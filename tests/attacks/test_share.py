"""Shares are what was counted, and intervals cover as often as they say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.attacks.share import Share


def chance_of_at_least(found, of, true):
    return sum(math.comb(of, i) * true**i * (1 - true) ** (of - i) for i in range(found, of + 1))


@given(st.integers(1, 40), st.data())
def test_interval_of_clopper_and_pearson_by_its_definition(of, data):
    found = data.draw(st.integers(0, of))
    low, high = Share.drawn(found, of).interval
    assert low <= found / of <= high
    if found:
        assert chance_of_at_least(found, of, low) == pytest.approx(0.025)
    else:
        assert low == 0
    if found < of:
        assert 1 - chance_of_at_least(found + 1, of, high) == pytest.approx(0.025)
    else:
        assert high == 1


@given(st.integers(1, 40), st.data())
def test_undecided_persons_raise_the_upper_end_only(of, data):
    found = data.draw(st.integers(0, of))
    undecided = data.draw(st.integers(0, of - found))
    plain, wide = Share.drawn(found, of), Share.drawn(found, of, undecided=undecided)
    assert (wide.value, wide.interval[0]) == (plain.value, plain.interval[0])
    assert wide.interval[1] == Share.drawn(found + undecided, of).interval[1]
    assert Share.counted(found, of, undecided=undecided).interval == (found / of, (found + undecided) / of)


def test_nobody_to_count():
    assert Share.counted(0, 0) == Share(0.0, (0.0, 0.0))
    assert Share.drawn(0, 0) == Share(0.0, (0.0, 1.0))


def test_exact_shares_know_that_they_are():
    assert Share.counted(1, 3).is_exact
    assert not Share.counted(1, 3, undecided=1).is_exact
    assert not Share.drawn(1, 3).is_exact
