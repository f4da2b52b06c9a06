"""Count everything that could be known of anybody, signature by signature, so that memory stays bounded.

A signature is a set of views: the quasi-identifiers that some items are about, and the level of each. Every
sequence of items belongs to one signature, which is counted alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import InputError
from sequester.kernels.shares import exceeds_share
from sequester.privacy.channel import Channel
from sequester.privacy.views import read_cells, views_of
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.engine import Engine
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.kernels.occurrence_rows import Rows
    from sequester.kernels.occurrence_verdicts import Found
    from sequester.kernels.occurrences import Signature
    from sequester.privacy.views import View

ROOM = 1 << 21
"""Sequences that are counted at once; a signature with more is counted in parts."""
LIMIT = 1e12
"""Sequences that can be counted in a day or so; more are refused."""
MOST_SIGNATURES = 1_000_000
"""Signatures that can be gone through; more are refused."""
_MANY = 64
_NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is asked of every sequence, and how many of those that break it are shown."""

    k: int
    c: float
    most: int
    """Items of a sequence."""
    shown: int


class LowerBound:
    """The largest share that has been found so far; it only rises, whoever raises it."""

    def __init__(self, share: Fraction) -> None:
        self.share = share
        self._lock = Lock()

    def raise_to(self, share: Fraction) -> None:
        """Take a share if it is larger."""
        with self._lock:
            self.share = max(self.share, share)


@dataclass(frozen=True, slots=True)
class Answer:
    """What all sequences together say."""

    fewest: int
    """The smallest number of persons who have one."""
    surest: Fraction
    """The largest share of the persons of a sequence who have one protected value."""
    violations: int
    """Sequences that break a bound."""
    channels: tuple[Channel, ...]
    """The first of them, shortest first, then in label order."""


