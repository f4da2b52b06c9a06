"""Standard streams that may be closed, full, or left by their reader."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def fill_in() -> None:
    """Put a stream that leads nowhere in the place of one that was closed before the start."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  (for as long as the process)


def mention(text: str) -> None:
    """Write to stderr; where that fails, nobody reads it, and the work goes on."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        forget(sys.stderr)


def forget(stream: TextIO) -> None:
    """Keep Python from trying again, at its end, what the other side of a pipe or a full disk refused."""
    try:
        stream.flush()
    except (OSError, ValueError):
        try:
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123
                os.dup2(nowhere.fileno(), stream.fileno())
        except (OSError, ValueError):
            return  # closed, or no file: there is nothing to try again
