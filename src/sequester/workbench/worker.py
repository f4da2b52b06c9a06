"""What the process of a job does: read what is asked, call the task, and leave the answer on disk."""

from __future__ import annotations

import _thread
import json
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError, InternalError, UnattainableError, where_raised
from sequester.release.staging import lock_folder, write_file
from sequester.workbench.jobs import ANSWER, CANCELLED, JOB, PROGRESS, read_json

if TYPE_CHECKING:
    from sequester.engine import Progress

_EVERY = 0.2
"""Seconds between two notes about how far the work has come."""


def main(folder: Path) -> None:
    """Run the job of a folder."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Thread(target=_end_with_parent, daemon=True).start()
    collected: list[str] = []
    # Other workbenches see by the lock that it is at work.
    with lock_folder(folder):
        try:
            answer = _run(folder, collected)
        except KeyboardInterrupt:
            answer = {"state": "cancelled"}
        except BaseException as error:  # noqa: BLE001  (polars panics are no Exception)
            answer = _diagnose(error)
        write_file(json.dumps({**answer, "warnings": collected}, default=str).encode(), folder / ANSWER)


def _run(folder: Path, collected: list[str]) -> dict[str, Any]:
    # Loading takes a while, and may be cancelled.
    from sequester.workbench.tasks import TASKS, Work  # noqa: PLC0415

    asked = read_json(folder / JOB)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work = Work(folder, _progress(folder), collected.append)
        result = TASKS[asked["task"]](work, **asked["arguments"])
    return {"state": "done", "result": result}


def _progress(folder: Path) -> Progress:
    noted = -_EVERY

    def report(fraction: float, phase: str) -> None:
        nonlocal noted
        if time.monotonic() - noted >= _EVERY:
            noted = time.monotonic()
            if (folder / CANCELLED).exists():
                raise KeyboardInterrupt
            write_file(json.dumps({"fraction": fraction, "phase": phase}).encode(), folder / PROGRESS)

    return report


def _diagnose(error: BaseException) -> dict[str, Any]:
    """Describe why there is no result, as the command line does."""
    match error:
        case InputError():
            return {"state": "wrong", "lines": error.lines}
        case UnattainableError():
            return {"state": "refused", "lines": [str(error)], "achieved": error.achieved}
        case MemoryError():
            return {"state": "wrong", "lines": ["there is not enough memory for this"]}
        case OSError() if not isinstance(error, InternalError):
            return {"state": "wrong", "lines": [f"cannot use {error.filename}: {error.strerror}"]}
    # What it says may hold raw data, so it is left out.
    place = f"{type(error).__name__} at {where_raised(error)}"
    return {"state": "failed", "lines": [f"internal error: {place} (please report it)"]}


def _end_with_parent() -> None:
    with suppress(OSError, ValueError):
        sys.stdin.buffer.read()
    _thread.interrupt_main()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
