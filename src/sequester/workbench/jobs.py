"""Work in processes of its own: started, watched and cancelled, with everything about it on disk.

Run as a program, this is what such a process does: read what is asked, call the task, leave the answer.
"""

from __future__ import annotations

import _thread
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from sequester.errors import UnattainableError, fault_of, user_error_lines
from sequester.release.staging import lock_folder, write_file
from sequester.report.text import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.engine import Progress

JOB, PROGRESS, ANSWER, CANCELLED = "job.json", "progress.json", "answer.json", "cancelled"
"""The files of a job: what is asked, how far it is, what came of it, and that it was cancelled."""
_KNOWN = 0.02
"""Below this share of the work, a guess at the time left would be noise."""
_STARTING = 5.0
"""Seconds within which the process of another workbench's job has begun."""
_NICE = 10
"""How much a job gives way to everything else, from 0 to 19."""
_PATIENCE = 5.0
"""Seconds after which a job that was cancelled is killed."""

_COMMANDS = {
    "draft": (
        "init",
        ("data",),
        ("out", "query", "table", "persons", "format", "delimiter", "encoding", "force"),
    ),
    "inspect": ("inspect", ("config",), ("out",)),
    "hierarchy": ("hierarchy show", ("config", "attribute"), ()),
    "lint": ("hierarchy lint", ("config",), ()),
    "build": ("hierarchy build", ("config", "attribute"), ("out",)),
    "advise": ("advise", ("config",), ("recipient", "known", "keep", "release")),
    "compare": ("compare", ("config",), ("methods", "set", "out", "seed", "write_releases")),
    "protect": ("protect", ("config",), ("out",)),
    "verify": ("verify", ("release",), ("original",)),
}
"""Task to its command, what comes first, and its options, in the order in which they are written."""
_ALWAYS: Mapping[str, dict[str, Any]] = {"draft": {"force": True}, "inspect": {"out": "inspect.html"}}
"""Task to options that its command has in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbenchJob:
    """One run of a task, as it is now."""

    id: str
    """Its number, which is the name of its folder."""
    folder: Path
    """Where everything about it is."""
    task: str
    """What is done: a function of `sequester.workbench.tasks`."""
    arguments: Mapping[str, Any]
    """What it is called with."""
    started: float
    """When it began, in seconds since 1970."""
    state: str
    """running, done, refused (not feasible), wrong (input), failed (internal error), cancelled, stopped."""
    fraction: float = 0.0
    """Share of the work that is done."""
    phase: str = ""
    """What is done now."""
    result: Any = None
    """What it returned."""
    lines: tuple[str, ...] = ()
    """Why it has no result."""
    achieved: Mapping[str, float] | None = None
    """Where it is not feasible: settings that are."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""

    @property
    def is_running(self) -> bool:
        """It is at work."""
        return self.state == "running"

    @property
    def left(self) -> str:
        """About how long it will take from now on."""
        if self.fraction < _KNOWN:
            return "time left unknown"
        spent = time.time() - self.started
        return f"about {seconds(spent * (1 - self.fraction) / self.fraction)} left"

    @property
    def begun(self) -> str:
        """When it began, on the clock of this machine."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.started))

    @property
    def commands(self) -> list[str]:
        """The commands that repeat it, as they are typed in the folder of the project."""
        found = [argv(self.task, self.arguments)]
        if self.task == "hierarchy":
            found.append(argv("lint", self.arguments))
        if self.task == "look" and self.arguments.get("column"):
            # Recipients count in Python.
            asked = "sq.open({release!r}).expected_count({{{column!r}: {value!r}}}, persons={persons!r})"
            counted = asked.format(**self.arguments)
            found.append(["python", "-c", f"import sequester as sq; print({counted})"])
        return [shlex.join(words) for words in found if words]


class Jobs:
    """The jobs of one project; those that run end with the workbench."""

    def __init__(self, folder: Path, *, cwd: Path) -> None:
        self.folder = folder
        self._cwd = cwd
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._cancelled: dict[str, float] = {}
        self._finished: dict[str, WorkbenchJob] = {}

    def start(self, task: str, arguments: Mapping[str, Any]) -> WorkbenchJob:
        """Begin a task; one of the same name that runs is cancelled."""
        for running in self.all(task):
            if running.is_running:
                self.cancel(running.id)
        folder = self._new_folder()
        asked = {"task": task, "arguments": dict(arguments), "started": time.time()}
        write_file(json.dumps(asked).encode(), folder / JOB)
        # What a library prints may hold raw values, and is kept nowhere. The end of stdin is the end of us.
        process = subprocess.Popen(
            [sys.executable, "-m", "sequester.workbench.jobs", str(folder)],
            cwd=self._cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        )
        self._running[folder.name] = process
        _let_pages_go_first(process.pid)
        return self.get(folder.name)

    def cancel(self, number: str) -> None:
        """Ask a job to clean up and end; one of ours is killed where that takes long."""
        if not self.get(number).is_running or number in self._cancelled:
            return
        (self.folder / number / CANCELLED).touch()
        if number in self._running:
            self._cancelled[number] = time.monotonic()
            self._running[number].terminate()

    def get(self, number: str) -> WorkbenchJob:
        """Return a job as it is now."""
        if number in self._finished:
            return self._finished[number]
        job = self._read(self.folder / number)
        if (job.folder / ANSWER).exists() and not job.is_running:
            self._finished[number] = job
        return job

    def all(self, task: str | None = None) -> list[WorkbenchJob]:
        """List the jobs of a task, or all, from the last one on."""
        found = (self.get(path.name) for path in sorted(self._folders(), reverse=True))
        return [job for job in found if task in (None, job.task)]

    def last(self, task: str, **arguments: object) -> WorkbenchJob | None:
        """Return the last job of a task that was called with these arguments, among others."""
        asked = arguments.items()
        return next((job for job in self.all(task) if asked <= job.arguments.items()), None)

    def close(self) -> None:
        """End everything that runs."""
        for number in self._running:
            self.cancel(number)
        for process in self._running.values():
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _release(process)

    def _new_folder(self) -> Path:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = 1 + max((int(path.name) for path in self._folders()), default=0)
        while True:
            folder = self.folder / f"{number:04d}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:  # another workbench was faster
                number += 1
            else:
                return folder

    def _folders(self) -> list[Path]:
        return [path for path in self.folder.glob("[0-9]*") if (path / JOB).is_file()]

    def _read(self, folder: Path) -> WorkbenchJob:
        asked = read_json(folder / JOB)
        known = {"id": folder.name, "folder": folder, **asked}
        if self._is_alive(folder, asked["started"]):
            now = read_json(folder / PROGRESS)
            return WorkbenchJob(**known, state="running", **{"phase": "starting", **now})
        answer = read_json(folder / ANSWER)
        if answer:
            answer |= {name: tuple(answer.get(name, ())) for name in ("lines", "warnings")}
            return WorkbenchJob(**known, **answer)
        return WorkbenchJob(**known, state="cancelled" if (folder / CANCELLED).exists() else "stopped")

    def _is_alive(self, folder: Path, started: float) -> bool:
        number = folder.name
        process = self._running.get(number)
        if process is None:
            return not (folder / ANSWER).exists() and (
                _is_locked(folder) or 0 <= time.time() - started < _STARTING
            )
        if process.poll() is not None:
            _release(self._running.pop(number))
            return False
        if time.monotonic() - self._cancelled.get(number, time.monotonic()) > _PATIENCE:
            process.kill()
        return True


def _is_locked(folder: Path) -> bool:
    """Return whether a process of another workbench is at work in a folder."""
    try:
        with lock_folder(folder, wait=False):
            return False
    except BlockingIOError:
        return True


def _let_pages_go_first(number: int) -> None:
    """Lower the priority of a process, so that pages are answered while it works."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, number, _NICE)
        # Desktops share the processor among sessions, and each job is one.
        Path(f"/proc/{number}/autogroup").write_text(str(_NICE), encoding="ascii")


