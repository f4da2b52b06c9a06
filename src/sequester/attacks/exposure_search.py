"""Search for the items that leave the smallest candidate sets or the largest confidence.

`Items` are what could be known of the persons of a table, `SearchRows` the same in rows of one kind of
knowledge, and `CandidateSearch` looks at all sets of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sequester import kernels
from sequester.attacks.domain import protected_labels, value_names, values_of
from sequester.engine import LocalEngine, part
from sequester.mining.support import list_first_places
from sequester.privacy import sequence_table as kernel
from sequester.privacy.sequence_table import SequenceTable
from sequester.ragged import (
    append_rows,
    gather_rows,
    keep_values,
    list_sets,
    offsets_of,
    owners_of,
    places_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress

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
        events = np.repeat(places_of(table.person_offsets).astype(np.int32), len(columns))
        offsets = table.person_offsets * len(columns)
        if not is_item.all() or table.of_persons:
            kept = is_item[codes] & (codes >= 0)
            codes, events, offsets = codes[kept], events[kept], offsets_of(kept)[offsets]
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
    sequences, protected = table.sequences, protected_labels(table)
    names: list[tuple[str, str]] = []
    parts, marks = [], []
    for column in columns:
        labels = sequences.codebooks[column].labels
        own = sequences.columns[column]
        parts.append(np.where(own < 0, np.int32(-1), own + np.int32(len(names))))
        names += [(column, label) for label in labels]
        hidden = protected.get(column, set())
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
            starts = _mark_starts(groups, offsets)
            looks = codes + len(items.names) * starts.astype(np.int32)
        values = items.values + 2 * len(items.names)
        looks, look_offsets = append_rows(looks, offsets, values, items.value_offsets)
        owner_of_person, persons = kernels.rows.fold_rows(looks, look_offsets)
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


def _split_events(codes: Codes, events: Codes, offsets: Offsets) -> tuple[Codes, Offsets, Codes]:
    """Make each event a row of its own, its items ascending; the person is its owner."""
    places = np.flatnonzero(_mark_starts(events, offsets)).astype(np.int64)
    sets, set_offsets = list_sets(codes, np.append(places, len(codes)))
    return sets, set_offsets, owners_of(offsets)[places].astype(np.int32)


def _mark_starts(groups: Codes, offsets: Offsets) -> Mask:
    """Mark where another group begins, or another row."""
    starts = np.ones(len(groups), np.bool_)
    starts[1:] = groups[1:] != groups[:-1]
    starts[offsets[:-1][np.diff(offsets) > 0]] = True
    return starts


MOST_COMBINATIONS = 50_000
"""Where the items of a target's row make more sets of a size than this, only the rarest are combined."""
_PARTS = 8
_FIRST_ROUND = 1 << 17
_LARGEST_ROUND = 1 << 24
"""Sets of items that are looked at in a round. The parts and rounds do not depend on the machine, so neither
does what is found."""
_MOST_OF_THEM = 0.7
_ROOM = 1 << 21
"""Sets of items that are counted in one table."""


