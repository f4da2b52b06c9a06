"""Labels order codes, and every value is text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import events as oracles
from sequester.data.sequences import Sequences
from sequester.data.text import Codebook, as_text, encode
from sequester.errors import SchemaError
from sequester.hierarchies.labels import in_label_order

labels = st.lists(
    st.text(max_size=4) | st.sampled_from(["1", "01", "1.0", "10", "9", "-2", "1e2", ".5", "(missing)"])
)
numbers = st.lists(st.sampled_from(["1", "01", "1.0", "10", "9", "-2", "1e2", ".5", "+3", "7.", "(missing)"]))


@given(labels | numbers)
def test_label_order_equals_the_definition(given_labels):
    assert in_label_order(given_labels) == oracles.in_label_order(given_labels)


@given(st.lists(st.text(max_size=3) | st.none()) | numbers)
def test_encoding_and_decoding_gives_the_labels_back(values):
    text = as_text(pl.Series(values, dtype=pl.String))
    codes, book = encode(text)
    assert book.decode(codes) == [value or "(missing)" for value in values]
    assert list(book.labels) == oracles.in_label_order([value or "(missing)" for value in values])
    assert codes.dtype == np.int32


def test_more_labels_than_a_byte_or_two_can_number():
    values = [f"v{i:06}" for i in range(70_000)]
    codes, book = encode(pl.Series(values[::-1]))
    assert codes[:3].tolist() == [69_999, 69_998, 69_997]
    assert len(book) == 70_000


def test_an_unknown_label_is_refused_by_name():
    with pytest.raises(SchemaError, match="unknown label 'c'"):
        Codebook.of("ab").encode("abc")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None], ["1", None]),
        ([1.5, float("nan")], ["1.5", None]),
        ([True, False], ["true", "false"]),
        ([dt.date(2010, 1, 2)], ["2010-01-02"]),
        ([dt.datetime(2010, 1, 2, tzinfo=dt.UTC), None], ["2010-01-02", None]),
        ([dt.datetime(2010, 1, 2, 3, 4, 5, tzinfo=dt.UTC)], ["2010-01-02T03:04:05+00:00"]),
        ([dt.time(3, 4, 5)], ["03:04:05"]),
        ([Decimal("1.50")], ["1.50"]),
        ([None], [None]),
        (["", " ", "NA", "null", "007"], [None, " ", "NA", "null", "007"]),
    ],
)
def test_values_as_people_write_them(values, expected):
    assert as_text(pl.Series(values)).to_list() == expected


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=8))
def test_distinct_sequences_carry_the_weight_of_their_persons(rows):
    sequences = Sequences.from_rows(rows)
    distinct = sequences.distinct()
    shown = [
        tuple(sequences.codebooks["symbol"].decode(distinct.items[a:b]))
        for a, b in zip(distinct.offsets, distinct.offsets[1:], strict=False)
    ]
    as_tuples = [tuple(row) for row in rows]
    assert shown == sorted(set(as_tuples))
    assert distinct.weights.tolist() == [as_tuples.count(row) for row in shown]
    assert [shown[row] for row in distinct.row_of_person] == as_tuples
    assert distinct.lengths.tolist() == [len(row) for row in shown]
    assert distinct.n_rows == len(shown)
