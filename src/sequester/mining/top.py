"""The most frequent patterns, when their number is given and not a support."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import silent
from sequester.mining.search import Found

if TYPE_CHECKING:
    from sequester.engine import Engine, Progress
    from sequester.mining.event_search import EventSearch
    from sequester.mining.search import Limits, Search


def most_frequent(
    search: Search | EventSearch,
    limits: Limits,
    *,
    n_patterns: int,
    lowest: int,
    keep_rows: bool,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Found:
    """Find the `n_patterns` with most supporters, `lowest` or more; first in label order among equals.

    The support of the last of them is found by halving: a search that stops as soon as it has enough tells on
    which side of a number it lies, so no search lists more than `n_patterns`.
    """
    most = int(search.symbol_weights.max(initial=0))
    n_steps = max(most - lowest, 0).bit_length() + 3
    n_done = 0

    def is_too_high(support: int) -> bool:
        nonlocal n_done
        found = search.run(limits, min_support=support, max_patterns=n_patterns - 1, engine=engine)
        n_done += 1
        progress(n_done / n_steps, "mining patterns")
        return found.is_complete

    candidates = range(lowest, most + 1)
    # The first support that too few patterns reach; the one before is that of the last pattern wanted.
    above = lowest + bisect_left(candidates, True, key=is_too_high)
    better = search.run(limits, min_support=above, keep_rows=keep_rows, engine=engine)
    if above == lowest:
        return better
    last = above - 1
    first = search.first(limits, min_support=last, n_patterns=n_patterns, keep_rows=keep_rows)
    is_last = first.supports == last
    is_last &= np.cumsum(is_last) <= n_patterns - len(better.supports)
    return _in_order(Found.joined([better, first.only(np.flatnonzero(is_last))]))


def _in_order(found: Found) -> Found:
    """Sort patterns by their codes."""
    patterns = found.patterns()
    return found.only(np.array(sorted(range(len(patterns)), key=patterns.__getitem__), np.int64))
