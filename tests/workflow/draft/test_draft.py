"""Every column has one role, whatever the table, and the configuration is accepted as it is written."""

from __future__ import annotations

import datetime as dt
import tomllib
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from named_sensitive import count_sensitive, with_sensitive_named
from sequester.data.roles import roles_of
from sequester.data.table import EventTable
from sequester.errors import InputError, SequesterWarning
from sequester.workflow.build import make_schema
from sequester.workflow.draft.draft import make_draft
from sequester.workflow.init import DataFile, to_toml
from sequester.workflow.settings import Settings

KNOWN = (
    "user case_id id n at date clock page ZIP Disease D1 D2 order time count e-mail row seq * a.b größe #["
)
names = st.one_of(
    st.sampled_from([*KNOWN.split(), "first name", 'a"b', "a\nb", "\x7f"]), st.text(min_size=1, max_size=5)
)
texts = st.text(max_size=4)
cells = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1),
    st.lists(st.sampled_from(["1", "2", "30", "007", "2.5", "-1e3", "1e999", "9" * 30]), min_size=1),
    st.lists(
        st.sampled_from(["2010-01-31", "2011-02-03", "20100131", "2010-01-31 9:30", "soon"]), min_size=1
    ),
    st.lists(st.sampled_from(["31/01/2010", "1/2/2010", "03/04/2011", ""]), min_size=1),
    st.lists(st.sampled_from(["09:30", "9:30:15", "23:59:59.5"]), min_size=1),
    st.lists(
        st.sampled_from(["*", "(missing)", "", "x\ny", 'say "hi"', "\x85", "# x", "[method]"]), min_size=1
    ),
    st.lists(texts, min_size=1),
)
typed = st.one_of(
    cells,
    st.lists(st.integers(-5, 10**12) | st.none(), min_size=1),
    st.lists(st.floats(width=64) | st.none(), min_size=1),
    st.lists(st.booleans() | st.none(), min_size=1),
    st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)) | st.none(), min_size=1),
    st.lists(st.datetimes(min_value=dt.datetime(1900, 1, 1)).filter(lambda at: at.year < 2100), min_size=1),  # noqa: DTZ001
    st.lists(st.lists(st.integers(), max_size=2), min_size=1),
)


@st.composite
def frames(draw):
    """Tables of a few columns with odd names and values, now and then long enough to have keys."""
    height = draw(st.sampled_from([1, 2, 3, 5, 8, 30]))
    columns = draw(st.lists(st.tuples(names, typed), min_size=2, max_size=5, unique_by=lambda pair: pair[0]))
    return pl.DataFrame(
        {name: (values * height)[:height] for name, values in columns}, strict=False, nan_to_null=True
    )


def accepted(frame, text):
    """Load a configuration as ``inspect`` does, and give the roles of the columns."""
    settings = Settings.model_validate(tomllib.loads(text))
    schema = make_schema(settings.data, Path())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        EventTable(frame, schema)
    return roles_of(schema)


def drafted(frame, **options):
    try:
        return make_draft(frame, **options)
    except InputError:
        assume(False)


DATA = DataFile("data.csv")


@given(frames())
def test_a_draft_is_accepted_and_gives_every_column_one_role(frame):
    text = to_toml(drafted(frame), DATA)
    roles = accepted(frame, text)
    assert set(roles) == {*frame.columns}
    assert all(
        len(named) == 1 or named in (["order", "quasi"], ["time", "quasi"]) for named in roles.values()
    )
    assert not tomllib.loads(text)["data"].get("sensitive")


@given(frames(), st.integers(0, 5))
def test_it_is_accepted_as_soon_as_something_sensitive_is_named(frame, which):
    draft = drafted(frame)
    text = to_toml(draft, DATA)
    assume(draft.candidates)
    assert count_sensitive(text) == len(draft.candidates)
    roles = accepted(frame, with_sensitive_named(text, which))
    assert any("sensitive" in named for named in roles.values())


