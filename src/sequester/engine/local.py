"""Run shards of persons side by side on this machine."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from sequester.engine.progress import silent
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sequester.engine.progress import Progress

T = TypeVar("T")


class Engine(Protocol):
    """Splits persons into shards and maps a task over them; results come back in shard order."""

    def split(self, n_rows: int) -> list[range]:
        """Cut ``range(n_rows)`` into consecutive, non-empty shards."""
        ...

    def map(
        self,
        task: Callable[[range], T],
        shards: Sequence[range],
        *,
        progress: Progress = silent,
        phase: str = "",
    ) -> list[T]:
        """Run `task` on every shard; the answer at ``i`` belongs to ``shards[i]``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """Threads over kernels that release the interpreter lock.

    Examples
    --------
    >>> engine = LocalEngine(threads=2, shards=3)
    >>> engine.split(7)
    [range(0, 3), range(3, 5), range(5, 7)]
    >>> engine.map(sum, engine.split(7))
    [3, 7, 11]
    """

    threads: int = 0
    """Threads at the same time; 0 is one per core that this process may use."""
    shards: int = 0
    """Shards to cut; 0 is sixteen per thread, so that bars move and an interrupt is heard soon."""

    def __post_init__(self) -> None:
        for name in ("threads", "shards"):
            if getattr(self, name) < 0:
                msg = f"{name} must be at least 0, got {getattr(self, name)}"
                raise ParameterError(msg)

    @property
    def n_threads(self) -> int:
        """Threads that will run."""
        return self.threads or usable_cores()

    def split(self, n_rows: int) -> list[range]:
        """Cut ``range(n_rows)`` into consecutive shards of nearly equal size, longer ones first."""
        n_shards = min(self.shards or 16 * self.n_threads, n_rows)
        if n_shards == 0:
            return []
        size, longer = divmod(n_rows, n_shards)
        starts = [i * size + min(i, longer) for i in range(n_shards + 1)]
        return [range(a, b) for a, b in pairwise(starts)]

    def map(
        self,
        task: Callable[[range], T],
        shards: Sequence[range],
        *,
        progress: Progress = silent,
        phase: str = "",
    ) -> list[T]:
        """Run `task` on every shard; an error or an interrupt stops the shards that wait."""
        results: list[T] = []
        if self.n_threads == 1 or len(shards) == 1:
            for done, shard in enumerate(shards, start=1):
                results.append(task(shard))
                progress(done / len(shards), phase)
            return results
        with ThreadPoolExecutor(max_workers=self.n_threads) as pool:
            futures = [pool.submit(task, shard) for shard in shards]
            try:
                for done, future in enumerate(futures, start=1):
                    results.append(future.result())
                    progress(done / len(futures), phase)
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        return results


def usable_cores() -> int:
    """Return the cores this process may use, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
