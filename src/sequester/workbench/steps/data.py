"""Step 1: choose the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.workbench.steps.step import COMMON, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.bench import Workbench


def _context(bench: Workbench, query: Mapping[str, str], gaps: list[str]) -> dict[str, Any]:
    del gaps
    job = bench.project.jobs.last("draft")
    return {
        "listing": bench.listing(query.get("folder", ".")),
        "overview": bench.project.overview,
        "job": job,
        "path": bench.project.document.get("data", {}).get("path", ""),
    }


def _choose(bench: Workbench, *, path: str, persons: str = "", query: str = "", table: str = "") -> None:
    bench.choose(
        bench.source(path.strip()),
        persons=bench.source(persons.strip()) if persons.strip() else None,
        query=query.strip() or None,
        table=table.strip() or None,
    )


STEP = Step(
    title="Data",
    lead="Choose the table that you want to publish: one row per event, such as a visit or a click.",
    template="data.html",
    context=_context,
    actions={**COMMON, "choose": _choose},
    needs_roles=False,
)
"""The step."""
