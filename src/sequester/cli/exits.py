"""Exit codes, and how interrupts (Ctrl-C) end the process."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


DONE = 0
"""Done; verified."""
NOT_SATISFIED = 1
"""The guarantee is not met or cannot be."""
USAGE_ERROR = 2
"""Wrong use, bad input, no place to write to."""
INTERNAL_ERROR = 3
"""A fault of the program."""
INTERRUPTED = 130
"""Interrupted; nothing left behind."""


class Interrupts:
    """Listens to SIGINT while it is open, and remembers whether one came."""

    def __init__(self, *, last: bool = False) -> None:
        self.came = False
        """An interrupt came, whatever has become of it since."""
        self._last = last
        """Nothing of the process is to follow: from the end on, interrupts are ignored."""
        self._before: object = None
        self._listens = False

    def __enter__(self) -> Interrupts:
        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN:
            return self
        self._before = before
        try:
            signal.signal(signal.SIGINT, self._handle)
            self._listens = True
        except ValueError:
            pass  # signals are for the main thread, and this is another
        return self

    def __exit__(self, *_: object) -> None:
        if not self._listens:
            return
        if self._last:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        else:
            signal.signal(signal.SIGINT, self._before if callable(self._before) else signal.SIG_DFL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        if callable(self._before):
            self._before(number, frame)
        raise KeyboardInterrupt


def end_process(code: int) -> NoReturn:
    """End with `code`, and with nothing else.

    Where an interrupt came while Python ran a text as code, as dataclasses do, it kills itself at its end
    although the interrupt was caught.
    """
    atexit._run_exitfuncs()  # noqa: SLF001  (the only way to have them without the end itself)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)
