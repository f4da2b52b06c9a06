"""Background knowledge: a few items of a person's history, at random or the rarest, of every kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from sequester.attacks.candidate_sets import ValueRanges, days_of, without_known
from sequester.attacks.domain import protected_labels, values_of
from sequester.kernels.rows import list_symbols
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks.domain import Domain
    from sequester.data.table import EventTable


KnowledgeKind = Literal[
    "anywhere",
    "ordered",
    "consecutive",
    "event",
    "generalized",
    "mixed",
    "gaps",
    "count",
    "negative",
    "sensitive",
    "protected",
    "other_sensitive",
    "kept",
    "released",
    "demographics",
    "demographics_events",
]
"""How the items of a piece hang together; see `TargetPool.draw`."""
COARSER: tuple[KnowledgeKind, ...] = ("generalized", "mixed")
"""The kinds whose items may be known less precisely than they are."""
BEYOND: tuple[KnowledgeKind, ...] = ("kept", "released")
"""The kinds that need tables in which kept columns are coded."""
_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundKnowledge:
    """Background knowledge of one kind, one row per target; -1 stands for nothing."""

    kind: KnowledgeKind
    """How the items hang together."""
    persons: Counts
    """The target of each row, by their place in the original."""
    nodes: Codes
    """The items, in the order of their events, filled from the left."""
    days: Counts
    """Days from the first item's event to that of each."""
    places: Codes
    """Events from the first item's event to that of each."""
    n_events: Codes
    """How many events the person has; -1 where that is not known."""
    never: Codes
    """Something that the person never had; -1 where that is not known."""
    value_code: Codes
    """A protected value of the person that is among the items, by its number; -1 where none is."""
    last_code: Codes
    """The same; with ``other_sensitive``, the two are the first and last value that is not asked for."""

    def __len__(self) -> int:
        return len(self.persons)


def kinds_for(table: EventTable, domain: Domain) -> tuple[KnowledgeKind, ...]:
    """Return the kinds of knowledge that a table allows, those that need more than order last."""
    wanted = {
        "event": domain.n_open > 1,
        "generalized": any(tree.height > 1 for tree in domain.trees[: domain.n_open]),
        "mixed": any(tree.height > 1 for tree in domain.trees[: domain.n_open]),
        "gaps": table.times is not None,
        "sensitive": bool(VALUES["sensitive"](domain).any()),
        "protected": any(
            not labels.isdisjoint(table.labels[column]) for column, labels in protected_labels(table).items()
        ),
        "other_sensitive": bool(VALUES["other_sensitive"](domain).any()),
        "kept": domain.n_covered < len(domain.columns),
        "released": bool(domain.is_item[int(domain.starts[domain.n_open]) :].any()),
        "demographics": n_of_persons(table, domain) > 0,
        "demographics_events": n_of_persons(table, domain) > 0,
    }
    return tuple(kind for kind in get_args(KnowledgeKind) if wanted.get(kind, True))


