"""What somebody may know of a person: pieces of their history, drawn at random, of every kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester import kernels
from sequester.attacks.evidence import days_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Counts, Mask
    from sequester.attacks.ground import Ground
    from sequester.data.table import EventTable

PieceKind = Literal[
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
    "kept",
    "released",
]
"""How the items of a piece hang together; see `draw`."""
COARSER: tuple[PieceKind, ...] = ("generalized", "mixed")
"""The kinds whose items may be known less precisely than they are."""
BEYOND: tuple[PieceKind, ...] = ("kept", "released")
"""The kinds that need tables in which kept columns are coded."""
_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Pieces of knowledge of one kind, one row each; -1 stands for nothing."""

    kind: PieceKind
    """How the items hang together."""
    persons: Counts
    """Of whom each piece is true, by their place in the original."""
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
    told: Codes
    """A protected value of the person that is among the items, by its number; -1 where none is."""

    def __len__(self) -> int:
        return len(self.persons)


def kinds_for(table: EventTable, ground: Ground) -> tuple[PieceKind, ...]:
    """Name the kinds of knowledge that a table allows, the two that need more than order and symbols last."""
    wanted = {
        "event": ground.n_open > 1,
        "generalized": any(tree.height > 1 for tree in ground.trees[: ground.n_open]),
        "mixed": any(tree.height > 1 for tree in ground.trees[: ground.n_open]),
        "gaps": table.times is not None,
        "sensitive": bool(VALUES["sensitive"](ground).any()),
        "protected": any(
            label in table.protected[attribute]
            for attribute, sensitive in table.schema.sensitive.items()
            for column in sensitive.columns
            for label in table.labels[column]
        ),
        "kept": ground.n_covered < len(ground.columns),
        "released": bool(ground.is_item[int(ground.starts[ground.n_open]) :].any()),
    }
    return tuple(kind for kind in get_args(PieceKind) if wanted.get(kind, True))


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


def concerned(kind: PieceKind, table: EventTable, cells: Codes, ground: Ground) -> Counts:
    """List the persons, or trips, of whom a piece of the kind can be true: those who have such a value."""
    if kind not in VALUES:
        return np.arange(table.n_persons)
    wanted, n_columns = VALUES[kind](ground)[cells], cells.shape[1]
    before = np.concatenate([[0], np.cumsum(wanted.ravel())])
    return np.flatnonzero(np.diff(before[table.person_offsets * n_columns]))


def draw(
    kind: PieceKind,
    known: int,
    persons: Counts,
    *,
    table: EventTable,
    cells: Codes,
    ground: Ground,
    rng: np.random.Generator,
    strangers: bool = False,
) -> Pieces:
    """Draw a piece of at most `known` items of each person; `cells` are those of `table`.

    ``anywhere``: items of any events. ``ordered``: one item of each of several events, in their order.
    ``consecutive``: the same of events that follow each other directly. ``event``: items of one event.
    ``generalized``: ordered items, each attribute at one level that is drawn. ``mixed``: ordered items, each
    at a level of its own. ``gaps``: ordered items, and the days between their events. ``count``: ordered
    items, one fewer, and how many events there are. ``negative``: ordered items, one fewer, and something
    that the person never had. ``sensitive``: items of any events, the first of them an unprotected value of a
    sensitive column. ``protected``: the same with a protected value, which is none to find out then; others
    of the person, and of other attributes, are.
    ``kept``: values of kept columns, of one event. ``released``: values of any released columns, of one
    event, the first of them of a kept or a sensitive column, protected values left out.

    The pieces of `strangers` have each item of another event of the table, whoever's it is.
    """
    return _DRAWS[kind](Draw(kind, known, persons, table, cells, ground, rng, strangers))


