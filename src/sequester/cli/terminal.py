"""What the steward sees: answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester.cli.exits import UNMET
from sequester.cli.streams import mention
from sequester.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sequester.engine import Progress


_made: list[str] = []
"""What this run has put in its place; there is one run at a time."""


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
        """Give the answer of a command: the document under ``--json``, the lines otherwise.

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
            msg = f"cannot write the answer: {error.strerror}; {in_place()}"
            raise InputError(msg) from None

    def keep(self, what: object) -> None:
        """Note what is whole and in its place, also if the run is stopped before its answer."""
        _made.append(str(what))

    def say(self, line: str) -> None:
        """Tell something in passing."""
        mention(plain(line) + "\n")

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


def in_place() -> str:
    """Say what the run has left, where it did not come to its end."""
    return f"{', '.join(_made)} is complete and in place" if _made else "nothing was written"


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
