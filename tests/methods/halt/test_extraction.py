"""The minimal channels that are mined are those of the definition; a trie in runs finds what was added."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.halt.tables import Case, cases, extract
from oracles import halt as oracles
from sequester.engine import LocalEngine
from sequester.methods.halt._kernels import ITEM_BITS, find_open, settle_steps
from sequester.methods.halt.extraction import OpenSequences

LETTERS = dict.fromkeys("abz", "*")


@given(cases(most_p=3, most_persons=5, most_events=2, most_quasi=2))
def test_channels_are_those_of_the_definition(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.minimal_channels(*case.oracle())


@given(cases(most_p=4, most_persons=3, most_events=2, most_quasi=2))
def test_four_items_are_those_of_the_definition(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.minimal_channels(*case.oracle())


@given(cases())
def test_channels_are_those_of_a_slow_miner(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.mine(*case.oracle())


@given(cases())
def test_each_channel_has_its_signature(case):
    found = extract(case.table(), case.thresholds())
    assert found == {sequence: oracles.coarsest_levels(sequence, case.trees) for sequence in found}


@given(cases(most_p=3))
def test_signatures_come_coarse_first(case):
    order = list(dict.fromkeys(extract(case.table(), case.thresholds()).values()))
    coarseness = [-sum(signature) for signature in order]
    assert coarseness == sorted(coarseness)


@given(cases(most_p=3, most_persons=6))
@settings(max_examples=20)
def test_shards_do_not_matter(case):
    table, thresholds = case.table(), case.thresholds()
    whole = extract(table, thresholds)
    assert extract(table, thresholds, engine=LocalEngine(threads=2, shards=3)) == whole


@pytest.mark.kernel
@given(cases(most_p=3, most_persons=5, most_events=2, most_quasi=2))
@settings(max_examples=15)
def test_kernels_agree_with_a_slow_miner(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.mine(*case.oracle())


def letters(*persons, k, p, c=Fraction(1)):
    """Persons as lists of events, an event as text: a letter of the one column, and one of the other."""
    events = [[dict(zip("QR", event, strict=True)) for event in person] for person in persons]
    return Case(events, {"Q": LETTERS, "R": LETTERS}, [set() for _ in persons], k, c, p, "same")


def one(*persons, k, p):
    """Persons as text, an event per letter."""
    events = [[{"Q": letter} for letter in person] for person in persons]
    return Case(events, {"Q": LETTERS}, [set() for _ in persons], k, Fraction(1), p, "same")


def test_an_item_may_follow_itself_and_one_that_was_handled_before():
    """As printed, Algorithm 4.1 takes X away before it forms the siblings, and misses both."""
    found = extract((case := one("aa", "ab", "ba", "ab", k=2, p=2)).table(), case.thresholds())
    assert set(found) == {((("Q", "a"),), (("Q", "a"),)), ((("Q", "b"),), (("Q", "a"),))}


def test_hole_5_a_channel_within_an_event_does_not_lock_a_later_event():
    """<{a,z}> is a channel, and <{a},{b,z}> is a minimal channel of its own."""
    case = letters(["az"], ["aa", "bz"], ["aa", "zz"], ["aa", "ba"], ["bz"], k=2, p=3)
    found = set(extract(case.table(), case.thresholds()))
    assert found == oracles.minimal_channels(*case.oracle())
    assert ((("Q", "a"), ("R", "z")),) in found
    assert ((("Q", "a"),), (("Q", "b"), ("R", "z"))) in found


def test_nobody_is_a_channel_of_support_zero():
    case = one("a", "a", k=2, p=3)
    assert extract(case.table(), case.thresholds()) == {}


def test_one_person_is_a_channel_by_every_item():
    case = one("ab", k=2, p=2)
    assert set(extract(case.table(), case.thresholds())) == {((("Q", "a"),),), ((("Q", "b"),),)}


def test_an_empty_table_has_no_channels():
    case = one(k=2, p=2)
    assert extract(case.table(), case.thresholds()) == {}


GROUPS = np.array([0, 0, 1, 1, 2], np.int32)
steps = st.tuples(st.integers(0, 1), st.integers(0, 4))
tries = st.dictionaries(st.integers(0, 30), st.sets(steps, min_size=1), max_size=8)


def find(known, member, kind, item):
    arrays = known.arrays
    return find_open(
        arrays.slots, arrays.children, arrays.group_of, np.int64(member), np.int64(kind), np.int64(item)
    )


def fill(known, trie):
    """Add the children of some members one after the other; returns who is among them."""
    added = set()
    for member, children in trie.items():
        in_order = sorted(children, key=lambda each: (GROUPS[each[1]], *each))
        packed = np.array([kind << ITEM_BITS | item for kind, item in in_order], np.int32)
        known.add(np.full(len(packed), member, np.int32), packed)
        added |= {(member, *each) for each in in_order}
    return added


@pytest.mark.kernel
@given(tries)
@settings(max_examples=50)
def test_members_are_found_by_their_steps(trie):
    known = OpenSequences(GROUPS)
    added = fill(known, trie)
    assert known.n_members == 1 + len(added)
    found = {
        step: find(known, *step)
        for step in ((member, kind, item) for member in range(32) for kind in range(2) for item in range(5))
    }
    assert {step for step, number in found.items() if number >= 0} == added
    assert sorted(found[step] for step in added) == list(range(1, known.n_members))


@pytest.mark.kernel
def test_fresh_items_are_known_anew_on_top_of_what_is_known():
    below = OpenSequences(GROUPS)
    fill(below, {0: {(0, 1), (0, 2)}, 1: {(1, 3)}})
    known = below.with_fresh(np.array([False, False, True, False, False]))
    # A fresh item is not known, whatever is known below; others are.
    assert find(known, 0, 0, 2) == -1
    assert find(known, 0, 0, 1) == find(below, 0, 0, 1)
    assert find(known, 1, 1, 3) == find(below, 1, 1, 3)
    steps = {(0, 1), (0, 2), (1, 2), (0, 3)}
    fill(known, {0: {(0, 2)}, below.n_members: steps})
    on_top = [find(known, 0, 0, 2), *(find(known, below.n_members, *step) for step in steps)]
    assert sorted(on_top) == list(range(below.n_members, below.n_members + 5))
    assert find(below, 0, 0, 2) < below.n_members


@pytest.mark.kernel
def test_open_sequences_grow():
    known = OpenSequences(np.zeros(3_000, np.int32))
    for member in range(2_000):
        known.add(np.array([member], np.int32), np.array([member], np.int32))
    assert [find(known, member, 0, member) for member in (0, 999, 1999)] == [1, 1000, 2000]


@pytest.mark.kernel
def test_settling_keeps_what_needs_nothing_that_is_missing():
    steps = np.array([10, 20, 30, 40])
    needs = np.array([[-1], [10], [20], [99]])
    is_channel = np.array([False, True, False, False])
    is_kept = np.zeros(4, np.bool_)
    settle_steps(steps, needs, is_channel, np.arange(4), np.full(16, -1, np.int64), is_kept)
    # 20 is a channel, so 30, which needs it, is not open; 99 is nowhere.
    assert is_kept.tolist() == [True, True, False, False]