@dataclass(frozen=True, slots=True)
class Draw:
    """Whose pieces are drawn, and from what."""

    kind: PieceKind
    known: int
    persons: Counts
    table: EventTable
    cells: Codes
    ground: Ground
    rng: np.random.Generator
    strangers: bool = False

    @property
    def starts(self) -> Counts:
        """The first event of each person."""
        return self.table.person_offsets[self.persons]

    @property
    def lengths(self) -> Counts:
        """How many events each person has."""
        return self.table.person_offsets[self.persons + 1] - self.starts

    def pieces(self, events: Counts, columns: Counts, depths: Counts | None = None) -> Pieces:
        """Take the cells of the events, counted within the person, and columns; -1 where there is none.

        `depths` says how coarse each item is known. What is above a protected value is an
        item, and the value itself is none.
        """
        is_there = events >= 0
        at = np.where(is_there, self.starts[:, None] + events, 0)
        if self.strangers:
            at = self.rng.integers(0, len(self.cells), at.shape)
        shown = self.cells[at, columns]
        if depths is not None:
            shown = self.ground.lift(shown, depths)
        nodes = np.where(is_there, shown, -1)
        nodes[is_there] = np.where(self.ground.is_item[nodes[is_there]], nodes[is_there], -1)
        days = np.zeros(nodes.shape, np.int64)
        if self.kind == "gaps":
            days = np.where(nodes >= 0, days_of(self.table)[at], 0)
        order = np.argsort(nodes < 0, axis=1, kind="stable")
        nodes, days, places = (np.take_along_axis(each, order, 1) for each in (nodes, days, events))
        nothing = np.full(len(nodes), -1, np.int32)
        return Pieces(
            kind=self.kind,
            persons=self.persons,
            nodes=nodes.astype(np.int32),
            days=np.where(nodes >= 0, days - days[:, :1], 0),
            places=np.where((nodes >= 0) & (self.kind == "consecutive"), places - places[:, :1], 0).astype(
                np.int32
            ),
            n_events=nothing,
            never=nothing,
            told=nothing,
        )

    def some_columns(self, n_items: int) -> Counts:
        """Draw a column of the symbol or the quasi-identifiers for each item."""
        return self.rng.integers(0, self.ground.n_open, (len(self.persons), max(n_items, 1)))


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


def _ordered(task: Draw, n_items: int) -> Pieces:
    return task.pieces(distinct_draws(task.lengths, n_items, task.rng), task.some_columns(n_items))


