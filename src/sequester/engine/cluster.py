"""Run parts of the work on the workers of a dask cluster, or in worker processes here."""

from __future__ import annotations

import hashlib
import pickle
import platform
import secrets
import time
from collections import deque
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

import numpy as np

from sequester._version import __version__
from sequester.engine.local import cut_evenly
from sequester.engine.progress import silent
from sequester.errors import (
    InputError,
    InternalError,
    SequesterError,
    ignore_warning,
    system_reason,
    where_raised,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    from distributed import Client, Future

    from sequester.engine.progress import Progress
    from sequester.errors import Warn

    Bytes = npt.NDArray[np.uint8]

P = TypeVar("P")
S = TypeVar("S")
T = TypeVar("T")

SMALL = 1 << 15
"""Arrays of fewer bytes travel with what they belong to; larger ones by themselves, once per worker."""
RESIDENT = 1 << 28
"""Bytes of arrays that workers keep from earlier steps, since a later one may share them again."""
SHARDS, AHEAD = 8, 8
"""Shards per thread of a worker, and parts per thread that are with the cluster at the same time."""
RETRIES = 3
"""How often work begins again on what the workers lost, shared arrays and all."""
PATIENCE = 10.0
"""Seconds to wait for a scheduler, or for the first worker."""
COMPILING = "sequester-compiling"
"""The topic on which workers announce that they compile."""


class DaskEngine:
    """Workers of a dask cluster.

    What the parts share goes to each worker once: large arrays by themselves, under a keyed hash of their
    content, so that the next step of a method sends only what is new. Names of tasks and of data hold no
    value. Scheduler and workers must have the versions of sequester, numba and Python that this process has.

    Parameters
    ----------
    client
        A connected `distributed.Client`, which stays open.
    announce
        Called with a line when a worker has to compile kernels, once per worker.

    Raises
    ------
    InputError
        Where there is no worker, or one or the scheduler has other versions.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> import sequester as sq  # doctest: +SKIP
    >>> engine = sq.DaskEngine(Client("tcp://scheduler:8786"))  # doctest: +SKIP
    >>> release = sq.HALT(k=5, c=0.7, p=2).apply(table, engine=engine)  # doctest: +SKIP
    """

    def __init__(self, client: Client, *, announce: Warn = ignore_warning) -> None:
        self._client = client
        self._secret = secrets.token_bytes(16)
        self._held: dict[str, tuple[Future[Bytes], int]] = {}
        self._checked: set[str] = set()
        self._known: tuple[float, Mapping[str, Any]] = (0.0, {})
        self.sent = 0
        """Bytes that were sent to workers."""
        self.tasks = 0
        """Parts that were run."""
        self._check_workers()
        client.subscribe_topic(COMPILING, lambda event: announce(_compiling(event)))

    @property
    def n_threads(self) -> int:
        """Threads of all workers; at least one, since a worker that died may be on its way back."""
        return max(sum(int(worker["nthreads"]) for worker in self._workers().values()), 1)

    def split(self, n_rows: int) -> list[range]:
        """Cut ``range(n_rows)`` into consecutive shards of nearly equal size, longer ones first."""
        return cut_evenly(n_rows, SHARDS * self.n_threads)

    def map(
        self,
        function: Callable[[P, S], T],
        parts: Sequence[P],
        *,
        shared: S,
        progress: Progress = silent,
        phase: str = "",
    ) -> Iterator[T]:
        """Yield the answers in the order of the parts; an error or an interrupt cancels what waits.

        Work of a worker that dies is done by others, by dask itself. Where shared data was lost with the
        last worker that had it, the rest begins again, a few times at the same part.
        """
        n_done, n_lost = 0, 0
        while n_done < len(parts):
            try:
                for answer in self._run(function, parts, n_done, shared):
                    yield answer
                    n_done, n_lost = n_done + 1, 0
                    tasks = f"{n_done:,} of {len(parts):,} tasks, {_megabytes(self.sent)} sent"
                    progress(n_done / len(parts), f"{phase}: {tasks}" if phase else tasks)
            except _LostError:
                n_lost += 1
                if n_lost > RETRIES:
                    raise InputError(_TOO_OFTEN.format(n_lost)) from None
                self._held.clear()
                self._known = (0.0, {})
                # The scheduler may not know yet who is gone.
                time.sleep(0.5 * n_lost)

    def _run(self, function: Callable[[P, S], T], parts: Sequence[P], first: int, shared: S) -> Iterator[T]:
        """Yield the answers from a part on, with a bounded number of parts at the cluster."""
        self._check_workers()
        # Together, so that the scheduler, which loads all that a task names, need not load the function.
        head, buffers, is_writable = self._share((function, shared))
        task = _Task(secrets.token_hex(8), versions(), is_writable)
        label = function.__name__.strip("_")
        waiting: deque[Future[_Answer]] = deque()
        following, ahead = first, AHEAD * self.n_threads
        try:
            while waiting or following < len(parts):
                while following < len(parts) and len(waiting) < ahead:
                    part = _Part(pickle.dumps(parts[following], protocol=5))
                    self.sent += len(part.pickled)
                    key = f"{label}-{secrets.token_hex(8)}"
                    waiting.append(
                        self._client.submit(_work, task, part, head, *buffers, key=key, pure=False)
                    )
                    following += 1
                    self.tasks += 1
                answers = _results(self._client, waiting)
                for answer in answers:
                    waiting.popleft()
                    yield answer.value
        finally:
            for future in waiting:
                with suppress(Exception):  # the cluster may be gone, and it is not wanted any more
                    future.cancel()

    def _share(self, shared: object) -> tuple[Future[Bytes], list[Future[Bytes]], tuple[bool, ...]]:
        """Send what the parts share to all workers, as far as they do not have it.

        Returns where the object is, where its large arrays are, and which of them may be written to.
        """
        large: list[Bytes] = []

        def keep_small(buffer: pickle.PickleBuffer) -> bool:
            raw = np.frombuffer(buffer.raw(), np.uint8)
            if raw.nbytes < SMALL:
                return True
            large.append(raw)
            return False

        head = pickle.dumps(shared, protocol=5, buffer_callback=keep_small)
        arrays = [np.frombuffer(head, np.uint8), *large]
        names = [self._name(each) for each in arrays]
        new = {name: each for name, each in zip(names, arrays, strict=True) if name not in self._held}
        if new:
            try:
                sent = self._client.scatter(new, broadcast=True, hash=False)
            except (OSError, KeyError, ValueError) as error:
                raise _LostError from error
            except Exception as error:
                # dask passes on as text what a worker could not take.
                if "MemoryError" not in str(error):
                    raise
                size = _megabytes(sum(each.nbytes for each in new.values()))
                msg = f"a worker has not enough memory for the {size} that the parts of this step share"
                raise InputError(msg) from None
            self._held |= {name: (future, new[name].nbytes) for name, future in sent.items()}
            self.sent += len(self._workers()) * sum(each.nbytes for each in new.values())
        self._let_go(names)
        first, *others = (self._held[name][0] for name in names)
        return first, others, tuple(each.flags.writeable for each in large)

    def _let_go(self, used: list[str]) -> None:
        """Keep what is used now, and of the rest what was used last, as far as there is room."""
        earlier, room = [name for name in self._held if name not in used], RESIDENT
        while earlier and room >= self._held[earlier[-1]][1]:
            name = earlier.pop()
            room -= self._held[name][1]
            used = [name, *used]
        self._held = {name: self._held[name] for name in used}

    def _name(self, buffer: Bytes) -> str:
        # Keyed, so that nobody who reads the names can find out by trying what a small array holds.
        return f"shared-{hashlib.blake2b(buffer.data, digest_size=16, key=self._secret).hexdigest()}"

    def _workers(self) -> Mapping[str, Any]:
        """Return the workers, as they were less than a second ago: a method may have many short steps."""
        when, workers = self._known
        if not workers or time.monotonic() - when > 1.0:
            workers = self._client.scheduler_info(n_workers=-1).get("workers", {})
            self._known = (time.monotonic(), workers)
        return workers

    def _check_workers(self) -> None:
        """Refuse workers and a scheduler of other versions, and make folders for spilling private.

        A scheduler loads this module for the tasks that it passes on.
        """
        where = self._client.scheduler.address if self._client.scheduler else "the cluster"
        if not self._workers():
            try:
                self._client.wait_for_workers(1, timeout=PATIENCE)
            except (OSError, RuntimeError, ValueError):  # too late, or the client was closed
                msg = f"{where} has no workers; start one with: dask worker {where}"
                raise InputError(msg) from None
        new = set(self._workers()) - self._checked
        if not new:
            return
        answers: dict[str, Any] = {}
        if not self._checked:
            try:
                answers[f"scheduler {where}"] = self._client.run_on_scheduler(versions)
            except Exception as error:  # noqa: BLE001  (whatever it is, it is named below)
                answers[f"scheduler {where}"] = error
        prepared = self._client.run(_prepare, workers=[*new], on_error="return")
        answers |= {f"worker {worker}": found for worker, found in sorted(prepared.items())}
        lines = []
        for who, found in answers.items():
            # dask may wrap what could not be loaded into an exception of its own.
            if isinstance(found, ImportError) or "No module named" in str(found):
                lines.append(f"{who} has no sequester; install sequester {__version__} there")
            elif isinstance(found, Exception):
                lines.append(f"{who} cannot be used: {type(found).__name__}")
            else:
                lines += compare_versions(who, found)
        if lines:
            raise InputError(*lines)
        self._checked |= new


_TOO_OFTEN = "workers died {} times at the same work; they may have too little memory or a full disk"


class _LostError(Exception):
    """Workers, and with them data, are gone."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What all tasks of one call have in common."""

    call: str
    """Tells this call from others."""
    versions: dict[str, str]
    """What a worker must have: one may have come after the others were checked."""
    is_writable: tuple[bool, ...]
    """Which of the shared arrays were not read-only: kernels are compiled for the one or the other."""


@dataclass(frozen=True, slots=True, repr=False)
class _Part:
    """A part on its way; dask may log what it prints as, which is no value."""

    pickled: bytes


@dataclass(frozen=True, slots=True, repr=False)
class _Answer:
    """What came of a part: a value, or what went wrong."""

    value: Any = None
    error: SequesterError | None = None


def _work(task: _Task, part: _Part, head: Bytes, *buffers: Bytes) -> _Answer:
    """Run one part on a worker. No exception leaves: dask would log it, with what it says."""
    from distributed import get_worker  # noqa: PLC0415  (an extra)

    worker = get_worker().address
    try:
        lines = compare_versions(f"worker {worker}", task.versions, here=True)
        if lines:
            return _Answer(error=InputError(*lines))
        function, shared = _open_shared(task, head, buffers)
        # Both come from this program's own client, over a connection that dask has made.
        return _Answer(function(pickle.loads(part.pickled), shared))  # noqa: S301
    except SequesterError as error:
        return _Answer(error=error)
    except MemoryError:
        return _Answer(error=InputError(f"worker {worker} has not enough memory for this"))
    except BaseException as error:  # noqa: BLE001  (polars panics are no Exception)
        reason = system_reason(error) or (type(error).__name__ if isinstance(error, OSError) else None)
        if reason is not None:
            return _Answer(error=InputError(f"worker {worker} cannot go on: {reason}"))
        fault = f"{type(error).__name__} at {where_raised(error)}"
        return _Answer(error=InternalError(f"{fault}, on worker {worker}", fault=fault))


_opened: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {}
"""Functions of the last calls and what their parts share, while this worker has the data they came in."""
_opening = Lock()


def _open_shared(
    task: _Task, head: Bytes, buffers: tuple[Bytes, ...]
) -> tuple[Callable[[Any, Any], Any], Any]:
    """Return the function and what the parts share, put together once per worker and call."""
    with _opening:
        found = _opened.get(task.call)
        if found is None:
            arrays = [
                _as_it_was(each, is_writable)
                for each, is_writable in zip(buffers, task.is_writable, strict=True)
            ]
            found = pickle.loads(head.data, buffers=arrays)  # noqa: S301  (as above)
            for earlier in list(_opened)[:-1]:
                _opened.pop(earlier, None)
            _opened[task.call] = found
            # dask lets the head go when the client does, or when the client is gone.
            finalize(head, _opened.pop, task.call, None)
        return found


def _as_it_was(buffer: Bytes, is_writable: bool) -> memoryview:
    """Return an array that travelled, aligned and writable as it was: kernels depend on both."""
    if buffer.ctypes.data % 16 or (is_writable and not buffer.flags.writeable):
        aligned = np.empty(buffer.nbytes // 16 + 1, np.complex128).view(np.uint8)[: buffer.nbytes]
        aligned[:] = buffer
        buffer = aligned
    view = buffer.data
    return view if is_writable else view.toreadonly()


def _results(client: Client, waiting: deque[Future[_Answer]]) -> list[_Answer]:
    """Wait for the first part, and return what came of it and of those behind it that are done as well.

    What went wrong in a part is raised here.
    """
    from distributed import KilledWorker  # noqa: PLC0415  (an extra)
    from distributed.client import FutureCancelledError  # noqa: PLC0415

    try:
        waiting[0].exception()  # waits, and fetches nothing
        ready = list(takewhile(lambda future: future is waiting[0] or future.status == "finished", waiting))
        answers: list[_Answer] = client.gather(ready)
    except KilledWorker as error:
        raise InputError(_TOO_OFTEN.format(error.allowed_failures + 1)) from None
    except (CancelledError, FutureCancelledError) as error:
        raise _LostError from error
    except ImportError:
        msg = f"a worker has no sequester; install sequester {__version__} there"
        raise InputError(msg) from None
    except (OSError, TimeoutError) as error:
        msg = f"the connection to the cluster broke: {type(error).__name__}"
        raise InputError(msg) from None
    for answer in answers:
        if answer.error is not None:
            raise answer.error
    return answers


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere."""
    return {
        "sequester": __version__,
        "numba": version("numba"),
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def compare_versions(who: str, found: Mapping[str, str], *, here: bool = False) -> list[str]:
    """Return a line for each version in which a worker or scheduler differs; `here` is on it itself."""
    theirs, ours = (versions(), found) if here else (found, versions())
    return [
        f"{who} has {name} {theirs[name]}, and this process has {ours[name]}; they must be equal"
        for name in ours
        if theirs[name] != ours[name]
    ]


def scratch_folder() -> str | None:
    """Return where a task puts its files: the folder of its worker, which dask removes; None elsewhere."""
    try:
        from distributed import get_worker  # noqa: PLC0415  (an extra)

        return str(get_worker().local_directory)
    except (ImportError, ValueError):
        return None


_listening: list[Callable[[], None]] = []


def _prepare(dask_worker: Any) -> dict[str, str]:
    """Make a worker's folder private, let it announce that it compiles, and return its versions."""
    from sequester import kernels  # noqa: PLC0415  (on the worker)

    Path(dask_worker.local_directory).chmod(0o700)
    for forget in _listening:
        forget()
    announce = partial(dask_worker.log_event, COMPILING, {"worker": dask_worker.address})
    _listening[:] = [kernels.on_compilation(announce)]
    return versions()


def _compiling(event: tuple[float, Mapping[str, Any]]) -> str:
    return f"Compiling kernels on worker {event[1]['worker']} (first use there only)"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
