"""Step 9: what was done, and other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.workbench.steps.step import COMMON, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.bench import Workbench


def _context(bench: Workbench, query: Mapping[str, str], gaps: list[str]) -> dict[str, Any]:
    del query, gaps
    project = bench.project
    return {
        "changes": project.changes(),
        "runs": [job for job in project.jobs.all("protect") if job.result],
        "others": [path for path in bench.projects() if bench.inside(path) != project.config.resolve()],
        "job": None,
    }


def _undo(bench: Workbench) -> None:
    if not bench.project.changes():
        msg = "there is nothing to undo"
        raise InputError(msg)
    _refuse_while_at_work(bench)
    bench.project.undo()


def _refuse_while_at_work(bench: Workbench) -> None:
    if any(job.is_running for job in bench.project.jobs.all()):
        msg = "a job is running with this configuration; cancel it first"
        raise InputError(msg)


def _open(bench: Workbench, *, path: str) -> dict[str, Any]:
    if path not in bench.projects():
        msg = f"{path} is not a project in the folders that the workbench was given"
        raise InputError(msg)
    _refuse_while_at_work(bench)
    bench.open(bench.inside(path))
    return {"go": "/data"}


STEP = Step(
    title="History",
    lead="Undo a change, compare past releases, or open another project.",
    template="history.html",
    context=_context,
    actions={**COMMON, "undo": _undo, "open": _open},
    needs_roles=False,
)
"""The step."""
