"""Small tables with trees of every shape, as the oracles and as the library read them."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from fractions import Fraction

import polars as pl
from hypothesis import strategies as st

from oracles import hierarchy, kcp
from sequester.data.schema import Quasi, Schema, Sensitive
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods.halt.extraction import Extraction
from sequester.methods.halt.histories import QuasiIdentifiers, WeightedRows
from sequester.methods.halt.signature_rows import Thresholds

TREES = {
    "flat": {"a": "*", "b": "*", "c": "*"},
    "two levels": {"a": "x", "b": "x", "c": "y", "d": "y", "x": "*", "y": "*"},
    "a short branch": {"a": "x", "b": "x", "x": "*", "c": "*"},
    "short branches": {"a": "x", "b": "x", "x": "X", "c": "X", "X": "*", "m": "*"},
    "a chain": {"a": "x", "b": "x", "x": "X", "c": "y", "y": "X", "X": "*", "m": "Y", "Y": "*"},
}
HIGH = ("h", "i")


@dataclass(frozen=True)
class Case:
    """Persons as lists of events, their trees and protected values, and what is asked for."""

    persons: list
    trees: dict
    protected: list
    k: int
    c: Fraction
    p: int
    levels: str

    def oracle(self):
        """The arguments of the oracles."""
        return self.persons, self.trees, self.protected, self.k, self.c, self.p, self.levels

    def thresholds(self):
        return Thresholds(k=self.k, c=float(self.c), p=self.p, mixed=self.levels == "mixed")

    def table(self, **limits):
        """The table; `limits` leads from quasi-identifiers to more of their role."""
        return event_table(self.persons, self.trees, self.protected, **limits)


@st.composite
def cases(draw, *, most_p=4, most_persons=8, most_events=3, most_quasi=3):
    names = "QRT"[: draw(st.integers(1, most_quasi))]
    trees = {name: TREES[draw(st.sampled_from(sorted(TREES)))] for name in names}
    event = st.fixed_dictionaries(
        {name: st.sampled_from(sorted(hierarchy.leaf_labels(tree))) for name, tree in trees.items()}
    )
    persons = draw(
        st.lists(st.lists(event, min_size=1, max_size=most_events), min_size=1, max_size=most_persons)
    )
    protected = [draw(st.sets(st.sampled_from(HIGH))) for _ in persons]
    return Case(
        persons=persons,
        trees=trees,
        protected=protected,
        k=draw(st.integers(2, 3)),
        c=draw(st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(3, 4), Fraction(1)])),
        p=draw(st.integers(1, most_p)),
        levels=draw(st.sampled_from(["same", "mixed"])),
    )


def small_case(number):
    """One of many small tables: up to eight cells, so that every release of it can be gone through."""
    rng = random.Random(number)
    names = "QR"[: rng.choice([1, 2])]
    trees = {name: TREES[rng.choice(["flat", "two levels", "a short branch"])] for name in names}
    leaves = {name: sorted(hierarchy.leaf_labels(tree)) for name, tree in trees.items()}
    persons, n_left = [], 8 // len(trees)
    while n_left:
        n_events = min(n_left, rng.choice([1, 1, 2]))
        persons.append([{name: rng.choice(leaves[name]) for name in trees} for _ in range(n_events)])
        n_left -= n_events
    protected = [{"h"} if rng.random() < 0.25 else set() for _ in persons]
    c = rng.choice([Fraction(1, 2), Fraction(1)])
    return Case(persons, trees, protected, 2, c, rng.choice([1, 2]), rng.choice(["same", "mixed"]))


def event_table(persons, trees, protected, **limits):
    """Write persons as a table; one of their events has the protected values, in two columns."""
    rows = []
    for number, events in enumerate(persons):
        values = [*sorted(protected[number]), "no", "no"]
        for place, cells in enumerate(events):
            here = place == number % len(events)
            rows.append(
                {
                    "who": f"p{number}",
                    "n": place,
                    **cells,
                    "ill": values[0] if here else "no",
                    "worse": values[1] if here else "no",
                }
            )
    quasi = {
        name: Quasi(Hierarchy.from_edges(list(tree.items())), **limits.get(name, {}))
        for name, tree in trees.items()
    }
    sensitive = {"ill": Sensitive(("ill", "worse"), list(HIGH))}
    types = {"who": pl.String, "n": pl.Int64, **dict.fromkeys([*trees, "ill", "worse"], pl.String)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return EventTable(
            pl.DataFrame(rows, schema=types),
            Schema(person="who", order="n", quasi=quasi, sensitive=sensitive),
        )


def extract(table, thresholds, *, engine=None):
    """Mine everything: minimal channel, as the oracles write it, to its signature."""
    quasi = QuasiIdentifiers.of(table)
    histories = WeightedRows.of(table, quasi).fold()
    extraction = Extraction(histories, quasi, thresholds, engine or LocalEngine(threads=1, shards=1))
    found = {}
    for signature, by_length in extraction:
        for channels in by_length:
            for row in range(len(channels.supports)):
                channel = channels.cause(row).channel(quasi)
                assert channel.events not in found
                found[channel.events] = signature
    return found


def as_oracle(release, trees, *, levels="same", stars="counted"):
    """Read a release as the oracle of the promise does."""
    persons = [
        [
            (
                {name: event[name] for name in trees},
                {"ill": {event["ill"], event["worse"]}},
            )
            for event in events.sort("order").iter_rows(named=True)
        ]
        for _, events in release.frame.group_by("person", maintain_order=True)
    ]
    return kcp.Table(persons, trees, {"ill": set(HIGH)}, levels=levels, stars=stars)
