"""Steps 8 and 9: check a release, undo changes, and open other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.workbench.steps import Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.project import Workbench


def _check_context(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    jobs = bench.project.jobs
    job = jobs.last("verify")
    last = jobs.last("protect")
    made = "" if last is None or last.result is None else f"{last.arguments['out']}/release"
    release = "" if job is None else job.arguments["release"]
    return {
        "job": job,
        "listing": bench.listing(query.get("folder", ".")),
        "release": query.get("release") or made or release,
        "may_compare": not list(bench.project.gaps()),
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


CHECK = Step(
    title="Check",
    lead="Check a release by its files alone: one of yours, or one that somebody sent.",
    template="check.html",
    context=_check_context,
    actions={"verify": _verify, "count": _count},
    needs_roles=False,
)


def _history_context(bench: Workbench, _query: Mapping[str, str]) -> dict[str, Any]:
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


HISTORY = Step(
    title="History",
    lead="Undo a change, compare past releases, or open another project.",
    template="history.html",
    context=_history_context,
    actions={"undo": _undo, "open": _open},
    needs_roles=False,
)
