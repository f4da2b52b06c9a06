"""Write files and folders aside and rename them: a run that dies leaves nothing that looks whole.

Nothing is written over an input or, unless asked, over what is there.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.release.certificate import SOFTWARE
from sequester.release.folder import CHANGES, CONFIGURATION, read_certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


PARTIAL = "partial"
"""Ending of a folder that is being written."""
OLD = "old"
"""Ending of a folder that is being replaced."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Two folders beside their final places, seen by nobody else, and the way to move them there."""

    target: OutputFolders
    """The final places, which no rename of theirs moves."""
    token: str
    """What the folders of this run have in their names."""
    force: bool
    """Replace what is at the final places."""

    @property
    def aside(self) -> OutputFolders:
        """The folders in which files are written first."""
        return OutputFolders(*(_beside(folder, self.token, PARTIAL) for folder in self.target.folders))

    def commit(self) -> None:
        """Move both folders to their places, or neither: an error or an interrupt on the way is undone.

        The release comes last, so that it is never there without its internal half, and what it replaces is
        whole until then. A waiting interrupt is obeyed once everything is as it was before.
        """
        aside = self.aside
        moves: list[tuple[Path, Path]] = []
        replaced: list[Path] = []
        with defer_interrupts() as interrupted:
            try:
                refuse_existing(*self.target.folders, force=self.force)
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
def staging(target: OutputFolders, *, force: bool) -> Iterator[Staging]:
    """Yield two empty folders of mode 0700 beside their final places; remove what is left of them at the end.

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
            alone = [locks.enter_context(lock_folder(parent)) for parent in parents]
            if all(alone):
                _sweep(target)
            refuse_existing(*named.folders, force=force)
            try:
                # From this order, and from that of removal, a later sweep tells how far this run came.
                for folder in internal_first:
                    folder.mkdir(mode=0o700)
                    folder.chmod(0o700)
                yield stage
                done = True
            finally:
                with defer_interrupts():
                    for folder in reversed(internal_first):
                        _remove(folder)
    finally:
        if not done:
            with defer_interrupts():
                _remove_empty(made)


def sync_file(path: Path) -> None:
    """Flush a file to disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Flush the names in a folder to disk; systems that cannot open folders do it by themselves."""
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
    """Move everything back; raise with the places of what cannot be moved."""
    lines = []
    for source, destination in reversed(moves):
        try:
            destination.rename(source)
        except OSError as error:
            lines.append(f"cannot put {source} back, it is at {destination} now: {error.strerror}")
    if lines:
        raise InputError(*lines)


def _open_to_readers(folder: Path) -> None:
    """Set the usual mode of a new folder on the release, so that recipients can read it."""
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
def lock_folder(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a folder until the end, however the process ends; yield whether the system has locks.

    Raises
    ------
    BlockingIOError
        If another process holds it, and `wait` is false.
    """
    if sys.platform == "win32":
        yield False
        return
    # Not on every system.
    import fcntl  # noqa: PLC0415

    number = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            is_locked = True
        except BlockingIOError:
            raise
        except OSError:
            is_locked = False
        yield is_locked
    finally:
        os.close(number)


def _sweep(target: OutputFolders) -> None:
    """Undo what a run that was killed had begun; only called when no other run is at work here."""
    for token in sorted({token for folder in target.folders for token in _tokens(folder)}):
        killed = Staging(target, token, force=False)
        old = OutputFolders(*(_beside(folder, token, OLD) for folder in target.folders))
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


RELEASE = "release"
"""The folder that a recipient may have."""
INTERNAL = "internal"
"""The internal folder."""


