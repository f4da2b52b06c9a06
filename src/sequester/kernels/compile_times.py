"""How long kernels take to compile: as measured on this machine, or as shipped, for the announcement.

A kernel is named by its folder, module and function, such as ``halt/_kernels.mark``. What was measured is
kept beside the compiled code; ``compile_seconds.json`` in the package has figures for all methods, made by
``benchmarks/bench_compile.py``, and which kernels each command of a method uses.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NAME = "compile_seconds.json"
"""The file of seconds per kernel, in the package and beside compiled code."""
_INDEX = re.compile(r"(.+)-\d+\.py\d+t?\.nbi")
_measured: dict[str, float] = {}


def kernel_name(module: str, function: str) -> str:
    """Return the name under which a kernel's figures are kept.

    Examples
    --------
    >>> kernel_name("sequester.methods.halt._kernels", "mark")
    'halt/_kernels.mark'
    """
    *_, folder, file = module.split(".")
    return f"{folder}/{file}.{function}"


def note_compilation(kernel: str, seconds: float) -> None:
    """Add the seconds that a kernel took to compile in this process."""
    _measured[kernel] = _measured.get(kernel, 0.0) + seconds


def measured() -> dict[str, float]:
    """Return the seconds of all kernels that were compiled in this process."""
    return dict(_measured)


def keep_measured(folder: Path) -> None:
    """Add what was measured to the figures that are kept in a folder, if it can be written to."""
    if _measured:
        seconds = {name: round(each, 3) for name, each in _measured.items()}
        aside = folder / f".{NAME}.{os.getpid()}"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps({"seconds": _read(folder / NAME).get("seconds", {}) | seconds}))
            aside.replace(folder / NAME)
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def cached_kernels(root: Path) -> set[str]:
    """Return the kernels whose compiled code is below a folder: a cache of numba, or the package.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "halt", "__pycache__")
    ...     place.mkdir(parents=True)
    ...     (place / "_kernels.mark-12.py311.nbi").touch()
    ...     cached_kernels(Path(folder))
    {'halt/_kernels.mark'}
    """
    found = set()
    for path in root.rglob("*.nbi"):
        index = _INDEX.fullmatch(path.name)
        # Caches of their own have folders such as halt_0a1b..., by the path of the source.
        folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
        if index is not None:
            found.add(f"{re.sub('_[0-9a-f]{40}$', '', folder.name)}/{index[1]}")
    return found


def expected_seconds(
    uses: Iterable[str],
    *,
    cached: Iterable[str],
    here: Mapping[str, float],
    shipped: Mapping[str, Any],
    speed: float = 1.0,
) -> float | None:
    """Return how long it takes to compile the kernels of `uses` that are not `cached`; None where unknown.

    Figures measured `here` count; the `shipped` ones of other kernels are scaled as those of the same
    kernels differ, or by `speed`, how many times as long a program takes here, where none was measured.

    Examples
    --------
    >>> shipped = {"seconds": {"a": 2.0, "b": 3.0, "c": 1.0}, "uses": {"protect halt": ["a", "b", "c"]}}
    >>> expected_seconds(["protect halt"], cached=["c"], here={}, shipped=shipped)
    5.0
    >>> expected_seconds(["protect halt"], cached=["c"], here={"a": 4.0}, shipped=shipped)
    10.0
    """
    known = {name for use in uses for name in shipped.get("uses", {}).get(use, ())}
    if not known:
        return None
    seconds: Mapping[str, float] = shipped["seconds"]
    both = here.keys() & seconds.keys()
    scale = sum(here[name] for name in both) / sum(seconds[name] for name in both) if both else speed
    return sum(here.get(name, seconds[name] * scale) for name in sorted(known - set(cached)))


def announce(method: str, commands: Sequence[str], *, root: Path, kept: Path) -> str:
    """Return the line that says what compiles, and about how long."""
    shipped = _read(Path(__file__).with_name(NAME))
    seconds = expected_seconds(
        [use for command in commands for use in (command, f"{command} {method}")],
        cached=cached_kernels(root),
        here=_read(kept / NAME).get("seconds", {}),
        shipped=shipped,
        speed=relative_speed(shipped),
    )
    about = "" if seconds is None else f", about {max(round(seconds), 1)} s"
    what = method or next(iter(commands), "")
    return f"Compiling kernels{what and f' for {what}'} (first use only){about}"


def relative_speed(shipped: Mapping[str, Any]) -> float:
    """Return how many times as long as where the figures were made a compilation probably takes here.

    That is the square root of how many times as long the yardstick takes: on one machine it differs by half
    from one moment to the next, most machines differ by less than twice, and the root is off by less than
    half in either case.
    """
    return math.sqrt(yardstick() / shipped["yardstick"]) if "yardstick" in shipped else 1.0


def yardstick() -> float:
    """Return the processor seconds of a small program here: numba is a program in Python, too."""
    spent = []
    for _ in range(20):
        began = time.thread_time()
        sorted(map(str, range(30_000)))
        spent.append(time.thread_time() - began)
    return min(spent)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
