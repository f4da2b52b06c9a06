"""Steps 1 to 3: choose the data, give every column a role, and say how each becomes coarser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sequester.data.schema import ALL, ROW
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.hierarchies.lint import lint
from sequester.workbench.project import OF_PERSONS, ROLES, role_of, with_role, without_role
from sequester.workbench.steps import Step, decided
from sequester.workflow.build import validation_errors
from sequester.workflow.settings import QuasiSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester.workbench.project import Project, Workbench


def _data_context(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
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


DATA = Step(
    title="Data",
    lead="Choose the table that you want to publish: one row per event, such as a visit or a click.",
    template="data.html",
    context=_data_context,
    actions={"choose": _choose},
    needs_roles=False,
)


_SHOWN = 200
"""Values of a sensitive column that can be ticked one by one."""


def _roles_context(bench: Workbench, _query: Mapping[str, str]) -> dict[str, Any]:
    project = bench.project
    columns = project.columns()
    data = project.document.get("data", {})
    return {
        "columns": columns,
        "roles": ROLES,
        "roles_of_persons": OF_PERSONS,
        "person": data.get("person") if data.get("person") in (ROW, ALL) else "column",
        "nothing_sensitive": project.state.get("nothing_sensitive", False),
        "sensitive": [_protected(project, each) for each in columns if each["role"] in ("sensitive", "both")],
        "job": project.jobs.last("draft"),
    }


def values_of(project: Project, column: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the values of a column with the rows that they have, the most frequent first."""
    draft = project.jobs.folder / project.state["draft"]
    kept = json.loads((draft / "values" / f"{column['place']}.json").read_bytes())
    return [(str(value), int(rows)) for value, rows in kept]


def _protected(project: Project, column: dict[str, Any]) -> dict[str, Any]:
    """Return a sensitive column with its values, and those that are protected."""
    data = project.document["data"]
    table = data.get("persons", {}) if column["table"] == "persons" else data
    chosen = next(
        (
            each.get("protect", "all")
            for name, each in table.get("sensitive", {}).items()
            if column["name"] in (each.get("columns") or [name])
        ),
        "all",
    )
    values = values_of(project, column)
    return {
        **column,
        "values": values[:_SHOWN],
        "hidden": max(column["distinct"] - _SHOWN, 0),
        "protect": chosen,
    }


def _column(project: Project, place: str) -> dict[str, Any]:
    columns = project.columns()
    if not place.isdecimal() or int(place) >= len(columns):
        msg = "there is no such column"
        raise InputError(msg)
    return columns[int(place)]


def _role(bench: Workbench, *, key: str, value: str) -> None:
    project = bench.project
    column = _column(project, key)
    is_own = column["table"] == "persons"
    if value not in (OF_PERSONS if is_own else ROLES) or column["is_key"]:
        msg = f"column {quoted(column['name'])} cannot have this role"
        raise InputError(msg)
    document = project.document
    data = document["data"]
    if not is_own and role_of(data.get("persons", {}), column["name"]):
        data["persons"] = without_role(data["persons"], column["name"])
    table = with_role(
        data["persons"] if is_own else data,
        column["name"],
        value,
        hierarchy=column["hierarchy"],
        time_format=column["time_format"],
    )
    document["data"] = data | {"persons": table} if is_own else table
    undecided = [name for name in project.state.get("open", []) if name != column["name"]]
    project.save(document, f"{column['name']}: {value}", open=undecided)


def _person(bench: Workbench, *, value: str) -> None:
    document = bench.project.document
    if value in (ROW, ALL):
        document["data"]["person"] = value
    else:
        document["data"].pop("person", None)
    bench.project.save(document, f"who is a person: {value}")


def _nothing(bench: Workbench, *, value: bool) -> None:
    bench.project.replace(bench.project.text, "whether anything is sensitive", nothing_sensitive=value)


