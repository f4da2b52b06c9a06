"""A trie in runs finds what was added, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.methods.halt._kernels import ITEM_BITS, find_open, settle_steps
from sequester.methods.halt.open_sequences import OpenSequences

pytestmark = pytest.mark.kernel

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


def test_open_sequences_grow():
    known = OpenSequences(np.zeros(3_000, np.int32))
    for member in range(2_000):
        known.add(np.array([member], np.int32), np.array([member], np.int32))
    assert [find(known, member, 0, member) for member in (0, 999, 1999)] == [1, 1000, 2000]


def test_settling_keeps_what_needs_nothing_that_is_missing():
    steps = np.array([10, 20, 30, 40])
    needs = np.array([[-1], [10], [20], [99]])
    is_channel = np.array([False, True, False, False])
    is_kept = np.zeros(4, np.bool_)
    settle_steps(steps, needs, is_channel, np.arange(4), np.full(16, -1, np.int64), is_kept)
    # 20 is a channel, so 30, which needs it, is not open; 99 is nowhere.
    assert is_kept.tolist() == [True, True, False, False]
