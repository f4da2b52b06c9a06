"""Steps 4 to 9: see the risk, choose the promise, try methods, make and check the release, undo changes."""

from __future__ import annotations

import hashlib
import json
import secrets
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.release.purpose import QUESTIONS
from sequester.workbench.jobs import read_json
from sequester.workbench.steps import Step, decided
from sequester.workflow.build import build_method
from sequester.workflow.comparison.grid import read_settings
from sequester.workflow.parameters import parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.jobs import WorkbenchJob
    from sequester.workbench.project import Project, Workbench
    from sequester.workflow.parameters import Parameter


def _risk_context(bench: Workbench, _query: Mapping[str, str]) -> dict[str, Any]:
    project = bench.project
    job = project.jobs.last("inspect")
    return {"job": job, "is_current": project.state.get("inspected") == project.document.get("data")}


def _inspect(bench: Workbench) -> None:
    config = decided(bench)
    bench.project.note(inspected=bench.project.document["data"])
    bench.project.jobs.start("inspect", {"config": config})


RISK = Step(
    title="Risk today",
    lead="See what an adversary who knows one, two or three things about a person could do with the data as "
    "it is.",
    template="risk.html",
    context=_risk_context,
    actions={"run": _inspect},
)


FIRST: dict[str, object] = {"k": 5, "c": 0.5, "p": 2, "l": 3, "min_support": 2}
"""What required parameters begin with."""
_RANGES = {
    "k": (2, 50, 1),
    "c": (0.05, 1, 0.05),
    "p": (1, 5, 1),
    "l": (2, 20, 1),
    "window": (1, 60, 1),
    "max_length": (1, 10, 1),
    "max_leakage": (0, 1, 0.05),
}
"""Parameter to the least and largest value of its slider, and the step."""


def _promise_context(bench: Workbench, _query: Mapping[str, str]) -> dict[str, Any]:
    project = bench.project
    method = project.document.get("method", {})
    kind = METHODS.get(method.get("name", ""))
    return {
        "questions": QUESTIONS,
        "answers": project.state.get("answers", {}),
        "job": project.jobs.last("advise"),
        "methods": METHODS,
        "method": kind,
        "fields": [] if kind is None else [_field(each, method) for each in parameters_of(kind)],
        **_meaning(project, method),
    }


