"""The release folder on disk: its files, the certificate, and hashes."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.release.certificate import CERTIFICATE, HASH, Certificate
from sequester.release.fields import safe_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader
    from pathlib import Path

LARGEST_CERTIFICATE = 16 * 2**20
"""Bytes; a longer certificate is not read at all."""

# A link is not followed and a pipe is not waited for, on systems that have such things.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_certificate(folder: Path) -> tuple[Certificate, str]:
    """Return the certificate of a release folder, and its own hash."""
    if not folder.is_dir():
        msg = f"{folder} is no folder" if os.path.lexists(folder) else f"{folder} does not exist"
        raise InputError(msg)
    path = folder / CERTIFICATE
    if not os.path.lexists(path):
        inner = folder / "release"
        hint = f"; did you mean {inner}?" if os.path.lexists(inner / CERTIFICATE) else ""
        msg = f"{folder} is no release: {CERTIFICATE} is missing{hint}"
        raise InputError(msg)
    return read_certificate_file(path)


def read_certificate_file(path: Path) -> tuple[Certificate, str]:
    """Return a certificate, and its own hash."""
    with _open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_CERTIFICATE:
            msg = f"{path.name} is larger than {LARGEST_CERTIFICATE:,} bytes, which no certificate is"
            raise InputError(msg)
        text = file.read(LARGEST_CERTIFICATE)
    return Certificate.from_json(text), HASH + hashlib.sha256(text).hexdigest()


def hash_file(path: Path) -> str:
    """Return the hash of a regular file as certificates write it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("a")
    ...     hash_file(Path(folder, "a.txt"))
    'sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'
    """
    with _open_regular(path) as file:
        return HASH + hashlib.file_digest(file, "sha256").hexdigest()


def hash_folder(folder: Path) -> dict[str, str]:
    """Return the hash of every file of a release folder but the certificate; raise on links and the like."""
    return {name: hash_file(folder / name) for name in list_files(folder) if name != CERTIFICATE}


def list_files(folder: Path) -> list[str]:
    """Return all files below a folder, sorted; raise on links and the like."""
    names, strange = _walk(folder)
    if strange:
        raise InputError(*(f"{safe_text(name)}: {reason}" for name, reason in strange.items()))
    return names


def check_files(folder: Path, expected: Mapping[str, str]) -> list[str]:
    """Return the files that are not as the certificate lists them, with the reason.

    A listed file that is not there makes the release incomplete, which is an `InputError`.
    """
    names, strange = _walk(folder)
    present = {*names, *strange}
    missing = [name for name in expected if not present & set(_parts(name))]
    if missing:
        raise InputError(*(f"the release is incomplete: {safe_text(name)} is missing" for name in missing))
    findings = {**strange}
    for name in names:
        if name == CERTIFICATE:
            continue
        if name not in expected:
            findings[name] = "is not listed in the certificate"
        elif hash_file(folder / name) != expected[name]:
            findings[name] = "is not the file that was certified: its hash differs"
    return [f"{safe_text(name)}: {reason}" for name, reason in sorted(findings.items())]


def _parts(name: str) -> list[str]:
    """Return a path and the folders above it."""
    steps = name.split("/")
    return ["/".join(steps[: i + 1]) for i in range(len(steps))]


def _walk(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return regular files, sorted, and why anything else is refused."""
    names: list[str] = []
    strange: dict[str, str] = {}
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / inside), key=lambda entry: entry.name)
        except OSError as error:
            msg = f"cannot read {folder / inside}: {error.strerror}"
            raise InputError(msg) from None
        if inside and not entries:
            strange[inside.rstrip("/")] = "is an empty folder, and a release has none"
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.is_symlink():
                strange[name] = "is a link, and a release has none"
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                names.append(name)
            else:
                strange[name] = "is no regular file"
    return sorted(names), strange


def _open_regular(path: Path) -> BufferedReader:
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | _CAREFULLY), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        reason = "it is no regular file"
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror or str(error)
    msg = f"cannot read {path}: {reason}"
    raise InputError(msg)
