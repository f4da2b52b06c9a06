"""Search for the items that leave the smallest candidate sets or the largest confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester import kernels
from sequester.attacks.domain import value_names, values_of
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.kernels.knowledge import Found, Rows


ItemKind = Literal["ordered", "event", "anywhere"]
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
        """Return the items of the symbol or of all quasi-identifiers."""
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
        if kind == "anywhere":
            codes, offsets = kernels.knowledge_rows.list_sets(codes, offsets)
            groups = _count_up(offsets)
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
        if kind == "event":
            codes, offsets, owners = _split_events(codes, groups, offsets)
            groups = _count_up(offsets)
        is_filled = np.diff(offsets) > 0
        offsets = np.concatenate([[0], offsets[1:][is_filled]])
        return cls(codes, groups, offsets, owners[is_filled], weights, values, value_offsets, owner_of_person)


def _count_up(offsets: Offsets) -> Codes:
    """Number the items of each row from 0."""
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return places.astype(np.int32)


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
    sets, set_offsets = kernels.knowledge_rows.list_sets(codes, np.append(places, len(codes)))
    return sets, set_offsets, owners[places]


MOST_COMBINATIONS = 50_000
"""Where the items of a target's row make more sets of a size than this, only the rarest are combined."""
_ROUNDS = 6
_PARTS = 8
"""Rounds and parts do not depend on the machine, so neither does what is found."""


