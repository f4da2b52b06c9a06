"""The shape of a table: how many, how often, how far apart, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.data.roles import roles_of
from sequester.hierarchies.labels import MISSING

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.data.table import EventTable

_MICROSECONDS = 86_400_000_000
"""In a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How numbers are spread; a quantile is the smallest number that so many do not exceed.

    Examples
    --------
    >>> Spread.of(np.array([1, 1, 2, 4]))
    Spread(least=1.0, tenth=1.0, median=1.0, nine_tenths=4.0, most=4.0, mean=2.0)
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
    def of(cls, numbers: npt.NDArray[np.float64] | Counts) -> Spread | None:
        """Sum numbers up; None where there are none."""
        if not numbers.size:
            return None
        least, tenth, median, nine_tenths, most = np.quantile(
            numbers, (0, 0.1, 0.5, 0.9, 1), method="inverted_cdf"
        ).tolist()
        return cls(
            least=float(least),
            tenth=float(tenth),
            median=float(median),
            nine_tenths=float(nine_tenths),
            most=float(most),
            mean=float(numbers.mean()),
        )

    def to_json(self) -> dict[str, float]:
        """Give the part of the document that ``inspect --json`` prints."""
        return {
            "least": self.least,
            "tenth": self.tenth,
            "median": self.median,
            "nine_tenths": self.nine_tenths,
            "most": self.most,
            "mean": self.mean,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column, what it is for, and how full it is."""

    name: str
    """As in the data."""
    role: str
    """Person, time, quasi, sensitive, or several of them."""
    labels: int | None
    """Different values; None where they were not counted."""
    missing: int
    """Events without a value."""

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``inspect --json`` prints."""
        return {"name": self.name, "role": self.role, "labels": self.labels, "missing": self.missing}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How many persons and events there are, and how they are spread."""

    persons: int
    """Number of persons."""
    trips: int | None
    """Number of trips; None where every person has one sequence."""
    events: int
    """Number of events."""
    per_person: Spread | None
    """Events of a person; None without persons."""
    per_trip: Spread | None
    """Events of a trip; None without trips."""
    gaps: Spread | None
    """Days from an event to the next one of the person, or of the trip; None without any."""
    alphabet: int
    """Different items: values of the symbol, or of all quasi-identifiers together."""
    columns: tuple[Column, ...]
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
        Column(name='page', role='symbol', labels=1, missing=1)
        """
        items = (table.symbol,) if table.symbol is not None else tuple(table.schema.quasi)
        return cls(
            persons=table.n_owners,
            trips=None if table.owners is None else table.n_persons,
            events=table.n_events,
            per_person=Spread.of(np.diff(table.joined().person_offsets)),
            per_trip=None if table.owners is None else Spread.of(np.diff(table.person_offsets)),
            gaps=None if table.times is None else Spread.of(_gaps(table)),
            alphabet=sum(len(table.labels[name]) for name in items),
            columns=tuple(_columns(table)),
        )

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``inspect --json`` prints."""
        return {
            "events_per_person": None if self.per_person is None else self.per_person.to_json(),
            **({} if self.per_trip is None else {"events_per_trip": self.per_trip.to_json()}),
            "days_between_events": None if self.gaps is None else self.gaps.to_json(),
            "alphabet": self.alphabet,
            "columns": [column.to_json() for column in self.columns],
        }


def _gaps(table: EventTable) -> npt.NDArray[np.float64]:
    """Give the days between the events of a person that follow each other."""
    if table.times is None or not table.n_events:
        return np.empty(0)
    moments = table.times.to_physical().to_numpy()
    is_next = np.ones(table.n_events, np.bool_)
    is_next[table.person_offsets[:-1]] = False
    return np.diff(moments, prepend=0)[is_next] / _MICROSECONDS


def _columns(table: EventTable) -> list[Column]:
    columns = []
    for name, roles in roles_of(table.schema).items():
        if name not in table.frame.columns:
            continue
        labels = table.labels.get(name)
        columns.append(
            Column(
                name=name,
                role=" and ".join(roles),
                labels=None if labels is None else len(labels) - (MISSING in labels),
                missing=table.frame[name].null_count(),
            )
        )
    return columns
