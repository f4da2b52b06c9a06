"""Protected values by list, prefix and range."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import events as oracles
from sequester.data.schema import Protect, Schema, Sensitive, as_protection
from sequester.data.table import EventTable
from sequester.errors import ParameterError

CODES = ["042", "0421", "42", "633.9", "634", "634.1", "63492", "639", "6399", "640", "V51", "V510"]


@pytest.mark.parametrize(
    ("protect", "expected"),
    [
        (Protect(values=("634", "never")), ["634"]),
        (Protect(prefix=("042", "V51")), ["042", "0421", "V51", "V510"]),
        (Protect(range=("634-639",)), ["634", "634.1", "63492", "639", "6399"]),
        (Protect(range=("V51-V52", "042-042")), ["042", "0421", "V51", "V510"]),
        (Protect(values=("42",), prefix=("V",), range=("640-649",)), ["42", "640", "V51", "V510"]),
    ],
)
def test_rules(protect, expected):
    assert protect.of(CODES) == expected


@given(
    st.text("0123.V", max_size=6),
    st.text("0123V", min_size=2, max_size=2),
    st.text("0123V", min_size=2, max_size=2),
)
def test_range_equals_the_definition(code, one, other):
    low, high = sorted([one, other])
    assert (Protect(range=(f"{low}-{high}",)).of([code]) == [code]) == oracles.is_in_range(code, low, high)


@pytest.mark.parametrize("text", ["634", "634-", "-639", "639-634", "9-12", "a-b-c", ""])
def test_a_range_needs_two_bounds_of_one_length_in_order(text):
    with pytest.raises(
        ParameterError, match="range must be two bounds of the same length in order, such as 634-639"
    ):
        Protect(range=(text,))


def test_what_protects_nothing_or_everything_is_refused():
    with pytest.raises(
        ParameterError, match="protect must name at least one value, prefix or range, got none"
    ):
        Protect()
    with pytest.raises(ParameterError, match="prefix must have at least one character"):
        Protect(prefix=("",))
    with pytest.raises(ParameterError, match="values must be a list of texts, got 'HIV'"):
        Protect(values="HIV")
    with pytest.raises(ParameterError, match="protect must be a list of values"):
        Sensitive(protect="everything")


def claims(protect):
    frame = pl.DataFrame(
        {"u": ["a", "a"], "n": [1, 2], "D1": ["042", "633"], "D2": [None, "6341"], "x": ["1", "2"]}
    )
    sensitive = {"D": Sensitive(columns=("D1", "D2"), protect=protect)}
    return EventTable(frame, Schema(person="u", order="n", sensitive=sensitive, drop=["x"]))


def test_all_is_every_value_that_occurs_and_no_gap():
    table = claims("all")
    assert table.protected == {"D": frozenset({"042", "633", "6341"})}
    assert table.problems == ()


def test_several_columns_are_one_attribute_and_a_rule_without_a_match_is_named():
    table = claims(Protect(values=("633", "E9"), prefix=("04", "V"), range=("634-639", "700-709")))
    assert table.protected == {"D": frozenset({"042", "633", "6341", "E9"})}
    assert [str(problem) for problem in table.problems] == [
        "sensitive attribute 'D': the protected value 'E9' does not occur in the data",
        "sensitive attribute 'D': the protected prefix 'V' does not occur in the data",
        "sensitive attribute 'D': the protected range '700-709' does not occur in the data",
    ]


def test_a_column_of_values_is_a_list_of_them():
    schema = Schema("p", "o", sensitive={"D": pl.Series(["633", "042"])})
    assert schema.sensitive["D"].protect == Protect(values=("633", "042"))


def test_a_table_is_taken_as_in_the_configuration():
    assert as_protection({"prefix": ["B2"], "range": ["634-639"]}) == Protect(
        prefix=("B2",), range=("634-639",)
    )
    with pytest.raises(ParameterError, match="may have values, prefix and range, got 'prefixes'"):
        as_protection({"prefixes": ["B2"]})
    with pytest.raises(ParameterError, match="prefix must be a list of texts"):
        as_protection({"prefix": "B2"})
