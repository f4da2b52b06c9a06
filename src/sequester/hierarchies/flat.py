"""The kind `flat`: a value, then the root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sequester.hierarchies.builder import Kind, outline_of_chains

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.hierarchies.outline import Outline, Source


@dataclass(frozen=True, slots=True)
class Flat(Kind):
    """Nothing lies between a value and the root; the leaves are the values that occur.

    Examples
    --------
    >>> print(Flat().build(["m", "f"], column="sex"))
    * (2 leaves)
      f
      m
    """

    name: ClassVar[str] = "flat"

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Put every value under the root."""
        return outline_of_chains(dict.fromkeys(values, ()), source)
