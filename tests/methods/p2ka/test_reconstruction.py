"""The fixpoint that matches only who lost a target equals the one that starts again every round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine
from sequester.methods.p2ka.algorithm import ROOT, Reconstructor

FOUR_ROUNDS = ["aaa", "cbca", "bb", "c", "babac", "abb", "bcc", "abbab", "babb", "c"]
rows_of_three = st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=25)


def reconstructor(rows, *, strict=True, reattach=True, engine=None):
    sequences = Sequences.from_rows(rows)
    return Reconstructor(
        distinct=sequences.distinct(),
        strict=strict,
        reattach=reattach,
        engine=engine or LocalEngine(),
    )


def released(rows, k, **more):
    """What each person is released as, as tuples of labels."""
    book = Sequences.from_rows(rows).codebooks["symbol"]
    one = reconstructor(rows, **more)
    after = one.run(k)
    items, offsets = after.tree.paths()
    nodes = after.targets[one.distinct.row_of_person]
    return [tuple(book.decode(items[offsets[node] : offsets[node + 1]])) for node in nodes]


@given(rows_of_three, st.integers(2, 5), st.booleans())
@example(["Abc", "Ade", "bc", "bc", "de", "de", "qA"], 2, True)
@example(["aacbc", "caba", "a", "aaa", "c", "ca"], 2, True)
@example(FOUR_ROUNDS, 2, True)
def test_release_equals_the_definition_person_by_person(rows, k, strict):
    assert released(rows, k, strict=strict) == oracles.release(rows, k, strict=strict)


@given(rows_of_three, st.integers(2, 5))
def test_pruning_equals_the_definition_person_by_person(rows, k):
    assert released(rows, k, reattach=False) == oracles.release(rows, k, reattach=False)


@given(rows_of_three, st.integers(2, 5), st.permutations(range(25)))
def test_the_order_of_persons_does_not_matter(rows, k, shuffle):
    order = [place for place in shuffle if place < len(rows)]
    assert released([rows[place] for place in order], k) == [released(rows, k)[place] for place in order]


@given(rows_of_three, st.integers(2, 4), st.sampled_from([1, 2, 7]))
def test_shards_of_cut_sequences_do_not_matter(rows, k, shards):
    assert released(rows, k, engine=LocalEngine(threads=2, shards=shards)) == released(rows, k)


@given(rows_of_three, st.integers(2, 5), st.booleans(), st.booleans())
def test_who_is_cut_is_not_released_as_before(rows, k, strict, reattach):
    one = reconstructor(rows, strict=strict, reattach=reattach)
    after = one.run(k)
    out = oracles.release(rows, k, strict=strict, reattach=reattach)
    changed = [tuple(before) != now for before, now in zip(rows, out, strict=True)]
    assert after.is_cut[one.distinct.row_of_person].tolist() == changed
    assert after.cut_share == oracles.cut_share(rows, k, strict=strict, reattach=reattach)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # The longer common subsequence wins against the shallower path and the first label.
        (["a", "a", "xyz", "xyz", "ayz"], "xyz"),
        # As much in common: the shallower path.
        (["pqa", "pqa", "xa", "xa", "za"], "xa"),
        # And as shallow: the first label.
        (["xa", "xa", "ba", "ba", "za"], "ba"),
        # The path is left where the common subsequence ends, in the middle of others' path.
        (["abcd", "abcd", "bq"], "ab"),
        # Repeated items count once each.
        (["aab", "aab", "aaa", "aaa", "caac"], "aa"),
    ],
)
def test_ties(rows, expected):
    assert "".join(released(rows, 2, strict=False)[-1]) == expected


def test_rounds_until_nothing_changes():
    """babac goes to bab, which stays rare, then to ab; then ba is rare, then b, and bcc ends on c."""
    after = reconstructor(FOUR_ROUNDS).run(2)
    assert after.n_rounds == 4
    assert ["".join(row) for row in released(FOUR_ROUNDS, 2, strict=False)] == (
        ["a", "ba", "abb", "c", "bab", "abb", "b", "abb", "abb", "c"]
    )
    assert ["".join(row) for row in released(FOUR_ROUNDS, 2)] == (
        ["a", "a", "abb", "c", "ab", "abb", "c", "abb", "abb", "c"]
    )


def test_labels_are_ordered_as_numbers_where_all_are():
    rows = [["9"], ["9"], ["10"], ["10"], ["10", "9", "5"]]
    assert released(rows, 2, strict=False)[-1] == ("9",)
    named = [[f"n{label}" for label in row] for row in rows]
    assert released(named, 2, strict=False)[-1] == ("n10",)


def test_alphabets_above_a_word():
    """A thousand labels, and one person whose sequence holds them all."""
    labels = [f"{n:04d}" for n in range(1000)]
    rows = [labels[500:503]] * 2 + [[labels[999], labels[0]]] * 2 + [labels]
    assert released(rows, 2)[-1] == tuple(labels[500:503])


@pytest.mark.parametrize("reattach", [True, False])
@pytest.mark.parametrize(
    ("rows", "k"), [(["abc"], 2), (["a", "b"], 2), ([], 2), (["ab"] * 3, 4), (["abc", "bca", "cab"], 2)]
)
def test_nothing_is_released(rows, k, reattach):
    after = reconstructor(rows, reattach=reattach).run(k)
    assert after.releases_nothing
    assert after.tree.n_nodes == 1
    assert np.all(after.targets == ROOT)


@pytest.mark.parametrize("reattach", [True, False])
@pytest.mark.parametrize(
    "rows", [["abca"] * 3, ["a"] * 2, ["a", "aa", "aaa", "aaa"], ["ab", "ab", "abab", "abab"]]
)
def test_nothing_is_cut(rows, reattach):
    after = reconstructor(rows, reattach=reattach).run(2)
    assert after.cut_share == 0
    assert [tuple(row) for row in rows] == released(rows, 2, reattach=reattach)
