"""Releases of PH and its comparators on short rows over three letters, by the oracle's count."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from oracles import ph as oracles_ph
from oracles.sequences import is_subsequence, support
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine, silent
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods.ph import problem as problem_module
from sequester.methods.ph._row_kernels import DEMAND, EXACT, FLAGS, PARENT, SUPPORT, SYMBOL
from sequester.methods.ph.algorithm import HidingRules, choose_rows, sanitize
from sequester.methods.ph.method import PH, SBSH, Abul
from sequester.methods.ph.problem import BUDGET, HidingProblem, order_tables, orders_of, track_patterns
from sequester.testing import symbol_table

SEED = "a sentence that nobody guesses"
rows = st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=10)
patterns = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3, unique=True)
forbidden = st.one_of(
    st.just("unseen"), st.lists(st.text("abc", min_size=2, max_size=3).map(list), max_size=2)
)
uncertainty = st.sampled_from(["minimum-harm", "maximum", {"permutations": 1, "support": 1}])
preferences = st.sampled_from(["least-harm", "permutation"])


def release_rows(method, rows):
    """The released rows in the order of the original ones, and the release; None where it was refused."""
    table = symbol_table(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            release = method.apply(table, seed=SEED)
        except UnattainableError:
            return None, None
    names = dict(release.pseudonyms.iter_rows())
    found = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
    return ["".join(found.get(names.get(f"person {n}"), [])) for n in range(1, len(rows) + 1)], release


short_rows = st.lists(st.text("abc", min_size=2, max_size=4), min_size=3, max_size=6)


@settings(max_examples=40)
@given(short_rows, st.sampled_from(["ab", "abc", "ca"]), st.integers(2, 3), forbidden, preferences)
def test_improved_changes_have_no_more_side_effects(rows, word, min_support, forbidden, prefer):
    if support(word, rows) < min_support:
        return
    effects, deleted = [], []
    for search in ("greedy", "improve"):
        method = PH(
            patterns=[list(word)], min_support=min_support, forbidden=forbidden, prefer=prefer, search=search
        )
        after, release = release_rows(method, rows)
        if after is None:
            return
        assert oracles.is_hidden({word: min_support}, after, rows, forbidden)
        assert bool(release.verdict)
        effects.append(sum(map(len, oracles.side_effects([tuple(word)], after, rows, min_support, 5))))
        deleted.append(sum(map(len, rows)) - sum(map(len, after)))
    assert effects[1] <= effects[0]
    assert prefer == "least-harm" or deleted[1] <= deleted[0]


@pytest.mark.parametrize(
    ("rows", "word"),
    [(("abb", "ba", "aabc", "ca", "abc"), "ab"), (("acb", "cab", "abc", "bca", "abcb"), "abc")],
)
def test_improved_changes_are_the_best_of_all_here(rows, word):
    after, _ = release_rows(PH(patterns=[list(word)], min_support=2), rows)
    found = sum(map(len, oracles.side_effects([tuple(word)], after, rows, 2, 5)))
    assert found == oracles_ph.least_side_effects(rows, [word], 2, 5)


@settings(max_examples=40)
@given(rows, patterns, st.integers(1, 4), forbidden, uncertainty, preferences)
def test_ph_hides_what_must_be_hidden_and_leaves_the_rest(
    rows, words, min_support, forbidden, uncertainty, prefer
):
    if not any(is_subsequence(word, row) for word in words for row in rows):
        return
    method = PH(
        patterns=[list(word) for word in words],
        min_support=min_support,
        forbidden=forbidden,
        uncertainty=uncertainty,
        prefer=prefer,
    )
    released, release = release_rows(method, rows)
    if released is None:
        return
    assert oracles.is_hidden(dict.fromkeys(words, min_support), released, rows, forbidden)
    for before, after in zip(rows, released, strict=True):
        held = any(is_subsequence(word, before) for word in words)
        if before != after:
            # Who is changed had a sensitive pattern, and has none any more; nothing was made up.
            assert held
            assert not any(is_subsequence(word, after) for word in words)
            assert all(after.count(letter) <= before.count(letter) for letter in "abc")
    lost, ghosts = oracles.side_effects([tuple(word) for word in words], released, rows, min_support, 5)
    assert release.utility["lost_patterns"].value == len(lost)
    assert release.utility["ghost_patterns"].value == len(ghosts)
    before, after = (oracles.itemsets(each, min_support) for each in (rows, released))
    assert release.utility["lost_itemsets"].value == len(set(before) - set(after))
    n_touched = sum(before != after for before, after in zip(rows, released, strict=True))
    assert release.utility["touched_sequences"].value == n_touched / len(rows)
    assert release.utility["deletions"].value == sum(map(len, rows)) - sum(map(len, released))
    assert release.n_lost_events == release.utility["deletions"].value


@settings(max_examples=40)
@given(rows, st.text("abc", min_size=2, max_size=3), st.integers(1, 4))
def test_preferring_permutation_deletes_nothing_where_an_order_helps(rows, word, min_support):
    if len(set(word)) == 1 or not any(is_subsequence(word, row) for row in rows):
        return
    method = PH(patterns=[list(word)], min_support=min_support, prefer="permutation")
    released, release = release_rows(method, rows)
    assert support(word, released) < min_support
    assert [sorted(row) for row in released] == [sorted(row) for row in rows]
    assert release.utility["lost_itemsets"].value == 0


@settings(max_examples=20)
@given(rows, patterns, st.integers(1, 4), st.sampled_from([SBSH, Abul]))
def test_comparators_delete_and_nothing_else(rows, words, min_support, kind):
    if not any(is_subsequence(word, row) for word in words for row in rows):
        return
    released, _ = release_rows(kind(patterns=[list(word) for word in words], min_support=min_support), rows)
    if released is None:
        return
    assert oracles.is_hidden(dict.fromkeys(words, min_support), released, rows)
    assert all(is_subsequence(after, before) for before, after in zip(rows, released, strict=True))


@settings(max_examples=30)
@given(rows, patterns, st.integers(1, 4))
def test_no_more_pass_than_may_and_no_fewer(rows, words, min_support):
    sequences = Sequences.from_rows(rows)
    known = [word for word in words if set(word) <= set("".join(rows))]
    if not known:
        return
    problem = HidingProblem.of(
        sequences,
        [tuple(word) for word in known],
        [min_support] * len(known),
        min_support=min_support,
        max_length=5,
    )
    trie = track_patterns(sequences, problem, engine=LocalEngine(), progress=silent)
    _, persons = choose_rows(problem, trie, np.random.default_rng(0))
    passed = [row for number, row in enumerate(rows) if number not in set(persons.tolist())]
    assert all(support(word, passed) < min_support for word in known)
    for person in persons.tolist():
        # With this one more, some pattern would be frequent.
        assert any(
            is_subsequence(word, rows[person]) and support(word, passed) == min_support - 1 for word in known
        )


@pytest.mark.parametrize("most", [200_000, 6])
@settings(max_examples=25)
@given(rows=rows, words=patterns, min_support=st.integers(1, 4))
def test_supports_follow_every_change(most, rows, words, min_support):
    sequences = Sequences.from_rows(rows)
    known = [word for word in words if set(word) <= set("".join(rows))]
    if not known:
        return
    limits = pytest.MonkeyPatch()
    limits.setattr(problem_module, "MAX_TRACKED", most)
    problem = HidingProblem.of(
        sequences,
        [tuple(word) for word in known],
        [min_support] * len(known),
        min_support=min_support,
        max_length=3,
    )
    trie = track_patterns(sequences, problem, engine=LocalEngine(), progress=silent)
    limits.undo()
    rng = np.random.default_rng(0)
    targets, persons = choose_rows(problem, trie, rng)
    n_tracked = trie.sizes[0]
    found = sanitize(problem, trie, targets, persons, HidingRules(mode=0), rng, progress=silent)
    labels = sequences.codebooks["symbol"].labels
    released = list(rows)
    for number, person in enumerate(persons.tolist()):
        row = found.items[found.offsets[number] : found.offsets[number + 1]]
        released[person] = "".join(labels[code] for code in row if code >= 0)
    for node in range(1, trie.sizes[0]):
        pattern, at = "", node
        while at:
            pattern = labels[trie.nodes[at, SYMBOL]] + pattern
            at = trie.nodes[at, PARENT]
        if trie.nodes[node, FLAGS] & EXACT:
            assert trie.nodes[node, SUPPORT] == support(pattern, released), pattern
        else:
            assert trie.nodes[node, SUPPORT] >= support(pattern, released), pattern
        # Patterns that changed rows brought were not there when the rows to be changed were counted.
        assert node >= n_tracked or trie.nodes[node, DEMAND] == 0


@settings(max_examples=15)
@given(rows, patterns, st.integers(1, 3))
def test_changes_lead_from_the_input_to_the_release(rows, words, min_support):
    if not any(is_subsequence(word, row) for word in words for row in rows):
        return
    method = PH(patterns=[list(word) for word in words], min_support=min_support)
    released, release = release_rows(method, rows)
    if released is None:
        return
    table = symbol_table(rows)
    events = [[row, symbol] for row, symbol in zip(table.rows.tolist(), "".join(rows), strict=True)]
    to = dict(release.changes.select("row", "to").iter_rows())
    was = dict(release.changes.select("row", "from").iter_rows())
    assert all(was[row] == symbol for row, symbol in events if row in was)
    assert "".join(to.get(row, symbol) or "" for row, symbol in events) == "".join(released)
    swaps = release.utility["cayley_distance"].value
    moved = [(a, b) for a, b in zip(rows, released, strict=True) if len(a) == len(b)]
    if len(moved) == len(rows):
        assert swaps == sum(oracles.cayley(a, b) for a, b in moved if a != b)


@pytest.mark.parametrize("size", range(2, 6))
def test_orders_are_all_permutations_by_distance(size):
    places, distances = orders_of(size, np.random.default_rng(0))
    assert len({tuple(order) for order in places.tolist()}) == len(places)
    word = "abcde"[:size]
    known = [oracles.cayley(word, "".join(word[place] for place in order)) for order in places.tolist()]
    assert known == distances.tolist() == sorted(known)
    assert len(places) == [0, 1, 2, 6, 24, 120][size] - 1


def test_orders_of_long_patterns_are_the_nearest_within_a_budget():
    places, distances = orders_of(12, np.random.default_rng(0))
    assert len(places) <= BUDGET
    assert (distances == 1).sum() == 66
    assert distances.max() == 3
    assert (np.sort(places, axis=1) == np.arange(12)).all()
    again, _ = orders_of(12, np.random.default_rng(0))
    assert (again == places).all()
    assert len(orders_of(1, np.random.default_rng(0))[0]) == 0
    assert len(order_tables([100], np.random.default_rng(0)).starts) == 9


def test_a_pattern_of_many_items_is_hidden_by_permutation():
    rows = ["abcdefghij", "abcdefghij", "x"]
    released, release = release_rows(PH(patterns=[list("abcdefghij")], min_support=1), [*rows, "jihgfedcba"])
    assert release.verdict.holds
    assert not any(is_subsequence("abcdefghij", row) for row in released)


def test_a_pattern_beyond_all_orders_is_hidden_by_deletion():
    labels = [f"item {n}" for n in range(70)]
    table = symbol_table([labels, labels])
    release = PH(patterns=[labels], min_support=2, max_length=1, search="greedy").apply(table, seed=SEED)
    assert release.utility["deletions"].value == 1


def test_a_room_that_is_too_small_is_widened(monkeypatch):
    made = []
    make = problem_module.make_trie

    def small(nodes, sizes):
        made.append(len(nodes))
        return make(nodes[:20_100] if len(made) == 1 else nodes, sizes)

    monkeypatch.setattr(problem_module, "make_trie", small)
    rows = ["abcdefgh"] * 6 + ["hgfedcba"]
    released, release = release_rows(PH(patterns=[list("abc")], min_support=2), rows)
    assert len(made) > 1
    assert release.verdict.holds
    assert support("abc", released) == 1


def test_long_rows_with_very_many_embeddings_come_to_an_end():
    rows = ["ab" * 150, "a" * 80 + "b" * 80, "ab"]
    released, release = release_rows(PH(patterns=[["a", "b", "a", "b"]], min_support=1, max_length=3), rows)
    assert release.verdict.holds
    assert released[2] == "ab"
