"""A bar with the time left, for whatever takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from sequester.cli.streams import mention

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as RichProgress

PATIENCE = 2.0
"""Seconds before anything is shown."""
COMPILING = "compiling kernels, once per installation and version: about 20 seconds"
"""Said when the first kernel has to be compiled."""
_EVERY = 10.0
_KNOWN = 0.02
"""Below this share of the work, a guess at the time left would be noise."""


class Bar:
    """A `Progress` that shows itself: drawn on a terminal, as plain lines elsewhere."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._fraction, self._phase = 0.0, ""
        self._said = (-_EVERY, "")
        self._done, self._lock = Event(), Lock()
        self._rich: RichProgress | None = None
        self._task: Any = None
        self._ticker = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Bar:
        self._ticker.start()
        return self

    def __call__(self, fraction: float, phase: str) -> None:
        """Take note of how far the work has come."""
        self._fraction, self._phase = fraction, phase

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._ticker.join()
        if self._rich is not None:
            self._rich.stop()

    def _tick(self) -> None:
        pause = PATIENCE
        while not self._done.wait(pause):
            pause = 0.2
            with self._lock:
                if sys.stderr.isatty():
                    self._draw()
                else:
                    self._write()

    def _draw(self) -> None:
        if self._rich is None:
            from rich.console import Console  # noqa: PLC0415  (only for work that takes long enough)
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn  # noqa: PLC0415

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self._rich = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._rich.add_task("", total=1.0, left="")
            self._rich.start()
        self._rich.update(self._task, completed=self._fraction, description=self._phase, left=self._left())

    def _write(self) -> None:
        elapsed = time.monotonic() - self._started
        when, phase = self._said
        if self._phase and (self._phase != phase or elapsed - when >= _EVERY):
            self._said = (elapsed, self._phase)
            left = self._left()
            mention(f"{self._fraction:4.0%} {self._phase}{', ' + left if left else ''}\n")

    def _left(self) -> str:
        if self._fraction < _KNOWN:
            return ""
        elapsed = time.monotonic() - self._started
        return f"about {duration(elapsed * (1 - self._fraction) / self._fraction)} left"


def duration(seconds: float) -> str:
    """Write a time as people say it.

    Examples
    --------
    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
