"""The command line: one file per group of commands, and one place that turns errors into exit codes."""

from __future__ import annotations

# Nothing heavy stands here: until `main` listens, Ctrl-C is Python's, and Python dies of it.
import sys
from typing import TYPE_CHECKING

from sequester.cli.exits import INTERRUPTED, Interrupts, end_process

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``sequester ARGV`` and return the exit code; no exception leaves.

    Without `argv` this is the command of the process, and an interrupt ends the process here.
    """
    interrupts = Interrupts(last=argv is None)
    try:
        with interrupts:
            # Loading takes a while, and may be interrupted.
            from sequester.cli.run import run  # noqa: PLC0415

            code = run(sys.argv[1:] if argv is None else argv, interrupts)
    except BaseException:
        if not interrupts.came:
            raise
        # Before there was anybody to explain it.
        if sys.stderr is not None:
            sys.stderr.write("error: interrupted; nothing was written\n")
        code = INTERRUPTED
    if argv is None and (interrupts.came or code == INTERRUPTED):
        end_process(code)
    return code
