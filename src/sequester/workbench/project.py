"""Projects, and the workbench that has one of them open.

A project is a folder with ``release.toml``, the notes of the workbench beside it, and its jobs.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io.clinical import recognize
from sequester.io.database import is_url, locate
from sequester.release.staging import write_file
from sequester.workbench.jobs import PROGRESS, Jobs, read_json
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester.workbench.jobs import WorkbenchJob


CONFIG = "release.toml"
"""The configuration of a project, unless another one was named."""
NOTES = ".workbench"
"""The folder with what the workbench notes: as sensitive as the data."""
_STATE, _VERSIONS = "state.json", "versions"
_ENTRIES = 500
"""Files of a folder that are listed."""


class Project:
    """A folder with a configuration. Everything is on disk, and read when it is needed."""

    def __init__(self, config: Path) -> None:
        self.config = config.absolute()
        self.folder = self.config.parent
        # Two configurations in one folder have notes of their own.
        self.notes = self.folder / NOTES / self.config.stem
        self.jobs = Jobs(self.notes / "jobs", cwd=self.folder)

    @property
    def text(self) -> str:
        """The configuration as it is on disk; empty where there is none yet."""
        try:
            return self.config.read_text(encoding="utf-8-sig")
        except OSError:
            return ""

    @property
    def document(self) -> dict[str, Any]:
        """The configuration as tables; empty where there is none, or it is no TOML."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError:
            return {}

    @property
    def state(self) -> dict[str, Any]:
        """What is not in the configuration, such as the columns that nobody has decided about yet."""
        return read_json(self.notes / _STATE)

    def note(self, **values: object) -> None:
        """Change some of the state."""
        self._write(self.notes / _STATE, json.dumps(self.state | values))

    def save(self, document: Mapping[str, Any], why: str, **values: object) -> None:
        """Write the configuration, and some of the state with it; what was there can be brought back."""
        self.replace(tomli_w.dumps(_without_none(document)), why, **values)

    def replace(self, text: str, why: str, **values: object) -> None:
        """Write the text of the configuration, and some of the state with it."""
        state = self.state
        if text != self.text or any(state.get(name) != value for name, value in values.items()):
            number = 1 + max((int(path.stem) for path in self._versions()), default=0)
            before = {"text": self.text, "state": state, "why": why, "when": time.strftime("%Y-%m-%d %H:%M")}
            self._write(self.notes / _VERSIONS / f"{number:05d}.json", json.dumps(before))
        if text != self.text:
            write_file(text.encode(), self.config)
        if values:
            self.note(**values)

    def undo(self) -> None:
        """Bring back what was there before the last change."""
        *_, last = self._versions()
        before = read_json(last)
        if before["text"]:
            write_file(before["text"].encode(), self.config)
        else:
            self.config.unlink(missing_ok=True)
        self._write(self.notes / _STATE, json.dumps(before["state"]))
        last.unlink()

    def changes(self) -> list[dict[str, Any]]:
        """List what was changed and when, the last change first."""
        return [read_json(path) for path in reversed(self._versions())]

    def _versions(self) -> list[Path]:
        return sorted((self.notes / _VERSIONS).glob("[0-9]*.json"))

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.notes.parent.chmod(0o700)
        write_file(text.encode(), path)

    @property
    def overview(self) -> dict[str, Any] | None:
        """What is known of the columns: the result of the last draft of these data."""
        number = self.state.get("draft")
        if number is None:
            return None
        result: dict[str, Any] | None = self.jobs.get(number).result
        return result

    def adopt(self, job: WorkbenchJob) -> None:
        """Take over a draft: its configuration, unless there is one that it was made for."""
        result = job.result
        if job.arguments["keep"]:
            # Nobody has said yet what is sensitive in a configuration that names nothing.
            is_new = "draft" not in self.state
            undecided = {"open": [] if self._names_sensitive() else result["open"]} if is_new else {}
            self.note(draft=job.id, **undecided)
            return
        self.replace(
            result["text"],
            f"drafted a configuration for {job.arguments['data']}",
            draft=job.id,
            open=result["open"],
            nothing_sensitive=False,
        )

    def columns(self) -> list[dict[str, Any]]:
        """List the columns of the data with what is known of them and their role now; empty: none yet."""
        overview = self.overview or {"columns": []}
        data = self.document.get("data", {})
        undecided, renamed = self.state.get("open", []), data.get("rename", {})
        found = []
        for place, column in enumerate(overview["columns"]):
            table = data.get("persons", {}) if column["table"] == "persons" else data
            name = renamed.get(column["name"], column["name"])
            is_key = column["table"] == "persons" and name == table.get("person", data.get("person"))
            # Attributes of persons may be columns of the events.
            role = role_of(table, name) or role_of(data.get("persons", {}), name)
            role = "person" if is_key else "" if name in undecided else role
            found.append({**column, "place": place, "name": name, "role": role, "is_key": is_key})
        return found

    def gaps(self) -> Iterator[str]:
        """List what has to be decided before the data can be looked at as it is described."""
        document = self.document
        if not document:
            yield "Choose the data first." if not self.text else f"{self.config.name} is not valid TOML."
            return
        for column in self.columns():
            if not column["role"]:
                yield f"Column {quoted(column['name'])} needs a role."
        if not self._names_sensitive() and not self.state.get("nothing_sensitive"):
            yield "Choose what is sensitive: give a column that role, or say that nothing is."
        try:
            config = Config.load(self.config)
            _ = config.schema, config.persons_schema
        except InputError as error:
            yield from error.lines

    def _names_sensitive(self) -> bool:
        data = self.document.get("data", {})
        return bool(data.get("sensitive") or data.get("persons", {}).get("sensitive"))

    def version(self) -> str:
        """Return a hash that changes when anything does that a page shows."""
        watched = [self.config, self.notes / _STATE]
        for job in self.jobs.all():
            if job.is_running:
                watched += [job.folder / PROGRESS, job.folder]
        stamps = [(str(path), path.stat().st_mtime_ns) for path in watched if path.exists()]
        states = [(job.id, job.state) for job in self.jobs.all()]
        return hashlib.sha256(repr((stamps, states)).encode()).hexdigest()[:16]


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what has no value, which TOML cannot write."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if value is not None
    }