def _protect(bench: Workbench, *, key: str, which: str, values: list[str] | str = ()) -> None:  # type: ignore[assignment]
    project = bench.project
    column = _column(project, key)
    document = project.document
    data = document["data"]
    table = data["persons"] if column["table"] == "persons" else data
    chosen = [values] if isinstance(values, str) else list(values)
    if which != "all" and not chosen:
        msg = f"tick the values of {quoted(column['name'])} that must not be learned, or protect all"
        raise InputError(msg)
    for name, each in table.get("sensitive", {}).items():
        if column["name"] in (each.get("columns") or [name]):
            each["protect"] = "all" if which == "all" else chosen
    project.save(document, f"{column['name']}: protected values")


ROLES_STEP = Step(
    title="Roles",
    lead="Say what every column is. Check every guess: a wrong role can expose persons.",
    template="roles.html",
    context=_roles_context,
    actions={
        "role": _role,
        "person": _person,
        "nothing": _nothing,
        "protect": _protect,
    },
    needs_roles=False,
)


KINDS = {
    "flat": ("As it is, or hidden", "", ""),
    "mask": ("First characters", "levels", "characters that stay, fewer and fewer: 3, 1"),
    "intervals": ("Ranges of equal width", "width", "widths, each a multiple of the one before: 7, 28"),
    "quantiles": ("Ranges of equally many events", "bins", "how many ranges, fewer and fewer: 20, 5"),
    "dates": ("Parts of dates", "levels", "from fine to coarse: month, quarter, year"),
    "tree": ("Groups that you write", "tree", "one group per line: acute: flu, cold"),
    "file": ("A file, as ARX writes it", "path", "the file in the folder of the project: zip.csv"),
}
"""Kind of hierarchy to its name, its parameter, and how that is written."""
_EXAMPLES = 8
"""Values whose way up is shown."""
_NO_PREVIEW: dict[str, Any] = {"wrong": [], "findings": [], "levels": [], "examples": []}
"""What is shown of a hierarchy that cannot be built."""


