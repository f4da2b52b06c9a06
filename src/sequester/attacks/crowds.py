"""Whom pieces of knowledge fit in a table, and what these persons have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import LocalEngine

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks.evidence import Evidence
    from sequester.attacks.ground import Ground
    from sequester.attacks.pieces import PieceKind, Pieces
    from sequester.engine import Engine
    from sequester.kernels.fitting import Lists, Queries

    Shares = npt.NDArray[np.float64]

_MODES: dict[PieceKind, str] = {
    "anywhere": "ANYWHERE",
    "ordered": "ORDERED",
    "consecutive": "CONSECUTIVE",
    "event": "EVENT",
    "generalized": "ORDERED",
    "mixed": "ORDERED",
    "gaps": "GAPS",
    "count": "ORDERED",
    "negative": "ORDERED",
    "sensitive": "ANYWHERE",
    "protected": "ANYWHERE",
    "kept": "EVENT",
    "released": "EVENT",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """For each piece, ranges of protected values: to find one of them out would be a success."""

    offsets: Offsets
    """Piece ``i`` has the ranges ``offsets[i]`` to ``offsets[i + 1]``."""
    lows: Codes
    """The first value of each range."""
    highs: Codes
    """The last."""


def without_told(windows: Windows, told: Codes) -> Windows:
    """Leave out the ranges that hold the value that is known of the piece's target anyway.

    Examples
    --------
    >>> both = np.array([3, 5], np.int32)
    >>> windows = Windows(offsets=np.array([0, 2]), lows=both, highs=both)
    >>> without_told(windows, np.array([3], np.int32)).lows.tolist()
    [5]
    """
    own = np.repeat(told, np.diff(windows.offsets))
    kept = (own < 0) | (own < windows.lows) | (windows.highs < own)
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return Windows(offsets=before[windows.offsets], lows=windows.lows[kept], highs=windows.highs[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowds:
    """For each piece, the persons whom it fits."""

    sizes: Counts
    """How many they are."""
    most: Counts
    """Those of them who share one protected value, at most."""
    at_risk: Counts
    """Those of them who have any."""
    own: Counts
    """Those of them with a value in one range of the piece, at most."""

    def share(self, counts: Counts) -> Shares:
        """Give the share of each crowd; 0 where nobody fits."""
        share: Shares = counts / np.maximum(self.sizes, 1)
        return share


def find_crowds(
    pieces: Pieces,
    evidence: Evidence,
    ground: Ground,
    *,
    windows: Windows | None = None,
    shown: bool = False,
    engine: Engine | None = None,
) -> Crowds:
    """Count whom each piece fits.

    A cell fits an item if it is the item, lies above it or lies below it; ``*`` fits everything of its
    column. With `shown`, ``*`` fits nothing. Columns that show nothing but stars are passed over: they say
    nothing, not even that there is an event.
    """
    engine = engine or LocalEngine()
    matching = kernels.matching
    nodes, is_possible = _translate(pieces, evidence, ground)
    queries, items, query_of = _distinct(pieces, nodes)
    n_queries = len(queries.nodes)
    lists = _lists(items, evidence, ground, shown=shown)
    members = np.argsort(query_of, kind="stable").astype(np.int32)
    starts = np.searchsorted(query_of[members], np.arange(n_queries + 1)).astype(np.int64)
    if windows is None:
        nothing = np.empty(0, np.int32)
        windows = Windows(offsets=np.zeros(len(pieces) + 1, np.int64), lows=nothing, highs=nothing)
    targets = matching.Targets(starts, members, windows.offsets, windows.lows, windows.highs)
    answers = matching.Answers(
        sizes=np.zeros(n_queries, np.int64),
        most=np.zeros(n_queries, np.int64),
        at_risk=np.zeros(n_queries, np.int64),
        own=np.zeros(len(pieces), np.int64),
    )
    order = _side_by_side(queries, lists, ground)
    mode = getattr(kernels.fitting, _MODES[pieces.kind])

    def count(shard: range) -> None:
        # Every query is in one shard, and a piece asks one query: no two shards write to one place.
        matching.count_crowds(
            mode,
            order[shard.start : shard.stop],
            queries,
            evidence.histories,
            ground.kernel,
            lists,
            targets,
            len(ground.names),
            shown,
            answers,
        )

    engine.map(count, engine.split(n_queries))
    return Crowds(
        sizes=np.where(is_possible, answers.sizes[query_of], 0),
        most=np.where(is_possible, answers.most[query_of], 0),
        at_risk=np.where(is_possible, answers.at_risk[query_of], 0),
        own=np.where(is_possible, answers.own, 0),
    )


def _translate(pieces: Pieces, evidence: Evidence, ground: Ground) -> tuple[Codes, Mask]:
    """Write items as the evidence tells them apart, and mark the pieces of which every item may fit."""
    known, inverse = np.unique(pieces.nodes, return_inverse=True)
    stand_ins = np.full(len(known), -1, np.int32)
    is_node = known >= 0
    stand_ins[is_node] = kernels.postings.find_stand_ins(
        known[is_node].astype(np.int32), evidence.starts, ground.parent, ground.kernel.end
    )
    is_impossible = is_node & (stand_ins < 0)
    is_blank = is_node & evidence.is_blank[ground.kernel.column[np.maximum(known, 0)]]
    stand_ins[is_blank] = -1
    inverse = inverse.reshape(pieces.nodes.shape)
    may_fit: Mask = np.asarray(~is_impossible[inverse].any(axis=1))
    return stand_ins[inverse], may_fit


def _distinct(pieces: Pieces, nodes: Codes) -> tuple[Queries, Codes, Counts]:
    """Fold pieces that ask the same; give the queries, their different nodes, and the query of each piece."""
    # Where order does not count, one order stands for all.
    is_set = _MODES[pieces.kind] in ("ANYWHERE", "EVENT")
    order = np.argsort(-nodes if is_set else nodes < 0, axis=1, kind="stable")
    nodes = np.take_along_axis(nodes, order, 1)
    days, places = (np.take_along_axis(each, order, 1) for each in (pieces.days, pieces.places))
    width = nodes.shape[1]
    rows = np.concatenate(
        [
            nodes,
            days * (nodes >= 0),
            places * (nodes >= 0),
            *(each[:, None] for each in (pieces.n_events, pieces.never, pieces.told)),
        ],
        axis=1,
    ).astype(np.int64)
    rows, query_of = np.unique(rows, axis=0, return_inverse=True)
    items, inverse = np.unique(rows[:, :width], return_inverse=True)
    n_nothing = int((items < 0).sum())
    queries = kernels.fitting.Queries(
        rows[:, :width].astype(np.int32),
        (inverse.reshape(-1, width) - n_nothing).astype(np.int32),
        rows[:, width : 2 * width].copy(),
        rows[:, 2 * width : 3 * width].astype(np.int32),
        *(rows[:, place].astype(np.int32) for place in (-3, -2, -1)),
    )
    return queries, items[n_nothing:].astype(np.int32), query_of.ravel()


def _lists(items: Codes, evidence: Evidence, ground: Ground, *, shown: bool) -> Lists:
    """List who may fit each item, and who has a star in each column."""
    starts, owners = kernels.postings.list_candidates(
        items,
        evidence.starts,
        evidence.owners,
        ground.parent,
        ground.kernel.end,
        len(evidence.histories.weights),
    )
    stars, star_starts = kernels.distinct.gather_rows(evidence.owners, evidence.starts, ground.starts[:-1])
    if shown:
        stars, star_starts = stars[:0], np.zeros_like(star_starts)
    return kernels.fitting.Lists(starts, owners, star_starts, stars, evidence.starts, evidence.owners)


def _side_by_side(queries: Queries, lists: Lists, ground: Ground) -> Counts:
    """Put queries with the same two rarest items side by side."""
    columns = ground.kernel.column[np.maximum(queries.nodes, 0)]
    sizes = np.append(np.diff(lists.starts), 0)[queries.items] + np.diff(lists.star_starts)[columns]
    sizes = np.where(queries.nodes < 0, np.iinfo(np.int64).max, sizes)
    rarest = np.argsort(sizes, axis=1, kind="stable")
    ranked = np.take_along_axis(queries.items, rarest, 1)
    second = ranked[:, 1] if ranked.shape[1] > 1 else ranked[:, 0]
    return np.lexsort((second, ranked[:, 0]))
