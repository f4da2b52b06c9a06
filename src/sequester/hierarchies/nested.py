"""A tree written as nested tables: a group holds a table of groups, or a list of leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sequester.hierarchies.arrays import HIGHEST
from sequester.hierarchies.labels import LONGEST, ROOT, counted, listed, quoted
from sequester.hierarchies.outline import Outline, Statement, examine

if TYPE_CHECKING:
    from sequester.hierarchies.finding import Finding
    from sequester.hierarchies.outline import Source


def examine_nested(tree: object, source: Source) -> Outline:
    """Read nested tables as a tree, and find everything that keeps them from being one.

    An empty table or list is a leaf. Blanks around labels are trimmed, and whole numbers are read as text.

    Examples
    --------
    >>> from sequester.hierarchies.outline import Source
    >>> examine_nested({"acute": ["flu", "cold"], "asthma": {}}, Source("tree")).parents
    {'acute': '*', 'asthma': '*', 'flu': 'acute', 'cold': 'acute'}
    """
    reader = _Reader(source)
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
    return replace(outline, findings=tuple(findings))


class _Reader:
    """Walks down the tables with a stack of its own, so that depth cannot exhaust Python's."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.statements: list[Statement] = []
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
        self.statements += [Statement(label, group) for label in labels if label]

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
