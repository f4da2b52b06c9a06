"""Small sequences with trees of every shape, as the oracles and as the library read them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import polars as pl
from hypothesis import strategies as st

from oracles import mutual_information as oracles
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.errors import InputError, SequesterWarning
from sequester.hierarchies import Hierarchy

TREES = {
    "flat": {"a": "*", "b": "*", "c": "*"},
    "two levels": {"a": "A", "b": "A", "c": "B", "d": "B", "A": "*", "B": "*"},
    "a short branch": {"a": "A", "b": "A", "A": "*", "c": "*"},
    "alone below its node": {"a": "A", "A": "*", "b": "B", "c": "B", "B": "*"},
    "deep": {"a": "A", "b": "A", "A": "G", "c": "G", "G": "*", "d": "*", "e": "*"},
}
FOOD = {
    **dict.fromkeys(("Wine", "Beer"), "Alcohol"),
    **dict.fromkeys(("Cookies", "Chips"), "Snack"),
    **dict.fromkeys(("Milk", "Cheese"), "Dairy"),
    **dict.fromkeys(("Alcohol", "Snack", "Dairy"), "*"),
}
"""Figure 2, rebuilt from the nodes that its examples name; the third group has no name there."""


@dataclass(frozen=True)
class Case:
    """One person's row, and what is asked for."""

    row: str
    patterns: list
    tree: dict
    window: int
    cost: str
    bound: dict
    weights: list | None = None
    more: dict = field(default_factory=dict)

    @property
    def cost_function(self):
        return oracles.cost_functions(self.tree)[self.cost]

    def oracle(self, function):
        """What an oracle makes of it."""
        return function(
            self.row, self.patterns, self.tree, self.window, self.cost_function, self.weights, **self.bound
        )

    def release(self, method, **more):
        """The released labels; where no pattern occurs the row itself, for a method refuses that."""
        return released_rows(method(**self.parameters(), **more), self.table())[0]

    def parameters(self):
        share, bits = self.bound.get("share"), self.bound.get("bits")
        return {
            "patterns": [list(pattern) for pattern in self.patterns],
            "window": self.window,
            "cost": self.cost,
            "worst_case": self.bound.get("worst_case", False),
            "measure": self.bound.get("measure", "exact"),
            **({"max_leakage": share} if bits is None else {"max_leakage_bits": bits}),
            **({} if self.weights is None else {"weight": "w"}),
        }

    def table(self):
        return table_of([self.row], self.tree, self.weights and [self.weights])

    def loss(self, released):
        weights = self.weights or [1] * len(self.row)
        return sum(
            weight * self.cost_function(a, node)
            for a, node, weight in zip(self.row, released, weights, strict=True)
        )

    def is_private(self, released):
        return oracles.is_private(self.row, released, self.patterns, self.window, **self.bound)


def table_of(rows, tree, weights=None):
    """A table with one person per row."""
    events = [
        (f"person {number}", place, label)
        for number, row in enumerate(rows, start=1)
        for place, label in enumerate(row, start=1)
    ]
    frame = pl.DataFrame(
        events, schema={"user": pl.String, "step": pl.Int64, "symbol": pl.String}, orient="row"
    )
    schema = {"person": "user", "order": "step", "symbol": Symbol("symbol", taxonomy(tree))}
    if weights is not None:
        frame = frame.with_columns(w=pl.Series([each for row in weights for each in row]))
        schema["weight"] = "w"
    return EventTable(frame, Schema(**schema))


def taxonomy(tree):
    return Hierarchy.from_edges(list(tree.items()))


def released_rows(method, table):
    """Labels of each person in the order of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            release = method.apply(table, evaluate=False)
        except InputError as error:
            if "none of them occurs" not in str(error):
                raise
            return table.sequences.to_rows()
    names = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    rows = dict.fromkeys(table.persons)
    for (name,), part in release.frame.group_by("person", maintain_order=True):
        rows[names[name]] = tuple(part.sort("order")["symbol"])
    return list(rows.values())


@st.composite
def cases(draw, *, longest=9, weighted=True):
    tree = TREES[draw(st.sampled_from(sorted(TREES)))]
    symbols = "".join(oracles.leaves(tree))
    row = draw(st.text(symbols, min_size=1, max_size=longest))
    patterns = draw(st.lists(st.text(symbols, min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
    level = draw(st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]))
    bound = draw(st.sampled_from([{"share": level}, {"bits": level / 2}]))
    weights = st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=len(row), max_size=len(row))
    return Case(
        row=row,
        patterns=[tuple(pattern) for pattern in patterns],
        tree=tree,
        window=draw(st.integers(1, 4)),
        cost=draw(st.sampled_from(["information-loss", "linear", "exponential"])),
        bound={
            **bound,
            "worst_case": draw(st.booleans()),
            "measure": draw(st.sampled_from(["exact", "paper"])),
        },
        weights=draw(st.none() | weights) if weighted else None,
    )
