"""Pattern hiding, word for word: supports of sensitive patterns, and forbidden patterns that are new.

Rows are strings or tuples of labels; released and original rows belong to the same persons in the same order.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

from oracles.sequences import frequent, is_subsequence, support


def pairs(rows):
    """Every ordered pair that some row holds."""
    return {pair for row in rows for pair in combinations(tuple(row), 2)}


def new_forbidden(forbidden, released, original):
    """The forbidden patterns that somebody has in the release and had not before."""
    if forbidden == "unseen":
        return pairs(released) - pairs(original)
    return {
        tuple(pattern)
        for pattern in forbidden
        for after, before in zip(released, original, strict=True)
        if is_subsequence(pattern, after) and not is_subsequence(pattern, before)
    }


def is_hidden(thresholds, released, original, forbidden=()):
    """Each pattern of `thresholds` has fewer supporters than its number; nothing forbidden is new."""
    return all(
        support(pattern, released) < least for pattern, least in thresholds.items()
    ) and not new_forbidden(forbidden, released, original)


def side_effects(sensitive, released, original, min_support, max_length=None):
    """Lost and ghost patterns; those that contain a sensitive one are owed, and neither."""
    before, after = (set(frequent(rows, min_support, max_length)) for rows in (original, released))
    owed = {pattern for pattern in before | after if any(is_subsequence(s, pattern) for s in sensitive)}
    return before - after - owed, after - before - owed


def itemsets(rows, min_support, max_size=None):
    """Every set of symbols that at least `min_support` rows hold together, with their number."""
    counted = Counter(
        frozenset(chosen)
        for row in rows
        for size in range(1, len(set(row)) + 1)
        if max_size is None or size <= max_size
        for chosen in combinations(sorted(set(row)), size)
    )
    return {chosen: count for chosen, count in counted.items() if count >= min_support}


def embeddings(pattern, row):
    """How many ways there are to choose places of `row` that hold `pattern` in order."""
    return sum(
        tuple(row[place] for place in places) == tuple(pattern)
        for places in combinations(range(len(row)), len(pattern))
    )


def cayley(before, after):
    """Fewest swaps of two places that turn `before` into `after`; both hold the same symbols as often."""
    best = len(before)
    for order in permutations(range(len(before))):
        if all(before[order[place]] == after[place] for place in range(len(before))):
            left, cycles = set(range(len(before))), 0
            while left:
                place, cycles = left.pop(), cycles + 1
                while order[place] in left:
                    place = order[place]
                    left.remove(place)
            best = min(best, len(before) - cycles)
    return best