def _hierarchies_context(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    project = bench.project
    attributes = dict(_attributes(project))
    chosen = query.get("attribute", next(iter(attributes), ""))
    found: dict[str, Any] = {"attributes": attributes, "attribute": chosen, "kinds": KINDS}
    if chosen not in attributes:
        return found | {"attribute": ""}
    hierarchy = attributes[chosen].get("hierarchy", {"kind": "flat"})
    job = project.jobs.last("hierarchy", attribute=chosen)
    return found | {
        "hierarchy": hierarchy,
        "kind": hierarchy.get("kind", "file"),
        "parameter": _written(hierarchy),
        "origin": hierarchy.get("origin", 0),
        "job": job,
        "is_current": job is not None and project.state.get("shown", {}).get(chosen) == hierarchy,
        "build": project.jobs.last("build", attribute=chosen),
        "preview": _preview_of(project, chosen, hierarchy),
    }


def _attributes(project: Project) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return what has a hierarchy, or may have one, with its table of the configuration."""
    data = project.document.get("data", {})
    yield from data.get("quasi", {}).items()
    yield from data.get("persons", {}).get("quasi", {}).items()
    if "symbol" in data:
        yield data["symbol"]["column"], data["symbol"]


def _written(hierarchy: Mapping[str, Any]) -> str:
    """Write the parameter of a hierarchy as the form has it."""
    _, name, _ = KINDS.get(hierarchy.get("kind", "file"), ("", "", ""))
    value = hierarchy.get(name, "")
    if isinstance(value, dict):
        flat = all(isinstance(each, list) for each in value.values())
        lines = (f"{group}: {', '.join(leaves)}" for group, leaves in value.items())
        return "\n".join(lines) if flat else json.dumps(value, ensure_ascii=False, indent=1)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(bench: Workbench, kind: str, parameter: str, origin: str) -> dict[str, Any]:
    """Return the hierarchy that the form describes, as the configuration has it."""
    if kind not in KINDS:
        msg = "choose a kind of hierarchy"
        raise InputError(msg)
    name, text = KINDS[kind][1], parameter.strip()
    if kind == "file":
        return {"path": bench.name(bench.inside(text))}
    if kind == "flat":
        return {"kind": kind}
    if kind == "tree":
        return {"kind": kind, "tree": _groups(text)}
    items = [each.strip() for each in text.split(",") if each.strip()]
    found: dict[str, Any] = {
        "kind": kind,
        name: items if kind == "dates" else [_number(each) for each in items],
    }
    if kind == "intervals" and _number(origin or "0") != 0:
        found["origin"] = _number(origin)
    return found


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        msg = f"{quoted(text)} is not a number"
        raise InputError(msg) from None


def _groups(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError:
            msg = "the tree is not JSON"
            raise InputError(msg) from None
        return found
    groups = {}
    for line in filter(str.strip, text.splitlines()):
        group, colon, leaves = line.partition(":")
        if not colon:
            msg = f"{quoted(line)} is not a group: write its name, a colon, and its values"
            raise InputError(msg)
        groups[group.strip()] = [each.strip() for each in leaves.split(",") if each.strip()]
    return groups


def _preview_of(project: Project, attribute: str, hierarchy: Mapping[str, Any]) -> dict[str, Any]:
    """Try a hierarchy on the values of its column."""
    column = next((each for each in project.columns() if each["name"] == attribute), None)
    values = [] if column is None else [value for value, _ in values_of(project, column)]
    try:
        settings = QuasiSettings.model_validate({"hierarchy": dict(hierarchy)})
        builder = settings.hierarchy.builder(project.folder)
        findings = lint(builder, values, attribute)
        tree = None
        if values and not any(each.severity == "error" for each in findings):
            tree = builder.build(values, column=attribute)
    except ValidationError as error:
        return _NO_PREVIEW | {"wrong": validation_errors(error, {"hierarchy": hierarchy}, QuasiSettings)}
    except InputError as error:
        return _NO_PREVIEW | {"wrong": error.lines}
    if tree is None:
        return _NO_PREVIEW | {"findings": findings}
    levels = range(tree.height + 1)
    return {
        "wrong": [],
        "findings": findings,
        "levels": [len(set(tree.level_labels(level))) for level in levels],
        "examples": [[tree.generalize(value, level) for level in levels] for value in values[:_EXAMPLES]],
    }


def _preview(
    bench: Workbench, *, key: str, kind: str, parameter: str = "", origin: str = "0"
) -> dict[str, Any]:
    try:
        tried = _preview_of(bench.project, key, _read(bench, kind, parameter, origin))
    except InputError as error:
        tried = _NO_PREVIEW | {"wrong": error.lines}
    return {"target": "preview", "template": "preview.html", "context": {"preview": tried}}


def _save(bench: Workbench, *, key: str, kind: str, parameter: str = "", origin: str = "0") -> None:
    hierarchy = _read(bench, kind, parameter, origin)
    project = bench.project
    wrong = _preview_of(project, key, hierarchy)
    lines = [*wrong["wrong"], *(str(each) for each in wrong["findings"] if each.severity == "error")]
    if lines:
        raise InputError(*lines)
    document = project.document
    data = document["data"]
    tables = (data.get("quasi", {}), data.get("persons", {}).get("quasi", {}))
    for table in tables:
        if key in table:
            table[key]["hierarchy"] = hierarchy
    if data.get("symbol", {}).get("column") == key:
        data["symbol"]["hierarchy"] = hierarchy
    project.save(document, f"{key}: hierarchy")


def _show(bench: Workbench, *, key: str) -> None:
    config = decided(bench)
    hierarchy = dict(_attributes(bench.project)).get(key, {}).get("hierarchy")
    shown = bench.project.state.get("shown", {})
    bench.project.note(shown=shown | {key: hierarchy})
    bench.project.jobs.start("hierarchy", {"config": config, "attribute": key})


def _export(bench: Workbench, *, key: str, out: str) -> None:
    path = bench.inside(out)
    asked = {"config": decided(bench), "attribute": key, "out": bench.name(path)}
    bench.project.jobs.start("build", asked)


HIERARCHIES = Step(
    title="Hierarchies",
    lead="Say how each quasi-identifier may become coarser: a ZIP code its first digits, an age a range.",
    template="hierarchies.html",
    context=_hierarchies_context,
    actions={"preview": _preview, "save": _save, "show": _show, "export": _export},
)
