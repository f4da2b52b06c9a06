"""Ordered pairs are those of the definition, before and after."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from sequester.data.sequences import Sequences
from sequester.mining.support import find_new_pairs, list_pairs, mark_new_pairs

pytestmark = pytest.mark.kernel

rows_of_text = st.lists(st.text("abcd", max_size=6), max_size=5)


@given(st.lists(st.text("abc", max_size=6), max_size=5))
def test_pairs_are_those_of_the_definition(rows):
    items = np.array(["abc".index(letter) for row in rows for letter in row], np.int32)
    found = list_pairs(items, np.cumsum([0, *map(len, rows)]), 3)
    assert found.tolist() == sorted({"abc".index(a) * 3 + "abc".index(b) for a, b in oracles.pairs(rows)})


def test_pairs_outgrow_their_first_table():
    items = np.concatenate([np.arange(90), np.arange(60)]).astype(np.int32)
    found = list_pairs(items, np.array([0, 30, 90, 150]), 90)
    expected = {(a, b) for row in (range(30), range(30, 90), range(60)) for a in row for b in row if a < b}
    assert found.tolist() == sorted(a * 90 + b for a, b in expected)


@given(rows_of_text, rows_of_text)
def test_new_pairs_are_those_of_the_definition(before, after):
    original, released = Sequences.from_rows(before), Sequences.from_rows(after)
    known = oracles.pairs(before)
    assert find_new_pairs(released, original) == oracles.pairs(after) - known
    assert mark_new_pairs(released, original).tolist() == [
        bool(oracles.pairs([row]) - known) for row in after
    ]
