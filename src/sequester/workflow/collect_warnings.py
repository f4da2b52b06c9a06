"""Collect the warnings of a run, and pass each on once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from sequester.errors import SequesterWarning

if TYPE_CHECKING:
    from collections.abc import Iterator


Warn = Callable[[str], None]
"""Called with each thing that a steward must know and that does not stop the run."""


@contextmanager
def collect_warnings(warn: Warn) -> Iterator[list[str]]:
    """Call `warn` with each warning of ours as it comes, and keep it in the list.

    Examples
    --------
    >>> with collect_warnings(print) as heard:
    ...     warnings.warn("a short seed", SequesterWarning)
    ...     warnings.warn("a short seed", SequesterWarning)
    a short seed
    >>> heard
    ['a short seed']
    """
    heard: list[str] = []
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, SequesterWarning):
                others(message, category, filename, lineno, file, line)
            elif str(message) not in heard:
                heard.append(str(message))
                warn(str(message))

        warnings.simplefilter("always", SequesterWarning)
        warnings.showwarning = show
        yield heard


def ignore_warning(line: str) -> None:
    """Leave a warning to the list of those that were heard."""
