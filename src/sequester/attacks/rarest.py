"""What is tried of everybody, however few they are: the rarest items, and the rarest of those who have them.

Targets drawn at random are an honest sample of everybody, and hardly ever those few who stand out. Who looks
for the worst case begins with these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester import kernels
from sequester.attacks.pieces import BEYOND, COARSER, VALUES, Draw, some_depths

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.attacks.ground import Ground
    from sequester.attacks.pieces import PieceKind, Pieces
    from sequester.data.table import EventTable

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


def count_holders(table: EventTable, cells: Codes, ground: Ground) -> Counts:
    """Count for each node the persons who have it or something below it."""
    n_columns = cells.shape[1]
    ones = np.ones(table.n_persons, np.int64)
    holders = np.zeros(ground.n_nodes, np.int64)
    for depth in range(1, int(ground.depth.max()) + 1):
        lifted = ground.lift(cells.ravel(), np.array(depth))
        counts = kernels.prefixspan.weigh_symbols(
            lifted, table.person_offsets * n_columns, ones, ground.n_nodes
        )
        holders = np.where(ground.depth == depth, counts, holders)
    return holders


def draw_rarest(
    kind: PieceKind,
    known: int,
    targets: int,
    *,
    table: EventTable,
    cells: Codes,
    ground: Ground,
    holders: Counts,
    rng: np.random.Generator,
) -> Pieces:
    """Take pieces with the rarest items: every one alone, or with more of what some of its holders have.

    Of one item there is a piece for each, the rarest first, at most `targets`. Of more there are `HOLDERS`
    pieces with each, of as many persons if so many have it, of whom the rarest other items are known, or
    others at random. Items are as `kind` has them: ``generalized`` ones are nodes at every level, those above
    protected values included.
    """
    n_items = known - (kind in ("count", "negative"))
    if n_items < 1:
        nobody = np.empty(0, np.int64)
        anchors = Anchors(nobody, nobody, nobody, nobody, nobody.astype(np.bool_))
    else:
        is_value = VALUES[kind](ground) if kind in VALUES else None
        low, high = _columns_of(kind, ground)
        # Pieces of everything that is released have at least one value that no promise covers.
        low = ground.n_open if kind == "released" else low
        is_shown = ground.is_item & (ground.kernel.column >= low) & (ground.kernel.column < high)
        anchors = _find_anchors(
            table,
            cells,
            ground,
            holders,
            is_wanted=is_shown if is_value is None else is_value,
            coarser=kind in COARSER,
            most=targets if known == 1 else min(targets, MOST),
            each=1 if known == 1 else HOLDERS,
            rng=rng,
        )
    task = Draw(kind, known, anchors.persons, table, cells, ground, rng)
    events, columns = _choose(task, anchors, holders, max(n_items, 1))
    if kind in COARSER:
        depths = some_depths(task, columns)
        is_anchor = columns == anchors.columns[:, None]
        if kind == "mixed":
            is_anchor &= events == anchors.events[:, None]
        return task.pieces(events, columns, np.where(is_anchor, anchors.depths[:, None], depths))
    pieces = task.pieces(events, columns)
    if kind == "count":
        return replace(pieces, n_events=task.lengths.astype(np.int32))
    if kind in VALUES:
        value = cells[task.starts + anchors.events, anchors.columns]
        rest = pieces.nodes[:, : known - 1]
        nodes = np.concatenate([value[:, None], rest], axis=1).astype(np.int32)
        still = np.zeros(nodes.shape, np.int32)
        return replace(
            pieces, nodes=nodes, days=still.astype(np.int64), places=still, told=ground.value_of[value]
        )
    return pieces


def _find_anchors(
    table: EventTable,
    cells: Codes,
    ground: Ground,
    holders: Counts,
    *,
    is_wanted: Mask,
    coarser: bool,
    most: int,
    each: int,
    rng: np.random.Generator,
) -> Anchors:
    """Find the rarest items that are wanted, and up to so many holders of each."""
    n_columns = cells.shape[1]
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    is_shown = is_wanted & (holders > 0)
    if not coarser:
        is_shown &= np.bincount(cells.ravel(), minlength=ground.n_nodes) > 0
    nodes = np.flatnonzero(is_shown)
    nodes = nodes[np.argsort(holders[nodes], kind="stable")]
    # Who is the only one with an item is found by it, whatever else is known of them.
    n_pieces = np.where(holders[nodes] > 1, each, 1)
    nodes = nodes[np.cumsum(n_pieces) - n_pieces < most]
    is_chosen = np.zeros(ground.n_nodes, np.bool_)
    is_chosen[nodes] = True
    found: list[Counts] = []
    for depth in range(1, int(ground.depth.max()) + 1) if coarser else (0,):
        lifted = ground.lift(cells.ravel(), np.array(depth)) if coarser else cells.ravel()
        is_hit = is_chosen[lifted]
        if coarser:
            is_hit &= ground.depth[lifted] == depth
        places = np.flatnonzero(is_hit)
        # Of items that many have, enough cells are looked at to meet so many persons.
        often = np.bincount(lifted[places], minlength=ground.n_nodes)[lifted[places]]
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
        ground.depth[items[order]],
        is_first[order].astype(np.bool_),
    )


def _choose(task: Draw, anchors: Anchors, holders: Counts, n_items: int) -> tuple[Counts, Counts]:
    """Choose the cells of each piece, as its kind has them: the anchor, and the rarest others or any."""
    n_rows = len(anchors.persons)
    low, high = _columns_of(task.kind, task.ground)
    events, columns = np.full((n_rows, n_items), -1), np.zeros((n_rows, n_items), np.int64)
    for row in range(n_rows):
        start, length = int(task.starts[row]), int(task.lengths[row])
        at, column = int(anchors.events[row]), int(anchors.columns[row])
        own = task.cells[start : start + length, low:high]
        ranks = holders[own] if anchors.by_rarity[row] else task.rng.integers(0, 1 << 30, own.shape)
        ranks = np.where(task.ground.is_item[own] | (task.kind in COARSER), ranks, _NEVER)
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


def _columns_of(kind: PieceKind, ground: Ground) -> tuple[int, int]:
    """Return the first and the last but one of the columns whose values are known, beside a named one."""
    if kind in BEYOND:
        return ground.n_covered if kind == "kept" else 0, len(ground.columns)
    return 0, ground.n_open
