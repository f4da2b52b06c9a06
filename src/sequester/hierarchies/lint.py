"""Lint the hierarchy of a column: report everything that is wrong or doubtful at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sequester.errors import HierarchyError
from sequester.hierarchies.labels import (
    LONGEST,
    MISSING,
    ROOT,
    counted,
    groups_alike,
    in_label_order,
    listed,
    match_alike,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence, Set

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.outline import Origin


def lint(source: HierarchyBuilder, values: Iterable[str], column: str) -> list[Finding]:
    """Check a hierarchy against the values of its column; list errors first.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> source = Hierarchy.tree({"acute": ["flu", "cold "], "chronic": ["flu"]})
    >>> for finding in lint(source, ["flu", "mumps"], "ill"):
    ...     print(f"{finding.severity}: {finding}")
    error: column 'ill': tree: 'flu' has two parents, 'acute' and 'chronic'
    error: column 'ill': tree: 1 value of the data is missing: 'mumps'
    warning: column 'ill': tree: trimmed blanks around 1 label: 'cold'
    info: column 'ill': tree: 1 leaf does not occur in the data
    """
    return in_report_order(source.findings(values, column=column))


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
    """Return errors first, the first twenty of each kind, with a line that counts the rest."""
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
    """Return the first rows of a file as text: ``row 3``, or ``rows 1, 2, 5 and 4 more``.

    Examples
    --------
    >>> shown_rows([3]), shown_rows([1, 2, 5])
    ('row 3', 'rows 1, 2, 5')
    """
    numbers = ", ".join(f"{row}" for row in rows[:SHOWN_ROWS])
    rest = len(rows) - SHOWN_ROWS
    return f"row{'' if len(rows) == 1 else 's'} {numbers}" + (f" and {rest:,} more" if rest > 0 else "")


ALIKE = "alike-labels"
"""The kind of finding about labels that look alike."""
_SHOWN = 3


def reserved_values(values: Collection[str], column: str | None) -> Iterator[Finding]:
    """Find values that cannot be leaves of any tree."""
    if ROOT in values:
        text = f"the value {quoted(ROOT)} is reserved for the root of the hierarchy"
        yield Finding(severity="error", kind="root-value", text=text, column=column, labels=(ROOT,))
    if "" in values:
        text = f"an empty value cannot be a leaf: a missing value is null and becomes {quoted(MISSING)}"
        yield Finding(severity="error", kind="empty-value", text=text, column=column, labels=("",))
    long = tuple(in_label_order(value for value in values if len(value) > LONGEST))
    if long:
        what = counted(len(long), "value is", "values are")
        text = f"{what} longer than {LONGEST:,} characters: {listed(long)}"
        yield Finding(
            severity="error", kind="long-label", text=text, column=column, labels=long, count=len(long)
        )


def coverage(values: Set[str], leaves: Set[str], groups: Set[str], source: Origin) -> Iterator[Finding]:
    """Find values without a leaf of their own, and count leaves without a value.

    Examples
    --------
    >>> from sequester.hierarchies.outline import Origin
    >>> place = Origin("d.csv", "ill")
    >>> for finding in coverage({"flu", "acute", "mumps"}, {"flu", "cold"}, {"acute"}, place):
    ...     print(finding.severity, finding)
    error column 'ill': d.csv: 1 value of the data is missing: 'mumps'
    error column 'ill': d.csv: 1 value of the data is a group and no leaf: 'acute'
    info column 'ill': d.csv: 1 leaf does not occur in the data
    """
    wanted = values - {ROOT, "", MISSING}
    unknown = wanted - leaves - groups
    more = ""
    if like := match_alike(unknown, leaves):
        (value, leaf), *_ = like
        more = f" ({counted(len(like), 'looks', 'look')} like a leaf, such as {quoted(value)} like "
        more += f'{quoted(leaf)}: alike = "merge" takes it for that)'
    yield from source.refuse(
        "missing-values",
        unknown,
        "value of the data is missing",
        "values of the data are missing",
        more=more,
    )
    yield from source.refuse(
        "group-values",
        wanted & groups,
        "value of the data is a group and no leaf",
        "values of the data are groups and no leaves",
    )
    # What does not occur does no harm, and where both occur they are named there.
    alike = [
        group
        for group in groups_alike(sorted(leaves | groups))
        if len(values & {*group}) < 2 and (values | groups) & {*group}
    ]
    if alike:
        labels = tuple(label for group in alike for label in group)
        shown = "; ".join(", ".join(map(quoted, group)) for group in alike[:_SHOWN])
        rest = len(alike) - _SHOWN
        shown += f"; and {counted(rest, 'more group', 'more groups')}" if rest > 0 else ""
        text = f"{len(labels):,} labels of the hierarchy look alike: {shown}"
        yield source.say("warning", ALIKE, text, labels=labels, count=len(labels))
    surplus = tuple(in_label_order(leaves - values))
    if surplus:
        text = f"{counted(len(surplus), 'leaf does', 'leaves do')} not occur in the data"
        yield source.say("info", "surplus-leaves", text, labels=surplus, count=len(surplus))
