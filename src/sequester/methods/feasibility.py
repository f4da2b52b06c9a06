"""Who can be released at all: what no release of a table can keep, and whom to leave out so that one can."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.hierarchies.labels import counted
from sequester.kernels.shares import exceeds_share, least_removed

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable


def has_rules(table: EventTable) -> bool:
    """Return whether a quasi-identifier has a `max_level` or values that are never suppressed."""
    return any(each.max_level is not None or each.never_suppress for each in table.schema.quasi.values())


@dataclass(frozen=True, eq=False)
class Holders:
    """Which persons have which protected values, as pairs in the order of persons."""

    owners: Counts
    """The person of each pair."""
    values: Codes
    """Their protected value, as a place in `names`."""
    names: tuple[tuple[str, str] | None, ...]
    """Attribute and label of each value; None stands for any protected value."""
    n_persons: int
    """Persons, with protected values or without."""

    def choose_persons(
        self, k: int, c: float, *, drop: bool, has_rules: bool, order: Counts | np.ndarray
    ) -> Mask:
        """Mark who can be released to at least `k` persons and at most the share `c`, or name what can be.

        No generalization helps against too few persons, or a protected value that is too common among all:
        who has it is left out with `drop`, and otherwise nothing is feasible. Where a schema has rules, what
        can be kept instead has to be tried.
        """
        is_kept = self._most(c, order)
        above = np.flatnonzero(exceeds_share(self._totals, c, self.n_persons))
        n_kept = int(is_kept.sum()) if drop else self.n_persons
        worst = None if drop or not len(above) else int(above[np.argmax(self._totals[above])])
        share = 0.0 if worst is None else self._totals[worst] / self.n_persons
        least = {} if worst is None else {"c": math.ceil(share * 1e4 - 1e-5) / 1e4}
        if k > n_kept:
            n_out = self.n_persons - n_kept
            left = f" that are left when {n_out:,} are left out" if n_out else ""
            problem = f"k = {k:,} is more than the {counted(n_kept, 'person', 'persons')}{left}"
            with_c = f", with a c of {least['c']:g} or more" if least else ""
            most = f"the largest k that can be kept is {n_kept:,}{with_c}"
            hint, achieved = most if n_kept >= 2 else "no k can be kept", {"k": n_kept, **least}
        elif worst is not None:
            name = self.names[worst]
            what = "a protected value" if name is None else f"{name[0]} = {name[1]}"
            others = counted(len(above) - 1, "more value is", "more values are")
            others = f", and {others} above c" if len(above) > 1 else ""
            problem = (
                f"c = {c:g} cannot be kept: {100 * share:.2f}% of all persons have {what}{others}, which "
                "coarser values cannot change"
            )
            n_left = int(is_kept.sum())
            dropped = counted(self.n_persons - n_left, "person", "persons")
            instead = f', or infeasible = "drop" leaves out {dropped}' if n_left >= k else ""
            hint, achieved = f"the smallest c that can be kept is {least['c']:g}{instead}", least
        else:
            return is_kept
        if has_rules:
            raise UnattainableError(problem)
        msg = f"{problem}; {hint}"
        raise UnattainableError(msg, achieved=achieved)

    @property
    def _totals(self) -> Counts:
        """Value to the persons who have it."""
        return np.bincount(self.values, minlength=len(self.names))

    def _most(self, c: float, order: Counts | np.ndarray) -> Mask:
        """Keep as many persons as leave no value above the share `c`.

        Of those who have the most common value, the ones go first who have most of the values that are too
        common, then those who come first by `order`.
        """
        is_kept = np.ones(self.n_persons, np.bool_)
        while True:
            n_kept, pairs = int(is_kept.sum()), is_kept[self.owners]
            totals = np.bincount(self.values[pairs], minlength=len(self.names))
            above = exceeds_share(totals, c, n_kept)
            if not above.any():
                return is_kept
            worst = int(np.argmax(totals))
            # c is below 1, because else nothing is above it.
            n_out = max(least_removed(totals[worst], c, n_kept), 1)
            n_bad = np.bincount(self.owners[pairs & above[self.values]], minlength=self.n_persons)
            holders = self.owners[pairs & (self.values == worst)]
            first = np.lexsort((order[holders], -n_bad[holders]))[:n_out]
            is_kept[holders[first]] = False
