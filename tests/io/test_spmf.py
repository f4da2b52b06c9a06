"""SPMF text comes back item by item, and every broken line is named."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import logs as oracles
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.io import read_frame
from sequester.io.spmf import read_seq, read_spmf, write_seq, write_spmf

names = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), min_size=1, max_size=4)
numbers = st.integers(0, 2**31 - 1).map(str)


@st.composite
def steps(draw, symbols):
    """Symbols, and where sequences and itemsets begin."""
    symbols = draw(st.lists(symbols, min_size=1, max_size=10))
    size = len(symbols)
    sequences = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    itemsets = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    sequences[0] = True
    return pl.Series(symbols), sequences, itemsets | sequences


def as_rows(symbols, sequences, itemsets):
    rows = []
    person = place = 0
    for symbol, begins, is_next in zip(symbols, sequences, itemsets, strict=True):
        person += int(begins)
        place = 1 if begins else place + int(is_next)
        rows.append((person, place, symbol))
    return rows


@given(steps(names) | steps(numbers) | steps(st.sampled_from("ab1")))
def test_symbols_come_back(given):
    contents = write_spmf(*given)
    assert read_spmf(contents, "x.spmf").rows() == as_rows(*given)
    assert oracles.read_spmf(contents.decode()) == as_rows(*given)


@given(steps(numbers))
def test_numbers_are_the_items_themselves(given):
    assert b"@" not in write_spmf(*given)


def test_numbers_that_are_written_otherwise_are_names():
    one = np.array([True])
    for label in ("07", "+7", "-1", str(2**31), "7.0", "٣"):
        contents = write_spmf(pl.Series([label]), one, one)
        assert contents.decode() == f"@CONVERTED_FROM_TEXT\n@ITEM=1={label}\n1 -1 -2\n"
        assert read_spmf(contents, "x.spmf")["symbol"].to_list() == [label]


def test_headers_of_other_programs(tmp_path):
    path = tmp_path / "market.txt.gz"
    text = "@CONVERTED_FROM_TEXT\r\n@ITEM=1=apple pie\r\n@ITEM=-1=|\r\n@ITEM=3=\r\n1 2 -1 3 -1 -2\r\n"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_frame(path, format="spmf").rows() == [(1, 1, "apple pie"), (1, 1, "2"), (1, 2, "3")]


def test_names_in_another_encoding():
    contents = "@ITEM=1=Käse\n1 -1 -2\n".encode("latin-1")
    assert read_spmf(contents, "x.spmf", encoding="latin-1")["symbol"].to_list() == ["Käse"]


NEGATIVE = "x.spmf: line 1: a number below zero is neither -1 (end of an itemset) nor -2 (end of a sequence)"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "1 -1 -2\nbread -1 -2",
            "x.spmf: line 2: something is not a whole number; a sequence has numbers, -1 and -2",
        ),
        ("1 -1 -2\n1 -1\n", "x.spmf: line 2: the sequence does not end with -2"),
        ("1 -1 -2 3", "x.spmf: line 1: the line goes on after -2"),
        ("1 -1 3 -2", "x.spmf: line 1: the last itemset does not end with -1"),
        ("1 -1 -1 -2", "x.spmf: line 1: an itemset has no items"),
        ("-2", "x.spmf: line 1: the sequence has no items"),
        (
            "5 -3",
            NEGATIVE,
        ),
        ("3000000000 -1 -2", "x.spmf: line 1: an item is above 2,147,483,647"),
        ("# only remarks\n\n", "x.spmf: has no sequences"),
        ("@ITEM=1=a\n@ITEM=2=a\n1 -1 2 -1 -2", "x.spmf: items 1 and 2 are both called 'a'"),
        ("@ITEM=1=2\n1 -1 2 -1 -2", "x.spmf: items 1 and 2 are both called '2'"),
        ("@ITEM=1=a\n@ITEM=1=b\n1 -1 -2", "x.spmf: line 2: item 1 is called 'a' and 'b'"),
        ("@ITEM=one=a\n1 -1 -2", "x.spmf: line 1: 'one' is not an item"),
        (
            "1 -1 -2\n1 \0 -1 -2",
            "x.spmf: line 2 has a NUL byte; this is not text, or another encoding (UTF-16?)",
        ),
    ],
)
def test_broken_files_are_refused_with_the_line(text, line):
    with pytest.raises(InputError) as caught:
        read_spmf(text.encode(), "x.spmf")
    assert caught.value.lines == (line,)


def test_names_that_are_no_text():
    with pytest.raises(InputError, match=r"^x\.spmf: line 1 is not UTF-8; set encoding$"):
        read_spmf(b"@ITEM=1=\xff\n1 -1 -2\n", "x.spmf")


@pytest.mark.parametrize("label", ["a\nb", "a\rb", "a\0b"])
def test_names_that_no_line_can_hold(label):
    one = np.array([True])
    with pytest.raises(InputError, match="SPMF cannot hold the symbol"):
        write_spmf(pl.Series([label]), one, one)


@given(st.binary(max_size=40) | st.text(st.sampled_from("12- \n#@=x"), max_size=20).map(str.encode))
def test_any_bytes_are_sequences_or_refused_in_plain_lines(contents):
    frame, lines = None, ()
    try:
        frame = read_spmf(contents, "x.spmf")
    except InputError as error:
        lines = error.lines
    assert all(line.startswith("x.spmf: ") for line in lines)
    assert bool(lines) != (frame is not None and frame.height > 0)


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
        (HEADER + "1 2\n1 x 2\n", "x.seq: line 9 is not a row of numbers between blanks"),
        (
            HEADER + "1 2 3\n1 4\n0\n",
            "x.seq: number 4 is not a category, there are 3 (2 numbers, first in sequences 2, 3)",
        ),
        (HEADER + "1 99999999999\n", "x.seq: line 8 is not a row of numbers between blanks"),
        ("a b a\n1\n", "x.seq: category 'a' is listed more than once"),
    ],
)
def test_broken_files(text, line):
    with pytest.raises(InputError) as caught:
        read_seq(text.encode(), "x.seq")
    assert caught.value.lines == (line,)


def test_bytes_that_are_no_text():
    with pytest.raises(InputError, match=r"x\.seq: line 1 is not text"):
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
def test_symbols_of_seq_come_back(symbols, begins):
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
