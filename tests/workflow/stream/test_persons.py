"""Numbers of persons against SipHash in plain numbers, and who is repeated against counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.siphash import siphash
from sequester.release.randomness import Randomness
from sequester.workflow.stream import publish
from sequester.workflow.stream.publish import PersonNumbers, count_repeated, fold, run_of, united
from sequester.workflow.stream.state import open_state

KEY = bytes(range(16))


def test_the_vector_of_the_papers_appendix():
    number = PersonNumbers(KEY)(pl.Series([bytes(range(15)).decode()])).view(np.uint64)
    assert int(number[0]) == 0xA129CA6149BE45E5
    assert siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5


@given(st.lists(st.text(max_size=20)), st.binary(min_size=16, max_size=16))
def test_numbers_are_siphash(names, key):
    numbers = PersonNumbers(key)(pl.Series(names, dtype=pl.String)).view(np.uint64)
    assert numbers.tolist() == [siphash(key, name.encode()) for name in names]


def test_many_persons_are_hashed_in_blocks(monkeypatch):
    names = pl.Series([f"p{number}" for number in range(50)])
    whole = PersonNumbers(KEY)(names)
    monkeypatch.setattr(publish, "_AT_ONCE", 7)
    assert PersonNumbers(KEY)(names).tolist() == whole.tolist()


def test_the_key_comes_from_the_seed():
    names = pl.Series(["a", "b"])
    one, other = (PersonNumbers.of(Randomness(seed))(names).tolist() for seed in ("this seed", "that seed"))
    assert one == PersonNumbers.of(Randomness("this seed"))(names).tolist()
    assert not set(one) & set(other)


snapshots_of = st.lists(st.sets(st.integers(0, 11)), max_size=9)
"""Who is in which snapshot; spread over all 64 bits below."""


def numbers_of(people):
    return np.array(sorted(people), np.int64) * 0x1B87_3593_CC9E_2D50


@given(snapshots_of)
def test_who_is_in_several_runs_is_marked(snapshots):
    runs = [np.frombuffer(run_of(numbers_of(people)), np.uint64) for people in snapshots]
    seen = Counter(person for people in snapshots for person in people)
    found = united([united(runs[:3]), *runs[3:]])
    assert len(found) == len(seen)
    assert int((found & np.uint64(1)).sum()) == sum(count > 1 for count in seen.values())


@pytest.mark.parametrize("most_runs", [1, 3, 64])
def test_repeated_persons_are_counted_whatever_is_folded(tmp_path, monkeypatch, most_runs):
    monkeypatch.setattr(publish, "MOST_RUNS", most_runs)
    chance = np.random.default_rng(3)
    seen = Counter()
    with open_state(tmp_path) as state:
        assert count_repeated(state) == 0
        for number in range(10):
            people = set(chance.integers(0, 60, 12).tolist())
            seen.update(people)
            with state.transaction():
                state.add_run(number, run_of(numbers_of(people)))
            fold(state)
            assert state.size_of_runs()[0] < most_runs
            assert count_repeated(state) == sum(count > 1 for count in seen.values())


def test_runs_are_folded_by_their_size_too(tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "MOST_KEYS", 5)
    with open_state(tmp_path) as state:
        for number, people in enumerate(([1, 2, 3], [3, 4, 5])):
            with state.transaction():
                state.add_run(number, run_of(numbers_of(people)))
            fold(state)
        assert state.size_of_runs() == (0, 0)
        assert count_repeated(state) == 1
