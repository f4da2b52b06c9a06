"""A trial run: another process decodes Parquet and Arrow files first.

A damaged or doctored file can make its reader ask for more memory than there is, and the reader then ends the
whole process, without an error that could be caught.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.io import trial_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MOST_ROWS = 2**31 - 1
"""Rows that a table may have; a few bytes of Parquet can claim any number."""


@contextmanager
def trial(
    paths: Sequence[Path], kind: str, *, most_memory: int = 0
) -> Iterator[Callable[[], list[str | None]]]:
    """Start to decode files elsewhere; calling the value waits, and tells what is wrong with each of them.

    Parameters
    ----------
    paths
        Files of one kind.
    kind
        ``Parquet``, ``Arrow`` or ``Arrow stream``.
    most_memory
        Bytes that the other process may reserve; 0 is without a limit.
    """
    command = [sys.executable, "-P", trial_program.__file__, str(MOST_ROWS), str(most_memory), kind]
    # Finding the names of a panic's trace, which nobody will see, would take longer than reading. Every
    # thread reserves memory of its own, which must not depend on the machine.
    environment = os.environ | {"RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "2"}
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        # Where no process can be started, the files are read without a trial.
        yield lambda: [None] * len(paths)
        return
    with process:
        try:
            yield lambda: _answers(process, paths, kind)
        finally:
            process.kill()


def _answers(process: subprocess.Popen[bytes], paths: Sequence[Path], kind: str) -> list[str | None]:
    told, _ = process.communicate(b"\0".join(os.fsencode(path) for path in paths))
    answers = [json.loads(line) for line in told.splitlines()]
    # A process that ended on its own before the first file says nothing about it.
    if len(answers) < len(paths) and (answers or process.returncode < 0):
        answers.append(f"the {kind} file is damaged (reading it ends the process)")
    return answers + [None] * (len(paths) - len(answers))


def refuse_unreadable(paths: Sequence[Path], kind: str) -> None:
    """Refuse files that another process cannot decode, one line each."""
    with trial(paths, kind) as answers:
        lines = [f"{path}: {answer}" for path, answer in zip(paths, answers(), strict=True) if answer]
    if lines:
        raise InputError(*lines)
