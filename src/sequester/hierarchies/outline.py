"""Outlines: which label lies under which, by paths, edges or nested tables, and whether that is a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from sequester.hierarchies.labels import LONGEST, MISSING, ROOT, counted, in_label_order, listed, quoted
from sequester.hierarchies.lint import SHOWN_ROWS, Finding, shown_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester.hierarchies.lint import Severity

HIGHEST = 255
"""Levels that a tree may have above its leaves; more is a chain by mistake."""
MOST_LEAVES = (1 << 63) - 1
"""Leaves that can be counted."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a hierarchy is written, for the messages."""

    name: str
    """The file's name, or the kind of hierarchy."""
    column: str | None = None
    """The column of the data it belongs to."""

    def say(
        self,
        severity: Severity,
        kind: str,
        text: str,
        *,
        row: int = 0,
        level: int | None = None,
        rows: Sequence[int] = (),
        labels: tuple[str, ...] = (),
        count: int = 1,
    ) -> Finding:
        """Make a finding about one row, whose line begins with the place, or about several `rows`."""
        place = self.name + (f" row {row}" if row else "") + ("" if level is None else f", level {level}")
        return Finding(
            severity=severity,
            kind=kind,
            text=f"{place}: {text}",
            column=self.column,
            labels=labels,
            rows=(row,) if row else tuple(rows[:SHOWN_ROWS]),
            count=count,
        )

    def refuse(
        self, kind: str, labels: Iterable[str], one: str, many: str, *, more: str = ""
    ) -> list[Finding]:
        """Return the error about all `labels`, with the first of them, and `more`; nothing without labels."""
        found = tuple(in_label_order(labels))
        if not found:
            return []
        text = f"{counted(len(found), one, many)}: {listed(found)}{more}"
        return [self.say("error", kind, text, labels=found, count=len(found))]


@dataclass(frozen=True, slots=True)
class Edge:
    """One line of a file: `child` lies directly under `parent`."""

    child: str
    parent: str
    row: int = 0
    """Row of the file, counted from 1; 0 where there is no file."""
    level: int | None = None
    """Column of the child in a file that has one column per level."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What was said, made into one parent per node: a tree if no finding is an error."""

    parents: Mapping[str, str]
    """Every label but the root, to the label above it."""
    findings: Sequence[Finding] = ()
    """What is wrong with it."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Leaf counts of groups that stand for more leaves than are named here."""
    rows: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)
    """The rows of a file that has one column per level, root last, where they are all of one length."""

    groups: frozenset[str] = frozenset()
    """The labels that are said to lie above others."""

    @property
    def leaves(self) -> frozenset[str]:
        """The labels that lie above nothing."""
        return frozenset(self.parents) - self.groups


def examine(statements: Iterable[Edge], source: Origin, *, each_once: bool = False) -> Outline:
    """Collect the statements into a tree, and find everything that keeps them from being one.

    A label that nothing is said to lie above goes under the root. With `each_once` nothing may be said twice.

    Examples
    --------
    >>> outline = examine([Edge("flu", "acute"), Edge("acute", "*")], Origin("tree"))
    >>> outline.parents
    {'flu': 'acute', 'acute': '*'}
    """
    said: dict[str, dict[str, Edge]] = {}
    findings: list[Finding] = []
    for statement in statements:
        if statement.child == ROOT:
            text = f"{quoted(ROOT)} is the root and cannot lie under {quoted(statement.parent)}"
            findings.append(_about(source, "root", text, statement))
            continue
        if statement.child not in said and len(statement.child) > LONGEST:
            length = len(statement.child)
            text = f"label {quoted(statement.child)} has {length:,} characters, at most {LONGEST:,}"
            findings.append(_about(source, "long-label", text, statement))
        above = said.setdefault(statement.child, {})
        if each_once and statement.parent in above:
            findings.append(_repeated(source, above[statement.parent], statement))
        above.setdefault(statement.parent, statement)
    findings += [_two_parents(source, first, other) for first, other in _conflicts(said)]
    loops = _cycles(said)
    findings += [_cycle(source, loop, said) for loop in loops]
    parents = {child: next(iter(above)) for child, above in said.items()}
    groups = frozenset(parent for above in said.values() for parent in above if parent != ROOT)
    parents.update(dict.fromkeys(sorted(groups - parents.keys()), ROOT))
    if MISSING in parents and (parents[MISSING] != ROOT or MISSING in parents.values()):
        text = f"{quoted(MISSING)} stands for missing values and must be a leaf directly under {quoted(ROOT)}"
        where = _about(source, "missing-leaf", text, next(iter(said.get(MISSING, {}).values()), None))
        findings.append(where)
    deepest, depth = _deepest(parents) if parents and not loops else (ROOT, 0)
    if depth > HIGHEST:
        text = f"{quoted(deepest)} is {depth} levels below the root, at most {HIGHEST}"
        findings.append(source.say("error", "too-deep", text, labels=(deepest,)))
    return Outline(parents, findings, groups=groups)


