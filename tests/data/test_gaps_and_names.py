"""Cells that stand for a missing value, columns that get another name, and a file of one person."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.data.persons import Persons
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.methods import HALT, TopDown

FLAT = Hierarchy.flat()
STAYS = pl.DataFrame(
    {
        "pid": ["a", "b", "NA"],
        "n": [1, 1, 1],
        "weight": ["?", "70", " ? "],
        "ward": ["NA", "?", "B"],
    }
)


def stays(frame=STAYS, **roles):
    schema = Schema(person="pid", order="n", quasi={"weight": FLAT, "ward": FLAT}, **roles)
    return EventTable(frame, schema)


def test_markers_are_gaps_in_every_column_or_in_one():
    assert stays().frame["weight"].null_count() == 0
    everywhere = stays(missing=["?"])
    assert everywhere.frame["weight"].to_list() == [None, "70", None]
    assert everywhere.frame["ward"].to_list() == ["NA", None, "B"]
    one = stays(missing={"ward": ["?", "NA"]})
    assert one.frame["ward"].to_list() == [None, None, "B"]
    assert one.labels["weight"] == [" ? ", "70", "?"]
    assert [str(each) for each in one.problems if each.column == "ward"] == [
        "column 'ward': '?' is taken as missing (1 row: 2)",
        "column 'ward': 'NA' is taken as missing (1 row: 1)",
    ]


def test_a_gap_by_marker_is_a_leaf_of_its_own_under_the_root():
    tree = stays(missing=["?"]).hierarchies["weight"]
    assert sorted(tree.labels[node] for node in tree.leaf_nodes) == ["(missing)", "70"]
    by_marker = stays(missing=["?", "NA"], invalid="drop")
    by_gap = stays(
        STAYS.with_columns(
            weight=pl.Series([None, "70", None]),
            ward=pl.Series([None, None, "B"]),
            pid=pl.Series(["a", "b", None]),
        ),
        invalid="drop",
    )
    assert by_marker.frame.equals(by_gap.frame)
    assert by_marker.hierarchies["ward"].labels == by_gap.hierarchies["ward"].labels


def test_a_marker_is_a_missing_person_too():
    with pytest.raises(SchemaError, match=r"column 'pid': person is missing \(1 row: 3\)"):
        stays(missing=["NA"])


def test_numbers_are_markers_by_value():
    frame = STAYS.with_columns(weight=pl.Series([70.5, 9999.0, 9999.0]))
    assert stays(frame, missing={"weight": ["9999"]}).frame["weight"].to_list() == ["70.5", None, None]


def test_a_marker_that_does_not_occur_draws_a_warning():
    made = stays(missing={"ward": ["?", "NULL"]})
    lines = [str(each) for each in made.problems if each.severity == "warning" and each.column == "ward"]
    assert lines == ["missing.ward: 'NULL' does not occur"]
    assert not [each for each in stays(missing=["?", "NULL"]).problems if each.severity == "warning"]


def test_markers_of_a_column_that_is_not_there_are_refused_with_the_nearest():
    with pytest.raises(SchemaError, match=r"missing: .* no column 'wieght'; did you mean 'weight'\?"):
        stays(missing={"wieght": ["?"]})


@pytest.mark.parametrize("missing", ["?", {"weight": "?"}, [1]])
def test_markers_are_lists_of_texts(missing):
    with pytest.raises(ParameterError, match="must be a list of texts"):
        Schema("pid", "n", symbol="ward", missing=missing)


@pytest.mark.parametrize("name", ["group", "count", "order", "person"])
def test_a_reserved_name_is_renamed_on_request(name):
    frame = pl.DataFrame({"pid": list("aabb"), "n": [1, 2, 1, 2], name: list("xyxy")})
    schema = Schema(person="pid", order="n", quasi={"team": FLAT}, rename={name: "team"})
    table = EventTable(frame, schema)
    assert table.frame["team"].to_list() == list("xyxy")
    # A table has roles for its own columns: another can be made of both.
    assert EventTable(table.frame, table.schema).labels == table.labels
    assert HALT(k=2, c=1, p=1).apply(table).frame["team"].to_list() == list("xyxy")


def test_names_that_cannot_be_given():
    frame = pl.DataFrame({"pid": ["a"], "n": [1], "ward": ["x"]})
    with pytest.raises(SchemaError) as caught:
        EventTable(frame, Schema("pid", "n", symbol="ward", rename={"warde": "x", "n": "pid"}))
    assert caught.value.lines == (
        "rename: the table has no column 'warde'; did you mean 'ward'?",
        "rename: several columns would be called 'pid'",
    )


def test_the_whole_file_is_one_person():
    frame = pl.DataFrame({"at": [3, 1, 2], "what": list("cab")})
    table = EventTable(frame, Schema(person="all", order="at", symbol="what"))
    assert (table.n_persons, table.sequences.to_rows()) == (1, [("a", "b", "c")])
    by_file = EventTable(frame.drop("at"), Schema(person="all", symbol="what"))
    assert by_file.sequences.to_rows() == [("c", "a", "b")]
    assert "person  all rows are one" in repr(by_file)
    tree = Hierarchy.tree({"early": ["a", "b"], "late": ["c"]})
    frame = pl.DataFrame({"what": list("abc" * 20)})
    log = EventTable(frame, Schema(person="all", symbol=Symbol("what", tree)))
    assert TopDown(patterns=[["a", "b"]], window=3, max_leakage=0.5).apply(log).verdict.holds


def test_a_lazy_frame_is_collected():
    assert stays(STAYS.lazy()).frame.equals(stays().frame)


def test_a_wrong_name_suggests_the_nearest_column_without_a_role():
    with pytest.raises(SchemaError) as caught:
        EventTable(STAYS, Schema("pid", "n", quasi={"wieght": FLAT, "ward": FLAT}))
    assert caught.value.lines[0].endswith("no such column; did you mean 'weight'?")


def test_values_prefixes_and_ranges_may_be_mixed():
    frame = pl.DataFrame({"pid": list("abcd"), "n": 1, "icd": ["250", "042", "635", "V51"]})
    protect = {"values": ["250"], "prefix": ["V"], "range": ["634-639"]}
    table = EventTable(frame, Schema("pid", "n", sensitive={"icd": protect}))
    assert table.protected == {"icd": frozenset({"250", "V51", "635"})}


def test_markers_hold_for_a_table_of_persons_too():
    persons = pl.DataFrame({"pid": ["a", "b"], "sex": ["?", "f"]})
    visits = pl.DataFrame({"pid": ["a", "b"], "n": 1, "ward": ["x", "?"]})
    for missing in (["?"], {"sex": ["?"], "ward": ["?"]}):
        schema = Schema("pid", "n", quasi={"ward": FLAT}, missing=missing)
        table = EventTable(visits, schema, Persons(persons, quasi={"sex": FLAT}))
        assert table.demographics.frame["sex"].to_list() == [None, "f"]
        assert table.frame["ward"].to_list() == ["x", None]
