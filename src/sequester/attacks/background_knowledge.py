"""Background knowledge: a few items of a person's history, drawn at random, of every kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester.attacks.candidate_sets import days_of
from sequester.ragged import gather_rows, owners_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Counts, Mask
    from sequester.attacks.domain import Domain
    from sequester.attacks.targets import TargetPool
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
"""How the items of a piece hang together; see `draw`."""
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
            label in table.protected[attribute]
            for attribute, sensitive in table.schema.sensitive.items()
            for column in sensitive.columns
            for label in table.labels[column]
        ),
        "other_sensitive": bool(VALUES["other_sensitive"](domain).any()),
        "kept": domain.n_covered < len(domain.columns),
        "released": bool(domain.is_item[int(domain.starts[domain.n_open]) :].any()),
        "demographics": n_of_persons(table, domain) > 0,
        "demographics_events": n_of_persons(table, domain) > 0,
    }
    return tuple(kind for kind in get_args(KnowledgeKind) if wanted.get(kind, True))


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


def concerned(kind: KnowledgeKind, pool: TargetPool) -> Counts:
    """List the persons, or trips, of whom a piece of the kind can be true: those who have such a value."""
    if kind not in VALUES:
        return np.arange(pool.table.n_persons)
    wanted, n_columns = VALUES[kind](pool.domain)[pool.cells], pool.cells.shape[1]
    before = np.concatenate([[0], np.cumsum(wanted.ravel())])
    return np.flatnonzero(np.diff(before[pool.table.person_offsets * n_columns]))


def draw(
    kind: KnowledgeKind,
    known: int,
    persons: Counts,
    pool: TargetPool,
    *,
    rng: np.random.Generator,
    strangers: bool = False,
) -> BackgroundKnowledge:
    """Draw a piece of at most `known` items of each person of a pool.

    ``anywhere``: items of any events. ``ordered``: one item of each of several events, in their order.
    ``consecutive``: the same of events that follow each other directly. ``event``: items of one event.
    ``generalized``: ordered items, each attribute at one level that is drawn. ``mixed``: ordered items, each
    at a level of its own. ``gaps``: ordered items, and the days between their events. ``count``: ordered
    items, one fewer, and how many events there are. ``negative``: ordered items, one fewer, and something
    that the person never had. ``sensitive``: items of any events, the first of them an unprotected value of a
    sensitive column. ``protected``: the same with a protected value, which is none to find out then; others
    of the person, and of other attributes, are.
    ``other_sensitive``: ordered items, one of them a value of a sensitive attribute, protected or not; what
    is to be found out are protected values of other attributes.
    ``kept``: values of kept columns, of one event. ``released``: values of any released columns, of one
    event, the first of them of a kept or a sensitive column, protected values left out.
    ``demographics``: attributes of the person alone. ``demographics_events``: one of them, and ordered items
    of events behind it.

    With `strangers`, each item is of another event of the table, of any person.
    """
    return _DRAWS[kind](Draw(kind, known, persons, pool, rng, strangers))


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
    def domain(self) -> Domain:
        """The trees."""
        return self.pool.domain

    @property
    def table(self) -> EventTable:
        """The persons and their events."""
        return self.pool.table

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
            shown = self.domain.lift(shown, depths)
        nodes = np.where(is_there, shown, -1)
        is_item = self.domain.is_item
        if self.kind == "other_sensitive":
            is_item = is_item | VALUES[self.kind](self.domain)
        nodes[is_there] = np.where(is_item[nodes[is_there]], nodes[is_there], -1)
        days = np.zeros(nodes.shape, np.int64)
        if self.kind == "gaps":
            days = np.where(nodes >= 0, days_of(self.pool.table)[at], 0)
        order = np.argsort(nodes < 0, axis=1, kind="stable")
        nodes, days, places = (np.take_along_axis(each, order, 1) for each in (nodes, days, events))
        nothing = np.full(len(nodes), -1, np.int32)
        return BackgroundKnowledge(
            kind=self.kind,
            persons=self.persons,
            nodes=nodes.astype(np.int32),
            days=np.where(nodes >= 0, days - days[:, :1], 0),
            places=np.where((nodes >= 0) & (self.kind == "consecutive"), places - places[:, :1], 0).astype(
                np.int32
            ),
            n_events=nothing,
            never=nothing,
            value_code=nothing,
            last_code=nothing,
        )

    @property
    def n_of_persons(self) -> int:
        """How many of the first columns are attributes of persons, which only first events have."""
        return n_of_persons(self.table, self.domain)

    def some_columns(self, events: Counts) -> Counts:
        """Draw a column of the symbol or the quasi-identifiers for each item of an event that has it."""
        n_own = self.n_of_persons
        columns = self.rng.integers(n_own, max(self.domain.n_open, n_own + 1), events.shape)
        if not self.table.of_persons:
            return columns
        attributes = self.rng.integers(0, max(n_own, 1), events.shape)
        return np.where(events == 0, attributes, np.minimum(columns, self.domain.n_open - 1))


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
    events = distinct_draws(task.lengths, n_items, task.rng)
    return task.take(events, task.some_columns(events))


def _later(task: Draw, n_items: int) -> Counts:
    """Draw events without those that hold attributes of persons, which have no time."""
    n_before = int(bool(task.table.of_persons))
    events = distinct_draws(task.lengths - n_before, n_items, task.rng)
    return np.where(events < 0, -1, events + n_before)


def _gaps(task: Draw) -> BackgroundKnowledge:
    events = _later(task, task.known)
    return task.take(events, task.some_columns(events))


def _demographics(task: Draw) -> BackgroundKnowledge:
    columns = distinct_draws(np.full(len(task.persons), task.n_of_persons), task.known, task.rng)
    return task.take(np.where(columns < 0, -1, 0), np.maximum(columns, 0))


def _demographics_events(task: Draw) -> BackgroundKnowledge:
    first = np.zeros((len(task.persons), 1), np.int64)
    events = np.concatenate([first, _later(task, task.known - 1)], axis=1)[:, : task.known]
    return task.take(events, task.some_columns(events))


def _anywhere(task: Draw, n_items: int) -> BackgroundKnowledge:
    n_own = task.n_of_persons
    n_columns = task.domain.n_open - n_own
    n_before = int(bool(task.table.of_persons))
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
    if task.table.of_persons:
        # As many attributes of the person, or values of one event, as there are.
        event, n_own = task.rng.integers(0, task.lengths), task.n_of_persons
        sizes = np.where(event == 0, n_own, task.domain.n_open - n_own)
        columns = distinct_draws(sizes, task.known, task.rng)
        is_none = columns < 0
        columns = np.where(is_none, 0, columns + np.where(event == 0, 0, n_own)[:, None])
        return task.take(np.where(is_none, -1, event[:, None]), columns)
    n_columns = np.full(len(task.persons), task.domain.n_open)
    return _of_one_event(task, distinct_draws(n_columns, task.known, task.rng))


def _kept(task: Draw) -> BackgroundKnowledge:
    domain = task.domain
    n_kept = len(domain.columns) - domain.n_covered
    columns = distinct_draws(np.full(len(task.persons), n_kept), task.known, task.rng)
    return _of_one_event(task, np.where(columns < 0, -1, columns + domain.n_covered))


def _released(task: Draw) -> BackgroundKnowledge:
    domain = task.domain
    n_columns = len(domain.columns)
    first = task.rng.integers(domain.n_open, n_columns, (len(task.persons), 1))
    others = distinct_draws(np.full(len(task.persons), n_columns - 1), task.known - 1, task.rng)
    others = np.where(others >= first, others + 1, others)
    return _of_one_event(task, np.concatenate([first, others], axis=1)[:, : task.known])


def _of_one_event(task: Draw, columns: Counts) -> BackgroundKnowledge:
    """Return knowledge of one event of each person; -1 is no column."""
    event = task.rng.integers(0, task.lengths)
    return task.take(np.where(columns < 0, -1, event[:, None]), np.maximum(columns, 0))


def _generalized(task: Draw) -> BackgroundKnowledge:
    """Draw ordered items, generalized: one level per attribute, or with ``mixed`` one per item."""
    events = distinct_draws(task.lengths, task.known, task.rng)
    columns = task.some_columns(events)
    return task.take(events, columns, some_depths(task, columns))


def some_depths(task: Draw, columns: Counts) -> Counts:
    """Draw how coarse each item is known: one attribute at one level, or with ``mixed`` each item apart."""
    heights = np.array([tree.height for tree in task.domain.trees])
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
    domain, rng, cells = task.domain, task.rng, task.pool.cells
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


def _with_value(task: Draw) -> BackgroundKnowledge:
    """Draw a value of a sensitive column, and items of any events behind it."""
    knowledge = _anywhere(task, task.known - 1)
    is_wanted = VALUES[task.kind](task.domain)
    cells = task.pool.cells
    wanted = np.flatnonzero(is_wanted[cells].ravel())
    # What is known of a stranger is somebody else's.
    persons = task.rng.permutation(task.persons) if task.strangers else task.persons
    first, stop = (
        np.searchsorted(wanted, task.pool.table.person_offsets[persons + step] * cells.shape[1])
        for step in (0, 1)
    )
    value = cells.ravel()[wanted[first + task.rng.integers(0, stop - first)]]
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
        value_code=task.domain.value_of[value],
        last_code=task.domain.value_of[value],
    )


def _other_sensitive(task: Draw) -> BackgroundKnowledge:
    """Draw a value of a sensitive column of each person, and ordered items of other events around it."""
    n_columns = task.pool.cells.shape[1]
    wanted = np.flatnonzero(VALUES[task.kind](task.domain)[task.pool.cells].ravel())
    first, stop = (
        np.searchsorted(wanted, task.table.person_offsets[task.persons + step] * n_columns) for step in (0, 1)
    )
    cells = wanted[first + task.rng.integers(0, stop - first)]
    events = distinct_draws(task.lengths, task.known - 1, task.rng)
    own_events, own_columns = np.divmod(cells, n_columns)
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
    first, last = task.domain.values_of_columns[own_columns].T.astype(np.int32)
    return replace(task.take(events, columns), value_code=first, last_code=last)


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
    "ordered": lambda task: _ordered(task, task.known),
    "consecutive": _consecutive,
    "event": _event,
    "generalized": _generalized,
    "mixed": _generalized,
    "gaps": _gaps,
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
