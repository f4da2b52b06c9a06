"""Attributes of persons are quasi-identifiers of each of their records."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sequester as sq
from methods.reposition.test_methods import TREE, release_of
from oracles import l_diversity as oracle

BORN = sq.Hierarchy.from_tree({"old": ["1", "2"], "young": ["3"]})


def table_of(rows, born):
    """Rows are (person, snapshot, age, letter); `born` has a row per person."""
    frame = pl.DataFrame(rows, schema=["who", "n", "age", "letter"], orient="row").cast({"age": pl.String})
    schema = sq.Schema(person="who", order="n", quasi={"age": TREE}, sensitive={"letter": "all"})
    persons = pl.DataFrame({"who": list(range(len(born))), "born": list(born)})
    return sq.EventTable(frame, schema, sq.Persons(persons, quasi={"born": BORN}))


rows_of = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from("1234"), st.sampled_from("abc")),
    min_size=4,
    max_size=20,
)
METHODS = {
    "reposition": lambda then: sq.Reposition(l=2, window=2, snapshot="order", then=then),
    "suppress-only": lambda then: sq.SuppressOnly(l=2, snapshot="order", then=then),
    "merge-snapshots": lambda then: sq.MergeSnapshots(l=2, snapshot="order", then=then),
}


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=20)
@given(rows_of, st.lists(st.sampled_from("123"), min_size=6, max_size=6))
def test_groups_agree_in_attributes_by_definition(name, rows, born):
    table = table_of(rows, born)
    release = release_of(METHODS[name]("generalize"), table)
    if release is None:
        return
    assert "persons" not in release.tables
    assert release.frame.columns == ["time", "born", "age", "letter", "group"]
    groups = oracle.by_place(release.frame.select("group", "letter").iter_rows())
    assert not oracle.too_frequent(groups, 2)
    shown = release.frame.group_by("group").agg(pl.col("born", "age").n_unique())
    assert shown.select("born", "age").max().row(0) == (1, 1)
    assert set(release.frame["born"]) <= set(release.hierarchies["born"]["node"])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("then", ["anatomy", "none"])
def test_records_have_the_attributes_of_their_persons(name, then, tmp_path):
    people = [(who, snapshot) for snapshot in (1, 2) for who in range(6)]
    rows = [(who, snapshot, str(1 + who % 4), "ab"[(who + snapshot) % 2]) for who, snapshot in people]
    table = table_of(rows, "123123")
    release = release_of(METHODS[name](then), table)
    pairs = {(str(1 + who % 4), "123123"[who]) for who in range(6)}
    assert release.frame.height
    assert set(release.frame.select("age", "born").iter_rows()) <= pairs
    written = sq.write(release, tmp_path / "out", original=table, warn=[].append)
    assert sq.verify(written, original=table)
    risks = sq.attack(release, original=table, known=(1,))
    assert risks
