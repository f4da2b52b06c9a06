"""Items that could be known of the persons of a table, in rows of each kind of knowledge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester import kernels
from sequester.attacks.domain import value_names, values_of
from sequester.ragged import gather_rows, keep_values, list_sets, places_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.table import EventTable

ItemKind = Literal["ordered", "event", "anywhere", "demographics"]
"""Items of different events in their order, of one event, wherever they are; or attributes of persons."""


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
        """Return the items of the symbol or of all quasi-identifiers."""
        columns = [table.symbol] if table.symbol is not None else list(table.schema.quasi)
        codes, names, is_item = _code(table, columns)
        lengths = np.diff(table.person_offsets)
        places = np.arange(table.n_events) - np.repeat(table.person_offsets[:-1], lengths)
        events = np.repeat(places.astype(np.int32), len(columns))
        offsets = table.person_offsets * len(columns)
        if not is_item.all() or table.of_persons:
            kept = is_item[codes] & (codes >= 0)
            before = np.concatenate([[0], np.cumsum(kept)])
            codes, events, offsets = codes[kept], events[kept], before[offsets]
        ones = np.ones(table.n_persons, np.int64)
        supports = kernels.rows.weigh_symbols(codes, offsets, ones, len(names))
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

    def of_attribute(self, attribute: str) -> Items:
        """Return the items of one attribute alone, without any protected value."""
        is_own = np.array([name == attribute for name, _ in self.names], np.bool_)[self.codes]
        events, _ = keep_values(self.events, self.offsets, is_own)
        codes, offsets = keep_values(self.codes, self.offsets, is_own)
        nothing, nobody = self.values[:0], np.zeros_like(self.value_offsets)
        return replace(
            self, codes=codes, events=events, offsets=offsets, values=nothing, value_offsets=nobody
        )

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
        own = sequences.columns[column]
        parts.append(np.where(own < 0, np.int32(-1), own + np.int32(len(names))))
        names += [(column, label) for label in labels]
        hidden: set[str] = set()
        for attribute, sensitive in schema.sensitive.items():
            if column in sensitive.columns:
                hidden |= table.protected[attribute]
        marks.append(np.array([label not in hidden for label in labels], np.bool_))
    if not columns:
        return np.empty(0, np.int32), [], np.empty(0, np.bool_)
    return np.stack(parts, axis=1).ravel(), names, np.concatenate(marks)


@dataclass(frozen=True, slots=True)
class SearchRows:
    """Rows of items with their owners; an owner stands for all persons who look the same.

    Items of a row belong to groups, and what is known takes at most one item of each. Where order counts a
    row is a person and a group an event. Otherwise a row is a set, of one event or of one person, from the
    rarest item on, and every item is a group of its own.
    """

    items: Codes
    """The items of all rows, one after the other."""
    groups: Codes
    """The group of each item within its row."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``; no row is empty."""
    owners: Codes
    """The owner of each row, ascending."""
    weights: Counts
    """Persons that each owner stands for."""
    values: Codes
    """The protected values of all owners."""
    value_offsets: Offsets
    """Owner ``o`` has the values ``value_offsets[o]`` to ``value_offsets[o + 1]``."""
    owner_of_person: Codes
    """Who each person is here."""

    @classmethod
    def of(cls, items: Items, kind: ItemKind) -> SearchRows:
        """Make the rows of one kind of knowledge."""
        codes, offsets, groups = items.codes, items.offsets, items.events
        if kind == "demographics":
            # They are the first event of each person, and nothing else is known.
            groups, _ = keep_values(groups, offsets, items.events == 0)
            codes, offsets = keep_values(codes, offsets, items.events == 0)
        if kind == "anywhere":
            codes, offsets = list_sets(codes, offsets)
            groups = places_of(offsets).astype(np.int32)
            looks = codes
        else:
            # Whoever has the same items in other events does not look the same.
            starts = np.ones(len(codes), np.bool_)
            starts[1:] = groups[1:] != groups[:-1]
            starts[offsets[:-1][np.diff(offsets) > 0]] = True
            looks = codes + len(items.names) * starts.astype(np.int32)
        looks, look_offsets = _append(
            looks, offsets, items.values + 2 * len(items.names), items.value_offsets
        )
        owner_of_person, persons = kernels.rows.fold_rows(looks.astype(np.int32), look_offsets)
        weights = np.bincount(owner_of_person, minlength=len(persons)).astype(np.int64)
        values, value_offsets = gather_rows(items.values, items.value_offsets, persons)
        groups, _ = gather_rows(groups, offsets, persons)
        codes, offsets = gather_rows(codes, offsets, persons)
        owners = np.arange(len(persons), dtype=np.int32)
        if kind in ("event", "demographics"):
            codes, offsets, owners = _split_events(codes, groups, offsets)
            groups = places_of(offsets).astype(np.int32)
        is_filled = np.diff(offsets) > 0
        offsets = np.concatenate([[0], offsets[1:][is_filled]])
        return cls(codes, groups, offsets, owners[is_filled], weights, values, value_offsets, owner_of_person)


def _append(
    items: Codes, offsets: Offsets, more: Codes, more_offsets: Offsets
) -> tuple[npt.NDArray[np.int32], Offsets]:
    """Append each row of the second list to the row of the first."""
    if not more.size:
        return items, offsets
    both = np.empty(len(items) + len(more), np.int32)
    both[np.arange(len(items)) + np.repeat(more_offsets[:-1], np.diff(offsets))] = items
    both[np.arange(len(more)) + np.repeat(offsets[1:], np.diff(more_offsets))] = more
    return both, offsets + more_offsets


def _split_events(codes: Codes, events: Codes, offsets: Offsets) -> tuple[Codes, Offsets, Codes]:
    """Make each event a row of its own, its items ascending; the person is its owner."""
    owners = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    starts = np.ones(len(codes), np.bool_)
    starts[1:] = (events[1:] != events[:-1]) | (owners[1:] != owners[:-1])
    places = np.flatnonzero(starts).astype(np.int64)
    sets, set_offsets = list_sets(codes, np.append(places, len(codes)))
    return sets, set_offsets, owners[places]
