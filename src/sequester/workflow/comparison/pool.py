"""Run candidates side by side, each in a process of its own, and keep their results in a folder.

A process of its own can be stopped at any moment, tells how much memory a candidate took, and takes nobody
with it when it dies: each is a standard pool of one. Threads would save the start, about three seconds, but
share one interpreter, which measures and pages hold: on two cores two threads were 1.1 times as fast as one,
two processes 1.7 times.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import stat
import sys
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sequester._version import __version__
from sequester.engine import silent
from sequester.engine.cluster import scratch_folder
from sequester.engine.local import usable_cores
from sequester.errors import InputError
from sequester.release.randomness import Randomness
from sequester.release.staging import defer_interrupts, lock_folder, write_file
from sequester.workflow import memory
from sequester.workflow.comparison.grid import file_name
from sequester.workflow.comparison.trial import TrialResult, try_candidate
from sequester.workflow.comparison.worker import COMPILING, explain_failure, prepare, work

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.workflow.comparison.grid import Candidate
    from sequester.workflow.comparison.trial import TrialTask

SHARE = 0.75
"""Of the memory that is free, candidates may take so much."""
RESERVE = 256 * 2**20
"""Where less than this is free, one of several candidates has to wait."""
_ALONE = 350 * 2**20
_TIMES = 12
"""A first guess at what a candidate takes: what the program takes, and so many times the table."""
_PAUSE = 0.2


@dataclass(slots=True, eq=False)
class _Run:
    """A candidate at work."""

    task: TrialTask
    pool: ProcessPoolExecutor
    future: Future[dict[str, Any]]
    connection: Connection
    pid: int | None = None
    fraction: float = 0.0
    had_company: bool = False
    is_compiling: bool = False

    @classmethod
    def start(cls, task: TrialTask, table: bytes, do: Callable[[bytes, bytes], dict[str, Any]]) -> _Run:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        pool = ProcessPoolExecutor(1, context, prepare, (theirs, task.threads))
        packed = pickle.dumps(task)
        future = pool.submit(do, packed, table)
        theirs.close()
        return cls(task, pool, future, ours)

    def listen(self) -> None:
        """Take what the process has sent: its number, how far it is, or that it compiles."""
        try:
            while self.connection.poll():
                match self.connection.recv():
                    case int(pid):
                        self.pid = pid
                    case float(fraction):
                        self.fraction, self.is_compiling = fraction, False
                    case message:
                        self.is_compiling = message == COMPILING
        except (EOFError, OSError):
            return

    def stop(self) -> None:
        """End the process, wherever it is, and wait for its end; one that is done ends by itself."""
        if not self.future.done():
            self.connection.close()
        self.pool.shutdown(cancel_futures=True)
        self.connection.close()


@contextmanager
def _detached() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, and that do not run the caller's script again.

    Ctrl-C is for the one who waits for them, and who ends them then; it takes effect once they have started.
    """
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    blocks = hasattr(signal, "pthread_sigmask")  # not on every system
    # The mask is that of this thread, and others may take the signal; Python raises it here all the same.
    with defer_interrupts():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if blocks else set()
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            if blocks:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_candidates(
    tasks: Sequence[TrialTask],
    table: EventTable,
    progress: Progress,
    *,
    at_once: int | None = None,
    free: Callable[[], int | None] = memory.available,
    do: Callable[[bytes, bytes], dict[str, Any]] = work,
) -> Generator[tuple[TrialTask, TrialResult], None, None]:
    """Try all tasks; yield each with its result as soon as it is done, in whatever order.

    One that dies in company, or that was stopped because memory became scarce, is tried again alone. Closing
    the iterator ends all processes.
    """
    packed = pickle.dumps(table, protocol=pickle.HIGHEST_PROTOCOL)
    at_once = at_once or usable_cores()
    threads = max(usable_cores() // max(min(len(tasks), at_once), 1), 1)
    guess, largest, n_done = _ALONE + _TIMES * len(packed), 0, 0
    waiting, running, alone = deque(tasks), list[_Run](), set[str]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                if running and not _fits(waiting[0], running, alone, largest or guess, free()):
                    break
                with _detached():
                    running.append(_Run.start(replace(waiting.popleft(), threads=threads), packed, do))
                for run in running:
                    run.had_company |= len(running) > 1
            wait([run.future for run in running], timeout=_PAUSE, return_when=FIRST_COMPLETED)
            for run in running:
                run.listen()
            for run in [each for each in running if each.future.done()]:
                running.remove(run)
                run.stop()
                tried = None
                # Without a result, its process died.
                with suppress(BrokenProcessPool):
                    tried = _read(run.future.result(), run.task)
                if tried is None and run.had_company and run.task.key not in alone:
                    alone.add(run.task.key)
                    waiting.append(run.task)
                    continue
                tried = tried or TrialResult.about(
                    run.task.candidate,
                    state="failed",
                    reason="its process ended, as happens where memory runs out",
                )
                largest = max(largest, tried.peak_memory)
                n_done += 1
                yield run.task, tried
            if len(running) > 1 and (now := free()) is not None and now < RESERVE:
                last = running.pop()
                last.stop()
                alone.add(last.task.key)
                waiting.append(last.task)
            _report(progress, running, n_done, len(tasks))
    finally:
        for run in running:
            run.stop()


def _fits(task: TrialTask, running: Sequence[_Run], alone: set[str], need: int, free: int | None) -> bool:
    """Return whether another candidate fits beside those that run; where memory is not known, none does."""
    if free is None or task.key in alone or any(run.task.key in alone for run in running):
        return False
    growing = sum(max(need - (memory.taken(run.pid) or 0 if run.pid else 0), 0) for run in running)
    return SHARE * free - growing >= need


def _read(answer: dict[str, Any], task: TrialTask) -> TrialResult:
    if "failed" in answer:
        reason, is_ours = answer["failed"], answer["is_ours"]
        return TrialResult.about(task.candidate, state="failed", reason=reason, is_ours=is_ours)
    return TrialResult.of(answer)


def run_on_workers(
    tasks: Sequence[TrialTask], table: EventTable, engine: Engine, progress: Progress
) -> Generator[tuple[TrialTask, TrialResult], None, None]:
    """Try all tasks, whole candidates, on the workers of an engine; yield each with its result, in order."""
    answers = engine.map(_try_away, tasks, shared=table, progress=progress, phase="comparing candidates")
    for task, (answer, files) in zip(tasks, answers, strict=True):
        for name, (mode, contents) in files.items():
            first, _, rest = name.partition("/")
            path = task.report if first == _REPORT else task.release
            if path is None:
                continue
            path = path / rest if rest else path
            if contents is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                write_file(contents, path)
            path.chmod(mode)
        yield task, _read(answer, task)


_REPORT, _RELEASE = "report", "release"


def _try_away(
    task: TrialTask, table: EventTable
) -> tuple[dict[str, Any], dict[str, tuple[int, bytes | None]]]:
    """Try a candidate on a machine that may share no folder with ours; return its files with their modes."""
    with TemporaryDirectory(dir=scratch_folder()) as folder:
        here = Path(folder)
        placed = replace(
            task,
            report=None if task.report is None else here / _REPORT,
            release=None if task.release is None else here / _RELEASE,
            threads=1,
        )
        answer = explain_failure(lambda: try_candidate(placed, table, silent).to_json())
        files = {
            path.relative_to(here).as_posix(): (
                stat.S_IMODE(path.stat().st_mode),
                None if path.is_dir() else path.read_bytes(),
            )
            for path in sorted(here.rglob("*"))
        }
        return answer, files


def _report(progress: Progress, running: Sequence[_Run], n_done: int, total: int) -> None:
    begun = sum(run.fraction for run in running)
    now = ", ".join(run.task.candidate.label for run in running[:2])
    more = f" and {len(running) - 2} more" if len(running) > 2 else ""
    if any(run.is_compiling for run in running):
        more += " (compiling kernels, first use only)"
    phase = f"{n_done} of {total} candidates done" + (f": {now}{more}" if now else "")
    progress((n_done + begun) / max(total, 1), phase)


ABOUT = "comparison.json"
"""The file that says what is compared."""
RESULTS, REPORTS, RELEASES = "results", "reports", "releases"
OUTPUTS = ("candidates.csv", "candidates.json", "frontier.svg", "frontier.png", "report.html")
"""What a comparison ends with."""


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of mode 0700, as sensitive as the input, for one table and one version of the program."""

    folder: Path
    """Where everything is."""
    seed: str
    """What everything random comes from."""
    table: str
    """The digest of the table."""

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, table: str, seed: str | None, force: bool = False) -> Iterator[Store]:
        """Begin a folder, or go on in one of the same table; others are refused, or replaced by `force`.

        Others are kept out until the end. A new comparison that fails before it has a result leaves nothing.
        """
        about, was_there = folder / ABOUT, os.path.lexists(folder)
        with ExitStack() as stack:
            try:
                if not about.is_file() and was_there and (not folder.is_dir() or any(folder.iterdir())):
                    msg = f"{folder} exists and is not a comparison; name another folder"
                    raise InputError(msg)
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(lock_folder(folder, wait=False))
                found = _read_about(about) if about.is_file() else None
                if found is None:
                    stack.enter_context(_abandoned(folder, was_there=was_there))
                elif not force and (found["version"], found["table"]) != (__version__, table):
                    msg = (
                        f"{folder} holds a comparison of other data, roles or hierarchies, or of another "
                        "version; name another folder, or replace it with --force"
                    )
                    raise InputError(msg)
                store = cls(folder, _prepare(folder, found if not force else None, seed), table)
                store._put(ABOUT, {"version": __version__, "table": table, "seed": store.seed})
            except BlockingIOError:
                msg = f"another run is at work in {folder}; wait for it, or name another folder"
                raise InputError(msg) from None
            except OSError as error:
                msg = f"cannot use {folder}: {error.strerror}"
                raise InputError(msg) from None
            yield store

    def key(self, candidate: Candidate, **asked: object) -> str:
        """Return the key of a result: a hash of version, table, method, parameters, seed and options."""
        document = {
            "version": __version__,
            "table": self.table,
            "method": candidate.name,
            "parameters": candidate.parameters,
            "seed": self.seed,
            **asked,
        }
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def place(self, kind: str, candidate: Candidate, key: str) -> Path:
        """Return the place of a candidate's page or release."""
        name = file_name(candidate.label, key)
        return self.folder / kind / (f"{name}.html" if kind == REPORTS else name)

    def load(self, key: str) -> TrialResult | None:
        """Return a result that was kept, with its page and its release where it has any; None otherwise."""
        path = self.folder / RESULTS / f"{key}.json"
        try:
            tried = TrialResult.of(json.loads(path.read_bytes()))
        except (OSError, ValueError):
            return None
        there = (self.folder / each for each in (tried.report, tried.release) if each)
        return tried if all(each.exists() for each in there) else None

    def save(self, key: str, tried: TrialResult) -> None:
        """Save a result; one that failed is tried again by a later run."""
        if tried.state != "failed":
            self._put(f"{RESULTS}/{key}.json", tried.to_json())

    def _put(self, name: str, document: dict[str, Any]) -> None:
        path = self.folder / name
        write_file(json.dumps(document, indent=1).encode(), path)
        path.chmod(0o600)


def _prepare(folder: Path, found: dict[str, str] | None, seed: str | None) -> str:
    """Take over what was `found`, or clear it away; return the seed."""
    if found is None:
        _clear(folder)
    folder.chmod(0o700)
    for name in (RESULTS, REPORTS):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    for name in (".", RESULTS, REPORTS):
        for part in (folder / name).glob(".*.partial"):
            # A run that was killed had begun to write it.
            part.unlink()
    kept = Randomness.of(None).seed if found is None else found["seed"]
    return kept if seed is None else seed


@contextmanager
def _abandoned(folder: Path, *, was_there: bool) -> Iterator[None]:
    """Remove a new comparison that fails before it has a result: it is of no use."""
    try:
        yield
    except BaseException:
        if not any((folder / RESULTS).glob("*.json")):
            _clear(folder)
            (folder / ABOUT).unlink(missing_ok=True)
            if not was_there and not any(folder.iterdir()):
                folder.rmdir()
        raise


def _read_about(about: Path) -> dict[str, str]:
    try:
        found = json.loads(about.read_text(encoding="utf-8"))
        return {key: str(found[key]) for key in ("version", "table", "seed")}
    except (ValueError, KeyError, TypeError):
        msg = f"{about} is not readable; remove {about.parent} to start again"
        raise InputError(msg) from None


def _clear(folder: Path) -> None:
    """Remove what comparisons have put there, and nothing else."""
    for name in (RESULTS, REPORTS, RELEASES):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)
