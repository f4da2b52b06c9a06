"""The prefix tree is that of the definition, and one walk of it finds the closest path of every row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from oracles.sequences import is_subsequence
from sequester.data.sequences import Distinct
from sequester.engine import LocalEngine
from sequester.methods.p2ka._kernels import LANES, WORD, align_rows, count_owners, heaviest_paths, room_for
from sequester.methods.p2ka.algorithm import PrefixTree

pytestmark = pytest.mark.kernel

N_SYMBOLS = 200
# Codes that are far apart: an alphabet above 64 is nothing special.
symbols = st.sampled_from([0, 1, 199])
short_rows = st.lists(st.lists(symbols, max_size=7).map(tuple), min_size=1, max_size=8)


def flat(rows):
    items = np.array([item for row in rows for item in row], np.int32)
    return items, np.cumsum([0, *map(len, rows)]).astype(np.int64)


def distinct_of(rows):
    """Rows in order, each once, with their weights."""
    distinct = sorted(set(rows))
    weights = np.array([rows.count(row) for row in distinct], np.int64)
    return distinct, Distinct(*flat(distinct), weights, np.zeros(0, np.int32))


def spelled(tree):
    """The paths of a tree, in preorder."""
    items, offsets = tree.paths()
    return [tuple(items[a:b].tolist()) for a, b in itertools.pairwise(offsets)]


def found(rows, paths, *, guess):
    """The closest path of each row; the first bound is the longest prefix in the tree, or the root."""
    tree, _ = PrefixTree.grow(distinct_of(paths)[1], 1)
    known = spelled(tree)
    guesses = [
        max(n for n, path in enumerate(known) if row[: len(path)] == path) if guess else 0 for row in rows
    ]
    distinct = Distinct(*flat([*rows, (N_SYMBOLS - 1,)]), np.zeros(0, np.int64), np.zeros(0, np.int32))
    nodes = tree.closest(
        distinct, np.arange(len(rows)), np.array(guesses, np.int32), engine=LocalEngine(threads=1)
    )
    return [known[node] for node in nodes]


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


def aligned(items, offsets, path_items, path_offsets):
    is_matched, partners = np.zeros(len(items), np.bool_), np.full(len(path_items), -1, np.int32)
    longest, deepest = (int(np.diff(each).max(initial=0)) for each in (offsets, path_offsets))
    room = room_for(longest, N_SYMBOLS, deepest)
    align_rows((items, offsets), (path_items, path_offsets), room, is_matched, partners)
    assert not room[0].any()
    return is_matched, partners


@given(st.lists(st.tuples(st.lists(symbols, max_size=7), st.lists(symbols, max_size=5)), max_size=5))
def test_rows_and_paths_are_aligned_along_a_longest_common_subsequence(pairs):
    rows, paths = [row for row, _ in pairs], [path for _, path in pairs]
    items, offsets = flat(rows)
    path_items, path_offsets = flat(paths)
    is_matched, partners = aligned(items, offsets, path_items, path_offsets)
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
    is_matched, partners = aligned(*flat([row]), *flat([[1] * WORD + [199]]))
    assert np.flatnonzero(is_matched).tolist() == list(range(1, 2 * WORD, 2))
    assert partners.tolist() == [*range(1, 2 * WORD, 2), -1]


some_rows = st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), max_size=12)
supports = st.integers(1, 4)


@given(some_rows, supports)
def test_nodes_are_the_prefixes_of_enough_persons_in_preorder(rows, k):
    distinct, folded = distinct_of(rows)
    tree, deepest = PrefixTree.grow(folded, k)
    kept = sorted(path for path, count in oracles.prefix_supports(rows).items() if count >= k)
    paths = spelled(tree)
    assert paths == [(), *kept]
    assert [paths[node] for node in deepest] == [
        max((row[:n] for n in range(len(row) + 1) if not n or row[:n] in kept), key=len) for row in distinct
    ]


@given(some_rows, supports)
def test_subtrees_are_ranges(rows, k):
    tree, _ = PrefixTree.grow(distinct_of(rows)[1], k)
    paths = spelled(tree)
    for node, path in enumerate(paths):
        below = [other for other in paths if other[: len(path)] == path]
        assert paths[node : tree.ends[node]] == below
        assert tree.heights[node] == max(map(len, below)) - len(path)


@given(some_rows, supports)
def test_passing_counts_whole_paths(rows, k):
    folded = distinct_of(rows)[1]
    tree, deepest = PrefixTree.grow(folded, k)
    passing = tree.passing(deepest, folded)
    counted = oracles.prefix_supports(rows)
    # Whoever passes a kept node ends on it or below it.
    assert passing.tolist() == [counted[path] if path else len(rows) for path in spelled(tree)]


@given(some_rows, st.data())
def test_nearest_kept_is_the_deepest_kept_prefix(rows, data):
    tree, _ = PrefixTree.grow(distinct_of(rows)[1], 1)
    kept = np.ones(tree.n_nodes, np.bool_)
    for node in range(1, tree.n_nodes):
        kept[node] = kept[tree.parents[node]] and data.draw(st.booleans())
    pruned, nearest = tree.prune(kept)
    paths = spelled(tree)
    left = [path for path, stays in zip(paths, kept, strict=True) if stays]
    assert spelled(pruned) == left
    assert [left[number] for number in nearest] == [
        max((path[:n] for n in range(len(path) + 1) if path[:n] in left), key=len) for path in paths
    ]


def test_passing_counts_owners_and_not_their_rows():
    parents = np.array([0, 0, 1, 1, 0], np.int32)
    targets = np.array([2, 3, 2, 4], np.int32)
    owned, owned_offsets = flat([[0, 1], [2], [3]])
    passing = np.zeros(5, np.int64)
    count_owners(parents, targets, owned, owned_offsets, passing)
    assert passing.tolist() == [3, 2, 2, 1, 1]


def test_the_heaviest_path_wins_then_the_shallowest():
    # The paths 0, 01, 02 and 1; symbol 1 is near symbol 2.
    symbols, depths = np.array([-1, 0, 1, 2, 1], np.int32), np.array([0, 1, 2, 2, 1], np.int32)
    ends, heights = np.array([5, 4, 3, 4, 5], np.int32), np.array([2, 1, 0, 0, 0], np.int32)
    tree = PrefixTree(symbols, depths, np.array([0, 0, 1, 1, 0], np.int32), ends, heights)
    weights = np.array([[1000, 0, 0], [0, 1000, 400], [0, 400, 1000], [0, 0, 0]], np.int32)
    items, offsets = flat([[0, 2], [2], [1], [3], [0, 3]])
    sums, nodes = np.zeros((3, 3), np.int64), np.zeros(5, np.int32)
    heaviest_paths((items, offsets), np.arange(5), tree, weights, sums, nodes)
    assert nodes.tolist() == [3, 3, 4, 0, 1]