class CandidateSearch:
    """Looks at everything of 1, 2, ... items that could be known of some persons, and counts who matches.

    A candidate set does not grow as more becomes known, and holds at least those who look like the target. So
    a target whose set is as small as it can get, and of whom a protected value is certain (if they have one),
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
        """Set the targets: `persons`, who make the shares, and `others`, who count for worst cases."""
        self.units = units
        drawn = units.owner_of_person[persons]
        owners = np.unique(drawn if others is None else np.append(drawn, units.owner_of_person[others]))
        self._owners = owners
        self.n_drawn: Counts = np.bincount(np.searchsorted(owners, drawn), minlength=len(owners))
        """How often each target was drawn; none of the others was."""
        self.weights: Counts = units.weights[owners]
        """Persons who look like each target."""
        self.is_cut: Mask = np.zeros(len(owners), np.bool_)
        """Targets whose items were not all combined."""
        self._values, self._value_offsets = gather_rows(units.values, units.value_offsets, owners)
        self.has_value: Mask = np.diff(self._value_offsets) > 0
        """Targets with a protected value."""
        n_persons = int(units.weights.sum())
        repeated = np.repeat(units.weights, np.diff(units.value_offsets))
        have = np.bincount(units.values, repeated).astype(np.int64)
        self.base_rate = float(have.max(initial=0) / max(n_persons, 1))
        """The largest share of persons with one protected value."""
        self._worst = np.full((len(owners), kernel.N_WORST_FIELDS), n_persons, np.int64)
        self._worst[:, kernel.VALUE] = -1
        for target in np.flatnonzero(self.has_value).tolist():
            own = self._values[self._value_offsets[target] : self._value_offsets[target + 1]]
            value_code = own[np.argmax(have[own])]
            self._worst[target, [kernel.HAVE, kernel.VALUE]] = have[value_code], value_code
        self.rare: Codes = np.full((len(owners), known), -1, np.int32)
        """The items that lead to the smallest candidate set, one row per target, -1 behind them."""
        self.telling: Codes = np.full((len(owners), known), -1, np.int32)
        """The items that lead to the largest confidence, one row per target, -1 behind them."""
        # Beyond the last bound nothing is left to find out.
        limits = np.append(np.array(bounds, np.int64), np.iinfo(np.int64).max)
        self._enough = limits[np.searchsorted(bounds, self.weights, side="right")]

    @property
    def fewest(self) -> Counts:
        """Persons in the smallest candidate set of each target."""
        return self._worst[:, kernel.FEWEST]

    @property
    def surest(self) -> npt.NDArray[np.float64]:
        """The largest confidence in a protected value of each target's own; 1 for those who have none."""
        confidence: npt.NDArray[np.float64] = self._worst[:, kernel.HAVE] / self.among
        return confidence

    @property
    def among(self) -> Counts:
        """Persons in the candidate set that this confidence is about."""
        return self._worst[:, kernel.AMONG]

    @property
    def value_code(self) -> Counts:
        """The protected value that this confidence is about."""
        return self._worst[:, kernel.VALUE]

    @property
    def is_open(self) -> Mask:
        """Targets that more items could expose further."""
        mask: Mask = (self.fewest >= self._enough) | (self._worst[:, kernel.HAVE] < self.among)
        return mask

    def count(self, targets: Mask) -> int:
        """Count how often the marked targets were drawn."""
        return int(self.n_drawn[targets].sum())

    def run(self, *, engine: Engine | None, progress: Progress, of: str = "") -> Iterator[int]:
        """Search all sets of 1, 2, ... items, and yield each size once it has been searched."""
        engine, known = engine or LocalEngine(), self.rare.shape[1]
        for size in range(1, known + 1):
            within = part(progress, (size - 1) / known, size / known)
            phase = f"counting candidate sets ({of}{size} of {known} items)"
            counter = self._counter(size)
            for part_of_all, parts in self._rounds(counter, size):
                # All parts of a round are compared with what was known before it.
                found = engine.map(_look, parts, shared=(counter, self._worst))
                for better in list(found):
                    self._take_over(better)
                within(part_of_all, phase)
            within(1.0, phase)
            yield size

    def _rounds(self, counter: _Counter, size: int) -> Iterator[tuple[float, list[_SearchPart]]]:
        """Cut what open targets have into rounds, by its first item, the rarest first; each twice as large.

        Yields how much has been looked at after the round, and its parts.
        """
        targets, n_items = counter.targets, counter.n_items
        starts, rows, after = list_first_places(targets.items, targets.offsets, n_items)
        left = (targets.offsets[rows + 1] - after).astype(np.float64)
        n_sets = np.ones(len(rows))
        for taken in range(size - 1):
            n_sets *= np.maximum(left - taken, 0) / (taken + 1)
        firsts = owners_of(starts)
        first, budget = 0, _FIRST_ROUND
        while first < n_items:
            is_open = self.is_open[targets.owners[rows]]
            work = np.cumsum(np.bincount(firsts, n_sets * is_open, n_items)[first:])
            if work[-1] == 0:
                return
            stop = first + min(int(np.searchsorted(work, budget)) + 1, n_items - first)
            share = work[stop - first - 1] / _PARTS
            cuts = first + np.searchsorted(work[: stop - first], share * np.arange(1, _PARTS))
            bounds = np.unique([first, *cuts, stop]).tolist()
            parts = []
            for low, high in pairwise(bounds):
                span = slice(starts[low], starts[high])
                kept = is_open[span] & (n_sets[span] > 0)
                chosen, place = np.unique(rows[span][kept], return_inverse=True)
                in_row = np.bincount(place, n_sets[span][kept]).astype(np.float64)
                parts += _cut(range(low, high), chosen, in_row, size, n_items)
            if parts:
                yield stop / n_items, parts
            first, budget = stop, min(2 * budget, _LARGEST_ROUND)

    def _take_over(self, better: _Better) -> None:
        """Take note of what a part found that is worse for a target than what is known."""
        known, worst = self._worst[better.targets], better.worst
        is_rarer = worst[:, kernel.FEWEST] < known[:, kernel.FEWEST]
        targets = better.targets[is_rarer]
        self._worst[targets, kernel.FEWEST] = worst[is_rarer, kernel.FEWEST]
        self.rare[targets] = -1
        self.rare[targets, : better.rare.shape[1]] = better.rare[is_rarer]
        more = worst[:, kernel.HAVE] * known[:, kernel.AMONG] - known[:, kernel.HAVE] * worst[:, kernel.AMONG]
        is_surer = (more > 0) | ((more == 0) & (worst[:, kernel.AMONG] > known[:, kernel.AMONG]))
        targets = better.targets[is_surer]
        fields = [kernel.HAVE, kernel.AMONG, kernel.VALUE]
        self._worst[np.ix_(targets, fields)] = worst[np.ix_(is_surer, fields)]
        self.telling[targets] = -1
        self.telling[targets, : better.telling.shape[1]] = better.telling[is_surer]

    def _counter(self, size: int) -> _Counter:
        """Make ready to count sets of `size` items of the targets that are not done with."""
        units = self.units
        target_of = np.full(len(units.weights), -1, np.int32)
        target_of[self._owners] = np.where(self.is_open, np.arange(len(self._owners)), -1)
        owners = target_of[units.owners]
        chosen = np.flatnonzero(owners >= 0)
        owners = owners[chosen]
        groups, _ = gather_rows(units.groups, units.offsets, chosen)
        items, offsets = gather_rows(units.items, units.offsets, chosen)
        if size > 1:
            is_kept, is_cut = mark_lowest(items, offsets, most_items(size))
            self.is_cut[owners[is_cut]] = True
            groups, _ = keep_values(groups, offsets, is_kept)
            items, offsets = keep_values(items, offsets, is_kept)
        targets = replace(
            units,
            items=items,
            groups=groups,
            offsets=offsets,
            owners=owners,
            values=self._values,
            value_offsets=self._value_offsets,
        )
        return _Counter.of(size, units, targets)


