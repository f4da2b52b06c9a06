"""Steps 1 and 2: choose the data, and give every column a role."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sequester.data.schema import ALL, ROW
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.workbench.roles import OF_PERSONS, ROLES, role_of, with_role, without_role
from sequester.workbench.steps import Step

if TYPE_CHECKING:
    from collections.abc import Mapping

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
