"""The input and the list of changes together give the release, and nothing that is unchanged is listed."""

from __future__ import annotations

import warnings
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.testing import symbol_table

rows_of_three = st.lists(st.text("abc", min_size=1, max_size=5), min_size=2, max_size=15)


def apply(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table)


def replay(table, changes):
    """Take the removed events away and put the added items in their places."""
    removed = set(changes.filter(pl.col("order").is_null())["row"])
    out = {}
    for person, start, stop in zip(
        table.persons, table.person_offsets[:-1], table.person_offsets[1:], strict=True
    ):
        left = [
            table.frame["symbol"][place]
            for place in range(int(start), int(stop))
            if int(table.rows[place]) not in removed
        ]
        mine = changes.filter(pl.col("person") == person, pl.col("order").is_not_null())
        for order, label in mine.sort("order").select("order", "to").iter_rows():
            left.insert(order - 1, label)
        out[person] = tuple(left)
    return out


@given(rows_of_three, st.integers(2, 3), st.sampled_from([BFP2kA, PrefixPruning]))
def test_input_and_changes_give_the_release(rows, k, method):
    table = symbol_table(rows)
    try:
        release = apply(method(k=k), table)
    except UnattainableError:
        return
    expected = oracles.release(rows, k, reattach=method is BFP2kA)
    assert replay(table, release.changes) == dict(zip(table.persons, expected, strict=True))
    n_shown = sum(oracles.lcs_length(row, out) for row, out in zip(rows, expected, strict=True))
    n_removed = release.changes["from"].len() - release.changes["from"].null_count()
    assert n_removed == table.n_events - n_shown


def test_the_columns_say_who_what_and_where():
    table = symbol_table(["ADEF", "ADEF", "DEJF", "BKS", "BK", "BK", "QQ"])
    changes = BFP2kA(k=2).apply(table).changes
    assert changes.columns == ["row", "person", "what", "order", "from", "to"]
    assert changes.rows() == [
        (9, "person 3", "re-attached", 1, None, "A"),  # before D, the first event of DEJF
        (11, "person 3", "re-attached", None, "J", None),
        (15, "person 4", "shortened", None, "S", None),
        (20, "person 7", "dropped", None, "Q", None),
        (21, "person 7", "dropped", None, "Q", None),
    ]


def test_rows_are_those_of_the_input_file():
    frame = pl.DataFrame(
        {"u": ["y", "x", "x", "y", "x"], "n": [2, 2, 3, 1, 1], "page": ["b", "b", "c", "a", "a"]}
    )
    table = EventTable(frame, Schema(person="u", order="n", symbol="page"))
    changes = BFP2kA(k=2).apply(table).changes
    assert changes.rows() == [(3, "x", "shortened", None, "c", None)]


def test_an_added_item_stands_after_the_event_it_follows():
    table = symbol_table(["abcd", "abcd", "abd"])
    changes = BFP2kA(k=2).apply(table).changes
    assert changes.rows() == [(10, "person 3", "re-attached", 3, None, "c")]


@pytest.mark.parametrize("method", [BFP2kA(k=2), PrefixPruning(k=2)])
def test_without_changes_the_list_is_empty_and_typed(method):
    changes = method.apply(symbol_table(["ab"] * 3)).changes
    assert changes.height == 0
    assert changes.schema["row"] == changes.schema["order"] == pl.Int64
    assert changes.schema["person"] == changes.schema["from"] == changes.schema["to"] == pl.String


def test_pruning_only_drops():
    changes = apply(PrefixPruning(k=2), symbol_table(["ab", "ab", "abc", "b"])).changes
    assert Counter(changes["what"]) == {"dropped": 4}
