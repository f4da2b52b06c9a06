"""Events survive every way through the formats that can hold them, and what cannot be held is said."""

from __future__ import annotations

import gzip
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.errors import InputError
from sequester.io import read_frame
from sequester.io.xes import ACTIVITY, CASE, TIME
from sequester.workflow.convert import Roles, Source, convert

TABLES = ("csv", "tsv.gz", "parquet", "arrow")
LOGS = ("xes.gz", *TABLES)
SEQUENCES = ("spmf.gz", "xes", "csv", "parquet", "arrow")

few = settings(max_examples=max(settings().max_examples // 20, 5))


def through(folder, frame, *endings, **roles):
    """Write a frame as a table, take it through each ending, and read what comes out."""
    path = folder / "start.arrow"
    path.unlink(missing_ok=True)
    frame.write_ipc(path)
    for number, ending in enumerate(endings):
        out = folder / f"{number}.{ending}"
        convert(Source(path=path, roles=Roles(**roles)), out, force=True)
        path, roles = out, {}
    return read_frame(path)


def as_text(frame):
    return frame.cast(pl.String)


letters = st.characters(
    codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff\ufeff"
)
texts = st.text(letters | st.sampled_from(',;"\n\t|&<'), min_size=1, max_size=4)
gaps = st.none() | texts


@st.composite
def logs(draw):
    """A log as XES would give it: cases together, columns of traces constant in them."""
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    names = draw(st.lists(texts, min_size=len(lengths), max_size=len(lengths), unique=True))
    size = sum(lengths)
    cases = [name for name, length in zip(names, lengths, strict=True) for _ in range(length)]
    ages = [draw(gaps) for _ in lengths]
    seconds = draw(st.lists(st.integers(0, 10**9), min_size=size, max_size=size))
    return pl.DataFrame(
        {
            CASE: cases,
            ACTIVITY: draw(st.lists(texts, min_size=size, max_size=size)),
            TIME: pl.from_epoch(pl.Series(seconds)).dt.to_string("%Y-%m-%dT%H:%M:%S+00:00"),
            "case:age": [age for age, length in zip(ages, lengths, strict=True) for _ in range(length)],
            "cost": draw(st.lists(gaps, min_size=size, max_size=size)),
        },
        schema_overrides={"case:age": pl.String, "cost": pl.String},
    )


@few
@given(logs())
@pytest.mark.parametrize("endings", list(permutations(LOGS, 2)), ids="-".join)
def test_event_logs_survive_any_two_formats(tmp_path_factory, endings, frame):
    filled = [column for column in frame.columns if frame[column].null_count() < frame.height]
    found = through(tmp_path_factory.mktemp("log"), frame, *endings)
    assert found.select(filled).equals(frame.select(filled))
    assert set(found.columns) <= set(frame.columns)


@st.composite
def baskets(draw, size=3, symbols=texts):
    """Persons, places of itemsets and symbols as SPMF would give them."""
    rows = []
    for person in range(1, draw(st.integers(1, 3)) + 1):
        for place in range(1, draw(st.integers(1, 3)) + 1):
            rows += [(person, place, draw(symbols)) for _ in range(draw(st.integers(1, size)))]
    return pl.DataFrame(rows, schema=["person", "order", "symbol"], orient="row")


plain = st.text(letters | st.sampled_from(',;"|&<'), min_size=1, max_size=4)


@few
@given(baskets(symbols=plain) | baskets(symbols=st.integers(0, 9).map(str)))
@pytest.mark.parametrize("endings", list(permutations(SEQUENCES, 2)), ids="-".join)
def test_itemsets_survive_any_two_formats(tmp_path_factory, endings, frame):
    found = through(tmp_path_factory.mktemp("sets"), frame, *endings, "spmf")
    assert as_text(found).equals(as_text(frame))


@few
@given(baskets(size=1, symbols=st.sampled_from(["news", "tech", "9", "10"])))
@pytest.mark.parametrize("ending", SEQUENCES)
def test_sequences_survive_the_uci_format(tmp_path_factory, ending, frame):
    found = through(tmp_path_factory.mktemp("seq"), frame, "seq", ending, "seq.gz")
    assert as_text(found).equals(as_text(frame))


@st.composite
def tables(draw):
    columns = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
    height = draw(st.integers(1, 4))
    values = {name: draw(st.lists(gaps, min_size=height, max_size=height)) for name in columns}
    return pl.DataFrame(values, schema=dict.fromkeys(columns, pl.String))


@few
@given(tables())
@pytest.mark.parametrize("endings", list(permutations(TABLES, 2)), ids="-".join)
def test_tables_survive_any_two_formats(tmp_path_factory, endings, frame):
    assert through(tmp_path_factory.mktemp("table"), frame, *endings).equals(frame)


def lost(folder, text, out, **roles):
    (folder / "in.csv").write_text(text)
    done = convert(Source(path=folder / "in.csv", roles=Roles(**roles)), folder / out, force=True)
    return list(done.lost), read_frame(folder / out)


VISITS = "user,at,page,ward\nb,2010-01-02,news,1\na,2010-01-01,news,2\nb,2010-01-01,,1\nb,2010-01-02,tech,1\n"


def test_what_spmf_cannot_hold_is_said(tmp_path):
    said, frame = lost(tmp_path, VISITS, "out.spmf", person="user", time=["at"], symbol="page")
    assert said == [
        "1 event has no symbol and cannot be written",
        "names of persons are left out: persons are lines, in the order in which they first appear",
        "columns are left out, only the order of events stays: 'at', 'ward'",
        "rows are in another order: by person, and in time for each person",
        "1 event is in the itemset of the event before, which has the same time",
    ]
    assert frame.rows() == [(1, 1, "news"), (1, 1, "tech"), (2, 1, "news")]


def test_what_the_uci_format_cannot_hold_is_said(tmp_path):
    text = "person,order,symbol\n1,1,news\n1,1,tech\n2,1,\n"
    said, frame = lost(tmp_path, text, "out.seq")
    assert said == [
        "1 event has no symbol and cannot be written",
        "1 person has no event with a symbol and cannot be written",
        "columns are left out, only the order of events stays: 'order'",
        "1 event comes after another that is at the same time: the format has no itemsets",
    ]
    assert frame.rows() == [(1, 1, "news"), (1, 2, "tech")]


def test_what_xes_cannot_hold_is_said(tmp_path):
    text = f"user,day,clock,page,none,{ACTIVITY},x\nb,20100102,0930,news,,old,a\x01\n"
    text += "a,20100101,1200,news,,old,b\nb,20100101,0000,tech,,old,c\n"
    said, frame = lost(
        tmp_path,
        text,
        "out.xes",
        person="user",
        time=["day", "clock"],
        time_format="%Y%m%d %H%M",
        symbol="page",
    )
    assert said == [
        f"columns have other names: 'user' is {CASE}, 'page' is {ACTIVITY}, 'day', 'clock' is {TIME}",
        "rows are in another order: by person, and in time for each person",
        "times are written in UTC, as ISO 8601: 'day', 'clock'",
        f"column '{ACTIVITY}' is left out: 'page' has its name there",
        "column 'x': 1 value has a control character, replaced by \ufffd",
        "columns without any value are left out: 'none'",
    ]
    assert frame.to_dicts() == [
        {CASE: "b", ACTIVITY: "tech", TIME: "2010-01-01T00:00:00+00:00", "x": "c"},
        {CASE: "b", ACTIVITY: "news", TIME: "2010-01-02T09:30:00+00:00", "x": "a\ufffd"},
        {CASE: "a", ACTIVITY: "news", TIME: "2010-01-01T12:00:00+00:00", "x": "b"},
    ]


def test_times_that_cannot_be_read_stay_text(tmp_path):
    said, frame = lost(tmp_path, f"{CASE},{ACTIVITY},{TIME}\n1,a,soon\n1,b,2010-01-01\n", "out.xes")
    assert said == [f"column '{TIME}': 1 time cannot be read, so the column is text and not time"]
    assert frame[TIME].to_list() == ["soon", "2010-01-01"]


def test_every_row_may_be_a_person(tmp_path):
    said, frame = lost(tmp_path, "page\nnews\ntech\n", "out.spmf", person="row", symbol="page")
    assert said == []
    assert frame.rows() == [(1, 1, "news"), (2, 1, "tech")]
    said, frame = lost(tmp_path, "page\nnews\ntech\n", "out.xes", person="row", symbol="page")
    assert said == [
        "persons are called by the numbers of their rows",
        f"columns have other names: 'page' is {ACTIVITY}",
    ]
    assert frame.rows() == [("1", "news"), ("2", "tech")]


def test_types_that_text_does_not_have_are_said(tmp_path):
    pl.DataFrame({"a": [1], "b": [""], "c": ["x"]}).write_parquet(tmp_path / "in.parquet")
    done = convert(Source(path=tmp_path / "in.parquet"), tmp_path / "out.tsv")
    assert done.lost == (
        "types are left out, everything is text: 'a' (Int64)",
        "1 empty text is a missing value there",
    )
    assert (tmp_path / "out.tsv").read_bytes() == b"a\tb\tc\n1\t\tx\n"


def test_what_an_event_log_has_beside_events_is_said(tmp_path):
    (tmp_path / "in.xes").write_text('<log><trace><event><string key="a" value="x"/></event></trace></log>')
    done = convert(Source(path=tmp_path / "in.xes"), tmp_path / "out.csv")
    (line,) = done.lost
    assert line.startswith("of the XES file, only traces, events and their attributes are taken")


def test_a_configuration_says_who_when_and_what(tmp_path):
    (tmp_path / "visits.txt").write_bytes(VISITS.replace(",", ";").replace("news", "näws").encode("latin-1"))
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "visits.txt"\nformat = "csv"\nencoding = "latin-1"\nperson = "user"\ntime = "at"\n'
        'drop = ["ward"]\n[data.symbol]\ncolumn = "page"\n'
    )
    source = Source(path=tmp_path / "release.toml")
    convert(source, tmp_path / "out.spmf")
    assert read_frame(tmp_path / "out.spmf").rows() == [(1, 1, "näws"), (1, 1, "tech"), (2, 1, "näws")]
    wards = Source(path=tmp_path / "release.toml", roles=Roles(symbol="ward"))
    convert(wards, tmp_path / "wards.spmf")
    assert read_frame(tmp_path / "wards.spmf")["symbol"].to_list() == ["1", "1", "1", "2"]


def test_sequences_of_a_configuration_need_no_roles(tmp_path):
    (tmp_path / "bikes.txt").write_text("7 8 -1 7 -1 -2\n")
    (tmp_path / "release.toml").write_text('[data]\npath = "bikes.txt"\nformat = "spmf"\n')
    done = convert(Source(path=tmp_path / "release.toml"), tmp_path / "out.csv")
    assert done.to_json() == {
        "path": str(tmp_path / "out.csv"),
        "format": "csv",
        "rows": 3,
        "persons": None,
        "partitioned_by": None,
        "lost": ["types are left out, everything is text: 'person' (Int64), 'order' (Int64)"],
    }


@pytest.mark.parametrize(
    ("text", "out", "roles", "lines"),
    [
        (
            "a,b\n1,2\n",
            "out.xes",
            {},
            [
                "--person is needed: the column of persons, or row where each row is a person",
                "--symbol is needed: the column that says what happened",
            ],
        ),
        (
            "a,b\n1,2\n",
            "out.spmf",
            {"person": "x", "order": "y", "time": ["z"], "symbol": "b"},
            [f"--{role} is '{name}', and the table has no such column" for role, name in
             [("person", "x"), ("order", "y"), ("time", "z")]],
        ),
        ("a,b\n,3\n", "x.seq", {"person": "a", "symbol": "b"}, ["column 'a': person is missing (1 row: 1)"]),
        (
            "a,b,t\n1,2,soon\n",
            "out.xes",
            {"person": "a", "symbol": "b", "time": ["t"]},
            ["column 't': 'soon' is not an ISO 8601 time, and no time_format is given (1 row: 1)"],
        ),
        (
            "a,b,t\n1,2,3\n",
            "out.xes",
            {"person": "a", "symbol": "b", "time": ["t"], "order": "t"},
            ["order and time are both given, and one of them is needed",
             "column 't' has 2 roles (order, time), and may have one"],
        ),
        ("a,b\n1,\n", "out.spmf", {"person": "a", "symbol": "b"}, ["column 'b': no event has a symbol"]),
    ],
)  # fmt: skip
def test_what_is_missing_is_asked_for_and_nothing_is_written(tmp_path, text, out, roles, lines):
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        convert(Source(path=tmp_path / "in.csv", roles=Roles(**roles)), tmp_path / out)
    assert list(caught.value.lines) == lines
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_cells_that_are_tables_are_refused(tmp_path):
    pl.DataFrame({"a": [[1]], "person": ["x"], "symbol": ["y"]}).write_parquet(tmp_path / "in.parquet")
    for out in ("out.csv", "out.xes"):
        with pytest.raises(InputError, match=r"^column 'a' holds List\(Int64\), which is not one text"):
            convert(Source(path=tmp_path / "in.parquet"), tmp_path / out)
    convert(Source(path=tmp_path / "in.parquet"), tmp_path / "out.spmf")
    assert read_frame(tmp_path / "out.spmf").rows() == [(1, 1, "y")]


@pytest.mark.real
@pytest.mark.parametrize(
    "name",
    [
        "SIGN",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in ("BIKE", "BMSWebView1", "LEVIATHAN", "MSNBC")
        ),
    ],
)
def test_real_sequences_come_back_byte_for_byte(shared_data, tmp_path, name):
    source = Source(path=shared_data / "spmf" / f"{name}.txt.gz", format="spmf")
    first = convert(source, tmp_path / "a.xes.gz")
    assert first.lost == (f"columns have other names: 'person' is {CASE}, 'symbol' is {ACTIVITY}",)
    convert(Source(path=tmp_path / "a.xes.gz"), tmp_path / "b.spmf")
    original = gzip.decompress(source.path.read_bytes())
    assert (tmp_path / "b.spmf").read_bytes().strip() == original.strip()


@pytest.mark.real
@pytest.mark.parametrize("name", ["08_receipt", "helpdesk", "running-example"])
def test_real_logs_come_back(shared_data, tmp_path, name):
    source = Source(path=shared_data / "eventlogs" / f"{name}.xes.gz")
    convert(source, tmp_path / "a.tsv")
    convert(Source(path=tmp_path / "a.tsv"), tmp_path / "b.xes")
    assert read_frame(tmp_path / "b.xes").equals(source.read())
