"""Every value of a column has a leaf in its hierarchy, or is reported with its rows."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.errors import SchemaError
from sequester.hierarchies.hierarchy import Hierarchy


def visits(column, hierarchy, **roles):
    frame = pl.DataFrame({"u": ["b", "a", "b"], "n": [2, 1, 1], "q": column})
    return EventTable(frame, Schema(person="u", order="n", quasi={"q": hierarchy}, **roles))


@pytest.mark.parametrize(
    ("column", "hierarchy", "above"),
    [
        (["56001", "56002", "7"], Hierarchy.mask([3, 1]), ["560**", "560**", "7"]),
        (["3", "9", "10"], Hierarchy.intervals([7, 28]), ["[0:6]", "[7:13]", "[7:13]"]),
        (
            ["2010-01-31", "2010-02-01", "2009-12-31"],
            Hierarchy.dates(["month", "year"]),
            ["2010-01", "2010-02", "2009-12"],
        ),
        (["x", "y", "z"], Hierarchy.flat(), ["*", "*", "*"]),
        (["x", "y", "x"], Hierarchy.tree({"early": ["x"], "late": ["y", "w"]}), ["early", "late", "early"]),
        (["x", "y", "x"], Hierarchy.from_paths([["x", "xy"], ["y", "xy"], ["v", "v"]]), ["xy", "xy", "xy"]),
    ],
)
def test_all_kinds_stand_in_a_schema(column, hierarchy, above):
    table = visits(column, hierarchy)
    tree = table.hierarchies["q"]
    assert [tree.generalize(value, 1) for value in column] == above
    assert set(table.labels["q"]) <= set(tree.labels)


def test_quantiles_learn_from_how_often_values_occur():
    numbers = [str(n) for n in [*range(1, 11)] * 10 + [*range(11, 41)]]
    frame = pl.DataFrame({"q": numbers})
    learned = EventTable(frame, Schema(person="row", quasi={"q": Hierarchy.quantiles([2])})).hierarchies["q"]
    once = EventTable(
        frame.unique(maintain_order=True), Schema(person="row", quasi={"q": Hierarchy.quantiles([2])})
    )
    assert learned.generalize("4", 1) != learned.generalize("15", 1)
    assert once.hierarchies["q"].generalize("4", 1) == once.hierarchies["q"].generalize("15", 1)


def test_missing_values_are_a_leaf_under_the_root():
    table = visits(["3", None, ""], Hierarchy.intervals([7]))
    tree = table.hierarchies["q"]
    assert tree.labels[tree.parent[tree.node("(missing)")]] == "*"
    assert "(missing)" not in visits(["3", "4", "5"], Hierarchy.intervals([7])).hierarchies["q"]


def test_a_column_without_any_value_has_only_gaps():
    tree = visits([None, None, None], Hierarchy.flat()).hierarchies["q"]
    assert tree.labels == ("*", "(missing)")


def test_surplus_leaves_are_legal_and_counted():
    table = visits(["x", "y", "x"], Hierarchy.tree({"early": ["x", "w"], "late": ["y", "v"]}))
    assert [(problem.severity, str(problem)) for problem in table.problems] == [
        ("note", "column 'q': tree: 2 leaves do not occur in the data")
    ]


def test_values_outside_have_rows_and_the_other_columns_are_still_checked():
    frame = pl.DataFrame(
        {"u": ["a"] * 7, "n": range(7), "q": list("xzzzzzz"), "r": ["1", "?", "2", "3", "4", "5", "?"]}
    )
    quasi = {"q": Hierarchy.from_paths([["x"], ["y"]]), "r": Hierarchy.intervals([2])}
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="u", order="n", quasi=quasi))
    assert caught.value.lines[0] == (
        "column 'q': hierarchy: 1 value of the data is missing: 'z' (6 rows: 2, 3, 4, 5, 6, ...)"
    )
    assert caught.value.lines[1].startswith("column 'r': ")
    assert caught.value.lines[1].endswith("(2 rows: 2, 7)")
    assert len(caught.value.lines) == 2


def test_a_broken_tree_is_refused_with_the_other_problems():
    with pytest.raises(SchemaError) as caught:
        visits(["x", "*", "y"], Hierarchy.tree({"early": ["x", "y"], "late": ["x"]}))
    assert caught.value.lines == (
        "column 'q': the value '*' stands for a suppressed value and may not occur (1 row: 2)",
        "column 'q': tree: 'x' has two parents, 'early' and 'late' (1 row: 1)",
    )


def test_a_symbol_may_have_a_hierarchy():
    frame = pl.DataFrame({"u": ["a"], "n": [1], "page": ["x"]})
    symbol = Symbol("page", Hierarchy.from_paths([["x", "home"]]))
    table = EventTable(frame, Schema(person="u", order="n", symbol=symbol))
    assert table.hierarchies["page"].height == 2


def test_released_values_may_be_any_node():
    tree = Hierarchy.from_frame(
        Hierarchy.from_paths([["x", "xy"], ["y", "xy"], ["z", "z"]]).above(["xy", "z"])
    )
    table = visits(["xy", "*", "z"], tree, released=True)
    assert table.hierarchies["q"] is tree
    with pytest.raises(
        SchemaError, match="column 'q': released values that are no nodes of the hierarchy: 'x'"
    ):
        visits(["xy", "*", "x"], tree, released=True)


def test_nothing_is_learned_from_released_values():
    assert visits(["[0:6]", "*", "8"], Hierarchy.intervals([7]), released=True).hierarchies == {}
