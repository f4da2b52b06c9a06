"""The linter: everything that is wrong or doubtful about the hierarchy of a column, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.hierarchies.finding import in_report_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.finding import Finding


def lint(source: HierarchyBuilder, values: Iterable[str], column: str) -> list[Finding]:
    """Hold a hierarchy against the values of its column, errors first.

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