@dataclass(frozen=True)
class TargetPool:
    """A table that background knowledge is drawn from, in the nodes of a domain."""

    table: EventTable
    """The persons and their events."""
    domain: Domain
    """The trees."""
    cells: Codes
    """The node of every event and column."""
    values: Codes
    """The protected values of all persons."""
    value_offsets: Offsets
    """Person ``i`` has the values ``value_offsets[i]`` to ``value_offsets[i + 1]``."""

    @cached_property
    def n_of_persons(self) -> int:
        """How many of the first columns are attributes of persons, which only first events have."""
        return n_of_persons(self.table, self.domain)

    @classmethod
    def of(cls, table: EventTable, domain: Domain) -> TargetPool:
        """Read a table whose labels are all nodes of the domain."""
        sequences = table.sequences
        return cls(table, domain, domain.cells(sequences), *values_of(sequences, table.schema, domain.names))

    def draw(
        self,
        kind: KnowledgeKind,
        known: int,
        targets: int,
        *,
        rng: np.random.Generator,
        strangers: bool = False,
    ) -> BackgroundKnowledge:
        """Draw a piece of at most `known` items of each of so many targets; none where nobody has any.

        ``anywhere``: items of any events. ``ordered``: one item of each of several events, in their order.
        ``consecutive``: the same of events that follow each other directly. ``event``: items of one event.
        ``generalized``: ordered items, each attribute at one level that is drawn. ``mixed``: ordered items,
        each at a level of its own. ``gaps``: ordered items, and the days between their events. ``count``:
        ordered items, one fewer, and how many events there are. ``negative``: ordered items, one fewer, and
        something that the person never had. ``sensitive``: items of any events, the first of them an
        unprotected value of a sensitive column. ``protected``: the same with a protected value, which is none
        to find out then; others of the person, and of other attributes, are.
        ``other_sensitive``: ordered items, one of them a value of a sensitive attribute, protected or not;
        what is to be found out are protected values of other attributes.
        ``kept``: values of kept columns, of one event. ``released``: values of any released columns, of one
        event, the first of them of a kept or a sensitive column, protected values left out.
        ``demographics``: attributes of the person alone. ``demographics_events``: one of them, and ordered
        items of events behind it.

        With `strangers`, who do not exist, each item is of another event of the table, of any person.
        """
        persons = self._concerned(kind)
        drawn = draw_targets(persons, targets, rng, self.table.owners) if persons.size else persons
        return _DRAWS[kind](Draw(kind, known, drawn, self, rng, strangers))

    def _concerned(self, kind: KnowledgeKind) -> Counts:
        """List the persons, or trips, of whom a piece of the kind can be true: who have such a value."""
        if kind not in VALUES:
            return np.arange(self.table.n_persons)
        wanted = VALUES[kind](self.domain)[self.cells].any(axis=1)
        return np.flatnonzero(np.diff(offsets_of(wanted)[self.table.person_offsets]))

    def draw_rarest(
        self, kind: KnowledgeKind, known: int, targets: int, *, rng: np.random.Generator
    ) -> BackgroundKnowledge:
        """Draw knowledge with the rarest items: each alone, or with more of what some of its holders have.

        Of one item there is a piece for each, the rarest first, at most `targets`. Of more there are
        `HOLDERS` pieces with each, of as many persons if so many have it, of whom the rarest other items are
        known, or others at random. Items are as `kind` has them: ``generalized`` ones are nodes at every
        level, those above protected values included.
        """
        n_items = known - (kind in ("count", "negative"))
        most, each = (targets, 1) if known == 1 else (min(targets, MOST), HOLDERS)
        anchors = _find_anchors(self, kind, most=most if n_items else 0, each=each, rng=rng)
        task = Draw(kind, known, anchors.persons, self, rng)
        events, columns = _choose(task, anchors, max(n_items, 1))
        if kind in COARSER:
            depths = some_depths(task, columns)
            is_anchor = columns == anchors.columns[:, None]
            if kind == "mixed":
                is_anchor &= events == anchors.events[:, None]
            return task.take(events, columns, np.where(is_anchor, anchors.depths[:, None], depths))
        if kind == "other_sensitive":
            return with_other(task, anchors.events, anchors.columns, events[:, : known - 1], columns)
        knowledge = task.take(events, columns)
        if kind == "count":
            return replace(knowledge, n_events=task.lengths.astype(np.int32))
        if kind in ("sensitive", "protected"):
            value = self.cells[task.starts + anchors.events, anchors.columns]
            rest = knowledge.nodes[:, : known - 1]
            nodes = np.concatenate([value[:, None], rest], axis=1).astype(np.int32)
            return beginning_with(task, value, knowledge, nodes)
        return knowledge

    @cached_property
    def holders(self) -> Counts:
        """For each node, the number of persons who have it or something below it."""
        domain = self.domain
        holders, offsets = np.zeros(domain.n_nodes, np.int64), self.table.person_offsets * self.cells.shape[1]
        for depth in range(1, int(domain.depth.max()) + 1):
            lifted = domain.lift(self.cells.ravel(), np.array(depth))
            shown, _ = list_symbols(lifted, offsets, domain.n_nodes)
            holders = np.where(domain.depth == depth, np.bincount(shown, minlength=domain.n_nodes), holders)
        return holders

    def windows(self, knowledge: BackgroundKnowledge) -> ValueRanges:
        """Return the protected values of each target, one by one, but for the one that is known."""
        own, offsets = gather_rows(self.values, self.value_offsets, knowledge.persons)
        ranges = ValueRanges(offsets=offsets, lows=own, highs=own)
        return without_known(ranges, knowledge.value_code, knowledge.last_code)


