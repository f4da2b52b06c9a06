"""Choose a tree from a vocabulary in which a label may have several parents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, ClassVar

from sequester.hierarchies.builder import Kind, outline_of_chains
from sequester.hierarchies.labels import quoted
from sequester.hierarchies.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.hierarchies.outline import Origin

ANY = "{} (any)"
"""The node above a value that is itself above others, and these."""


@dataclass(frozen=True, slots=True)
class ParentGraph(Kind):
    """The tree of a directed graph without cycles, in which the values of a column are nodes.

    A label with several parents goes under the one that has most values of the column below it, and of those
    under the first by name. Labels above a single branch are left out, and values without parents are below
    the root. A value that lies above others becomes a leaf beside them, under a node of its own.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> parents = {"flu": ["viral", "lung"], "cold": ["viral"], "asthma": ["lung"], "lung": ["organ"]}
    >>> print(Hierarchy.graph(parents).build(["flu", "cold", "viral", "burn"], column="ill"))
    * (4 leaves)
      burn
      viral (any) (3 leaves)
        cold
        flu
        viral
    """

    parents: Mapping[str, list[str]]
    """Label to the labels directly above it."""
    origin: str = "vocabulary"
    """What messages call it."""

    name: ClassVar[str] = "graph"

    def outline(self, values: Mapping[str, int], source: Origin) -> Outline:
        """Put every value under its chain of parents, or report a cycle."""
        above = self._above(values)
        try:
            order = list(TopologicalSorter(above).static_order())  # parents first
        except CycleError as error:
            *cycle, _ = reversed(error.args[1])
            shown = " under ".join(map(quoted, (*cycle, cycle[0])))
            text = f"{self.origin} has a cycle: {shown}"
            return Outline({}, (source.say("error", "cycle", text, labels=tuple(cycle)),))
        below: dict[str, set[str]] = {label: {label} & values.keys() for label in order}
        for label in reversed(order):
            for parent in above[label]:
                below[parent] |= below[label]
        chosen = {
            label: min(above[label], key=lambda parent: (-len(below[parent]), parent))
            for label in order
            if above[label]
        }
        used: set[str] = set()
        for value in values:
            at = value
            while at and at not in used:
                used.add(at)
                at = chosen.get(at, "")
        branches = Counter(chosen[label] for label in used if label in chosen)
        chains: dict[str, tuple[str, ...]] = {}
        for value in values:
            chain = [ANY.format(value)] if branches[value] else []
            at = value
            while (at := chosen.get(at, "")) != "":
                if branches[at] > 1 or at in values:
                    chain.append(ANY.format(at) if at in values else at)
            chains[value] = tuple(chain)
        return outline_of_chains(chains, source)

    def _above(self, values: Mapping[str, int]) -> dict[str, list[str]]:
        """Return the parents of values, of their parents and so on."""
        above: dict[str, list[str]] = {}
        todo = list(values)
        while todo:
            label = todo.pop()
            if label not in above:
                above[label] = sorted({*self.parents.get(label, ())})
                todo += above[label]
        return above
