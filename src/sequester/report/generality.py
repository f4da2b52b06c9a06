"""How coarse released values are: the levels of each attribute, with what the values at them look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.hierarchies.labels import ROOT, counted
from sequester.report.wording import number, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.hierarchies.hierarchy import Hierarchy

_LABEL = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The released cells of an attribute that are equally coarse."""

    level: int
    """Steps above what was recorded; 0 is as recorded."""
    title: str
    """The level in words."""
    cells: int
    """Released cells at it."""
    share: float
    """Their share of all released cells."""
    n_values: int
    """Different values among them."""
    example: str
    """The most frequent of these."""
    leaves: int
    """Values of the source that the example stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generality:
    """An attribute and how coarse its released values are."""

    attribute: str
    """Its column."""
    height: int
    """Level of ``*``."""
    steps: tuple[Step, ...]
    """The levels that occur, the finest first."""


def generalities(
    values: Mapping[str, pl.DataFrame],
    released: Mapping[str, pl.DataFrame],
    originals: Mapping[str, Hierarchy] | None = None,
) -> list[Generality]:
    """Count the released cells of each attribute by level.

    `values` has column to ``value``, ``count``; `released` has column to ``node``, ``parent``, ``leaves``.
    Without the whole hierarchies in `originals`, as a recipient has them, it is not known how many levels
    lie below a released value; what stands for one value only is as recorded.
    """
    return [
        _generality(name, values[name], tree, (originals or {}).get(name))
        for name, tree in released.items()
        if name in values and values[name].height
    ]


def _generality(name: str, values: pl.DataFrame, tree: pl.DataFrame, whole: Hierarchy | None) -> Generality:
    depths = _depths(tree)
    leaves = dict(tree.select("node", "leaves").iter_rows())
    height = max(depths.values(), default=0) + 1 if whole is None else whole.height
    at: dict[int, list[tuple[str, int]]] = {}
    for value, count in values.sort("count", "value", descending=[True, False]).iter_rows():
        at.setdefault(_level(value, depths, leaves, height, whole), []).append((value, count))
    total = int(values["count"].sum())
    steps = []
    for level, found in sorted(at.items()):
        cells = sum(count for _, count in found)
        label = found[0][0]
        steps.append(
            Step(
                level=level,
                title=_title(level, None if whole is None else height, label),
                cells=cells,
                share=cells / total,
                n_values=len(found),
                example=shown(label, _LABEL),
                leaves=leaves.get(label, 1),
            )
        )
    return Generality(attribute=name, height=height, steps=tuple(steps))


def _level(
    value: str, depths: Mapping[str, int], leaves: Mapping[str, int], height: int, whole: Hierarchy | None
) -> int:
    if value == ROOT:
        return height
    if leaves.get(value, 1) == 1:
        # A leaf of a short branch is as recorded, however far from the others.
        return 0
    return height - (depths[value] if whole is None else int(whole.depth[whole.node(value)]))


def _title(level: int, height: int | None, label: str) -> str:
    if level == 0:
        return "as recorded"
    if label == ROOT:
        return "*, any value"
    return "coarser" if height is None else f"coarser by {level} of {height} levels"


def _depths(tree: pl.DataFrame) -> dict[str, int]:
    """Node to its steps from the root."""
    above = dict(tree.select("node", "parent").iter_rows())
    depths: dict[str, int] = {}
    for node in above:
        way = [node]
        while above[way[-1]] and way[-1] not in depths:
            way.append(above[way[-1]])
        base = depths.get(way[-1], 0)
        for steps, each in enumerate(reversed(way)):
            depths[each] = base + steps
    return depths


def in_words(step: Step) -> str:
    """Say what a level holds, with an example.

    Examples
    --------
    >>> step = Step(level=1, title="", cells=4, share=0.5, n_values=3, example="56***", leaves=100)
    >>> in_words(step)
    '3 values, such as 56***, which stands for 100'
    """
    if step.leaves == 1 or step.example == ROOT:
        return (
            ""
            if step.example == ROOT
            else f"{counted(step.n_values, 'value', 'values')}, such as {step.example}"
        )
    stands = f"which stands for {number(step.leaves)}"
    if step.n_values == 1:
        return f"{step.example}, {stands}"
    return f"{counted(step.n_values, 'value', 'values')}, such as {step.example}, {stands}"
