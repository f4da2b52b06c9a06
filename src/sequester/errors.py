"""What can go wrong, by who has to act."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class SequesterError(Exception):
    """The base of everything that sequester raises on purpose."""


class InputError(SequesterError):
    """Yours to fix: each line of the message names one problem.

    Examples
    --------
    >>> error = InputError("column 'age' has no role", "column 'zip' has no role")
    >>> error.lines
    ("column 'age' has no role", "column 'zip' has no role")
    >>> print(error)
    column 'age' has no role
    column 'zip' has no role
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class SchemaError(InputError):
    """The table and its roles do not fit together.

    `notes` are warnings and remarks that were found beside the problems; a traceback shows them too.

    Examples
    --------
    >>> SchemaError("column 'age' has no role", notes=["warning: rows repeat"]).notes
    ('warning: rows repeat',)
    """

    def __init__(self, *lines: str, notes: Iterable[str] = ()) -> None:
        super().__init__(*lines)
        self.notes = tuple(notes)
        for note in self.notes:
            self.add_note(note)


class HierarchyError(InputError):
    """A hierarchy is no tree, or does not cover its column."""


class ParameterError(InputError):
    """A parameter is outside its range."""


class UnattainableError(SequesterError):
    """No release satisfies the model here; `achieved` is the best level that could be reached.

    Where it is not given, nobody has looked for it yet, and `is_settled` is false.
    """

    def __init__(self, message: str, *, achieved: Mapping[str, float] | None = None) -> None:
        super().__init__(message)
        self.achieved = dict(achieved or {})
        self.is_settled = achieved is not None


class NothingNewError(UnattainableError):
    """Everything new in a part of a series has to be held back; the series stays as it was."""


class InternalError(SequesterError):
    """Ours: an invariant broke; `fault` names it and its line where that was in another process."""

    def __init__(self, message: str, *, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


def where_raised(error: BaseException) -> str:
    """Return the innermost line of sequester that an error went through, such as ``sequester/a.py:3``."""
    package, place, traceback = Path(__file__).parent, "an unknown place", error.__traceback__
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            place = f"sequester/{file.relative_to(package).as_posix()}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def fault_of(error: BaseException) -> str:
    """Return name and place of an internal error; what it says may hold raw data, so it is left out."""
    fault = error.fault if isinstance(error, InternalError) else ""
    return f"internal error: {fault or f'{type(error).__name__} at {where_raised(error)}'}"


_OS_ERROR = re.compile(r"([^:\s][^:]*?) \(os error \d+\)")


def system_reason(error: BaseException) -> str | None:
    """Return what the system says went wrong, such as a full disk; None where it says nothing.

    Examples
    --------
    >>> system_reason(OSError(28, "No space left on device"))
    'No space left on device'
    >>> system_reason(OSError("parts/1.arrow: No space left on device (os error 28)"))  # as polars raises it
    'No space left on device'
    """
    words = _OS_ERROR.search(str(error))
    return getattr(error, "strerror", None) or (words[1] if words else None)


def user_error_lines(error: BaseException) -> tuple[str, ...] | None:
    """Return the lines about an error that is the user's to solve; None where it is ours.

    Examples
    --------
    >>> user_error_lines(ParameterError("k must be at least 2, got 1"))
    ('k must be at least 2, got 1',)
    >>> user_error_lines(FileNotFoundError(2, "No such file", "a.csv")), user_error_lines(ValueError())
    (('cannot use a.csv: No such file',), None)
    """
    match error:
        case InputError():
            return error.lines
        case MemoryError():
            return ("there is not enough memory for this",)
        case OSError():
            reason = system_reason(error) or type(error).__name__
            about = f"cannot use {error.filename}" if error.filename else "cannot go on"
            return (f"{about}: {reason}",)
    return None


class SequesterWarning(UserWarning):
    """Something a steward must know, and that does not stop the run."""


Warn = Callable[[str], None]
"""Called with each line that a steward must know and that does not stop the run."""


def issue_warning(line: str) -> None:
    """Issue a `SequesterWarning` at the line that called the function which warns."""
    warnings.warn(line, SequesterWarning, stacklevel=3)


def ignore_warning(line: str) -> None:
    """Leave a warning to the result, which has it as well."""


class WarningCollector:
    """Collects the warnings of a run: each once, in order, and passed on as it comes.

    Examples
    --------
    >>> collector = WarningCollector(print)
    >>> collector("a short seed", "a short seed")
    a short seed
    >>> collector.lines
    ('a short seed',)
    """

    def __init__(self, warn: Warn = ignore_warning) -> None:
        self._warn = warn
        self._lines: dict[str, None] = {}

    def __call__(self, *lines: str) -> None:
        """Take warnings; those that are known already are not passed on again."""
        for line in lines:
            if line not in self._lines:
                self._lines[line] = None
                self._warn(line)

    @property
    def lines(self) -> tuple[str, ...]:
        """All warnings so far."""
        return tuple(self._lines)
