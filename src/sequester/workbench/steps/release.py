"""Step 7: make the release."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workbench.steps.promise import set_method
from sequester.workbench.steps.step import COMMON, Step, decided
from sequester.workflow.parameters import parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.bench import Workbench
    from sequester.workbench.jobs import Job
    from sequester.workbench.project import Project

ABOUT = ("title", "publisher", "contact", "licence", "description")
"""What the publisher may say about the data."""


def _context(bench: Workbench, query: Mapping[str, str], gaps: list[str]) -> dict[str, Any]:
    del query, gaps
    project = bench.project
    job = project.jobs.last("protect")
    release = project.document.get("release", {})
    return {
        "job": job,
        "method": project.document.get("method"),
        "about": {name: release.get(name, "") for name in ABOUT},
        "out": free_folder(project),
        "offers": [] if job is None else _offers(project, job),
        "needs_consent": job is not None and any("accept_unprotected" in line for line in job.lines),
    }


def free_folder(project: Project) -> str:
    """Return the first name for a folder that nothing has yet."""
    wanted = str(project.document.get("release", {}).get("path") or "out")
    stem = wanted.rstrip("0123456789").rstrip("-") if "-" in wanted else wanted
    stem = "out" if stem in ("", ".") else stem
    names = (stem, *(f"{stem}-{number}" for number in range(2, 10_000)))
    return next(name for name in names if not (project.folder / name).exists())


def _offers(project: Project, job: Job) -> list[dict[str, Any]]:
    """Return the settings that a refusal says are feasible, each to be taken by a button."""
    name = project.document.get("method", {}).get("name", "")
    known = {each.name for each in parameters_of(METHODS[name])} if name in METHODS else set()
    if job.state != "refused":
        return []
    return [
        {"parameter": parameter, "value": int(value) if float(value).is_integer() else value}
        for parameter, value in (job.achieved or {}).items()
        if parameter in known
    ]


def _run(bench: Workbench, *, out: str, **about: str) -> None:
    project = bench.project
    config = decided(bench)
    folder = bench.inside(out.strip() or "out")
    if "method" not in project.document:
        msg = "choose a method first, in the step Promise"
        raise InputError(msg)
    document = project.document
    release = document.setdefault("release", {})
    release |= {name: about.get(name, "").strip() or None for name in ABOUT}
    release["path"] = bench.name(folder)
    # With a seed of its own, the configuration gives the same bytes wherever it is run.
    release.setdefault("seed", secrets.token_hex(16))
    project.save(document, f"release to {release['path']}")
    project.jobs.start("protect", {"config": config, "out": release["path"]})


def _take(bench: Workbench, *, parameter: str) -> None:
    project = bench.project
    job = project.jobs.last("protect")
    offers = {} if job is None else {each["parameter"]: each["value"] for each in _offers(project, job)}
    if job is None or parameter not in offers:
        msg = "this setting was not offered"
        raise InputError(msg)
    set_method(bench, project.document["method"] | {parameter: offers[parameter]})
    project.jobs.start("protect", job.arguments)


def _accept(bench: Workbench) -> None:
    project = bench.project
    job = project.jobs.last("protect")
    if job is None:
        return
    document = project.document
    document.setdefault("release", {})["accept_unprotected"] = True
    project.save(document, "accepted kept columns that single out persons")
    project.jobs.start("protect", job.arguments)


STEP = Step(
    title="Release",
    lead="Make the release. It is written aside, checked as a recipient would check it, and only then put "
    "in place.",
    template="release.html",
    context=_context,
    actions={**COMMON, "run": _run, "take": _take, "accept": _accept},
)
"""The step."""
