"""BF-P2kA from table to release: the definition's records, a promise by the oracle's count, honest limits."""

from __future__ import annotations

import warnings
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from oracles.losses import count_losses
from oracles.sequences import is_strictly_k_anonymous, satisfies_definition_1
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SchemaError, SequesterWarning, UnattainableError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.methods import BFP2kA, PrefixPruning
from sequester.testing import symbol_table

rows_of_three = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=15)
methods = st.sampled_from([BFP2kA, PrefixPruning])


def records(release):
    rows = release.frame.group_by("person", maintain_order=True).agg("symbol")["symbol"].to_list()
    return [tuple(row) for row in rows]


def apply(method, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(symbol_table(rows))


@given(rows_of_three, st.integers(2, 4), methods)
def test_a_release_has_the_records_of_the_definition_and_keeps_the_promise(rows, k, method):
    expected = oracles.release(rows, k, reattach=method is BFP2kA)
    try:
        release = apply(method(k=k), rows)
    except UnattainableError:
        assert not any(expected)
        return
    assert Counter(records(release)) == Counter(row for row in expected if row)
    assert is_strictly_k_anonymous(records(release), k)
    assert satisfies_definition_1(records(release), rows, k)
    counted = count_losses(rows, expected)
    assert (release.n_lost_events, release.n_moved_items, release.n_invented_items) == counted
    # What is listed as removed is what is lost, and what is listed as added is moved or invented.
    assert release.changes["from"].count() == counted.lost
    assert release.changes["to"].count() == counted.moved + counted.invented


@given(rows_of_three, st.integers(2, 4))
def test_the_printed_method_keeps_definition_1(rows, k):
    expected = oracles.release(rows, k, strict=False)
    try:
        release = apply(BFP2kA(k=k, strict=False), rows)
    except UnattainableError:
        assert not any(expected)
        return
    assert Counter(records(release)) == Counter(row for row in expected if row)
    assert satisfies_definition_1(records(release), rows, k)


@pytest.mark.parametrize("method", [BFP2kA, PrefixPruning])
@pytest.mark.parametrize(
    ("k", "message"),
    [
        (1, "k must be at least 2, got 1"),
        (-3, "k must be at least 2, got -3"),
        (2.5, "k must be a whole number, got 2.5"),
        (True, "k must be a whole number, got True"),
        ("5", "k must be a whole number, got '5'"),
    ],
)
def test_k_is_a_whole_number_of_at_least_two(method, k, message):
    with pytest.raises(ParameterError) as refused:
        method(k=k)
    assert str(refused.value) == message


def test_strict_is_true_or_false():
    with pytest.raises(ParameterError, match="strict must be true or false, got 'no'"):
        BFP2kA(k=2, strict="no")


def test_parameters_and_models():
    assert BFP2kA(k=3).parameters() == {"k": 3, "strict": True, "reconstruction": "closest"}
    assert PrefixPruning(k=3).parameters() == {"k": 3}
    assert BFP2kA(k=3).model().claim() == {"k": 3, "strict": True}
    assert BFP2kA(k=3, strict=False).model().claim() == {"k": 3, "strict": False}
    assert PrefixPruning(k=3).model().claim() == {"k": 3, "strict": True}


def test_the_release_has_one_symbol_column_under_its_own_name():
    frame = pl.DataFrame(
        {"u": ["x", "x", "y", "y"], "at": [1, 2, 1, 2], "page": ["news", "tech"] * 2, "ip": "?"}
    )
    table = EventTable(frame, Schema(person="u", order="at", symbol="page", drop=["ip"]))
    release = BFP2kA(k=2).apply(table)
    assert release.frame.columns == ["person", "order", "page"]
    assert release.frame["page"].to_list() == ["news", "tech"] * 2
    assert release.hierarchies == {}
    assert release.table.symbol == "page"


@pytest.mark.parametrize("method", [BFP2kA(k=2), PrefixPruning(k=2)])
def test_other_columns_are_refused_all_at_once(method):
    frame = pl.DataFrame(
        {"u": ["x", "y"], "n": [1, 1], "zip": ["1", "2"], "ill": ["no", "no"], "ward": ["a", "b"]}
    )
    schema = Schema(
        person="u", order="n", quasi={"zip": Hierarchy.flat()}, sensitive={"ill": ["yes"]}, keep=["ward"]
    )
    with pytest.raises(SchemaError) as refused:
        method.apply(EventTable(frame, schema))
    first, *columns = refused.value.lines
    assert first == f"{method.name} needs one symbol per event, and no column has the role symbol"
    assert [line.split("'")[1] for line in columns] == ["zip", "ill", "ward"]
    assert [line.split("from ")[1] for line in columns] == [
        "quasi to drop",
        "sensitive to drop",
        "keep to drop",
    ]


def limits(frame, **schema):
    return " ".join(BFP2kA(k=2).apply(EventTable(frame, Schema(person="u", symbol="page", **schema))).limits)


def test_limits_name_ties_where_there_are_ties():
    frame = pl.DataFrame(
        {"u": ["x", "x", "y", "y"], "page": ["a", "b"] * 2, "at": [1, 2, 1, 2], "day": "2020-01-01"}
    )
    assert "at the same time" not in limits(frame.drop("day"), order="at")
    assert "at the same time" in limits(frame.drop("at"), time="day")
    assert "at the same time" in limits(frame.with_columns(at=1).drop("day"), order="at")
    assert "at the same time" in limits(frame, time="day", tie="at")


@pytest.mark.parametrize("method", [BFP2kA(k=2), BFP2kA(k=2, strict=False), PrefixPruning(k=2)])
def test_limits_hold_nothing_about_the_data(method):
    """They are published, so they are the same whoever was moved, dropped or cut."""
    quiet, loud = (method.apply(symbol_table(rows)).limits for rows in (["xx"] * 2, ["xx", "xx", "xy", "q"]))
    assert quiet == loud
    assert any("second release" in line for line in quiet)
    assert any("original data only" in line for line in quiet) == (method.model().strict is False)


def test_a_person_per_row_has_no_ties():
    frame = pl.DataFrame({"page": ["a", "a", "b", "b"]})
    release = BFP2kA(k=2).apply(EventTable(frame, Schema(person="row", symbol="page")))
    assert sorted(release.frame["page"]) == ["a", "a", "b", "b"]
    assert release.frame["person"].n_unique() == 4
    assert not any("at the same time" in line for line in release.limits)


def test_a_seed_that_can_be_guessed_draws_a_warning():
    table = symbol_table(["ab", "ab"])
    with pytest.warns(SequesterWarning, match="the seed has 15 characters, fewer than 16"):
        BFP2kA(k=2).apply(table, seed="a" * 15)
    with warnings.catch_warnings(record=True) as heard:
        BFP2kA(k=2).apply(table, seed="a" * 16)
    assert heard == []
