"""From a table and a demand to what is released instead of each value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import part
from sequester.errors import UnattainableError
from sequester.methods.halt.axes import Axes
from sequester.methods.halt.costs import Costs
from sequester.methods.halt.elimination import Draft, Elimination, Obstacle
from sequester.methods.halt.extraction import Extraction
from sequester.methods.halt.feasibility import choose_persons, refuse_impossible
from sequester.methods.halt.histories import Histories
from sequester.methods.halt.lattice_search import Search
from sequester.methods.halt.rules import rules_of
from sequester.methods.halt.solution import Solution
from sequester.methods.halt.workload import Workload
from sequester.methods.p2ka.advice import largest

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.elimination import Rules
    from sequester.methods.halt.extraction import Demand


def solve(
    table: EventTable,
    demand: Demand,
    *,
    suppress: bool,
    stars: bool,
    full: bool,
    drop: bool,
    engine: Engine,
    progress: Progress,
) -> Solution:
    """Find what to release, or say why nothing can be.

    Parameters
    ----------
    table
        What to protect.
    demand
        What makes a channel.
    suppress
        Values may be suppressed, and not only generalized.
    stars
        A suppressed cell is an item of its own.
    full
        Search the whole lattice, and not only downwards along the best child.
    drop
        Leave out persons where a protected value is too common among all of them.
    engine
        Runs searches side by side.
    progress
        Hears of the phases.
    """
    progress(0.0, "folding equal histories")
    axes = Axes.of(table)
    everybody = Histories.of(table, axes)
    refuse_impossible(everybody, demand, drop=drop)
    is_kept = choose_persons(everybody, demand.c) if drop else np.ones(table.n_persons, np.bool_)
    kept = everybody.take(np.flatnonzero(is_kept))
    refuse_impossible(kept, demand, drop=False)
    histories, _ = kept.fold()
    rules = rules_of(table, axes, histories, suppress=suppress, stars=stars)
    costs = Costs(histories, axes, tuple(quasi.weight for quasi in table.schema.quasi.values()))
    workload = Workload(histories, axes)
    workload.refuse_too_much(demand.p)
    search = Search(
        _elimination(histories, axes, demand, rules, costs, engine), workload, part(progress, 0.1, 0.9)
    )
    found = search.full() if full else search.greedy()
    if isinstance(found, Obstacle):
        progress(0.9, "looking for what could be kept")
        raise _refusal(
            demand,
            found,
            lambda other: isinstance(
                Search(_elimination(histories, axes, other, rules, costs, engine), workload).top(), Draft
            ),
        )
    progress(0.9, "writing down what is released")
    return Solution.of(table, search.elimination, found, is_kept, skipped=bool(search.skipped))


def _elimination(
    histories: Histories, axes: Axes, demand: Demand, rules: Rules, costs: Costs, engine: Engine
) -> Elimination:
    extraction = Extraction(histories, axes, demand, engine)
    return Elimination(histories, extraction, costs, rules, engine)


def _refusal(demand: Demand, obstacle: Obstacle, can_keep: Callable[[Demand], bool]) -> UnattainableError:
    """Say that what the schema asks for stands in the way, and which smaller promise does not."""
    nearest: dict[str, float] = {}
    k = largest(2, demand.k - 1, lambda k: can_keep(replace(demand, k=k)))
    if k is not None:
        nearest["k"] = k
    percent = largest(
        0, 99 - int(100 * demand.c), lambda less: can_keep(replace(demand, c=(100 - less) / 100))
    )
    if percent is not None:
        nearest["c"] = (100 - percent) / 100
    p = largest(1, demand.p - 1, lambda p: can_keep(replace(demand, p=p)))
    if p is not None:
        nearest["p"] = p
    why = "" if obstacle.reason is None else f": {obstacle.reason.channel}, and nothing may be done about it"
    hint = (
        f"{' or '.join(f'{name} = {value:g}' for name, value in nearest.items())} could be kept"
        if nearest
        else "no smaller k or p, and no larger c, could be kept either"
    )
    msg = (
        f"k = {demand.k:,}, c = {demand.c:g}, p = {demand.p:,} cannot be kept with the given max_level and "
        f"never_suppress{why}; {hint}"
    )
    return UnattainableError(msg, achieved=nearest)
