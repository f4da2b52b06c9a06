"""Runs candidates side by side, each in a process of its own, as many at once as fit into memory.

A process of its own can be stopped at any moment, tells how much memory a candidate took, and takes nobody
with it when it dies. Threads would save the start, about three seconds, but share one interpreter, which
measures and pages hold: on two cores two threads were 1.1 times as fast as one, two processes 1.7 times.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from sequester.engine.local import usable_cores
from sequester.workflow.comparison import memory
from sequester.workflow.comparison.trial import TrialResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.workflow.comparison.trial import Task


SHARE = 0.75
"""Of the memory that is free, candidates may take so much."""
RESERVE = 256 * 2**20
"""Where less than this is free, one of several candidates has to wait."""
_ALONE = 350 * 2**20
_TIMES = 12
"""A first guess at what a candidate takes: what the program takes, and so many times the table."""
_PAUSE = 0.2
WORKER = (sys.executable, "-P", "-m", "sequester.workflow.comparison.worker")
"""The program that tries one candidate."""


@dataclass(slots=True, eq=False)
class _Run:
    """A candidate at work."""

    task: Task
    process: subprocess.Popen[bytes]
    thread: Thread | None = None
    fraction: float = 0.0
    tried: TrialResult | None = None
    had_company: bool = False
    is_compiling: bool = False


class Pool:
    """Processes that try candidates; leaving the block ends all that still run."""

    def __init__(
        self,
        table: EventTable,
        *,
        at_once: int | None = None,
        free: Callable[[], int | None] = memory.available,
        program: Sequence[str] = WORKER,
    ) -> None:
        self._program = program
        self._table = pickle.dumps(table, protocol=pickle.HIGHEST_PROTOCOL)
        self._at_once = at_once or usable_cores()
        self._free = free
        self._running: list[_Run] = []
        self._events: Queue[tuple[_Run, dict[str, Any]]] = Queue()
        self._largest = 0
        self._shy: set[str] = set()
        """Those that did not get along with others, and run alone."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run in self._running:
            run.process.kill()
        for run in self._running:
            self._close(run)
        self._running.clear()

    def run(self, tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, TrialResult]]:
        """Try all tasks; give each with its result as soon as it is done, in whatever order."""
        waiting = deque(tasks)
        n_done = 0
        while waiting or self._running:
            while waiting and self._fits(waiting[0]):
                self._start(waiting.popleft(), min(len(tasks), self._at_once))
            for run, document in self._heard():
                ended = self._take_in(run, document)
                if ended is None:
                    continue
                tried = self._result(run, ended)
                if tried is None:
                    waiting.append(run.task)
                else:
                    n_done += 1
                    yield run.task, tried
            waiting.extend(self._relieve())
            self._tell(progress, n_done, len(tasks))

    def _fits(self, task: Task) -> bool:
        if not self._running:
            return True
        if len(self._running) >= self._at_once:
            return False
        if task.key in self._shy or any(run.task.key in self._shy for run in self._running):
            return False
        free = self._free()
        if free is None:
            return False
        need = self._need
        growing = sum(max(need - (memory.taken(run.process.pid) or 0), 0) for run in self._running)
        return SHARE * free - growing >= need

    @property
    def _need(self) -> int:
        """What a candidate takes: as much as the largest so far, or a guess."""
        return self._largest or _ALONE + _TIMES * len(self._table)

    def _start(self, task: Task, side_by_side: int) -> None:
        threads = max(usable_cores() // max(side_by_side, 1), 1)
        task = replace(task, threads=threads)
        process = subprocess.Popen(
            self._program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"POLARS_MAX_THREADS": str(threads), "RUST_BACKTRACE": "0"},
            start_new_session=True,  # Ctrl-C is for the one who waits for them, and who ends them then
        )
        run = _Run(task, process)
        run.thread = Thread(target=self._serve, args=(run,), daemon=True)
        self._running.append(run)
        if len(self._running) > 1:
            for each in self._running:
                each.had_company = True
        run.thread.start()

    def _serve(self, run: _Run) -> None:
        """Hand a process its task, and pass on what it says; runs beside everything else."""
        source, answers = run.process.stdin, run.process.stdout
        if source is None or answers is None:
            return
        with suppress(OSError, ValueError):
            # One that has ended takes nothing more; how it ended tells why.
            source.write(pickle.dumps(sys.path))
            source.write(pickle.dumps(run.task))
            source.write(self._table)
            source.flush()
        with suppress(OSError, ValueError):
            for line in answers:
                if line.endswith(b"\n"):
                    self._events.put((run, json.loads(line)))
        self._events.put((run, {"ended": run.process.wait()}))

    def _heard(self) -> Iterator[tuple[_Run, dict[str, Any]]]:
        """Wait a little, and give all that was said meanwhile."""
        try:
            yield self._events.get(timeout=_PAUSE)
            while True:
                yield self._events.get_nowait()
        except Empty:
            return

    def _take_in(self, run: _Run, document: dict[str, Any]) -> int | None:
        """Record a message of a process; return its exit code where it has ended."""
        match document:
            case {"progress": fraction}:
                run.fraction, run.is_compiling = fraction, False
            case {"compiling": True}:
                run.is_compiling = True
            case {"result": result}:
                run.tried = TrialResult.of(result)
                self._largest = max(self._largest, run.tried.peak_memory)
            case {"failed": reason, "is_ours": is_ours}:
                run.tried = _failed(run.task, reason, is_ours=is_ours)
            case {"ended": code} if run in self._running:
                return int(code)
        return None

    def _result(self, run: _Run, code: int) -> TrialResult | None:
        """Return what became of one that has ended; None where it is to be tried again, alone."""
        self._running.remove(run)
        self._close(run)
        if run.tried is not None:
            return run.tried
        if run.had_company and run.task.key not in self._shy:
            self._shy.add(run.task.key)
            return None
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        return _failed(run.task, f"its process {how}, as happens where memory runs out", is_ours=False)

    def _relieve(self) -> list[Task]:
        """Where memory becomes scarce, stop the one that began last; it is tried again, alone."""
        free = self._free()
        if len(self._running) < 2 or free is None or free >= RESERVE:
            return []
        run = self._running.pop()
        run.process.kill()
        self._close(run)
        self._shy.add(run.task.key)
        return [run.task]

    def _close(self, run: _Run) -> None:
        run.process.wait()
        if run.thread is not None:
            run.thread.join()
        for stream in (run.process.stdin, run.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _tell(self, progress: Progress, n_done: int, total: int) -> None:
        begun = sum(run.fraction for run in self._running)
        now = ", ".join(run.task.candidate.label for run in self._running[:2])
        more = f" and {len(self._running) - 2} more" if len(self._running) > 2 else ""
        if any(run.is_compiling for run in self._running):
            more += " (compiling kernels, first use only)"
        phase = f"{n_done} of {total} candidates done" + (f": {now}{more}" if now else "")
        progress((n_done + begun) / max(total, 1), phase)


def _failed(task: Task, reason: str, *, is_ours: bool) -> TrialResult:
    candidate = task.candidate
    return TrialResult(
        method=candidate.name,
        label=candidate.label,
        parameters=candidate.parameters,
        state="failed",
        reason=reason,
        is_ours=is_ours,
    )