def _deepest(parents: Mapping[str, str]) -> tuple[str, int]:
    """Return the first label of the largest depth, and that depth."""
    depths = {ROOT: 0}
    for start in parents:
        way = []
        label = start
        while label not in depths:
            way.append(label)
            label = parents[label]
        for label in reversed(way):
            depths[label] = depths[parents[label]] + 1
    deepest = max(depths, key=depths.__getitem__)
    return deepest, depths[deepest]


def _about(source: Origin, kind: str, text: str, statement: Edge | None) -> Finding:
    if statement is None:
        return source.say("error", kind, text, labels=(MISSING,))
    return source.say(
        "error", kind, text, row=statement.row, level=statement.level, labels=(statement.child,)
    )


def _repeated(source: Origin, first: Edge, again: Edge) -> Finding:
    text = f"leaf {quoted(again.child)} is already" + (f" in row {first.row}" if first.row else "")
    return _about(source, "duplicate-leaf", f"{text} under {quoted(again.parent)}", again)


def _conflicts(said: Mapping[str, Mapping[str, Edge]]) -> Iterator[tuple[Edge, Edge]]:
    """Yield the first statement about a child beside each that contradicts it."""
    for above in said.values():
        first, *others = above.values()
        for other in others:
            yield first, other


def _two_parents(source: Origin, first: Edge, other: Edge) -> Finding:
    child, here, there = quoted(other.child), quoted(other.parent), quoted(first.parent)
    if other.level is not None and other.level == first.level:
        text = f"{child} lies under {here}, but under {there} in row {first.row}: the levels do not nest"
        return _about(source, "non-nesting", text, other)
    before = f"{there} (row {first.row})" if first.row else there
    return _about(source, "two-parents", f"{child} has two parents, {before} and {here}", other)


def _cycle(source: Origin, loop: tuple[str, ...], said: Mapping[str, Mapping[str, Edge]]) -> Finding:
    shown = [*loop, loop[0]] if len(loop) <= 6 else [*loop[:5], "...", loop[0]]
    text = "cycle " + " > ".join(label if label == "..." else quoted(label) for label in shown)
    closing = said[loop[-1]][loop[0]]
    return source.say("error", "cycle", text, row=closing.row, level=closing.level, labels=loop)


def _cycles(said: Mapping[str, Mapping[str, Edge]]) -> list[tuple[str, ...]]:
    """Return the cycles, each once, smallest label first."""
    found: dict[tuple[str, ...], None] = {}
    finished: set[str] = set()
    for start in said:
        way: list[str] = []
        place: dict[str, int] = {}
        todo: list[Iterator[str]] = [iter((start,))]
        while todo:
            label = next(todo[-1], None)
            if label is None:
                todo.pop()
                if way:
                    finished.add(way[-1])
                    del place[way.pop()]
            elif label in place:
                loop = way[place[label] :]
                smallest = loop.index(min(loop))
                found[*loop[smallest:], *loop[:smallest]] = None
            elif label in said and label not in finished:
                place[label] = len(way)
                way.append(label)
                todo.append(iter(said[label]))
    return list(found)


def examine_paths(rows: Iterable[tuple[int, Sequence[str]]], source: Origin) -> Outline:
    """Read numbered rows as a tree, and find everything that keeps them from being one.

    A label that is repeated in the next cell is the same node. Rows may differ in length, and empty cells at
    the end of a row make it shorter: what a leaf lacks is filled with the leaf itself, because levels are
    counted from the root.

    Examples
    --------
    >>> from sequester.hierarchies.outline import Origin
    >>> outline = examine_paths([(1, ["flu", "acute", "*"]), (2, ["asthma", "*"])], Origin("a.csv"))
    >>> outline.parents
    {'flu': 'acute', 'acute': '*', 'asthma': '*'}
    """
    leaves: dict[str, int] = {}
    kept: list[tuple[int, list[str]]] = []
    statements: dict[tuple[str, str], Edge] = {}
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
                statements[step] = Edge(child, parent, row, path.index(child))
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
    return replace(outline, findings=findings, rows=_of_one_length(kept))


