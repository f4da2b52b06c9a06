"""Step 8: check a release that somebody sent, and look at it as its recipient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.workbench.steps.step import COMMON, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.bench import Workbench


def _context(bench: Workbench, query: Mapping[str, str], gaps: list[str]) -> dict[str, Any]:
    jobs = bench.project.jobs
    job = jobs.last("verify")
    last = jobs.last("protect")
    made = "" if last is None or last.result is None else f"{last.arguments['out']}/release"
    release = "" if job is None else job.arguments["release"]
    return {
        "job": job,
        "listing": bench.listing(query.get("folder", ".")),
        "release": query.get("release") or made or release,
        "may_compare": not gaps,
        "opened": jobs.last("look", release=release),
    }


def _verify(bench: Workbench, *, release: str, compare: bool = False) -> None:
    folder = bench.inside(release.strip())
    if not folder.is_dir():
        msg = f"{release or 'nothing'} is not a folder; choose the folder release/ that was handed out"
        raise InputError(msg)
    if not (folder / "certificate.json").exists() and (folder / "release").is_dir():
        folder /= "release"
    name = bench.name(folder)
    original = {"original": bench.project.config.name} if compare else {}
    bench.project.jobs.start("verify", {"release": name, **original})
    bench.project.jobs.start("look", {"release": name})


def _count(bench: Workbench, *, column: str, value: str, persons: bool = False) -> None:
    job = bench.project.jobs.last("look")
    if job is None:
        msg = "check a release first"
        raise InputError(msg)
    asked = {"release": job.arguments["release"], "column": column, "value": value, "persons": persons}
    bench.project.jobs.start("look", asked)


STEP = Step(
    title="Check",
    lead="Check a release by its files alone: one of yours, or one that somebody sent.",
    template="check.html",
    context=_context,
    actions={**COMMON, "verify": _verify, "count": _count},
    needs_roles=False,
)
"""The step."""
