"""One bit-parallel walk finds the closest path that the definition finds, for short, long and many rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from oracles.sequences import is_subsequence
from sequester.kernels.lcs import LANES, WORD, align_rows, closest_paths
from sequester.kernels.trie import grow, measure_subtrees, spell_paths

pytestmark = pytest.mark.kernel

N_SYMBOLS = 200
# Codes that are far apart: an alphabet above 64 is nothing special.
symbols = st.sampled_from([0, 1, 199])
short_rows = st.lists(st.lists(symbols, max_size=7).map(tuple), min_size=1, max_size=8)


def flat(rows):
    items = np.array([item for row in rows for item in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def tree_of(paths):
    """The tree of all prefixes of `paths`, and its paths in preorder."""
    paths = sorted(set(paths))
    labels, depths, parents, _ = grow(*flat(paths), np.ones(len(paths), np.int64), 1)
    items, offsets = spell_paths(labels, depths, parents)
    spelled = [tuple(items[a:b].tolist()) for a, b in itertools.pairwise(offsets)]
    return (labels, depths, *measure_subtrees(parents)), spelled


def found(rows, paths, *, guess):
    """The closest path of each row; the first bound is the longest prefix in the tree, or the root."""
    tree, spelled = tree_of(paths)
    guesses = [
        max(n for n, path in enumerate(spelled) if row[: len(path)] == path) if guess else 0 for row in rows
    ]
    nodes = closest_paths(*flat(rows), np.arange(len(rows)), np.array(guesses, np.int32), *tree, N_SYMBOLS)
    return [spelled[node] for node in nodes]


def defined(rows, paths):
    kept = {path[:n] for path in paths for n in range(1, len(path) + 1)}
    return [oracles.closest(row, kept) for row in rows]


@given(short_rows, short_rows, st.booleans())
@example([(0, 1), (199, 0)], [(0, 199), (1,)], False)  # equal length: the shallower path
@example([(1, 0)], [(0,), (1,)], True)  # equal length and depth: the first label
@example([(1, 199, 0)], [(0,), (1, 0), (1, 199), (199, 0)], True)  # the guess is as good, and not the first
def test_the_closest_path_is_that_of_the_definition(rows, paths, guess):
    assert found(rows, paths, guess=guess) == defined(rows, paths)


@pytest.mark.parametrize("size", [WORD - 1, WORD, WORD + 1, 2 * WORD, 2 * WORD + 1])
@pytest.mark.parametrize("seed", range(3))
def test_rows_around_a_word_and_beyond(size, seed):
    draw = np.random.default_rng([size, seed])
    rows = [tuple(draw.choice([0, 1, 199], size - n).tolist()) for n in range(3)]
    paths = [tuple(draw.choice([0, 1, 199], 5).tolist()) for _ in range(4)]
    paths += [row[5 : 5 + 2 * n] for n, row in enumerate(rows)]
    assert found(rows, paths, guess=True) == defined(rows, paths)


def test_a_path_longer_than_a_word_is_reached_in_full():
    row = (0,) * (WORD + 10)
    assert found([row, row[:WORD]], [row], guess=False) == [row, row[:WORD]]


def test_more_rows_than_lanes_keep_their_places():
    draw = np.random.default_rng(5)
    sizes = draw.choice([1, 4, WORD + 3], 2 * LANES + 3, p=[0.4, 0.5, 0.1])
    rows = [tuple(draw.integers(0, 4, size).tolist()) for size in sizes]
    paths = [tuple(draw.integers(0, 4, 3).tolist()) for _ in range(5)]
    assert found(rows, paths, guess=True) == defined(rows, paths)


def test_nothing_in_common_stays_at_the_root():
    assert found([(0, 0), (), (1,)], [(199,)], guess=False) == [(), (), ()]


def test_a_tree_without_nodes_keeps_everyone_at_the_root():
    assert found([(0, 1)], [()], guess=False) == [()]


@given(st.lists(st.tuples(st.lists(symbols, max_size=7), st.lists(symbols, max_size=5)), max_size=5))
def test_rows_and_paths_are_aligned_along_a_longest_common_subsequence(pairs):
    rows, paths = [row for row, _ in pairs], [path for _, path in pairs]
    items, offsets = flat(rows)
    path_items, path_offsets = flat(paths)
    is_matched, partners = align_rows(items, offsets, path_items, path_offsets, N_SYMBOLS)
    for n, (row, path) in enumerate(pairs):
        mine = partners[path_offsets[n] : path_offsets[n + 1]]
        matched = [int(partner) for partner in mine if partner >= 0]
        assert matched == sorted(set(matched))
        assert matched == np.flatnonzero(is_matched[offsets[n] : offsets[n + 1]]).tolist()
        assert all(row[partner] == item for item, partner in zip(path, mine, strict=True) if partner >= 0)
        assert len(matched) == oracles.lcs_length(row, path)
        assert is_subsequence([row[partner] for partner in matched], path)


def test_long_rows_are_aligned_across_words():
    row = [0, 1] * WORD
    is_matched, partners = align_rows(*flat([row]), *flat([[1] * WORD + [199]]), N_SYMBOLS)
    assert np.flatnonzero(is_matched).tolist() == list(range(1, 2 * WORD, 2))
    assert partners.tolist() == [*range(1, 2 * WORD, 2), -1]
