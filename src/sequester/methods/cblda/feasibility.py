"""What no clustering can help: too few persons, or too many of all of them at risk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.hierarchies.labels import counted
from sequester.kernels.shares import exceeds_share
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.methods.cblda.algorithm import ClassSolution
    from sequester.methods.cblda.clusters import ProtectedValues
    from sequester.release.randomness import Randomness


class Rates:
    """How many of the persons that are left are at risk, for any value or for each."""

    def __init__(self, table: EventTable, values: ProtectedValues, *, each: bool) -> None:
        self.owners, codes = values.of_persons(table.person_offsets)
        self.names: tuple[tuple[str, str] | None, ...] = values.names if each else (None,)
        self.codes: Codes = codes if each else np.zeros(len(codes), np.int32)
        if not each:
            self.owners, first = np.unique(self.owners, return_index=True)
            self.codes = self.codes[first]
        self.is_left: Mask = np.ones(table.n_persons, np.bool_)

    def totals(self) -> Counts:
        """Value to the persons who are left and have it."""
        left = self.is_left[self.owners]
        return np.bincount(self.codes[left], minlength=len(self.names)).astype(np.int64)

    def above(self, c: float) -> Mask:
        """Mark the values that are above the share."""
        return exceeds_share(self.totals(), c, int(self.is_left.sum()))

    def leave_out(self, c: float, randomness: Randomness) -> None:
        """Leave out as few persons as bring every value down to the share; chance chooses among them.

        Persons with more of the values that are too common go first. Who is left out does not depend on
        their quasi-identifiers, and each of them will be covered by a class.
        """
        lots = randomness.numbers("left out", len(self.is_left))
        while (above := self.above(c)).any():
            totals, n_left = self.totals(), int(self.is_left.sum())
            worst = int(np.argmax(totals))
            # n_high - d <= c (n - d); c is below 1, because else nothing is above it.
            n_out = max(math.ceil((totals[worst] - c * n_left) / (1 - c) - 1e-6), 1)
            pairs = self.is_left[self.owners]
            n_bad = np.bincount(self.owners[pairs & above[self.codes]], minlength=len(self.is_left))
            holders = self.owners[pairs & (self.codes == worst)]
            order = np.lexsort((lots[holders], -n_bad[holders]))
            self.is_left[holders[order[:n_out]]] = False


def refuse_impossible(
    table: EventTable, values: ProtectedValues, k: int, c: float, *, each: bool, drop: bool
) -> None:
    """Refuse what no release of the table can keep, and name what can be kept.

    Without rules of the schema one class of everybody keeps it; with them, it has to be tried.
    """
    n_persons = table.n_persons
    rates = Rates(table, values, each=each)
    above = np.flatnonzero(rates.above(c)) if not drop else np.empty(0, np.int64)
    totals = rates.totals()
    worst = int(above[np.argmax(totals[above])]) if len(above) else None
    least = None if worst is None else math.ceil(totals[worst] / n_persons * 1e4 - 1e-5) / 1e4
    if not drop:
        _refuse_few(table, n_persons, k, least=least)
    if worst is None or least is None:
        return
    name = rates.names[worst]
    what = "a protected value" if name is None else f"{name[0]} = {name[1]}"
    others = f", and {len(above) - 1:,} more values are above c" if len(above) > 1 else ""
    problem = (
        f"c = {c:g} cannot be kept: {100 * totals[worst] / n_persons:.2f} % of all persons have "
        f"{what}{others}, and no classes make them fewer"
    )
    if _has_rules(table):
        raise UnattainableError(problem)
    msg = (
        f"{problem}; the smallest c that can be kept is {least:g}, or "
        'infeasible = "drop" leaves out some of them'
    )
    raise UnattainableError(msg, achieved={"c": least})


def choose_persons(
    table: EventTable, values: ProtectedValues, c: float, k: int, *, each: bool, randomness: Randomness
) -> Mask:
    """Mark the persons who are released: all, or as many as leave nothing above the share."""
    rates = Rates(table, values, each=each)
    rates.leave_out(c, randomness)
    _refuse_few(table, int(rates.is_left.sum()), k)
    return rates.is_left


def _refuse_few(table: EventTable, n_left: int, k: int, *, least: float | None = None) -> None:
    if k <= n_left:
        return
    n_out = table.n_persons - n_left
    persons = counted(n_left, "person", "persons")
    problem = f"k = {k:,} is more than the {persons}"
    if n_out:
        problem += f" that are left when {n_out:,} are left out"
    if _has_rules(table):
        raise UnattainableError(problem)
    with_c = "" if least is None else f", with a c of {least:g} or more"
    hint = f"the largest k that can be kept is {n_left:,}{with_c}" if n_left >= 2 else "no k can be kept"
    msg = f"{problem}; {hint}"
    raise UnattainableError(msg, achieved={"k": n_left} | ({} if least is None else {"c": least}))


def _has_rules(table: EventTable) -> bool:
    return any(each.max_level is not None or each.never_suppress for each in table.schema.quasi.values())


def refuse_broken_rules(table: EventTable, solution: ClassSolution) -> None:
    """Refuse classes that show nothing, or that do to a value what it must never suffer."""
    lengths = np.bincount(
        owners_of(table.person_offsets)[solution.is_kept],
        minlength=table.n_persons,
    )
    if table.of_persons:
        # The first event holds the person's attributes, without which nobody is released.
        lengths = solution.is_kept[table.person_offsets[:-1]].astype(np.int64)
    if (lengths == 0).any():
        capped = [name for name, quasi in table.schema.quasi.items() if quasi.max_level is not None]
        n_empty = int((lengths == 0).sum())
        what = "attributes" if table.of_persons else "events"
        msg = (
            f"{n_empty:,} of {table.n_persons:,} persons would lose all their {what}, because max_level of "
            f"{', '.join(capped) or 'no column'} and never_suppress keep values apart"
        )
        raise UnattainableError(msg)
    for quasi, name in enumerate(solution.trees.names):
        labels = table.sequences.codebooks[name].labels
        kept = table.schema.quasi[name].never_suppress
        must_stay = np.array([*(label in kept for label in labels), False], np.bool_)
        must_stay = must_stay[table.sequences.columns[name]]
        is_root = solution.shown[:, quasi] == solution.trees.first[quasi]
        broken = np.flatnonzero(must_stay & (~solution.is_kept | is_root))
        if len(broken):
            label = labels[table.sequences.columns[name][broken[0]]]
            msg = (
                f"never_suppress of {name} cannot be kept: {label!r} would be suppressed, "
                f"{len(broken):,} times, first in row {table.rows[broken[0]]:,}"
            )
            raise UnattainableError(msg)
