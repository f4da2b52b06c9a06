"""Run as a program: tries one candidate in a process of its own, and tells its result as lines of JSON.

Standard input holds a list of paths to load modules from, the task and the table, and stays open for as long
as somebody waits for the answer: where it ends, so does the process, at whatever point it is.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

EVERY = 0.2
"""Seconds between two lines about how far it is."""
_PACKAGE = Path(__file__).parents[2]


def main() -> None:
    """Take a task from standard input, and answer on standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What libraries print must not come between the lines.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def tell(document: dict[str, Any]) -> None:
        answers.write(json.dumps(document) + "\n")
        answers.flush()

    try:
        _answer(sys.stdin.buffer, tell)
    except MemoryError:
        tell({"failed": "it needs more memory than there is", "is_ours": False})
    except BaseException as error:  # noqa: BLE001  (polars panics are no Exception)
        tell(
            {
                "failed": f"internal error: {type(error).__name__} at {_place(error.__traceback__)}",
                "is_ours": True,
            }
        )


def _answer(source: IO[bytes], tell: Callable[[dict[str, Any]], None]) -> None:
    # The sender is this program's own parent, which has made both just now.
    sys.path[:] = pickle.load(source)  # noqa: S301
    task, table = pickle.load(source), pickle.load(source)  # noqa: S301
    Thread(target=_end_alone, daemon=True).start()
    # After the paths are known: a method of the user's own may be anywhere.
    from sequester import kernels  # noqa: PLC0415
    from sequester.workflow.comparison.trial import try_candidate  # noqa: PLC0415

    told = [-EVERY]

    def progress(fraction: float, phase: str) -> None:
        del phase
        if time.monotonic() - told[0] >= EVERY:
            told[0] = time.monotonic()
            tell({"progress": fraction})

    kernels.on_compilation(lambda: tell({"compiling": True}))
    tell({"result": try_candidate(task, table, progress).to_json()})


def _end_alone() -> None:
    """End when nobody waits any more."""
    os.read(0, 1)
    os._exit(1)


def _place(traceback: TracebackType | None) -> str:
    """Find the innermost line of ours."""
    place = "an unknown place"
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file.is_relative_to(_PACKAGE):
            place = f"sequester/{file.relative_to(_PACKAGE).as_posix()}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


if __name__ == "__main__":
    main()
    # A thread still listens, and there is nothing to clean up.
    os._exit(0)
