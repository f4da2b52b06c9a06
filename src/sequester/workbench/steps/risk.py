"""Step 4: what the data gives away today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.workbench.steps.step import COMMON, Step, decided

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.bench import Workbench


def _context(bench: Workbench, query: Mapping[str, str], gaps: list[str]) -> dict[str, Any]:
    del query, gaps
    project = bench.project
    job = project.jobs.last("inspect")
    return {"job": job, "is_current": project.state.get("inspected") == project.document.get("data")}


def _run(bench: Workbench) -> None:
    config = decided(bench)
    bench.project.note(inspected=bench.project.document["data"])
    bench.project.jobs.start("inspect", {"config": config})


STEP = Step(
    title="Risk today",
    lead="See what somebody who knows one, two or three things about a person could do with the data as "
    "it is.",
    template="risk.html",
    context=_context,
    actions={**COMMON, "run": _run},
)
"""The step."""
