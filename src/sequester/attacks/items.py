"""What can be known of a person: the items of their events, the rarest numbered first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester import kernels
from sequester.attacks.protected import value_names, values_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.table import EventTable

Kind = Literal["ordered", "event", "anywhere"]
"""Items of different events in their order, of one event, or wherever they are."""


@dataclass(frozen=True, slots=True)
class Items:
    """The items of all persons, event by event, and the protected values of each person.

    Items are numbered by how many persons have them, the rarest first, then by attribute and label. An item
    is an attribute's value as it stands in the data; a missing value is a value. Protected values are no
    items, also where their column is a quasi-identifier: they are what somebody wants to find out.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("aab"), "n": [1, 2, 1], "page": ["news", "tech", "news"]})
    >>> items = Items.of(EventTable(frame, Schema(person="user", order="n", symbol="page")))
    >>> [items.label(code) for code in items.codes]
    ['news', 'tech', 'news']
    >>> items.codes.tolist(), items.supports.tolist()
    ([1, 0, 1], [1, 2])
    """

    codes: Codes
    """The items of all persons, in the order of their events."""
    events: Codes
    """The number of each item's event, counted from 0 within the person."""
    offsets: Offsets
    """Person ``i`` has the items ``offsets[i]`` to ``offsets[i + 1]``."""
    supports: Counts
    """Persons who have each item."""
    names: tuple[tuple[str, str], ...]
    """Attribute and label of each item."""
    is_symbol: bool
    """There is one attribute, whose name goes without saying."""
    values: Codes
    """The protected values of all persons, each once."""
    value_offsets: Offsets
    """Person ``i`` has the values ``value_offsets[i]`` to ``value_offsets[i + 1]``."""
    value_names: tuple[tuple[str, str], ...]
    """Attribute and label of each protected value."""

    @classmethod
    def of(cls, table: EventTable) -> Items:
        """Take the items of the symbol or of all quasi-identifiers."""
        columns = [table.symbol] if table.symbol is not None else list(table.schema.quasi)
        codes, names, is_item = _code(table, columns)
        lengths = np.diff(table.person_offsets)
        places = np.arange(table.n_events) - np.repeat(table.person_offsets[:-1], lengths)
        events = np.repeat(places.astype(np.int32), len(columns))
        offsets = table.person_offsets * len(columns)
        if not is_item.all():
            kept = is_item[codes]
            before = np.concatenate([[0], np.cumsum(kept)])
            codes, events, offsets = codes[kept], events[kept], before[offsets]
        ones = np.ones(table.n_persons, np.int64)
        supports = kernels.prefixspan.weigh_symbols(codes, offsets, ones, len(names))
        names_of_values = value_names(table)
        order = np.argsort(supports, kind="stable")
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return cls(
            rank[codes],
            events,
            offsets,
            supports[order],
            tuple(names[place] for place in order.tolist()),
            table.symbol is not None,
            *values_of(table.sequences, table.schema, names_of_values),
            names_of_values,
        )

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return len(self.offsets) - 1

    def label(self, code: int) -> str:
        """Write an item as people read it."""
        attribute, label = self.names[code]
        return label if self.is_symbol else f"{attribute}={label}"


def _code(table: EventTable, columns: list[str]) -> tuple[Codes, list[tuple[str, str]], Counts]:
    """Number the values of all columns, one after the other; mark the numbers that are items."""
    sequences, schema = table.sequences, table.schema
    names: list[tuple[str, str]] = []
    parts, marks = [], []
    for column in columns:
        labels = sequences.codebooks[column].labels
        parts.append(sequences.columns[column] + np.int32(len(names)))
        names += [(column, label) for label in labels]
        hidden: set[str] = set()
        for attribute, sensitive in schema.sensitive.items():
            if column in sensitive.columns:
                hidden |= table.protected[attribute]
        marks.append(np.array([label not in hidden for label in labels], np.bool_))
    if not columns:
        return np.empty(0, np.int32), [], np.empty(0, np.bool_)
    return np.stack(parts, axis=1).ravel(), names, np.concatenate(marks)