def draw_targets(
    concerned: Counts, targets: int, rng: np.random.Generator, owners: Codes | None = None
) -> Counts:
    """Draw so many targets: everybody equally often, and those left over without anybody twice.

    Where `owners` tells whose each trip is, persons are drawn, and then one of their trips.

    Examples
    --------
    >>> draw_targets(np.array([2, 5]), 4, np.random.default_rng(1)).tolist()
    [2, 5, 2, 5]
    """
    if owners is None:
        times, rest = divmod(targets, len(concerned))
        drawn = rng.choice(concerned, rest, replace=False)
        return np.concatenate([np.tile(concerned, times), drawn]).astype(np.int64)
    trips = concerned[np.argsort(owners[concerned], kind="stable")]
    persons, firsts, counts = np.unique(owners[trips], return_index=True, return_counts=True)
    drawn = draw_targets(np.arange(len(persons)), targets, rng)
    chosen: Counts = trips[firsts[drawn] + rng.integers(0, counts[drawn])].astype(np.int64)
    return chosen


@dataclass(frozen=True, slots=True)
class Draw:
    """Whose pieces are drawn, and from what."""

    kind: KnowledgeKind
    known: int
    persons: Counts
    pool: TargetPool
    rng: np.random.Generator
    strangers: bool = False

    @property
    def starts(self) -> Counts:
        """The first event of each person."""
        return self.pool.table.person_offsets[self.persons]

    @property
    def lengths(self) -> Counts:
        """How many events each person has."""
        return self.pool.table.person_offsets[self.persons + 1] - self.starts

    def take(self, events: Counts, columns: Counts, depths: Counts | None = None) -> BackgroundKnowledge:
        """Return knowledge of the events, counted within the person, and columns; -1 where there is none.

        `depths` says how coarse each item is known. What is above a protected value is an
        item, and the value itself is none.
        """
        is_there = events >= 0
        at = np.where(is_there, self.starts[:, None] + events, 0)
        if self.strangers:
            at = self.rng.integers(0, len(self.pool.cells), at.shape)
        shown = self.pool.cells[at, columns]
        if depths is not None:
            shown = self.pool.domain.lift(shown, depths)
        nodes = np.where(is_there, shown, -1)
        is_item = self.pool.domain.is_item
        if self.kind == "other_sensitive":
            is_item = is_item | VALUES[self.kind](self.pool.domain)
        nodes[is_there] = np.where(is_item[nodes[is_there]], nodes[is_there], -1)
        days = np.zeros(nodes.shape, np.int64)
        if self.kind == "gaps":
            days = np.where(nodes >= 0, days_of(self.pool.table)[at], 0)
        order = np.argsort(nodes < 0, axis=1, kind="stable")
        nodes, days, places = (np.take_along_axis(each, order, 1) for each in (nodes, days, events))
        is_apart = (nodes >= 0) & (self.kind == "consecutive")
        places = np.where(is_apart, places - places[:, :1], 0)
        nothing = np.full(len(nodes), -1, np.int32)
        return BackgroundKnowledge(
            kind=self.kind,
            persons=self.persons,
            nodes=nodes.astype(np.int32),
            days=np.where(nodes >= 0, days - days[:, :1], 0),
            places=places.astype(np.int32),
            n_events=nothing,
            never=nothing,
            value_code=nothing,
            last_code=nothing,
        )

    def some_columns(self, events: Counts) -> Counts:
        """Draw a column of the symbol or the quasi-identifiers for each item of an event that has it."""
        n_own = self.pool.n_of_persons
        columns = self.rng.integers(n_own, max(self.pool.domain.n_open, n_own + 1), events.shape)
        if not self.pool.table.of_persons:
            return columns
        attributes = self.rng.integers(0, max(n_own, 1), events.shape)
        return np.where(events == 0, attributes, np.minimum(columns, self.pool.domain.n_open - 1))


