"""Steps that an interrupt must not cut in two."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def uninterrupted() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait until the block is done; inside, the value tells whether one is waiting.

    Python delivers signals to the main thread, so elsewhere there is nothing to hold back; nor is there in a
    program that ignores them.

    Examples
    --------
    >>> with uninterrupted() as interrupted:
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
