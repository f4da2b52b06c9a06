"""Who is expected to be found, against a plain count; and what a record's group tells."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.attacks.linkage import Finder
from sequester.attacks.snapshots import guess_original, guess_records
from sequester.testing import record_table, symbol_table

rows = st.lists(st.text("abc", min_size=2, max_size=3), min_size=1, max_size=6)


def fits(pair, row):
    return any((row[i], row[j]) == pair for i, j in combinations(range(len(row)), 2))


@given(rows, st.integers(0, 5))
def test_leaving_persons_out_finds_no_more_than_before(before, left):
    after = before[: max(left, 1)]
    original, released = symbol_table(before), symbol_table(after)
    risk = Finder(kind="ordered", known=2).run(released, original=original, targets=60 * len(before))
    low, high = risk.interval
    assert 0 <= low <= risk.value <= high <= 1
    assert risk.value <= risk.raw.value + 1e-12
    assert risk.name == "found"
    # Every pair that can be known of anybody gives a chance of one over those who fit before, or none.
    chances = {
        1 / sum(fits(pair, row) for row in before)
        for row in before
        for pair in ((row[i], row[j]) for i, j in combinations(range(len(row)), 2))
        if any(fits(pair, other) for other in after)
    }
    assert risk.value <= max(chances, default=0) + 1e-12


def test_where_nobody_is_left_out_it_is_the_mean_chance():
    table = symbol_table(["ab", "ab", "ba"])
    risk = Finder(kind="ordered", known=2).run(table, original=table, targets=300)
    assert risk.value == pytest.approx(2 / 3)
    assert risk.raw.value == risk.value


def test_a_crowd_that_grew_is_counted_as_it_is():
    risk = Finder(kind="ordered", known=2).run(
        symbol_table(["ab", "ab", "ab"]), original=symbol_table(["ab", "cc", "cc"]), targets=300
    )
    # One target in three fits three persons now; of the others nobody fits.
    assert risk.value == pytest.approx(1 / 9)


def test_the_group_of_a_record():
    frame = pl.DataFrame({"time": ["1", "1", "2"], "age": ["x", "x", "x"], "ill": ["flu", "cold", "flu"]})
    assert guess_records({"events": frame}, sensitive="ill").value == pytest.approx((0.5 + 0.5 + 1) / 3)
    grouped = frame.with_columns(group=pl.Series([1, 1, 1]))
    risk = guess_records({"records": grouped}, sensitive="ill")
    assert risk.value == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)
    assert risk.is_exact
    assert guess_records({"events": frame.clear()}, sensitive="ill").value == 0


def test_the_original_of_records():
    table = record_table(["ab", "bb", "aa", "ab"])
    # Persons 1 and 4 are of the same age, and alike.
    assert guess_original(table, sensitive="letter").value == 1
    table = record_table(["ab", "bb", "aa", "bb"])
    assert guess_original(table, sensitive="letter").value == pytest.approx((0.5 + 0.5 + 1 + 1 + 4) / 8)