def _without_end(cells: Sequence[str]) -> list[str]:
    """Return the cells up to the last one that is not empty."""
    end = len(cells)
    while end and not cells[end - 1]:
        end -= 1
    return list(cells[:end])


def _problem_in_row(path: Sequence[str], row: int, source: Origin) -> Finding | None:
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


def _level_findings(rows: Sequence[tuple[int, Sequence[str]]], source: Origin) -> Iterator[Finding]:
    """Yield where the file's columns are not the tree's levels, which are counted from the root."""
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
    """Return the row as the tree reads it: what is missing repeats the leaf."""
    steps = list(dict.fromkeys(path))
    return [path[0]] * (width - len(steps)) + steps


def _of_one_length(rows: Sequence[tuple[int, Sequence[str]]]) -> tuple[tuple[str, ...], ...] | None:
    """Return the rows, if each has a cell for every level."""
    if len({len(path) for _, path in rows}) != 1:
        return None
    return tuple(tuple(path) for _, path in rows)


def examine_nested(tree: object, source: Origin) -> Outline:
    """Read nested tables as a tree, and find everything that keeps them from being one.

    An empty table or list is a leaf. Blanks around labels are trimmed, and whole numbers are read as text.

    Examples
    --------
    >>> from sequester.hierarchies.outline import Origin
    >>> examine_nested({"acute": ["flu", "cold"], "asthma": {}}, Origin("tree")).parents
    {'acute': '*', 'asthma': '*', 'flu': 'acute', 'cold': 'acute'}
    """
    reader = _NestedReader(source)
    if isinstance(tree, Mapping) and set(tree) == {ROOT}:
        tree = tree[ROOT]
    reader.read(tree)
    outline = examine(reader.statements, source, each_once=True)
    findings = [*reader.findings, *outline.findings]
    if reader.trimmed:
        what = counted(len(reader.trimmed), "label", "labels")
        text = f"trimmed blanks around {what}: {listed(reader.trimmed)}"
        findings.append(
            source.say("warning", "trimmed", text, labels=tuple(reader.trimmed), count=len(reader.trimmed))
        )
    if not outline.parents and not findings:
        findings.append(source.say("error", "empty", "has no leaves"))
    return replace(outline, findings=findings)


class _NestedReader:
    """Walks down the tables with a stack of its own, so that depth cannot exhaust Python's."""

    def __init__(self, source: Origin) -> None:
        self.source = source
        self.statements: list[Edge] = []
        self.findings: list[Finding] = []
        self.trimmed: list[str] = []

    def read(self, tree: object) -> None:
        todo: list[tuple[str, object, int]] = [(ROOT, tree, 0)]
        while todo:
            group, content, depth = todo.pop()
            if depth >= HIGHEST and content:
                self._refuse(
                    "too-deep", f"{quoted(group)} is {depth} levels below the root, at most {HIGHEST}", group
                )
            elif isinstance(content, Mapping):
                children = [(self._label(key, group), inside, depth + 1) for key, inside in content.items()]
                self._place([label for label, _, _ in children], group)
                todo.extend((label, inside, below) for label, inside, below in reversed(children) if label)
            elif isinstance(content, list | tuple):
                self._place([self._label(item, group) for item in content], group)
            else:
                kind = type(content).__name__
                self._refuse("not-a-table", f"{quoted(group)} must hold a table or a list, not {kind}", group)

    def _place(self, labels: list[str], group: str) -> None:
        self.statements += [Edge(label, group) for label in labels if label]

    def _label(self, value: object, group: str) -> str:
        """Read a label; an empty text stands for one that was refused."""
        if isinstance(value, bool) or not isinstance(value, str | int):
            self._refuse(
                "not-text", f"a label under {quoted(group)} must be text, got {value!r:.{LONGEST}}", group
            )
            return ""
        text = str(value)
        label = text.strip()
        if not label:
            self._refuse("empty-label", f"empty label under {quoted(group)}", group)
        elif label != text:
            self.trimmed.append(label)
        return label

    def _refuse(self, kind: str, text: str, label: str) -> None:
        self.findings.append(self.source.say("error", kind, text, labels=(label,)))
