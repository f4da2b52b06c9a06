"""Answers on stdout; messages and the progress bar on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, TextIO

from sequester.cli.exits import NOT_SATISFIED
from sequester.errors import InputError, ignore_warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from rich.progress import Progress as RichProgress

    from sequester.engine import Progress
    from sequester.workflow.run import RunContext


_made: list[str] = []
"""What this run has put in its place; there is one run at a time."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """One run's way to speak."""

    as_json: bool = False
    """Exactly one JSON document goes to stdout."""
    quiet: bool = False
    """No progress."""

    @property
    def may_ask(self) -> bool:
        """Somebody is there to answer questions."""
        return not self.as_json and not self.quiet and sys.stdin.isatty() and sys.stderr.isatty()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Show letters that the terminal does not know as escapes; warnings come as lines, from the jobs."""
        _made.clear()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def answer(
        self, document: Mapping[str, Any], lines: Iterable[str], *, made: object | None = None
    ) -> None:
        """Return the answer of a command: the document under ``--json``, the lines otherwise.

        `made` is the file or folder that the command has put in its place, whatever becomes of the answer.
        """
        if made is not None:
            _made.append(str(made))
        text = (
            json.dumps(document, ensure_ascii=False, indent=2)
            if self.as_json
            else "\n".join(map(plain, lines))
        )
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            if not _made:
                raise
            msg = f"cannot write the answer: {error.strerror}; {describe_output()}"
            raise InputError(msg) from None

    def begin(self, lines: Iterable[str], progress: Progress) -> None:
        """Print the first lines of an answer while the work goes on; not under ``--json``."""
        if not self.as_json:
            if isinstance(progress, ProgressBar):
                progress.hide()
            self.answer({}, lines)

    def say(self, line: str) -> None:
        """Write something in passing."""
        write_stderr(plain(line) + "\n")

    def warn(self, line: str) -> None:
        """Write something that does not stop the run but must be known."""
        self.say(f"warning: {line}")

    def refuse(self, code: int, lines: Iterable[str]) -> None:
        """Explain why there is no answer, one line per problem."""
        lines = [part for line in lines for part in line.split("\n")]
        for line in lines:
            self.say(f"error: {line}")
        if self.as_json and lines:
            met = {"holds": False} if code == NOT_SATISFIED else {}
            self.answer({**met, "errors": lines, "exit": code}, ())

    @contextmanager
    def progress(self, method: str = "", *commands: str) -> Iterator[Progress]:
        """Show how far the work has come, and say once if kernels have to be compiled first, and how long.

        `commands` are those of `method` whose kernels may be compiled.
        """
        # Loaded here so that --help need not wait for them.
        from sequester import kernels  # noqa: PLC0415
        from sequester.engine import silent  # noqa: PLC0415

        if self.quiet:
            yield silent
            return
        stop_listening = kernels.on_compilation(lambda: self.say(_announcement(method, commands)))
        try:
            with ProgressBar() as bar:
                yield bar
        finally:
            stop_listening()

    @contextmanager
    def work(self, address: str | None, method: str = "", *commands: str) -> Iterator[RunContext]:
        """Open the workers of an address, if there is one; show how far the work has come, and warnings."""
        # Loaded here so that --help need not wait for numpy.
        from sequester.engine.address import open_engine  # noqa: PLC0415
        from sequester.workflow.run import RunContext  # noqa: PLC0415

        announce = ignore_warning if self.quiet else self.say
        opened = nullcontext() if address is None else open_engine(address, announce=announce)
        with opened as engine, self.progress(method, *commands) as progress:
            yield RunContext(engine=engine, progress=progress, warn=self.warn, announce=announce)

    @contextmanager
    def resumable(self, place: Path | None, line: str, *, made: str | None = None) -> Iterator[None]:
        """Print how an interrupted run can be resumed, where `place` exists by then.

        `made` is what is whole and in its place although there is no answer.
        """
        try:
            yield
        except KeyboardInterrupt:
            if place is not None and place.exists():
                self.say(line)
                _made.extend([] if made is None else [made])
            raise


def _announcement(method: str, commands: Sequence[str]) -> str:
    # A kernel is being compiled, so that numba is loaded already.
    from sequester.kernels import compile_times, compiler  # noqa: PLC0415

    return compile_times.announce(
        method, commands, root=compiler.code_folder(), kept=compiler.figures_folder()
    )


def describe_output() -> str:
    """Describe what the run has left, where it did not come to its end."""
    return f"{', '.join(_made)} is complete and in place" if _made else "nothing was written"


def plain(line: str) -> str:
    r"""Write a line so that no label in it can break or recolour it.

    Examples
    --------
    >>> plain("column 'a\tb'\x1b[2J")
    "column 'a\\tb'\\x1b[2J"
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line
    )


