"""Tables of two attributes with weights, as the library and as the oracle see them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import strategies as st

from oracles import hierarchy
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy

TREES = {
    "Q": {"a": "x", "b": "x", "c": "*", "x": "*"},
    "R": {"d": "y", "e": "y", "f": "z", "g": "z", "y": "*", "z": "*"},
}
ILL = ("no", "yes")


def table(persons, *, weights=(1.0, 1.0), released=False):
    """Make a table; a person is a list of events, an event a value of Q, one of R and whether ill."""
    rows = [
        (f"person {number}", place, *event)
        for number, events in enumerate(persons)
        for place, event in enumerate(events)
    ]
    names = {"who": pl.String, "n": pl.Int64, "Q": pl.String, "R": pl.String, "ill": pl.String}
    frame = pl.DataFrame(rows, schema=names, orient="row")
    quasi = {
        name: Quasi(Hierarchy.from_edges(list(tree.items())), weight=weight)
        for (name, tree), weight in zip(TREES.items(), weights, strict=True)
    }
    return EventTable(
        frame,
        Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["yes"]}, released=released),
    )


def sequences(original, persons):
    """Make released sequences of all persons, those without events included."""
    whole = table([events for events in persons if events], released=True).sequences
    offsets = np.cumsum([0, *map(len, persons)]).astype(np.int64)
    assert len(persons) == original.n_persons
    return replace(whole, person_offsets=offsets)


def attributes(before, after, weights):
    """What the oracle takes."""
    return [
        (
            weight,
            TREES[name],
            [[event[place] for event in events] for events in before],
            [[event[place] for event in events] for events in after],
        )
        for place, (name, weight) in enumerate(zip("QR", weights, strict=True))
        if weight
    ]


events = st.tuples(st.sampled_from("abc"), st.sampled_from("defg"), st.sampled_from(ILL))
persons = st.lists(st.lists(events, min_size=1, max_size=4), min_size=1, max_size=5)
weighings = st.sampled_from([(1.0, 1.0), (3.0, 1.0), (0.0, 2.0)])


@st.composite
def releases(draw):
    """A table, and what is released of it: events at any levels, some left out."""
    before = draw(persons)
    after = []
    for history in before:
        kept = []
        for q, r, ill in history:
            if draw(st.booleans()) or draw(st.booleans()):
                levels = draw(st.integers(0, 2)), draw(st.integers(0, 2))
                kept.append(
                    (
                        hierarchy.ancestor_at_level(TREES["Q"], q, levels[0]),
                        hierarchy.ancestor_at_level(TREES["R"], r, levels[1]),
                        ill,
                    )
                )
        after.append(kept)
    return before, after, draw(weighings)


@st.composite
def global_releases(draw):
    """A table, and the same events at two global levels, the second as coarse or coarser."""
    before = draw(persons)
    fine = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    coarse = draw(st.integers(fine[0], 2)), draw(st.integers(fine[1], 2))

    def at(levels):
        return [
            [
                (
                    hierarchy.ancestor_at_level(TREES["Q"], q, levels[0]),
                    hierarchy.ancestor_at_level(TREES["R"], r, levels[1]),
                    ill,
                )
                for q, r, ill in history
            ]
            for history in before
        ]

    return before, at(fine), at(coarse)
