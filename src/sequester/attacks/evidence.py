"""What a table shows to somebody who looks for a person: histories, who shows what, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.attacks.protected import values_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks.ground import Ground
    from sequester.attacks.narrowing import Narrowing
    from sequester.data.table import EventTable
    from sequester.kernels.fitting import Histories

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
        ground: Ground,
        *,
        owners: Codes | None = None,
        clock: Clock | None = None,
        narrowing: Narrowing | None = None,
        shuffle: np.random.Generator | None = None,
    ) -> Evidence:
        """Read a table; `shuffle` deals every column's values out anew, among all events.

        Only with a `clock` it is known when events were. A `narrowing` makes values finer that depend on
        others. `owners` tells whose each trip is, where the table itself does not.
        """
        sequences = table.sequences
        if shuffle is not None:
            dealt = {name: shuffle.permutation(codes) for name, codes in sequences.columns.items()}
            sequences = replace(sequences, columns=dealt)
        if owners is not None:
            sequences = replace(sequences, owners=owners)
        cells = ground.cells(sequences)
        if narrowing is not None:
            cells = narrowing.apply(cells)
        values, value_offsets = values_of(sequences, table.schema, ground.names)
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
        kept, offsets = kernels.distinct.gather_rows(
            np.arange(len(cells), dtype=np.int64), sequences.person_offsets, first
        )
        own_values, own_offsets = kernels.distinct.gather_rows(values, value_offsets, first)
        histories = kernels.fitting.Histories(
            cells[kept], offsets, earliest[kept], latest[kept], weights, own_values, own_offsets, bearers
        )
        starts, shown_by = kernels.postings.list_owners(histories.cells, offsets, ground.n_nodes)
        roots = ground.starts[:-1]
        is_blank = (starts[roots + 1] > starts[roots]) & (starts[roots + 1] == starts[ground.starts[1:]])
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
class Clock:
    """When an event may have been, in days: by its time, or by a released column that tells."""

    column: int
    """The column that tells; -1 where the table has times."""
    earliest: Counts
    """Node to the first day that it stands for."""
    latest: Counts
    """Node to the last."""

    @classmethod
    def of(cls, original: EventTable, ground: Ground) -> Clock | None:
        """Take the column that holds the time, or the days since a first event; None without times."""
        if original.times is None:
            return None
        days = days_of(original)
        column = _telling_column(original, ground)
        earliest, latest = np.full(ground.n_nodes, FAR), np.full(ground.n_nodes, -FAR)
        if column >= 0:
            if original.schema.derive.get(ground.columns[column]) is not None:
                firsts = days[original.person_offsets[:-1]]
                days = days - np.repeat(firsts, np.diff(original.person_offsets))
            cells = ground.cells(original.sequences)[:, column]
            np.minimum.at(earliest, cells, days)
            np.maximum.at(latest, cells, days)
            # Descendants come after their ancestors.
            for node in range(int(ground.starts[column + 1]) - 1, int(ground.starts[column]), -1):
                above = ground.parent[node]
                earliest[above] = min(earliest[above], earliest[node])
                latest[above] = max(latest[above], latest[node])
        is_unknown = earliest > latest
        earliest[is_unknown], latest[is_unknown] = -FAR, FAR
        return cls(column, earliest, latest)

    def read(self, table: EventTable, cells: Codes) -> tuple[Counts, Counts]:
        """Give the first and the last day on which each event may have been."""
        if table.times is not None:
            days = days_of(table)
            return days, days
        if self.column < 0:
            return np.full(len(cells), -FAR), np.full(len(cells), FAR)
        nodes = cells[:, self.column]
        return self.earliest[nodes], self.latest[nodes]


def days_of(table: EventTable) -> Counts:
    """Give the day of each event; the table has times."""
    days: Counts = table.times.dt.date().to_physical().to_numpy().astype(np.int64)  # type: ignore[union-attr]
    return days


def _telling_column(original: EventTable, ground: Ground) -> int:
    schema = original.schema
    for place, column in enumerate(ground.columns[: ground.n_open]):
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
    folded: tuple[Codes, Counts] = kernels.distinct.fold_rows(looks, looks_offsets)
    return folded