@dataclass(frozen=True)
class Occurrences:
    """The persons of a table, equal ones folded, and all views on their events."""

    names: tuple[str, ...]
    """The quasi-identifiers."""
    trees: tuple[Hierarchy, ...]
    """Their hierarchies."""
    values: tuple[tuple[str, str], ...]
    """Attribute and label of every protected value."""
    n_persons: int
    """Number of persons."""
    rows: Rows
    """Different persons: kinds of events in order, how many have them, and their protected values."""
    kinds: Codes
    """The nodes of each kind of event, a column per quasi-identifier."""
    secrets: tuple[Mask, ...]
    """For each quasi-identifier which nodes are no background knowledge."""
    mixed: bool
    """The items of a quasi-identifier may be at different levels."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        protect: Mapping[str, Sequence[str]],
        columns: Mapping[str, Sequence[str]],
        mixed: bool,
        stars: bool,
    ) -> Occurrences:
        """Fold equal events and equal persons of a table."""
        cells, secrets = read_cells(table, protect, stars=stars)
        n_events, n_columns = cells.shape
        kind_of_event, first_events = kernels.rows.fold_rows(
            np.ascontiguousarray(cells).ravel(), np.arange(n_events + 1) * n_columns
        )
        row_of_person, first_persons = kernels.rows.fold_rows(kind_of_event, table.person_offsets)
        events, offsets = gather_rows(kind_of_event, table.person_offsets, first_persons)
        values = tuple((name, label) for name, labels in protect.items() for label in labels)
        held, offsets_of_persons = table.sequences.values_of_persons(values, columns)
        persons = np.repeat(np.arange(table.n_persons), np.diff(offsets_of_persons))
        owners, counts = np.unique(
            row_of_person[persons].astype(np.int64) * max(len(values), 1) + held, return_counts=True
        )
        value_offsets = np.searchsorted(owners, np.arange(first_persons.size + 1) * max(len(values), 1))
        return cls(
            names=tuple(table.schema.quasi),
            trees=tuple(table.hierarchies[name] for name in table.schema.quasi),
            values=values,
            n_persons=table.n_persons,
            rows=kernels.occurrence_rows.Rows(
                events,
                offsets,
                _weights(row_of_person, np.unique(persons), first_persons.size),
                (owners % max(len(values), 1)).astype(np.int32),
                counts.astype(np.int64),
                value_offsets.astype(np.int64),
            ),
            kinds=cells[first_events],
            secrets=tuple(secrets),
            mixed=mixed,
        )

    @cached_property
    def views(self) -> tuple[View, ...]:
        """Every quasi-identifier at every level, in the order of columns, coarse first."""
        return tuple(
            view
            for column, tree in enumerate(self.trees)
            for view in views_of(column, tree, self.kinds[:, column], self.secrets[column], mixed=self.mixed)
        )

    @cached_property
    def _items(self) -> list[Codes]:
        """For each view the item of each kind of event."""
        padded = [np.append(view.item_of_node, np.int32(-1)) for view in self.views]
        # The last place stands for a hidden cell, whose node is -1.
        return [items[self.kinds[:, view.column]] for items, view in zip(padded, self.views, strict=True)]

    @cached_property
    def _first_rank(self) -> Counts:
        """The rank of the root of each quasi-identifier; nodes follow in their order."""
        return np.cumsum([0, *map(len, self.trees)])[:-1]

    def signatures(self, most: int) -> Iterator[tuple[int, ...]]:
        """Name the views of every signature, fewest views first."""
        for size in range(1, min(most, len(self.views)) + 1):
            if self.mixed:
                yield from combinations(range(len(self.views)), size)
                continue
            for columns in combinations(self._views_of_columns, size):
                yield from product(*columns)

    @cached_property
    def _views_of_columns(self) -> list[list[int]]:
        """For each quasi-identifier that says anything the numbers of its views."""
        columns = range(len(self.names))
        found = [
            [place for place, view in enumerate(self.views) if view.column == column] for column in columns
        ]
        return [places for places in found if places]

    def count_signatures(self, most: int) -> float:
        """Count the signatures without listing them."""
        if self.mixed:
            return float(
                sum(comb(len(self.views), size) for size in range(1, min(most, len(self.views)) + 1))
            )
        ways = np.ones(1)
        for places in self._views_of_columns:
            ways = np.convolve(ways, [1.0, len(places)])
        return float(ways[1 : most + 1].sum())

    def estimate(self, most: int) -> float:
        """Give an upper bound on the sequences of at most so many items that all different persons have."""
        lengths, n_rows = np.unique(np.diff(self.rows.offsets), return_counts=True)
        total = 0.0
        for length, rows in zip(lengths.tolist(), n_rows.tolist(), strict=True):
            # The coefficient of x^n counts the ways to take n items; of many there are more than enough ways.
            sizes = np.arange(1.0, min(length, most, _MANY) + 1)
            ways = np.ones(1)
            with np.errstate(over="ignore"):
                chosen = np.cumprod((length + 1 - sizes) / sizes)
                for n_levels in map(len, self._views_of_columns):
                    # A level for each item, or one for all of them.
                    of_column = chosen * (n_levels**sizes if self.mixed else n_levels)
                    ways = np.convolve(ways, np.append(1.0, of_column))[: min(most, _MANY) + 1]
                total += rows * float(ways[1:].sum())
        return total

    def _fits(self, most: int) -> bool:
        return self.estimate(most) <= LIMIT and self.count_signatures(most) <= MOST_SIGNATURES

    def _refuse_too_many(self, most: int) -> None:
        if not self._fits(most):
            largest = next((size for size in range(min(most, _MANY), 0, -1) if self._fits(size)), 0)
            msg = (
                f"what could be known of {most:,} items is too much to be counted, about "
                f"{self.estimate(most):.0e} sequences; the largest p that can be checked here is {largest}"
            )
            raise InputError(msg)

    def judge(self, bounds: Bounds, engine: Engine) -> Answer:
        """Count every sequence of at most so many items, and say what breaks the bounds.

        Whatever occurs has a specialization that occurs in the cells as they are, and which no more persons
        have. So supports are counted there first; only if one of them is too small are they counted
        everywhere. A share can be largest at any level, but only where somebody has a protected value.
        """
        # Nobody has more items than events times columns, and nobody is rarer than everybody.
        longest = int(np.diff(self.rows.offsets).max(initial=0))
        most = min(bounds.most, longest * len(self.names))
        self._refuse_too_many(most)
        bounds = replace(bounds, most=most, k=min(bounds.k, self.n_persons + 1))
        signatures = list(self.signatures(most))
        is_own = [all(self.views[view].is_own for view in chosen) for chosen in signatures]
        own = [chosen for chosen, is_so in zip(signatures, is_own, strict=True) if is_so]
        coarse = [chosen for chosen, is_so in zip(signatures, is_own, strict=True) if not is_so]
        surest = LowerBound(max(self._base_rates().values(), default=Fraction(0)))
        found = self._count_all(own, bounds, surest, engine, everything=True)
        is_rare = any(0 <= each.fewest < bounds.k for each in found)
        if is_rare or self.values:
            found += self._count_all(coarse, bounds, surest, engine, everything=is_rare)
        nothing = self._nothing_known(bounds)
        channels = sorted((row for each in found for row in _listed(each)), key=lambda row: row[:2])
        return Answer(
            fewest=min([self.n_persons, *(each.fewest for each in found if each.fewest >= 0)]),
            surest=surest.share,
            violations=sum(each.violations for each in found) + len(nothing),
            channels=(*nothing, *(self._channel(*row[1:]) for row in channels))[: bounds.shown],
        )

    def _base_rates(self) -> dict[int, Fraction]:
        persons = np.bincount(self.rows.values, self.rows.counts, minlength=len(self.values))
        return {value: Fraction(int(count), self.n_persons) for value, count in enumerate(persons)}

    def _nothing_known(self, bounds: Bounds) -> list[Channel]:
        """Say what is wrong before anything is known."""
        if self.n_persons < bounds.k:
            return [Channel(events=(), persons=self.n_persons)]
        rates = self._base_rates()
        if not rates:
            return []
        value = max(rates, key=lambda each: (rates[each], -each))
        have = int(rates[value] * self.n_persons)
        if not exceeds_share(have, bounds.c, self.n_persons):
            return []
        return [Channel(events=(), persons=self.n_persons, value=self.values[value], with_value=have)]

    def _count_all(
        self,
        chosen: list[tuple[int, ...]],
        bounds: Bounds,
        lower_bound: LowerBound,
        engine: Engine,
        *,
        everything: bool,
    ) -> list[Found]:
        def task(places: range) -> list[Found]:
            return self._count(chosen[places.start], bounds, lower_bound, everything=everything)

        shards = [range(place, place + 1) for place in range(len(chosen))]
        return [each for answers in engine.map(task, shards) for each in answers]

    def _count(
        self, chosen: tuple[int, ...], bounds: Bounds, lower_bound: LowerBound, *, everything: bool
    ) -> list[Found]:
        """Count one signature, in parts where it has too many sequences to be held at once."""
        signature, kind_of = self._signature(chosen)
        rows = self._project(kind_of)
        n_counted = rows.weights.size if everything else np.count_nonzero(np.diff(rows.value_offsets))
        count = kernels.occurrences.count_occurrences
        found, parts = [], [(0, 1)]
        while parts:
            part, n_parts = parts.pop()
            room = ROOM if n_parts < signature.marks.size else _NO_LIMIT
            nodes, held, n_sequences = count(
                rows, signature, bounds.most, kernels.occurrences.no_nodes(4), n_counted, part, n_parts, room
            )
            if n_sequences < 0:
                parts += [(part + n_parts, 2 * n_parts), (part, 2 * n_parts)]
                continue
            slot_of = kernels.occurrence_verdicts.list_slots(nodes, n_sequences)
            known = lower_bound.share
            if kernels.occurrence_verdicts.want(
                nodes, slot_of, signature, bounds.c, known.numerator, known.denominator
            ):
                nodes, held, _ = count(rows, signature, bounds.most, nodes, -1, part, n_parts, room)
            found.append(
                kernels.occurrence_verdicts.judge(
                    nodes, slot_of, held, signature, bounds.most, bounds.k, bounds.c, bounds.shown
                )
            )
            lower_bound.raise_to(Fraction(found[-1].with_value, found[-1].among))
        return found

    def _signature(self, chosen: tuple[int, ...]) -> tuple[Signature, Codes]:
        """Number the items of the views one after the other, and the kinds of events that differ in them."""
        views = [self.views[view] for view in chosen]
        starts = np.cumsum([0, *(view.nodes.size for view in views)])
        items = np.stack(
            [
                np.where(self._items[view] < 0, np.int32(-1), self._items[view] + np.int32(start))
                for view, start in zip(chosen, starts[:-1], strict=True)
            ],
            axis=1,
        )
        group_of, first = kernels.rows.fold_rows(
            items.ravel(), np.arange(items.shape[0] + 1) * items.shape[1]
        )
        shows = np.any(items[first] >= 0, axis=1)
        signature = kernels.occurrences.Signature(
            items[first],
            np.array([view.column for view in views], np.int32),
            np.concatenate([view.is_exact.astype(np.int64) << place for place, view in enumerate(views)]),
            np.concatenate([self._first_rank[view.column] + view.nodes for view in views]).astype(np.int64),
            len(self.values),
        )
        return signature, np.where(shows[group_of], group_of, np.int32(-1))

    def _project(self, kind_of: Codes) -> Rows:
        """Fold the persons who are equal through the views, those with protected values first."""
        events, offsets = kernels.occurrence_rows.leave_out(self.rows.events, self.rows.offsets, kind_of)
        group_of, first = kernels.rows.fold_rows(events, offsets)
        weights, values, counts, value_offsets = kernels.occurrence_rows.merge_rows(
            self.rows, group_of, first.size
        )
        order = np.argsort(np.diff(value_offsets) == 0, kind="stable")
        events, offsets = gather_rows(events, offsets, first[order])
        sorted_values, sorted_offsets = gather_rows(values, value_offsets, order)
        sorted_counts, _ = gather_rows(counts, value_offsets, order)
        return kernels.occurrence_rows.Rows(
            events, offsets, weights[order], sorted_values, sorted_counts, sorted_offsets
        )

    def _channel(self, path: tuple[int, ...], persons: int, value: int, have: int) -> Channel:
        events: list[list[tuple[str, str]]] = []
        for each in path:
            same, rank = divmod(each, kernels.occurrence_verdicts.SAME_EVENT)
            column = int(np.searchsorted(self._first_rank, rank, side="right")) - 1
            label = self.trees[column].labels[rank - int(self._first_rank[column])]
            if not same:
                events.append([])
            events[-1].append((self.names[column], label))
        return Channel(
            events=tuple(map(tuple, events)),
            persons=persons,
            value=None if value < 0 else self.values[value],
            with_value=have,
        )


def _weights(row_of_person: Codes, with_value: Counts, n_rows: int) -> Counts:
    """Count the persons of each row, and those of them who have any protected value."""
    persons = np.bincount(row_of_person, minlength=n_rows).astype(np.int64)
    have = np.bincount(row_of_person[with_value], minlength=n_rows).astype(np.int64)
    return persons + have * kernels.occurrence_rows.WITH_VALUE


def _listed(found: Found) -> Iterator[tuple[int, tuple[int, ...], int, int, int]]:
    for path, persons, value, have in zip(
        found.paths.tolist(),
        found.persons.tolist(),
        found.values.tolist(),
        found.counts.tolist(),
        strict=True,
    ):
        items = tuple(each for each in path if each >= 0)
        yield len(items), items, persons, value, have
