"""Candidate sets: the persons of a table who match background knowledge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.attacks import _kernels as kernels
from sequester.attacks.domain import values_of
from sequester.engine import LocalEngine
from sequester.kernels.rows import fold_rows
from sequester.mining.support import list_first_places
from sequester.ragged import append_rows, gather_rows, index_codes, offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks._kernels import Histories
    from sequester.attacks.background_knowledge import BackgroundKnowledge, KnowledgeKind
    from sequester.attacks.domain import Domain
    from sequester.attacks.narrowing import Narrowing
    from sequester.data.table import EventTable
    from sequester.engine import Engine

    Shares = npt.NDArray[np.float64]


FAR = 2**30
"""More days than lie between any two events."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Histories in the nodes of a domain, equal ones folded, and an index of who shows which node.

    Where a person has several histories, such as trips, none are folded; those of a person stand side by
    side, so that persons can be counted and not trips.
    """

    histories: Histories
    """The events and protected values of owners; an owner stands for persons who look alike."""
    is_blank: Mask
    """Columns that show nothing but stars, and so nothing at all."""
    has_stars: bool
    """Some cell is suppressed."""
    n_persons: int
    """Persons of the table."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        domain: Domain,
        *,
        owners: Codes | None = None,
        clock: DayRanges | None = None,
        narrowing: Narrowing | None = None,
        shuffle: np.random.Generator | None = None,
    ) -> Evidence:
        """Read a table; `shuffle` permutes every column's values among all events.

        Only with a `clock` it is known when events were. A `narrowing` makes values finer that depend on
        others. `owners` tells whose each trip is, where the table itself does not.
        """
        sequences = table.sequences
        if shuffle is not None:
            permuted = {name: _permuted(codes, shuffle) for name, codes in sequences.columns.items()}
            sequences = replace(sequences, columns=permuted)
        if owners is not None:
            sequences = replace(sequences, owners=owners)
        cells = domain.cells(sequences)
        if narrowing is not None:
            cells = narrowing.apply(cells)
        values, value_offsets = values_of(sequences, table.schema, domain.names)
        days = np.zeros((2, 0), np.int64)
        if clock is not None:
            days = np.stack(clock.read(table, cells)).astype(np.int64)
        if sequences.owners is not None:
            first = np.argsort(sequences.owners, kind="stable")
            weights = np.ones(len(first), np.int64)
            _, bearers = np.unique(sequences.owners[first], return_inverse=True)
        else:
            rows = np.concatenate([cells, days.T], axis=1) if days.size else cells
            owner_of, first = _fold(rows.astype(np.int32), sequences.person_offsets, values, value_offsets)
            weights = np.bincount(owner_of, minlength=len(first)).astype(np.int64)
            bearers = np.empty(0, np.int32)
        places, offsets = gather_rows(np.arange(len(cells)), sequences.person_offsets, first)
        cells, days = cells[places], np.ascontiguousarray(days[:, places]) if days.size else days
        starts, shown_by, _ = list_first_places(cells.ravel(), offsets * cells.shape[1], domain.n_nodes)
        histories = kernels.Histories(
            cells,
            offsets,
            days,
            weights,
            *gather_rows(values, value_offsets, first),
            bearers.astype(np.int32),
            starts,
            shown_by,
        )
        roots = domain.starts[:-1]
        n_stars = starts[roots + 1] - starts[roots]
        is_blank = (n_stars > 0) & (starts[roots + 1] == starts[domain.starts[1:]])
        n_persons = table.n_persons if not bearers.size else int(bearers[-1]) + 1
        return cls(histories, is_blank, bool(n_stars.any()), n_persons)

    @property
    def person_weights(self) -> Counts:
        """Persons that each owner stands for, when everybody is counted once."""
        bearers = self.histories.bearers
        if not bearers.size:
            return self.histories.weights
        return np.concatenate([[1], np.diff(bearers) != 0]).astype(np.int64)

    @property
    def base_rates(self) -> Counts:
        """Persons who have each protected value, as many as there are values."""
        own = np.repeat(self.person_weights, np.diff(self.histories.value_offsets))
        return np.bincount(self.histories.values, weights=own).astype(np.int64)


