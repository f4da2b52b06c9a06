"""Lines of itemsets are read as they are defined, and the first fault is found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import logs as oracles
from sequester.kernels import itemsets as kernel
from sequester.kernels.itemsets import LARGEST, parse_itemsets

pytestmark = pytest.mark.kernel

items = st.integers(0, 3) | st.integers(0, LARGEST)
sequences = st.lists(st.lists(st.lists(items, min_size=1, max_size=3), min_size=1, max_size=3), max_size=4)


def parsed(text):
    items, places, offsets, fault, line = parse_itemsets(np.frombuffer(text.encode(), np.uint8))
    rows = [
        (person, place, str(item))
        for person, (a, b) in enumerate(pairwise(offsets), start=1)
        for place, item in zip(places[a:b].tolist(), items[a:b].tolist(), strict=True)
    ]
    return rows, fault, line


@given(
    sequences,
    st.sampled_from([" ", "\t", "  "]),
    st.sampled_from(["\n", " \r\n", "\n\n", "\n# a remark -1\n", "\n  @ITEM=1=x\n"]),
    st.booleans(),
)
def test_itemsets_come_back(sequences, blank, end, is_ended):
    lines = [
        blank.join([*(blank.join([*map(str, itemset), "-1"]) for itemset in sequence), "-2"])
        for sequence in sequences
    ]
    text = end.join(lines) + (end if is_ended else "")
    expected = [
        (person, place, str(item))
        for person, sequence in enumerate(sequences, start=1)
        for place, itemset in enumerate(sequence, start=1)
        for item in itemset
    ]
    assert parsed(text) == (expected, kernel.SOUND, -1)


@given(st.lists(st.sampled_from(["1", "2", "-1", "-2", "\n", "-3", "x", "#", "--1", "-"]), max_size=12))
def test_any_words_are_sequences_or_have_a_fault(words):
    text = " ".join(words)
    rows, fault, line = parsed(text)
    expected = oracles.read_spmf(text)
    if fault:
        assert expected is None
        assert 0 <= line < text.count("\n") + 1
        # Everything before the faulty line is sound.
        before = "\n".join(text.split("\n")[:line])
        assert parsed(before)[1] == kernel.SOUND
    else:
        assert rows == (expected or [])


@pytest.mark.parametrize(
    ("text", "fault", "line"),
    [
        ("1 -1 -2\n1 x -1 -2\n", kernel.NO_NUMBER, 1),
        ("1.5 -1 -2", kernel.NO_NUMBER, 0),
        ("1- -1 -2", kernel.NO_NUMBER, 0),
        ("- 1 -1 -2", kernel.NO_NUMBER, 0),
        (f"{LARGEST} -1 -2\n{LARGEST + 1} -1 -2", kernel.TOO_LARGE, 1),
        ("9" * 40, kernel.TOO_LARGE, 0),
        ("1 -3 -2", kernel.NEGATIVE, 0),
        ("1 -1 -2\n\n1 -1\n1 -1 -2", kernel.NO_END, 2),
        ("1 -1", kernel.NO_END, 0),
        ("1 -1 -2 1 -1 -2", kernel.GOES_ON, 0),
        ("1 -1 -2 -2", kernel.GOES_ON, 0),
        ("1 -1 2 -2", kernel.OPEN_ITEMSET, 0),
        ("1 -1 -1 -2", kernel.EMPTY_ITEMSET, 0),
        ("-1 -2", kernel.EMPTY_ITEMSET, 0),
        ("1 -1 -2\n-2\n", kernel.EMPTY_SEQUENCE, 1),
    ],
)
def test_each_fault_has_its_line(text, fault, line):
    assert parsed(text)[1:] == (fault, line)


def test_nothing_is_no_sequence():
    assert parsed("") == ([], kernel.SOUND, -1)
    assert parsed("# 1 -1 -2\n \n@CONVERTED_FROM_TEXT") == ([], kernel.SOUND, -1)
