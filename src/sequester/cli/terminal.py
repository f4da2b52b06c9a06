"""What the steward sees: answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester.cli.exits import UNMET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sequester.engine import Progress


@dataclass(frozen=True, slots=True)
class Terminal:
    """One run's way to speak."""

    as_json: bool = False
    """Exactly one JSON document goes to stdout."""
    quiet: bool = False
    """No progress."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Show letters that the terminal does not know as escapes; warnings come as lines, from the jobs."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def answer(self, document: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Give the answer of a command: the document under ``--json``, the lines otherwise."""
        text = (
            json.dumps(document, ensure_ascii=False, indent=2)
            if self.as_json
            else "\n".join(map(plain, lines))
        )
        sys.stdout.write(text + "\n")

    def say(self, line: str) -> None:
        """Tell something in passing."""
        sys.stderr.write(plain(line) + "\n")
        sys.stderr.flush()

    def warn(self, line: str) -> None:
        """Tell something that does not stop the run but must be known."""
        self.say(f"warning: {line}")

    def refuse(self, code: int, lines: Iterable[str]) -> None:
        """Tell why there is no answer, one line per problem."""
        lines = [part for line in lines for part in line.split("\n")]
        for line in lines:
            self.say(f"error: {line}")
        if self.as_json and lines:
            met = {"holds": False} if code == UNMET else {}
            self.answer({**met, "errors": lines, "exit": code}, ())

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Show how far the work has come, and say once when kernels have to be compiled first."""
        # Loaded here so that --help need not wait for them.
        from sequester import kernels  # noqa: PLC0415
        from sequester.cli.progress import COMPILING, Bar  # noqa: PLC0415
        from sequester.engine import silent  # noqa: PLC0415

        if self.quiet:
            yield silent
            return
        forget = kernels.on_compilation(lambda: self.say(COMPILING))
        try:
            with Bar() as bar:
                yield bar
        finally:
            forget()


def plain(line: str) -> str:
    r"""Write a line so that no label in it can break or recolour it.

    Examples
    --------
    >>> plain("column 'a\tb'\x1b[2J")
    "column 'a\\tb'\\x1b[2J"
    """
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in line)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def levels(achieved: Mapping[str, float]) -> str:
    """Write what is achieved.

    Examples
    --------
    >>> levels({"k": 6, "c": 0.5})
    'k = 6, c = 0.5'
    """
    return ", ".join(f"{name} = {value:g}" for name, value in achieved.items())
