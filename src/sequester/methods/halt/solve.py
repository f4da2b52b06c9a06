"""From a table and a demand to what is released instead of each value."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
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
from sequester.methods.relax import first_step, largest
from sequester.methods.relax_hierarchies import rule_relaxations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.elimination import Rules
    from sequester.methods.halt.extraction import Demand
    from sequester.methods.relax import RelaxationPath


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
    is_kept = choose_persons(everybody, demand.c) if drop else np.ones(table.n_persons, np.bool_)
    has_rules = any(each.max_level is not None or each.never_suppress for each in table.schema.quasi.values())
    refuse_impossible(everybody, is_kept, demand, drop=drop, has_rules=has_rules)
    kept = everybody.take(np.flatnonzero(is_kept))
    histories, _ = kept.fold()
    rules = rules_of(table, axes, histories, suppress=suppress, stars=stars)
    costs = Costs(histories, axes, tuple(quasi.weight for quasi in table.schema.quasi.values()))
    workload = Workload(histories, axes, mixed=demand.mixed)
    workload.refuse_too_much(demand.p)
    search = Search(
        _elimination(histories, axes, demand, rules, costs, engine), workload, part(progress, 0.1, 0.9)
    )
    found = search.full() if full else search.greedy()
    if isinstance(found, Obstacle):
        progress(0.9, "looking for what could be kept")

        def can_keep(other: Demand, allowed: Rules = rules) -> bool:
            elimination = _elimination(histories, axes, other, allowed, costs, engine)
            return isinstance(Search(elimination, workload).top(), Draft)

        def can_allow(path: RelaxationPath, place: int) -> bool:
            changed = path.at(None, table, path.steps[place])[1]
            return can_keep(demand, rules_of(changed, axes, histories, suppress=suppress, stars=stars))

        allowed = {path: first_step(path, partial(can_allow, path)) for path in rule_relaxations(table)}
        raise _refusal(
            demand, found, can_keep, {each: place for each, place in allowed.items() if place is not None}
        )
    progress(0.9, "writing down what is released")
    return Solution.of(table, search.elimination, found, is_kept, skipped=bool(search.skipped))


def _elimination(
    histories: Histories, axes: Axes, demand: Demand, rules: Rules, costs: Costs, engine: Engine
) -> Elimination:
    extraction = Extraction(histories, axes, demand, engine)
    return Elimination(histories, extraction, costs, rules, engine)


def _refusal(
    demand: Demand,
    obstacle: Obstacle,
    can_keep: Callable[[Demand], bool],
    allowed: Mapping[RelaxationPath, int],
) -> UnattainableError:
    """Say that what the schema asks for stands in the way, and which smaller promise or rule does not.

    All of them were tried.
    """
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
    could = [f"{name} = {value:g}" for name, value in nearest.items()]
    for path, place in allowed.items():
        step = path.steps[place]
        could.append(path.setting(step))
        if isinstance(step, int):
            nearest[path.parameter] = step
    why = "" if obstacle.reason is None else f": {obstacle.reason.channel}, and nothing may be done about it"
    hint = (
        f"{' or '.join(could)} could be kept"
        if could
        else "no smaller k or p, no larger c, and no rule less could be kept either"
    )
    msg = (
        f"k = {demand.k:,}, c = {demand.c:g}, p = {demand.p:,} cannot be kept with the given max_level and "
        f"never_suppress{why}; {hint}"
    )
    return UnattainableError(msg, achieved=nearest)
