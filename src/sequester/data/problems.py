"""What is wrong with a table, with counts and the first row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts, Mask

SHOWN_ROWS = 5
"""Row numbers that a problem lists."""

Severity = Literal["error", "warning", "note"]


def first_line(error: BaseException) -> str:
    r"""Give the first line of what another library says, or the name of its error where it says nothing.

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
        rows: Counts | None = None,
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
