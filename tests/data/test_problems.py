"""Everything that is wrong with a table is found before anything runs, all of it in one report."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.problems import Problem
from sequester.data.schema import Quasi, Schema, Sensitive
from sequester.data.table import EventTable
from sequester.errors import SchemaError
from sequester.hierarchies.hierarchy import Hierarchy

FLAT = Hierarchy.flat()
VISITS = pl.DataFrame(
    {
        "PID": ["a", "a", "b"],
        "VID": ["1", "2", "1"],
        "ZIP": ["56001", "56002", "70000"],
        "Disease": ["flu", "HIV", "flu"],
        "name": ["Ann", "Ann", "Bob"],
    }
)
ROLES = {
    "person": "PID",
    "order": "VID",
    "quasi": {"ZIP": Hierarchy.mask([3, 1])},
    "sensitive": {"Disease": ["HIV"]},
    "drop": ["name"],
}


def refused(frame, **roles):
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(**ROLES | roles))
    return list(caught.value.lines)


def accepted(frame, **roles):
    return [f"{each.severity}: {each}" for each in EventTable(frame, Schema(**ROLES | roles)).problems]


def test_a_sound_table_has_no_problem():
    assert accepted(VISITS) == []


ONE_ERROR = [
    ({"drop": []}, "column 'name' has no role: give it one, or name it in drop"),
    (
        {"person": "pid"},
        "column 'pid' is named as person, and the table has no such column; did you mean 'PID'?",
    ),
    ({"drop": ["name", "ssn"]}, "column 'ssn' is named as drop, and the table has no such column"),
    ({"tie": "name"}, "column 'name' has 2 roles (tie, drop), and may have one"),
    ({"keep": ["ZIP"]}, "column 'ZIP' has 2 roles (quasi, keep), and may have one"),
    ({"keep": ["PID"]}, "column 'PID' has 2 roles (person, keep), and may have one"),
    ({"time": "name", "drop": []}, "order and time are both given, and one of them is needed"),
    ({"time_format": "%Y"}, "time_format is given without time"),
    ({"derive": {"ZIP": "event_count"}}, "derived column 'ZIP' has the name of a column of the table"),
    ({"derive": {"visits": "event_count"}}, "derived column 'visits' needs a hierarchy: name it in quasi"),
]


@pytest.mark.parametrize(("roles", "line"), ONE_ERROR)
def test_roles(roles, line):
    assert line in refused(VISITS, **roles)


def test_a_column_without_a_name():
    assert refused(VISITS.rename({"name": ""}), drop=[]) == ["column 5 of the table has no name"]


def test_order_or_time_is_needed():
    lines = refused(VISITS, order=None, drop=["name", "VID"])
    assert lines == ["order or time is needed: the column that says which event comes first"]


def test_nothing_to_release():
    lines = refused(VISITS, quasi={}, sensitive={}, keep=["ZIP", "Disease"])
    assert lines == ["nothing to release: give symbol, place, quasi or sensitive"]


def test_a_symbol_stands_alone():
    lines = refused(VISITS, symbol="name", drop=[])
    assert lines == [
        "symbol and quasi are both given: a symbol stands instead of quasi-identifiers",
        "symbol and sensitive are both given: a symbol is the only attribute of an event",
    ]


def test_the_two_pairs_of_roles_that_are_allowed():
    quasi = {"ZIP": FLAT, "VID": FLAT, "Disease": FLAT}
    table = EventTable(VISITS, Schema(**ROLES | {"quasi": quasi}))
    assert list(table.sequences.columns) == ["ZIP", "VID", "Disease"]
    assert table.sequences.to_rows("VID") == [("1", "2"), ("1",)]


def test_three_roles_are_not_allowed():
    lines = refused(VISITS, quasi={"ZIP": FLAT, "VID": FLAT}, sensitive={"Disease": ["HIV"], "VID": ["1"]})
    assert lines == ["column 'VID' has 3 roles (order, quasi, sensitive), and may have one"]


@pytest.mark.parametrize("name", ["person", "order", "time", "group", "count"])
@pytest.mark.parametrize("role", ["quasi", "keep", "sensitive", "symbol"])
def test_names_that_a_release_needs_itself(name, role):
    given = {
        "quasi": {"quasi": {name: FLAT}},
        "keep": {"keep": [name], "sensitive": {"x": "all"}},
        "sensitive": {"sensitive": {name: "all"}},
        "symbol": {"symbol": name},
    }[role]
    frame = pl.DataFrame({"PID": ["a"], "VID": [1], name: ["v"], "x": ["w"]})
    drop = [] if role == "keep" else ["x"]
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="PID", order="VID", drop=drop, **given))
    assert [line.partition(":")[0] for line in caught.value.lines] == [
        f"column {name!r} would clash with the column of that name in a release"
    ]


def test_the_name_of_a_sensitive_attribute_may_not_clash_either():
    lines = refused(VISITS, sensitive={"count": Sensitive(columns=("Disease",), protect=("HIV",))})
    (line,) = lines
    assert line.startswith("column 'count' would clash with the column of that name in a release: rename it")
    assert line.endswith('rename = { count = "count_" }')


def test_roles_named_like_release_columns_are_fine():
    frame = pl.DataFrame({"person": ["a"], "order": [1], "page": ["x"], "time": ["now"], "count": [1]})
    schema = Schema(person="person", order="order", symbol="page", drop=["time", "count"])
    assert EventTable(frame, schema).problems == ()


def broken_visits():
    return pl.DataFrame(
        {
            "PID": ["a", None, "b", "", "c", "c"],
            "at": ["2010-01-01", "2010-01-01", "soon", "2010-02-30", None, "2010-01-03"],
            "ZIP": ["56001", "*", "5", "56002", "*", None],
            "Disease": ["flu", "HIV", "flu", "(missing)", None, "(missing)"],
            "extra": [1, 2, 3, 4, 5, 6],
            "list": [[1], [2], [3], [4], [5], [6]],
        }
    )


def test_all_problems_are_in_one_report_with_counts_and_rows():
    zips = Hierarchy.from_paths([["56001", "56***"], ["56002", "56***"]])
    roles = {"order": None, "time": "at", "drop": ["ssn"], "quasi": {"ZIP": zips, "list": FLAT}}
    assert refused(broken_visits(), **roles) == [
        "column 'ssn' is named as drop, and the table has no such column",
        "column 'extra' has no role: give it one, or name it in drop",
        "column 'list' holds List(Int64): one text, number, date or truth value is needed",
        "column 'PID': person is missing (2 rows: 2, 4)",
        "column 'at': time is missing (1 row: 5)",
        "column 'at': 'soon' is not an ISO 8601 time, and no time_format is given (2 rows: 3, 4)",
        "column 'ZIP': the value '*' stands for a suppressed value and may not occur (2 rows: 2, 5)",
        "column 'Disease': '(missing)' stands for a gap, and the column has gaps too (2 rows: 4, 6)",
        "column 'ZIP': hierarchy: 1 value of the data is missing: '5' (1 row: 3)",
    ]


def test_only_the_first_five_rows_are_listed():
    frame = pl.DataFrame({"u": [None] * 1200 + ["a"], "n": range(1201), "s": ["x"] * 1201})
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="u", order="n", symbol="s"))
    assert caught.value.lines == ("column 'u': person is missing (1,200 rows: 1, 2, 3, 4, 5, ...)",)


def test_invalid_rows_are_dropped_when_asked_and_counted():
    frame = pl.DataFrame(
        {
            "u": ["a", None, "b", "a", "a"],
            "at": ["2010-01-03", "2010-01-01", "soon", None, "2010-01-01"],
            "s": ["x", "*", "*", "y", "z"],
        }
    )
    table = EventTable(frame, Schema(person="u", time="at", symbol="s", invalid="drop"))
    assert table.sequences.to_rows() == [("z", "x")]
    assert table.rows.tolist() == [5, 1]
    assert [str(problem) for problem in table.problems] == [
        "column 'u': person is missing; dropped (1 row: 2)",
        "column 'at': time is missing; dropped (1 row: 4)",
        "column 'at': 'soon' is not an ISO 8601 time, and no time_format is given; dropped (1 row: 3)",
    ]
    assert {problem.severity for problem in table.problems} == {"warning"}


def test_rows_are_those_of_the_input_after_dropping_and_sorting():
    frame = pl.DataFrame({"u": [None, "b", "a", "b"], "n": [1, 2, 1, 1], "s": ["x", "*", "y", "*"]})
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="u", order="n", symbol="s", invalid="drop"))
    assert caught.value.lines == (
        "column 's': the value '*' stands for a suppressed value and may not occur (2 rows: 2, 4)",
    )


def test_dropping_everything_is_refused():
    frame = pl.DataFrame({"u": [None, "a"], "n": [1, None], "s": ["x", "y"]})
    with pytest.raises(SchemaError, match="no row has both a person and a readable time"):
        EventTable(frame, Schema(person="u", order="n", symbol="s", invalid="drop"))


def test_a_missing_order_is_invalid():
    lines = refused(VISITS.with_columns(VID=pl.Series(["1", "", None])))
    assert lines == ["column 'VID': order is missing (2 rows: 2, 3)"]


def test_duplicate_rows_only_warn_and_ties_are_noted():
    frame = pl.DataFrame(
        {
            "u": ["a", "b", "a", "a", "a", "b"],
            "n": ["1", "1", "1.0", "1", "2", "1"],
            "s": ["x", "x", "x", "x", "x", "y"],
            "id": [1, 2, 3, 1, 1, 1],
        }
    )
    table = EventTable(frame, Schema(person="u", order="n", symbol="s", drop=["id"]))
    assert table.problems == (
        Problem(
            "column 'n': events of a person at the same time stay in file order",
            "n",
            5,
            (1, 2, 3, 4, 6),
            "note",
        ),
        Problem("rows that repeat an earlier row in every column", None, 1, (4,), "warning"),
    )


def test_ties_name_their_column():
    frame = pl.DataFrame({"u": ["a", "a"], "n": [1, 1], "claim": [2, 1], "s": ["x", "y"]})
    table = EventTable(frame, Schema(person="u", order="n", symbol="s", tie="claim"))
    assert table.sequences.to_rows() == [("y", "x")]
    assert [problem.what for problem in table.problems] == [
        "column 'n': events of a person at the same time stay in the order of column 'claim', then file order"
    ]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("12"), st.sampled_from("xy")), max_size=12))
def test_duplicates_equal_the_definition(rows):
    frame = pl.DataFrame(rows, schema={"u": pl.String, "n": pl.String, "s": pl.String}, orient="row")
    problems = EventTable(frame, Schema(person="u", order="n", symbol="s")).problems
    twice = [place for place, row in enumerate(rows, start=1) if row in rows[: place - 1]]
    shared = [place for place, row in enumerate(rows, start=1) if [r[:2] for r in rows].count(row[:2]) > 1]
    found = {problem.severity: (problem.count, list(problem.rows)) for problem in problems}
    expected = {"warning": twice, "note": shared}
    assert found == {severity: (len(rows), rows[:5]) for severity, rows in expected.items() if rows}


def test_equal_rows_of_row_persons_are_no_duplicates():
    frame = pl.DataFrame({"s": ["x", "x"]})
    assert EventTable(frame, Schema(person="row", symbol="s")).problems == ()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1]], "List(Int64)"),
        ([{"a": 1}], "Struct({'a': Int64})"),
        ([b"x"], "Binary"),
        ([dt.timedelta(1)], "Duration(time_unit='us')"),
    ],
)
def test_cells_that_hold_no_single_value(values, kind):
    frame = pl.DataFrame({"u": ["a"], "n": [1], "s": values})
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="u", order="n", symbol="s"))
    assert caught.value.lines == (
        f"column 's' holds {kind}: one text, number, date or truth value is needed",
    )


def test_protected_values_that_do_not_occur_are_named():
    lines = accepted(VISITS, sensitive={"Disease": ["HIV", "Cancer"]})
    assert lines == [
        "warning: sensitive attribute 'Disease': the protected value 'Cancer' does not occur in the data"
    ]


def test_limits_of_a_quasi_identifier_are_held_against_its_hierarchy():
    quasi = Quasi(Hierarchy.mask([3, 1]), max_level=4, never_suppress=("56001", "99999"))
    assert refused(VISITS, quasi={"ZIP": quasi}) == [
        "quasi.ZIP.max_level must be at most 3, got 4",
        "quasi.ZIP.never_suppress names values without a leaf: '99999'",
    ]


PLAIN = {
    "u": [7, 7, 8, 8],
    "at": ["2020-01-02", "2020-01-01", "2020-01-01", "2020-01-01"],
    "n": ["2", "1", "1", "1"],
    "place": ["1", "2", "1", "1"],
    "ill": ["x", "y", "x", "x"],
    "id": ["i", "j", "k", "k"],
    "more": ["r", "s", "t", "t"],
}


def with_name(role, name):
    """Give one column another name, and everything else as it is."""
    names = {**{column: column for column in PLAIN}, role: name}
    frame = pl.DataFrame({names[column]: values for column, values in PLAIN.items()})
    schema = Schema(
        person=names["u"],
        time=names["at"],
        time_format="%Y-%m-%d",
        tie=names["n"],
        quasi={names["place"]: Hierarchy.intervals(7), "year": FLAT},
        sensitive={names["ill"]: ["x"]},
        keep=[names["more"]],
        drop=[names["id"]],
        derive={"year": "year"},
    )
    return frame, schema


@pytest.mark.parametrize("role", PLAIN)
@pytest.mark.parametrize("name", ["^x$", "^.*$", "^$"])
def test_a_name_that_is_a_pattern_is_refused_before_it_stands_for_others(role, name):
    with pytest.raises(SchemaError) as caught:
        EventTable(*with_name(role, name))
    assert caught.value.lines == (f"column {name!r} has a name from ^ to $, which is a pattern: rename it",)


@pytest.mark.parametrize(
    "roles",
    [
        {"quasi": {"ZIP": FLAT, "^x$": FLAT}, "derive": {"^x$": "event_count"}},
        {"sensitive": {"^x$": Sensitive(columns=("Disease",))}},
    ],
)
def test_a_new_column_may_not_be_called_like_a_pattern_either(roles):
    assert refused(VISITS, **roles) == ["column '^x$' has a name from ^ to $, which is a pattern: rename it"]


@pytest.mark.parametrize("role", PLAIN)
def test_a_column_called_star_is_one_column(role):
    table, plain = EventTable(*with_name(role, "*")), EventTable(*with_name(role, role))
    assert table.frame.rename({"*": role}, strict=False).equals(plain.frame)
    assert table.rows.tolist() == plain.rows.tolist()
    assert [each.rows for each in table.problems] == [each.rows for each in plain.problems]


def test_warnings_and_notes_stand_beside_the_errors():
    frame = pl.DataFrame({"u": [1, 1, 2, 2], "t": [1, 1, 1, 1], "s": ["a", "a", "*", "b"]})
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="u", order="t", symbol="s"))
    assert caught.value.lines == (
        "column 's': the value '*' stands for a suppressed value and may not occur (1 row: 3)",
    )
    assert caught.value.notes == (
        "note: column 't': events of a person at the same time stay in file order (4 rows: 1, 2, 3, 4)",
        "warning: rows that repeat an earlier row in every column (1 row: 2)",
    )
    assert caught.value.__notes__ == list(caught.value.notes)


def test_rows_repeat_also_where_others_cannot_be_sorted():
    frame = pl.DataFrame({"u": ["b", "a", "", "b", "a"], "t": [2, 1, 1, 1, 1], "s": list("zyxxy")})
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema(person="u", order="t", symbol="s"))
    assert caught.value.lines == ("column 'u': person is missing (1 row: 3)",)
    assert caught.value.notes == (
        "note: column 't': events of a person at the same time stay in file order (2 rows: 2, 5)",
        "warning: rows that repeat an earlier row in every column (1 row: 5)",
    )


@pytest.mark.parametrize("odd", [" 7", "7,0", "x"])
def test_a_few_odd_cells_among_numbers_are_named(odd):
    orders = [*map(str, range(20)), odd, "", odd]
    frame = pl.DataFrame({"u": ["a"] * 23, "n": orders, "s": ["x"] * 23, "m": orders[::-1]})
    table = EventTable(frame, Schema(person="u", order="n", symbol="s", drop=["m"], invalid="drop"))
    rule = f"{odd!r} is not a number, so all are ordered as text, 10 before 9"
    assert Problem(f"column 'n': {rule}", "n", 2, (21, 23), "warning") in table.problems
    frame = frame.with_columns(n=pl.lit(1))
    table = EventTable(frame, Schema(person="u", order="n", symbol="s", tie="m"))
    assert Problem(f"column 'm': {rule}", "m", 2, (1, 3), "warning") in table.problems


@pytest.mark.parametrize(
    "orders", [["10", "9", " 7"], [*map(str, range(20))], ["1.5", *"123456789"], [*"abcdefghij"]]
)
def test_numbers_throughout_and_texts_throughout_draw_no_warning(orders):
    frame = pl.DataFrame({"u": ["a"] * len(orders), "n": orders, "s": ["x"] * len(orders)})
    assert EventTable(frame, Schema(person="u", order="n", symbol="s")).problems == ()


@pytest.mark.parametrize("ties", [["10", "", "9", "x"], [10.0, float("nan"), 9.0, 11.0]])
def test_a_gap_in_the_tie_column_comes_last(ties):
    frame = pl.DataFrame({"u": ["a"] * 4, "n": [1] * 4, "tie": ties, "s": ["1", "2", "0", "z"]})
    table = EventTable(frame, Schema(person="u", order="n", symbol="s", tie="tie"))
    assert table.rows.tolist()[-1] == 2
    assert sorted(table.rows.tolist()) == [1, 2, 3, 4]
