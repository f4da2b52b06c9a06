"""What a process that tries one candidate does; light, so that it is prepared before polars loads."""

from __future__ import annotations

import os
import pickle
import time
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from sequester.errors import fault_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection


EVERY = 0.2
"""Seconds between two messages about how far it is."""
COMPILING = "compiling"
"""The message that kernels are compiled."""
_parent: list[Connection] = []


def prepare(connection: Connection, threads: int) -> None:
    """Send the number of this process, and let it end when the other side of the connection closes."""
    os.environ |= {"POLARS_MAX_THREADS": str(threads), "RUST_BACKTRACE": "0"}
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    _parent.append(connection)
    Thread(target=_end_with, args=(connection,), daemon=True).start()
    connection.send(os.getpid())


def _end_with(connection: Connection) -> None:
    with suppress(EOFError, OSError):
        connection.recv()
    os._exit(1)


def work(task: bytes, table: bytes) -> dict[str, Any]:
    """Try a candidate, and return its document; where it fails, the reason and whose fault it is."""

    def run() -> dict[str, Any]:
        # Not before `prepare`: polars reads its number of threads when it loads.
        from sequester import kernels  # noqa: PLC0415
        from sequester.workflow.comparison.trial import try_candidate  # noqa: PLC0415

        connection, sent = _parent[0], -EVERY

        def progress(fraction: float, phase: str) -> None:
            nonlocal sent
            del phase
            if time.monotonic() - sent >= EVERY:
                sent = time.monotonic()
                connection.send(float(fraction))

        kernels.on_compilation(lambda: connection.send(COMPILING))
        # The sender is this program's own parent, which has made both just now.
        return try_candidate(pickle.loads(task), pickle.loads(table), progress).to_json()  # noqa: S301

    return explain_failure(run)


def explain_failure(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what `run` returns; where it fails, the reason, and whether it is a fault of the program."""
    try:
        return run()
    except MemoryError:
        return {"failed": "it needs more memory than there is", "is_ours": False}
    except BaseException as error:  # noqa: BLE001  (polars panics are no Exception)
        reason = fault_of(error)
        return {"failed": reason, "is_ours": True}
