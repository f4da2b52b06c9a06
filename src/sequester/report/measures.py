"""The utility of a release on a page: measures by group, and generalization levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester._repr import number, shown
from sequester.hierarchies.labels import ROOT, counted
from sequester.report.text import capitalize_first, direction

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.utility.score import Score


_GROUPS = (
    ("Information loss", ("loss", "ncp", "precision", "discern", "classif", "level", "generaliz")),
    (
        "Suppressed and added data",
        (
            "suppress",
            "lost_event",
            "delet",
            "cut_",
            "shorten",
            "unpublish",
            "drop",
            "invent",
            "left_out",
            "absent",
        ),
    ),
    ("Query error", ("query", "visit", "od_", "hotspot", "window", "count")),
    (
        "Frequent patterns",
        ("sim1", "sim2", "pattern", "itemset", "kl_", "transition", "rank", "ghost"),
    ),
    (
        "Sequences of persons",
        (
            "edit",
            "length",
            "gap",
            "displace",
            "predict",
            "event",
            "survival",
            "cayley",
            "touch",
            "moved",
            "distance",
            "trip",
            "attach",
        ),
    ),
)
"""Title, and parts of the names of its measures; the first group that fits has the measure."""
_OTHERS = "Other measures"
_SPELLED = {
    "ncp": "NCP",
    "iloss": "ILoss",
    "lm": "LM",
    "kl": "KL",
    "sim1": "SIM1",
    "sim2": "SIM2",
    "od": "OD",
}
"""Abbreviations, as their papers write them."""
_FIRST = ("suppress", "lost_event", "lost_person", "time_to", "next_event")
"""Parts of names that decide before others that they also contain."""


def group_measures(utility: Mapping[str, Score]) -> list[tuple[str, list[dict[str, str]]]]:
    """Return measures by group, in the order of the page: title, value, meaning and direction of each."""
    groups: dict[str, list[dict[str, str]]] = {title: [] for title, _ in (*_GROUPS, (_OTHERS, ()))}
    for name, score in utility.items():
        row = {"title": measure_title(name), "value": number(score.value), "means": score.means}
        groups[group_of(name)].append(row | {"direction": direction(score)})
    return [(title, measures) for title, measures in groups.items() if measures]


def group_of(name: str) -> str:
    """Return the group of a measure.

    Examples
    --------
    >>> group_of("information_loss"), group_of("query_error"), group_of("sim1")
    ('Information loss', 'Query error', 'Frequent patterns')
    >>> group_of("suppressed_events"), group_of("time_to_event"), group_of("xyz")
    ('Suppressed and added data', 'Sequences of persons', 'Other measures')
    """
    first = next((part for part in _FIRST if part in name), None)
    if first is not None:
        return _GROUPS[1][0] if first.startswith(("suppress", "lost")) else _GROUPS[4][0]
    return next((title for title, parts in _GROUPS if any(part in name for part in parts)), _OTHERS)


def measure_title(name: str) -> str:
    """Return the name of a measure as people write it.

    Examples
    --------
    >>> measure_title("information_loss"), measure_title("ncp"), measure_title("kl_items")
    ('Information loss', 'NCP', 'KL items')
    """
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    return capitalize_first(" ".join(words))


_LABEL = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCount:
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
class AttributeLevels:
    """An attribute and how coarse its released values are."""

    attribute: str
    """Its column."""
    height: int
    """Level of ``*``."""
    steps: tuple[LevelCount, ...]
    """The levels that occur, the finest first."""


def generalization_levels(
    values: Mapping[str, pl.DataFrame],
    released: Mapping[str, pl.DataFrame],
    originals: Mapping[str, Hierarchy] | None = None,
) -> list[AttributeLevels]:
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


def _generality(
    name: str, values: pl.DataFrame, tree: pl.DataFrame, whole: Hierarchy | None
) -> AttributeLevels:
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
            LevelCount(
                level=level,
                title=_title(level, None if whole is None else height, label),
                cells=cells,
                share=cells / total,
                n_values=len(found),
                example=shown(label, _LABEL),
                leaves=leaves.get(label, 1),
            )
        )
    return AttributeLevels(attribute=name, height=height, steps=tuple(steps))


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
        return "*, suppressed"
    return "coarser" if height is None else f"coarser by {level} of {height} levels"


def _depths(tree: pl.DataFrame) -> dict[str, int]:
    """Return the steps of each node from the root."""
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


def level_text(step: LevelCount) -> str:
    """Return the values of a level as text, with an example.

    Examples
    --------
    >>> step = LevelCount(level=1, title="", cells=4, share=0.5, n_values=3, example="56***", leaves=100)
    >>> level_text(step)
    '3 values, such as 56***, which stands for 100'
    """
    some = f"{counted(step.n_values, 'value', 'values')}, such as {step.example}"
    if step.leaves == 1 or step.example == ROOT:
        return "" if step.example == ROOT else some
    stands = f"which stands for {number(step.leaves)}"
    return f"{step.example if step.n_values == 1 else some}, {stands}"
