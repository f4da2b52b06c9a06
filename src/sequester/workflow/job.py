"""What one run of `protect` is asked to do, and the checkpoint of a long run."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import tomli_w

from sequester._version import __version__
from sequester.errors import InputError, SchemaError
from sequester.io.database import locate
from sequester.release.fields import plain_value
from sequester.release.folder import LEAVE_OUT
from sequester.release.randomness import Randomness
from sequester.release.staging import OutputFolders, check_target, refuse_inputs

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine.progress import Arrays
    from sequester.methods.method import Method
    from sequester.workflow.config import Config


class JobOptions(TypedDict, total=False):
    """What may be asked for beside the configuration, which it wins over."""

    out: str | Path | None
    seed: str | None
    force: bool
    continues: str | Path | None
    thorough: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One release to be made; the command line has won over the file."""

    config: Config
    """The file."""
    method: Method
    """How to protect."""
    out: Path
    """The folder that gets ``release`` and ``internal``."""
    internal: Path | None = None
    """Another place for internal files."""
    seed: str | None = None
    """What everything random comes from; None draws one from the system."""
    force: bool = False
    """Replace what is there."""
    continues: Path | None = None
    """The folder of the part of a series that this one continues."""
    thorough: bool = False
    """Run all attacks, and the method without bounds on its work."""

    @classmethod
    def of(cls, config: Config, **asked: Unpack[JobOptions]) -> Job:
        """Settle what is asked for; refuse an output that exists, cannot be written, or holds the input."""
        release = config.settings.release
        place = _path(asked.get("out"), release.path, config.folder)
        seed, thorough = asked.get("seed"), asked.get("thorough", False)
        method, lines = None, list[str]()
        try:
            method = config.method()
        except InputError as error:
            lines += error.lines
        if place is None:
            lines.append(
                f"{config.path.name}: release.path is missing: name the folder for the release there, or "
                "with --out"
            )
        if method is None or place is None:
            raise InputError(*lines)
        job = cls(
            config=config,
            method=method.thorough() if thorough else method,
            out=place,
            internal=_path(None, release.internal, config.folder),
            seed=release.seed if seed is None else seed,
            force=asked.get("force", False),
            continues=_path(asked.get("continues"), release.continues, config.folder),
            thorough=thorough,
        )
        refuse_inputs(*OutputFolders.of(job.out, job.internal).folders, inputs=config.inputs)
        if job.continues is not None:
            if release.series:
                msg = "release.series begins a series, and continues goes on with one: only one of them"
                raise InputError(msg)
            if job.continues.resolve() == job.out.resolve():
                msg = f"{job.out} cannot continue itself: every part of a series has its own folder"
                raise InputError(msg)
        check_target(job.out, internal=job.internal, force=job.force)
        return job

    def to_toml(self, seed: str) -> str:
        """Write the configuration that repeats this run: absolute paths, every parameter, and the seed."""
        settings = self.config.settings
        folder = self.config.folder
        data = _written(settings.data.model_dump(exclude_unset=True))
        data["path"] = str(self.config.data_source.resolve())
        persons = data.get("persons", {})
        if self.config.persons_source is not None:
            persons["path"] = str(self.config.persons_source.resolve())
        trees = (*data.get("quasi", {}).values(), *persons.get("quasi", {}).values())
        for each in (data.get("symbol", {}), *trees):
            if "path" in each.get("hierarchy", {}):
                each["hierarchy"]["path"] = str(locate(each["hierarchy"]["path"], folder).resolve())
        release = _written(settings.release.model_dump(exclude_unset=True))
        release |= {"path": str(self.out.resolve()), "seed": seed}
        if self.continues is not None:
            release["continues"] = str(self.continues.resolve())
        if "leave_out" in release:
            release["leave_out"] = str((self.internal or self.out / "internal").resolve() / LEAVE_OUT)
        if self.internal is not None:
            release["internal"] = str(self.internal.resolve())
        method = {"name": self.method.name, **_written(self.method.parameters())}
        document = {"data": data, "method": method, "release": release}
        head = f"# Repeats this run byte for byte with sequester {__version__}. Keep it: it holds the seed."
        return f"{head}\n\n{tomli_w.dumps(document)}"


def _path(given: str | Path | None, written: str | None, folder: Path) -> Path | None:
    """Return the path that was given, or else that of the file, which is relative to its folder."""
    if given is not None:
        return Path(given)
    return None if written is None else folder / written


def check_problems(table: EventTable) -> tuple[str, ...]:
    """Return what is doubtful about the data, and notes on rows, such as events at the same time.

    Raises
    ------
    SchemaError
        Where labels look alike and the configuration does not say what to do.
    """
    lines = tuple(
        str(problem)
        for problem in table.problems
        if problem.severity == "warning" or (problem.severity == "note" and problem.count)
    )
    errors = [str(problem) for problem in table.problems if problem.severity == "error"]
    if errors:
        raise SchemaError(*errors, notes=[f"warning: {line}" for line in lines])
    return lines


