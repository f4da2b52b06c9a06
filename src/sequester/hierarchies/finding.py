"""What the linter says about a hierarchy: one line per finding, all of them at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sequester.errors import HierarchyError
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Severity = Literal["error", "warning", "info"]
"""An error stops every job; a warning may be a mistake; an info is a count worth knowing."""

_ORDER = {"error": 0, "warning": 1, "info": 2}
_SHOWN_PER_KIND = 20
SHOWN_ROWS = 5
"""Row numbers that a finding lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, doubtful or worth knowing about the hierarchy of a column.

    Examples
    --------
    >>> print(Finding(severity="error", kind="cycle", text="row 2: cycle 'a' > 'b' > 'a'", column="page"))
    column 'page': row 2: cycle 'a' > 'b' > 'a'
    """

    severity: Severity
    """Whether it stops a job."""
    kind: str
    """A short fixed name, such as ``cycle`` or ``missing-values``; `docs/hierarchies.md` lists them."""
    text: str
    """What is the case, in one line: row of the file where there is one, and the label."""
    column: str | None = None
    """The column of the data; None for a tree that belongs to no column yet."""
    labels: tuple[str, ...] = ()
    """All labels concerned, not only those that `text` shows."""
    rows: tuple[int, ...] = ()
    """The first rows of the hierarchy file concerned, counted from 1."""
    count: int = 1
    """How many labels, rows or leaves it is about."""

    def __str__(self) -> str:
        return self.text if self.column is None else f"column {quoted(self.column)}: {self.text}"


def in_report_order(findings: Iterable[Finding]) -> list[Finding]:
    """Put errors first, and keep the first twenty of each kind with a line that counts the rest."""
    seen: Counter[str] = Counter()
    shown: list[Finding] = []
    last: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda finding: _ORDER[finding.severity]):
        seen[finding.kind] += 1
        last[finding.kind] = finding
        if seen[finding.kind] <= _SHOWN_PER_KIND:
            shown.append(finding)
    for kind, number in seen.items():
        if number > _SHOWN_PER_KIND:
            rest = number - _SHOWN_PER_KIND
            text = f"{rest:,} more of the kind {kind!r}"
            shown.append(
                Finding(
                    severity=last[kind].severity, kind=kind, text=text, column=last[kind].column, count=rest
                )
            )
    return sorted(shown, key=lambda finding: _ORDER[finding.severity])


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise a HierarchyError with one line per error, if there is any."""
    errors = [str(finding) for finding in in_report_order(findings) if finding.severity == "error"]
    if errors:
        raise HierarchyError(*errors)


def shown_rows(rows: Sequence[int]) -> str:
    """Name the first rows of a file: ``row 3``, or ``rows 1, 2, 5 and 4 more``.

    Examples
    --------
    >>> shown_rows([3]), shown_rows([1, 2, 5])
    ('row 3', 'rows 1, 2, 5')
    """
    numbers = ", ".join(f"{row}" for row in rows[:SHOWN_ROWS])
    rest = len(rows) - SHOWN_ROWS
    return f"row{'' if len(rows) == 1 else 's'} {numbers}" + (f" and {rest:,} more" if rest > 0 else "")
