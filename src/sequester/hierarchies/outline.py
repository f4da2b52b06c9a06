"""Who lies under whom, as a file or a table says it, and whether that is a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester.hierarchies.arrays import HIGHEST
from sequester.hierarchies.finding import SHOWN_ROWS, Finding
from sequester.hierarchies.labels import LONGEST, MISSING, ROOT, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sequester.hierarchies.finding import Severity


@dataclass(frozen=True, slots=True)
class Source:
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One line's word that `child` lies directly under `parent`."""

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
    findings: tuple[Finding, ...] = ()
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


def examine(statements: Iterable[Statement], source: Source, *, each_once: bool = False) -> Outline:
    """Collect the statements into a tree, and find everything that keeps them from being one.

    A label that nothing is said to lie above goes under the root. With `each_once` nothing may be said twice.

    Examples
    --------
    >>> outline = examine([Statement("flu", "acute"), Statement("acute", "*")], Source("tree"))
    >>> outline.parents
    {'flu': 'acute', 'acute': '*'}
    """
    said: dict[str, dict[str, Statement]] = {}
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
    return Outline(parents, tuple(findings), groups=groups)


def _deepest(parents: Mapping[str, str]) -> tuple[str, int]:
    """The first label of the largest depth, and that depth."""
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


def _about(source: Source, kind: str, text: str, statement: Statement | None) -> Finding:
    if statement is None:
        return source.say("error", kind, text, labels=(MISSING,))
    return source.say(
        "error", kind, text, row=statement.row, level=statement.level, labels=(statement.child,)
    )


def _repeated(source: Source, first: Statement, again: Statement) -> Finding:
    text = f"leaf {quoted(again.child)} is already" + (f" in row {first.row}" if first.row else "")
    return _about(source, "duplicate-leaf", f"{text} under {quoted(again.parent)}", again)


def _conflicts(said: Mapping[str, Mapping[str, Statement]]) -> Iterator[tuple[Statement, Statement]]:
    """The first statement about a child beside each that contradicts it."""
    for above in said.values():
        first, *others = above.values()
        for other in others:
            yield first, other


def _two_parents(source: Source, first: Statement, other: Statement) -> Finding:
    child, here, there = quoted(other.child), quoted(other.parent), quoted(first.parent)
    if other.level is not None and other.level == first.level:
        text = f"{child} lies under {here}, but under {there} in row {first.row}: the levels do not nest"
        return _about(source, "non-nesting", text, other)
    before = f"{there} (row {first.row})" if first.row else there
    return _about(source, "two-parents", f"{child} has two parents, {before} and {here}", other)


def _cycle(source: Source, loop: tuple[str, ...], said: Mapping[str, Mapping[str, Statement]]) -> Finding:
    shown = [*loop, loop[0]] if len(loop) <= 6 else [*loop[:5], "...", loop[0]]
    text = "cycle " + " > ".join(label if label == "..." else quoted(label) for label in shown)
    closing = said[loop[-1]][loop[0]]
    return source.say("error", "cycle", text, row=closing.row, level=closing.level, labels=loop)


def _cycles(said: Mapping[str, Mapping[str, Statement]]) -> list[tuple[str, ...]]:
    """The ways that lead up and come back, each once, smallest label first."""
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