def _written(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out what has no value, which TOML cannot write, and write sets and tuples as lists."""
    return {
        name: _written(value) if isinstance(value, dict) else plain_value(value)
        for name, value in table.items()
        if value is not None
    }


ABOUT = "run.json"
"""The file that says which run is kept."""
_STEP, _PART = ".npz", ".part"


@dataclass(frozen=True, slots=True)
class FolderCheckpoint:
    """Steps in a folder of mode 0700, which is as sensitive as the input."""

    folder: Path
    """Where the steps are."""
    seed: str
    """What everything random comes from: the seed of the interrupted run."""

    @classmethod
    def of(cls, folder: str | Path, job: Job, table: EventTable) -> FolderCheckpoint:
        """Begin a checkpoint, or go on with one of the same configuration and data; others are refused."""
        folder = Path(folder)
        digest = _digest(job, table)
        about = folder / ABOUT
        try:
            if about.is_file():
                return cls(folder, _seed_of(about, digest))
            if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
                msg = f"--checkpoint: {folder} exists and is not a checkpoint"
                raise InputError(msg)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            kept = cls(folder, Randomness.of(job.seed).seed)
            text = json.dumps({"version": __version__, "run": digest, "seed": kept.seed})
            kept._replace(ABOUT, text.encode())
        except OSError as error:
            msg = f"--checkpoint: cannot use {folder}: {error.strerror}"
            raise InputError(msg) from None
        return kept

    def load(self, name: str) -> Arrays | None:
        """Return the arrays of a step; None where it was not kept."""
        path = self.folder / f"{name}{_STEP}"
        if not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                return {key: kept[key] for key in kept.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            msg = f"--checkpoint: cannot read {path}; remove the folder to start again"
            raise InputError(msg) from None

    def save(self, name: str, arrays: Arrays) -> None:
        """Save the arrays of a step, atomically."""
        contents = io.BytesIO()
        np.savez(contents, **arrays)  # type: ignore[arg-type]  # no step calls an array `allow_pickle`
        try:
            self._replace(f"{name}{_STEP}", contents.getvalue())
        except OSError as error:
            msg = f"--checkpoint: cannot write {self.folder}: {error.strerror}"
            raise InputError(msg) from None

    def remove(self) -> None:
        """Remove everything that was kept; the run has come to its end."""
        for path in self.folder.iterdir():
            if path.name == ABOUT or path.suffix in (_STEP, _PART):
                path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _replace(self, name: str, contents: bytes) -> None:
        part = self.folder / f"{name}{_PART}"
        part.write_bytes(contents)
        part.replace(self.folder / name)


def _seed_of(about: Path, digest: str) -> str:
    """Read the seed of the run that is kept; another run is refused."""
    try:
        kept = json.loads(about.read_text(encoding="utf-8"))
        version, run, seed = (str(kept[key]) for key in ("version", "run", "seed"))
    except (ValueError, KeyError, TypeError):
        msg = f"--checkpoint: {about} is not readable; remove {about.parent} to start again"
        raise InputError(msg) from None
    if version != __version__:
        msg = f"--checkpoint: {about.parent} was made by version {version}, this is {__version__}"
        raise InputError(msg)
    if run != digest:
        msg = (
            f"--checkpoint: {about.parent} is of another configuration, seed or data; name another folder, "
            "or remove it"
        )
        raise InputError(msg)
    return seed


def _digest(job: Job, table: EventTable) -> str:
    """Return a hash of what is asked for, the seed and the data."""
    settings = job.config.settings
    asked = {
        "data": settings.data.model_dump(mode="json", exclude={"path": True, "persons": {"path"}}),
        "method": job.method.name,
        "parameters": {name: repr(value) for name, value in job.method.parameters().items()},
        "seed": job.seed,
        "table": table_digest(table),
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()


def table_digest(table: EventTable) -> str:
    """Return the SHA-256 of all that a method can see of a table, in hexadecimal.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> table_digest(symbol_table(["ab", "a"])) == table_digest(symbol_table(["ab", "a"]))
    True
    >>> table_digest(symbol_table(["ab", "a"])) == table_digest(symbol_table(["ab", "b"]))
    False
    """
    table = table.histories
    schema = table.schema
    roles = {
        "columns": [schema.person, schema.order, schema.tie, table.symbol, schema.weight],
        "keep": schema.keep,
        "quasi": {
            name: [each.max_level, sorted(each.never_suppress), each.weight]
            for name, each in schema.quasi.items()
        },
        "sensitive": {name: each.columns for name, each in schema.sensitive.items()},
        "protected": {name: sorted(labels) for name, labels in table.protected.items()},
        "hierarchies": {
            name: [tree.labels, tree.parent.tolist(), tree.leaves.tolist()]
            for name, tree in table.hierarchies.items()
        },
        "regions": None if table.regions is None else sorted(table.regions.outlines.items()),
    }
    state = hashlib.sha256(json.dumps(roles, sort_keys=True, default=str).encode())
    for numbers in (table.person_offsets, table.rows, table.owners):
        state.update(b"none" if numbers is None else numbers.astype("<i8").tobytes())
    state.update(table.frame.write_csv().encode())
    if table.times is not None:
        state.update(table.times.to_frame().write_csv().encode())
    return state.hexdigest()