def _anywhere(task: Draw, n_items: int) -> Pieces:
    n_columns = task.ground.n_open
    drawn = distinct_draws(task.lengths * n_columns, n_items, task.rng)
    return task.pieces(np.where(drawn < 0, -1, drawn // n_columns), drawn % n_columns)


def _consecutive(task: Draw) -> Pieces:
    n_items = np.minimum(task.known, task.lengths)
    first = task.rng.integers(0, task.lengths - n_items + 1)
    places = np.arange(task.known)
    events = np.where(places < n_items[:, None], first[:, None] + places, -1)
    return task.pieces(events, task.some_columns(task.known))


def _event(task: Draw) -> Pieces:
    n_columns = np.full(len(task.persons), task.ground.n_open)
    return _of_one_event(task, distinct_draws(n_columns, task.known, task.rng))


def _kept(task: Draw) -> Pieces:
    ground = task.ground
    n_kept = len(ground.columns) - ground.n_covered
    columns = distinct_draws(np.full(len(task.persons), n_kept), task.known, task.rng)
    return _of_one_event(task, np.where(columns < 0, -1, columns + ground.n_covered))


def _released(task: Draw) -> Pieces:
    ground = task.ground
    n_columns = len(ground.columns)
    first = task.rng.integers(ground.n_open, n_columns, (len(task.persons), 1))
    others = distinct_draws(np.full(len(task.persons), n_columns - 1), task.known - 1, task.rng)
    others = np.where(others >= first, others + 1, others)
    return _of_one_event(task, np.concatenate([first, others], axis=1)[:, : task.known])


def _of_one_event(task: Draw, columns: Counts) -> Pieces:
    """Take the cells of one event of each person; -1 is no column."""
    event = task.rng.integers(0, task.lengths)
    return task.pieces(np.where(columns < 0, -1, event[:, None]), np.maximum(columns, 0))


def _generalized(task: Draw) -> Pieces:
    """Lift ordered items: those of one attribute to one level, or with ``mixed`` each to its own."""
    events, columns = distinct_draws(task.lengths, task.known, task.rng), task.some_columns(task.known)
    return task.pieces(events, columns, some_depths(task, columns))


def some_depths(task: Draw, columns: Counts) -> Counts:
    """Draw how coarse each item is known: one attribute at one level, or with ``mixed`` each item apart."""
    heights = np.array([tree.height for tree in task.ground.trees])
    depths: Counts
    if task.kind == "mixed":
        depths = task.rng.integers(1, heights[columns] + 1)
    else:
        by_column = task.rng.integers(1, heights + 1, (len(task.persons), len(heights)))
        depths = np.take_along_axis(by_column, columns, 1)
    return depths


def _count(task: Draw) -> Pieces:
    return replace(_ordered(task, task.known - 1), n_events=task.lengths.astype(np.int32))


def _negative(task: Draw) -> Pieces:
    """Add the value of somebody's event, or something above it, that the person never had."""
    pieces = _ordered(task, task.known - 1)
    ground, rng = task.ground, task.rng
    never = pieces.never.copy()
    heights = np.array([tree.height for tree in ground.trees])
    for _ in range(_TRIES):
        columns = rng.integers(0, ground.n_open, len(pieces))
        nodes = task.cells[rng.integers(0, len(task.cells), len(pieces)), columns]
        nodes = ground.lift(nodes, rng.integers(1, heights[columns] + 1))
        has = kernels.postings.mark_below(
            task.cells, task.table.person_offsets, task.persons, nodes, ground.kernel.end
        )
        never = np.where((never < 0) & ~has & ground.is_item[nodes], nodes, never).astype(np.int32)
    return replace(pieces, never=never)


def _with_value(task: Draw) -> Pieces:
    """Put a value of a sensitive column before items of any events."""
    pieces = _anywhere(task, task.known - 1)
    is_wanted = VALUES[task.kind](task.ground)
    n_columns = task.cells.shape[1]
    wanted = np.flatnonzero(is_wanted[task.cells].ravel())
    # What is known of a stranger is somebody else's.
    persons = task.rng.permutation(task.persons) if task.strangers else task.persons
    first, stop = (
        np.searchsorted(wanted, task.table.person_offsets[persons + step] * n_columns) for step in (0, 1)
    )
    value = task.cells.ravel()[wanted[first + task.rng.integers(0, stop - first)]]
    nodes = np.concatenate([value[:, None], pieces.nodes], axis=1).astype(np.int32)
    order = np.argsort(nodes < 0, axis=1, kind="stable")
    still = np.zeros(nodes.shape, np.int32)
    return replace(
        pieces,
        nodes=np.take_along_axis(nodes, order, 1),
        days=still.astype(np.int64),
        places=still,
        told=task.ground.value_of[value],
    )


VALUES: dict[str, Callable[[Ground], Mask]] = {
    "sensitive": lambda ground: (
        ground.is_item & (ground.kernel.column >= ground.n_open) & (ground.kernel.column < ground.n_covered)
    ),
    "protected": lambda ground: ground.value_of >= 0,
}
"""The nodes that the first item of a piece is one of, by kind."""
_DRAWS: dict[PieceKind, Callable[[Draw], Pieces]] = {
    "anywhere": lambda task: _anywhere(task, task.known),
    "ordered": lambda task: _ordered(task, task.known),
    "consecutive": _consecutive,
    "event": _event,
    "generalized": _generalized,
    "mixed": _generalized,
    "gaps": lambda task: _ordered(task, task.known),
    "count": _count,
    "negative": _negative,
    "sensitive": _with_value,
    "protected": _with_value,
    "kept": _kept,
    "released": _released,
}
