"""One release of every kind of data and promise, with all that is measured of it."""

from __future__ import annotations

import warnings
from functools import cache

import polars as pl

from sequester.data.places import GridRegions, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, PH, BFP2kA, Reposition, TopDown
from sequester.testing import history_table, record_table, symbol_table

ROWS = ["abc", "abc", "ab", "bca", "cab", "abcd", "aab", "abc"]
LETTERS = {"a": "early", "b": "early", "c": "late", "d": "late", "early": "*", "late": "*"}


def dated_table():
    """Histories whose order is a quasi-identifier, too."""
    frame = pl.DataFrame(
        {
            "user": list("aabbccdd"),
            "step": [1, 9, 1, 9, 1, 3, 1, 3],
            "ill": ["no", "yes", "no", "no", "no", "no", "no", "no"],
        }
    )
    tree = Hierarchy.from_tree({"early": ["1", "3"], "late": ["9"]})
    return EventTable(
        frame, Schema(person="user", order="step", quasi={"step": tree}, sensitive={"ill": ["yes"]})
    )


def placed_table():
    """Trips of persons between places."""
    points = [(52.50 + 0.01 * place, 13.40) for place in range(3)]
    frame = pl.DataFrame(
        [
            (f"person {person}", trip, f"2010-01-01 0{trip}:0{step}:00", *points[place])
            for person in range(4)
            for trip in range(2)
            for step, place in enumerate((0, 1, 2) if person % 2 else (0, 1))
        ],
        schema=["user", "tid", "at", "lat", "lon"],
        orient="row",
    )
    place = Place("lat", "lon", GridRegions(500))
    return EventTable(frame, Schema(person="user", time="at", trip="tid", place=place))


KINDS = {
    "quasi-identifiers": (HALT(k=2, c=1, p=2), lambda: history_table(ROWS)),
    "classes": (CBLDA(k=2, c=1), lambda: history_table(ROWS)),
    "quasi-identifiers that tell time": (CBLDA(k=2, c=1), dated_table),
    "symbols that are moved": (PH(patterns=[["a", "b"]], min_support=2), lambda: symbol_table(ROWS)),
    "paths": (BFP2kA(k=2), lambda: symbol_table(ROWS)),
    "trips": (BFP2kA(k=2, nearness=600), placed_table),
    "symbols that are made coarser": (
        TopDown(patterns=[["a", "b"]]),
        lambda: symbol_table(ROWS, hierarchy=Hierarchy.from_edges(LETTERS.items())),
    ),
    "records apart from their values": (
        Reposition(l=2, window=3, snapshot="order"),
        lambda: record_table(["abc", "bca", "cab", "aac"]),
    ),
    "records made coarser": (
        Reposition(l=2, window=3, snapshot="order", then="generalize"),
        lambda: record_table(["abc", "bca", "cab", "aac"]),
    ),
}


@cache
def release_of(kind):
    method, table = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table(), seed="a sentence nobody guesses")
