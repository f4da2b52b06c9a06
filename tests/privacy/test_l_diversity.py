"""LEligibility and LDiversity against the oracle, one record short, and at the edges."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import l_diversity as oracle
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.errors import InputError, ParameterError
from sequester.hierarchies import Hierarchy
from sequester.privacy import MODELS, LDiversity, LEligibility, RecordModel
from sequester.privacy.l_diversity import Skew

records = st.lists(st.tuples(st.sampled_from("123"), st.sampled_from("abc")), max_size=14)
levels = st.sampled_from([2, 3, "3/2", 2.5, "7/3"])


def events(rows):
    return pl.DataFrame(rows, schema={"time": pl.String, "ill": pl.String}, orient="row")


def groups_of(rows):
    """Every snapshot in groups by the letter before its value: (time, group, value)."""
    return [(time, 1 + "123".index(time) * 2 + n % 2, value) for n, (time, value) in enumerate(rows)]


@given(records, levels)
def test_eligibility_equals_the_definition(rows, asked):
    verdict = LEligibility(l=asked).check_tables({"events": events(rows)})
    places = oracle.by_place(rows)
    broken = oracle.too_frequent(places, Fraction(str(asked)))
    assert verdict.holds == (not broken)
    assert verdict.violations == len(broken)
    best = oracle.achieved(places)
    assert verdict.achieved["l"] == (float(Fraction(str(asked))) if best is None else float(best))
    assert {(w.place, w.value, w.count, w.size) for w in verdict.witnesses} <= broken


@given(records, levels)
def test_diversity_equals_the_definition_in_one_table_and_in_two(rows, asked):
    grouped = groups_of(rows)
    places = oracle.by_place([((time, group), value) for time, group, value in grouped])
    broken = oracle.too_frequent(places, Fraction(str(asked)))
    one = pl.DataFrame(
        grouped, schema={"time": pl.String, "group": pl.Int64, "ill": pl.String}, orient="row"
    ).select("time", "ill", "group")
    values = (
        one.group_by("group", "ill", maintain_order=True)
        .len("count")
        .with_columns(pl.col("count").cast(pl.Int64))
    )
    model = LDiversity(l=asked)
    in_one = model.check_tables({"records": one})
    in_two = model.check_tables({"records": one.drop("ill"), "values": values})
    assert in_one.holds == in_two.holds == (not broken)
    assert in_one.violations == in_two.violations == len(broken)
    assert in_one.achieved == in_two.achieved
    assert set(in_two.witnesses) == set(in_one.witnesses)


def test_one_record_short_of_eligible_is_named():
    rows = [("1", value) for value in "aabbcc"] + [("2", value) for value in "aabbc"]
    verdict = LEligibility(l=3).check_tables({"events": events(rows)})
    assert not verdict
    assert verdict.witnesses == (
        Skew(place="2", attribute="ill", value="a", count=2, size=5),
        Skew(place="2", attribute="ill", value="b", count=2, size=5),
    )
    assert LEligibility(l=3).check_tables({"events": events([*rows, ("2", "c")])})


def test_one_record_short_of_diverse_is_named():
    table = pl.DataFrame({"time": ["1"] * 5, "ill": list("aabcd"), "group": [1, 1, 1, 2, 2]})
    verdict = LDiversity(l=2).check_tables({"records": table})
    assert list(map(str, verdict.witnesses)) == ["group 1 of 1: ill = a in 2 of 3 records"]


def test_two_tables_that_do_not_tell_of_the_same_records_are_believed_in_nothing():
    table = pl.DataFrame({"time": ["1", "1", "2"], "age": ["3", "4", "5"], "group": [1, 1, 1]})
    values = pl.DataFrame({"group": [1, 1, 2], "ill": ["a", "b", "a"], "count": [1, 1, 1]})
    verdict = LDiversity(l=2).check_tables({"records": table, "values": values})
    assert not verdict
    assert verdict.achieved == {"l": 0.0}
    assert verdict.witnesses == (
        "group 1 is in 2 snapshots",
        "group 1 has 3 records, and 2 values are listed",
        "group 2 has 0 records, and 1 values are listed",
    )
    twice = pl.DataFrame({"group": [1, 1], "ill": ["a", "a"], "count": [1, 1]})
    assert not LDiversity(l=2).check_tables({"records": table.head(2), "values": twice})


TABLE = EventTable(
    pl.DataFrame({"who": list("abcd"), "n": [1, 1, 2, 2], "age": ["1", "1", "2", "2"], "ill": list("xyxx")}),
    Schema(person="who", order="n", quasi={"age": Hierarchy.flat()}, sensitive={"ill": "all"}),
)


def test_a_table_as_it_stands_is_judged_by_its_order():
    assert LEligibility(l=2).check(TABLE).achieved == {"l": 1.0}
    verdict = LEligibility(l=2).about(TABLE).check(TABLE)
    assert list(map(str, verdict.witnesses)) == ["2: ill = x in 2 of 2 records"]
    assert LDiversity(l=2).about(TABLE).check(TABLE).witnesses[0].value == "x"


def test_a_table_as_it_stands_is_judged_by_its_days():
    frame = pl.DataFrame(
        {"who": list("ab"), "at": ["2010-01-31T10:00", "2010-01-31T11:00"], "ill": ["x", "y"]}
    )
    table = EventTable(frame, Schema(person="who", time="at", sensitive={"ill": "all"}))
    assert LEligibility(l=2).check(table)
    assert LDiversity(l=2).check(table)


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(InputError, match="needs a table with a schema"):
        LEligibility(l=2).check(Sequences.from_rows(["ab"]))
    rows = EventTable(pl.DataFrame({"ill": ["x"]}), Schema(person="row", sensitive={"ill": "all"}))
    with pytest.raises(InputError, match="neither order nor time"):
        LEligibility(l=2).check(rows)
    two = EventTable(
        pl.DataFrame({"who": ["a"], "n": [1], "D1": ["x"], "D2": ["y"]}),
        Schema(person="who", order="n", sensitive={"D1": "all", "D2": "all"}),
    )
    with pytest.raises(InputError, match=r"exactly one sensitive attribute .* there are 2 with 2 columns"):
        LDiversity(l=2).about(two)


@pytest.mark.parametrize(
    ("model", "tables", "message"),
    [
        (LEligibility(l=2), {}, "one table of records, there are 0"),
        (LEligibility(l=2, sensitive="no"), {"events": events([])}, "needs a column 'no'"),
        (LDiversity(l=2), {"events": events([])}, "about the table 'records'"),
        (LDiversity(l=2), {"records": events([])}, "needs a column 'group'"),
        (
            LDiversity(l=2, sensitive="no"),
            {"records": pl.DataFrame({"time": ["1"], "group": [1]})},
            "needs a column 'no', and the table 'records' has none",
        ),
    ],
)
def test_tables_that_lack_something_are_refused(model, tables, message):
    with pytest.raises(InputError, match=message):
        model.check_tables(tables)


@pytest.mark.parametrize("kind", [LEligibility, LDiversity])
def test_parameters(kind):
    assert kind(l=2.0).l == 2
    assert kind(l=2.5).l == "5/2"
    assert isinstance(kind(l=2), RecordModel)
    assert MODELS[kind.__name__] is kind
    assert not kind(l=2).needs_original
    assert kind(l=3, sensitive="ill").claim() == {"l": 3, "sensitive": "ill"}
    assert "no value of ill belongs to more than 1/3" in kind(l=3, sensitive="ill").in_words()
    for wrong, message in (
        (1, "above 1"),
        (True, "a number or"),
        ("x", "a number or"),
        ("1/0", "a number or"),
        (None, "a number or"),
        (10**12, "nine digits"),
        (float("nan"), "a number or"),
    ):
        with pytest.raises(ParameterError, match=message):
            kind(l=wrong)
