"""A table of persons beside the events: matched by key, and every problem found before anything runs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import SchemaError
from sequester.hierarchies import Hierarchy
from sequester.methods import BFP2kA

FLAT = Hierarchy.flat()
VISITS = pl.DataFrame({"PID": ["a", "a", "b"], "n": [1, 2, 1], "ward": ["x", None, "x"]})


def read(persons, *, visits=VISITS, invalid="refuse", **roles):
    roles = roles or {"quasi": {"sex": FLAT}}
    schema = Schema(person="PID", order="n", quasi={"ward": FLAT}, invalid=invalid)
    return EventTable(visits, schema, Persons(persons, **roles))


def refusal(persons, **others):
    with pytest.raises(SchemaError) as caught:
        read(persons, **others)
    return list(caught.value.lines)


def people(keys, sexes):
    return pl.DataFrame({"PID": keys, "sex": sexes})


def test_rows_follow_the_persons_of_the_events_and_others_come_last():
    table = read(people(["c", "b", "a"], ["f", None, "m"]))
    assert table.persons.to_list() == ["a", "b", "c"]
    assert table.demographics.frame["sex"].to_list() == ["m", None, "f"]
    assert table.demographics.rows.tolist() == [3, 2, 1]
    assert np.diff(table.person_offsets).tolist() == [2, 1, 0]


def test_nothing_is_neither_missing_nor_a_value():
    histories = read(people(["c", "b", "a"], ["f", None, "m"])).histories
    assert histories.labels == {"sex": ["f", "m", "(missing)"], "ward": ["x", "(missing)"]}
    assert histories.sequences.columns["sex"].tolist() == [1, -1, -1, 2, -1, 0]
    assert histories.sequences.columns["ward"].tolist() == [-1, 0, 1, -1, 0, -1]
    some = histories.take(np.array([2, 0]))
    assert some.labels == {"sex": ["f", "m"], "ward": ["x", "(missing)"]}
    assert some.sequences.columns["sex"].tolist() == [0, 1, -1, -1]


def test_taken_persons_keep_their_attributes():
    table = read(people(["c", "b", "a"], ["f", None, "m"])).take(np.array([False, True, True]))
    assert table.persons.to_list() == ["b", "c"]
    assert table.histories.sequences.columns["sex"].tolist() == [1, -1, 0]


def test_a_person_without_a_row_is_refused_or_left_out():
    assert refusal(people(["a"], ["f"])) == [
        (
            "persons: column 'PID': the person has no row in the table of persons; "
            'invalid = "drop" leaves such rows out (1 row: 3)'
        )
    ]
    table = read(people(["a"], ["f"]), invalid="drop")
    assert (table.persons.to_list(), table.reading.left_out, table.reading.persons_left_out) == (["a"], 1, 1)
    assert (table.sequences.n_persons, table.sequences.n_events) == (1, 2)
    assert table.histories.sequences.columns["ward"].tolist() == [-1, 0, 1]
    assert [str(each) for each in table.problems] == [
        "column 'PID': the person has no row in the table of persons; dropped (1 row: 3)"
    ]


@pytest.mark.parametrize(
    ("sexes", "what"),
    [
        (["f", "f", "m"], "a person has several rows, which are alike"),
        (["f", "m", "m"], "a person has several rows, and 'sex' changes between them"),
    ],
)
def test_a_person_with_several_rows_is_refused_or_has_the_first(sexes, what):
    persons = people(["a", "a", "b"], sexes)
    assert refusal(persons) == [
        f"persons: column 'PID': {what}; invalid = \"drop\" takes the first row of each person (2 rows: 1, 2)"
    ]
    table = read(persons, invalid="drop")
    assert table.demographics.frame["sex"].to_list() == ["f", "m"]
    assert table.demographics.rows.tolist() == [1, 3]


def test_a_row_without_a_key_is_refused_or_left_out():
    persons = people(["a", None, "b"], ["f", "f", "m"])
    assert refusal(persons)[0].startswith("persons: column 'PID': person is missing")
    assert read(persons, invalid="drop").demographics.rows.tolist() == [1, 3]


@pytest.mark.parametrize(("in_events", "in_persons"), [(["00501"], [501]), ([501], ["00501"])])
def test_numbers_and_text_are_not_the_same_key(in_events, in_persons):
    visits = pl.DataFrame({"PID": in_events, "n": [1], "ward": ["x"]})
    (line,) = refusal(people(in_persons, ["f"]), visits=visits)
    assert "'00501' and '501' are not the same person" in line


def test_columns_need_one_role_in_one_table():
    persons = people(["a", "b"], ["f", "m"]).with_columns(ward=pl.lit("x"))
    assert refusal(persons) == ["persons: column 'ward' has no role: give it one, or name it in drop"]
    both = refusal(persons, quasi={"sex": FLAT, "ward": FLAT})
    assert both == ["persons: column 'ward' is in the table of events, too: drop or rename one of them"]
    assert refusal(persons.rename({"PID": "id"}), drop=["ward"], quasi={"sex": FLAT}) == [
        "persons: column 'PID' is named as person, and the table has no such column"
    ]
    renamed = read(persons.rename({"PID": "id"}), person="id", drop=["ward"], quasi={"sex": FLAT})
    assert renamed.demographics.labels == {"sex": ["f", "m"]}


def test_a_value_outside_its_hierarchy_is_named_with_its_row():
    tree = Hierarchy.from_tree({"f": {}, "m": {}})
    (line,) = refusal(people(["a", "b"], ["f", "x"]), quasi={"sex": tree})
    assert line.startswith("persons: ")
    assert "'x'" in line


def test_columns_of_the_events_that_never_change():
    visits = VISITS.with_columns(sex=pl.Series(["f", "f", "m"]), site=pl.Series(["s", "s", "t"]))
    table = read(None, visits=visits, quasi={"sex": FLAT}, keep=["site"])
    assert table.demographics.frame.select("sex", "site").rows() == [("f", "s"), ("m", "t")]
    assert "sex" not in table.frame.columns
    changing = visits.with_columns(sex=pl.Series(["f", "m", "m"]))
    assert refusal(None, visits=changing, quasi={"sex": FLAT}, keep=["site"]) == [
        (
            "persons: column 'sex' is an attribute of persons, and changes within a person; "
            'invalid = "drop" takes the first row of each person (1 row: 2)'
        )
    ]
    first = read(None, visits=changing, invalid="drop", quasi={"sex": FLAT}, keep=["site"])
    assert first.demographics.frame["sex"].to_list() == ["f", "m"]
    assert refusal(None, visits=VISITS) == [
        "persons: column 'sex' is an attribute of persons, and the table has no such column"
    ]


def test_methods_on_symbols_say_what_to_do():
    schema = Schema(person="PID", order="n", symbol="ward")
    table = EventTable(VISITS, schema, Persons(people(["a", "b"], ["f", "m"]), quasi={"sex": FLAT}))
    with pytest.raises(SchemaError, match=r"p2ka cannot protect attributes of persons \(sex\): leave out"):
        BFP2kA(k=2).apply(table)


def merged(persons, visits, alike, **others):
    schema = Schema(person="PID", order="n", quasi={"ward": FLAT}, alike=alike, **others)
    return EventTable(visits, schema, Persons(persons, quasi={"sex": FLAT}))


SPELLED = pl.DataFrame({"PID": ["Ann", "ann ", "Bob"], "n": [1, 2, 1], "ward": ["x", "X", "x"]})


def test_what_looks_alike_is_merged_across_both_tables():
    table = merged(people(["ANN", "bob", "eve", "sue"], ["f", "m", "F ", "f"]), SPELLED, "merge")
    assert table.persons.to_list() == ["Ann", "Bob", "eve", "sue"]
    assert table.demographics.frame["sex"].to_list() == ["f", "m", "f", "f"]
    assert np.diff(table.person_offsets).tolist() == [2, 1, 0, 0]
    assert table.labels["ward"] == ["x"]
    assert "2 persons look like one of the table of persons, 'Ann' like 'ANN'; merged" in " ".join(
        map(str, table.problems)
    )


def test_rows_of_one_person_that_is_spelled_in_two_ways_are_several_rows():
    persons = people(["Ann", "ann", "Bob"], ["f", "m", "m"])
    with pytest.raises(SchemaError, match="a person has several rows, and 'sex' changes between them"):
        merged(persons, SPELLED, "merge")
    table = merged(persons, SPELLED, "merge", invalid="drop")
    assert table.demographics.frame["sex"].to_list() == ["f", "m"]
    # Unless it is decided, whoever publishes the table is stopped.
    visits = SPELLED.filter(pl.col("PID") != "ann ")
    problems = merged(persons, visits, None).problems
    assert [each.severity for each in problems if "look alike" in str(each)] == ["error"]


def test_persons_who_look_alike_in_two_tables_are_refused_or_kept_apart():
    persons = people(["ANN", "Bob"], ["f", "m"])
    visits = SPELLED.filter(pl.col("PID") != "ann ")
    with pytest.raises(SchemaError, match="'Ann' like 'ANN'; say alike = \"merge\" or alike = \"keep\""):
        merged(persons, visits, None)
    with pytest.raises(SchemaError, match="the person has no row in the table of persons"):
        merged(persons, visits, "keep")
