"""Problems found in an input, with counts and row numbers, and what became of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sequester._repr import json_fields
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from sequester._typing import Mask, RowNumbers


SHOWN_ROWS = 5
"""Row numbers that a problem lists."""

Severity = Literal["error", "warning", "note"]


def first_line(error: BaseException) -> str:
    r"""Return the first line of what another library says, or the name of its error where it says nothing.

    Examples
    --------
    >>> first_line(ValueError("no such thing\nand a long story")), first_line(MemoryError())
    ('no such thing', 'MemoryError')
    """
    return next(iter(str(error).splitlines()), type(error).__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that a steward must know about the data, in one line.

    Examples
    --------
    >>> print(Problem("column 'PID': person is missing", "PID", count=7, rows=(2, 3, 5, 8, 13)))
    column 'PID': person is missing (7 rows: 2, 3, 5, 8, 13, ...)
    >>> print(Problem("column 'age' has no role", "age"))
    column 'age' has no role
    """

    what: str
    """Column, rule and value, in words."""
    column: str | None = None
    """The column it is about; None where it is about several."""
    count: int = 0
    """Rows concerned; 0 where the problem is one of columns."""
    rows: tuple[int, ...] = ()
    """The first data rows of the input concerned, counted from 1 without the header."""
    severity: Severity = "error"
    """An error stops everything; a warning may be a mistake; a note is worth knowing."""
    alike: bool = False
    """It is about labels that look alike: the table is made, and as an error it stops every method."""

    @classmethod
    def at(
        cls,
        what: str,
        column: str | None,
        where: Mask,
        rows: RowNumbers | None = None,
        severity: Severity = "error",
        *,
        alike: bool = False,
    ) -> Problem:
        """Make the problem of the events that `where` marks; `rows` are their row numbers in the input."""
        places = np.flatnonzero(where)
        numbers: npt.NDArray[np.int64] = places + 1 if rows is None else np.sort(rows[places])
        return cls(what, column, len(places), tuple(numbers[:SHOWN_ROWS].tolist()), severity, alike)

    def __str__(self) -> str:
        if not self.count:
            return self.what
        noun = "row" if self.count == 1 else "rows"
        more = ", ..." if self.count > len(self.rows) else ""
        return f"{self.what} ({self.count:,} {noun}: {', '.join(map(str, self.rows))}{more})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSummary:
    r"""Rows read, those that were left out and why, and the events that the others became.

    ``rows - dropped - outside - folded + crossed = events``

    Examples
    --------
    >>> reading = ReadSummary(rows=10, dropped=2, reasons={"time is missing": 2}, folded=3, events=5)
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
    """Persons without any row that was taken."""
    events: int
    """What the method gets."""

    @property
    def left_out(self) -> int:
        """Rows that no event stands for."""
        return self.dropped + self.outside

    def lines(self) -> Iterator[str]:
        """Describe in a line or two what was left out and folded; nothing where every row is an event."""
        if self.left_out:
            why = [f"{rule} ({count:,})" for rule, count in self.reasons.items()]
            why += [f"in no region ({self.outside:,})"] if self.outside else []
            share = f"{self.left_out:,} of them ({self.left_out / self.rows:.1%}) left out"
            persons = f", with all rows of {counted(self.persons_left_out, 'person', 'persons')}"
            read = counted(self.rows, "row was", "rows were")
            yield f"{read} read, {share}{persons if self.persons_left_out else ''}: {', '.join(why)}"
        if self.folded or self.crossed:
            points = counted(self.rows - self.left_out, "point", "points")
            yield f"{points} became {counted(self.events, 'visit', 'visits')} of regions"

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON document."""
        counts = json_fields(self)
        return counts | {"outside_regions": counts.pop("outside")}
