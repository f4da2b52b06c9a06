"""What no generalization can help: too few persons, or a protected value that is too common among all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.hierarchies.labels import counted
from sequester.kernels.shares import exceeds_share

if TYPE_CHECKING:
    from sequester._typing import Mask
    from sequester.methods.halt.extraction import Demand
    from sequester.methods.halt.histories import Histories


def too_common(histories: Histories, c: float) -> Mask:
    """Mark the protected values that more than the share `c` of all persons have."""
    return exceeds_share(histories.values.totals, c, histories.n_persons)


def refuse_impossible(
    histories: Histories, is_kept: Mask, demand: Demand, *, drop: bool, has_rules: bool
) -> None:
    """Refuse what no release of the persons who are kept can keep, and name what can be kept.

    Without rules of the schema the release that shows nothing keeps it; with them, it has to be tried.
    """
    n_persons, n_kept = histories.n_persons, int(is_kept.sum())
    above = np.flatnonzero(too_common(histories, demand.c))
    totals = histories.values.totals
    worst = int(above[np.argmax(totals[above])]) if len(above) and not drop else None
    least = None if worst is None else math.ceil(totals[worst] / n_persons * 1e4 - 1e-5) / 1e4
    if demand.k > n_kept:
        persons = counted(n_kept, "person", "persons")
        left = f" that are left when {n_persons - n_kept:,} are left out" if n_kept < n_persons else ""
        problem = f"k = {demand.k:,} is more than the {persons}{left}"
        if has_rules:
            raise UnattainableError(problem)
        with_c = "" if least is None else f", with a c of {least:g} or more"
        hint = f"the largest k that can be kept is {n_kept:,}{with_c}" if n_kept >= 2 else "no k can be kept"
        msg = f"{problem}; {hint}"
        raise UnattainableError(msg, achieved={"k": n_kept} | ({} if least is None else {"c": least}))
    if worst is None or least is None:
        return
    attribute, label = histories.values.names[worst]
    others = f", and {len(above) - 1:,} more are above c" if len(above) > 1 else ""
    problem = (
        f"c = {demand.c:g} cannot be kept: {100 * totals[worst] / n_persons:.2f} % of all persons have "
        f"{attribute} = {label}{others}, whatever is known of them, and no release makes a value rarer than "
        "it is"
    )
    if has_rules:
        raise UnattainableError(problem)
    n_left = int(choose_persons(histories, demand.c).sum())
    dropped = f"{n_persons - n_left:,} {'person' if n_persons - n_left == 1 else 'persons'}"
    instead = f', or infeasible = "drop" leaves out {dropped}' if n_left >= demand.k else ""
    msg = f"{problem}; the smallest c that can be kept is {least:g}{instead}"
    raise UnattainableError(msg, achieved={"c": least})


def choose_persons(histories: Histories, c: float) -> Mask:
    """Keep as many persons as leave no protected value above the share `c`; histories are one per person.

    Of those who have the most common value, the ones go first who have most of the values that are too
    common, then those with the fewest events, then the first.
    """
    values = histories.values
    owners = np.repeat(np.arange(histories.n_rows), np.diff(values.offsets))
    lengths = np.diff(histories.offsets)
    is_kept = np.ones(histories.n_rows, np.bool_)
    while True:
        n_kept = int(is_kept.sum())
        kept_pairs = is_kept[owners]
        totals = np.bincount(values.codes[kept_pairs], minlength=len(values.names))
        above = exceeds_share(totals, c, n_kept)
        if not above.any():
            return is_kept
        worst = int(np.argmax(totals))
        # n_high - d <= c (n - d), and less than c = 1 is asked for, because else nothing is above.
        n_dropped = max(math.ceil((totals[worst] - c * n_kept) / (1 - c) - 1e-6), 1)
        n_bad = np.bincount(owners[kept_pairs & above[values.codes]], minlength=histories.n_rows)
        holders = owners[kept_pairs & (values.codes == worst)]
        order = np.lexsort((holders, lengths[holders], -n_bad[holders]))
        is_kept[holders[order[:n_dropped]]] = False
