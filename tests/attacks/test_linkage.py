"""Who is expected to be found, against a plain count; and what a record's group tells."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import series as oracle
from sequester.attacks.attack import attack_tables
from sequester.attacks.linkage import Linkage, beside_one, lay_side_by_side
from sequester.attacks.snapshots import guess_original, guess_records
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies import Hierarchy
from sequester.testing import record_table, symbol_table

rows = st.lists(st.text("abc", min_size=2, max_size=3), min_size=1, max_size=6)


def fits(pair, row):
    return any((row[i], row[j]) == pair for i, j in combinations(range(len(row)), 2))


@given(rows, st.integers(0, 5))
def test_leaving_persons_out_finds_no_more_than_before(before, left):
    after = before[: max(left, 1)]
    original, released = symbol_table(before), symbol_table(after)
    risk = Linkage(kind="ordered", known=2, measure="found").run(
        released, original=original, targets=60 * len(before)
    )
    low, high = risk.interval
    assert 0 <= low <= risk.value <= high <= 1
    assert risk.value <= risk.raw.value + 1e-12
    assert risk.name == "found"
    # Every pair that can be known of anybody gives a chance of one over those who fit before, or none.
    chances = {
        1 / sum(fits(pair, row) for row in before)
        for row in before
        for pair in ((row[i], row[j]) for i, j in combinations(range(len(row)), 2))
        if any(fits(pair, other) for other in after)
    }
    assert risk.value <= max(chances, default=0) + 1e-12


def test_where_nobody_is_left_out_it_is_the_mean_chance():
    table = symbol_table(["ab", "ab", "ba"])
    risk = Linkage(kind="ordered", known=2, measure="found").run(table, original=table, targets=300)
    assert risk.value == pytest.approx(2 / 3)
    assert risk.raw.value == risk.value


def test_a_candidate_set_that_grew_is_counted_as_it_is():
    risk = Linkage(kind="ordered", known=2, measure="found").run(
        symbol_table(["ab", "ab", "ab"]), original=symbol_table(["ab", "cc", "cc"]), targets=300
    )
    # One target in three fits three persons now; of the others nobody fits.
    assert risk.value == pytest.approx(1 / 9)


def test_the_group_of_a_record():
    frame = pl.DataFrame({"time": ["1", "1", "2"], "age": ["x", "x", "x"], "ill": ["flu", "cold", "flu"]})
    assert guess_records({"events": frame}, sensitive="ill").value == pytest.approx((0.5 + 0.5 + 1) / 3)
    grouped = frame.with_columns(group=pl.Series([1, 1, 1]))
    risk = guess_records({"records": grouped}, sensitive="ill")
    assert risk.value == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)
    assert risk.is_exact
    assert guess_records({"events": frame.clear()}, sensitive="ill").value == 0


def test_the_original_of_records():
    table = record_table(["ab", "bb", "aa", "ab"])
    # Persons 1 and 4 are of the same age, and alike.
    assert guess_original(table, sensitive="letter").value == 1
    table = record_table(["ab", "bb", "aa", "bb"])
    assert guess_original(table, sensitive="letter").value == pytest.approx((0.5 + 0.5 + 1 + 1 + 4) / 8)


STAY = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
AGE = Hierarchy.from_tree({"young": ["20", "30"], "old": ["60", "70"]})


def table(rows, *, released=True):
    """Rows of person, order, stay and age; nobody has anything that is protected."""
    columns = {"who": pl.String, "n": pl.Int64, "stay": pl.String, "age": pl.String, "ill": pl.String}
    quasi = {"stay": STAY, "age": AGE}
    schema = Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]}, released=released)
    return EventTable(pl.DataFrame([(*row, "flu") for row in rows], schema=columns, orient="row"), schema)


ORIGINAL = table(
    [("x", 1, "1", "20"), ("y", 1, "2", "20"), ("z", 1, "1", "60"), ("w", 1, "2", "60")], released=False
)
ONE = table([("a", 1, "1", "*"), ("b", 1, "2", "*"), ("c", 1, "1", "*"), ("d", 1, "2", "*")])
TWO = table([("e", 1, "*", "20"), ("f", 1, "*", "20"), ("g", 1, "*", "60"), ("h", 1, "*", "60")])
NAMES = [dict(zip("abcd", "xyzw", strict=True)), dict(zip("efgh", "xyzw", strict=True))]


def test_two_private_releases_leave_one_person():
    # Each release leaves two candidates; who is in both sets is alone, as in Fung et al. (2008).
    classes = [[{"x", "z"}, {"y", "w"}], [{"x", "y"}, {"z", "w"}]]
    assert oracle.intersection(classes, [0, 0]) == {"x"}
    joined = lay_side_by_side([ONE, TWO], NAMES)
    assert sorted(joined.frame.select("person", "stay", "age").rows()) == sorted(
        ORIGINAL.frame.select("who", "stay", "age").rows()
    )
    together, alone = (
        attack_tables(each, original=ORIGINAL, known=[2], kinds=["event"]) for each in (joined, ONE)
    )
    found = {risk.name: risk for risk in beside_one(together, alone)}
    assert found["unique_side_by_side"].value == 1.0
    assert found["unique_side_by_side"].control.value == 0.0
    assert found["prosecutor_side_by_side"].value == 1.0
    assert found["prosecutor_side_by_side"].control.value == 0.5
    assert all(risk.control_of == "one release" and risk.bound is None for risk in found.values())


def test_the_same_events_are_shown_once_with_the_finer_values():
    one = table([("a", 1, "short", "20"), ("a", 2, "*", "old")])
    two = table([("e", 1, "1", "young"), ("e", 2, "30", "60"), ("e", 3, "2", "70")])
    joined = lay_side_by_side([one, two], [{"a": "x"}, {"e": "x"}])
    assert joined.frame.select("stay", "age").rows() == [("1", "20"), ("30", "60"), ("2", "70")]


def test_other_events_come_one_after_the_other():
    one, two = table([("a", 1, "1", "20")]), table([("e", 1, "30", "60")])
    joined = lay_side_by_side([one, two], [{"a": "x"}, {"e": "x"}])
    assert joined.frame.select("order", "stay").rows() == [(1, "1"), (2, "30")]


def test_who_is_in_one_release_alone_is_no_candidate():
    one = table([("a", 1, "1", "20"), ("b", 1, "1", "20")])
    two = table([("e", 1, "1", "20")])
    joined = lay_side_by_side([one, two], [{"a": "x", "b": "y"}, {"e": "x"}])
    assert joined.persons.to_list() == ["x"]


def test_an_unknown_pseudonym_and_other_columns_are_refused():
    with pytest.raises(InputError, match="the pseudonym 'a' is not in the file"):
        lay_side_by_side([ONE, TWO], [{}, NAMES[1]])
    frame = pl.DataFrame({"who": ["a"], "n": [1], "ward": ["A"]})
    other = EventTable(
        frame,
        Schema(person="who", order="n", quasi={"ward": Hierarchy.from_edges([("A", "*")])}, released=True),
    )
    with pytest.raises(InputError, match="no quasi-identifier in common"):
        lay_side_by_side([ONE, other], NAMES)