def distinct_draws(sizes: Counts, n_draws: int, rng: np.random.Generator) -> Counts:
    """Draw so many different numbers below each size, ascending, -1 behind where there are not so many.

    There is a column of -1 where nothing is to be drawn.

    Examples
    --------
    >>> distinct_draws(np.array([2, 1]), 2, np.random.default_rng(1)).tolist()
    [[0, 1], [0, -1]]
    """
    drawn = np.full((len(sizes), max(n_draws, 1)), np.iinfo(np.int64).max)
    for j in range(n_draws):
        left = sizes - j
        number = rng.integers(0, np.maximum(left, 1))
        # The j numbers drawn before are ascending: step over each that is not larger.
        for i in range(j):
            number += number >= drawn[:, i]
        drawn[:, j] = np.where(left > 0, number, np.iinfo(np.int64).max)
        drawn[:, : j + 1].sort(axis=1)
    return np.where(drawn == np.iinfo(np.int64).max, -1, drawn)


def n_of_persons(table: EventTable, domain: Domain) -> int:
    """Count the quasi-identifiers of persons, which come first."""
    return sum(name in table.of_persons for name in domain.columns[: domain.n_open])


def _ordered(task: Draw, n_items: int) -> BackgroundKnowledge:
    """Draw items of different events in their order, with ``gaps`` only such as have a time.

    ``generalized`` and ``mixed`` ones are known at levels that are drawn.
    """
    events = _later(task, n_items) if task.kind == "gaps" else distinct_draws(task.lengths, n_items, task.rng)
    columns = task.some_columns(events)
    return task.take(events, columns, some_depths(task, columns) if task.kind in COARSER else None)


def _later(task: Draw, n_items: int) -> Counts:
    """Draw events without those that hold attributes of persons, which have no time."""
    n_before = int(bool(task.pool.table.of_persons))
    events = distinct_draws(task.lengths - n_before, n_items, task.rng)
    return np.where(events < 0, -1, events + n_before)


def _demographics(task: Draw) -> BackgroundKnowledge:
    columns = distinct_draws(np.full(len(task.persons), task.pool.n_of_persons), task.known, task.rng)
    return task.take(np.where(columns < 0, -1, 0), np.maximum(columns, 0))


def _demographics_events(task: Draw) -> BackgroundKnowledge:
    first = np.zeros((len(task.persons), 1), np.int64)
    events = np.concatenate([first, _later(task, task.known - 1)], axis=1)[:, : task.known]
    return task.take(events, task.some_columns(events))


