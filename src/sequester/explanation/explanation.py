"""The result of an explanation: reasons for changes, and relaxations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sequester._repr import Card, json_fields
from sequester.release.outcome import Reason

__all__ = ["Explanation", "Offer", "Reason", "Relaxation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """A smaller promise that was tried, and what it would have kept.

    Examples
    --------
    >>> Relaxation(parameter="k", asked=5, relaxed=4, kept=31, of=40, unit="events", text="...").share
    0.775
    """

    parameter: str
    """What is relaxed: a parameter of the method, or the hierarchy of a column."""
    asked: object
    """Its value in the release."""
    relaxed: object
    """The value that was tried."""
    kept: int
    """Suppressed or heavily generalized parts that it would have kept."""
    of: int
    """All such parts of the release, or of the sample that was tried."""
    unit: str
    """What is counted: events, or values where events have several."""
    newly_lost: int = 0
    """Parts that it would have lost instead, and the release has kept."""
    text: str
    """All of it in a sentence."""

    @property
    def share(self) -> float:
        """The share that would have been kept."""
        return self.kept / max(self.of, 1)

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about this relaxation."""
        return json_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Something about a few persons or values that would have kept more, tried, with the loss it gives."""

    kind: str
    """``leave out`` persons, ``repair`` values, or add a ``node`` to a hierarchy."""
    column: str
    """The column, or columns, that they are about."""
    persons: tuple[str, ...] = ()
    """Their keys in the input."""
    values: tuple[str, ...] = ()
    """The rare values."""
    loss_before: float
    """The information loss as it is, on what was tried."""
    loss: float
    """The information loss that it would give."""
    text: str
    """All of it in a sentence."""

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about this offer."""
        return {
            "kind": self.kind,
            "column": self.column,
            "persons": len(self.persons),
            "values": list(self.values),
            "loss": {"before": self.loss_before, "after": self.loss},
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a release is as it is, and what would have kept more. Internal."""

    reasons: tuple[Reason, ...]
    """What was changed, by the constraint that demanded it."""
    relaxations: tuple[Relaxation, ...] = ()
    """The smallest steps that would have kept more of what is lost, each of them tried."""
    offers: tuple[Offer, ...] = ()
    """What to leave out, repair or group, each of them tried, the smallest loss first."""
    notes: tuple[str, ...] = ()
    """How it was tried: on a sample, what would have helped nothing, and what there was no time for."""
    fresh_loss: float | None = None
    """Of a later part of a series, what a fresh series of the whole input would lose; None if not tried."""

    def to_json(self) -> dict[str, Any]:
        """Return the document about this explanation."""
        return json_fields(self)

    @property
    def leave_out(self) -> tuple[str, ...]:
        """The persons whom an offer leaves out, by their keys in the input; none where there is no offer."""
        return next((each.persons for each in self.offers if each.kind == "leave out"), ())

    def _repr_html_(self) -> str:
        return Card(
            title="What was changed, and why",
            remarks=tuple(str(self).splitlines()),
            header=("change", "events", "persons"),
            rows=tuple((each.change, f"{each.events:,}", f"{each.persons:,}") for each in self.reasons),
        ).html()

    def __str__(self) -> str:
        return "\n".join(
            (
                *(each.text for each in self.reasons),
                *(each.text for each in self.offers),
                *(each.text for each in self.relaxations),
                *self.notes,
            )
        )
