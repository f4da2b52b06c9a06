"""One file as a command's output: never half written, never in the place of another unless asked."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sequester.errors import InputError


def refuse_existing(*paths: Path, force: bool) -> None:
    """Refuse, before anything runs, files that are there already."""
    lines = [f"{path} exists already; --force replaces it" for path in paths if os.path.lexists(path)]
    if lines and not force:
        raise InputError(*lines)


def put(content: bytes, out: Path) -> None:
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
        reason = f"{out.parent} is no folder" if isinstance(error, FileExistsError) else error.strerror
        msg = f"cannot write {out}: {reason}"
        raise InputError(msg) from None
