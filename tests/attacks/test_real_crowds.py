"""On real data the crowds are those that a plain group-by or counter finds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import polars as pl
import pytest

from sequester.attacks import expose
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf
from sequester.datasets.public import load
from sequester.hierarchies.hierarchy import Hierarchy

pytestmark = pytest.mark.real


def shares(exposure):
    return [exposure.unique.value, exposure.below_5.value, exposure.below_10.value]


@pytest.fixture(scope="module")
def sepsis(shared_data):
    frame = load("sepsis", shared_data)
    drop = [name for name in frame.columns if name not in ("case_id", "timestamp", "activity")]
    return EventTable(frame, Schema("case_id", time="timestamp", symbol="activity", drop=drop))


def counted(pieces_of_persons):
    """The shares of persons with a piece that fewer than 2, 5 and 10 persons have."""
    crowds = Counter(piece for pieces in pieces_of_persons for piece in pieces)
    fewest = [min(crowds[piece] for piece in pieces) for pieces in pieces_of_persons]
    return [pytest.approx(sum(crowd < bound for crowd in fewest) / len(fewest)) for bound in (2, 5, 10)]


def test_patients_of_a_hospital_by_the_sets_and_sequences_of_their_activities(sepsis):
    found = {(each.kind, each.known): each for each in expose(sepsis)}
    rows = sepsis.sequences.to_rows()
    for known in (1, 2, 3):
        sets = [
            {piece for size in range(1, known + 1) for piece in combinations(sorted({*row}), size)}
            for row in rows
        ]
        assert shares(found["anywhere", known]) == counted(sets)
    for known in (1, 2):
        ordered = [
            {piece for size in range(1, known + 1) for piece in combinations(row, size)} for row in rows
        ]
        assert shares(found["ordered", known]) == counted(ordered)


def test_claims_of_medicare_by_the_values_of_one_event(shared_data):
    frame = desynpuf.table([shared_data / "desynpuf" / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"])
    quasi = {name: Hierarchy.flat() for name in desynpuf.QUASI}
    schema = Schema(
        "PID",
        time="admission",
        quasi=quasi,
        sensitive={"diagnosis": desynpuf.PROTECTED},
        drop=["claim", "sample"],
    )
    table = EventTable(frame, schema)
    found = {each.known: each for each in expose(table, kinds=["event"])}
    events = table.frame.select("PID", *quasi)
    fewest = None
    for known in (1, 2, 3):
        for columns in combinations(quasi, known):
            crowd = events.select(pl.col("PID").n_unique().over(columns).alias("crowd"), "PID")
            smallest = crowd.group_by("PID").agg(pl.col("crowd").min())
            fewest = smallest if fewest is None else pl.concat([fewest, smallest])
        per_person = fewest.group_by("PID").agg(pl.col("crowd").min())["crowd"]
        expected = [(per_person < bound).mean() for bound in (2, 5, 10)]
        assert shares(found[known]) == pytest.approx(expected)
    assert found[1].confidence.targets == table.frame.filter(_is_protected(table))["PID"].n_unique()


def _is_protected(table):
    return pl.col("diagnosis").is_in(list(table.protected["diagnosis"]))


@pytest.mark.thorough
def test_a_million_visitors_are_drawn_from_and_counted_among(shared_data):
    table = EventTable(load("msnbc", shared_data), Schema("person", "order", symbol="symbol"))
    found = {(each.kind, each.known): each for each in expose(table)}
    assert {each.targets for each in found.values()} == {10_000}
    rows = table.sequences.to_rows()
    sets = [{piece for size in (1, 2, 3) for piece in combinations(sorted({*row}), size)} for row in rows]
    exact = counted(sets)
    shown = found["anywhere", 3]
    for share, value in zip((shown.unique, shown.below_5, shown.below_10), exact, strict=True):
        low, high = share.interval
        assert low <= value.expected <= high
