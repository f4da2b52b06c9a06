"""Top-Down and Bottom-Up from table to release: parameters, many persons, weights, costs, what is told."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.mutual_information.cases import FOOD, TREES, Case, released_rows, table_of, taxonomy
from oracles import mutual_information as oracles
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.errors import InputError, ParameterError, SchemaError, SequesterWarning
from sequester.methods.mutual_information.algorithm import check_table
from sequester.methods.mutual_information.method import BottomUp, TopDown

both = pytest.mark.parametrize("method", [TopDown, BottomUp])
TREE = TREES["two levels"]


def quietly(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table)


@both
@given(rows=st.lists(st.text("abcd", min_size=1, max_size=7), min_size=2, max_size=4))
@settings(max_examples=30)
def test_each_person_is_sanitized_alone(method, rows):
    asked = {"patterns": [["a", "b"], ["c"]], "window": 2, "max_leakage": 0.5}
    together = released_rows(method(**asked), table_of([*rows, "abc"], TREE))
    alone = [released_rows(method(**asked), table_of([row], TREE))[0] for row in [*rows, "abc"]]
    assert together == alone


@both
def test_heavy_events_are_left_alone_where_light_ones_will_do(method):
    row, patterns = "acbd" * 3, [("a", "b"), ("c", "d")]
    tree = {"a": "A", "c": "A", "b": "B", "d": "B", "A": "*", "B": "*"}
    heavy = Case(row, patterns, tree, 2, "linear", {"share": 0.9}, [9 if a in "ab" else 1 for a in row])
    light = Case(row, patterns, tree, 2, "linear", {"share": 0.9}, [1 if a in "ab" else 9 for a in row])
    assert heavy.loss(heavy.release(method)) <= heavy.loss(light.release(method))
    assert light.loss(light.release(method)) <= light.loss(heavy.release(method))


@both
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"patterns": []}, "patterns must have at least one pattern, and there is none"),
        ({"patterns": "ab"}, "patterns must be a list of lists of texts, got 'ab'"),
        ({"window": 0}, "window must be from 1 to 2147483647, got 0"),
        ({"max_leakage": 2}, "max_leakage must be 0 to 1, got 2"),
        ({"max_leakage_bits": -1}, "max_leakage_bits must be 0 or more, got -1"),
        ({"worst_case": 1}, "worst_case must be true or false, got 1"),
        (
            {"cost": "cheap"},
            "cost must be information-loss, linear, exponential or a table leaf -> node -> cost, got 'cheap'",
        ),
        ({"weight": 3}, "weight must be the name of a column, got 3"),
        ({"scope": "here"}, 'scope must be "global" or "local", got \'here\''),
        ({"search": "best"}, 'search must be "greedy", "improve" or "optimal", got \'best\''),
    ],
)
def test_parameters_are_refused_by_name(method, asked, message):
    with pytest.raises(ParameterError) as refused:
        method(**{"patterns": [["a", "b"]], **asked})
    assert str(refused.value) == message


@both
def test_tables_are_refused_all_at_once(method):
    frame = pl.DataFrame({"u": ["x"], "n": [1], "page": ["a"], "w": [1], "ward": ["b"]})
    asked = method(patterns=[["a"]], weight="w")
    with pytest.raises(SchemaError) as refused:
        asked.apply(
            EventTable(frame, Schema(person="u", order="n", symbol="page", keep=["ward"], drop=["w"]))
        )
    first, second, third = refused.value.lines
    assert "move 'ward' from keep to drop" in first
    assert second == f"{method.name} generalizes, and column 'page' has no hierarchy to do it by"
    assert third.startswith(
        f"weight of {method.name} is column 'w', and the table has the role weight for no"
    )
    schema = Schema(person="u", order="n", sensitive={"page": "all"}, drop=["w", "ward"])
    with pytest.raises(SchemaError, match="needs one symbol per event"):
        method(patterns=[["a"]]).apply(EventTable(frame, schema))


@both
def test_a_weight_that_is_none_is_refused_by_its_row(method):
    frame = pl.DataFrame({"u": ["x"] * 2, "n": [1, 2], "page": ["a", "b"], "w": ["1.5", "-2"]})
    schema = Schema(person="u", order="n", symbol=Symbol("page", taxonomy(TREE)), weight="w")
    with pytest.raises(SchemaError, match=r"column 'w': '-2' is not a weight, .* \(row 2\)"):
        method(patterns=[["a", "b"]], weight="w").apply(EventTable(frame, schema))


@both
def test_patterns_that_do_not_occur_are_warned_of_and_none_is_an_error(method):
    """A symbol may be only in a pattern, or only in the taxonomy."""
    table = table_of(["abcabc"], TREE)
    release = quietly(method(patterns=[["a", "z"], ["a", "b"], ["d", "d"]], max_leakage=0.9), table)
    assert "patterns: a → z does not occur in the data" in release.warnings
    assert "patterns: d → d does not occur in the data" in release.warnings
    with pytest.raises(InputError, match="patterns: none of them occurs in the data: z, d"):
        method(patterns=[["z"], ["d"]]).apply(table)


def costs_of(**changed):
    table = {leaf: {FOOD[leaf]: 0.5, "*": 1.0} for leaf in oracles.leaves(FOOD)}
    for leaf, costs in changed.items():
        table[leaf] = costs
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            costs_of(Milk={"Dairy": 2, "*": 1}),
            "cost of 'Milk' at '*' must be at least 2, as at 'Dairy' below, got 1",
        ),
        (costs_of(Milk={"Dairy": 0, "*": 1}), "cost of 'Milk' at 'Dairy' must be above 0, got 0"),
        (costs_of(Milk={"Milk": 1, "Dairy": 1, "*": 1}), "cost of 'Milk' at 'Milk' must be 0"),
        (costs_of(Milk={"Dairy": 1}), "cost of 'Milk' at '*' is missing"),
        (costs_of(Milk={"Dairy": "x", "*": 1}), "cost of 'Milk' at 'Dairy' must be a number, got 'x'"),
        (
            costs_of(Milk={"Snack": 1, "Dairy": 1, "*": 1}),
            "cost of 'Milk' must be about nodes above it, and 'Snack'",
        ),
        (costs_of(Tea={"*": 1}), "cost must be given for leaves of the taxonomy, and there is no leaf 'Tea'"),
        ({"Milk": {"Dairy": 0.5, "*": 1}}, "cost must have every leaf of the taxonomy, 5 are missing"),
    ],
)
def test_a_table_of_costs_is_held_to_definition_3_and_the_node_is_named(table, message):
    with pytest.raises(ParameterError) as refused:
        check_table(taxonomy(FOOD), table)
    assert str(refused.value).startswith(message)


@given(st.dictionaries(st.sampled_from(["Milk", "Beer"]), st.fixed_dictionaries({"*": st.integers(-1, 3)})))
def test_what_breaks_definition_3_is_what_is_refused(changed):
    table = costs_of(**{leaf: {FOOD[leaf]: 1, **costs} for leaf, costs in changed.items()})
    try:
        check_table(taxonomy(FOOD), table)
    except ParameterError:
        assert oracles.breaks_definition_3(FOOD, table)
    else:
        assert not oracles.breaks_definition_3(FOOD, table)


def test_a_table_of_costs_is_not_published():
    """It names leaves that the release does not show."""
    row = ["Cookies", "Milk", "Chips", "Cheese"] * 4
    asked = {"patterns": [["Cookies", "Milk"], ["Chips", "Cheese"]], "window": 1, "max_leakage": 0.8}
    table = table_of([row], FOOD)
    release = quietly(TopDown(**asked, cost=costs_of()), table)
    assert release.unpublished == {"patterns", "cost"}
    assert "cost" not in release.published_parameters
    assert "of the given table" in release.utility["loss_per_symbol"].means
    assert quietly(TopDown(**asked), table).unpublished == {"patterns"}


@both
def test_what_the_steward_sees(method):
    rows = ["abcdabcdab", "cdcdcd", "abab"]
    release = quietly(method(patterns=[["a", "b"]], window=2, max_leakage=0.5), table_of(rows, TREE))
    verdicts = release.evidence["verdicts"]
    assert set(verdicts["person"]) == {"person 1", "person 3"}
    assert verdicts["holds"].all()
    patterns = release.evidence["patterns"]
    assert (patterns["posterior"] < 1).all()
    assert [plot.title for plot in release.method_plots] == [
        "The 10 most frequent pairs of the original",
        "The 10 most frequent pairs of the release",
    ]
    scores = {name: score.value for name, score in release.utility.items()}
    assert scores["leakage_smallest"] <= scores["leakage_median"] <= scores["leakage_largest"] <= 0.5 + 1e-9
    assert scores["loss_per_symbol_smallest"] == 0  # the second person has nothing to hide
    assert sum(value for name, value in scores.items() if name.startswith("level_")) == pytest.approx(1)
    assert -1 <= scores["rank_correlation"] <= 1
    assert release.changes.columns == ["row", "person", "what", "from", "to"]
    assert release.n_lost_events == (release.frame["symbol"] == "*").sum()
    worst = quietly(
        method(patterns=[["a", "b"]], window=2, worst_case=True, max_leakage_bits=0.1), table_of(rows, TREE)
    )
    assert worst.evidence["verdicts"]["pattern"].unique().to_list() == ["a → b"]
    assert "bits" in worst.utility["leakage_median"].means


def test_weights_are_said_in_the_measure():
    case = Case("abcdab", [("a", "b")], TREE, 2, "linear", {"share": 0.5}, [1.0, 0.0, 2.0, 1.0, 1.0, 1.0])
    release = quietly(TopDown(**case.parameters()), case.table())
    assert release.utility["loss_per_symbol"].means.endswith("events weighed by w.")
    released = tuple(release.frame.sort("order")["symbol"])
    assert release.utility["loss_per_symbol"].value == pytest.approx(float(case.loss(released)) / 6)
    nothing = Case("abcdab", [("a", "b")], TREE, 2, "linear", {"share": 0.5}, [0.0] * 6)
    assert quietly(TopDown(**nothing.parameters()), nothing.table()).utility["loss_per_symbol"].value == 0
