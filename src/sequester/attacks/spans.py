"""What numbers or days a value of a hierarchy may stand for, as far as everybody can read from it."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from sequester.mining.dependence import read_each

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Mask
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.mining.dependence import Reading

    Numbers = npt.NDArray[np.float64]

_RANGES = tuple(map(re.compile, (r"\[(.+):(.+)[\])]", r"<()(.+)", r">=(.+)()")))
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])")
_YEAR = re.compile(r"([0-9]{4})")
_EPOCH = date(1970, 1, 1).toordinal()


def spans_of(tree: Hierarchy, reading: Reading) -> tuple[Numbers, Numbers, Numbers, Mask]:
    """Give each leaf its number, and each node the smallest and largest number and whether others are in it.

    A leaf that is no number has NaN. A node says by its label what it spans, such as ``[0:6]`` or
    ``2010-01``; one that does not spans its leaves, if it has no others than those that are named, and all
    numbers otherwise. Nobody knows what ``*`` stands for.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> weeks = Hierarchy.intervals(7).build(["2", "5"], column="stay")
    >>> weeks.labels
    ('*', '[0:6]', '2', '5')
    >>> numbers, lows, highs, is_open = spans_of(weeks, "number")
    >>> lows.tolist(), highs.tolist(), is_open.tolist()
    ([-inf, 0.0, 2.0, 5.0], [inf, 6.0, 2.0, 5.0], [True, True, False, False])
    """
    size = len(tree)
    numbers = np.full(size, np.nan)
    leaves = tree.leaf_nodes
    numbers[leaves] = read_each([tree.labels[leaf] for leaf in leaves.tolist()], reading)
    lows, highs = np.where(np.isnan(numbers), np.inf, numbers), np.where(np.isnan(numbers), -np.inf, numbers)
    is_leaf = tree.is_leaf
    named = np.zeros(size, np.int64)
    np.add.at(named, tree.parent[1:], tree.leaves[1:])
    is_open = ~is_leaf & (tree.leaves > named)
    is_unknown = is_leaf & np.isnan(numbers)
    for node in range(size - 1, 0, -1):
        if not is_leaf[node]:
            said = _said(tree.labels[node], reading)
            if said is not None:
                lows[node], highs[node] = said
                is_open[node] |= said[1] - said[0] + 1 > named[node]
            elif is_open[node] or is_unknown[node]:
                lows[node], highs[node] = -np.inf, np.inf
        elif is_unknown[node]:
            lows[node], highs[node] = -np.inf, np.inf
        above = tree.parent[node]
        is_unknown[above] |= is_unknown[node]
        lows[above], highs[above] = min(lows[above], lows[node]), max(highs[above], highs[node])
    lows[0], highs[0], is_open[0] = -np.inf, np.inf, True
    return numbers, lows, highs, is_open


def _said(label: str, reading: Reading) -> tuple[float, float] | None:
    """Read the smallest and the largest number that a label speaks of; None where it speaks of none."""
    if reading == "number":
        for written in _RANGES:
            if found := written.fullmatch(label):
                low, high = (
                    end if not text else float(read_each([text], "number")[0])
                    for text, end in ((found[1], -np.inf), (found[2], np.inf))
                )
                return None if np.isnan(low) or np.isnan(high) else (low, high)
        return None
    if found := _MONTH.fullmatch(label):
        return _months(int(found[1]), int(found[2]), int(found[2]))
    if found := _QUARTER.fullmatch(label):
        return _months(int(found[1]), 3 * int(found[2]) - 2, 3 * int(found[2]))
    if found := _YEAR.fullmatch(label):
        return _months(int(found[1]), 1, 12)
    day = float(read_each([label], "date")[0])
    return None if np.isnan(day) else (day, day)


def _months(year: int, first: int, last: int) -> tuple[float, float] | None:
    """Give the first and the last day of some months of a year, counted from 1970."""
    try:
        end = date(year, last, monthrange(year, last)[1])
    except (ValueError, IndexError):
        return None
    return float(date(year, first, 1).toordinal() - _EPOCH), float(end.toordinal() - _EPOCH)
