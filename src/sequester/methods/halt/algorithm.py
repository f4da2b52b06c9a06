"""From a table and thresholds to the draft that is released, or to the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.engine import part, silent
from sequester.errors import UnattainableError
from sequester.methods.feasibility import Holders, has_rules
from sequester.methods.halt.elimination import (
    Elimination,
    JointElimination,
    LatticeCosts,
    Obstacle,
    ValueRules,
)
from sequester.methods.halt.extraction import Extraction, WorkBudget
from sequester.methods.halt.histories import HIDDEN, QuasiIdentifiers, Target, WeightedRows
from sequester.methods.halt.lattice_search import LatticeSearch, Workload
from sequester.methods.halt.local import LocalElimination
from sequester.methods.prices import price_nodes
from sequester.methods.relax import first_step, largest, rule_relaxations
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sequester._typing import Mask
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.continuation import Continuation
    from sequester.methods.halt.elimination import NodePricing, SuppressedNode
    from sequester.methods.halt.local import LocalDraft
    from sequester.methods.halt.method import KCPMethod
    from sequester.methods.halt.signature_rows import Thresholds
    from sequester.methods.relax import RelaxationPath


@dataclass(frozen=True, eq=False)
class BestNode:
    """The draft that loses least, and whom it is about."""

    is_kept: Mask
    """Person to whether they are released."""
    draft: SuppressedNode | LocalDraft
    """The levels, and what is suppressed."""
    elimination: NodePricing[Any] | Continuation
    """What the draft was made with."""
    skipped: bool
    """Finer levels were not looked at, because there was too much to count."""

    @property
    def n_dropped(self) -> int:
        """Persons who are not released."""
        return int((~self.is_kept).sum())


def solve(
    table: EventTable, method: KCPMethod, *, sensitive_known: bool, engine: Engine, progress: Progress
) -> BestNode:
    """Return the levels and suppressed values that lose least, or raise why nothing can be released.

    With `sensitive_known`, quasi-identifiers that are sensitive are known to who wants to learn another
    attribute.
    """
    progress(0.0, "grouping equal histories")
    thresholds, suppression, thorough = (
        method.thresholds(),
        method.suppression,
        method.effort == "thorough",
    )
    # Where sensitive values may be known, none is secret to all.
    quasi = QuasiIdentifiers.of(table, protect={} if sensitive_known else None)
    everybody = WeightedRows.of(table, quasi)
    persons = everybody.persons
    holders = Holders(owners_of(persons.offsets), persons.values, persons.names, table.n_persons)
    # Of those who have as many of the values that are too common, the shortest histories go first.
    is_kept = holders.choose_persons(
        thresholds.k,
        thresholds.c,
        drop=method.infeasible == "drop",
        has_rules=has_rules(table),
        order=np.diff(everybody.offsets),
    )
    one_by_one = everybody.take(np.flatnonzero(is_kept))
    histories = one_by_one.fold()
    # Of a million persons, every copy of their histories is worth a hundred megabytes.
    unfolded = one_by_one if suppression == "local" or sensitive_known else histories
    del everybody, persons, holders, one_by_one
    costs = LatticeCosts(histories, quasi, *price_nodes(table))
    workload = Workload(histories, quasi, mixed=thresholds.mixed)
    workload.refuse_too_much(thresholds.p)
    rules_for = partial(
        rules_of,
        quasi=quasi,
        histories=histories,
        suppress=suppression is not None,
        stars=method.stars == "counted",
    )
    work = WorkBudget(math.inf if thorough else workload.most_cells(local=suppression == "local"))
    targets = targets_of(table, quasi, histories) if sensitive_known else ()

    def look(other: Thresholds, allowed: ValueRules, progress: Progress) -> LatticeSearch[Any]:
        if suppression == "local":
            pricing = LocalElimination(unfolded, quasi, other, costs, allowed, engine, work, targets)
            return LatticeSearch(pricing, workload, progress, thorough)
        parts = [
            Elimination(seen, Extraction(seen, quasi, other, engine, work=work), costs, allowed, engine)
            for seen in [unfolded.seen_by(target).fold() for target in targets] or [histories]
        ]
        elimination = JointElimination(histories, parts, engine) if targets else parts[0]
        return LatticeSearch(elimination, workload, progress, thorough)

    search = look(thresholds, rules_for(table), part(progress, 0.1, 0.9))
    found = search.full() if method.search == "full" else search.greedy()
    if not isinstance(found, Obstacle):
        progress(0.9, "assembling the release")
        return BestNode(is_kept, found, search.elimination, bool(search.skipped))
    progress(0.9, "searching for a feasible setting")
    if search.skipped:
        msg = (
            "the coarsest levels that max_level and never_suppress allow are too much to look at: raise "
            "max_level, take a smaller p, drop quasi-identifiers, or search on with protect --thorough"
        )
        raise UnattainableError(msg)

    def can_keep(other: Thresholds, changed: EventTable = table) -> bool:
        return not isinstance(look(other, rules_for(changed), silent).top(), Obstacle)

    raise _refusal(thresholds, found, quasi, can_keep, _allowing(table, partial(can_keep, thresholds)))


def _allowing(table: EventTable, can_keep: Callable[[EventTable], bool]) -> dict[RelaxationPath, int]:
    """Return the relaxations of rules about columns that make a release feasible, with their first steps."""

    def can_allow(path: RelaxationPath, place: int) -> bool:
        return can_keep(path.at(None, table, path.steps[place])[1])

    steps = {path: first_step(path, partial(can_allow, path)) for path in rule_relaxations(table)}
    return {path: step for path, step in steps.items() if step is not None}


def targets_of(table: EventTable, quasi: QuasiIdentifiers, histories: WeightedRows) -> list[Target]:
    """Return each attribute with protected values: what it is that is not known to who wants to learn it."""
    names = histories.persons.names
    return [
        Target(
            np.array([column.name in table.schema.sensitive[attribute].columns for column in quasi.columns]),
            np.array([name == attribute for name, _ in names], np.bool_),
        )
        for attribute, labels in table.protected_nodes.items()
        if labels
    ]


def rules_of(
    table: EventTable, quasi: QuasiIdentifiers, histories: WeightedRows, *, suppress: bool, stars: bool
) -> ValueRules:
    """Read `max_level` and `never_suppress`.

    A column with a `max_level` keeps something of its values: neither the root of its tree nor the
    suppression of all of its values may stand for them. A value that may never be suppressed may not become
    the root, either; that is asked for only where it occurs.
    """
    tops = []
    is_allowed = np.ones(quasi.n_items, np.bool_)
    is_allowed[quasi.stars] = False
    for cells, column in zip(histories.cells.T, quasi.columns, strict=True):
        role = table.schema.quasi[column.name]
        top = column.height if role.max_level is None else role.max_level
        present = np.unique(cells)
        kept = [node for node in map(column.tree.node, role.never_suppress) if node in present]
        for node in kept:
            for above in column.tree.ancestors(node):
                is_allowed[column.first + above] = False
        if kept:
            top = min(top, column.height - 1)
        if top < column.height:
            is_allowed[column.first] = False
        tops.append(top)
    return ValueRules(
        tops=tuple(tops),
        is_allowed=is_allowed,
        suppress=suppress,
        stars=stars,
        has_secrets=tuple((histories.cells == HIDDEN).any(axis=0).tolist()),
    )


def _refusal(
    thresholds: Thresholds,
    obstacle: Obstacle,
    quasi: QuasiIdentifiers,
    can_keep: Callable[[Thresholds], bool],
    allowed: Mapping[RelaxationPath, int],
) -> UnattainableError:
    """Return the error about what the schema asks for, with the smaller promises and rules that can be kept.

    All of them were tried.
    """
    nearest: dict[str, float] = {}
    k = largest(2, thresholds.k - 1, lambda k: can_keep(replace(thresholds, k=k)))
    if k is not None:
        nearest["k"] = k
    percent = largest(
        0, 99 - int(100 * thresholds.c), lambda less: can_keep(replace(thresholds, c=(100 - less) / 100))
    )
    if percent is not None:
        nearest["c"] = (100 - percent) / 100
    p = largest(1, thresholds.p - 1, lambda p: can_keep(replace(thresholds, p=p)))
    if p is not None:
        nearest["p"] = p
    could = [f"{name} = {value:g}" for name, value in nearest.items()]
    for path, place in allowed.items():
        step = path.steps[place]
        could.append(path.setting(step))
        if isinstance(step, int):
            nearest[path.parameter] = step
    why = ""
    if obstacle.reason is not None:
        why = f": {obstacle.reason.channel(quasi)}, and nothing may be done about it"
    hint = (
        f"{' or '.join(could)} could be kept"
        if could
        else "no smaller k or p, no larger c, and no rule less could be kept either"
    )
    msg = (
        f"k = {thresholds.k:,}, c = {thresholds.c:g}, p = {thresholds.p:,} cannot be kept with the given "
        f"max_level and never_suppress{why}; {hint}"
    )
    return UnattainableError(msg, achieved=nearest)
