"""What a release no longer shows: the count against an oracle, on releases that no method makes, too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.losses import count_losses as by_the_oracle
from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.testing import history_table, symbol_table
from sequester.utility.suppression import Losses, count_losses, suppression

rows = st.text("abc", min_size=1, max_size=6)
released_rows = st.text("abcx*", max_size=6)


@given(st.lists(st.tuples(rows, released_rows), min_size=1, max_size=8), st.booleans())
def test_any_pair_of_records_is_aligned_as_by_the_oracle(pairs, permuted):
    before, after = zip(*pairs, strict=True)
    found = count_losses(Sequences.from_rows(after), symbol_table(before), permuted=permuted)
    expected = by_the_oracle(before, after, permuted=permuted)
    assert (found.lost, found.moved, found.invented) == expected


@given(st.lists(rows, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_coarser_symbols_are_still_there_and_the_root_is_not(before, random):
    tree = {"a": "early", "b": "early", "c": "*", "early": "*", "*": "*"}
    after = [[random.choice([each, tree[each], "*"]) for each in row] for row in before]
    table = symbol_table(
        before, hierarchy=Hierarchy.from_edges([(n, p) for n, p in tree.items() if n != "*"])
    )
    found = count_losses(Sequences.from_rows(after), table)
    assert found == Losses(lost=sum(each == "*" for row in after for each in row))


def test_an_event_with_nothing_but_stars_is_lost():
    table = history_table(["ab", "b"])
    after = Sequences(
        np.array([0, 2, 2]),
        {"letter": Sequences.from_rows(["a*"]).columns["symbol"]},
        {"letter": Sequences.from_rows(["a*"]).codebooks["symbol"]},
    )
    assert count_losses(after, table).lost == 2


@pytest.mark.parametrize(
    ("before", "after", "lost", "moved", "invented"),
    [
        ("DEJF", "ADEF", 1, 0, 1),  # Pensa et al. (2008), Fig. 1
        ("BK", "KB", 1, 1, 0),
        ("ab", "", 2, 0, 0),
        ("abcdef", "ab", 4, 0, 0),
        ("ab", "aab", 0, 1, 0),  # once more than the person had it
        ("abc", "xyz", 3, 0, 3),
        ("abc", "xabc", 0, 0, 1),
    ],
)
def test_by_hand(before, after, lost, moved, invented):
    found = count_losses(Sequences.from_rows([after]), symbol_table([before]))
    assert found == Losses(lost=lost, moved=moved, invented=invented)


def test_the_measure_counts_a_sequence_that_was_moved():
    released = Sequences.from_rows(["ab", "ab"])
    scores = suppression(released, original=symbol_table(["ab", "xxxxxx"]))
    assert scores["suppressed_events"].value == pytest.approx(6 / 8)


def test_both_sides_have_the_same_persons():
    with pytest.raises(ParameterError, match="same persons, there are 1 and 2"):
        count_losses(Sequences.from_rows(["a"]), symbol_table(["a", "b"]))
