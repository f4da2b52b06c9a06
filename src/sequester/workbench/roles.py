"""The roles of columns in a configuration: read them, and change one of them."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = {
    "person": ("Person", "whose event it is; replaced by a pseudonym"),
    "order": ("Order", "which event of a person comes first; only the order is released"),
    "time": ("Time", "when it happened; only the order is released"),
    "tie": ("Tie", "the order of events at the same time"),
    "trip": ("Trip", "which journey of a person it belongs to"),
    "symbol": ("Symbol", "what happened, where that is all there is"),
    "place": ("Coordinate", "becomes a region"),
    "quasi": ("Quasi-identifier", "others may know it of a person; released, coarser where needed"),
    "sensitive": ("Sensitive", "nobody may learn it about a person; released as it is"),
    "both": ("Both", "a quasi-identifier, some values of which are sensitive"),
    "keep": ("Keep", "released as it is, and no promise covers it: you are responsible for it"),
    "drop": ("Drop", "never released"),
}
"""Role to its name and what it means."""
OF_PERSONS = ("quasi", "sensitive", "both", "keep", "drop")
"""The roles that a column of the table of persons may have."""
_SINGLE = ("person", "order", "tie", "trip")
"""Roles of one column only, written as ``role = column``."""


def role_of(data: Mapping[str, Any], column: str) -> str:
    """Return the role of a column in ``[data]`` or ``[data.persons]``; empty where it has none.

    Examples
    --------
    >>> data = {"person": "PID", "time": ["day", "hour"], "drop": ["name"], "sensitive": {"ill": {}}}
    >>> [role_of(data, column) for column in ("PID", "hour", "name", "ill", "ZIP")]
    ['person', 'time', 'drop', 'sensitive', '']
    """
    time = data.get("time")
    is_quasi = column in data.get("quasi", {})
    for role in _SINGLE:
        if data.get(role) == column and not is_quasi:
            return role
    if column in (time if isinstance(time, list) else [time]) and not is_quasi:
        return "time"
    if data.get("symbol", {}).get("column") == column:
        return "symbol"
    if column in (data.get("place", {}).get("lat"), data.get("place", {}).get("lon")):
        return "place"
    is_sensitive = any(column in _columns(name, each) for name, each in data.get("sensitive", {}).items())
    if is_quasi or is_sensitive:
        return "both" if is_quasi and is_sensitive else "quasi" if is_quasi else "sensitive"
    return next((role for role in ("keep", "drop") if column in data.get(role, ())), "")


def with_role(
    data: Mapping[str, Any],
    column: str,
    role: str,
    *,
    hierarchy: Mapping[str, Any] | None = None,
    time_format: str | None = None,
) -> dict[str, Any]:
    """Return ``[data]`` or ``[data.persons]`` with another role of one column.

    A column that had a role of which there is one only, such as person, is left without. `hierarchy` is for
    a quasi-identifier that had none, `time_format` for a time that is not written as ISO 8601.

    Examples
    --------
    >>> data = {"person": "PID", "quasi": {"ZIP": {"hierarchy": {"kind": "flat"}}}}
    >>> with_role(data, "ZIP", "drop")
    {'person': 'PID', 'drop': ['ZIP']}
    >>> with_role(data, "ZIP", "person")
    {'person': 'ZIP'}
    """
    changed = without_role(data, column)
    if role in _SINGLE:
        changed[role] = column
    if role == "time":
        changed["time"] = column
        changed.pop("time_format", None)
        if time_format is not None:
            changed["time_format"] = time_format
    if role in ("order", "time"):
        for other in {"order", "time", "time_format"} - {role, *(["time_format"] if role == "time" else [])}:
            changed.pop(other, None)
    if role == "symbol":
        changed["symbol"] = {"column": column}
    if role in ("quasi", "both"):
        before = data.get("quasi", {}).get(column)
        changed.setdefault("quasi", {})[column] = before or {"hierarchy": dict(hierarchy or {"kind": "flat"})}
    if role in ("sensitive", "both"):
        before = data.get("sensitive", {}).get(column)
        changed.setdefault("sensitive", {})[column] = before or {"protect": "all"}
    if role in ("keep", "drop"):
        changed.setdefault(role, []).append(column)
    return changed


def _columns(name: str, attribute: Mapping[str, Any]) -> list[str]:
    return list(attribute.get("columns") or [name])


def without_role(data: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return the table with the column in no role."""
    left: dict[str, Any] = deepcopy(dict(data))
    for role in _SINGLE:
        if left.get(role) == column:
            del left[role]
    times = left.get("time")
    if times is not None and column in (times if isinstance(times, list) else [times]):
        rest = [each for each in times if each != column] if isinstance(times, list) else []
        left.pop("time_format", None)
        left.pop("time")
        if rest:
            left["time"] = rest[0]
    if left.get("symbol", {}).get("column") == column:
        del left["symbol"]
    if column in (left.get("place", {}).get("lat"), left.get("place", {}).get("lon")):
        del left["place"]
    left.get("quasi", {}).pop(column, None)
    for name, attribute in list(left.get("sensitive", {}).items()):
        rest = [each for each in _columns(name, attribute) if each != column]
        if not rest:
            del left["sensitive"][name]
        elif len(rest) < len(_columns(name, attribute)):
            attribute["columns"] = rest
    for role in ("keep", "drop"):
        if column in left.get(role, ()):
            left[role].remove(column)
    for table in ("quasi", "sensitive", "keep", "drop"):
        if table in left and not left[table]:
            del left[table]
    return left
