"""What an event log is made of, whichever way it was taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from sequester._typing import Codes


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of all traces, or of all events, as they stand in the file."""

    names: Sequence[tuple[str, str]]
    """Code to element (``string``, ``date``) and key."""
    codes: Codes
    """What each attribute is."""
    owners: Codes
    """Whose each attribute is: the number of the trace or event."""
    values: pl.Series
    """What each attribute says."""
    size: int
    """Number of traces, or of events."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Traces, events, and which are whose."""

    traces: Attributes
    events: Attributes
    trace_of_event: Codes
    """The number of each event's trace."""
