"""The UCI format: a line of categories, then one line of numbers per person."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.io import read_frame
from sequester.io.seq import read_seq, write_seq

HEADER = "% Different categories found in input file:\r\n\r\nnews tech local\r\n\r\n\r\n% Sequences:\r\n\r\n"


@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=5), min_size=1, max_size=6))
def test_lines_are_persons_and_numbers_are_names(rows):
    body = "".join(" ".join(map(str, row)) + " \r\n" for row in rows)
    frame = read_seq((HEADER + body).encode(), "x.seq")
    names = ["news", "tech", "local"]
    assert frame.rows() == [
        (line, place, names[number - 1])
        for line, row in enumerate(rows, start=1)
        for place, number in enumerate(row, start=1)
    ]
    table = EventTable(frame, Schema(person="person", order="order", symbol="symbol"))
    assert table.sequences.to_rows() == [tuple(names[number - 1] for number in row) for row in rows]
    assert table.persons.to_list() == [str(line) for line in range(1, len(rows) + 1)]


def test_without_a_header_the_numbers_stay(tmp_path):
    path = tmp_path / "x.seq.gz"
    path.write_bytes(gzip.compress(b"10 9\n\n\n7"))
    assert read_frame(path).rows() == [(1, 1, "10"), (1, 2, "9"), (2, 1, "7")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEADER, "x.seq: has no sequences"),
        ("% nothing\n", "x.seq: has no sequences"),
        (HEADER + "1 2\n1 x 2\n", "x.seq: line 9 is no row of numbers between blanks"),
        (
            HEADER + "1 2 3\n1 4\n0\n",
            "x.seq: number 4 is no category, there are 3 (2 numbers, first in sequences 2, 3)",
        ),
        (HEADER + "1 99999999999\n", "x.seq: line 8 is no row of numbers between blanks"),
        ("a b a\n1\n", "x.seq: category 'a' is listed more than once"),
    ],
)
def test_broken_files(text, line):
    with pytest.raises(InputError) as caught:
        read_seq(text.encode(), "x.seq")
    assert caught.value.lines == (line,)


def test_bytes_that_are_no_text():
    with pytest.raises(InputError, match=r"x\.seq: line 1 is no text"):
        read_seq(b"\xff\xfe\n1 2\n", "x.seq")


@given(st.binary(max_size=40))
def test_any_bytes_are_sequences_or_refused(contents):
    try:
        answer = read_seq(contents, "x.seq")
    except InputError as error:
        answer = error.lines
    assert len(answer) == 1 if isinstance(answer, tuple) else answer.height > 0


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=4)
labels = words.filter(lambda word: word.split() == [word] and not ("0" <= word[0] <= "9" or word[0] == "%"))


@given(
    st.lists(labels, min_size=1, max_size=8)
    | st.lists(st.integers(0, 2**31 - 1).map(str), min_size=1, max_size=8),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_symbols_come_back(symbols, begins):
    starts = np.array([True, *begins[1 : len(symbols)]])
    frame = read_seq(write_seq(pl.Series(symbols), starts), "x.seq")
    assert frame["symbol"].to_list() == symbols
    assert frame["person"].to_list() == np.cumsum(starts).tolist()


def test_a_line_of_categories_begins_with_a_letter():
    starts = np.array([True, False])
    contents = write_seq(pl.Series(["1st", "other"]), starts)
    assert read_seq(contents, "x.seq")["symbol"].to_list() == ["1st", "other"]
    for bad, reason in [(["a b", "c"], "it has a blank"), (["1st", "%2"], "categories begin with a letter")]:
        with pytest.raises(InputError, match=f"the seq format cannot hold the symbol .*: {reason}"):
            write_seq(pl.Series(bad), starts)