class Workbench:
    """A project, and the folders that files may be taken from."""

    def __init__(self, source: str | None = None) -> None:
        config, data = _find(source)
        self.project = Project(config)
        self.roots = [self.project.folder.resolve()]
        if data is not None and not is_url(data):
            folder = (self.project.folder / data).resolve().parent
            self.roots += [folder] if not folder.is_relative_to(self.roots[0]) else []
        if data is not None:
            self.choose(data)
        else:
            self.look_again()

    def open(self, config: Path) -> None:
        """Open another project."""
        self.project.jobs.close()
        self.project = Project(config)
        self.look_again()

    def choose(self, data: str, **options: str | None) -> WorkbenchJob:
        """Draft a configuration for data, unless the one that is there is about them."""
        described = self.project.document.get("data", {})
        keep = described.get("path") == data
        asked = {"data": data, "out": self.project.config.name, "keep": keep}
        if keep:
            options = {
                name: described.get(name) for name in ("query", "table", "format", "delimiter", "encoding")
            }
        return self.project.jobs.start(
            "draft", asked | {name: value for name, value in options.items() if value}
        )

    def look_again(self) -> None:
        """Look at the columns of a configuration that was made elsewhere."""
        data = self.project.document.get("data", {}).get("path")
        if isinstance(data, str) and self.project.overview is None:
            self.choose(data)

    def settle(self) -> None:
        """Take over a draft that is done."""
        last = self.project.jobs.last("draft")
        if last is not None and last.state == "done" and self.project.state.get("seen") != last.id:
            self.project.note(seen=last.id)
            self.project.adopt(last)

    def inside(self, path: str) -> Path:
        """Return a path that lies in one of the folders that were given; refuse any other."""
        found = Path(os.path.realpath(self.project.folder / path))
        if not any(found.is_relative_to(root) for root in self.roots):
            given = ", ".join(map(str, self.roots))
            msg = f"{path} lies outside of the folders that the workbench was given: {given}"
            raise InputError(msg)
        return found

    def name(self, path: Path) -> str:
        """Return a path as seen from the project, where commands run."""
        return Path(os.path.relpath(path, self.project.folder.resolve())).as_posix()

    def source(self, path: str) -> str:
        """Return data as a command names them: a file or folder that was given, or a database."""
        if not is_url(path):
            found = self.inside(path)
            if not found.exists():
                msg = f"{path}: there is no such file or folder"
                raise InputError(msg)
            return self.name(found)
        file = getattr(locate(path, self.project.folder), "file", None)
        if file is not None:
            self.inside(str(file))
        return path

    def listing(self, folder: str) -> dict[str, Any]:
        """List a folder for the file dialog: where it is, what lies above, and what is in it."""
        here = self.inside(folder)
        entries = sorted(
            (path for path in here.iterdir() if not path.name.startswith(".")),
            key=lambda path: (not path.is_dir(), path.name.casefold()),
        )
        may_leave = any(here != root and here.is_relative_to(root) for root in self.roots)
        return {
            "here": self.name(here),
            "above": self.name(here.parent) if may_leave else None,
            "entries": [
                {"name": path.name, "path": self.name(path), "is_folder": path.is_dir()}
                for path in entries[:_ENTRIES]
            ],
            "hidden": max(len(entries) - _ENTRIES, 0),
        }

    def projects(self) -> list[str]:
        """List the configurations in the folders that were given, and one folder deeper."""
        found = (
            path
            for root in self.roots
            for pattern in (CONFIG, f"*/{CONFIG}")
            for path in sorted(root.glob(pattern))
            if NOTES not in path.parts and path.parent.name != "internal"
        )
        return [self.name(path) for path in found]


def _find(source: str | None) -> tuple[Path, str | None]:
    """Return the configuration of what was named, and the data where they are named themselves."""
    if source is None:
        return Path(CONFIG), None
    if is_url(source):
        return Path(CONFIG), source
    path = Path(source)
    if not path.exists():
        msg = f"{source}: there is no such file or folder"
        raise InputError(msg)
    if path.suffix == ".toml":
        return path, None
    if path.is_dir() and not (recognize(path) or any(path.glob("*.parquet"))):
        return path / CONFIG, None
    config = path.absolute().parent / CONFIG
    if config.exists() and Project(config).document.get("data", {}).get("path") != path.name:
        # It is about other data, and stays.
        config = config.with_name(f"{path.name.split('.')[0]}.toml")
    return config, path.name


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
