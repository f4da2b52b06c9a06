"""Information loss by Eq. 4.1 to 4.8 of the thesis, cell by cell."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import hierarchy
from sequester.data.schema import Quasi, Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.datasets import paper
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.utility import information_loss

TREE = {"a": "x", "b": "x", "c": "x", "d": "*", "x": "*"}


def table(rows, *, weights=(1.0, 1.0), released=False):
    """Persons with one event each, of two columns."""
    frame = pl.DataFrame(
        [(str(number), 1, *row) for number, row in enumerate(rows)],
        schema={"who": pl.String, "n": pl.Int64, "Q": pl.String, "R": pl.String},
        orient="row",
    )
    tree = Hierarchy.from_edges(list(TREE.items()))
    quasi = {name: Quasi(tree, weight=weight) for name, weight in zip("QR", weights, strict=True)}
    return EventTable(frame, Schema(person="who", order="n", quasi=quasi, released=released))


leaves = st.sampled_from("abcd")


@given(st.lists(st.tuples(leaves, leaves, st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=8))
def test_each_cell_loses_its_share_of_leaves(rows):
    before = [row[:2] for row in rows]
    after = [
        (hierarchy.ancestor_at_level(TREE, row[0], row[2]), hierarchy.ancestor_at_level(TREE, row[1], row[3]))
        for row in rows
    ]
    losses = [hierarchy.information_loss(TREE, label) for row in after for label in row]
    expected = sum(losses) / (2 * len(rows))
    score = information_loss(table(after, released=True), original=table(before))
    assert score.value == pytest.approx(expected)


def test_the_thesis_own_example():
    """[2005:2008] stands for 4 of 8 years."""
    tree = paper("sehatkar-4.1").hierarchies()["AdmYr"]
    assert tree.loss[tree.node("[2005:2008]")] == 0.5


def test_a_table_that_shows_nothing_loses_everything():
    released = table([("*", "*")], released=True)
    assert information_loss(released, original=table([("a", "d")])).value == 1


def test_an_unchanged_table_loses_nothing():
    assert information_loss(table([("a", "d")]), original=table([("a", "d")])).value == 0


def test_an_absent_event_loses_all_of_its_cells():
    released = table([("a", "d")], released=True)
    assert information_loss(released, original=table([("a", "d"), ("b", "b")])).value == 0.5


def test_weights_count():
    original = table([("a", "d")], weights=(3.0, 1.0))
    score = information_loss(table([("*", "d")], released=True), original=original)
    assert score.value == 0.75
    assert "weighed by Q 3, R 1" in score.means


def test_nothing_to_lose():
    empty = table([])
    assert information_loss(empty, original=empty).value == 0
    original = table([("a", "d")], weights=(0.0, 0.0))
    assert information_loss(table([("*", "*")], released=True), original=original).value == 0


def test_more_events_than_there_were_are_refused():
    with pytest.raises(ParameterError, match="must not have more events than original, there are 2 and 1"):
        information_loss(table([("a", "a"), ("a", "a")]), original=table([("a", "a")]))


def test_codes_will_do():
    released = table([("x", "d")], released=True)
    assert isinstance(released.sequences, Sequences)
    score = information_loss(released.sequences, original=table([("a", "d")]))
    assert score.value == pytest.approx(3 / 8)
