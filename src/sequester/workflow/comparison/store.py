"""The folder of a comparison: results are saved as they arrive, and a later run reuses them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester._version import __version__
from sequester.errors import InputError
from sequester.release.randomness import Randomness
from sequester.release.staging import lock_folder
from sequester.workflow.comparison.grid import file_name
from sequester.workflow.comparison.trial import TrialResult
from sequester.workflow.output_file import write_file

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from sequester.workflow.comparison.grid import Candidate

ABOUT = "comparison.json"
"""The file that says what is compared."""
RESULTS, REPORTS, RELEASES = "results", "reports", "releases"
OUTPUTS = ("candidates.csv", "candidates.json", "frontier.svg", "frontier.png", "report.html")
"""What a comparison ends with."""


@dataclass(slots=True)
class Store:
    """A folder of mode 0700, as sensitive as the input, for one table and one version of the program."""

    folder: Path
    """Where everything is."""
    seed: str
    """What everything random comes from."""
    table: str
    """The digest of the table."""
    was_there: bool
    """The folder is older than the comparison."""
    lock: ExitStack
    """Keeps others out for as long as it is open."""
    is_old: bool = False
    """There was a comparison before, which stays whatever happens."""

    @classmethod
    def open(cls, folder: Path, *, table: str, seed: str | None, force: bool = False) -> Store:
        """Begin a folder, or go on in one of the same table; others are refused, or replaced by `force`."""
        about = folder / ABOUT
        was_there = os.path.lexists(folder)
        try:
            if not about.is_file() and was_there and (not folder.is_dir() or any(folder.iterdir())):
                msg = f"{folder} exists and is not a comparison; name another folder"
                raise InputError(msg)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = ExitStack()
            lock.enter_context(lock_folder(folder, wait=False))
            store = cls(folder, "", table, was_there, lock, about.is_file())
        except BlockingIOError:
            msg = f"another run is at work in {folder}; wait for it, or name another folder"
            raise InputError(msg) from None
        except OSError as error:
            raise _unusable(folder, error) from None
        try:
            store._begin(_read(about) if about.is_file() else None, seed, force=force)
        except (InputError, OSError, KeyboardInterrupt) as error:
            store.__exit__(type(error), error, None)
            raise (_unusable(folder, error) if isinstance(error, OSError) else error) from None
        return store

    def _begin(self, found: dict[str, str] | None, seed: str | None, *, force: bool) -> None:
        """Take over what was there, or clear it away."""
        if (
            found is not None
            and not force
            and (found["version"], found["table"]) != (__version__, self.table)
        ):
            msg = (
                f"{self.folder} holds a comparison of other data, roles or hierarchies, or of another "
                "version; name another folder, or replace it with --force"
            )
            raise InputError(msg)
        if found is None or force:
            _clear(self.folder)
            found = {"seed": Randomness.of(None).seed}
        self.seed = found["seed"] if seed is None else seed
        self.folder.chmod(0o700)
        for name in (RESULTS, REPORTS):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        for name in (".", RESULTS, REPORTS):
            for part in (self.folder / name).glob(".*.partial"):
                # A run that was killed had begun to write it.
                part.unlink()
        self._put(ABOUT, {"version": __version__, "table": self.table, "seed": self.seed})

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self.is_old and not self.count():
            # It has not come far enough to leave anything of use.
            _clear(self.folder)
            (self.folder / ABOUT).unlink(missing_ok=True)
            if not self.was_there and not any(self.folder.iterdir()):
                self.folder.rmdir()
        self.lock.close()

    def key(self, candidate: Candidate, **asked: object) -> str:
        """Return the key of a result: a hash of version, table, method, parameters, seed and options."""
        document = {
            "version": __version__,
            "table": self.table,
            "method": candidate.name,
            "parameters": candidate.parameters,
            "seed": self.seed,
            **asked,
        }
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def place(self, kind: str, candidate: Candidate, key: str) -> Path:
        """Return the place of a candidate's page or release."""
        name = file_name(candidate.label, key)
        return self.folder / kind / (f"{name}.html" if kind == REPORTS else name)

    def load(self, key: str) -> TrialResult | None:
        """Return a result that was kept, with its page and its release where it has any; None otherwise."""
        path = self.folder / RESULTS / f"{key}.json"
        try:
            tried = TrialResult.of(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        there = (self.folder / each for each in (tried.report, tried.release) if each)
        return tried if all(each.exists() for each in there) else None

    def save(self, key: str, tried: TrialResult) -> None:
        """Save a result; one that failed is tried again by a later run."""
        if tried.state != "failed":
            self._put(f"{RESULTS}/{key}.json", tried.to_json())

    def count(self) -> int:
        """Count the results that are kept."""
        folder = self.folder / RESULTS
        return sum(path.suffix == ".json" for path in folder.iterdir()) if folder.is_dir() else 0

    def _put(self, name: str, document: dict[str, Any]) -> None:
        path = self.folder / name
        write_file(json.dumps(document, indent=1).encode(), path)
        path.chmod(0o600)


def _unusable(folder: Path, error: OSError) -> InputError:
    return InputError(f"cannot use {folder}: {error.strerror}")


def _read(about: Path) -> dict[str, str]:
    try:
        found = json.loads(about.read_text(encoding="utf-8"))
        return {key: str(found[key]) for key in ("version", "table", "seed")}
    except (ValueError, KeyError, TypeError):
        msg = f"{about} is not readable; remove {about.parent} to start again"
        raise InputError(msg) from None


def _clear(folder: Path) -> None:
    """Remove what comparisons have put there, and nothing else."""
    for name in (RESULTS, REPORTS, RELEASES):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)