def _release(process: subprocess.Popen[bytes]) -> None:
    """Close our end of what a process reads."""
    if process.stdin is not None:
        process.stdin.close()


def read_json(path: Path) -> dict[str, Any]:
    """Return the document of a file; an empty one where there is none."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def argv(task: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the words of the command that does the same as a task; none where there is no such command.

    Examples
    --------
    >>> argv("protect", {"config": "release.toml", "out": "out"})
    ['sequester', 'protect', 'release.toml', '--out', 'out']
    >>> argv("compare", {"config": "a.toml", "set": ["k=2,5"], "write_releases": True})
    ['sequester', 'compare', 'a.toml', '--set', 'k=2,5', '--write-releases']
    """
    if task not in _COMMANDS:
        return []
    command, places, options = _COMMANDS[task]
    given = dict(arguments) | _ALWAYS.get(task, {})
    words = ["sequester", *command.split(), *(_path(str(given[name])) for name in places)]
    for name in options:
        option, value = f"--{name.replace('_', '-')}", given.get(name)
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [word for each in value for word in (option, str(each))]
        elif value not in (None, False):
            words += [option, str(value)]
    return words


def _path(name: str) -> str:
    """Return a name that no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name


_EVERY = 0.2
"""Seconds between two notes about how far the work has come."""


def main(folder: Path) -> None:
    """Run the job of a folder."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Thread(target=_end_with_parent, daemon=True).start()
    collected: list[str] = []
    # Other workbenches see by the lock that it is at work.
    with lock_folder(folder):
        try:
            answer = _run(folder, collected)
        except KeyboardInterrupt:
            answer = {"state": "cancelled"}
        except BaseException as error:  # noqa: BLE001  (polars panics are no Exception)
            answer = _diagnose(error)
        write_file(json.dumps({**answer, "warnings": collected}, default=str).encode(), folder / ANSWER)


def _run(folder: Path, collected: list[str]) -> dict[str, Any]:
    # Loading takes a while, and may be cancelled.
    from sequester.workbench.tasks import TASKS, TaskContext  # noqa: PLC0415

    asked = read_json(folder / JOB)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work = TaskContext(folder=folder, progress=_progress(folder), warn=collected.append)
        result = TASKS[asked["task"]](work, **asked["arguments"])
    return {"state": "done", "result": result}


def _progress(folder: Path) -> Progress:
    noted = -_EVERY

    def report(fraction: float, phase: str) -> None:
        nonlocal noted
        if time.monotonic() - noted >= _EVERY:
            noted = time.monotonic()
            if (folder / CANCELLED).exists():
                raise KeyboardInterrupt
            write_file(json.dumps({"fraction": fraction, "phase": phase}).encode(), folder / PROGRESS)

    return report


def _diagnose(error: BaseException) -> dict[str, Any]:
    """Describe why there is no result, as the command line does."""
    if isinstance(error, UnattainableError):
        return {"state": "refused", "lines": [str(error)], "achieved": error.achieved}
    lines = user_error_lines(error)
    if lines is not None:
        return {"state": "wrong", "lines": lines}
    return {"state": "failed", "lines": [f"{fault_of(error)} (please report it)"]}


def _end_with_parent() -> None:
    with suppress(OSError, ValueError):
        sys.stdin.buffer.read()
    _thread.interrupt_main()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
