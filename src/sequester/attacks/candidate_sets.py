"""Candidate sets: the persons of a table whom background knowledge fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.attacks.domain import values_of
from sequester.engine import LocalEngine
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks.background_knowledge import BackgroundKnowledge, KnowledgeKind
    from sequester.attacks.domain import Domain
    from sequester.attacks.narrowing import Narrowing
    from sequester.data.table import EventTable
    from sequester.engine import Engine
    from sequester.kernels.fitting import Histories, Lists, Queries

    Shares = npt.NDArray[np.float64]


FAR = 2**30
"""More days than lie between any two events."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Histories in the nodes of a ground, equal ones folded, and an index of who shows which node.

    Where a person has several histories, such as trips, none are folded; those of a person stand side by
    side, so that persons can be counted and not trips.
    """

    histories: Histories
    """The events and protected values of owners, each of whom stands for persons who look alike."""
    starts: Offsets
    """Node ``n`` is shown by ``owners[starts[n]:starts[n + 1]]``."""
    owners: Codes
    """Ascending per node."""
    is_blank: Mask
    """Columns that show nothing but stars, and so nothing at all."""
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
            permuted = {name: shuffle.permutation(codes) for name, codes in sequences.columns.items()}
            sequences = replace(sequences, columns=permuted)
        if owners is not None:
            sequences = replace(sequences, owners=owners)
        cells = domain.cells(sequences)
        if narrowing is not None:
            cells = narrowing.apply(cells)
        values, value_offsets = values_of(sequences, table.schema, domain.names)
        earliest, latest = (np.full(len(cells), bound, np.int64) for bound in (-FAR, FAR))
        if clock is not None:
            earliest, latest = clock.read(table, cells)
        if sequences.owners is not None:
            first = np.argsort(sequences.owners, kind="stable")
            weights = np.ones(len(first), np.int64)
            bearers = sequences.owners[first].astype(np.int32)
        else:
            rows = np.concatenate(
                [cells, *(days[:, None] for days in (earliest, latest) if clock is not None)], axis=1
            )
            owner_of, first = _fold(rows.astype(np.int32), sequences.person_offsets, values, value_offsets)
            weights = np.bincount(owner_of, minlength=len(first)).astype(np.int64)
            bearers = np.empty(0, np.int32)
        kept, offsets = gather_rows(np.arange(len(cells), dtype=np.int64), sequences.person_offsets, first)
        own_values, own_offsets = gather_rows(values, value_offsets, first)
        histories = kernels.fitting.Histories(
            cells[kept], offsets, earliest[kept], latest[kept], weights, own_values, own_offsets, bearers
        )
        starts, shown_by = kernels.postings.list_owners(histories.cells, offsets, domain.n_nodes)
        roots = domain.starts[:-1]
        is_blank = (starts[roots + 1] > starts[roots]) & (starts[roots + 1] == starts[domain.starts[1:]])
        n_persons = table.n_persons if not bearers.size else len(np.unique(bearers))
        return cls(histories, starts, shown_by, is_blank, n_persons)

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
                firsts = days[original.person_offsets[:-1]]
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
    """Return the day of each event; the table has times."""
    days: Counts = table.times.dt.date().to_physical().to_numpy().astype(np.int64)  # type: ignore[union-attr]
    return days


def telling_column(original: EventTable, domain: Domain) -> int:
    """Return the place of the quasi-identifier that tells when events were; -1 where none does."""
    schema = original.schema
    for place, column in enumerate(domain.columns[: domain.n_open]):
        if column in schema.time_columns or schema.derive.get(column) == "days_since_first":
            return place
    return -1


def _fold(rows: Codes, offsets: Offsets, values: Codes, value_offsets: Offsets) -> tuple[Codes, Counts]:
    """Find persons who look alike, protected values included."""
    width = rows.shape[1]
    lengths, n_own = np.diff(offsets) * width, np.diff(value_offsets)
    sizes = lengths + n_own + 1
    looks_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    looks = np.empty(int(looks_offsets[-1]), np.int32)
    # How long the history is comes first, so that nothing in it can be taken for a value.
    looks[looks_offsets[:-1]] = lengths
    places = np.arange(rows.size) - np.repeat(offsets[:-1] * width, lengths)
    looks[np.repeat(looks_offsets[:-1] + 1, lengths) + places] = rows.ravel()
    places = np.arange(values.size) - np.repeat(value_offsets[:-1], n_own)
    looks[np.repeat(looks_offsets[:-1] + 1 + lengths, n_own) + places] = values
    folded: tuple[Codes, Counts] = kernels.rows.fold_rows(looks, looks_offsets)
    return folded


_MODES: dict[KnowledgeKind, str] = {
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
class ValueRanges:
    """For each piece, ranges of protected values: to find one of them out would be a success."""

    offsets: Offsets
    """Piece ``i`` has the ranges ``offsets[i]`` to ``offsets[i + 1]``."""
    lows: Codes
    """The first value of each range."""
    highs: Codes
    """The last."""


def without_known(windows: ValueRanges, told: Codes) -> ValueRanges:
    """Remove the ranges that hold the value that is known of the target anyway.

    Examples
    --------
    >>> both = np.array([3, 5], np.int32)
    >>> windows = ValueRanges(offsets=np.array([0, 2]), lows=both, highs=both)
    >>> without_known(windows, np.array([3], np.int32)).lows.tolist()
    [5]
    """
    own = np.repeat(told, np.diff(windows.offsets))
    kept = (own < 0) | (own < windows.lows) | (windows.highs < own)
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return ValueRanges(offsets=before[windows.offsets], lows=windows.lows[kept], highs=windows.highs[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSets:
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
        """Return the share of each crowd; 0 where nobody fits."""
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
    """Count whom each piece fits.

    A cell fits an item if it is the item, lies above it or lies below it; ``*`` fits everything of its
    column. With `shown`, ``*`` fits nothing. Columns that show nothing but stars are passed over: they say
    nothing, not even that there is an event.
    """
    engine = engine or LocalEngine()
    matching = kernels.matching
    nodes, is_possible = _translate(knowledge, evidence, domain)
    queries, items, query_of = _distinct(knowledge, nodes)
    n_queries = len(queries.nodes)
    lists = _lists(items, evidence, domain, shown=shown)
    members = np.argsort(query_of, kind="stable").astype(np.int32)
    starts = np.searchsorted(query_of[members], np.arange(n_queries + 1)).astype(np.int64)
    if windows is None:
        nothing = np.empty(0, np.int32)
        windows = ValueRanges(offsets=np.zeros(len(knowledge) + 1, np.int64), lows=nothing, highs=nothing)
    targets = matching.Targets(starts, members, windows.offsets, windows.lows, windows.highs)
    answers = matching.Answers(
        sizes=np.zeros(n_queries, np.int64),
        most=np.zeros(n_queries, np.int64),
        at_risk=np.zeros(n_queries, np.int64),
        own=np.zeros(len(knowledge), np.int64),
    )
    order = _side_by_side(queries, lists, domain)
    mode = getattr(kernels.fitting, _MODES[knowledge.kind])

    def count(shard: range) -> None:
        # Every query is in one shard, and a piece asks one query: no two shards write to one place.
        matching.count_crowds(
            mode,
            order[shard.start : shard.stop],
            queries,
            evidence.histories,
            domain.kernel,
            lists,
            targets,
            len(domain.names),
            shown,
            answers,
        )

    engine.map(count, engine.split(n_queries))
    return CandidateSets(
        sizes=np.where(is_possible, answers.sizes[query_of], 0),
        most=np.where(is_possible, answers.most[query_of], 0),
        at_risk=np.where(is_possible, answers.at_risk[query_of], 0),
        own=np.where(is_possible, answers.own, 0),
    )


def _translate(knowledge: BackgroundKnowledge, evidence: Evidence, domain: Domain) -> tuple[Codes, Mask]:
    """Write items as the evidence tells them apart, and mark the pieces of which every item may fit."""
    known, inverse = np.unique(knowledge.nodes, return_inverse=True)
    stand_ins = np.full(len(known), -1, np.int32)
    is_node = known >= 0
    stand_ins[is_node] = kernels.postings.find_stand_ins(
        known[is_node].astype(np.int32), evidence.starts, domain.parent, domain.kernel.end
    )
    is_impossible = is_node & (stand_ins < 0)
    is_blank = is_node & evidence.is_blank[domain.kernel.column[np.maximum(known, 0)]]
    stand_ins[is_blank] = -1
    inverse = inverse.reshape(knowledge.nodes.shape)
    may_fit: Mask = np.asarray(~is_impossible[inverse].any(axis=1))
    return stand_ins[inverse], may_fit


def _distinct(knowledge: BackgroundKnowledge, nodes: Codes) -> tuple[Queries, Codes, Counts]:
    """Fold pieces that ask the same; give the queries, their different nodes, and the query of each piece."""
    # Where order does not count, one order stands for all.
    is_set = _MODES[knowledge.kind] in ("ANYWHERE", "EVENT")
    order = np.argsort(-nodes if is_set else nodes < 0, axis=1, kind="stable")
    nodes = np.take_along_axis(nodes, order, 1)
    days, places = (np.take_along_axis(each, order, 1) for each in (knowledge.days, knowledge.places))
    width = nodes.shape[1]
    rows = np.concatenate(
        [
            nodes,
            days * (nodes >= 0),
            places * (nodes >= 0),
            *(each[:, None] for each in (knowledge.n_events, knowledge.never, knowledge.told)),
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


def _lists(items: Codes, evidence: Evidence, domain: Domain, *, shown: bool) -> Lists:
    """List who may fit each item, and who has a star in each column."""
    starts, owners = kernels.postings.list_candidates(
        items,
        evidence.starts,
        evidence.owners,
        domain.parent,
        domain.kernel.end,
        len(evidence.histories.weights),
    )
    stars, star_starts = gather_rows(evidence.owners, evidence.starts, domain.starts[:-1])
    if shown:
        stars, star_starts = stars[:0], np.zeros_like(star_starts)
    return kernels.fitting.Lists(starts, owners, star_starts, stars, evidence.starts, evidence.owners)


def _side_by_side(queries: Queries, lists: Lists, domain: Domain) -> Counts:
    """Sort queries so that those with the same two rarest items are neighbours."""
    columns = domain.kernel.column[np.maximum(queries.nodes, 0)]
    sizes = np.append(np.diff(lists.starts), 0)[queries.items] + np.diff(lists.star_starts)[columns]
    sizes = np.where(queries.nodes < 0, np.iinfo(np.int64).max, sizes)
    rarest = np.argsort(sizes, axis=1, kind="stable")
    ranked = np.take_along_axis(queries.items, rarest, 1)
    second = ranked[:, 1] if ranked.shape[1] > 1 else ranked[:, 0]
    return np.lexsort((second, ranked[:, 0]))