@given(frames(), st.data())
def test_the_word_of_the_steward_is_taken(frame, data):
    person = data.draw(st.sampled_from(["row", *frame.columns]))
    draft = drafted(frame, person=person)
    assert draft.person.column == person
    symbol = [] if draft.symbol is None else [draft.symbol]
    known = [each.column for each in (*draft.quasi, *symbol) if each.column not in draft.when_columns]
    assume(known)
    chosen = data.draw(st.sampled_from(known))
    said = draft.with_sensitive([chosen])
    roles = accepted(frame, to_toml(said, DATA))
    assert roles[chosen] == ["sensitive"]
    assert set(roles) == {*frame.columns}
    assert [each.name for each in said.sensitive] == [chosen]


def test_the_word_of_the_steward_is_taken_beside_coordinates():
    places = range(60)
    frame = pl.DataFrame(
        {
            "user": [f"u{place // 20}" for place in places],
            "at": [f"2024-05-{1 + place % 20:02d}" for place in places],
            "lat": [45 + place / 1000 for place in places],
            "lon": [9 + place / 1000 for place in places],
            "mood": [("good", "bad", "ok")[place % 3] for place in places],
        }
    )
    said = make_draft(frame).with_sensitive(["mood"])
    assert said.place is not None
    assert tomllib.loads(to_toml(said, DATA))["data"]["sensitive"] == {"mood": {"protect": "all"}}


@given(frames())
@example(pl.DataFrame({"user": ["a", "b"], "at": ["2010-01-31", "x\n[method]"], "#": ["\n#", "]\nk = 1"]}))
def test_nothing_in_the_data_gets_out_of_a_comment(frame):
    text = to_toml(drafted(frame), DATA)
    allowed = {"data", "release"}
    assert {*tomllib.loads(text)} == allowed
    for line in text.splitlines():
        if line.startswith("#"):
            assert line.isprintable()
    assert len(text.split("\n")) == len(text.splitlines()) + 1


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (pl.DataFrame({"a": ["x"]}), "there is one column, 'a', and events need two: who, and what happened"),
        (pl.DataFrame({"a": [], "b": []}, schema={"a": pl.String, "b": pl.String}), "there are no rows"),
        (pl.DataFrame(), "there are no rows"),
        (pl.DataFrame({"a": ["x"], "": ["y"]}), "column 2 has no name"),
        (pl.DataFrame({"user": ["x", "x"], "b": [None, None]}), "only 'user' has values"),
        (pl.DataFrame({"user": ["x", "y"], "email": ["a@b.org", "c@d.org"]}), "nothing is left to release"),
    ],
)
def test_what_is_no_table_of_events_is_refused(frame, line):
    with pytest.raises(InputError) as caught:
        make_draft(frame)
    assert caught.value.lines[0].startswith(line)


def roles(frame, **options):
    draft = make_draft(frame, **options)
    return {
        "person": draft.person.column,
        "when": draft.when_columns,
        "drop": [each.column for each in draft.drop],
        "symbol": None if draft.symbol is None else draft.symbol.column,
        "quasi": [each.column for each in draft.quasi],
    }


def test_one_activity_and_nothing_else_is_a_symbol():
    frame = pl.DataFrame({"user": list("aabb"), "at": ["2010-01-01"] * 4, "page": list("xyxz")})
    assert roles(frame)["symbol"] == "page"
    assert make_draft(frame).candidates == ()
    more = frame.with_columns(ward=pl.Series(list("pqpq")))
    assert roles(more) == {
        "person": "user",
        "when": ("at",),
        "drop": [],
        "symbol": None,
        "quasi": ["page", "ward"],
    }


def test_a_measure_is_no_symbol():
    frame = pl.DataFrame({"user": ["a", "b"] * 60, "n": range(120), "steps": [i * i for i in range(120)]})
    draft = make_draft(frame)
    assert draft.symbol is None
    assert [each.column for each in draft.quasi] == ["steps"]


