"""What stands for a hierarchy until the column is known, and what all kinds of it have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, cast

from sequester.hierarchies.coverage import reserved_values
from sequester.hierarchies.finding import refuse_errors
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT, counted, in_label_order, listed
from sequester.hierarchies.outline import Outline, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester.hierarchies.finding import Finding

T = TypeVar("T", int, float, str)


class HierarchyBuilder(Protocol):
    """Anything that can make the hierarchy of a column; a `Hierarchy` can."""

    def build(self, values: Iterable[str], *, column: str, missing: bool = False) -> Hierarchy:
        """Make the tree for the values of a column.

        Parameters
        ----------
        values : iterable of str
            The distinct values, or a mapping from each to how often it occurs, which `quantiles` learns from.
        column : str
            Its name, for the messages.
        missing : bool
            Whether it has missing values; they get the leaf ``(missing)`` under the root.

        Raises
        ------
        HierarchyError
            With one line per problem, if there is no such tree.
        """
        ...

    def findings(self, values: Iterable[str], *, column: str) -> list[Finding]:
        """Say everything that is wrong or doubtful, without making the tree."""
        ...


class Kind(ABC):
    """A kind of hierarchy: from the values of a column to an outline of its tree."""

    name: ClassVar[str]
    """As the configuration calls it."""

    @abstractmethod
    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Say who lies under whom, and what is wrong.

        `values` leads from each value, none of them a reserved label, to how often it occurs.
        """

    def source(self, column: str) -> Source:
        """Name the place for the messages."""
        return Source(self.name, column)

    def findings(self, values: Iterable[str], *, column: str) -> list[Finding]:
        """Say everything that is wrong or doubtful, without making the tree."""
        return list(self._examine(_counts(values), column).findings)

    def build(self, values: Iterable[str], *, column: str, missing: bool = False) -> Hierarchy:
        """Make the tree for the values of a column; see `HierarchyBuilder.build`."""
        occurring = _counts(values)
        outline = self._examine(occurring, column)
        has_missing = missing or MISSING in occurring
        refuse_errors(outline.findings)
        if not outline.parents and not has_missing:
            refuse_errors([self.source(column).say("error", "empty", "the column has no values")])
        return Hierarchy.from_outline(outline, missing=has_missing)

    def _examine(self, occurring: Mapping[str, int], column: str) -> Outline:
        reserved = list(reserved_values(occurring, column))
        refused = {label for finding in reserved for label in finding.labels}
        values = {value: n for value, n in occurring.items() if value != MISSING and value not in refused}
        outline = self.outline(values, self.source(column))
        return replace(outline, findings=(*reserved, *outline.findings))


def _counts(values: Iterable[str]) -> Mapping[str, int]:
    return values if isinstance(values, Mapping) else Counter(values)


def several(parameter: T | Sequence[T]) -> tuple[T, ...]:
    """Read one number as a list of one."""
    return tuple(parameter) if isinstance(parameter, list | tuple) else (cast("T", parameter),)


def outline_of_chains(
    chains: Mapping[str, tuple[str, ...]],
    source: Source,
    *,
    sizes: Mapping[str, int] | None = None,
    findings: Iterable[Finding] = (),
) -> Outline:
    """Put each value under its groups, finest first; a group that is named like the value is the value.

    Groups that nest by their definition need no further check, but a value may look like a group of others.

    Examples
    --------
    >>> outline_of_chains({"56001": ("560**", "5****")}, Source("mask")).parents
    {'560**': '5****', '5****': '*', '56001': '560**'}
    """
    parents: dict[str, str] = {}
    for chain in dict.fromkeys(chains.values()):
        parents.update(pairwise((*chain, ROOT)))
    groups: set[str] = set()
    for value, chain in chains.items():
        is_own_group = chain[:1] == (value,)
        groups.update(chain[is_own_group:])
        if not is_own_group:
            parents[value] = chain[0] if chain else ROOT
    clash = tuple(in_label_order(groups & chains.keys()))
    found = list(findings)
    if clash:
        what = counted(len(clash), "value is", "values are")
        text = f"{what} also the name of a group of values: {listed(clash)}"
        found.append(source.say("error", "leaf-and-group", text, labels=clash, count=len(clash)))
    return Outline(parents, tuple(found), sizes or {})


def with_room(sizes: Mapping[str, int], chains: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Raise the leaf counts of groups to what lies in them; chains have one length and are not empty.

    A group that stands for seven numbers has seven leaves, also where one of them is spelled in two ways
    (``07`` beside ``7``); only more labels than numbers need more.

    Examples
    --------
    >>> with_room({"[3:4]": 2, "[3:6]": 4}, dict.fromkeys(["3", "03", "+3"], ("[3:4]", "[3:6]")))
    {'[3:4]': 3, '[3:6]': 4}
    """
    enough = dict(sizes)
    held = Counter(chain[0] for chain in chains.values())
    for level in range(len(next(iter(chains.values()), ()))):
        for label, n_leaves in held.items():
            enough[label] = max(enough[label], n_leaves)
        held = Counter()
        for label, above in {chain[level : level + 2] for chain in chains.values() if chain[level + 1 :]}:
            held[above] += enough[label]
    return enough
