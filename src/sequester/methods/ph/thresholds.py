"""Larger thresholds, up to the one that hides nothing, and less uncertainty."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sequester.methods.relax import RelaxationPath, downwards, value_text
from sequester.mining.support import supports

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.method import Method
    from sequester.methods.ph.pattern_method import PatternMethod
    from sequester.methods.ph.ph import Bounded


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
