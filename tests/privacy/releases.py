"""Releases with quasi-identifiers, small enough to be enumerated, for the oracle and for the library."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from oracles.kcp import ROOT, Table
from sequester.data.schema import Schema, Sensitive
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy


def event_table(table: Table, *, columns=None, trees=None) -> EventTable:
    """The table of the oracle as the library has it.

    `columns` leads from an attribute to its source columns, among which the values of an event are spread; an
    event has at most as many values as there are columns.
    """
    columns = columns or {}
    attributes = [name for name in table.protect if name not in table.both]
    rows = []
    for number, person in enumerate(table.persons):
        for place, (cells, values) in enumerate(person):
            row = {"person": f"person {number}", "order": place, **cells}
            for name in attributes:
                held = sorted(values.get(name, ())) or ["nothing"]
                sources = columns.get(name, (name,))
                assert len(held) <= len(sources)
                row |= {source: held[min(i, len(held) - 1)] for i, source in enumerate(sources)}
            rows.append(row)
    sources = [source for name in attributes for source in columns.get(name, (name,))]
    types = {"person": pl.String, "order": pl.Int64, **dict.fromkeys([*table.trees, *sources], pl.String)}
    schema = Schema(
        person="person",
        order="order",
        quasi=trees or {name: Hierarchy.from_edges(tree.items()) for name, tree in table.trees.items()},
        sensitive={name: Sensitive(columns=tuple(columns.get(name, (name,)))) for name in table.protect},
        released=True,
    )
    return EventTable(pl.DataFrame(rows, schema=types, orient="row"), schema)


@st.composite
def trees(draw):
    """A tree of up to six labels; branches are of any length."""
    labels = "abcdef"[: draw(st.integers(1, 6))]
    # What comes earlier may be above what comes later.
    return {
        label: draw(st.sampled_from([ROOT, *labels[max(0, place - 2) : place]]))
        for place, label in enumerate(labels)
    }


def leaves_at(tree, level):
    """The labels that stand for the leaves of a tree at a level, counted from the root."""
    found = set()
    for leaf in tree.keys() - set(tree.values()):
        path = [leaf]
        while path[-1] != ROOT:
            path.append(tree[path[-1]])
        found.add(path[::-1][min(level, len(path) - 1)])
    return sorted(found)


@st.composite
def tables(draw, *, most_quasi=3, most_events=3, most_persons=6):
    """A table as a method would release it, mostly: every column at one level, some cells suppressed."""
    names = [f"Q{place}" for place in range(draw(st.integers(1, most_quasi)))]
    forest = {name: draw(trees()) for name in names}
    pools = {}
    for name, tree in forest.items():
        wild = draw(st.integers(0, 3)) == 0
        pools[name] = sorted(tree) if wild else leaves_at(tree, draw(st.integers(0, 3)))
        pools[name] += [ROOT] * draw(st.integers(0, 1))
    cells = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    values = st.fixed_dictionaries(
        {"D": st.sets(st.sampled_from("stu"), max_size=2), "E": st.sets(st.just("v"))}
    )
    histories = st.lists(st.tuples(cells, values), min_size=1, max_size=most_events)
    persons = draw(st.lists(histories, min_size=1, max_size=most_persons))
    # Few different histories, or hardly any table would keep a promise.
    copied = draw(st.lists(st.sampled_from(persons), max_size=most_persons - len(persons) + 2))
    for person in copied:
        persons = [*persons, [(shown, draw(values)) for shown, _ in person]]
    protect = {"D": tuple(sorted(draw(st.sets(st.sampled_from("stu"), max_size=2)))), "E": ("v",)}
    both = {}
    if draw(st.integers(0, 3)) == 0:
        both = {"Q0": "Q0"}
        chosen = st.sets(st.sampled_from(sorted(forest["Q0"])), min_size=1, max_size=3)
        protect["Q0"] = tuple(sorted(draw(chosen)))
        persons = [[(shown, {**held, "Q0": {shown["Q0"]}}) for shown, held in person] for person in persons]
    levels = draw(st.sampled_from(["same", "mixed"]))
    stars = draw(st.sampled_from(["counted", "ignored"]))
    return Table(persons, forest, protect, levels, stars, both)
