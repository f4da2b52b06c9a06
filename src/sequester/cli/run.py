"""Run a command, and turn errors into messages and exit codes."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sequester._version import __version__
from sequester.cli.exits import DONE, INTERNAL_ERROR, INTERRUPTED, NOT_SATISFIED, USAGE_ERROR
from sequester.cli.terminal import Terminal, describe_output, discard_unwritten, replace_closed
from sequester.errors import InputError, SchemaError, UnattainableError, fault_of, user_error_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester.cli.exits import Interrupts


def run(argv: Sequence[str], interrupts: Interrupts) -> int:
    """Run ``sequester ARGV`` and return the exit code; no exception leaves."""
    arguments = list(argv)
    replace_closed()
    terminal = Terminal(as_json="--json" in arguments)
    try:
        with _stoppable(), terminal.open():
            # Loading the commands may be interrupted too, so it happens in here.
            from sequester.cli.app import run  # noqa: PLC0415

            code = run(arguments)
            sys.stdout.flush()
            return code
    except BaseException as error:  # noqa: BLE001  (polars panics are no Exception)
        return _explain(KeyboardInterrupt() if interrupts.came else error, terminal)


def _explain(error: BaseException, terminal: Terminal) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else DONE
    code, lines = _diagnose(error)
    try:
        terminal.refuse(code, lines)
        for note in error.notes if isinstance(error, SchemaError) else ():
            terminal.say(note)
    except (OSError, InputError):
        pass  # nobody takes the answer; the code says enough
    discard_unwritten(sys.stdout)
    return code


def _diagnose(error: BaseException) -> tuple[int, tuple[str, ...]]:
    """Return the exit code, and the lines that explain it."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, (f"interrupted; {describe_output()}",)
        case UnattainableError():
            return NOT_SATISFIED, (str(error),)
        case BrokenPipeError():
            return DONE, ()
    lines = user_error_lines(error)
    if lines is not None:
        return USAGE_ERROR, lines
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    about = f"(please report it, with the command; sequester {__version__}, {python}, {sys.platform})"
    return INTERNAL_ERROR, (f"{fault_of(error)}; {describe_output()} {about}",)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Take a request to end (SIGTERM) as an interrupt, so that everything cleans up behind itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        # What must not be cut in two holds Ctrl-C back, so this takes the same way.
        if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
