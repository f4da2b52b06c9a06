"""The released hierarchies: trees that hold every released value, and nothing below one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.release.fields import bare, shown
from sequester.verify.tables import read_text_csv

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COLUMNS = ["node", "parent", "leaves"]
"""The header of a released hierarchy."""
ROOT = "*"
"""The label of every root."""
SEPARATOR = ";"
"""Between the cells of a released hierarchy."""


def hierarchy_csv(tree: pl.DataFrame) -> bytes:
    """Write a hierarchy as a release has it; the root has no parent, which is an empty cell."""
    parent = pl.when(pl.col("node") == ROOT).then(None).otherwise(pl.col("parent")).alias("parent")
    text: str = (
        tree.select(COLUMNS)
        .with_columns(parent)
        .write_csv(separator=SEPARATOR, line_terminator="\n", quote_style="necessary")
    )
    return text.encode()


def read_hierarchies(
    folder: Path, files: Mapping[str, str], frame: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Read the hierarchy of each column that has one, and say what is wrong with them.

    `files` leads from the columns of `frame` that have a hierarchy to its file.
    """
    hierarchies: dict[str, pl.DataFrame] = {}
    findings: list[str] = []
    for column, file in files.items():
        tree = read_text_csv(folder / file, SEPARATOR)
        problems = _check_tree(tree, set(frame[column].unique().to_list()))
        if not problems:
            tree = tree.with_columns(pl.col("parent").fill_null(""), pl.col("leaves").cast(pl.Int64))
            hierarchies[column] = tree
            if hierarchy_csv(tree) != (folder / file).read_bytes():
                problems = ["is not written as a release is: other quotes, line ends or numbers"]
        findings += [f"{bare(file)}: {problem}" for problem in problems]
    return hierarchies, findings


def _check_tree(tree: pl.DataFrame, released: set[str]) -> list[str]:
    if tree.columns != COLUMNS:
        return [f"the columns must be {', '.join(COLUMNS)}, they are {shown(tree.columns)}"]
    leaves = tree["leaves"].cast(pl.Int64, strict=False)
    if tree["node"].null_count() or leaves.null_count() or (leaves < 1).any():
        return ["every row must have a node and its number of leaves, 1 or more"]
    if tree["node"].is_duplicated().any():
        return [f"node {shown(tree['node'].filter(tree['node'].is_duplicated())[0])} occurs twice"]
    parent = dict(zip(tree["node"].to_list(), tree["parent"].to_list(), strict=True))
    roots = [node for node, above in parent.items() if above is None]
    if roots != [ROOT]:
        return [f"there must be one node without a parent, {ROOT}; there are {shown(roots)}"]
    orphans = [node for node, above in parent.items() if above is not None and above not in parent]
    if orphans:
        return [f"the parent of node {shown(orphans[0])} is no node"]
    unknown = sorted(released - parent.keys())
    if unknown:
        return [f"{len(unknown):,} released values are no node of it, for example {shown(unknown[0])}"]
    return (
        _check_ways_up(parent, released)
        or _check_leaves(parent, dict(zip(parent, leaves, strict=True)))
        or _check_order(parent)
    )


def _check_order(parent: dict[str, str | None]) -> list[str]:
    place = {node: row for row, node in enumerate(parent)}
    early = [node for node, above in parent.items() if above is not None and place[above] > place[node]]
    return [f"node {shown(early[0])} stands before its parent"] if early else []


def _check_ways_up(parent: dict[str, str | None], released: set[str]) -> list[str]:
    """Every node lies on the way from a released value to the root."""
    reached = {ROOT}
    for value in released:
        way: list[str] = []
        node: str | None = value
        while node is not None and node not in reached:
            reached.add(node)
            way.append(node)
            node = parent[node]
        if node is not None and node in way:
            return [f"node {shown(node)} is above itself"]
    below = [node for node in parent if node not in reached]
    if below:
        return [f"node {shown(below[0])} is not at or above a released value: it gives away what was there"]
    return []


def _check_leaves(parent: dict[str, str | None], leaves: dict[str, int]) -> list[str]:
    under = dict.fromkeys(parent, 0)
    for node, above in parent.items():
        if above is not None:
            under[above] += leaves[node]
    short = [node for node in parent if under[node] > leaves[node]]
    if short:
        return [f"node {shown(short[0])} has fewer leaves than the nodes below it"]
    return []
