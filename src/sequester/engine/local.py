"""Run parts of the work side by side on this machine."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from sequester._validation import at_least
from sequester.engine.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sequester.engine.progress import Progress

P = TypeVar("P")
S = TypeVar("S")
T = TypeVar("T")


class Engine(Protocol):
    """Splits rows into shards and maps a function over parts; answers come back in the order of the parts.

    The function is one of a module, so that it can be sent to another process by its name. It takes a part
    and what is shared, changes neither of them, and returns its answer.
    """

    def split(self, n_rows: int) -> list[range]:
        """Cut ``range(n_rows)`` into consecutive, non-empty shards."""
        ...

    def map(
        self,
        function: Callable[[P, S], T],
        parts: Sequence[P],
        *,
        shared: S,
        progress: Progress = silent,
        phase: str = "",
    ) -> Iterator[T]:
        """Yield ``function(part, shared)`` for every part, in the order of the parts."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """Threads over kernels that release the interpreter lock.

    Examples
    --------
    >>> engine = LocalEngine(threads=2, shards=3)
    >>> engine.split(7)
    [range(0, 3), range(3, 5), range(5, 7)]
    >>> list(engine.map(sum, engine.split(7), shared=0))
    [3, 7, 11]
    """

    threads: int = 0
    """Threads at the same time; 0 is one per core that this process may use."""
    shards: int = 0
    """Shards to cut; 0 is sixteen per thread, so that bars move and an interrupt is heard soon."""

    def __post_init__(self) -> None:
        for name in ("threads", "shards"):
            at_least(name, getattr(self, name), 0)

    @property
    def n_threads(self) -> int:
        """Threads that will run."""
        return self.threads or usable_cores()

    def split(self, n_rows: int) -> list[range]:
        """Cut ``range(n_rows)`` into consecutive shards of nearly equal size, longer ones first."""
        return cut_evenly(n_rows, self.shards or 16 * self.n_threads)

    def map(
        self,
        function: Callable[[P, S], T],
        parts: Sequence[P],
        *,
        shared: S,
        progress: Progress = silent,
        phase: str = "",
    ) -> Iterator[T]:
        """Yield the answers in order; an error or an interrupt stops the parts that wait."""
        if self.n_threads == 1 or len(parts) == 1:
            for done, part in enumerate(parts, start=1):
                yield function(part, shared)
                progress(done / len(parts), phase)
            return
        with ThreadPoolExecutor(max_workers=self.n_threads) as pool:
            futures = deque(pool.submit(_run, function, parts, place, shared) for place in range(len(parts)))
            try:
                for done in range(1, len(parts) + 1):
                    # An answer is held no longer than by who asked for it.
                    yield futures.popleft().result()
                    progress(done / len(parts), phase)
            except BaseException:
                for future in futures:
                    future.cancel()
                raise


def cut_evenly(n_rows: int, n_shards: int) -> list[range]:
    """Cut ``range(n_rows)`` into so many ranges, or as many as there are rows.

    Examples
    --------
    >>> cut_evenly(5, 2)
    [range(0, 3), range(3, 5)]
    """
    n_shards = min(n_shards, n_rows)
    size, longer = divmod(n_rows, max(n_shards, 1))
    starts = [i * size + min(i, longer) for i in range(n_shards + 1)]
    return [range(a, b) for a, b in pairwise(starts)]


def _run(function: Callable[[P, S], T], parts: Sequence[P], place: int, shared: S) -> T:
    """Return the answer for one part, which is made only now where the sequence makes its parts."""
    return function(parts[place], shared)


def usable_cores() -> int:
    """Return the cores this process may use, which a container can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
