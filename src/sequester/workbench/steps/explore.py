"""Step 6: try methods and parameters, and see what each costs."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workbench.jobs import read_json
from sequester.workbench.steps.promise import FIRST, set_method
from sequester.workbench.steps.step import COMMON, Step, decided
from sequester.workflow.comparison.grid import read_settings
from sequester.workflow.parameters import parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.bench import Workbench
    from sequester.workbench.jobs import Job
    from sequester.workbench.project import Project

VARIED = {"k": "2, 5, 10", "c": "", "p": "", "l": "2, 3, 5"}
"""Parameter that can be varied to what is tried at first."""


def _context(bench: Workbench, query: Mapping[str, str], gaps: list[str]) -> dict[str, Any]:
    del gaps
    project = bench.project
    method = project.document.get("method", {}).get("name", "")
    job = project.jobs.last("compare")
    found = _found(job)
    candidate = next((each for each in found["candidates"] if each["key"] == query.get("candidate")), None)
    return {
        "job": job,
        "found": found,
        "methods": list(METHODS),
        "tried": project.state.get("compared", [method]),
        "varied": VARIED | project.state.get("varied", {}),
        "candidate": candidate,
        "beside": None if candidate is None or job is None else _beside(project, job, candidate),
        "is_current": job is not None and job.arguments["out"] == _folder(project),
    }


def _found(job: Job | None) -> dict[str, Any]:
    """Return what a comparison has found: all of it, or as far as it has come."""
    found: dict[str, Any] = {} if job is None else job.result or read_json(job.folder / "partial.json")
    return found or {"candidates": []}


def _beside(project: Project, job: Job, candidate: Mapping[str, Any]) -> Job | None:
    """Return the job that puts the original beside the release of a candidate; begin it at the first look."""
    if not candidate["release"]:
        return None
    internal = f"{job.arguments['out']}/{candidate['release']}/internal"
    known = project.jobs.last("changes", internal=internal)
    return known or project.jobs.start("changes", {"config": project.config.name, "internal": internal})


def _folder(project: Project) -> str:
    """Return the folder for comparisons of the data with these roles: others get another one."""
    roles = json.dumps(project.document.get("data"), sort_keys=True, default=str)
    return f"compare-{hashlib.sha256(roles.encode()).hexdigest()[:8]}"


def _run(bench: Workbench, *, methods: list[str] | str = (), **varied: str) -> None:  # type: ignore[assignment]
    project = bench.project
    config = decided(bench)
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names:
        msg = "tick at least one method"
        raise InputError(msg)
    known = {each.name: each for name in names if name in METHODS for each in parameters_of(METHODS[name])}
    # What a method needs and nobody has said yet begins as it does where the method is chosen.
    method = project.document.get("method", {})
    first = {name: str(FIRST[name]) for name in known if known[name].required and name in FIRST}
    values = {name: text for name, text in first.items() if name not in method}
    values |= {name: text.replace(" ", "") for name, text in varied.items() if text.strip() and name in known}
    asked = [f"{name}={text}" for name, text in values.items()]
    read_settings(asked)
    document = project.document
    # With a seed in the configuration, the command gives the same bytes.
    document.setdefault("release", {}).setdefault("seed", secrets.token_hex(16))
    project.save(document, "a seed for everything random", compared=names, varied=varied)
    out = _folder(project)
    arguments = {
        "config": config,
        "methods": ",".join(names),
        "set": asked,
        "out": out,
        "write_releases": True,
    }
    project.jobs.start("compare", arguments)


def _pick(bench: Workbench, *, key: str) -> dict[str, Any]:
    found = _found(bench.project.jobs.last("compare"))
    picked = next((each for each in found["candidates"] if each["key"] == key), None)
    if picked is None:
        msg = "there is no such candidate"
        raise InputError(msg)
    defaults = {
        each.name: each.default for each in parameters_of(METHODS[picked["method"]]) if not each.required
    }
    own = {
        name: value
        for name, value in picked["parameters"].items()
        # What was kept as JSON has lists where defaults are tuples.
        if (tuple(value) if isinstance(value, list) else value) != defaults.get(name, ...)
    }
    set_method(bench, {"name": picked["method"], **own})
    return {"go": "/release"}


STEP = Step(
    title="Explore",
    lead="Try methods and settings side by side: how much risk is left, and how much is lost.",
    template="explore.html",
    context=_context,
    actions={**COMMON, "run": _run, "pick": _pick},
)
"""The step."""
