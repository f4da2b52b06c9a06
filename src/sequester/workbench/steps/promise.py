"""Steps 4 and 5: see the risk of the data as it is, and choose the promise."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.release.purpose import QUESTIONS
from sequester.workbench.steps import Step, decided
from sequester.workflow.build import build_method
from sequester.workflow.parameters import parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    lead="See what somebody who knows one, two or three things about a person could do with the data as "
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
