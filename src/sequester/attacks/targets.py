"""Targets of attacks, and what is drawn of them: at random, or the rarest items."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.attacks.background_knowledge import (
    BEYOND,
    COARSER,
    VALUES,
    Draw,
    beginning_with,
    concerned,
    draw,
    draw_targets,
    some_depths,
    with_other,
)
from sequester.attacks.candidate_sets import ValueRanges, count_owners, without_known
from sequester.attacks.domain import values_of
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks.background_knowledge import BackgroundKnowledge, KnowledgeKind
    from sequester.attacks.domain import Domain
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True)
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
    _holders: list[Counts] = field(default_factory=list, repr=False)

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
        """Draw pieces of so many targets, or of strangers who do not exist; none where nobody has any."""
        persons = concerned(kind, self)
        drawn = draw_targets(persons, targets, rng, self.table.owners) if persons.size else persons
        return draw(kind, known, drawn, self, rng=rng, strangers=strangers)

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
        if n_items < 1:
            nobody = np.empty(0, np.int64)
            anchors = Anchors(nobody, nobody, nobody, nobody, nobody.astype(np.bool_))
        else:
            anchors = _find_anchors(
                self,
                is_wanted=_wanted(kind, self.domain),
                coarser=kind in COARSER,
                most=targets if known == 1 else min(targets, MOST),
                each=1 if known == 1 else HOLDERS,
                rng=rng,
            )
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

    def holders(self) -> Counts:
        """Count for each node the persons who have it or something below it."""
        if not self._holders:
            domain = self.domain
            holders = np.zeros(domain.n_nodes, np.int64)
            for depth in range(1, int(domain.depth.max()) + 1):
                lifted = domain.lift(self.cells.ravel(), np.array(depth)).reshape(self.cells.shape)
                counts = count_owners(lifted, self.table.person_offsets, domain.n_nodes)
                holders = np.where(domain.depth == depth, counts, holders)
            self._holders.append(holders)
        return self._holders[0]

    def windows(self, knowledge: BackgroundKnowledge) -> ValueRanges:
        """Return the protected values of each target, one by one, but for the one that is known."""
        firsts = self.value_offsets[knowledge.persons]
        counts = self.value_offsets[knowledge.persons + 1] - firsts
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts) + np.repeat(firsts, counts)
        own = self.values[places]
        ranges = ValueRanges(offsets=offsets, lows=own, highs=own)
        return without_known(ranges, knowledge.value_code, knowledge.last_code)


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
    pool: TargetPool,
    *,
    is_wanted: Mask,
    coarser: bool,
    most: int,
    each: int,
    rng: np.random.Generator,
) -> Anchors:
    """Find the rarest items that are wanted, and up to so many holders of each."""
    table, cells, domain, holders = pool.table, pool.cells, pool.domain, pool.holders()
    n_columns = cells.shape[1]
    owners = owners_of(table.person_offsets)
    is_shown = is_wanted & (holders > 0)
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
        turns = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        of_piece = np.repeat(np.arange(len(chosen)), times)
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
    n_rows, holders = len(anchors.persons), task.pool.holders()
    low, high = _columns_of(task.kind, task.domain)
    events, columns = np.full((n_rows, n_items), -1), np.zeros((n_rows, n_items), np.int64)
    for row in range(n_rows):
        start, length = int(task.starts[row]), int(task.lengths[row])
        at, column = int(anchors.events[row]), int(anchors.columns[row])
        own = task.pool.cells[start : start + length, low:high]
        ranks = holders[own] if anchors.by_rarity[row] else task.rng.integers(0, 1 << 30, own.shape)
        is_item = task.domain.is_item[own] | (task.kind in COARSER)
        ranks = np.where(is_item & (own < task.domain.nothing), ranks, _NEVER)
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
