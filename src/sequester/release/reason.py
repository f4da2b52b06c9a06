"""Which constraint led to which changes, and whom they touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One constraint of a promise and what it did to the data. Stays in the house.

    Examples
    --------
    >>> reason = Reason(
    ...     constraint="support below k",
    ...     change="suppressed",
    ...     persons=3,
    ...     events=4,
    ...     text="stay: 4 values became *, because fewer than k = 2 persons showed them.",
    ... )
    >>> reason.to_json()["constraint"], reason.to_json()["events"]
    ('support below k', 4)
    """

    constraint: str
    """What the promise did not allow, in a few words."""
    change: str
    """What was done about it: the kind of change."""
    persons: int
    """Persons who were touched, or trips where there are; one person may be counted by several reasons."""
    events: int
    """Events that were touched; one event may be counted by several reasons."""
    text: str
    """All of it in a sentence."""
    examples: tuple[str, ...] = ()
    """Where it hit hardest, in labels; a few of them."""

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document about this reason."""
        return {
            "constraint": self.constraint,
            "change": self.change,
            "persons": self.persons,
            "events": self.events,
            "text": self.text,
            "examples": list(self.examples),
        }


def touched(changes: pl.DataFrame) -> tuple[int, int]:
    """Count the persons and events that changes touch.

    Examples
    --------
    >>> import polars as pl
    >>> touched(pl.DataFrame({"row": [1, 1, 4], "person": ["a", "a", "a"]}))
    (1, 2)
    """
    who = [name for name in ("person", "trip") if name in changes.columns]
    return changes.select(who).n_unique(), changes["row"].n_unique()


def by_kind(changes: pl.DataFrame, *, constraint: str) -> tuple[Reason, ...]:
    """Count changes by their kind, where nothing more is known about why.

    Examples
    --------
    >>> import polars as pl
    >>> changes = pl.DataFrame({"row": [1, 4], "person": ["a", "b"], "what": ["moved", "moved"]})
    >>> [reason.text for reason in by_kind(changes, constraint="Nobody is alone.")]
    ['2 events were moved (of 2 persons), so that this holds: Nobody is alone.']
    """
    reasons = []
    for (what,), part in changes.group_by("what", maintain_order=True):
        persons, events = touched(part)
        many = counted(events, "event was", "events were")
        whose = counted(persons, "person", "persons")
        reasons.append(
            Reason(
                constraint=constraint,
                change=str(what),
                persons=persons,
                events=events,
                text=f"{many} {what} (of {whose}), so that this holds: {constraint}",
            )
        )
    return tuple(reasons)
