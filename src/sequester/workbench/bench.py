"""What one running workbench has: the folders that it was given, and the project that is open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.io.clinical import recognize
from sequester.io.database import is_url, locate
from sequester.workbench.project import CONFIG, NOTES, Project

if TYPE_CHECKING:
    from sequester.workbench.jobs import Job

ENTRIES = 500
"""Files of a folder that are listed."""


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

    def choose(self, data: str, **options: str | None) -> Job:
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
                for path in entries[:ENTRIES]
            ],
            "hidden": max(len(entries) - ENTRIES, 0),
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
