"""Releases of the same people, laid side by side: candidate sets are intersected."""

from __future__ import annotations

import polars as pl
import pytest

from oracles import series as oracle
from sequester.attacks.attack import attack_tables
from sequester.attacks.side_by_side import beside_one, lay_side_by_side
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies import Hierarchy

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
