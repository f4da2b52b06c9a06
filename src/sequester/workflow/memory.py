"""How much memory is free, how much a process takes, and how much a release will need."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.data.table import EventTable

_PROC = Path("/proc")
_GROUP = Path("/sys/fs/cgroup")


BASE = 250_000_000
"""Bytes that the program takes by itself."""
FIRST_EVENTS = 5_000_000
PER_EVENT, PER_CELL = 200, 130
PER_LATER_EVENT, PER_LATER_CELL = 120, 60
"""Bytes at the highest for each event, and for each attribute of an event: of the first events, and of those
after them, since what is let go of a large table is given back at once. Measured, see docs/scale.md."""


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """How much memory a release of a table will need, from reading to writing.

    Examples
    --------
    >>> print(MemoryForecast(n_events=2_500_000, n_attributes=4, free=20_000_000_000))
    about 2.0 GB of memory will be needed, and 20.0 GB are free: up to about 49,000,000 events would fit
    """

    n_events: int
    """Events of the table."""
    n_attributes: int
    """Attributes of an event."""
    free: int | None
    """Bytes that are free for this process, with those that it holds; None where that is not known."""

    @classmethod
    def of(cls, table: EventTable) -> MemoryForecast:
        """Return the forecast for a table, on this machine now."""
        n_persons = table.n_persons if table.demographics is not None else 0
        attributes = len(table.schema.attributes) + len(table.schema.keep)
        return cls(table.n_events + n_persons, attributes, obtainable())

    def check(self) -> None:
        """Refuse to start where not half of what is needed is free, swap included.

        Under a limit on this process, all of it must be free: libraries end a process that meets its limit,
        and no line says why.
        """
        if self.free is None:
            return
        most = 2 * (self.free + swap()) if _of_limit(_PROC) is None else self.free
        if self.needed > most:
            msg = f"{self}; free more, or release fewer persons or attributes"
            raise InputError(msg)

    @property
    def needed(self) -> int:
        """Bytes at the highest, the table included."""
        first = min(self.n_events, FIRST_EVENTS)
        return BASE + first * self._each + (self.n_events - first) * self._each_later

    @property
    def _each(self) -> int:
        return PER_EVENT + PER_CELL * self.n_attributes

    @property
    def _each_later(self) -> int:
        return PER_LATER_EVENT + PER_LATER_CELL * self.n_attributes

    @property
    def most_events(self) -> int | None:
        """Events from which on a table would not fit, two digits; None where that is not known."""
        if self.free is None:
            return None
        left = max(self.free - BASE, 0)
        most = min(left // self._each, FIRST_EVENTS)
        most += max(left - FIRST_EVENTS * self._each, 0) // self._each_later
        step: int = 10 ** max(len(str(most)) - 2, 0)
        return most // step * step

    @property
    def fits(self) -> bool:
        """The memory that is free is enough."""
        return self.free is None or self.needed <= self.free

    def __str__(self) -> str:
        text = f"about {self.needed / 1e9:.1f} GB of memory will be needed"
        if self.free is None:
            return text
        most = f"up to about {self.most_events:,} events would fit"
        return f"{text}, and {self.free / 1e9:.1f} GB are free: {most}"


def available(proc: Path = _PROC, group: Path = _GROUP) -> int | None:
    """Return the bytes that new processes may take, which a container can make fewer than the machine has."""
    limits = (_kilobytes(proc / "meminfo", "MemAvailable"), _of_group(group), _of_limit(proc))
    known = [each for each in limits if each is not None]
    return min(known) if known else _of_system()


def obtainable() -> int | None:
    """Return the bytes that this process may hold: those that are free, and those that it holds."""
    free = available()
    return None if free is None else free + (taken(os.getpid()) or 0)


def swap(proc: Path = _PROC) -> int:
    """Return the bytes of memory on disk that are free, 0 where nothing says so."""
    return _kilobytes(proc / "meminfo", "SwapFree") or 0


def taken(pid: int, proc: Path = _PROC) -> int | None:
    """Return the bytes that a process holds in memory."""
    return _kilobytes(proc / str(pid) / "status", "VmRSS")


def peak(proc: Path = _PROC) -> int:
    """Return the most bytes that this process has held, or 0."""
    known = _kilobytes(proc / "self" / "status", "VmHWM")
    if known is not None:
        return known
    try:
        import resource  # noqa: PLC0415  (only where there is one)
    except ImportError:
        return 0
    # Where a process begins as a copy of another, this is never less than what the other held.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) if sys.platform == "darwin" else int(most) * 1024


def _kilobytes(path: Path, name: str) -> int | None:
    """Return the bytes that a line of a file of the system tells."""
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def _of_limit(proc: Path) -> int | None:
    """Return what is left of the memory that this process may reserve, as ``ulimit -v`` sets it."""
    try:
        import resource  # noqa: PLC0415  (only where there is one)
    except ImportError:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    now = _kilobytes(proc / "self" / "status", "VmSize")
    return None if most == resource.RLIM_INFINITY or now is None else max(most - now, 0)


def _of_group(group: Path) -> int | None:
    try:
        most, now = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        # What was read from files is given back when it is needed.
        cached = re.search(r"^inactive_file (\d+)", (group / "memory.stat").read_text(), re.MULTILINE)
    except OSError:
        return None
    if not (most.isdigit() and now.isdigit()):
        return None
    return max(int(most) - int(now) + (int(cached[1]) if cached else 0), 0)


def _of_system() -> int | None:
    """Take half of all memory, where nothing says what is free."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return None
