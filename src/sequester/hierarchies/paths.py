"""A tree written as one row per leaf: the leaf first, what lies above it, the root last or left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from sequester.hierarchies.finding import shown_rows
from sequester.hierarchies.labels import ROOT, counted, quoted
from sequester.hierarchies.outline import Outline, Statement, examine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester.hierarchies.finding import Finding
    from sequester.hierarchies.outline import Source


def examine_paths(rows: Iterable[tuple[int, Sequence[str]]], source: Source) -> Outline:
    """Read numbered rows as a tree, and find everything that keeps them from being one.

    A label that is repeated in the next cell is the same node. Rows may differ in length, and empty cells at
    the end of a row make it shorter: what a leaf lacks is filled with the leaf itself, because levels are
    counted from the root.

    Examples
    --------
    >>> from sequester.hierarchies.outline import Source
    >>> outline = examine_paths([(1, ["flu", "acute", "*"]), (2, ["asthma", "*"])], Source("a.csv"))
    >>> outline.parents
    {'flu': 'acute', 'acute': '*', 'asthma': '*'}
    """
    leaves: dict[str, int] = {}
    kept: list[tuple[int, list[str]]] = []
    statements: dict[tuple[str, str], Statement] = {}
    findings: list[Finding] = []
    for row, cells in rows:
        path = _without_end(cells)
        if not path:
            continue
        problem = _problem_in_row(path, row, source)
        if problem is not None:
            findings.append(problem)
            continue
        if path[-1] != ROOT:
            path.append(ROOT)
        is_known = path[0] in leaves
        if is_known:
            text = f"leaf {quoted(path[0])} is already in row {leaves[path[0]]}"
            findings.append(source.say("error", "duplicate-leaf", text, row=row, labels=(path[0],)))
        else:
            leaves[path[0]] = row
            kept.append((row, path))
        for step in pairwise(path):
            child, parent = step
            if step not in statements and child != parent and not (is_known and child == path[0]):
                statements[step] = Statement(child, parent, row, path.index(child))
    outline = examine(statements.values(), source)
    findings += outline.findings
    first_inside: dict[str, int] = {}
    for statement in statements.values():
        first_inside.setdefault(statement.parent, statement.row)
    for leaf, row in leaves.items():
        if leaf in first_inside:
            text = f"{quoted(leaf)} is a leaf, but lies above others in row {first_inside[leaf]}"
            findings.append(source.say("error", "leaf-and-group", text, row=row, labels=(leaf,)))
    if not any(finding.severity == "error" for finding in findings):
        findings += _level_findings(kept, source)
    return replace(outline, findings=tuple(findings), rows=_of_one_length(kept))


def _without_end(cells: Sequence[str]) -> list[str]:
    """The cells up to the last one that is not empty."""
    end = len(cells)
    while end and not cells[end - 1]:
        end -= 1
    return list(cells[:end])


def _problem_in_row(path: Sequence[str], row: int, source: Source) -> Finding | None:
    if "" in path:
        return source.say("error", "empty-label", "empty label", row=row, level=path.index(""))
    if path[0] == ROOT:
        text = f"{quoted(ROOT)} is the root and cannot be a value"
        return source.say("error", "root", text, row=row, labels=(ROOT,))
    if len(set(path)) == len(path) and ROOT not in path[:-1]:
        return None
    steps = [path[0], *(here for before, here in pairwise([*path, ROOT]) if here != before)]
    if len(set(steps)) < len(steps):
        twice = next(label for label in steps if steps.count(label) > 1)
        first = steps.index(twice)
        loop = steps[first : steps.index(twice, first + 1) + 1]
        text = "cycle " + " > ".join(quoted(label) for label in loop)
        return source.say("error", "cycle", text, row=row, labels=tuple(loop[:-1]))
    return None


def _level_findings(rows: Sequence[tuple[int, Sequence[str]]], source: Source) -> Iterator[Finding]:
    """Say where the file's columns are not the tree's levels, which are counted from the root."""
    width = max((len(path) for _, path in rows), default=1)
    short = [row for row, path in rows if len(path) < width]
    if short:
        text = (
            f"{counted(len(short), 'row is', 'rows are')} shorter than the longest ({shown_rows(short)}): "
            "the missing levels repeat the leaf"
        )
        yield source.say("info", "short-rows", text, rows=short, count=len(short))
    height = max((len(set(path)) for _, path in rows), default=1) - 1
    repeating = [
        row
        for row, path in rows
        if len(path) == width > len(set(path)) and list(path) != _filled(path, width)
    ]
    if height + 1 < width:
        text = f"{width} columns make a tree of {height + 1} levels: a column that changes nothing is none"
        yield source.say("warning", "idle-level", text, count=width - height - 1)
    elif repeating:
        path = next(path for row, path in rows if row == repeating[0])
        level = next(level for level, label in enumerate(path) if label != _filled(path, width)[level])
        leaf, what = quoted(path[0]), counted(len(repeating), "row repeats", "rows repeat")
        text = (
            f"{what} a label above the leaf: levels are counted from the root, "
            f"so {leaf} (row {repeating[0]}) is {leaf} at level {level}, not {quoted(path[level])}"
        )
        yield source.say("warning", "repeated-label", text, rows=repeating, count=len(repeating))


def _filled(path: Sequence[str], width: int) -> list[str]:
    """The row as the tree reads it: what is missing repeats the leaf."""
    steps = list(dict.fromkeys(path))
    return [path[0]] * (width - len(steps)) + steps


def _of_one_length(rows: Sequence[tuple[int, Sequence[str]]]) -> tuple[tuple[str, ...], ...] | None:
    """The rows, if each has a cell for every level."""
    if len({len(path) for _, path in rows}) != 1:
        return None
    return tuple(tuple(path) for _, path in rows)
