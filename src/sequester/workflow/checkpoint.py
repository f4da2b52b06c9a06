"""A folder that keeps the steps of a long run: one that was stopped is resumed to the same bytes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sequester._version import __version__
from sequester.errors import InputError
from sequester.release.randomness import Randomness
from sequester.workflow.digest import table_digest

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine.checkpoint import Arrays
    from sequester.workflow.job import Job

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
                msg = f"--checkpoint: {folder} is there, and is no checkpoint"
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
        """Give the arrays of a step; None where it was not kept."""
        path = self.folder / f"{name}{_STEP}"
        if not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                return {key: kept[key] for key in kept.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            msg = f"--checkpoint: cannot read {path}; remove the folder to begin anew"
            raise InputError(msg) from None

    def save(self, name: str, arrays: Arrays) -> None:
        """Keep the arrays of a step; what was kept before is whole until they are."""
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
        msg = f"--checkpoint: {about} is not readable; remove {about.parent} to begin anew"
        raise InputError(msg) from None
    if version != __version__:
        msg = f"--checkpoint: {about.parent} is of version {version}, this is {__version__}"
        raise InputError(msg)
    if run != digest:
        msg = (
            f"--checkpoint: {about.parent} is of another configuration, seed or data; name another folder, "
            "or remove it"
        )
        raise InputError(msg)
    return seed


def _digest(job: Job, table: EventTable) -> str:
    """Tell one run from any other: what is asked for, by which seed, of which data."""
    settings = job.config.settings
    asked = {
        "data": settings.data.model_dump(mode="json", exclude={"path"}),
        "method": job.method.name,
        "parameters": {name: repr(value) for name, value in job.method.parameters().items()},
        "seed": job.seed,
        "table": table_digest(table),
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