@dataclass(frozen=True, slots=True)
class OutputFolders:
    """The two folders of a release."""

    release: Path
    """What a recipient may have."""
    internal: Path
    """The internal folder."""

    @classmethod
    def of(cls, out: str | os.PathLike[str], internal: str | os.PathLike[str] | None = None) -> OutputFolders:
        """Return the target ``out/release`` with ``out/internal``, or with `internal`.

        Examples
        --------
        >>> OutputFolders.of("out").internal.as_posix()
        'out/internal'
        >>> OutputFolders.of("out", internal="out/release/internal")
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

    def resolved(self) -> OutputFolders:
        """Return the same folders by paths without links in their parents."""
        return OutputFolders(
            *(Path(os.path.realpath(folder.parent)) / folder.name for folder in self.folders)
        )

    def refuse_foreign(self) -> None:
        """Raise if a folder is neither a release nor empty nor a link: nothing else is replaced."""
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
    """Raise, before a long run, if the output exists or cannot be written. Leave no trace.

    With `force`, an empty folder and what an earlier release has put there may be replaced, and nothing else.
    """
    target = OutputFolders.of(out, internal)
    if force:
        target.refuse_foreign()
    else:
        refuse_existing(*target.folders, force=False)
    for folder in target.folders:
        place = folder.parent
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        if not place.is_dir():
            msg = f"cannot write {folder}: {place} is not a folder"
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


@contextmanager
def defer_interrupts() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C until the block is done; yield a function that returns whether one is waiting.

    Python delivers signals to the main thread, so elsewhere there is nothing to hold back; nor is there in a
    program that ignores them.

    Examples
    --------
    >>> with defer_interrupts() as interrupted:
    ...     interrupted()
    False
    """
    waiting: list[int] = []
    elsewhere = threading.current_thread() is not threading.main_thread()
    if elsewhere or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield lambda: bool(waiting)
    finally:
        # None is a handler that was not set from Python, and cannot be set from it.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)
        if waiting:
            signal.raise_signal(signal.SIGINT)


def refuse_existing(*paths: Path, force: bool) -> None:
    """Refuse, before anything runs, files and folders that are there already; with `force`, none is."""
    end = "exists already; --force replaces it (in Python, force=True)"
    lines = [f"{path} {end}" for path in paths if os.path.lexists(path)]
    if lines and not force:
        raise InputError(*lines)


def refuse_inputs(*outputs: Path, inputs: Mapping[str, Path]) -> None:
    """Refuse outputs that are an input, by whatever name, have one inside, or are a part of one.

    Examples
    --------
    >>> refuse_inputs(Path("out/release"), inputs={"the data": Path("out/release/d.csv")})
    Traceback (most recent call last):
    sequester.errors.InputError: out/release would replace the data, out/release/d.csv; name another output
    """
    lines = [
        f"{output} would replace {what}, {path}; name another output"
        for output in outputs
        for what, path in inputs.items()
        if _replaces(output, path)
    ]
    if lines:
        raise InputError(*lines)


def _replaces(output: Path, path: Path) -> bool:
    outputs, inputs = _places(output), _places(path)
    # Data may be a folder of Parquet files.
    is_part = output.is_file() and output.suffix.lower() == ".parquet"
    return any(
        one.is_relative_to(other) or (is_part and other.parent == one) for one in inputs for other in outputs
    )


def _places(path: Path) -> set[Path]:
    """Where a path is, and where it leads to if it is a link."""
    return {Path(os.path.realpath(path)), Path(os.path.realpath(path.parent)) / path.name}


def write_file(content: bytes, out: Path) -> None:
    """Write aside and rename, so that a run that dies leaves no file."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        number, aside = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            Path(aside).chmod(0o666 & ~mask)
            Path(aside).replace(out)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = f"{out.parent} is not a folder" if isinstance(error, FileExistsError) else error.strerror
        msg = f"cannot write {out}: {reason}"
        raise InputError(msg) from None


def write_folder(files: Mapping[str, bytes], out: Path) -> None:
    """Write files by their paths in a folder aside, and rename it, so that a run that dies leaves none."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.", suffix=".partial") as aside:
            made = Path(aside) / "folder"
            for name, content in files.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(content)
            made.rename(out)
    except OSError as error:
        msg = f"cannot write {out}: {error.strerror}"
        raise InputError(msg) from None
