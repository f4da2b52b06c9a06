"""Small tables of histories, for the oracle and for the library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from hypothesis import strategies as st

from oracles import cblda as oracle
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.engine import LocalEngine, silent
from sequester.engine.progress import NoCheckpoint
from sequester.hierarchies import Hierarchy
from sequester.methods.cblda.algorithm import solve
from sequester.methods.cblda.method import CBLDA, CBLDABaseline
from sequester.release.randomness import Randomness

DEEP = {"a": "x", "b": "x", "c": "y", "x": "*", "y": "*"}
FLAT = {"1": "*", "2": "*", "3": "*"}
CHAIN = {"p": "o", "o": "*", "q": "*"}
ILLS = ("flu", "flu", "flu", "flu", "HIV", "Cancer")
PROTECT = ("Cancer", "HIV")


@dataclass
class Example:
    """Histories, and what everybody has."""

    trees: list
    persons: list
    """Person to events, an event a tuple of labels."""
    ills: list
    """Person to one illness per event."""
    weights: list

    @property
    def risks(self):
        return [[{ill} & {*PROTECT} for ill in ills] for ills in self.ills]

    def table(self, **quasi) -> EventTable:
        names = [f"Q{number}" for number in range(len(self.trees))]
        rows = [
            {
                "who": f"p{number}",
                "n": place,
                **dict(zip(names, event, strict=True)),
                "ill": ill,
                "note": f"{number}.{place}",
            }
            for number, (events, ills) in enumerate(zip(self.persons, self.ills, strict=True))
            for place, (event, ill) in enumerate(zip(events, ills, strict=True))
        ]
        types = {"who": pl.String, "n": pl.Int64, **dict.fromkeys([*names, "ill", "note"], pl.String)}
        schema = Schema(
            person="who",
            order="n",
            quasi={
                name: Quasi(Hierarchy.from_edges(tree.items()), weight=weight, **quasi.get(name, {}))
                for name, tree, weight in zip(names, self.trees, self.weights, strict=True)
            },
            sensitive={"ill": list(PROTECT)},
            keep=["note"],
        )
        return EventTable(pl.DataFrame(rows, schema=types, orient="row"), schema)

    def rules(self, k, c, reading, **others):
        return oracle.Rules(self.trees, k, c, reading, weights=self.weights, **others)

    def can_keep(self, k, c, reading) -> bool:
        """Whether one class of everybody would do."""
        rules = self.rules(k, c, reading)
        everybody = oracle.Cluster(
            list(range(len(self.persons))), [], {m: range(len(e)) for m, e in enumerate(self.persons)}
        )
        return bool(self.persons) and oracle.is_finished(
            rules, self.risks, everybody, {*range(len(self.persons))}
        )


@st.composite
def examples(draw, *, most_persons=9, most_events=3):
    """A few histories over one to three trees, mostly without weights."""
    trees = draw(st.lists(st.sampled_from([DEEP, FLAT, CHAIN]), min_size=1, max_size=3))
    weights = [1.0, *draw(st.lists(st.sampled_from([1.0, 1.0, 0.5, 0.1, 0.0]), min_size=2, max_size=2))]
    leaves = [sorted(tree.keys() - set(tree.values())) for tree in trees]
    event = st.tuples(*(st.sampled_from(each) for each in leaves))
    histories = st.lists(event, min_size=1, max_size=most_events)
    persons = draw(st.lists(histories, min_size=3, max_size=most_persons))
    ills = [draw(st.lists(st.sampled_from(ILLS), min_size=len(each), max_size=len(each))) for each in persons]
    return Example(trees, persons, ills, weights[: len(trees)])


class Memory:
    """A checkpoint in memory."""

    def __init__(self, kept=None):
        self.kept = dict(kept or {})

    def load(self, name):
        return self.kept.get(name)

    def save(self, name, arrays):
        self.kept[name] = {key: value.copy() for key, value in arrays.items()}


def run(
    table,
    *,
    k,
    c,
    reading="any",
    infeasible="refuse",
    is_random=False,
    engine=None,
    seed="a",
    checkpoint=None,
    **searched,
):
    asked = {"k": k, "c": c, "reading": reading, "infeasible": infeasible}
    how = {"search": "greedy", "block": False, **searched}
    return solve(
        table,
        CBLDABaseline(**asked) if is_random else CBLDA(**asked, **how),
        randomness=Randomness.of(seed),
        engine=engine or LocalEngine(threads=1),
        progress=silent,
        checkpoint=checkpoint or NoCheckpoint(),
    )


def classes_of(table, solution):
    """What a solution shows, as the oracle has it: members, events shown, and kept events per person."""
    offsets = table.person_offsets
    trees = solution.trees
    found = {}
    for person, number in enumerate(solution.class_of_person.tolist()):
        events = np.arange(offsets[person], offsets[person + 1])
        kept = events[solution.is_kept[events]]
        shown = [
            tuple(
                tree.labels[node - at]
                for tree, at, node in zip(trees.hierarchies, trees.first, solution.shown[event], strict=False)
            )
            for event in kept
        ]
        entry = found.setdefault(number, ([], shown, {}))
        assert entry[1] == shown
        entry[0].append(person)
        entry[2][person] = (kept - offsets[person]).tolist()
    return [found[number] for number in sorted(found)]


def by_oracle(clusters):
    return [
        (sorted(each.members), each.shown, each.kept)
        for each in sorted(clusters, key=lambda each: each.members[0])
    ]