class _SearchPart(NamedTuple):
    """What is counted in one table: the sets that begin with some items, of some rows of targets."""

    firsts: range
    rows: Codes


class _Better(NamedTuple):
    """What a part found about its targets; items are -1 where it found nothing worse."""

    targets: Codes
    worst: kernel.Table
    rare: Codes
    telling: Codes


def _cut(
    firsts: range, rows: Codes, n_sets: npt.NDArray[np.float64], size: int, n_items: int
) -> list[_SearchPart]:
    """Cut the rows of targets so that the sets of each part fit into a table."""
    if not len(rows):
        return []
    if min(n_sets.sum(), len(firsts) * float(n_items) ** (size - 1)) <= _ROOM:
        return [_SearchPart(firsts, rows)]
    total = np.cumsum(n_sets)
    cuts = np.searchsorted(total, np.arange(_ROOM, total[-1], _ROOM))
    return [_SearchPart(firsts, each) for each in np.split(rows, np.unique(cuts)) if len(each)]


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts who matches the sets of `size` items of some targets, in tables of sequences."""

    size: int
    n_items: int
    """Number of different items of the targets; other items are left out."""
    global_of: Codes
    """Item to its number outside, -1 behind them."""
    views: kernel.Views
    targets: SearchRows
    """Rows of targets, who are its owners."""
    target_rows: kernel.OwnedRows
    everybody: kernel.OwnedRows
    """The rows of everybody."""
    starts: Offsets
    """Item ``i`` is in the rows ``rows[starts[i]:starts[i + 1]]`` of everybody."""
    rows: Codes

    @classmethod
    def of(cls, size: int, units: SearchRows, targets: SearchRows) -> _Counter:
        """Number the items of targets, and index everybody who has them."""
        is_theirs = np.zeros(int(units.items.max(initial=-1)) + 1, np.bool_)
        is_theirs[targets.items] = True
        n_items = int(np.count_nonzero(is_theirs))
        code_of = np.where(is_theirs, np.cumsum(is_theirs) - 1, -1).astype(np.int32)
        targets = replace(targets, items=code_of[targets.items])
        items = code_of[units.items]
        groups, _ = keep_values(units.groups, units.offsets, items >= 0)
        items, offsets = keep_values(items, units.offsets, items >= 0)
        kinds, kind_offsets, shown = _kinds(
            np.concatenate([targets.items, items]),
            np.concatenate([targets.groups, groups]),
            np.concatenate([targets.offsets[:-1], targets.offsets[-1] + offsets]),
            n_items,
        )
        n_rows = len(targets.owners)
        last = kind_offsets[n_rows]
        n_values = np.diff(units.value_offsets)
        weights = units.weights + units.weights * (n_values > 0) * kernel.WITH_VALUE
        of_owners = np.column_stack([units.values, np.repeat(units.weights, n_values)]).astype(np.int64)
        of_targets = np.column_stack([targets.values, targets.values]).astype(np.int64)
        starts, rows, _ = list_first_places(items, offsets, n_items)
        nothing = np.zeros(shown.shape[1], np.int32), np.zeros(n_items, np.int64), np.zeros(1, np.int64)
        own = kinds[:last], kind_offsets[: n_rows + 1], targets.owners, np.empty(0, np.int64)
        everybody = kinds[last:], kind_offsets[n_rows:] - last, units.owners, weights
        return cls(
            size,
            n_items,
            np.append(np.flatnonzero(is_theirs), -1).astype(np.int32),
            kernel.Views(shown, *nothing),
            targets,
            kernel.OwnedRows(*own, targets.value_offsets, of_targets),
            kernel.OwnedRows(*everybody, units.value_offsets, of_owners),
            starts,
            rows,
        )

    def count(self, part: _SearchPart, known: kernel.Table) -> _Better:
        """Count the sets of a part, and compare them with what is known of its targets."""
        n_values = int(self.everybody.values[:, 0].max(initial=-1)) + 1
        table = SequenceTable(self.views, most=self.size, n_values=n_values, firsts=part.firsts)
        targets, owners = np.unique(self.targets.owners[part.rows], return_inverse=True)
        values, value_offsets = gather_rows(
            np.arange(len(self.target_rows.values)), self.target_rows.value_offsets, targets
        )
        theirs = _take(self.target_rows, part.rows)._replace(
            owners=owners.astype(np.int32),
            value_offsets=value_offsets,
            values=self.target_rows.values[values],
        )
        everybody = self._holders(part.firsts)
        if len(part.rows) > _MOST_OF_THEM * len(everybody.owners):
            # What few others have beside is counted in vain, and one walk is saved.
            table.walk(everybody, kernel.MAKES | kernel.COUNTS)
        else:
            table.walk(theirs, kernel.MAKES)
            table.forget_rows()
            table.walk(everybody, kernel.COUNTS)
        nodes = table.list_nodes()
        is_open = known[:, kernel.HAVE] < known[:, kernel.AMONG]
        if is_open.any():
            # No share of a single value exceeds that of all of them.
            least = (known[is_open, kernel.HAVE] / known[is_open, kernel.AMONG]).min()
            is_wanted = nodes.at_risk >= least * nodes.persons * (1 - 1e-12)
            table.look_only_for(nodes, table.with_beginnings(nodes, is_wanted))
            has_value = np.diff(self.everybody.value_offsets) > 0
            table.walk(_take(everybody, np.flatnonzero(has_value[everybody.owners])), kernel.HOLDS)
        table.forget_rows()
        known[:, [kernel.RAREST, kernel.SUREST]] = 0
        table.walk(theirs, kernel.COMPARES, worst=known)
        rare, telling = (
            self.global_of[table.paths(nodes.keys, known[:, field])[0]]
            for field in (kernel.RAREST, kernel.SUREST)
        )
        return _Better(targets, known, rare, telling)

    def _holders(self, firsts: range) -> kernel.OwnedRows:
        """Return the rows of everybody who has one of the first items."""
        is_holder = np.zeros(len(self.everybody.owners), np.bool_)
        is_holder[self.rows[self.starts[firsts.start] : self.starts[firsts.stop]]] = True
        if is_holder.all():
            return self.everybody
        return _take(self.everybody, np.flatnonzero(is_holder))


def _look(part: _SearchPart, shared: tuple[_Counter, kernel.Table]) -> _Better:
    """Return what the sets of a part tell about its targets that is worse than what is known."""
    counter, worst = shared
    return counter.count(part, worst[np.unique(counter.targets.owners[part.rows])])


def _take(rows: kernel.OwnedRows, chosen: Codes | Counts) -> kernel.OwnedRows:
    """Return some of the rows; owners keep their numbers."""
    kinds, offsets = gather_rows(rows.kinds, rows.offsets, chosen)
    return rows._replace(kinds=kinds, offsets=offsets, owners=rows.owners[chosen])


def _kinds(
    items: Codes, groups: Codes, offsets: Offsets, n_items: int
) -> tuple[Codes, Offsets, npt.NDArray[np.int32]]:
    """Number the groups of all rows by the items that they hold.

    Returns the kinds of each row's groups, their offsets, and the items of each kind, -1 behind them.
    """
    starts = _mark_starts(groups, offsets)
    if starts.all():
        return items, offsets, np.arange(n_items, dtype=np.int32).reshape(-1, 1)
    places = np.append(np.flatnonzero(starts), len(items)).astype(np.int64)
    kind_of, firsts = kernels.rows.fold_rows(items, places)
    held, held_offsets = gather_rows(items, places, firsts)
    shown = np.full((len(firsts), int(np.diff(held_offsets).max())), -1, np.int32)
    shown[owners_of(held_offsets), places_of(held_offsets)] = held
    return kind_of.astype(np.int32), offsets_of(starts)[offsets], shown


def mark_lowest(items: Codes, offsets: Offsets, most: int) -> tuple[Mask, Mask]:
    """Mark in each row the items with the `most` lowest different codes, and the rows that have others.

    Examples
    --------
    >>> is_lowest, is_cut = mark_lowest(np.array([4, 2, 4, 3, 1]), np.array([0, 4, 5]), 2)
    >>> is_lowest.tolist(), is_cut.tolist()
    ([False, True, False, True, True], [True, False])
    """
    is_cut = np.zeros(len(offsets) - 1, np.bool_)
    long = np.flatnonzero(np.diff(offsets) > most)
    sets, set_offsets = list_sets(*gather_rows(items, offsets, long))
    is_long = np.diff(set_offsets) > most
    is_cut[long[is_long]] = True
    limits = np.full(len(is_cut), np.iinfo(np.int32).max, np.int64)
    limits[long[is_long]] = sets[set_offsets[:-1][is_long] + most]
    is_lowest = items < np.repeat(limits, np.diff(offsets))
    return is_lowest, is_cut


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
