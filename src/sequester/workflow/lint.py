"""Holds every hierarchy of a configuration against its column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sequester.data.alike import leaves_of
from sequester.data.binding import check_limits
from sequester.data.place import REGION
from sequester.data.schema import Quasi, Symbol
from sequester.data.table import EventTable
from sequester.engine import silent
from sequester.errors import HierarchyError
from sequester.hierarchies.alike import shown_alike
from sequester.hierarchies.finding import Finding
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.lint import lint
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from sequester.data.schema import Schema
    from sequester.engine import Progress
    from sequester.hierarchies.builder import HierarchyBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What the linter says about one attribute."""

    attribute: str
    """The column."""
    n_values: int
    """Distinct values in the data."""
    findings: tuple[Finding, ...]
    """Errors first."""

    def count(self, severity: str) -> int:
        """Count the findings of one severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def summary(self) -> str:
        """Say in a line how it went."""
        errors, warnings = self.count("error"), self.count("warning")
        return (
            f"{self.attribute}: {self.n_values:,} values, {errors} error{'s' * (errors != 1)}, "
            f"{warnings} warning{'s' * (warnings != 1)}"
        )

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``hierarchy lint --json`` prints."""
        return {
            "attribute": self.attribute,
            "values": self.n_values,
            "findings": [
                {"severity": each.severity, "kind": each.kind, "what": each.text, "count": each.count}
                for each in self.findings
            ],
        }


def lint_hierarchies(config: str | Path | Config, *, progress: Progress = silent) -> list[Linted]:
    """Lint the hierarchies of all columns that have one, derived columns included."""
    config = config if isinstance(config, Config) else Config.load(config)
    schema = config.schema
    progress(0.0, "reading")
    # No table is made with hierarchies that do not fit, so the columns get the one that always does.
    table = EventTable(config.frame(), _without_hierarchies(schema))
    sources = _sources(schema)
    if schema.place is not None:
        # Regions come with their tree.
        sources[REGION] = table.hierarchies[REGION]
    linted = []
    for place, (attribute, source) in enumerate(sources.items()):
        progress(0.5 + 0.5 * place / len(sources), "linting")
        counts = Counter(dict(table.frame[attribute].drop_nulls().value_counts().iter_rows()))
        quasi = schema.quasi.get(attribute)
        if schema.alike == "merge":
            counts, quasi = _merged(counts, quasi, source, attribute)
        limits = _limits(quasi, attribute, table.frame[attribute], counts)
        findings = (*limits, *lint(source, counts, attribute))
        linted.append(Linted(attribute=attribute, n_values=len(counts), findings=findings))
    return linted


def _merged(
    counts: Counter[str], quasi: Quasi | None, source: Hierarchy | HierarchyBuilder, attribute: str
) -> tuple[Counter[str], Quasi | None]:
    """Take values of the data, and those that may not be suppressed, for the leaves that they look like."""
    leaves = set(leaves_of(source, attribute))
    spared = () if quasi is None else quasi.never_suppress
    becomes = dict(shown_alike({*counts, *spared} - leaves, leaves or counts))
    merged: Counter[str] = Counter()
    for label, count in counts.items():
        merged[becomes.get(label, label) if leaves else label] += count
    if quasi is None:
        return merged, None
    return merged, replace(quasi, never_suppress=tuple(becomes.get(label, label) for label in spared))


def _limits(quasi: Quasi | None, attribute: str, text: pl.Series, counts: Counter[str]) -> list[Finding]:
    """Hold what is asked of a quasi-identifier against its tree, where there is one."""
    if quasi is None:
        return []
    try:
        tree = quasi.hierarchy.build(counts, column=attribute, missing=text.null_count() > 0)
    except HierarchyError:  # the linter says why
        return []
    return [
        Finding(severity="error", kind="limit", text=line) for line in check_limits(quasi, attribute, tree)
    ]


def _sources(schema: Schema) -> dict[str, Hierarchy | HierarchyBuilder]:
    sources: dict[str, Hierarchy | HierarchyBuilder] = {}
    if schema.symbol is not None and schema.symbol.hierarchy is not None:
        sources[schema.symbol.column] = schema.symbol.hierarchy
    return sources | {column: quasi.hierarchy for column, quasi in schema.quasi.items()}


def _without_hierarchies(schema: Schema) -> Schema:
    return replace(
        schema,
        symbol=None if schema.symbol is None else Symbol(schema.symbol.column),
        quasi={column: Quasi(Hierarchy.flat()) for column in schema.quasi},
    )
