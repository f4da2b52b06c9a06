"""A first look: invents a day of clicks, shows what it gives away, and publishes it without."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.datasets import SEED
from sequester.engine import part, silent
from sequester.errors import InputError
from sequester.workflow.config import Config
from sequester.workflow.hearing import keep_quiet
from sequester.workflow.make_dataset import make_dataset
from sequester.workflow.protect import protect
from sequester.workflow.verify import verify_release

if TYPE_CHECKING:
    from sequester._typing import Mask
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.release import Release
    from sequester.verify import Verification
    from sequester.workflow.hearing import Warn
    from sequester.workflow.protect import Protected

PERSONS = 20_000
"""Visitors of the invented news site."""
K = 5
"""Nobody shares what the release says about them with fewer than this many persons, themselves included."""
_DATA = "clicks.csv"
_CONFIG = "release.toml"
_MARK = "# Made by `sequester demo`, which replaces this folder when it runs again."
_TOML = f"""{_MARK}
# Try another k, then: sequester protect {_CONFIG} --force

[data]
path = "{_DATA}"
person = "user"
time = "at"
[data.symbol]
column = "page"

[method]
name = "p2ka"
k = {K}

[release]
path = "."
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """One person, before and after."""

    person: str
    """The key in the input."""
    before: tuple[str, ...]
    """Their sequence, which nobody else has."""
    after: tuple[str, ...]
    """What the release says of them; empty where they are left out."""
    crowd: int
    """Persons of whom the release says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demonstration did, and where to look."""

    folder: Path
    """Where everything is."""
    alone: int
    """Persons whose sequence nobody else had."""
    alone_by_three: int
    """Persons whom their first three items already singled out."""
    unchanged: int
    """Persons whose sequence is released as it is."""
    example: Hidden | None
    """The person with the shortest sequence that nobody else had."""
    protected: Protected
    """The release."""
    verification: Verification
    """What a check of the files said, made as a recipient would."""

    def to_json(self) -> dict[str, Any]:
        """Give the document that ``demo --json`` prints."""
        return {
            **self.protected.to_json(),
            **self.verification.to_json(),
            "alone": self.alone,
            "alone_by_three": self.alone_by_three,
            "unchanged": self.unchanged,
            "report": str(self.protected.written.path / "report.html"),
        }


def demo(
    out: str | Path, *, seed: str | None = None, progress: Progress = silent, warn: Warn = keep_quiet
) -> Demo:
    """Make a data set in `out`, protect it, and verify it from its files."""
    out = Path(out)
    is_new = not os.path.lexists(out)
    _refuse_what_is_not_ours(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        progress(0.0, "inventing a day of clicks")
        make_dataset("clicks", out / _DATA, persons=PERSONS, seed=SEED if seed is None else seed, force=True)
        (out / _CONFIG).write_text(_TOML, encoding="utf-8")
        config = Config.load(out / _CONFIG)
        done = protect(config, seed=seed, force=True, progress=part(progress, 0.1, 0.8), warn=warn)
        progress(0.8, "verifying as a recipient would")
        verification = verify_release(done.written.path)
        progress(0.9, "comparing")
        shown = _compare(out, config.table(), done, verification)
        progress(1.0, "done")
    except BaseException as error:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        if isinstance(error, OSError):
            msg = f"cannot write {out}: {error.strerror}"
            raise InputError(msg) from None
        raise
    return shown


def _compare(folder: Path, table: EventTable, done: Protected, verification: Verification) -> Demo:
    before, after = table.sequences.to_rows(), _released_rows(table, done.release)
    alone = np.flatnonzero(_alone(table.sequences))
    shortest = min(alone, key=lambda person: (len(before[person]), person), default=None)
    example = None
    if shortest is not None:
        example = Hidden(
            person=str(table.persons[int(shortest)]),
            before=before[shortest],
            after=after[shortest],
            crowd=after.count(after[shortest]),
        )
    return Demo(
        folder=folder,
        alone=len(alone),
        alone_by_three=_alone_by_beginning(table.sequences, 3),
        unchanged=sum(one == other for one, other in zip(before, after, strict=True)),
        example=example,
        protected=done,
        verification=verification,
    )


def _alone(sequences: Sequences) -> Mask:
    """Mark the persons whose sequence nobody else has."""
    distinct = sequences.distinct()
    is_alone: Mask = distinct.weights[distinct.row_of_person] == 1
    return is_alone


def _alone_by_beginning(sequences: Sequences, size: int) -> int:
    """Count persons whose first `size` items, or all of fewer, are those of nobody else."""
    codes, offsets = sequences.columns[sequences.symbol], sequences.person_offsets
    lengths = np.diff(offsets)
    beginnings = np.zeros((sequences.n_persons, size), np.int64)
    for place in range(size):
        has = np.flatnonzero(lengths > place)
        beginnings[has, place] = codes[offsets[has] + place] + 1
    _, counts = np.unique(beginnings, axis=0, return_counts=True)
    return int((counts == 1).sum())


def _released_rows(table: EventTable, release: Release) -> list[tuple[str, ...]]:
    """Give what the release says of each person of the table; nothing where they are left out."""
    released = release.table
    rows = dict(zip(released.persons, released.sequences.to_rows(), strict=True))
    names = dict(release.pseudonyms.iter_rows())
    return [rows.get(names.get(person, ""), ()) for person in table.persons]


def _refuse_what_is_not_ours(out: Path) -> None:
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        msg = f"{out} is no folder"
        raise InputError(msg)
    config = out / _CONFIG
    is_ours = config.is_file() and config.read_text(encoding="utf-8", errors="replace").startswith(_MARK)
    if any(out.iterdir()) and not is_ours:
        msg = f"{out} exists already and was not made by a demo; name another folder with --out"
        raise InputError(msg)
