"""The kind `quantiles`: numbers in ranges that hold about equally many, learned from the data."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind, outline_of_chains, several
from sequester.hierarchies.labels import numeric_key
from sequester.hierarchies.numbers import as_numbers, plain, two_digits
from sequester.hierarchies.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.outline import Source


@dataclass(frozen=True, slots=True)
class Quantiles(Kind):
    """Each level cuts the numbers into about equal shares, at edges of two significant digits.

    An edge that is learned would be somebody's value, so it is rounded, and the outer bins are open: ``<20``,
    ``>=65``. Inner bins print ``[20:64]`` where all values are whole numbers, otherwise ``[20:65)``. Edges
    that become equal by rounding count once, an edge without values on both sides is left out, so that the
    outer bins always hold somebody, and a bin that would be no coarser than one a level below is joined with
    its neighbour. So there may be fewer bins than asked for; a level without edges is no level. The leaves
    are the values that occur.

    Examples
    --------
    >>> ages = [str(age) for age in range(100)]
    >>> Quantiles([4, 2]).build(ages, column="age").level_labels(1)
    ('<25', '[25:49]', '>=75', '[50:74]')
    >>> Quantiles([4, 2]).build(ages, column="age").level_labels(2)
    ('<50', '>=50')
    """

    bins: int | Sequence[int]
    """Number of bins, most first, each a multiple of the next, so that levels nest."""

    name: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        bins = several(self.bins)
        problems = [
            f"quantiles: bins must be a whole number of at least 2, got {number!r}"
            for number in bins
            if isinstance(number, bool) or not isinstance(number, int) or number < 2
        ]
        if not bins:
            problems.append(
                "quantiles: bins must be a whole number of at least 2 or a list of them, got none"
            )
        if not problems:
            problems = [
                f"quantiles: {many} bins must be a multiple of the {few} bins after it"
                for many, few in pairwise(bins)
                if many == few or many % few
            ]
        if problems:
            raise HierarchyError(*problems)
        object.__setattr__(self, "bins", bins)

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Learn the edges, and find the bin of every value at every level."""
        numbers, findings = as_numbers(values, source)
        if not numbers:
            return Outline({}, tuple(findings))
        whole = all(number.denominator == 1 for number in numbers.values())
        ordered = sorted(numbers, key=lambda value: (numeric_key(value), value))
        chains: dict[str, tuple[str, ...]] = dict.fromkeys(ordered, ())
        finer: list[Fraction] | None = None
        for n_bins in several(self.bins):
            edges = _edges(ordered, numbers, values, n_bins)
            edges = edges if finer is None else _coarser(edges, finer)
            if len(edges) + 1 < n_bins:
                text = f"rounding leaves {len(edges) + 1} of {n_bins} bins"
                findings.append(source.say("warning", "fewer-bins", text, count=n_bins - len(edges) - 1))
            if not edges:
                break
            ends = [bisect_left(ordered, edge, key=lambda value: Fraction(numbers[value])) for edge in edges]
            for label, (first, end) in zip(
                _bin_labels(edges, whole=whole), pairwise([0, *ends, len(ordered)]), strict=True
            ):
                for value in ordered[first:end]:
                    chains[value] += (label,)
            finer = edges
        return outline_of_chains(chains, source, findings=findings)


def _edges(
    ordered: Sequence[str], numbers: Mapping[str, int | Fraction], counts: Mapping[str, int], n_bins: int
) -> list[Fraction]:
    """The values that a share of i / n_bins lies below, rounded, each once, where values lie on both sides.

    An edge with nothing below or nothing from it on would leave an open bin empty, and the bin next to it
    would show where the values begin or end.
    """
    ends = list(accumulate(counts[value] for value in ordered))
    places = (bisect_right(ends, i * ends[-1] // n_bins) for i in range(1, n_bins))
    edges = {two_digits(numbers[ordered[place]]) for place in places}
    return sorted(edge for edge in edges if numbers[ordered[0]] < edge <= numbers[ordered[-1]])


def _coarser(edges: Sequence[Fraction], finer: Sequence[Fraction]) -> list[Fraction]:
    """The edges that leave two or more of the finer bins between them.

    Levels are counted from the root, so a bin that is the same on two levels would push its values to the
    level of the bins, and they would be published as they are.
    """
    kept = [-1]
    for place, edge in enumerate(finer):
        if edge in edges and place - kept[-1] >= 2:
            kept.append(place)
    if len(kept) > 1 and len(finer) - kept[-1] < 2:
        kept.pop()
    return [finer[place] for place in kept[1:]]


def _bin_labels(edges: Sequence[Fraction], *, whole: bool) -> list[str]:
    inner = [
        f"[{plain(low)}:{plain(high - 1)}]" if whole else f"[{plain(low)}:{plain(high)})"
        for low, high in pairwise(edges)
    ]
    return [f"<{plain(edges[0])}", *inner, f">={plain(edges[-1])}"]
