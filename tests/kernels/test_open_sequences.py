"""A trie in runs finds what was added, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester import kernels
from sequester.methods.halt.open_book import OpenBook

pytestmark = pytest.mark.kernel

GROUPS = np.array([0, 0, 1, 1, 2], np.int32)
steps = st.tuples(st.integers(0, 1), st.integers(0, 4))
tries = st.dictionaries(st.integers(0, 30), st.sets(steps, min_size=1), max_size=8)


def fill(book, trie):
    """Add the children of some members, group by group; gives member, kind and item to number."""
    numbers = {}
    for member, children in trie.items():
        for group in range(3):
            run = sorted(each for each in children if GROUPS[each[1]] == group)
            if run:
                first = book.n_members
                packed = np.array([kernels.open_sequences.pack_child(*each) for each in run], np.int32)
                book.add(
                    np.array([member]), np.array([group], np.int32), np.array([len(run)], np.int32), packed
                )
                numbers |= {(member, *each): first + place for place, each in enumerate(run)}
    return numbers


@given(tries)
@settings(max_examples=50)
def test_members_are_found_by_their_steps(trie):
    book = OpenBook(GROUPS)
    numbers = fill(book, trie)
    assert book.n_members == 1 + len(numbers)
    for member in range(32):
        for kind in range(2):
            for item in range(5):
                found = kernels.channels.find_open(book.arrays, member, kind, item)
                assert found == numbers.get((member, kind, item), -1)


def test_a_book_on_top_of_another_sees_both():
    below = OpenBook(GROUPS)
    known = fill(below, {0: {(0, 1), (0, 2)}, 1: {(1, 3)}})
    fresh = np.array([False, False, True, False, False])
    book = OpenBook(GROUPS, below=below, is_fresh=fresh)
    added = fill(book, {0: {(0, 2)}, below.n_members: {(0, 1)}})
    assert min(added.values()) == below.n_members
    arrays = book.arrays
    assert kernels.channels.find_open(arrays, 0, 0, 1) == known[0, 0, 1]
    # A fresh item is looked for on top, whatever is known below.
    assert kernels.channels.find_open(arrays, 0, 0, 2) == added[0, 0, 2]
    assert kernels.channels.find_open(arrays, below.n_members, 0, 1) == added[below.n_members, 0, 1]
    assert kernels.channels.find_open(arrays, 1, 1, 3) == known[1, 1, 3]


def test_a_book_grows():
    book = OpenBook(np.zeros(3_000, np.int32))
    for member in range(2_000):
        child = np.array([member], np.int32)
        book.add(np.array([member]), np.zeros(1, np.int32), np.ones(1, np.int32), child)
    arrays = book.arrays
    assert [kernels.channels.find_open(arrays, member, 0, member) for member in (0, 999, 1999)] == [
        1,
        1000,
        2000,
    ]


def test_settling_keeps_what_asks_for_nothing_that_is_missing():
    steps = np.array([10, 20, 30, 40])
    asks = np.array([[-1], [10], [20], [99]])
    is_channel = np.array([False, True, False, False])
    kept = kernels.open_sequences.settle_steps(steps, asks, is_channel, np.arange(4))
    # 20 is a channel, so 30, which asks for it, is not open; 99 is nowhere.
    assert kept.tolist() == [True, True, False, False]
