"""Where a release goes: two folders that are not there yet, or may be replaced."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sequester.bundle.internal_files import CHANGES, CONFIGURATION
from sequester.errors import InputError
from sequester.release.certificate import SOFTWARE
from sequester.verify.files import read_certificate

RELEASE = "release"
"""The folder that a recipient may have."""
INTERNAL = "internal"
"""The folder that stays in the house."""


@dataclass(frozen=True, slots=True)
class Target:
    """The two folders of a release."""

    release: Path
    """What a recipient may have."""
    internal: Path
    """What stays in the house."""

    @classmethod
    def of(cls, out: str | os.PathLike[str], internal: str | os.PathLike[str] | None = None) -> Target:
        """Take ``out/release``, and ``out/internal`` unless `internal` is kept elsewhere.

        Examples
        --------
        >>> Target.of("out").internal.as_posix()
        'out/internal'
        >>> Target.of("out", internal="out/release/internal")
        Traceback (most recent call last):
        sequester.errors.InputError: out/release/internal must not be inside or around out/release
        """
        for place in (out, internal):
            if place is not None and "\0" in os.fspath(place):
                msg = f"{os.fspath(place)!r} cannot be written: it has a NUL character"
                raise InputError(msg)
        target = cls(Path(out) / RELEASE, Path(out) / INTERNAL if internal is None else Path(internal))
        public, private = (Path(os.path.realpath(each)) for each in target.folders)
        if public.is_relative_to(private) or private.is_relative_to(public):
            msg = f"{target.internal} must not be inside or around {target.release}"
            raise InputError(msg)
        return target

    @property
    def folders(self) -> tuple[Path, Path]:
        """Both folders."""
        return self.release, self.internal

    def resolved(self) -> Target:
        """The same folders by paths that go through no link and through neither of the two."""
        return Target(*(Path(os.path.realpath(folder.parent)) / folder.name for folder in self.folders))

    def refuse_existing(self) -> None:
        """Refuse if one of the folders is there already."""
        lines = [
            f"{folder} exists already; --force (in Python: force=True) replaces it"
            for folder in self.folders
            if os.path.lexists(folder)
        ]
        if lines:
            raise InputError(*lines)

    def refuse_foreign(self) -> None:
        """Refuse to replace what no release has put there: only empty folders, links, and our own may go."""
        own = ((self.release, _is_release), (self.internal, _is_internal))
        lines = [
            f"{folder} exists already and was not written with a release, so --force does not replace it; "
            "remove it, or name another folder"
            for folder, is_ours in own
            if os.path.lexists(folder) and not folder.is_symlink() and not is_ours(folder)
        ]
        if lines:
            raise InputError(*lines)


def check_target(
    out: str | os.PathLike[str], *, internal: str | os.PathLike[str] | None = None, force: bool = False
) -> None:
    """Refuse, before a long run, an output that exists or cannot be written. Leaves no trace.

    With `force`, an empty folder and what an earlier release has put there may be replaced, and nothing else.
    """
    target = Target.of(out, internal)
    if force:
        target.refuse_foreign()
    else:
        target.refuse_existing()
    for folder in target.folders:
        place = folder.parent
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        if not place.is_dir():
            msg = f"cannot write {folder}: {place} is no folder"
            raise InputError(msg)
        if not os.access(place, os.W_OK | os.X_OK):
            msg = f"cannot write {folder}: {place} is not writable"
            raise InputError(msg)


def _is_release(folder: Path) -> bool:
    if _is_empty(folder):
        return True
    try:
        return read_certificate(folder)[0].software == SOFTWARE
    except InputError:
        return False


def _is_internal(folder: Path) -> bool:
    return _is_empty(folder) or all((folder / name).is_file() for name in (CHANGES, CONFIGURATION))


def _is_empty(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is None
    except OSError:
        # No folder, or one that may not be looked into.
        return False
