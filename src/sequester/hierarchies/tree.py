"""The kind `tree`: nested tables, as TOML writes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sequester.hierarchies.builder import Kind
from sequester.hierarchies.coverage import coverage
from sequester.hierarchies.nested import examine_nested

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.hierarchies.outline import Outline, Source


@dataclass(frozen=True, slots=True)
class Tree(Kind):
    """A group holds a table of groups or a list of leaves; an empty table is a leaf.

    Examples
    --------
    >>> ill = Tree({"acute": {"infection": ["flu", "cold"]}, "asthma": {}})
    >>> print(ill.build(["flu", "asthma"], column="ill"))
    * (3 leaves)
      acute (2 leaves)
        infection (2 leaves)
          cold
          flu
      asthma
    """

    tree: Mapping[str, object]
    """Group to what lies below it."""

    name: ClassVar[str] = "tree"

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Read the tables, and look for a leaf for each value."""
        outline = examine_nested(self.tree, source)
        covered = coverage(values.keys(), outline.leaves, outline.groups, source)
        return replace(outline, findings=(*outline.findings, *covered))
