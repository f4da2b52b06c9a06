"""Lines of itemsets and of numbers are read as they are defined, and the first fault is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import logs as oracles
from sequester.errors import InputError
from sequester.io.spmf import LARGEST, read_seq, read_spmf

items = st.integers(0, 3) | st.integers(0, LARGEST)
sequences = st.lists(st.lists(st.lists(items, min_size=1, max_size=3), min_size=1, max_size=3), max_size=4)
NOTHING = "x: has no sequences"


def parsed(text, read=read_spmf):
    """The rows, or the message where it is refused."""
    try:
        return read(text.encode(), "x").rows()
    except InputError as error:
        return str(error)


def line_of(message):
    return int(message.removeprefix("x: line ").split(":")[0]) - 1


@given(
    sequences,
    st.sampled_from([" ", "\t", "  "]),
    st.sampled_from(["\n", " \r\n", "\n\n", "\n# a remark -1\n", "\n  @CONVERTED_FROM_TEXT\n"]),
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
    assert parsed(text) == (expected or NOTHING)


@given(st.lists(st.sampled_from(["1", "2", "-1", "-2", "\n", "-3", "x", "#", "--1", "-"]), max_size=12))
def test_any_words_are_sequences_or_have_a_fault(words):
    text = " ".join(words)
    found = parsed(text)
    expected = oracles.read_spmf(text)
    if found == NOTHING:
        assert not expected
    elif isinstance(found, str):
        assert expected is None
        # Everything before the faulty line is sound.
        before = parsed("\n".join(text.split("\n")[: line_of(found)]))
        assert before == NOTHING or not isinstance(before, str)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "fault", "line"),
    [
        ("1 -1 -2\n1 x -1 -2\n", "is not a whole number", 1),
        ("1.5 -1 -2", "is not a whole number", 0),
        ("1- -1 -2", "is not a whole number", 0),
        ("- 1 -1 -2", "is not a whole number", 0),
        (f"{LARGEST} -1 -2\n{LARGEST + 1} -1 -2", "is above", 1),
        ("9" * 40, "is above", 0),
        ("1 -3 -2", "below zero", 0),
        ("1 -1 -2\n\n1 -1\n1 -1 -2", "does not end with -2", 2),
        ("1 -1", "does not end with -2", 0),
        ("1 -1 -2 1 -1 -2", "goes on after -2", 0),
        ("1 -1 -2 -2", "goes on after -2", 0),
        ("1 -1 2 -2", "does not end with -1", 0),
        ("1 -1 -1 -2", "an itemset has no items", 0),
        ("-1 -2", "an itemset has no items", 0),
        ("1 -1 -2\n-2\n", "the sequence has no items", 1),
    ],
)
def test_each_fault_has_its_line(text, fault, line):
    found = parsed(text)
    assert fault in found
    assert line_of(found) == line


def test_nothing_is_no_sequence():
    assert parsed("") == NOTHING
    assert parsed("# 1 -1 -2\n \n@CONVERTED_FROM_TEXT") == NOTHING


@given(
    st.lists(st.lists(st.integers(0, LARGEST), max_size=4), max_size=6),
    st.sampled_from([" ", "\t", "  "]),
    st.sampled_from(["\n", " \r\n"]),
    st.booleans(),
)
def test_numbers_come_back(rows, blank, end, is_ended):
    text = end.join(blank.join(map(str, row)) for row in rows) + (end if is_ended else "")
    expected = [
        (person, place, str(number))
        for person, row in enumerate(filter(None, rows), start=1)
        for place, number in enumerate(row, start=1)
    ]
    assert parsed(text, read_seq) == (expected or NOTHING)


@pytest.mark.parametrize(
    ("text", "line"),
    [("1 2\n3 x\n", 2), ("1 -1\n", 1), ("1\n\n2.5", 3), (f"{LARGEST}\n{LARGEST + 1}\n", 2), ("9" * 40, 1)],
)
def test_the_first_faulty_line_is_named(text, line):
    assert parsed(text, read_seq) == f"x: line {line} is not a row of numbers between blanks"
