"""The kind `intervals`: numbers in ranges of equal width."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.arrays import MOST_LEAVES
from sequester.hierarchies.builder import Kind, outline_of_chains, several, with_room
from sequester.hierarchies.numbers import as_numbers, exact, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.outline import Outline, Source


@dataclass(frozen=True, slots=True)
class Intervals(Kind):
    """Each level is a row of ranges of one width, laid out from `origin` in both directions.

    Where all values, widths and the origin are whole numbers, ranges print ``[a:b]`` with both ends inside,
    otherwise ``[a:b)``. A range of whole numbers has as many leaves as there are numbers in it, whether or
    not they occur: how much ``[0:6]`` hides does not depend on who happens to be in the data. Ranges in which
    nothing occurs are not part of the tree, so one far value does not make the others look close, and no
    number is too large: the root has the leaves of the widest ranges that occur. Real numbers cannot be
    counted, so their ranges have the values that occur as leaves. ``7`` and ``07`` are two
    labels of one number, which counts once: a range of seven numbers has seven leaves unless more labels
    lie in it.

    Examples
    --------
    >>> print(Intervals([7, 28]).build(["0", "3", "30", "-1"], column="LOS"))
    * (84 leaves)
      [-28:-1] (28 leaves)
        [-7:-1] (7 leaves)
          -1
      [0:27] (28 leaves)
        [0:6] (7 leaves)
          0
          3
      [28:55] (28 leaves)
        [28:34] (7 leaves)
          30
    >>> Intervals(0.5).build(["0.1", "0.5", "1"], column="dose").level_labels(1)
    ('[0.5:1)', '[0:0.5)', '[1:1.5)')
    """

    width: float | Sequence[float]
    """Widths, narrowest first, each a multiple of the one before."""
    origin: float = 0
    """Where a range begins."""

    name: ClassVar[str] = "intervals"

    def __post_init__(self) -> None:
        widths = several(self.width)
        numbers = [exact(width) for width in widths]
        problems = [
            f"intervals: width must be a number above 0, got {width!r}"
            for width, number in zip(widths, numbers, strict=True)
            if number is None or number <= 0
        ]
        if not widths:
            problems.append("intervals: width must be a number above 0 or a list of them, got none")
        if exact(self.origin) is None:
            problems.append(f"intervals: origin must be a number, got {self.origin!r}")
        if not problems:
            problems = [
                f"intervals: width {plain(wide)} must be a multiple of the width before it, {plain(narrow)}"
                for narrow, wide in pairwise(number for number in numbers if number is not None)
                if wide == narrow or (wide / narrow).denominator != 1
            ]
        if problems:
            raise HierarchyError(*problems)
        object.__setattr__(self, "width", widths)

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Find the range of every value at every level."""
        numbers, findings = as_numbers(values, source)
        widths = [Fraction(str(width)) for width in several(self.width)]
        origin = Fraction(str(self.origin))
        whole = all(number.denominator == 1 for number in (*numbers.values(), *widths, origin))
        if whole:  # Python's own integers are faster than fractions
            numbers = {value: int(number) for value, number in numbers.items()}
        narrowest, first = (int(widths[0]), int(origin)) if whole else (widths[0], origin)
        known: dict[int, tuple[str, ...]] = {}
        chains: dict[str, tuple[str, ...]] = {}
        for value, number in numbers.items():
            place = int((number - first) // narrowest)
            if place not in known:
                known[place] = tuple(
                    _range(origin + place * narrowest, origin, width, whole=whole) for width in widths
                )
            chains[value] = known[place]
        sizes: dict[str, int] = {}
        if whole:
            for labels in known.values():
                sizes.update(zip(labels, map(int, widths), strict=True))
            sizes = with_room(sizes, chains)
        if whole and sum(sizes[label] for label in {chain[-1] for chain in known.values()}) > MOST_LEAVES:
            text = "the ranges hold 2^63 whole numbers or more: choose smaller widths"
            findings.append(source.say("error", "too-many-leaves", text))
        return outline_of_chains(chains, source, sizes=sizes, findings=findings)


def _range(number: Fraction, origin: Fraction, width: Fraction, *, whole: bool) -> str:
    """Name the range of one width that a number lies in."""
    low = (number - origin) // width * width + origin
    return f"[{plain(low)}:{plain(low + width - 1)}]" if whole else f"[{plain(low)}:{plain(low + width)})"
