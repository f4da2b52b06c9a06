"""Kernels of pattern hiding against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from oracles.sequences import is_subsequence, subsequences, support
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine, silent
from sequester.methods.ph import _kernels
from sequester.methods.ph._kernels import Changes, DistinctRows, breaks_rules, count_close, spread_embedding
from sequester.methods.ph._row_kernels import (
    CURRENT,
    DEMAND,
    EXACT,
    FLAGS,
    FREQUENT,
    OWED,
    PARENT,
    SUPPORT,
    SYMBOL,
    TRIAL,
    RowScratch,
    RowTask,
    contains,
    count_all_ways,
    count_matchings,
    count_swaps,
    count_through,
    count_ways,
    delete_matchings,
    list_possible,
    localize,
    pass_rows,
    walk_change,
    walk_row,
    weigh,
)
from sequester.methods.ph.algorithm import HidingRules, choose_rows, sanitize
from sequester.methods.ph.problem import HidingProblem, as_table, make_trie, track_patterns, widen
from sequester.mining.support import list_pairs

pytestmark = pytest.mark.kernel

rows = st.lists(st.text("abc", max_size=6), min_size=1, max_size=5)
words = st.text("abc", min_size=1, max_size=3)
secrets = st.lists(words, min_size=1, max_size=3, unique=True)
few = settings(max_examples=25)


def codes(word):
    return np.array([-1 if letter == "." else "abc".index(letter) for letter in word], np.int32)


def flat(words):
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int64)
    return codes("".join(words)), offsets


def work_of(row, words=(), forbidden=()):
    """Localize a row; return the room to work in, and the task."""
    size = len(row)
    work = RowScratch(
        codes=np.empty((7, size + 4), np.int32),
        following=np.empty((2, (size + 1) * 3), np.int32),
        stack=np.empty((4, 4), np.int64),
        ways=np.empty((size + 2, 5)),
        through=np.empty(size),
        local_of=np.full(3, -1, np.int32),
        possible=np.empty(10, np.int64),
        local=np.empty((len(words) + 1, 5), np.int32),
        forbidden=np.empty((len(forbidden) + 1, size + 1), np.int32),
        choices=np.empty((9, 8), np.int32),
        hits=np.empty(200, np.int64),
    )
    n_local = localize(codes(row), 0, size, work)
    n_forbidden = list_possible(table_of(forbidden), work, work.forbidden, work.possible)
    n_possible = list_possible(table_of(words), work, work.local, work.possible)
    return work, RowTask(size, n_local, n_possible, n_forbidden, 1, 1)


def table_of(words):
    return as_table([codes(word).tolist() for word in words])


def put(work, which, word):
    for place, letter in enumerate(word):
        work.codes[which, place] = -1 if letter == "." else work.local_of["abc".index(letter)]


@few
@given(st.text("abc", max_size=7), secrets, st.data())
def test_ways_and_places(row, words, data):
    kept = data.draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row)))
    now = "".join(letter if is_kept else "." for letter, is_kept in zip(row, kept, strict=True))
    work, task = work_of(row, words)
    put(work, CURRENT, now)
    for each in range(task.n_possible):
        word = words[work.possible[each]]
        ways = count_ways(work.codes[CURRENT], 0, len(row), work.local[each], work.ways[0])
        assert ways == oracles.embeddings(word, now)
        assert contains(work.codes[CURRENT], 0, len(row), work.local[each]) == is_subsequence(word, now)
    total = sum(oracles.embeddings(word, now) for word in words)
    assert count_all_ways(work, CURRENT, task, np.inf) == total
    most = count_through(work, CURRENT, task)
    assert most == max(work.through, default=0)
    for place in range(len(row)):
        without = now[:place] + "." + now[place + 1 :]
        assert work.through[place] == total - sum(oracles.embeddings(word, without) for word in words)


@few
@given(st.text("abc", max_size=6), secrets)
def test_possible_patterns_have_their_items(row, words):
    work, task = work_of(row, words)
    holds = [all(row.count(letter) >= word.count(letter) for letter in word) for word in words]
    expected = [number for number, holds_it in enumerate(holds) if holds_it]
    assert work.possible[: task.n_possible].tolist() == expected


@few
@given(st.text("abc", max_size=7), words, st.integers(0, 3))
def test_spread_embeddings_hold_the_pattern(row, word, n_left):
    if is_subsequence(word, row):
        places = np.empty(len(word), np.int32)
        n_left = min(n_left, len(word))
        spread_embedding(codes(row), len(row), codes(word), len(word), n_left, places)
        assert "".join(row[place] for place in places) == word
        assert (np.diff(places) > 0).all()


@few
@given(st.permutations("aabc"), st.permutations("aabc"), secrets, rows)
def test_rules_are_those_of_the_definition(before, after, forbidden, rows):
    before, after = "".join(before), "".join(after)
    broken = oracles.new_forbidden(forbidden, [after], [before])
    work, task = work_of(before, forbidden=forbidden)
    put(work, TRIAL, after)
    assert breaks_rules(work, task, TRIAL, np.empty(0, np.int64), 3) == bool(broken)
    known = list_pairs(*flat([*rows, before]), 3)
    unseen = oracles.pairs([after]) - oracles.pairs([*rows, before])
    work, task = work_of(before)
    put(work, TRIAL, after)
    assert breaks_rules(work, task, TRIAL, known, 3) == bool(unseen)


def trie_of(rows, min_support, max_length, words):
    patterns = sorted(
        {pattern for row in rows for pattern in subsequences(row) if len(pattern) <= max_length}
    )
    nodes = np.zeros((1000, 6), np.int64)
    number_of = {(): 0}
    for number, pattern in enumerate(patterns, start=1):
        number_of[pattern] = number
        count = support(pattern, rows)
        flags = EXACT + FREQUENT * (count >= min_support)
        flags += OWED * any(is_subsequence(word, pattern) for word in words)
        nodes[number] = ("abc".index(pattern[-1]), number_of[pattern[:-1]], len(pattern), count, 0, flags)
    return make_trie(nodes, np.array([len(patterns) + 1, 3, 0], np.int64))


def pattern_of(trie, node):
    pattern = ""
    while node:
        pattern = "abc"[trie.nodes[node, SYMBOL]] + pattern
        node = trie.nodes[node, PARENT]
    return pattern


@few
@given(rows, st.data(), st.integers(1, 3), secrets)
def test_a_change_is_weighed_and_counted_as_defined(rows, data, min_support, words):
    before = rows[0]
    after = "".join(data.draw(st.permutations(before)))
    if after and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(after) - 1))
        after = after[:place] + "." + after[place + 1 :]
    words = [word for word in words if not is_subsequence(word, after)]
    trie = trie_of(rows, min_support, 3, words)
    last = max((place for place in range(len(before)) if before[place] != after[place]), default=-1)
    work, task = work_of(before)
    task = task._replace(min_support=min_support)
    put(work, TRIAL, after)
    walk_row(trie, work, task.n_local, 1, min_support, 0)
    effects, n_hits = weigh(trie, work, TRIAL, task, 0, len(work.hits))
    released = [after.replace(".", ""), *rows[1:]]
    lost, ghosts = oracles.side_effects([tuple(word) for word in words], released, rows, min_support, 3)
    if min_support > 1:
        assert effects == len(lost) + len(ghosts)
        hits = {pattern_of(trie, node) for node in work.hits[:n_hits]}
        assert hits == {"".join(each) for each in lost | ghosts}
    else:
        # Every pattern that is new is a ghost, and what goes on from it is not counted.
        assert (effects > 0) == bool(lost | ghosts)
    assert walk_change(trie, work, task, last, 0, 10, 900)[1] == 0
    walk_row(trie, work, task.n_local, -1, min_support, 0)
    wider = widen(trie)
    for node in range(1, trie.sizes[0]):
        pattern = pattern_of(trie, node)
        assert trie.nodes[node, SUPPORT] == wider.nodes[node, SUPPORT] == support(pattern, released)
        assert trie.nodes[node, DEMAND] == 0
        assert pattern_of(wider, node) == pattern
    assert {pattern_of(trie, node) for node in range(1, trie.sizes[0])} >= {
        "".join(pattern) for row in released for pattern in subsequences(row) if len(pattern) <= 3
    }


@few
@given(st.text("abcd", min_size=1, max_size=6), st.data())
def test_swaps_are_the_cayley_distance(before, data):
    after = "".join(data.draw(st.permutations(before)))
    row = np.array([ord(letter) - 97 for letter in before], np.int32)
    new = np.array([ord(letter) - 97 for letter in after], np.int32)
    offsets = np.array([0, len(row)])
    assert count_swaps(row, new, offsets, 4).tolist() == [oracles.cayley(before, after)]
    place = data.draw(st.integers(0, len(row) - 1))
    new[place] = -1
    found = count_swaps(row, new, offsets, 4)[0]
    assert found <= oracles.cayley(before, after)


def test_deletions_without_moves_take_no_swap():
    swaps = count_swaps(codes("abcab"), codes(".bc.b"), np.array([0, 2, 5]), 3)
    assert swaps.tolist() == [0, 0]


@few
@given(rows, words)
def test_matchings_are_deleted(rows, word):
    items, offsets = flat(rows)
    counts, ways = np.empty(len(rows)), np.empty((9, len(word) + 1))
    count_matchings(items, offsets, codes(word), ways[0], counts)
    assert counts.tolist() == [oracles.embeddings(word, row) for row in rows]
    delete_matchings(items, offsets, np.arange(len(rows)), codes(word), ways)
    count_matchings(items, offsets, codes(word), ways[0], counts)
    assert not counts.any()
    untouched = [number for number, row in enumerate(rows) if not is_subsequence(word, row)]
    for number in untouched:
        assert (items[offsets[number] : offsets[number + 1]] >= 0).all()


def test_rows_pass_while_every_secret_stays_below_its_threshold():
    weights = np.array([4, 3, 2])
    marks = np.array([[True, False], [True, True], [False, True]])
    changed = np.empty(3, np.int64)
    pass_rows(np.array([1, 0, 2]), weights, marks, np.array([3, 5]), np.zeros(2, np.int64), changed)
    assert changed.tolist() == [1, 4, 0]


def test_bounded_supports_become_those_of_old_and_changed_rows():
    rows = Sequences.from_rows(["ab", "ab", "ba"]).distinct()
    trie = trie_of(["ab"], 2, 2, [])
    node = next(node for node in range(1, trie.sizes[0]) if pattern_of(trie, node) == "ab")
    trie.nodes[node, FLAGS] = 0
    work, _ = work_of("ab")
    work.hits[0] = node
    none = np.zeros(1, np.int64)
    changes = Changes(none, np.zeros(1), codes("ab.b"), np.array([0, 4]))
    count_close(trie, work, 1, DistinctRows(rows.items, rows.offsets, np.array([1, 1])), changes, 1)
    assert (trie.nodes[node, SUPPORT], trie.nodes[node, FLAGS]) == (2, EXACT)


INSURANCE = ["abcdef", "abce", "acehb", "fgceab", "dfghb", "dhbfg", "fhgb", "cdfge", "dhfgb"]


@pytest.mark.parametrize("mode", ["MINIMUM_HARM", "MAXIMUM", "BOUNDED", "DELETE_ONLY"])
@pytest.mark.parametrize("rows", [INSURANCE, ["abab", "aabb", "bab", "ab", "ba", "abcabc"] * 2])
def test_rows_are_hidden_one_after_the_other(rows, mode):
    words = ["ace", "dfg", "dhb"] if rows is INSURANCE else ["ab", "bab", "aa"]
    sequences = Sequences.from_rows(rows)
    problem = HidingProblem.of(
        sequences, [tuple(word) for word in words], [3] * 3, min_support=3, max_length=4
    )
    trie = track_patterns(sequences, problem, engine=LocalEngine(), progress=silent)
    rng = np.random.default_rng(0)
    targets, persons = choose_rows(problem, trie, rng)
    rules = HidingRules(mode=getattr(_kernels, mode), wanted=1, least=2)
    found = sanitize(problem, trie, targets, persons, rules, rng, progress=silent)
    labels = sequences.codebooks["symbol"].labels
    released = list(rows)
    for number, person in enumerate(persons.tolist()):
        row = found.items[found.offsets[number] : found.offsets[number + 1]]
        released[person] = "".join(labels[code] for code in row if code >= 0)
    assert oracles.is_hidden(dict.fromkeys(words, 3), released, rows)
