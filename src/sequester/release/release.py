"""What a method hands over: the released tables, what was changed, and the promise with its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester.data.table import EventTable
from sequester.release.glance import glance

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.attacks.singling_out import SinglingOut
    from sequester.data.reading import Reading
    from sequester.data.regions import Regions
    from sequester.data.schema import Schema
    from sequester.privacy.model import PrivacyModel, Verdict
    from sequester.release.event_log import LogFormat
    from sequester.release.plot import Plot
    from sequester.utility.score import Score

PERSON = "person"
"""The column of pseudonyms in a release."""
ORDER = "order"
"""The column that numbers the events of a person from 1 in a release."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release:
    """A release in memory, verified by its model, ready to be written."""

    tables: Mapping[str, pl.DataFrame]
    """What would be published, by file name without ending; ``events`` where persons keep their histories."""
    schema: Schema
    """The roles of the released columns."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Per released attribute the nodes at or above the released values: ``node``, ``parent``, ``leaves``."""
    method: str
    """The method's name on the command line."""
    parameters: Mapping[str, object]
    """The method's parameters."""
    unpublished: frozenset[str] = frozenset()
    """Those of them that stay in the house, because they say what is hidden."""
    model: PrivacyModel
    """The promise."""
    verdict: Verdict
    """What the model said about the released tables."""
    limits: tuple[str, ...]
    """What is not promised, in plain words, safe to hand out."""
    warnings: tuple[str, ...] = ()
    """What the steward must know, not for the recipient."""
    utility: Mapping[str, Score] = field(default_factory=dict)
    """Measures against the original; only a rounded ``information_loss`` leaves the house."""
    changes: pl.DataFrame
    """Every changed cell or event, keyed by input row. Stays in the house."""
    pseudonyms: pl.DataFrame
    """``person`` as in the input and ``pseudonym``. Stays in the house."""
    plots: tuple[Plot, ...] = ()
    """What is drawn for the steward beside what is drawn of every release. Stays in the house."""
    evidence: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """How the promise is kept in detail, such as person by person, by a name. Stays in the house."""
    trips: bool = False
    """What has a pseudonym is a trip, and a person may have several."""
    regions: Regions | None = None
    """What the values of the column ``region`` stand for."""
    event_log: LogFormat | None = None
    """The events are also written in this format, which the input had."""
    singled_out: SinglingOut | None = None
    """Who can be singled out by columns that the promise does not cover; None where there are none."""
    seed: str
    """Repeats the run. Stays in the house."""
    n_input_persons: int
    """Persons in the input, or trips where there are."""
    n_input_events: int
    """Events in the input."""
    n_lost_events: int
    """Events of the input that the release no longer shows: absent, nothing but ``*``, or not aligned."""
    n_moved_items: int = 0
    """Released items that their person had, but elsewhere in the order."""
    n_invented_items: int = 0
    """Released items that their person never had."""
    reading: Reading | None = None
    """What became of the rows of the input before the method got them."""

    @property
    def frame(self) -> pl.DataFrame:
        """The main table, as it would be published."""
        return next(iter(self.tables.values()))

    @property
    def table(self) -> EventTable:
        """The main table with its roles, as a recipient would read it."""
        return EventTable(self.frame, self.schema)

    @property
    def published_parameters(self) -> dict[str, object]:
        """The method's parameters that a recipient may see."""
        return {name: value for name, value in self.parameters.items() if name not in self.unpublished}

    @property
    def n_persons(self) -> int | None:
        """Persons in the release; None where it has records without persons."""
        return len(self.pseudonyms) if PERSON in self.frame.columns else None

    @property
    def unit(self) -> str:
        """What has a pseudonym of its own: persons, or their trips."""
        return "trips" if self.trips else "persons"

    @property
    def lost_share(self) -> float:
        """Share of the events that the method got and the release no longer shows."""
        return self.n_lost_events / max(self.n_input_events, 1)

    @property
    def unseen_share(self) -> float:
        """Share of the rows that were read and the release no longer shows; what ``max_suppressed`` bounds.

        Rows that were left out on reading count, and of the others the share that is lost.
        """
        n_events = max(self.n_input_events, 1)
        rows, left_out = (
            (1, 0) if self.reading is None else (max(self.reading.rows, 1), self.reading.left_out)
        )
        # In whole numbers, so that a share that is just allowed is not taken for more.
        return (left_out * n_events + (rows - left_out) * self.n_lost_events) / (rows * n_events)

    def __repr__(self) -> str:
        return str(glance(self))

    def _repr_html_(self) -> str:
        return glance(self).html()
