"""Event logs are written so that they read back, by us and by a parser that is not ours."""

from __future__ import annotations

import datetime as dt
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import logs as oracles
from sequester.errors import InputError
from sequester.io.xes import ACTIVITY, CASE, TIME, read_xes, write_xes

texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("&<>\"'\t\n\r ]"),
    min_size=1,
    max_size=5,
)
keys = st.sampled_from(["concept:name", "org:resource", "case:age", "case:sex", "a b"]) | texts


@st.composite
def logs(draw):
    """Cases that stand together, and columns of any text."""
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    names = draw(st.lists(texts, min_size=len(lengths), max_size=len(lengths), unique=True))
    cases = [name for name, length in zip(names, lengths, strict=True) for _ in range(length)]
    columns = {}
    for key in draw(st.lists(keys.filter(lambda key: key != CASE), max_size=3, unique=True)):
        values = draw(st.lists(st.none() | texts, min_size=len(cases), max_size=len(cases)))
        if draw(st.booleans()):
            values = [values[cases.index(case)] for case in cases]
        columns[key] = pl.Series(values, dtype=pl.String)
    return pl.Series(cases), columns


@given(logs())
def test_logs_come_back(log):
    cases, columns = log
    contents = write_xes(cases, columns)
    frame = read_xes(contents, "x.xes")
    filled = {key: column for key, column in columns.items() if column.null_count() < len(column)}
    expected = {CASE: cases, **filled}
    assert set(frame.columns) == expected.keys()
    assert all(frame[key].to_list() == column.to_list() for key, column in expected.items())
    assert oracles.read_xes(contents.decode()) == [
        {key: value for key, value in row.items() if value is not None} for row in frame.to_dicts()
    ]
    assert write_xes(cases, columns) == contents


def test_columns_of_traces_stand_in_traces_where_they_can():
    cases = pl.Series(["1", "1", "2"])
    columns = {"case:age": pl.Series(["7", "7", None]), "case:ward": pl.Series(["a", "b", "a"])}
    root = ElementTree.fromstring(write_xes(cases, columns))
    traces = [element for element in root if oracles.local(element) == "trace"]
    assert [oracles.attributes(trace) for trace in traces] == [
        {"concept:name": "1", "age": "7"},
        {"concept:name": "2"},
    ]
    events = [event for trace in traces for event in trace if oracles.local(event) == "event"]
    assert [oracles.attributes(event) for event in events] == [{"case:ward": each} for each in "aba"]


def test_types_have_elements_of_their_own():
    columns = {
        "n": pl.Series([7, None]),
        "x": pl.Series([0.5, float("inf")]),
        "yes": pl.Series([True, False]),
        TIME: pl.Series([dt.datetime(2010, 1, 2, 3, 4, 5, 600_000, tzinfo=dt.UTC), None]),
        "day": pl.Series([dt.date(2010, 1, 2), None]),
        "kind": pl.Series(["a", None], dtype=pl.Categorical),
    }
    written = write_xes(pl.Series(["1", "1"]), columns).decode()
    attributes = [line.strip() for line in written.split("<event>")[1].split("\n") if "key=" in line]
    assert attributes == [
        '<int key="n" value="7"/>',
        '<float key="x" value="0.5"/>',
        '<boolean key="yes" value="true"/>',
        '<date key="time:timestamp" value="2010-01-02T03:04:05.600+00:00"/>',
        '<date key="day" value="2010-01-02T00:00:00+00:00"/>',
        '<string key="kind" value="a"/>',
    ]
    assert '<float key="x" value="INF"/>' in written


def test_extensions_are_named_where_their_keys_are_used():
    columns = {ACTIVITY: pl.Series(["a"]), "case:org:group": pl.Series(["b"])}
    root = ElementTree.fromstring(write_xes(pl.Series(["1"]), columns))
    prefixes = [element.get("prefix") for element in root if oracles.local(element) == "extension"]
    assert prefixes == ["concept", "org"]


@pytest.mark.parametrize("bad", ["\0", "\x1b", "\uffff"])
def test_characters_that_xml_cannot_hold_are_refused(bad):
    for cases, columns in [(["x"], {"a": [bad]}), (["x"], {bad: ["a"]}), ([bad], {"a": ["x"]})]:
        with pytest.raises(InputError, match=r"XES cannot hold .* it has a control character"):
            write_xes(pl.Series(cases), {key: pl.Series(values) for key, values in columns.items()})
