"""Why records were changed, and what could be asked instead: larger thresholds, less uncertainty."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import counted
from sequester.methods.ph.publish import KINDS
from sequester.methods.relax import RelaxationPath, downwards, value_text
from sequester.mining.support import supporters, supports
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.method import Method
    from sequester.methods.ph.method import Bounded, PatternMethod

CONSTRAINT = "support of a pattern at or above min_support"


def reasons_of(method: PatternMethod, changes: pl.DataFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count, pattern by pattern, the changed records of those who had it; one record may have several."""
    model = method.model().about(table)
    reasons = []
    for pattern in method.sensitive:
        has_it = supporters(pattern, table)
        support, threshold = int(has_it.sum()), int(model.threshold(pattern))
        if support < threshold:
            continue
        who = table.persons.filter(pl.Series(has_it))
        theirs = changes.filter(pl.col("person").is_in(who.implode()))
        for what in KINDS:
            part = theirs.filter(pl.col("what").cast(pl.String) == what)
            if part.is_empty():
                continue
            persons, events = count_affected(part)
            name = " → ".join(pattern)
            reasons.append(
                Reason(
                    constraint=CONSTRAINT,
                    change=what,
                    persons=persons,
                    events=events,
                    text=(
                        f"{name}: {support:,} had it, fewer than {threshold:,} may: "
                        f"{counted(events, 'item was', 'items were')} {what} in the records of "
                        f"{counted(persons, 'person', 'persons')} who had it."
                    ),
                    examples=(name,),
                )
            )
    return tuple(reasons)


def threshold_relaxations(method: PatternMethod, table: EventTable) -> tuple[RelaxationPath, ...]:
    """Raise the threshold of the method, and that of each pattern that has its own.

    A share of persons is raised as a number of persons; one more than have a pattern hides nothing.
    """
    model = method.model().about(table)
    found = dict(zip(method.sensitive, supports(method.sensitive, table).tolist(), strict=True))
    own = {each.items for each in method.pattern if each.min_support is not None}
    common = max((count for pattern, count in found.items() if pattern not in own), default=0)
    paths = []
    if method.min_support is not None:
        paths.append(RelaxationPath.of(method, "min_support", range(int(model.min_support) + 1, common + 2)))
    for place, each in enumerate(method.pattern):
        if each.min_support is not None:
            steps = range(int(model.threshold(each.items)) + 1, found[each.items] + 2)
            paths.append(_own(place, " → ".join(each.items), each.min_support, steps))
    return tuple(paths)


def _own(place: int, name: str, asked: float, steps: range) -> RelaxationPath:
    def at(method: PatternMethod, table: EventTable, step: int) -> tuple[Method, EventTable]:
        pattern = list(method.pattern)
        pattern[place] = replace(pattern[place], min_support=step)
        return replace(method, pattern=tuple(pattern)), table

    return RelaxationPath(
        parameter=f"min_support of {name}", asked=asked, steps=steps, at=at, text=value_text
    )


def spread_relaxations(bounded: Bounded) -> tuple[RelaxationPath, ...]:
    """Ask for fewer permutations of a pattern, for fewer supporters of each, or for no spread at all."""

    def part(name: str) -> RelaxationPath:
        asked = getattr(bounded, name)

        def at(method: PatternMethod, table: EventTable, step: int) -> tuple[Method, EventTable]:
            return _with_uncertainty(method, table, replace(bounded, **{name: step}))

        return RelaxationPath(parameter=f"uncertainty.{name}", asked=asked, steps=downwards(asked, 1), at=at)

    whole = RelaxationPath(
        parameter="uncertainty",
        asked=bounded,
        steps=("minimum-harm",),
        at=_with_uncertainty,
        text=lambda value: f'"{value}"' if isinstance(value, str) else "bounded",
    )
    return part("permutations"), part("support"), whole


def _with_uncertainty(
    method: PatternMethod, table: EventTable, step: Bounded | str
) -> tuple[Method, EventTable]:
    return replace(method, uncertainty=step), table  # type: ignore[call-arg]  # a PH