def _field(parameter: Parameter, given: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the control of a parameter."""
    annotation, value = parameter.annotation, given.get(parameter.name)
    if value is None and not parameter.required:
        value = parameter.default
    kind: dict[str, Any] = {
        "kind": "text",
        "value": "" if value in (None, ()) else json.dumps(value, default=list),
    }
    if annotation is bool:
        kind = {"kind": "check", "value": bool(value)}
    elif get_origin(annotation) is Literal:
        kind = {"kind": "choice", "value": value, "choices": get_args(annotation)}
    elif parameter.name in _RANGES and isinstance(value, int | float):
        least, most, step = _RANGES[parameter.name]
        kind = {"kind": "slider", "value": value, "least": least, "most": max(most, value), "step": step}
    elif isinstance(value, str):
        kind["value"] = value
    return {"name": parameter.name, "about": parameter.about, "required": parameter.required, **kind}


def _meaning(project: Project, method: Mapping[str, Any]) -> dict[str, Any]:
    """Describe what the promise means for these data, or why there is none."""
    if not method:
        return {"promise": "", "for_these": "", "wrong": []}
    try:
        model: Any = build_method(method, project.folder).model()
    except InputError as error:
        return {"promise": "", "for_these": "", "wrong": error.lines}
    data = project.document.get("data", {})
    sensitive = {**data.get("sensitive", {}), **data.get("persons", {}).get("sensitive", {})}
    if any(each.name == "protect" for each in fields(model)):
        model = replace(model, protect=dict.fromkeys(sensitive, ("",)))
    persons, k = (project.overview or {}).get("persons"), method.get("k")
    for_these = ""
    if persons and isinstance(k, int):
        for_these = f"Your data has {persons:,} persons: {k:,} of them are {k / persons:.1%}."
        if "p" in method:
            for_these = (
                f"For your data: an adversary who knows {method['p']} values matches at least {k:,} of your "
                f"{persons:,} persons, or none."
            )
        if k > persons:
            for_these = f"Not feasible: your data has only {persons:,} persons."
    return {"promise": model.in_words(), "for_these": for_these, "wrong": []}


def _answer(bench: Workbench, **given: str) -> None:
    known = {each.name: each.answers for each in QUESTIONS}
    if any(value not in known.get(name, {}) for name, value in given.items()):
        msg = "choose one of the answers"
        raise InputError(msg)
    missing = [each.text for each in QUESTIONS if each.name not in given]
    if missing:
        raise InputError(*(f"answer this, too: {text}" for text in missing))
    config = decided(bench)
    bench.project.note(answers=given)
    bench.project.jobs.start("advise", {"config": config, **given})


def _use(bench: Workbench) -> None:
    job = bench.project.jobs.last("advise")
    found = None if job is None or job.result is None else job.result["recommended"]
    if found is None:
        msg = "no method was recommended"
        raise InputError(msg)
    set_method(bench, {"name": found["method"], **found["parameters"]})


def set_method(bench: Workbench, method: Mapping[str, Any]) -> None:
    """Write a method and its parameters into the configuration."""
    document = bench.project.document | {"method": dict(method)}
    numbers = [f"{name} = {value}" for name, value in method.items() if isinstance(value, int | float)]
    bench.project.save(document, f"method: {', '.join([method['name'], *numbers])}")


def _method(bench: Workbench, *, value: str) -> None:
    if value not in METHODS:
        msg = "choose a method"
        raise InputError(msg)
    required = [each.name for each in parameters_of(METHODS[value]) if each.required or each.name in FIRST]
    set_method(bench, {"name": value, **{name: FIRST[name] for name in required if name in FIRST}})


def _read(bench: Workbench, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table ``[method]`` that the controls say; what is left at its default is left out."""
    name = bench.project.document.get("method", {}).get("name", "")
    method: dict[str, Any] = {"name": name}
    for each in parameters_of(METHODS[name]):
        value = given.get(each.name)
        if isinstance(value, str):
            # A text needs no quotes here.
            with suppress(ValueError):
                value = json.loads(value) if value.strip() else None
        if value is not None and (each.required or value != each.default):
            method[each.name] = value
    return method


def _set(bench: Workbench, **given: Any) -> None:
    method = _read(bench, given)
    build_method(method, bench.project.folder)
    set_method(bench, method)


def _preview(bench: Workbench, **given: Any) -> dict[str, Any]:
    return {
        "target": "meaning",
        "template": "meaning.html",
        "context": _meaning(bench.project, _read(bench, given)),
    }


PROMISE = Step(
    title="Promise",
    lead="Decide what nobody may be able to do with the release. Four questions find a method; then set "
    "how much.",
    template="promise.html",
    context=_promise_context,
    actions={
        "answer": _answer,
        "use": _use,
        "method": _method,
        "set": _set,
        "preview": _preview,
    },
)


VARIED = {"k": "2, 5, 10", "c": "", "p": "", "l": "2, 3, 5"}
"""Parameter that can be varied to what is tried at first."""


def _explore_context(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
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


def _found(job: WorkbenchJob | None) -> dict[str, Any]:
    """Return what a comparison has found: all of it, or as far as it has come."""
    found: dict[str, Any] = {} if job is None else job.result or read_json(job.folder / "partial.json")
    return found or {"candidates": []}


def _beside(project: Project, job: WorkbenchJob, candidate: Mapping[str, Any]) -> WorkbenchJob | None:
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


def _compare(bench: Workbench, *, methods: list[str] | str = (), **varied: str) -> None:  # type: ignore[assignment]
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


EXPLORE = Step(
    title="Explore",
    lead="Try methods and settings side by side: how much risk is left, and how much is lost.",
    template="explore.html",
    context=_explore_context,
    actions={"run": _compare, "pick": _pick},
)


ABOUT = ("title", "publisher", "contact", "licence", "description")
"""What the publisher may say about the data."""


def _release_context(bench: Workbench, _query: Mapping[str, str]) -> dict[str, Any]:
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


def _offers(project: Project, job: WorkbenchJob) -> list[dict[str, Any]]:
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


RELEASE = Step(
    title="Release",
    lead="Make the release. It is written aside, checked as a recipient would check it, and only then put "
    "in place.",
    template="release.html",
    context=_release_context,
    actions={"run": _run, "take": _take, "accept": _accept},
)


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
