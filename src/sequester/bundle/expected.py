"""What a recipient can expect to count: a coarse value is each of those it covers with the same chance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT, as_number
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP
from sequester.release.fields import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_RANGE = re.compile(r"\[([^:]+):([^:]+)([\])])")
_OPEN = re.compile(r"(<|>=)(.+)")
_MASK = re.compile(r"([^*]+)\*+")
_PART_OF_DATE = re.compile(r"([0-9]{4})(?:-(?:([0-9]{2})|Q([1-4])))?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-[0-9]{2}.*")


def chances(tree: pl.DataFrame, wanted: str, *, column: str, under: str | None = None) -> dict[str, float]:
    """Lead from each node of a released hierarchy to the chance that the value behind it is the wanted one.

    A node at or below `wanted` certainly is; one above it is with the share of its leaves that `wanted` has.
    A value below all that is released counts as one leaf of the finest node that covers it: `under`, or what
    the labels of ranges, masked codes and dates say; where these all say that they do not, the root.

    Examples
    --------
    >>> tree = pl.DataFrame({"node": ["*", "56***", "7****"], "parent": ["", "*", "*"], "leaves": [9, 5, 4]})
    >>> chances(tree, "56***", column="ZIP")
    {'*': 0.5555555555555556, '56***': 1.0, '7****': 0.0}
    >>> chances(tree, "56001", column="ZIP")
    {'*': 0.1111111111111111, '56***': 0.2, '7****': 0.0}
    """
    parent = dict(tree.select("node", "parent").iter_rows())
    leaves = dict(tree.select("node", "leaves").iter_rows())
    is_node = wanted in parent
    place = wanted if is_node else _place(parent, leaves, wanted, column, under)
    above = _above(parent, place)
    size = leaves[wanted] if is_node else 1
    return {
        node: size / leaves[node] if node in above else float(is_node and place in _above(parent, node))
        for node in parent
    }


def _place(
    parent: Mapping[str, str], leaves: Mapping[str, int], wanted: str, column: str, under: str | None
) -> str:
    """Find the finest node that covers a value which is no node."""
    if under is not None:
        if under not in parent:
            msg = f"under must name a node of hierarchies/{column}, got {shown(under)}"
            raise ParameterError(msg)
        return under
    found = [node for node in parent if covers(node, wanted)]
    if not found and all(_tells(node) for node in parent if leaves[node] > 1 and node != ROOT):
        return ROOT
    if not found:
        msg = (
            f"column {shown(column)}: {shown(wanted)} is no node of its hierarchy, and no label says where "
            "it belongs; name the finest released node that covers it in under"
        )
        raise ParameterError(msg)
    return max(found, key=lambda node: len(_above(parent, node)))


def _tells(node: str) -> bool:
    """Say whether the label of a node tells what belongs to it."""
    return any(form.fullmatch(node) for form in (_RANGE, _OPEN, _MASK, _PART_OF_DATE))


def _above(parent: Mapping[str, str], node: str) -> set[str]:
    """The node and what lies above it."""
    way = {node}
    while parent[node]:
        node = parent[node]
        way.add(node)
    return way


def covers(node: str, value: str) -> bool:
    """Say whether the label of a node tells that a value belongs to it; names of groups tell nothing.

    Examples
    --------
    >>> covers("[0:6]", "6"), covers("[0:0.5)", "0.5"), covers("<20", "3"), covers(">=80", "80.5")
    (True, False, True, True)
    >>> covers("56***", "56001"), covers("56***", "57001"), covers("2010-Q1", "2010-03-31")
    (True, False, True)
    >>> covers("acute", "flu"), covers("*", "flu")
    (False, False)
    """
    if match := _RANGE.fullmatch(node):
        low, high, number = as_number(match[1]), as_number(match[2]), as_number(value)
        if low is None or high is None or number is None:
            return False
        return low <= number <= high if match[3] == "]" else low <= number < high
    if match := _OPEN.fullmatch(node):
        edge, number = as_number(match[2]), as_number(value)
        return edge is not None and number is not None and (number < edge) == (match[1] == "<")
    if match := _MASK.fullmatch(node):
        return value.startswith(match[1]) and len(value) <= len(node)
    part, day = _PART_OF_DATE.fullmatch(node), _DATE.fullmatch(value)
    if part is None or day is None or part[1] != day[1]:
        return False
    return (part[2] in (None, day[2])) and (part[3] is None or int(part[3]) == (int(day[2]) + 2) // 3)


def weights(
    tables: Mapping[str, pl.DataFrame],
    hierarchies: Mapping[str, pl.DataFrame],
    wanted: Mapping[str, str],
    under: Mapping[str, str],
) -> pl.Series:
    """Give each row of the main table the chance that it has all that is wanted, cell by cell."""
    frame, *others = tables.values()
    chance = pl.Series("chance", [1.0], dtype=pl.Float64).new_from_index(0, frame.height)
    for column, value in wanted.items():
        if column in frame.columns:
            chance = chance * _cells(frame[column], hierarchies.get(column), value, column, under.get(column))
        elif any(column in other.columns for other in others):
            chance = chance * _by_group(frame, next(o for o in others if column in o.columns), column, value)
        else:
            msg = f"column {shown(column)} is not in the release"
            raise ParameterError(msg)
    return chance


def _cells(
    cells: pl.Series, tree: pl.DataFrame | None, wanted: str, column: str, under: str | None
) -> pl.Series:
    text = cells.cast(pl.String)
    if tree is None:
        if under is not None:
            msg = f"under names {shown(column)}, which has no hierarchy"
            raise ParameterError(msg)
        return (text == wanted).fill_null(value=False).cast(pl.Float64)
    chance = chances(tree, wanted, column=column, under=under)
    return text.replace_strict(list(chance), list(chance.values()), default=0.0, return_dtype=pl.Float64)


def _by_group(frame: pl.DataFrame, values: pl.DataFrame, column: str, wanted: str) -> pl.Series:
    """Give each record the share of its group's values that are wanted; which is whose is not told."""
    shares = values.group_by(GROUP).agg(
        pl.col(COUNT).filter(pl.col(column).cast(pl.String) == wanted).sum() / pl.col(COUNT).sum()
    )
    joined = frame.select(GROUP).join(shares, on=GROUP, how="left", maintain_order="left")
    return joined[COUNT].fill_null(0.0).cast(pl.Float64)


def by_node(cells: pl.Series, tree: pl.DataFrame) -> pl.DataFrame:
    """List each node of a hierarchy with the rows that show it, and those expected at or below it."""
    counts = dict(cells.cast(pl.String).alias("node").value_counts().iter_rows())
    parent = dict(tree.select("node", "parent").iter_rows())
    below = dict.fromkeys(parent, 0)
    for node, count in counts.items():
        for each in _above(parent, node):
            below[each] += count
    leaves = dict(tree.select("node", "leaves").iter_rows())
    rows = []
    for node in parent:
        coarser = _above(parent, node) - {node}
        from_above = sum(counts.get(each, 0) * leaves[node] / leaves[each] for each in coarser)
        rows.append((node, leaves[node], counts.get(node, 0), below[node] + from_above))
    schema = {"value": pl.String, "leaves": pl.Int64, "shown": pl.Int64, "expected": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def plain_counts(cells: pl.Series) -> pl.DataFrame:
    """List each value of a column that is released as it was."""
    counted = cells.cast(pl.String).alias("value").value_counts(name="shown").sort("value")
    return counted.select(
        "value",
        pl.lit(1, pl.Int64).alias("leaves"),
        pl.col("shown").cast(pl.Int64),
        pl.col("shown").cast(pl.Float64).alias("expected"),
    )