def _permuted(codes: Codes, shuffle: np.random.Generator) -> Codes:
    """Permute the values of a column; where there is nothing, there is nothing afterwards."""
    permuted, is_there = codes.copy(), codes >= 0
    permuted[is_there] = shuffle.permutation(codes[is_there])
    return permuted


@dataclass(frozen=True, slots=True)
class DayRanges:
    """When an event may have been, in days: by its time, or by a released column that tells."""

    column: int
    """The column that tells; -1 where the table has times."""
    earliest: Counts
    """Node to the first day that it stands for."""
    latest: Counts
    """Node to the last."""

    @classmethod
    def of(cls, original: EventTable, domain: Domain) -> DayRanges | None:
        """Read the column with the time, or with the days since a first event; None without times."""
        if original.times is None:
            return None
        days = days_of(original)
        column = telling_column(original, domain)
        earliest, latest = np.full(domain.n_nodes, FAR), np.full(domain.n_nodes, -FAR)
        if column >= 0:
            if original.schema.derive.get(domain.columns[column]) is not None:
                firsts = days[
                    np.minimum(original.person_offsets[:-1] + bool(original.of_persons), len(days) - 1)
                ]
                days = days - np.repeat(firsts, np.diff(original.person_offsets))
            cells = domain.cells(original.sequences)[:, column]
            np.minimum.at(earliest, cells, days)
            np.maximum.at(latest, cells, days)
            # Descendants come after their ancestors.
            for node in range(int(domain.starts[column + 1]) - 1, int(domain.starts[column]), -1):
                above = domain.parent[node]
                earliest[above] = min(earliest[above], earliest[node])
                latest[above] = max(latest[above], latest[node])
        is_unknown = earliest > latest
        earliest[is_unknown], latest[is_unknown] = -FAR, FAR
        return cls(column, earliest, latest)

    def read(self, table: EventTable, cells: Codes) -> tuple[Counts, Counts]:
        """Return the first and the last day on which each event may have been."""
        if table.times is not None:
            days = days_of(table)
            return days, days
        if self.column < 0:
            return np.full(len(cells), -FAR), np.full(len(cells), FAR)
        nodes = cells[:, self.column]
        return self.earliest[nodes], self.latest[nodes]


def days_of(table: EventTable) -> Counts:
    """Return the day of each event, 0 for one that holds attributes of persons; the table has times."""
    days: Counts = table.times.dt.date().to_physical().fill_null(0).to_numpy()  # type: ignore[union-attr]
    return days.astype(np.int64)


def telling_column(original: EventTable, domain: Domain) -> int:
    """Return the place of the quasi-identifier that tells when events were; -1 where none does."""
    schema = original.schema
    for place, column in enumerate(domain.columns[: domain.n_open]):
        if column in schema.time_columns or schema.derive.get(column) == "days_since_first":
            return place
    return -1


def _fold(rows: Codes, offsets: Offsets, values: Codes, value_offsets: Offsets) -> tuple[Codes, Counts]:
    """Find persons who look alike, protected values included."""
    # How long the history is comes first, so that nothing in it can be taken for a value.
    own = offsets * rows.shape[1]
    lengths, one_each = np.diff(own).astype(np.int32), np.arange(len(offsets))
    looks = append_rows(lengths, one_each, rows.ravel(), own)
    folded: tuple[Codes, Counts] = fold_rows(*append_rows(*looks, values, value_offsets))
    return folded