def _anywhere(task: Draw, n_items: int) -> BackgroundKnowledge:
    n_own = task.pool.n_of_persons
    n_columns = task.pool.domain.n_open - n_own
    n_before = int(bool(task.pool.table.of_persons))
    drawn = distinct_draws((task.lengths - n_before) * n_columns + n_own, n_items, task.rng)
    # Attributes of the person come first, then the values of each event.
    later = np.maximum(drawn - n_own, 0)
    is_own = drawn < n_own
    events = np.where(is_own, 0, later // max(n_columns, 1) + n_before)
    columns = np.where(is_own, drawn, later % max(n_columns, 1) + n_own)
    return task.take(np.where(drawn < 0, -1, events), np.where(drawn < 0, 0, columns))


def _consecutive(task: Draw) -> BackgroundKnowledge:
    n_items = np.minimum(task.known, task.lengths)
    first = task.rng.integers(0, task.lengths - n_items + 1)
    places = np.arange(task.known)
    events = np.where(places < n_items[:, None], first[:, None] + places, -1)
    return task.take(events, task.some_columns(events))


def _event(task: Draw) -> BackgroundKnowledge:
    if task.pool.table.of_persons:
        # As many attributes of the person, or values of one event, as there are.
        event, n_own = task.rng.integers(0, task.lengths), task.pool.n_of_persons
        sizes = np.where(event == 0, n_own, task.pool.domain.n_open - n_own)
        columns = distinct_draws(sizes, task.known, task.rng)
        is_none = columns < 0
        columns = np.where(is_none, 0, columns + np.where(event == 0, 0, n_own)[:, None])
        return task.take(np.where(is_none, -1, event[:, None]), columns)
    n_columns = np.full(len(task.persons), task.pool.domain.n_open)
    return _of_one_event(task, distinct_draws(n_columns, task.known, task.rng))


def _kept(task: Draw) -> BackgroundKnowledge:
    domain = task.pool.domain
    n_kept = len(domain.columns) - domain.n_covered
    columns = distinct_draws(np.full(len(task.persons), n_kept), task.known, task.rng)
    return _of_one_event(task, np.where(columns < 0, -1, columns + domain.n_covered))


def _released(task: Draw) -> BackgroundKnowledge:
    domain = task.pool.domain
    n_columns = len(domain.columns)
    first = task.rng.integers(domain.n_open, n_columns, (len(task.persons), 1))
    others = distinct_draws(np.full(len(task.persons), n_columns - 1), task.known - 1, task.rng)
    others = np.where(others >= first, others + 1, others)
    return _of_one_event(task, np.concatenate([first, others], axis=1)[:, : task.known])


def _of_one_event(task: Draw, columns: Counts) -> BackgroundKnowledge:
    """Return knowledge of one event of each person; -1 is no column."""
    event = task.rng.integers(0, task.lengths)
    return task.take(np.where(columns < 0, -1, event[:, None]), np.maximum(columns, 0))


def some_depths(task: Draw, columns: Counts) -> Counts:
    """Draw how coarse each item is known: one attribute at one level, or with ``mixed`` each item apart."""
    heights = np.array([tree.height for tree in task.pool.domain.trees])
    depths: Counts
    if task.kind == "mixed":
        depths = task.rng.integers(1, heights[columns] + 1)
    else:
        by_column = task.rng.integers(1, heights + 1, (len(task.persons), len(heights)))
        depths = np.take_along_axis(by_column, columns, 1)
    return depths


def _count(task: Draw) -> BackgroundKnowledge:
    return replace(_ordered(task, task.known - 1), n_events=task.lengths.astype(np.int32))


def _negative(task: Draw) -> BackgroundKnowledge:
    """Add the value of somebody's event, or something above it, that the person never had."""
    knowledge = _ordered(task, task.known - 1)
    domain, rng, cells = task.pool.domain, task.rng, task.pool.cells
    never = knowledge.never.copy()
    heights = np.array([tree.height for tree in domain.trees])
    events, offsets = gather_rows(cells, task.pool.table.person_offsets, task.persons)
    owners = owners_of(offsets)
    for _ in range(_TRIES):
        columns = rng.integers(0, domain.n_open, len(knowledge))
        nodes = cells[rng.integers(0, len(cells), len(knowledge)), columns]
        nodes = domain.lift(nodes, rng.integers(1, heights[columns] + 1))
        own = nodes[owners]
        is_below = (own[:, None] <= events) & (events < domain.kernel.end[own][:, None])
        has = np.bincount(owners[is_below.any(axis=1)], minlength=len(knowledge)) > 0
        never = np.where((never < 0) & ~has & domain.is_item[nodes], nodes, never).astype(np.int32)
    return replace(knowledge, never=never)


def _some_values(task: Draw, persons: Counts) -> tuple[Counts, Counts]:
    """Draw a cell of each person with a value that a piece of the kind begins with: event and column."""
    n_columns = task.pool.cells.shape[1]
    wanted = np.flatnonzero(VALUES[task.kind](task.pool.domain)[task.pool.cells].ravel())
    first, stop = (
        np.searchsorted(wanted, task.pool.table.person_offsets[persons + step] * n_columns) for step in (0, 1)
    )
    return np.divmod(wanted[first + task.rng.integers(0, stop - first)], n_columns)


def _with_value(task: Draw) -> BackgroundKnowledge:
    """Draw a value of a sensitive column, and items of any events behind it."""
    knowledge = _anywhere(task, task.known - 1)
    # What is known of a stranger is somebody else's.
    persons = task.rng.permutation(task.persons) if task.strangers else task.persons
    value = task.pool.cells[_some_values(task, persons)]
    nodes = np.concatenate([value[:, None], knowledge.nodes], axis=1).astype(np.int32)
    order = np.argsort(nodes < 0, axis=1, kind="stable")
    return beginning_with(task, value, knowledge, np.take_along_axis(nodes, order, 1))


def beginning_with(
    task: Draw, value: Codes, knowledge: BackgroundKnowledge, nodes: Codes
) -> BackgroundKnowledge:
    """Return knowledge of other items, a value of a sensitive column among them; it is known then."""
    still = np.zeros(nodes.shape, np.int32)
    return replace(
        knowledge,
        nodes=nodes,
        days=still.astype(np.int64),
        places=still,
        value_code=task.pool.domain.value_of[value],
        last_code=task.pool.domain.value_of[value],
    )


def _other_sensitive(task: Draw) -> BackgroundKnowledge:
    """Draw a value of a sensitive column of each person, and ordered items of other events around it."""
    own_events, own_columns = _some_values(task, task.persons)
    events = distinct_draws(task.lengths, task.known - 1, task.rng)
    return with_other(task, own_events - task.starts, own_columns, events, task.some_columns(events))


def with_other(
    task: Draw, own_events: Counts, own_columns: Counts, events: Counts, columns: Counts
) -> BackgroundKnowledge:
    """Return knowledge of a cell of a sensitive column, and of items of other events, all in their order."""
    columns = columns[:, : events.shape[1]]
    events = np.where(events == own_events[:, None], -1, events)
    events = np.concatenate([own_events[:, None], events], axis=1)
    columns = np.concatenate([own_columns[:, None], columns], axis=1)
    order = np.argsort(np.where(events < 0, np.iinfo(np.int64).max, events), axis=1, kind="stable")
    events, columns = (np.take_along_axis(each, order, 1) for each in (events, columns))
    first, last = task.pool.domain.values_of_columns[own_columns].T.astype(np.int32)
    return replace(task.take(events, columns), value_code=first, last_code=last)


HOLDERS = 10
"""Pieces of more than one item that are tried with each rare item."""
MOST = 2_000
"""Pieces of more than one item that are tried, at most."""
_SPARE = 20
_NEVER = np.iinfo(np.int64).max


class Anchors(NamedTuple):
    """Cells with a rare item, one per piece: it is known of the person, and more of them beside it."""

    persons: Counts
    """Whose they are."""
    events: Counts
    """Their events, counted within the person."""
    columns: Counts
    """Their columns."""
    depths: Counts
    """How many steps below the root the item is."""
    by_rarity: Mask
    """The rarest others are known beside it, and not any at random."""


def _wanted(kind: KnowledgeKind, domain: Domain) -> Mask:
    """Mark the nodes that the rare item of a piece is one of."""
    if kind in VALUES:
        return VALUES[kind](domain)
    low, high = _columns_of(kind, domain)
    # Pieces of everything that is released have at least one value that no promise covers.
    low = domain.n_open if kind == "released" else low
    return domain.is_item & (domain.kernel.column >= low) & (domain.kernel.column < high)


def _find_anchors(
    pool: TargetPool, kind: KnowledgeKind, *, most: int, each: int, rng: np.random.Generator
) -> Anchors:
    """Find the rarest items that the rare one of a piece may be, and up to so many holders of each."""
    table, cells, domain, holders = pool.table, pool.cells, pool.domain, pool.holders
    n_columns, coarser = cells.shape[1], kind in COARSER
    owners = owners_of(table.person_offsets)
    is_shown = _wanted(kind, domain) & (holders > 0)
    if not coarser:
        is_shown &= np.bincount(cells.ravel(), minlength=domain.n_nodes) > 0
    nodes = np.flatnonzero(is_shown)
    nodes = nodes[np.argsort(holders[nodes], kind="stable")]
    # Who is the only one with an item is found by it, whatever else is known of them.
    n_pieces = np.where(holders[nodes] > 1, each, 1)
    nodes = nodes[np.cumsum(n_pieces) - n_pieces < most]
    is_chosen = np.zeros(domain.n_nodes, np.bool_)
    is_chosen[nodes] = True
    found: list[Counts] = []
    for depth in range(1, int(domain.depth.max()) + 1) if coarser else (0,):
        lifted = domain.lift(cells.ravel(), np.array(depth)) if coarser else cells.ravel()
        is_hit = is_chosen[lifted]
        if coarser:
            is_hit &= domain.depth[lifted] == depth
        places = np.flatnonzero(is_hit)
        # Of items that many have, enough cells are looked at to meet so many persons.
        often = np.bincount(lifted[places], minlength=domain.n_nodes)[lifted[places]]
        places = places[rng.random(len(places)) * often < _SPARE * each]
        places = rng.permutation(places)
        keys = lifted[places].astype(np.int64) * table.n_persons + owners[places // n_columns]
        places = rng.permutation(places[np.unique(keys, return_index=True)[1]])
        of_item = lifted[places]
        order = np.argsort(of_item, kind="stable")
        of_item, places = of_item[order], places[order]
        chosen, firsts, counts = np.unique(of_item, return_index=True, return_counts=True)
        times = np.where(counts > 1, each, 1)
        turns, of_piece = places_of(offsets_of(times)), owners_of(offsets_of(times))
        # Few holders take turns.
        places = places[firsts[of_piece] + turns % counts[of_piece]]
        is_first = np.where(counts[of_piece] < each, turns < counts[of_piece], turns % 2 == 0)
        found.append(np.stack([places, chosen[of_piece], is_first]))
    places, items, is_first = np.concatenate(found, axis=1)
    order = np.argsort(holders[items], kind="stable")[:most]
    events, columns = np.divmod(places[order], n_columns)
    persons = owners[events]
    return Anchors(
        persons,
        events - table.person_offsets[persons],
        columns,
        domain.depth[items[order]],
        is_first[order].astype(np.bool_),
    )


def _choose(task: Draw, anchors: Anchors, n_items: int) -> tuple[Counts, Counts]:
    """Choose the cells of each piece, as its kind has them: the anchor, and the rarest others or any."""
    n_rows, holders = len(anchors.persons), task.pool.holders
    low, high = _columns_of(task.kind, task.pool.domain)
    events, columns = np.full((n_rows, n_items), -1), np.zeros((n_rows, n_items), np.int64)
    for row in range(n_rows):
        start, length = int(task.starts[row]), int(task.lengths[row])
        at, column = int(anchors.events[row]), int(anchors.columns[row])
        own = task.pool.cells[start : start + length, low:high]
        ranks = holders[own] if anchors.by_rarity[row] else task.rng.integers(0, 1 << 30, own.shape)
        is_item = task.pool.domain.is_item[own] | (task.kind in COARSER)
        ranks = np.where(is_item & (own < task.pool.domain.nothing), ranks, _NEVER)
        if low <= column < high:
            ranks[at, column - low] = -1
        if task.kind in ("event", *BEYOND):
            chosen = np.sort(np.argsort(ranks[at], kind="stable")[:n_items])
            when = np.full(len(chosen), at)
        elif task.kind in ("anywhere", "sensitive", "protected"):
            chosen = np.sort(np.argsort(ranks.ravel(), kind="stable")[:n_items])
            when, chosen = np.divmod(chosen, high - low)
        else:
            if task.kind == "consecutive":
                first = max(min(at, length - n_items), 0)
                when = np.arange(first, min(first + n_items, length))
            else:
                when = np.sort(np.argsort(ranks.min(axis=1), kind="stable")[:n_items])
            chosen = ranks[when].argmin(axis=1)
        events[row, : len(when)], columns[row, : len(when)] = when, chosen + low
    return events, columns


def _columns_of(kind: KnowledgeKind, domain: Domain) -> tuple[int, int]:
    """Return the first and the last but one of the columns whose values are known, beside a named one."""
    if kind in BEYOND:
        return domain.n_covered if kind == "kept" else 0, len(domain.columns)
    return 0, domain.n_open


VALUES: dict[str, Callable[[Domain], Mask]] = {
    "sensitive": lambda domain: (
        domain.is_item & (domain.kernel.column >= domain.n_open) & (domain.kernel.column < domain.n_covered)
    ),
    "protected": lambda domain: domain.value_of >= 0,
    "other_sensitive": lambda domain: domain.is_other,
}
"""The nodes that the first item of a piece is one of, by kind."""
_DRAWS: dict[KnowledgeKind, Callable[[Draw], BackgroundKnowledge]] = {
    "anywhere": lambda task: _anywhere(task, task.known),
    **dict.fromkeys(("ordered", "generalized", "mixed", "gaps"), lambda task: _ordered(task, task.known)),
    "consecutive": _consecutive,
    "event": _event,
    "count": _count,
    "negative": _negative,
    "sensitive": _with_value,
    "protected": _with_value,
    "other_sensitive": _other_sensitive,
    "kept": _kept,
    "released": _released,
    "demographics": _demographics,
    "demographics_events": _demographics_events,
}
