"""Written aside and renamed: a run that dies leaves nothing that looks like a release."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.bundle.interrupts import uninterrupted
from sequester.bundle.target import Target
from sequester.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARTIAL = "partial"
"""Ending of a folder that is being written."""
OLD = "old"
"""Ending of a folder that is being replaced."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Two folders beside their final places, seen by nobody else, and the way to move them there."""

    target: Target
    """The final places, which no rename of theirs moves."""
    token: str
    """What the folders of this run have in their names."""
    force: bool
    """Replace what is at the final places."""

    @property
    def aside(self) -> Target:
        """Where the files are written."""
        return Target(*(_beside(folder, self.token, PARTIAL) for folder in self.target.folders))

    def commit(self) -> None:
        """Move both folders to their places, or neither: an error or an interrupt on the way is undone.

        The release comes last, so that it is never there without its internal half, and what it replaces is
        whole until then. A waiting interrupt is obeyed once everything is as it was before.
        """
        aside = self.aside
        moves: list[tuple[Path, Path]] = []
        replaced: list[Path] = []
        with uninterrupted() as interrupted:
            try:
                if not self.force:
                    self.target.refuse_existing()
                for folder in self.target.folders:
                    if os.path.lexists(folder):
                        _move(folder, _beside(folder, self.token, OLD), moves)
                        replaced.append(moves[-1][1])
                _open_to_readers(aside.release)
                _move(aside.internal, self.target.internal, moves)
                _move(aside.release, self.target.release, moves)
                for folder in self.target.folders:
                    sync_folder(folder.parent)
            except BaseException:
                _undo(moves)
                raise
            if interrupted():
                _undo(moves)
                raise KeyboardInterrupt
            for folder in replaced:
                _remove(folder)


@contextmanager
def staging(target: Target, *, force: bool) -> Iterator[Staging]:
    """Give two empty folders of mode 0700 beside their final places; what is left of them goes at the end.

    What an earlier run left behind when it was killed goes as well: its parts are removed, and an older
    release that it had moved aside without putting a new one in its place comes back.
    """
    named, target = target, target.resolved()
    stage = Staging(target, secrets.token_hex(8), force)
    internal_first = stage.aside.folders[::-1]
    made: list[Path] = []
    done = False
    try:
        for folder in target.folders:
            _make_parents(folder.parent, made)
        with ExitStack() as locks:
            parents = sorted({folder.parent for folder in target.folders})
            alone = [locks.enter_context(_lock(parent)) for parent in parents]
            if all(alone):
                _sweep(target)
            if not force:
                named.refuse_existing()
            try:
                # From this order, and from that of removal, a later sweep tells how far this run came.
                for folder in internal_first:
                    folder.mkdir(mode=0o700)
                    folder.chmod(0o700)
                yield stage
                done = True
            finally:
                with uninterrupted():
                    for folder in reversed(internal_first):
                        _remove(folder)
    finally:
        if not done:
            with uninterrupted():
                _remove_empty(made)


def sync_file(path: Path) -> None:
    """Have the disk hold what was written to a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Have the disk hold the names in a folder; systems that cannot open folders do it by themselves."""
    if sys.platform == "win32":
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _beside(folder: Path, token: str, ending: str) -> Path:
    return folder.parent / f".{folder.name}.{token}.{ending}"


def _move(source: Path, destination: Path, moves: list[tuple[Path, Path]]) -> None:
    source.rename(destination)
    moves.append((source, destination))


def _undo(moves: list[tuple[Path, Path]]) -> None:
    """Move everything back that can be moved, and say of the rest where it is."""
    lines = []
    for source, destination in reversed(moves):
        try:
            destination.rename(source)
        except OSError as error:
            lines.append(f"cannot put {source} back, it is at {destination} now: {error.strerror}")
    if lines:
        raise InputError(*lines)


def _open_to_readers(folder: Path) -> None:
    """Give the release the mode of any new folder: nobody needs the house's rights to read it."""
    usual = folder / "usual"
    usual.mkdir()
    mode = usual.stat().st_mode
    usual.rmdir()
    folder.chmod(mode)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, ignore_errors=True)


def _make_parents(folder: Path, made: list[Path]) -> None:
    missing = []
    place = folder
    while not os.path.lexists(place):
        missing.append(place)
        place = place.parent
    for place in reversed(missing):
        place.mkdir()
        made.append(place)


def _remove_empty(made: list[Path]) -> None:
    for place in reversed(made):
        try:
            place.rmdir()
        except OSError:
            # Somebody else has put something there since.
            return


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Wait until no other run writes in `folder`; tells whether that is certain, as it is not everywhere."""
    if sys.platform == "win32":
        yield False
        return
    # Not on every system.
    import fcntl  # noqa: PLC0415

    number = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            alone = True
        except OSError:
            alone = False
        yield alone
    finally:
        os.close(number)


def _sweep(target: Target) -> None:
    """Undo what a run that was killed had begun; only called when no other run is at work here."""
    for token in sorted({token for folder in target.folders for token in _tokens(folder)}):
        killed = Staging(target, token, force=False)
        old = Target(*(_beside(folder, token, OLD) for folder in target.folders))
        if killed.aside.release.exists() and not killed.aside.internal.exists():
            # The release moves last: it had not come to that. Internal is made first and moves before.
            _remove(target.internal)
        for parked, folder in zip(old.folders, target.folders, strict=True):
            if os.path.lexists(parked) and not os.path.lexists(folder):
                parked.rename(folder)
        for leftover in (*old.folders, *killed.aside.folders):
            _remove(leftover)


def _tokens(folder: Path) -> set[str]:
    leftover = re.compile(rf"\.{re.escape(folder.name)}\.([0-9a-f]{{16}})\.(?:{PARTIAL}|{OLD})")
    matches = (leftover.fullmatch(path.name) for path in folder.parent.iterdir())
    return {match[1] for match in matches if match is not None}
