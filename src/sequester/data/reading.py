"""What became of the rows of an input before a method got them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    r"""Rows read, those that were left out and why, and the events that the others became.

    ``rows - dropped - outside - folded + crossed = events``

    Examples
    --------
    >>> reading = Reading(rows=10, dropped=2, reasons={"time is missing": 2}, folded=3, events=5)
    >>> reading.left_out
    2
    >>> print(*reading.lines(), sep="\n")
    10 rows were read, 2 of them (20.0%) left out: time is missing (2)
    8 points became 5 visits of regions
    """

    rows: int
    """Rows of the input."""
    dropped: int = 0
    """Rows that ``invalid = "drop"`` left out."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why they were dropped, with the rows that each rule marks; a row may break several."""
    outside: int = 0
    """Points that were left out because they lie in no region."""
    folded: int = 0
    """By how much visits of regions are fewer than points in them: a stay is one visit, and not lost."""
    crossed: int = 0
    """By how much visits are more than points, where lines between points touch regions, too."""
    persons_left_out: int = 0
    """Persons of whom no row was taken."""
    events: int
    """What the method gets."""

    @property
    def left_out(self) -> int:
        """Rows that no event stands for."""
        return self.dropped + self.outside

    def lines(self) -> Iterator[str]:
        """Say in a line or two what was left out and folded; nothing where every row is an event."""
        if self.left_out:
            why = [f"{rule} ({count:,})" for rule, count in self.reasons.items()]
            why += [f"in no region ({self.outside:,})"] if self.outside else []
            share = f"{self.left_out:,} of them ({self.left_out / self.rows:.1%}) left out"
            whom = f", with all rows of {counted(self.persons_left_out, 'person', 'persons')}"
            read = counted(self.rows, "row was", "rows were")
            yield f"{read} read, {share}{whom if self.persons_left_out else ''}: {', '.join(why)}"
        if self.folded or self.crossed:
            points = counted(self.rows - self.left_out, "point", "points")
            yield f"{points} became {counted(self.events, 'visit', 'visits')} of regions"

    def to_json(self) -> dict[str, Any]:
        """Give the counts as a JSON document."""
        return {
            "rows": self.rows,
            "dropped": self.dropped,
            "reasons": dict(self.reasons),
            "outside_regions": self.outside,
            "folded": self.folded,
            "crossed": self.crossed,
            "persons_left_out": self.persons_left_out,
            "events": self.events,
        }
