"""How much memory is free, and how much a process takes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_PROC = Path("/proc")
_GROUP = Path("/sys/fs/cgroup")


def available(proc: Path = _PROC, group: Path = _GROUP) -> int | None:
    """Return the bytes that new processes may take, which a container can make fewer than the machine has."""
    known = [each for each in (_of_machine(proc), _of_group(group)) if each is not None]
    return min(known) if known else _of_system()


def taken(pid: int, proc: Path = _PROC) -> int | None:
    """Return the bytes that a process holds in memory."""
    return _of_process(str(pid), "VmRSS", proc)


def peak(proc: Path = _PROC) -> int:
    """Return the most bytes that this process has held, or 0."""
    known = _of_process("self", "VmHWM", proc)
    if known is not None:
        return known
    try:
        import resource  # noqa: PLC0415  (only where there is one)
    except ImportError:
        return 0
    # Where a process begins as a copy of another, this is never less than what the other held.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) if sys.platform == "darwin" else int(most) * 1024


def _of_process(pid: str, name: str, proc: Path) -> int | None:
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", (proc / pid / "status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def _of_machine(proc: Path) -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", (proc / "meminfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


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