class Search:
    """Looks at everything of 1, 2, ... items that could be known of some persons, and counts whom it fits.

    A crowd does not grow as more becomes known, and holds at least those who look like the target. So a
    target whose crowd is as small as it can get, and of whom a protected value is certain (if they have one),
    need not be looked at with more items, and neither need what only such targets have. First items are tried
    from the rarest on, because these leave the fewest candidates. Rounds follow each other, and each drops
    the targets that the ones before are done with; the parts of a round run side by side and know nothing of
    each other.
    """

    def __init__(
        self,
        units: SearchRows,
        persons: Counts,
        *,
        known: int,
        bounds: Sequence[int],
        others: Counts | None = None,
    ) -> None:
        """Set the targets: `persons`, of whom shares are made, and `others`, who count for worst cases."""
        self.units = units
        drawn = units.owner_of_person[persons]
        owners = np.unique(drawn if others is None else np.append(drawn, units.owner_of_person[others]))
        self.n_drawn: Counts = np.bincount(np.searchsorted(owners, drawn), minlength=len(owners))
        """How often each target was drawn; none of the others was."""
        self.weights: Counts = units.weights[owners]
        """Persons who look like each target."""
        n_persons = int(units.weights.sum())
        shares = self._base_rates(n_persons)
        self.base_rate = float(shares.max(initial=0.0))
        """The largest share of persons with one protected value."""
        self.is_cut: Mask = np.zeros(len(owners), np.bool_)
        """Targets of whom not all items were combined."""
        n_values = np.diff(units.value_offsets)[owners]
        self.has_value: Mask = n_values > 0
        """Targets with a protected value."""
        surest, told = np.ones(len(owners)), np.full(len(owners), -1, np.int32)
        for target in np.flatnonzero(self.has_value).tolist():
            own = units.values[units.value_offsets[owners[target]] : units.value_offsets[owners[target] + 1]]
            told[target] = own[np.argmax(shares[own])]
            surest[target] = shares[told[target]]
        # Beyond the last bound nothing is left to find out.
        limits = np.append(np.array(bounds, np.int64), np.iinfo(np.int64).max)
        self.found: Found = kernels.knowledge.Found(
            owners.astype(np.int32),
            limits[np.searchsorted(bounds, self.weights, side="right")],
            np.full(len(owners), n_persons, np.int64),
            np.full((len(owners), known), -1, np.int32),
            surest,
            np.full(len(owners), n_persons, np.int64),
            told,
            np.full((len(owners), known), -1, np.int32),
        )

    def _base_rates(self, n_persons: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the share of persons with each protected value."""
        counts = np.bincount(
            self.units.values, weights=np.repeat(self.units.weights, np.diff(self.units.value_offsets))
        )
        return counts / max(n_persons, 1)

    @property
    def is_open(self) -> Mask:
        """Targets about whom more items could tell more."""
        mask: Mask = (self.found.fewest >= self.found.enough) | (self.found.surest < 1)
        return mask

    def run(self, size: int, *, engine: Engine, progress: Progress, phase: str) -> None:
        """Search all sets of `size` items; smaller sets have been searched."""
        items, groups, offsets, owners = self._target_rows(size)
        if not items.size:
            progress(1.0, phase)
            return
        units = self.units
        is_theirs = np.zeros(int(units.items.max()) + 1, np.bool_)
        is_theirs[items] = True
        code_of = np.where(is_theirs, np.cumsum(is_theirs) - 1, -1).astype(np.int32)
        global_of = np.append(np.flatnonzero(is_theirs), -1).astype(np.int32)
        n_items = len(global_of) - 1
        targets = _rows(code_of[items], groups, offsets, owners, n_items=n_items)
        kept = kernels.knowledge_rows.keep_items(
            units.items, units.groups, units.offsets, units.owners, code_of, size
        )
        rows = _rows(*kept, n_items=n_items)
        crowd = kernels.knowledge.Crowd(units.weights, units.values, units.value_offsets)
        n_values = int(units.values.max(initial=-1)) + 1

        def look(firsts: Codes) -> Found:
            found = _copy(self.found)
            kernels.knowledge_search.search(size, firsts, rows, crowd, targets, n_items, n_values, found)
            return found

        rounds = [np.empty(0, np.int32)] if size == 1 else _rounds(np.diff(rows.starts))
        for number, firsts in enumerate(rounds, start=1):
            parts = [firsts[place::_PARTS] for place in range(min(_PARTS, max(len(firsts), 1)))]
            done = engine.map(
                lambda shard, parts=parts: look(parts[shard.start]),  # type: ignore[misc]
                [range(place, place + 1) for place in range(len(parts))],
            )
            for found in done:
                _take_over(self.found, found, global_of)
            progress(number / len(rounds), phase)

    def _target_rows(self, size: int) -> tuple[Codes, Codes, Offsets, Codes]:
        """Return the rows of the targets that are not done with, cut to what will be combined."""
        units = self.units
        target_of = np.full(len(units.weights), -1, np.int32)
        target_of[self.found.owners] = np.arange(len(self.found.owners), dtype=np.int32)
        target_of[self.found.owners[~self.is_open]] = -1
        owners = target_of[units.owners]
        chosen = np.flatnonzero(owners >= 0)
        owners = owners[chosen]
        groups, _ = gather_rows(units.groups, units.offsets, chosen)
        items, offsets = gather_rows(units.items, units.offsets, chosen)
        if size > 1:
            is_kept, is_cut = kernels.knowledge_rows.mark_lowest(items, offsets, most_items(size))
            self.is_cut[owners[is_cut]] = True
            before = np.concatenate([[0], np.cumsum(is_kept)])
            items, groups, offsets = items[is_kept], groups[is_kept], before[offsets]
        codes = np.arange(items.max(initial=-1) + 1, dtype=np.int32)
        kept: tuple[Codes, Codes, Offsets, Codes] = kernels.knowledge_rows.keep_items(
            items, groups, offsets, owners, codes, size
        )
        return kept


def most_items(size: int) -> int:
    """Return the number of items that make as many sets of `size` as are looked at, and not more.

    Examples
    --------
    >>> [most_items(size) for size in (2, 3, 4)]
    [316, 67, 34]
    """
    most = size
    while math.comb(most + 1, size) <= MOST_COMBINATIONS:
        most += 1
    return most


def _rows(items: Codes, groups: Codes, offsets: Offsets, owners: Codes, *, n_items: int) -> Rows:
    """Index the rows for the search."""
    ahead = kernels.rows.count_ahead(items, offsets, n_items)
    index = kernels.containment.list_first_places(items, offsets, n_items)
    return kernels.knowledge.Rows(items, groups, offsets, owners, ahead, *index)


def _rounds(n_rows: Counts) -> list[Codes]:
    """Cut the items, from the rarest on, into rounds of about as many rows each."""
    codes = np.arange(len(n_rows), dtype=np.int32)
    total = np.cumsum(n_rows)
    cuts = np.searchsorted(total, total[-1] * np.arange(1, _ROUNDS) / _ROUNDS)
    return [each for each in np.split(codes, cuts) if each.size]


def _copy(found: Found) -> Found:
    """Copy what a search writes into."""
    return found._replace(
        fewest=found.fewest.copy(),
        rare=found.rare.copy(),
        surest=found.surest.copy(),
        among=found.among.copy(),
        told=found.told.copy(),
        telling=found.telling.copy(),
    )


def _take_over(known: Found, found: Found, global_of: Codes) -> None:
    """Write into `known` what `found` says better; new items come in the numbers of the search."""
    rarer = found.fewest < known.fewest
    known.fewest[rarer] = found.fewest[rarer]
    known.rare[rarer] = global_of[found.rare[rarer]]
    surer = (found.surest > known.surest) | ((found.surest == known.surest) & (found.among > known.among))
    known.surest[surer] = found.surest[surer]
    known.among[surer] = found.among[surer]
    known.told[surer] = found.told[surer]
    known.telling[surer] = global_of[found.telling[surer]]