def levels(achieved: Mapping[str, float]) -> str:
    """Write what is achieved.

    Examples
    --------
    >>> levels({"k": 6, "c": 0.5})
    'k = 6, c = 0.5'
    """
    return ", ".join(f"{name} = {value:g}" for name, value in achieved.items())


PATIENCE = 2.0
"""Seconds before anything is shown."""
_EVERY, _RARELY = 10.0, 60.0
"""Seconds between two lines about one phase: the more work there was, the fewer lines, between these bounds.
A new phase waits half as long."""
_KNOWN = 0.02
"""Below this share of the work, a guess at the time left would be noise."""
_SETTLED = 4.5
"""Seconds before a guess at the time left: what comes first is quick, and says little about what follows."""
_STALLED = 10.0
"""Seconds without a step after which what is left takes longer than the work so far tells."""
_TASKS = re.compile(r"(: )?[\d,]+ of [\d,]+ tasks, [\d,.]+ MB sent$")
"""How far the workers of an engine have come with a phase: it changes with every task, the phase does not."""


class ProgressBar:
    """A `Progress` that shows itself: drawn on a terminal, as plain lines elsewhere."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._fraction, self._phase = 0.0, ""
        self._moved = self._started
        self._expected: float | None = None
        self._risen = ""
        self._slow: set[str] = set()
        self._said = (-_EVERY, "")
        self._done, self._lock = Event(), Lock()
        self._rich: RichProgress | None = None
        self._task: Any = None
        self._ticker = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> ProgressBar:
        self._ticker.start()
        return self

    def __call__(self, fraction: float, phase: str) -> None:
        """Record how far the work has come."""
        if fraction != self._fraction:
            self._moved = time.monotonic()
        self._fraction, self._phase = fraction, phase

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._ticker.join()
        self.hide()

    def hide(self) -> None:
        """Take the drawing off the terminal, until there is something new to show."""
        with self._lock:
            if self._rich is not None:
                self._rich.stop()
                self._rich = None

    def _tick(self) -> None:
        pause = PATIENCE
        while not self._done.wait(pause):
            pause = 0.2
            self.show()

    def show(self) -> None:
        """Show how far the work has come now."""
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
        when, said = self._said
        phase = _TASKS.sub("", self._phase)
        pause = min(max(_EVERY, elapsed / 10), _RARELY)
        if self._phase and self._fraction < 1 and elapsed - when >= (pause if phase == said else pause / 2):
            self._said = (elapsed, phase)
            left = self._left()
            why = f" (longer than expected: {self._risen})" if self._risen else ""
            self._risen = ""
            write_stderr(f"{self._fraction:4.0%} {self._phase}{left and ', '}{left}{why}\n")

    def _left(self) -> str:
        """Estimate the time left, and remember which phase made it rise; empty while nothing is known."""
        now = time.monotonic()
        if self._fraction < _KNOWN:
            return "time left unknown"
        if now - self._started < _SETTLED:
            return ""
        left = (now - self._started) * (1 - self._fraction) / self._fraction
        if now - self._moved > _STALLED:
            return f"about {duration(left)} left or more"
        end = now + left
        if self._expected is not None and end > self._expected + max(0.5 * left, 10.0):
            phase, self._expected = _TASKS.sub("", self._phase), end
            self._risen = "" if phase in self._slow else phase
            self._slow.add(phase)
        self._expected = end if self._expected is None else min(self._expected, end)
        return f"about {duration(left)} left"


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


def replace_closed() -> None:
    """Put a stream that leads nowhere in the place of one that was closed before the start."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  (for as long as the process)


def write_stderr(text: str) -> None:
    """Write to stderr; where that fails, nobody reads it, and the work goes on."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        discard_unwritten(sys.stderr)


def discard_unwritten(stream: TextIO) -> None:
    """Keep Python from trying again, at its end, what the other side of a pipe or a full disk refused."""
    try:
        stream.flush()
    except (OSError, ValueError):
        try:
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123
                os.dup2(nowhere.fileno(), stream.fileno())
        except (OSError, ValueError):
            return  # closed, or no file: there is nothing to try again
