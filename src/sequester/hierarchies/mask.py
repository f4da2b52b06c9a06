"""The kind `mask`: codes such as ZIP and ICD, of which the first characters say most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind, outline_of_chains, several
from sequester.hierarchies.labels import counted, in_label_order, listed
from sequester.hierarchies.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.outline import Source

_LONGEST_CODE = 256


@dataclass(frozen=True, slots=True)
class Mask(Kind):
    """Each level keeps the first characters and shows ``*`` for the rest.

    All masks of a column are as long as its longest value, so that codes of different length share groups:
    with ``levels=[3]`` the values ``428``, ``4280`` and ``42821`` all become ``428**``. A value that is
    shorter than what a level keeps stays itself at that level, and a level that keeps all of the longest
    value changes nothing and is no level. The leaves are the values that occur.

    Examples
    --------
    >>> print(Mask([3, 1]).build(["56001", "56002", "56100"], column="ZIP"))
    * (3 leaves)
      5**** (3 leaves)
        560** (2 leaves)
          56001
          56002
        561** (1 leaf)
          56100
    >>> print(Mask([3, 1]).build(["5", "56", "5612"], column="code"))
    * (3 leaves)
      5*** (3 leaves)
        5
        56
        561* (1 leaf)
          5612
    """

    levels: int | Sequence[int]
    """Characters kept, most first, each at least 1."""

    name: ClassVar[str] = "mask"

    def __post_init__(self) -> None:
        levels = several(self.levels)
        if not levels or not all(isinstance(keep, int) and not isinstance(keep, bool) for keep in levels):
            msg = f"mask: levels must be whole numbers of characters to keep, got {list(levels)!r}"
            raise HierarchyError(msg)
        problems = [
            f"mask: a level must keep at least 1 character, got {keep}" for keep in levels if keep < 1
        ]
        problems += [
            f"mask: levels must keep fewer and fewer characters, got {fine} and then {coarse}"
            for fine, coarse in pairwise(levels)
            if coarse >= fine
        ]
        if problems:
            raise HierarchyError(*problems)
        object.__setattr__(self, "levels", levels)

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Mask every value at every level."""
        long = tuple(in_label_order(value for value in values if len(value) > _LONGEST_CODE))
        if long:
            what = counted(len(long), "value is", "values are")
            text = f"{what} longer than {_LONGEST_CODE} characters: {listed(long)}"
            return Outline({}, (source.say("error", "long-label", text, labels=long, count=len(long)),))
        width = max(map(len, values), default=0)
        keeps = [keep for keep in several(self.levels) if keep < width]
        chains = {
            value: tuple(value[:keep] + "*" * (width - keep) for keep in keeps if keep <= len(value))
            for value in values
        }
        return outline_of_chains(chains, source)