def test_reserved_names_are_no_attributes():
    frame = pl.DataFrame(
        {"user": list("aabb"), "n": [1, 2, 1, 2], "count": [3, 4, 3, 4], "page": list("xyxz")}
    )
    draft = make_draft(frame)
    assert [each.column for each in draft.drop] == ["count"]
    assert "rename" in draft.drop[0].why
    with pytest.raises(InputError, match="sensitive must be one of 'page', got 'count'"):
        draft.with_sensitive(["count"])


def test_values_that_no_release_may_have_are_dropped_with_their_column():
    frame = pl.DataFrame(
        {
            "user": list("aabb"),
            "n": [1, 2, 1, 2],
            "star": ["*", "x", "y", "x"],
            "gap": ["(missing)", None, "y", "y"],
            "page": list("xyxz"),
        }
    )
    draft = make_draft(frame)
    reasons = {each.column: each.why for each in draft.drop}
    assert set(reasons) == {"star", "gap"}
    assert "'*'" in reasons["star"]
    assert "'(missing)' stands for a gap" in reasons["gap"]
    assert accepted(frame, to_toml(draft, DATA))


def test_numbered_columns_are_one_sensitive_attribute():
    frame = pl.DataFrame(
        {"user": list("aabb"), "n": [1, 2, 1, 2], "icd_1": list("xyxz"), "icd_2": list("zyxz")}
    )
    (candidate,) = make_draft(frame).candidates
    assert (candidate.name, candidate.columns) == ("icd", ("icd_1", "icd_2"))
    said = make_draft(frame).with_sensitive(["icd"])
    assert said.quasi == ()
    assert accepted(frame, to_toml(said, DATA)) == {
        "user": ["person"],
        "n": ["order"],
        "icd_1": ["sensitive"],
        "icd_2": ["sensitive"],
    }
    with pytest.raises(InputError, match="already part of another"):
        make_draft(frame).with_sensitive(["icd", "icd_1"])


def test_a_symbol_that_is_said_to_be_sensitive_is_no_symbol():
    frame = pl.DataFrame(
        {"user": list("aabb"), "n": [1, 2, 1, 2], "page": list("xyxz"), "name": list("ijij")}
    )
    assert make_draft(frame).with_sensitive(["page"]).symbol is None
    said = make_draft(frame).with_sensitive(["name"])
    assert (said.symbol, [each.column for each in said.quasi]) == (None, ["page"])
    assert said.drop == ()
    assert make_draft(frame).with_sensitive([]).symbol is not None


def test_rows_without_a_person_or_a_time_are_left_out_aloud():
    frame = pl.DataFrame(
        {
            "user": ["a", None, "b", "b"] * 20,
            "at": ["2010-01-01"] * 78 + ["soon", None],
            "page": ["x", "y", "x", "z"] * 20,
        }
    )
    draft = make_draft(frame)
    assert draft.invalid == (
        "20 rows have no person (2, 6, 10, 14, 18, ...)",
        "1 row has no time (80)",
        "1 row has an unreadable time (79)",
    )
    text = to_toml(draft, DATA)
    assert 'invalid = "drop"' in text
    assert accepted(frame, text)


def test_columns_that_are_times_of_one_thing_are_pointed_out():
    states = ["school", "work", "none"]
    months = {f"month{i}": [states[(i + row) % 3] for row in range(9)] for i in range(6)}
    draft = make_draft(pl.DataFrame({"id": [f"p{i}" for i in range(9)], **months}))
    assert draft.person.column == "row"
    (doubt,) = draft.doubts
    assert doubt.startswith("columns: 6 of them, 'month0' to 'month5', have the same values")


def test_an_order_that_was_sorted_away_is_pointed_out():
    rising = pl.DataFrame({"user": list("aaabbb"), "n": [1, 2, 3] * 2, "symbol": [1, 5, 9, 1, 5, 9]})
    assert [doubt for doubt in make_draft(rising).doubts if doubt.startswith("symbol: ")]
    falling = rising.with_columns(symbol=pl.Series([1, 9, 5, 1, 5, 9]))
    assert make_draft(falling).doubts == ()
