"""Queries drawn from the data, so that somebody has what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.utility.query_error import Query

if TYPE_CHECKING:
    from sequester.data.table import EventTable

N_QUERIES = 1_000
"""Queries of a workload."""


def draw_queries(
    table: EventTable, n: int = N_QUERIES, *, most_events: int = 3, most_items: int = 3, seed: int = 0
) -> list[Query]:
    """Draw queries: a person, up to `most_events` of their events, and up to `most_items` values of each.

    Half of the queries are about one event, the others about several in their order where the person has
    several. Every value is asked for as it was, or as coarse as one of the levels below the root of its
    tree. Attributes with more weight are asked for more often, those without weight never.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": ["a", "b"], "n": [1, 1], "stay": ["1", "30"]})
    >>> table = EventTable(frame, Schema(person="who", order="n", quasi={"stay": Hierarchy.flat()}))
    >>> [str(query) for query in draw_queries(table, 3)]
    ['stay in 30', 'stay in 30', 'stay in 30']

    References
    ----------
    Sehatkar (2014), section 6.1: a workload of 1,000 random combinations of values in an event and across
    events.
    """
    for name, value in (("n", n), ("most_events", most_events), ("most_items", most_items)):
        if value < 1:
            msg = f"{name} must be at least 1, got {value}"
            raise ParameterError(msg)
    if not table.n_persons:
        msg = "queries are drawn from persons, and the table has none"
        raise ParameterError(msg)
    draw = np.random.default_rng(seed)
    weights = {name: each.weight for name, each in table.schema.quasi.items() if each.weight > 0}
    if table.symbol is not None:
        weights = {table.symbol: 1.0}
    if not weights:
        msg = "queries ask for a symbol or for quasi-identifiers with a weight, and there are none"
        raise ParameterError(msg)
    return [_draw(table, weights, draw, most_events if i % 2 else 1, most_items) for i in range(n)]


def _draw(
    table: EventTable, weights: dict[str, float], draw: np.random.Generator, most_events: int, most_items: int
) -> Query:
    names, total = list(weights), sum(weights.values())
    chances = None if len({*weights.values()}) == 1 else [weight / total for weight in weights.values()]
    person = int(draw.integers(table.n_persons))
    start, stop = (int(each) for each in table.person_offsets[person : person + 2])
    size = int(draw.integers(1, min(most_events, stop - start) + 1))
    events = []
    for event in np.sort(draw.choice(np.arange(start, stop), size, replace=False)):
        chosen = draw.choice(
            len(names), int(draw.integers(1, min(most_items, len(names)) + 1)), replace=False, p=chances
        )
        asked = {}
        for place in np.sort(chosen):
            name = names[place]
            tree, sequences = table.hierarchies.get(name), table.sequences
            label = sequences.codebooks[name].labels[sequences.columns[name][event]]
            asked[name] = (
                label if tree is None else tree.generalize(label, int(draw.integers(tree.height))),
            )
        events.append(asked)
    return Query(tuple(events))
