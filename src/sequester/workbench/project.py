"""A project: a folder with ``release.toml``, what the workbench notes beside it, and its jobs."""

from __future__ import annotations

import hashlib
import json
import time
import tomllib
from typing import TYPE_CHECKING, Any

import tomli_w

from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.workbench.jobs import PROGRESS, Jobs, read_json
from sequester.workbench.roles import role_of
from sequester.workflow.config import Config
from sequester.workflow.output_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sequester.workbench.jobs import Job

CONFIG = "release.toml"
"""The configuration of a project, unless another one was named."""
NOTES = ".workbench"
"""The folder with what the workbench notes: as sensitive as the data."""
_STATE, _VERSIONS = "state.json", "versions"


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

    def adopt(self, job: Job) -> None:
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
            yield "Choose the data first." if not self.text else f"{self.config.name} is not TOML."
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
