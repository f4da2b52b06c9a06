"""Where the work of a command runs, and who is told about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sequester.engine import part, silent
from sequester.errors import ignore_warning

if TYPE_CHECKING:
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """Where work runs, and whom it tells how far it is and what must be known."""

    engine: Engine | None = None
    """Where it runs; None is here."""
    progress: Progress = silent
    """Called with the share of the work that is done, and what is done next."""
    warn: Warn = ignore_warning
    """Called with what the steward must know."""
    announce: Warn = ignore_warning
    """Called with what is good to know before a long step, such as the memory that it will need."""

    def part(self, start: float, end: float) -> RunContext:
        """Return the context of a part of the work, from one share of it to another."""
        return replace(self, progress=part(self.progress, start, end))


SILENT = RunContext()
"""The work runs here, and nobody is told."""
