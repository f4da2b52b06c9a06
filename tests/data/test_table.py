"""Events come out sorted, whole and unchanged, whatever order the file has them in."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import events as oracles
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.errors import SchemaError
from sequester.hierarchies.hierarchy import Hierarchy

CLICKS = Schema(person="user", order="n", symbol="page")

people = st.sampled_from(["a", "b", "007", "7", "NA"])
orders = st.sampled_from(["1", "2", "9", "10", "1.0", "1.5", "-3"]) | st.sampled_from(
    ["1", "9007199254740993", "9007199254740992", "9007199254740992.0", "1.00000000000000000"]
)
words = st.sampled_from(["news", "10", "9", "NA", "ö", "(x)"])
gaps = st.none()


def table_of(events, columns=("user", "n", "page"), **roles):
    frame = pl.DataFrame(
        {column: [event[column] for event in events] for column in columns},
        schema=dict.fromkeys(columns, pl.String),
    )
    return EventTable(frame, Schema(**{"person": "user", "order": "n", "symbol": "page"} | roles))


def event_lists(*, order=orders, page=words | gaps, **more):
    return st.lists(st.fixed_dictionaries({"user": people, "n": order, "page": page, **more}), max_size=14)


@given(event_lists())
def test_events_are_sorted_as_the_definition_says(events):
    table = table_of(events)
    ordered = oracles.sort(events, "user", "n")
    assert table.frame.rows(named=True) == ordered
    assert table.persons.to_list() == oracles.persons(events, "user")
    assert [events[row - 1] for row in table.rows.tolist()] == ordered
    assert sorted(table.rows.tolist()) == list(range(1, len(events) + 1))


@given(event_lists(order=st.sampled_from(["b", "a", "10", "9", "B", "é"])))
def test_an_order_that_is_not_all_numbers_is_text(events):
    assert table_of(events).frame.rows(named=True) == oracles.sort(events, "user", "n")


@given(event_lists(order=st.sampled_from(["1", "2"]), claim=st.sampled_from(["9", "10", None])))
def test_ties_follow_the_tie_column_and_then_the_file(events):
    table = table_of(events, ("user", "n", "page", "claim"), tie="claim")
    assert table.frame.rows(named=True) == oracles.sort(events, "user", "n", "claim")


@given(event_lists())
def test_round_trip_through_codes_loses_nothing(events):
    table = table_of(events)
    sequences = table.sequences
    assert sequences.to_rows() == oracles.sequences(oracles.sort(events, "user", "n"), "user", "page")
    texts = pl.Series(sequences.codebooks["page"].decode(sequences.columns["page"]), dtype=pl.String)
    back = table.frame.with_columns(texts.replace("(missing)", None).alias("page"))
    restored = back.with_columns(pl.Series("row", table.rows)).sort("row").drop("row")
    assert restored.rows(named=True) == events


@given(event_lists())
def test_codes_are_dense_and_ordered_by_label(events):
    sequences = table_of(events).sequences
    labels = ["(missing)" if event["page"] is None else event["page"] for event in events]
    assert list(sequences.codebooks["page"].labels) == oracles.in_label_order(labels)
    assert set(sequences.columns["page"].tolist()) == set(range(len(set(labels))))
    assert sequences.columns["page"].dtype == np.int32


@given(event_lists(), st.randoms(use_true_random=False))
def test_shuffling_the_rows_of_a_file_without_ties_changes_only_the_order_of_persons(events, random):
    numbered = [{**event, "n": str(place)} for place, event in enumerate(events)]
    shuffled = random.sample(numbered, len(numbered))
    first, second = table_of(numbered), table_of(shuffled)
    by_person = dict(zip(first.persons, first.sequences.to_rows(), strict=True))
    assert dict(zip(second.persons, second.sequences.to_rows(), strict=True)) == by_person


@given(event_lists())
def test_from_frame_groups_without_sorting(events):
    frame = pl.DataFrame(
        {"user": [event["user"] for event in events], "page": [event["page"] for event in events]},
        schema={"user": pl.String, "page": pl.String},
    )
    assert Sequences.from_frame(frame, person="user", columns=["page"]).to_rows() == oracles.sequences(
        events, "user", "page"
    )


def test_ten_comes_after_nine():
    events = [{"user": "a", "n": n, "page": f"p{n}"} for n in ("10", "9", "2")]
    assert table_of(events).sequences.to_rows() == [("p2", "p9", "p10")]


def test_numbers_too_long_for_a_float_are_still_told_apart():
    order = [
        "12345678901234567891",
        "12345678901234567890",
        "12345678901234567890.5",
        "12345678901234567890.0",
    ]
    events = [{"user": "a", "n": n, "page": str(place)} for place, n in enumerate(order)]
    table = table_of(events)
    assert table.sequences.to_rows() == [("1", "3", "2", "0")]
    assert [(problem.count, problem.rows) for problem in table.problems] == [(2, (2, 4))]


def test_empty_table():
    table = table_of([])
    assert (table.n_persons, table.n_events) == (0, 0)
    assert table.sequences.to_rows() == []
    assert table.problems == ()


def test_one_person_with_one_event():
    table = table_of([{"user": "a", "n": "1", "page": "x"}])
    assert table.sequences.to_rows() == [("x",)]
    assert table.person_offsets.tolist() == [0, 1]


def test_a_person_called_na_is_a_person_and_an_empty_text_is_missing():
    table = table_of([{"user": "NA", "n": "1", "page": ""}])
    assert table.persons.to_list() == ["NA"]
    assert table.frame["page"].to_list() == [None]
    assert table.sequences.to_rows() == [("(missing)",)]


def test_the_input_is_left_as_it_is():
    frame = pl.DataFrame({"user": ["b", "a", "b"], "n": [2, 1, 1], "page": ["x", "", "y"]})
    before = frame.clone()
    EventTable(frame, CLICKS)
    assert frame.equals(before)
    assert frame.schema == before.schema
    with pytest.raises(dataclasses.FrozenInstanceError):
        EventTable(frame, CLICKS).rows = None


NATIVE = {"user": [7, 5, 7], "n": [2.5, 1.0, 1.5], "page": ["x", "y", "z"]}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_any_frame_with_an_arrow_stream_will_do(make):
    table = EventTable(make(NATIVE), CLICKS)
    assert table.persons.to_list() == ["7", "5"]
    assert table.frame["user"].to_list() == ["7", "7", "5"]
    assert table.sequences.to_rows() == [("z", "x"), ("y",)]


def test_pandas_index_nan_and_missing_dates():
    frame = pd.DataFrame(
        {
            "user": ["a", "a"],
            "at": pd.to_datetime(["2020-01-02", "2020-01-01"]),
            "page": [1.5, float("nan")],
        },
        index=[5, 9],
    )
    table = EventTable(frame, Schema(person="user", time="at", symbol="page"))
    assert table.sequences.to_rows() == [("(missing)", "1.5")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1, 2], "a table must be a polars or pandas frame or have an Arrow stream, got list"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the DataFrame cannot be read as a table: "),
        (pd.DataFrame({"a": [1, "x"]}), "the DataFrame cannot be read as a table: "),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(given, said):
    with pytest.raises(SchemaError) as caught:
        EventTable(given, CLICKS)
    assert str(caught.value).startswith(said)
    assert len(caught.value.lines) == 1
    assert "\n" not in str(caught.value)


def test_each_row_may_be_a_person():
    frame = pl.DataFrame({"page": ["x", "x", "y"]})
    table = EventTable(frame, Schema(person="row", symbol="page"))
    assert table.persons.to_list() == ["1", "2", "3"]
    assert table.sequences.to_rows() == [("x",), ("x",), ("y",)]
    assert table.problems == ()


def test_a_released_table_is_an_event_table():
    frame = pl.DataFrame({"person": ["p2", "p2", "p1"], "order": [1, 2, 1], "page": ["x", "(missing)", "*"]})
    schema = Schema(person="person", order="order", symbol="page", released=True)
    assert EventTable(frame, schema).sequences.to_rows() == [("x", "(missing)"), ("*",)]


def test_columns_keep_what_they_hold_and_dropped_ones_are_gone():
    frame = pl.DataFrame(
        {"user": ["a"], "n": [1], "page": ["x"], "ward": [3], "name": ["Ann"], "tags": [["p", "q"]]}
    )
    schema = Schema(person="user", order="n", symbol="page", keep=["ward"], drop=["name", "tags"])
    table = EventTable(frame, schema)
    assert table.frame.columns == ["user", "n", "page", "ward"]
    assert table.frame["ward"].to_list() == [3]
    assert table.symbol == "page"


NAMES = ["*", "^x", "rows", "value", "owner", "row", "key 0", "literal", "a b", "len", "person"]


@pytest.mark.parametrize("name", NAMES)
def test_columns_may_have_any_name(name):
    frame = pl.DataFrame({"u": ["b", "a", "b"], "n": [2, 1, 1], name: ["x", "y", "z"], "d": [1, 2, 3]})
    roles = {"person": "u", "order": "n", "drop": ["d"]}
    if name != "person":
        table = EventTable(frame, Schema(**roles, quasi={name: Hierarchy.flat()}))
        assert table.sequences.to_rows(name) == [("z", "x"), ("y",)]
        assert table.frame.columns == ["u", "n", name]
        assert set(table.hierarchies[name].labels) == {"*", "x", "y", "z"}
    as_order = EventTable(frame, Schema(person="u", order=name, symbol="d", drop=["n"]))
    assert as_order.sequences.to_rows() == [("1", "3"), ("2",)]
    if name != "row":
        as_person = EventTable(frame, Schema(person=name, order="n", symbol="d", drop=["u"]))
        assert as_person.persons.to_list() == ["x", "y", "z"]


def test_several_attributes_share_the_offsets():
    frame = pl.DataFrame(
        {"p": ["a", "b", "a"], "v": [2, 1, 1], "D1": ["x", "y", None], "D2": [None, "x", "z"]}
    )
    schema = Schema(person="p", order="v", sensitive={"D": ["x"]})
    schema = dataclasses.replace(
        schema, sensitive={"D": dataclasses.replace(schema.sensitive["D"], columns=("D1", "D2"))}
    )
    table = EventTable(frame, schema)
    assert table.symbol is None
    assert list(table.sequences.columns) == ["D1", "D2"]
    assert table.sequences.to_rows("D1") == [("(missing)", "x"), ("y",)]
    assert table.sequences.to_rows("D2") == [("z", "(missing)"), ("x",)]
    assert table.protected == {"D": frozenset({"x"})}
    with pytest.raises(SchemaError, match="one attribute is needed, there are 2: D1, D2"):
        table.sequences.to_rows()


def test_a_table_travels_to_another_process():
    frame = pl.DataFrame({"u": ["a", "a"], "n": [2, 1], "q": ["x", "y"]})
    table = EventTable(frame, Schema(person="u", order="n", quasi={"q": Hierarchy.flat()}))
    copy = pickle.loads(pickle.dumps(table))
    assert copy.schema == table.schema
    assert copy.sequences.to_rows() == table.sequences.to_rows() == [("y", "x")]


@given(event_lists(), st.data())
def test_some_persons_are_the_table_of_their_events(events, data):
    table = table_of(events)
    numbers = data.draw(st.lists(st.integers(0, max(table.n_persons - 1, 0)), unique=True))
    numbers = numbers if table.n_persons else []
    part = table.take(np.array(numbers, np.int64))
    keys = [table.persons[number] for number in numbers]
    rows = table.sequences.to_rows()
    assert part.persons.to_list() == keys
    assert part.sequences.to_rows() == [rows[number] for number in numbers]
    assert set(part.labels["page"]) == {label for number in numbers for label in rows[number]}
    whole = table.take(np.array(numbers, np.int64), keep_labels=True)
    assert whole.labels == table.labels
    assert whole.sequences.to_rows() == part.sequences.to_rows()


def test_a_sample_has_at_least_one_person_and_repeats_by_its_seed():
    events = [{"user": str(n // 3), "n": str(n), "page": "x"} for n in range(30)]
    table = table_of(events)
    assert table.sample(persons=10, events=30, seed="s") is table
    assert table.sample(persons=4, events=1, seed="s").n_persons == 1
    part = table.sample(persons=4, events=9, seed="s")
    assert part.n_persons == 3
    assert part.frame.equals(table.sample(persons=4, events=9, seed="s").frame)
