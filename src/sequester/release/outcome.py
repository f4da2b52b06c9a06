"""What a method made of a table, before pseudonyms and shuffling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.data.schema import Schema
    from sequester.data.sequences import Sequences
    from sequester.release.plot import Plot
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method made of a table, before pseudonyms and shuffling."""

    sequences: Sequences
    """Events of each person of the table, in the table's order; a person without events is not released."""
    tables: Mapping[str, pl.DataFrame] | None = None
    """Records without persons, as they would be published, by file name without ending: no histories then."""
    schema: Schema
    """Roles of the released columns, over ``person`` and ``order``."""
    hierarchies: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Released nodes and those above, per attribute."""
    changes: pl.DataFrame
    """Every changed cell or event, keyed by input row."""
    n_lost_events: int = 0
    """Records that are not published, where there are `tables`; lost events of `sequences` are counted."""
    permuted: bool = False
    """A person's own events may stand in another order: such an event is moved, and not lost."""
    limits: tuple[str, ...]
    """What is not promised, in plain words, without a raw value."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """What was measured on the way."""
    plots: tuple[Plot, ...] = ()
    """What the steward may want to see, beside what is drawn of every release."""
    evidence: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """How the promise is kept in detail, such as person by person, by a name for a file."""
