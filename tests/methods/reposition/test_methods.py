"""Reposition and its comparators as methods: tables they take, what they publish, what they measure."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sequester as sq
from oracles import l_diversity as oracle
from sequester.errors import ParameterError, SchemaError, SequesterWarning, UnattainableError
from sequester.methods.reposition.algorithm import timeline
from sequester.methods.reposition.method import Costs
from sequester.testing import record_table

SEED = "a sentence that nobody guesses"
TREE = sq.Hierarchy.from_tree({"low": ["1", "2"], "high": ["3", "4"]})


def table_of(rows, **roles):
    """Rows are (person, snapshot, age, letter)."""
    frame = pl.DataFrame(rows, schema=["who", "n", "age", "letter"], orient="row")
    roles = {"quasi": {"age": TREE}, "sensitive": {"letter": "all"}, **roles}
    return sq.EventTable(frame.cast({"age": pl.String}), sq.Schema(person="who", order="n", **roles))


rows_of = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4), st.sampled_from("1234"), st.sampled_from("abc")),
    min_size=1,
    max_size=25,
)


def release_of(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            return method.apply(table, seed=SEED)
        except UnattainableError:
            return None


@given(rows_of, st.sampled_from([2, 3]), st.booleans())
@settings(max_examples=40)
def test_anatomy_by_the_oracle(rows, level, shaken):
    release = release_of(sq.Reposition(l=level, window=2, snapshot="order", randomize=shaken), table_of(rows))
    if release is None:
        return
    records, values = release.tables["records"], release.tables["values"]
    sizes = dict(records.group_by("group").len().iter_rows())
    groups = oracle.by_place((g, v) for g, v, n in values.iter_rows() for _ in range(n))
    assert sizes == {group: len(each) for group, each in groups.items()}
    # Every value of a group is another one, and groups have l to 2 l - 1 records.
    assert all(len(set(each)) == len(each) for each in groups.values())
    assert all(level <= size < 2 * level for size in sizes.values())
    assert records.group_by("group").agg(pl.col("time").n_unique())["time"].max() == 1
    assert records["group"].is_sorted()


@given(rows_of, st.sampled_from([2, "3/2"]))
@settings(max_examples=40)
def test_generalized_groups_by_the_oracle(rows, level):
    table = table_of(rows)
    release = release_of(sq.Reposition(l=level, window=2, snapshot="order", then="generalize"), table)
    if release is None:
        return
    groups = oracle.by_place(release.frame.select("group", "letter").iter_rows())
    assert not oracle.too_frequent(groups, level)
    # All records of a group show the same node, the lowest above what is in it.
    shown = release.frame.group_by("group").agg(pl.col("age").n_unique())["age"]
    assert shown.max() == 1
    assert set(release.hierarchies["age"]["node"]) >= set(release.frame["age"])


def test_generalization_splits_as_long_as_every_part_is_diverse():
    rows = [(who, 1, age, letter) for who, (age, letter) in enumerate(["1a", "1b", "2a", "2b", "3a", "3b"])]
    release = release_of(sq.Reposition(l=2, snapshot="order", then="generalize"), table_of(rows))
    assert Counter(release.frame["age"]) == {"1": 2, "2": 2, "3": 2}
    rows = [(who, 1, age, letter) for who, (age, letter) in enumerate(["1a", "2b", "3a", "3b", "4a", "4b"])]
    release = release_of(sq.Reposition(l=2, snapshot="order", then="generalize"), table_of(rows))
    assert Counter(release.frame["age"]) == {"low": 2, "3": 2, "4": 2}
    rows = [(who, 1, age, letter) for who, (age, letter) in enumerate(["1a", "2a", "3b", "4b"])]
    release = release_of(sq.Reposition(l=2, snapshot="order", then="generalize"), table_of(rows))
    assert Counter(release.frame["age"]) == {"*": 4}
    # What cannot stand alone takes the smallest part that could with it.
    rows = [(who, 1, age, letter) for who, (age, letter) in enumerate(["1a", "2b", "2c", "3a", "3b", "3c"])]
    table = table_of(rows, quasi={"age": sq.Hierarchy.flat()})
    release = release_of(sq.Reposition(l=2, snapshot="order", then="generalize"), table)
    assert Counter(release.frame["age"]) == {"*": 3, "3": 3}


def test_records_are_published_as_they_came_or_later():
    table = record_table(["abab", "abba", "bbaa", "aabb", "cabc", "abca"])
    release = release_of(sq.Reposition(l=2, window=2, snapshot="order", then="none"), table)
    assert release.frame.columns == ["time", "age", "letter"]
    assert release.n_persons is None
    assert "records" in repr(release)
    changes = release.changes
    assert set(changes["what"].unique()) <= {"published later", "not published"}
    moved = changes.filter(pl.col("to").is_not_null())
    assert (moved["to"].cast(pl.Int64) > moved["from"].cast(pl.Int64)).all()
    assert release.n_lost_events == changes["to"].null_count()
    assert "information_loss" not in release.utility
    assert {each.title.split(",")[0] for each in release.method_plots} == {
        "Records by how many snapshots later they are published",
        "Records that are not published",
        "Mean error of window queries",
    }


@pytest.mark.parametrize("method", [sq.SuppressOnly, sq.MergeSnapshots])
def test_what_moves_nothing_has_no_distances(method):
    table = record_table(["abab", "abba", "bbaa", "aabb"])
    release = release_of(method(l=2, window=2, snapshot="order", then="none"), table)
    assert not any("later" in plot.title for plot in release.method_plots)
    assert not {"moved_records", "mean_distance", "reposition_cost"} & set(release.utility)
    assert {"unpublished_records", "window_query_error"} <= set(release.utility)


def test_persons_in_several_snapshots_are_counted_and_told():
    with pytest.warns(SequesterWarning, match="4 persons have records in several published snapshots"):
        sq.Reposition(l=2, window=1, snapshot="order").apply(
            record_table(["ab", "ba", "ab", "ba"]), seed=SEED
        )


def test_merged_snapshots_are_called_by_their_span():
    table = record_table(["abc", "bca", "cab", "acb"])
    release = release_of(sq.MergeSnapshots(l=2, window=2, snapshot="order", then="none"), table)
    assert release.frame["time"].unique().sort().to_list() == ["1/2", "3"]
    # One record of a person in each span.
    assert release.frame.group_by("time").len().sort("time")["len"].to_list() == [4, 4]


@pytest.mark.full_work
def test_window_queries_find_reposition_nearer_than_its_comparators():
    chance = __import__("numpy").random.default_rng(4)
    rows = [
        (
            who,
            1 + who % 12,
            str(chance.integers(1, 5)),
            "abcd"[int(chance.choice(4, p=[0.55, 0.2, 0.15, 0.1]))],
        )
        for who in range(600)
    ]
    table = table_of(rows)
    errors = {}
    for method in (
        sq.Reposition(l=2, window=4, snapshot="order", then="none"),
        sq.SuppressOnly(l=2, snapshot="order", then="none"),
        sq.MergeSnapshots(l=2, window=4, snapshot="order", then="none"),
        sq.Reposition(l=2, window=4, snapshot="order"),
    ):
        errors[(method.name, method.then)] = release_of(method, table).utility["window_query_error"].value
    best = errors.pop(("reposition", "none"))
    assert all(best <= other for other in errors.values())


@pytest.mark.parametrize(
    ("unit", "labels"),
    [
        ("day", ("2009-12-31", "2010-01-01", "2010-01-02", "2010-01-03", "2010-01-04")),
        ("week", ("2009-W53", "2010-W01")),
        ("month", ("2009-12", "2010-01")),
    ],
)
def test_snapshots_have_the_names_of_their_time(unit, labels):
    frame = pl.DataFrame(
        {"who": ["a", "b"], "at": ["2009-12-31T23:59", "2010-01-04T00:00"], "ill": ["x", "y"]}
    )
    table = sq.EventTable(frame, sq.Schema(person="who", time="at", sensitive={"ill": "all"}))
    found = timeline(table, unit)
    assert found.labels == labels
    assert found.numbers.tolist() == [0, len(labels) - 1]


def test_a_table_without_records_has_no_snapshots_and_no_release():
    frame = pl.DataFrame(schema=dict.fromkeys(["who", "at", "ill"], pl.String))
    table = sq.EventTable(frame, sq.Schema(person="who", time="at", sensitive={"ill": "all"}))
    assert timeline(table, "day").labels == ()
    with pytest.raises(UnattainableError, match="no l above 1 can be kept"):
        sq.Reposition(l=2, then="none").apply(table, seed=SEED)


def test_too_few_values_are_said_at_once():
    with pytest.raises(
        UnattainableError, match=r"needs 3 different values of letter .* at most 2 in any 2 snap"
    ):
        sq.Reposition(l=3, window=2, snapshot="order").apply(record_table(["ab", "ba"]), seed=SEED)
    with pytest.raises(UnattainableError, match="no l above 1 can be kept"):
        sq.SuppressOnly(l=2, snapshot="order").apply(record_table(["a", "a"]), seed=SEED)
    with pytest.raises(UnattainableError, match="leaves no record that can be published"):
        sq.Reposition(l=2, window=2, snapshot="order").apply(record_table(["ab"]), seed=SEED)


@pytest.mark.parametrize(
    ("roles", "method", "message"),
    [
        (
            {"sensitive": {}, "drop": ["letter"]},
            {},
            "exactly one sensitive attribute with one value per event, there is none",
        ),
        ({"sensitive": {"letter": "all", "age": "all"}}, {}, "there are 2: letter, age"),
        ({"sensitive": {"age": "all"}, "drop": ["letter"]}, {}, "would publish what it protects"),
        ({"quasi": {"n": sq.Hierarchy.flat()}, "keep": ["age"]}, {}, "'n' tells when a record came"),
        ({"quasi": {}, "keep": ["age"]}, {"then": "none"}, "'age' has the role keep"),
        ({"quasi": {}, "drop": ["age"]}, {}, 'then = "anatomy" needs quasi-identifiers'),
        ({}, {"snapshot": "day"}, 'needs a column with the role time, .*: snapshot = "order"'),
        (
            {"quasi": {"age": sq.Quasi(TREE, max_level=1)}},
            {"then": "generalize"},
            "max_level or never_suppress",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(roles, method, message):
    table = table_of([("a", 1, "1", "x"), ("b", 1, "2", "y")], **roles)
    with pytest.raises(SchemaError, match=message):
        sq.Reposition(**{"l": 2, "snapshot": "order", **method}).apply(table)


def test_a_time_column_is_no_order_and_without_either_there_are_no_snapshots():
    frame = pl.DataFrame({"who": ["a"], "at": ["2010-01-01"], "ill": ["x"]})
    table = sq.EventTable(frame, sq.Schema(person="who", time="at", sensitive={"ill": "all"}))
    with pytest.raises(SchemaError, match=r'needs a column with the role order, .* "week" or "month"'):
        sq.Reposition(l=2, snapshot="order", then="none").accept(table)
    table = sq.EventTable(frame.drop("at", "who"), sq.Schema(person="row", sensitive={"ill": "all"}))
    with pytest.raises(SchemaError, match="needs a column of times or orders"):
        sq.Reposition(l=2, then="none").accept(table)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l": 1}, "l must be above 1"),
        ({"l": 2.5}, 'l must be a whole number where then = "anatomy", got 5/2'),
        ({"window": 0}, "window must be from 1 to 1000, got 0"),
        ({"window": "7"}, "window must be a whole number"),
        ({"window": True}, "window must be a whole number"),
        ({"snapshot": "hour"}, 'snapshot must be "day", "week", "month" or "order", got'),
        ({"then": "k"}, 'then must be "anatomy", "generalize" or "none", got'),
        ({"cost": "cubic"}, 'cost must be "linear", "quadratic" or a list'),
        ({"cost": [0, 1]}, "cost must have a number for each distance from 0 to 6, got 2 numbers"),
        ({"cost": [1, 2, 3, 4, 5, 6, 7]}, "cost must be 0 at distance 0, got 1"),
        (
            {"cost": [0, 1, 1, 4, 5, 6, 7]},
            "cost must rise with every distance, it does not at distance 2: 1 to 1",
        ),
        ({"cost": [0, 2, 3, 4, 5, 6, 7]}, "must not rise less than before, it does at distance 2: 2 to 3"),
        ({"cost": [0, "x"]}, "cost must be"),
        ({"cost": 3}, "cost must be"),
        ({"suppression_cost": 0}, "suppression_cost must be a number above 0, got 0"),
        ({"suppression_cost": {"HIV": -1}}, "suppression_cost.HIV must be a number above 0, got -1"),
        ({"first_window": "lp"}, "first_window must be"),
        ({"randomize": "yes"}, "randomize must be true or false"),
        ({"search": "best"}, "search must be"),
        ({"search": "improve", "randomize": True}, 'search must be "greedy" with randomize'),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ParameterError, match=message):
        sq.Reposition(**{"l": 2, **parameters})


def test_costs_of_suppression():
    assert Costs.of("linear", window=3, suppression=2).betas(["a", "b"]) == [2.0, 2.0]
    assert Costs.of([0, 0.1, 0.2, 0.30000000000000004], window=4).mu[3] == pytest.approx(0.3)
    assert sq.Reposition(l=2, cost=[0, 1, 2], window=3).cost == (0, 1, 2)
    assert "suppression_cost" in sq.Reposition(l=2).unpublished()


def test_the_engine_knows_costs_by_name():
    stream = sq.Reposition(l=2, window=2, suppression_cost={"a": 9}).stream(values=["a", "b"], seed=SEED)
    stream.feed(np.array([0, 0, 1], np.int32))
    assert stream.loss() == 9
    assert stream.suppressed().tolist() == [1, 0]