_WIDE = 8
"""A list so many times longer than another is not looked at to shorten it: looking at events is faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRanges:
    """For each piece, ranges of protected values: to find one of them out would be a success."""

    offsets: Offsets
    """Piece ``i`` has the ranges ``offsets[i]`` to ``offsets[i + 1]``."""
    lows: Codes
    """The first value of each range."""
    highs: Codes
    """The last."""


def without_known(windows: ValueRanges, firsts: Codes, lasts: Codes) -> ValueRanges:
    """Remove the ranges that hold a value that is known of the target anyway, or not asked for.

    Examples
    --------
    >>> both = np.array([3, 5], np.int32)
    >>> windows = ValueRanges(offsets=np.array([0, 2]), lows=both, highs=both)
    >>> known = np.array([3], np.int32)
    >>> without_known(windows, known, known).lows.tolist()
    [5]
    """
    first, last = (np.repeat(codes, np.diff(windows.offsets)) for codes in (firsts, lasts))
    kept = (first < 0) | (last < windows.lows) | (windows.highs < first)
    offsets = offsets_of(kept)[windows.offsets]
    return ValueRanges(offsets=offsets, lows=windows.lows[kept], highs=windows.highs[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSets:
    """For each piece of knowledge, the persons who match it."""

    sizes: Counts
    """How many they are."""
    most: Counts
    """Those of them who share one protected value, at most."""
    at_risk: Counts
    """Those of them who have any."""
    own: Counts
    """Those of them with a value in one range of the piece, at most."""

    def share(self, counts: Counts) -> Shares:
        """Return the share of each candidate set; 0 where nobody matches."""
        share: Shares = counts / np.maximum(self.sizes, 1)
        return share


def find_candidates(
    knowledge: BackgroundKnowledge,
    evidence: Evidence,
    domain: Domain,
    *,
    windows: ValueRanges | None = None,
    shown: bool = False,
    engine: Engine | None = None,
) -> CandidateSets:
    """Count who matches each piece of knowledge.

    A cell fits an item if it is the item, lies above it or lies below it; ``*`` fits everything of its
    column. With `shown`, ``*`` fits nothing. Columns that show nothing but stars are passed over: they say
    nothing, not even that there is an event.
    """
    engine = engine or LocalEngine()
    nodes, is_possible = _translate(knowledge, evidence, domain)
    queries, query_of = _distinct(knowledge, nodes, evidence, domain, shown=shown)
    n_queries = len(queries)
    starts, numbers = index_codes(query_of, n_queries)
    if windows is None:
        nothing = np.empty(0, np.int32)
        windows = ValueRanges(offsets=np.zeros(len(knowledge) + 1, np.int64), lows=nothing, highs=nothing)
    targets = kernels.Targets(starts, numbers, windows.offsets, windows.lows, windows.highs)
    mode = _mode_of(knowledge.kind)
    trees = domain.kernel._replace(hidden=domain.starts[:-1].astype(np.int32)) if shown else domain.kernel
    longest = int(np.diff(evidence.histories.offsets).max(initial=0)) if mode == kernels.GAPS else 0
    shared = _CountContext(mode, queries, evidence.histories, trees, targets, longest, len(domain.names))
    parts = list(engine.map(_count, engine.split(n_queries), shared=shared))
    answers = np.concatenate([np.zeros((3, 0), np.int64), *(counted for counted, _ in parts)], axis=1)
    own = np.zeros(len(knowledge), np.int64)
    # A piece asks one query, and every query is in one shard.
    own[numbers] = np.concatenate([np.empty(0, np.int64), *(counted for _, counted in parts)])
    sizes, most, at_risk = np.where(is_possible, answers[:, query_of], 0)
    return CandidateSets(sizes=sizes, most=most, at_risk=at_risk, own=np.where(is_possible, own, 0))


class _CountContext(NamedTuple):
    """What kernels count in."""

    mode: int
    queries: Counts
    histories: kernels.Histories
    trees: kernels.Trees
    targets: kernels.Targets
    longest: int
    n_values: int


def _count(shard: range, shared: _CountContext) -> tuple[Counts, Counts]:
    """Count who matches the queries of a shard; and, for those who ask them, who has values of their own."""
    queries, targets, n_owners = shared.queries, shared.targets, len(shared.histories.weights)
    here = slice(targets.starts[shard.start], targets.starts[shard.stop])
    buffers = kernels.Buffers(
        listed=np.empty(n_owners, np.int32),
        candidates=np.empty(n_owners, np.int32),
        marks=np.full(n_owners, -1, np.int64),
        reached=np.empty((2, shared.longest), np.bool_),
        counts=np.zeros(shared.n_values, np.int64),
    )
    answers = np.zeros((3, len(shard)), np.int64)
    own = np.zeros(here.stop - here.start, np.int64)
    kernels.count_candidates(
        shared.mode,
        queries[shard.start : shard.stop],
        shared.histories,
        shared.trees,
        targets._replace(
            starts=targets.starts[shard.start : shard.stop + 1] - here.start, numbers=targets.numbers[here]
        ),
        buffers,
        answers,
        own,
    )
    return answers, own


def _mode_of(kind: KnowledgeKind) -> int:
    """Return how the items of a kind hang together, as kernels tell it."""
    if kind in ("anywhere", "sensitive", "protected"):
        return kernels.ANYWHERE
    if kind in ("event", "consecutive", "kept", "released", "demographics"):
        return kernels.TOGETHER
    return kernels.GAPS if kind == "gaps" else kernels.ORDERED


def _translate(knowledge: BackgroundKnowledge, evidence: Evidence, domain: Domain) -> tuple[Codes, Mask]:
    """Write items as the evidence tells them apart, and mark the pieces of which every item may fit."""
    known, inverse = np.unique(knowledge.nodes, return_inverse=True)
    is_node = known >= 0
    stand_ins = np.where(is_node, _stand_ins(np.maximum(known, 0), evidence, domain), -1)
    is_impossible = is_node & (stand_ins < 0)
    stand_ins[evidence.is_blank[domain.kernel.column[np.maximum(known, 0)]]] = -1
    inverse = inverse.reshape(knowledge.nodes.shape)
    may_fit: Mask = np.asarray(~is_impossible[inverse].any(axis=1))
    return stand_ins[inverse], may_fit


def _stand_ins(nodes: Codes, evidence: Evidence, domain: Domain) -> Codes:
    """Return for each node one that the same cells fit, so that what is equal here can be counted once.

    Where nothing at or below a node is shown, only what is shown above it counts: the first of `nodes` with
    the same lowest shown ancestor stands for it. Returns -1 where nothing fits, the root included.
    """
    starts, end, parent = evidence.histories.starts, domain.kernel.end, domain.parent
    is_shown = starts[end[nodes]] > starts[nodes]
    above = parent[nodes]
    while (blind := (starts[above + 1] == starts[above]) & (parent[above] != above)).any():
        above = np.where(blind, parent[above], above)
    stands_for = np.where(is_shown, nodes, above + domain.n_nodes)
    _, first, group = np.unique(stands_for, return_index=True, return_inverse=True)
    fits = is_shown | (starts[above + 1] > starts[above])
    return np.where(fits, nodes[first[group]], -1)


def _distinct(
    knowledge: BackgroundKnowledge, nodes: Codes, evidence: Evidence, domain: Domain, *, shown: bool
) -> tuple[Counts, Counts]:
    """Fold pieces that ask the same: return queries, by their rarest items, and the query of each piece."""
    # Where order does not count, one order stands for all.
    is_set = _mode_of(knowledge.kind) in (kernels.ANYWHERE, kernels.TOGETHER) and not knowledge.places.any()
    order = np.argsort(-nodes if is_set else nodes < 0, axis=1, kind="stable")
    nodes = np.take_along_axis(nodes, order, 1)
    days, places = (np.take_along_axis(each, order, 1) for each in (knowledge.days, knowledge.places))
    rarest = _two_rarest(nodes, evidence, domain, shown=shown)
    known = (knowledge.n_events, knowledge.never, knowledge.value_code, knowledge.last_code)
    rows = np.concatenate(
        [
            rarest,
            *(each[:, None] for each in known),
            nodes,
            days * (nodes >= 0),
            places * (nodes >= 0),
        ],
        axis=1,
    ).astype(np.int64)
    queries, query_of = np.unique(rows, axis=0, return_inverse=True)
    return queries, query_of.ravel()


def _two_rarest(nodes: Codes, evidence: Evidence, domain: Domain, *, shown: bool) -> Counts:
    """Return the two items of each piece that the fewest may fit; -1 for none, or for one that is no help."""
    starts, parent = evidence.histories.starts, domain.parent
    place = np.maximum(nodes, 0)
    sizes = starts[domain.kernel.end[place]] - starts[place]
    while (is_below := parent[place] != place).any():
        place = np.where(is_below, parent[place], place)
        counts = is_below & ((parent[place] != place) | (not shown))
        sizes += counts * (starts[place + 1] - starts[place])
    sizes = np.where(nodes < 0, np.iinfo(np.int64).max // _WIDE, sizes)
    order = np.argsort(sizes, axis=1, kind="stable")[:, :2]
    found, lengths = np.take_along_axis(nodes, order, 1), np.take_along_axis(sizes, order, 1)
    if found.shape[1] < 2:
        return np.concatenate([found, np.full((len(found), 1), -1)], axis=1)
    return np.stack([found[:, 0], np.where(lengths[:, 1] < _WIDE * lengths[:, 0], found[:, 1], -1)], axis=1)
