"""Kernels of pattern hiding against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from oracles.sequences import is_subsequence, subsequences, support
from sequester import kernels
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine, silent
from sequester.methods.ph.followed import Problem, follow, make_trie, widen
from sequester.methods.ph.sanitize import Rules, sanitize
from sequester.methods.ph.selection import choose
from sequester.mining.pairs import list_pairs

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


def hidden(words, *, forbidden=(), seen=()):
    return kernels.hiding_rows.Secrets(
        *flat(words), np.zeros(len(words), np.int64), *flat(forbidden), np.array(seen, np.int64), 3
    )


@few
@given(st.text("abc.", max_size=7), secrets)
def test_ways_and_places(row, words):
    data, possible = hidden(words), np.arange(len(words), dtype=np.int32)
    ways = np.empty(10)
    for word in words:
        assert kernels.hiding_rows.count_ways(codes(row), codes(word), ways) == oracles.embeddings(word, row)
        assert kernels.hiding_rows.contains(codes(row), codes(word)) == is_subsequence(word, row)
    total = sum(oracles.embeddings(word, row) for word in words)
    assert kernels.hiding_rows.count_all_ways(codes(row), data, possible, ways, np.inf) == total
    through = kernels.hiding_rows.count_through(codes(row), data, possible)
    for place in range(len(row)):
        without = row[:place] + "." + row[place + 1 :]
        assert through[place] == total - sum(oracles.embeddings(word, without) for word in words)


@few
@given(rows, secrets)
def test_marks_and_possible_secrets(rows, words):
    marks = kernels.hiding_rows.mark_secrets(*flat(rows), *flat(words))
    assert marks.tolist() == [is_subsequence(word, row) for row in rows for word in words]
    for row in rows:
        found = kernels.hiding_rows.possible_secrets(codes(row), hidden(words))
        holds = [all(row.count(letter) >= word.count(letter) for letter in word) for word in words]
        assert found.tolist() == [number for number, holds_it in enumerate(holds) if holds_it]


@few
@given(st.text("abc", max_size=7), words, st.integers(0, 3))
def test_spread_embeddings_hold_the_pattern(row, word, n_left):
    if is_subsequence(word, row):
        places = np.empty(len(word), np.int32)
        kernels.hiding_rows.spread_embedding(codes(row), codes(word), min(n_left, len(word)), places)
        assert "".join(row[place] for place in places) == word
        assert (np.diff(places) > 0).all()


@few
@given(st.permutations("aabc"), st.permutations("aabc"), secrets, rows)
def test_rules_are_those_of_the_definition(before, after, forbidden, rows):
    before, after = "".join(before), "".join(after)
    broken = oracles.new_forbidden(forbidden, [after], [before])
    assert kernels.hiding_rows.breaks_rules(
        codes(before), codes(after), hidden(["a"], forbidden=forbidden)
    ) == bool(broken)
    known = list_pairs(*flat([*rows, before]), 3)
    unseen = oracles.pairs([after]) - oracles.pairs([*rows, before])
    assert kernels.hiding_rows.breaks_rules(codes(before), codes(after), hidden(["a"], seen=known)) == bool(
        unseen
    )


def trie_of(rows, min_support, max_length, words):
    patterns = sorted(
        {pattern for row in rows for pattern in subsequences(row) if len(pattern) <= max_length}
    )
    trie = make_trie(1000, 3, 0)
    supports = np.array([support(pattern, rows) for pattern in patterns], np.int64)
    kernels.pattern_trie.enter_patterns(
        trie, *flat(["".join(each) for each in patterns]), supports, min_support, *flat(words)
    )
    return trie


def pattern_of(trie, node):
    pattern = ""
    while node:
        pattern = "abc"[trie.symbols[node]] + pattern
        node = trie.parents[node]
    return pattern


def following(row):
    alphabet = np.arange(3, dtype=np.int32)
    table = np.empty((len(row) + 1) * 3, np.int32)
    kernels.pattern_trie.fill_next(codes(row), 3, table)
    return table, alphabet


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
    table, alphabet = following(before)
    new_table, _ = following(after)
    kernels.pattern_trie.add_demand(trie, table, alphabet, 3, 1)
    hits = np.empty(200, np.int32)
    effects, n_hits = kernels.pattern_trie.weigh_change(
        trie, table, new_table, alphabet, last, 3, min_support, 1, hits
    )
    released = [after.replace(".", ""), *rows[1:]]
    lost, ghosts = oracles.side_effects([tuple(word) for word in words], released, rows, min_support, 3)
    if min_support > 1:
        assert effects == len(lost) + len(ghosts)
        assert {pattern_of(trie, node) for node in hits[:n_hits]} == {"".join(each) for each in lost | ghosts}
    else:
        # Every pattern that is new is a ghost, and what goes on from it is not counted.
        assert (effects > 0) == bool(lost | ghosts)
    close = np.empty(10, np.int32)
    assert (
        kernels.pattern_trie.enter_change(trie, table, new_table, alphabet, last, 3, min_support, 900, close)
        == 0
    )
    kernels.pattern_trie.add_demand(trie, table, alphabet, 3, -1)
    wider = widen(trie)
    for node in range(1, trie.sizes[0]):
        pattern = pattern_of(trie, node)
        assert trie.supports[node] == wider.supports[node] == support(pattern, released)
        assert trie.demand[node] == 0
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
    assert kernels.swaps.count_swaps(row, new, offsets, 4).tolist() == [oracles.cayley(before, after)]
    place = data.draw(st.integers(0, len(row) - 1))
    new[place] = -1
    found = kernels.swaps.count_swaps(row, new, offsets, 4)[0]
    assert found <= oracles.cayley(before, after)


def test_deletions_without_moves_take_no_swap():
    swaps = kernels.swaps.count_swaps(codes("abcab"), codes(".bc.b"), np.array([0, 2, 5]), 3)
    assert swaps.tolist() == [0, 0]


@few
@given(rows, words)
def test_matchings_are_deleted(rows, word):
    items, offsets = flat(rows)
    counts = kernels.match_deletion.count_matchings(items, offsets, codes(word))
    assert counts.tolist() == [oracles.embeddings(word, row) for row in rows]
    kernels.match_deletion.delete_matchings(items, offsets, np.arange(len(rows)), codes(word))
    assert not kernels.match_deletion.count_matchings(items, offsets, codes(word)).any()
    untouched = [number for number, row in enumerate(rows) if not is_subsequence(word, row)]
    for number in untouched:
        assert (items[offsets[number] : offsets[number + 1]] >= 0).all()


def test_rows_pass_while_every_secret_stays_below_its_threshold():
    weights = np.array([4, 3, 2])
    marks = np.array([[True, False], [True, True], [False, True]])
    changed = kernels.hiding_rank.pass_rows(np.array([1, 0, 2]), weights, marks.ravel(), np.array([3, 5]))
    assert changed.tolist() == [1, 4, 0]


def test_live_supports_count_old_and_changed_rows():
    sequences = Sequences.from_rows(["ab", "ab", "ba"]).distinct()
    weights = np.array([1, 1])
    live = kernels.hiding.count_live(
        codes("ab"), sequences.items, sequences.offsets, weights, codes("ab.b"), np.array([0, 4]), 1
    )
    assert live == 2


INSURANCE = ["abcdef", "abce", "acehb", "fgceab", "dfghb", "dhbfg", "fhgb", "cdfge", "dhfgb"]


@pytest.mark.parametrize("mode", ["MINIMUM_HARM", "MAXIMUM", "BOUNDED", "DELETE_ONLY"])
@pytest.mark.parametrize("rows", [INSURANCE, ["abab", "aabb", "bab", "ab", "ba", "abcabc"] * 2])
def test_rows_are_hidden_one_after_the_other(rows, mode):
    words = ["ace", "dfg", "dhb"] if rows is INSURANCE else ["ab", "bab", "aa"]
    sequences = Sequences.from_rows(rows)
    problem = Problem.of(sequences, [tuple(word) for word in words], [3] * 3, min_support=3, max_length=4)
    trie = follow(sequences, problem, engine=LocalEngine(), progress=silent)
    rng = np.random.default_rng(0)
    targets, persons = choose(problem, trie, rng)
    rules = Rules(mode=getattr(kernels.hiding_search, mode), wanted=1, least=2)
    found = sanitize(problem, trie, targets, persons, rules, rng, progress=silent)
    labels = sequences.codebooks["symbol"].labels
    released = list(rows)
    for number, person in enumerate(persons.tolist()):
        row = found.items[found.offsets[number] : found.offsets[number + 1]]
        released[person] = "".join(labels[code] for code in row if code >= 0)
    assert oracles.is_hidden(dict.fromkeys(words, 3), released, rows)
