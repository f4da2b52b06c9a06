"""Measures of an inspection: shape, minimal inference channels, and frequent patterns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.data.roles import roles_of
from sequester.engine import LocalEngine, silent
from sequester.errors import InputError, ParameterError
from sequester.hierarchies.labels import MISSING
from sequester.methods.halt.extraction import Extraction
from sequester.methods.halt.histories import WeightedRows
from sequester.methods.halt.lattice_search import Workload
from sequester.methods.halt.quasi_identifiers import QuasiIdentifiers
from sequester.methods.halt.signature_rows import Thresholds
from sequester.mining.frequent import frequent

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.mining import Patterns


_MICROSECONDS = 86_400_000_000
"""In a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """How numbers are spread; a quantile is the smallest number that so many do not exceed.

    Examples
    --------
    >>> Quartiles.of(np.array([1, 1, 2, 4]))
    Quartiles(least=1.0, tenth=1.0, median=1.0, nine_tenths=4.0, most=4.0, mean=2.0)
    """

    least: float
    """The smallest."""
    tenth: float
    """One in ten is not larger."""
    median: float
    """Half are not larger."""
    nine_tenths: float
    """Nine in ten are not larger."""
    most: float
    """The largest."""
    mean: float
    """The average."""

    @classmethod
    def of(cls, numbers: npt.NDArray[np.float64] | Counts) -> Quartiles | None:
        """Sum numbers up; None where there are none."""
        if not numbers.size:
            return None
        shares = {"least": 0, "tenth": 0.1, "median": 0.5, "nine_tenths": 0.9, "most": 1}
        found = np.quantile(numbers, [*shares.values()], method="inverted_cdf").astype(np.float64)
        return cls(**dict(zip(shares, found.tolist(), strict=True)), mean=float(numbers.mean()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnShape:
    """A column, what it is for, and how full it is."""

    name: str
    """As in the data."""
    role: str
    """Person, time, quasi, sensitive, or several of them."""
    labels: int | None
    """Different values; None where they were not counted."""
    missing: int
    """Events without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How many persons and events there are, and how they are spread."""

    persons: int
    """Number of persons."""
    trips: int | None
    """Number of trips; None where every person has one sequence."""
    events: int
    """Number of events."""
    per_person: Quartiles | None
    """Events of a person; None without persons."""
    per_trip: Quartiles | None
    """Events of a trip; None without trips."""
    gaps: Quartiles | None
    """Days from an event to the next one of the person, or of the trip; None without any."""
    alphabet: int
    """Different items: values of the symbol, or of all quasi-identifiers together."""
    columns: tuple[ColumnShape, ...]
    """All columns that are used."""

    @classmethod
    def of(cls, table: EventTable) -> Shape:
        """Measure a table.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> from sequester.data.table import EventTable
        >>> at = ["2024-05-01", "2024-05-04", "2024-05-01"]
        >>> frame = pl.DataFrame({"user": ["a", "a", "b"], "at": at, "page": ["x", None, "x"]})
        >>> shape = Shape.of(EventTable(frame, Schema(person="user", time="at", symbol="page")))
        >>> shape.persons, shape.events, shape.alphabet, shape.gaps.median
        (2, 3, 2, 3.0)
        >>> shape.columns[-1]
        ColumnShape(name='page', role='symbol', labels=1, missing=1)
        """
        whole, own = table.histories, table.demographics
        items = (table.symbol,) if table.symbol is not None else tuple(whole.schema.quasi)
        return cls(
            persons=table.n_owners,
            trips=None if table.owners is None else table.n_persons,
            events=table.n_events,
            per_person=Quartiles.of(np.diff(table.joined().person_offsets)),
            per_trip=None if table.owners is None else Quartiles.of(np.diff(table.person_offsets)),
            gaps=None if table.times is None else Quartiles.of(_gaps(table)),
            alphabet=sum(len(whole.labels[name]) for name in items),
            columns=(*_columns(table), *(() if own is None else _columns(own, " of persons"))),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document that ``inspect --json`` prints."""
        return {
            "events_per_person": None if self.per_person is None else asdict(self.per_person),
            **({} if self.per_trip is None else {"events_per_trip": asdict(self.per_trip)}),
            "days_between_events": None if self.gaps is None else asdict(self.gaps),
            "alphabet": self.alphabet,
            "columns": list(map(asdict, self.columns)),
        }


def _gaps(table: EventTable) -> npt.NDArray[np.float64]:
    """Return the days between the events of a person that follow each other."""
    if table.times is None or not table.n_events:
        return np.empty(0)
    moments = table.times.to_physical().to_numpy()
    is_next = np.ones(table.n_events, np.bool_)
    is_next[table.person_offsets[:-1][np.diff(table.person_offsets) > 0]] = False
    return np.diff(moments, prepend=0)[is_next] / _MICROSECONDS


def _columns(table: EventTable, whose: str = "") -> list[ColumnShape]:
    columns = []
    for name, roles in roles_of(table.schema).items():
        if name not in table.frame.columns:
            continue
        labels = table.labels.get(name)
        columns.append(
            ColumnShape(
                name=name,
                role=f"{' and '.join(roles)}{whose}",
                labels=None if labels is None else len(labels) - (MISSING in labels),
                missing=table.frame[name].null_count(),
            )
        )
    return columns


K, C = 5, 0.5
"""What makes a channel where nobody says."""
AFFORDABLE = 5e7
"""What all persons together have, in g-sequences, that is gone through: some seconds."""
PHASE = "counting channels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCounts:
    """Minimal channels by their number of items: what fits too few persons, or tells too much of them.

    A channel is minimal if nothing more general is one: neither fewer of its items, nor coarser ones.
    """

    k: int
    """Fewer persons than this are too few."""
    c: float
    """More than this share with one protected value is too much."""
    counts: tuple[int, ...]
    """Minimal channels of one item, of two, and so on; as far as there is not too much to count."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        k: int = K,
        c: float = C,
        most: int,
        engine: Engine | None,
        progress: Progress,
    ) -> ChannelCounts | None:
        """Count the minimal channels of at most `most` items; none in a table without quasi-identifiers."""
        if not table.schema.quasi:
            return None
        quasi = QuasiIdentifiers.of(table)
        histories = WeightedRows.of(table, quasi).fold()
        workload = Workload(histories, quasi, mixed=True)
        finest = (0,) * len(quasi)
        p = max((each for each in range(1, most + 1) if workload.at(finest, each) <= AFFORDABLE), default=0)
        counts = np.zeros(p, np.int64)
        if p:
            progress(0.0, PHASE)
            thresholds = Thresholds(k=k, c=c, p=p, mixed=True)
            extraction = Extraction(histories, quasi, thresholds, LocalEngine() if engine is None else engine)
            for _, by_length in extraction:
                for channels in by_length:
                    counts[channels.items.shape[1] - 1] += len(channels.supports)
        return cls(k=k, c=c, counts=tuple(counts.tolist()))

    def to_json(self) -> dict[str, Any]:
        """Return what the document of ``inspect --json`` says about channels."""
        return {
            "k": self.k,
            "c": self.c,
            "minimal": [
                {"length": length, "count": count} for length, count in enumerate(self.counts, start=1)
            ],
        }


SHARE = 100
"""A pattern is frequent if one in so many persons contains it."""
MAX_LENGTH = 5
"""Items of a pattern, at most."""
SHOWN = 20
"""Patterns that are listed by default."""
_MOST = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentPatterns:
    """Frequent patterns of at least two items, the most frequent first."""

    min_support: int
    """Persons who contain each of them, at least."""
    total: int
    """How many there are."""
    patterns: tuple[tuple[tuple[str, ...], int], ...]
    """The first of them, with their persons."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        min_support: int | None = None,
        top: int = SHOWN,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> FrequentPatterns:
        """Mine the symbol sequences of a table, and list the `top`; several attributes are refused.

        By default one in a hundred persons makes a pattern frequent, and at least two. Where that would be
        more patterns than anybody can look at, the number is doubled until they are fewer; a number that was
        given is kept, and so many patterns are refused.
        """
        if table.symbol is None:
            msg = "--patterns lists patterns of symbols, and this table has quasi-identifiers instead"
            raise InputError(msg)
        if top < 1:
            msg = f"top must be at least 1, got {top}"
            raise ParameterError(msg)

        def mine(support: int) -> Patterns:
            return frequent(
                table,
                min_support=support,
                min_length=2,
                max_length=MAX_LENGTH,
                max_patterns=_MOST,
                engine=engine,
                progress=progress,
            )

        if min_support is not None:
            found = mine(min_support)
        else:
            min_support = max(-(-table.n_owners // SHARE), 2)
            while True:
                try:
                    found = mine(min_support)
                except ParameterError:
                    min_support *= 2
                else:
                    break
        # Patterns come in label order, which the sort keeps among equals.
        first = sorted(found.items(), key=lambda pair: -pair[1])[:top]
        return cls(min_support=min_support, total=len(found), patterns=tuple(first))

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document that ``inspect --patterns --json`` prints."""
        return {
            "min_support": self.min_support,
            "max_length": MAX_LENGTH,
            "total": self.total,
            "first": [{"items": list(items), "persons": persons} for items, persons in self.patterns],
        }
