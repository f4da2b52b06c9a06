"""Runs a method again, as long as there is time, and tells what is lost then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester.engine import LocalEngine, silent
from sequester.errors import InputError, UnattainableError
from sequester.explanation.lost import lost_parts
from sequester.methods.nearest import run_until

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.ladder import Ladder
    from sequester.methods.method import Method


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One table, one method, and whatever is asked less of."""

    method: Method
    """As the release was made."""
    table: EventTable
    """What it is tried on."""
    seed: str
    """Everything random comes from it, as in the release."""
    progress: Progress
    """Hears that something is going on."""
    _seen: dict[tuple[str, int], Counts | None] = field(default_factory=dict)

    def lost(self, method: Method, table: EventTable, *, deadline: float) -> Counts:
        """Run a method, and number the parts that it loses.

        Raises
        ------
        TimeUpError
            When the deadline has passed.
        """
        outcome = run_until(deadline, method, table, seed=self.seed, engine=LocalEngine(), phase=silent)
        return lost_parts(outcome.changes, table.hierarchies, harmless=method.harmless)

    def at(self, ladder: Ladder, place: int, *, deadline: float) -> Counts | None:
        """Number the parts that a step of a ladder loses; None where it cannot be kept either."""
        key = ladder.parameter, place
        if key not in self._seen:
            self.progress(0.0, f"trying {ladder.parameter}{ladder.equals}{ladder.words(ladder.steps[place])}")
            method, table = ladder.at(self.method, self.table, ladder.steps[place])
            try:
                self._seen[key] = self.lost(method, table, deadline=deadline)
            except (UnattainableError, InputError):
                self._seen[key] = None
        return self._seen[key]

    def tried(self, ladder: Ladder) -> list[int]:
        """List the steps of a ladder that were tried."""
        return sorted(place for parameter, place in self._seen if parameter == ladder.parameter)
