"""Embeddings, itemsets, closed and most frequent patterns, and patterns of itemset events, word for word.

A database is a list of rows. A row of symbols is a string or a list of labels; a row of events is a list of
events, and an event is a string or a collection of labels, none of them twice.
"""

from __future__ import annotations

from itertools import chain, combinations, pairwise, product

from oracles.sequences import frequent, is_subsequence


def embeddings(pattern, row):
    """All strictly increasing places of `row` that hold the items of `pattern`."""
    return [
        places
        for places in combinations(range(len(row)), len(pattern))
        if all(row[place] == item for place, item in zip(places, pattern, strict=True))
    ]


def embeddings_through(pattern, row):
    """For each place of `row`, how many embeddings use it."""
    return [sum(place in places for places in embeddings(pattern, row)) for place in range(len(row))]


def frequent_itemsets(rows, min_support, max_length=None):
    """Every set of items that at least `min_support` rows have, as a sorted tuple, and their number."""
    items = sorted(set().union(*rows))
    sizes = range(1, (max_length or len(items)) + 1)
    counted = {
        itemset: sum(set(itemset) <= set(row) for row in rows)
        for itemset in chain.from_iterable(combinations(items, size) for size in sizes)
    }
    return {itemset: count for itemset, count in counted.items() if count >= min_support}


def closed(rows, min_support, max_length=None):
    """The frequent patterns that no longer one contains which has as many supporters."""
    every = frequent(rows, min_support)
    return {
        pattern: count
        for pattern, count in every.items()
        if (max_length is None or len(pattern) <= max_length)
        and not any(
            len(other) > len(pattern) and others == count and is_subsequence(pattern, other)
            for other, others in every.items()
        )
    }


def top(patterns, number):
    """The `number` patterns with most supporters; among equals those that come first."""
    return dict(sorted(sorted(patterns.items(), key=lambda pair: (-pair[1], pair[0]))[:number]))


def contains(pattern, row, max_gap=None, max_span=None):
    """Events e1 < e2 < ... of `row` hold the events of `pattern`, close enough to each other."""
    for places in combinations(range(len(row)), len(pattern)):
        gaps = [after - before - 1 for before, after in pairwise(places)]
        if (
            all(set(event) <= set(row[place]) for event, place in zip(pattern, places, strict=True))
            and (max_gap is None or all(gap <= max_gap for gap in gaps))
            and (max_span is None or not places or places[-1] - places[0] + 1 <= max_span)
        ):
            return True
    return False


def event_patterns(row):
    """All patterns that `row` contains: events of one item or more, each a sorted tuple."""
    found = set()
    for size in range(1, len(row) + 1):
        for places in combinations(range(len(row)), size):
            choices = []
            for place in places:
                items = sorted(set(row[place]))
                subsets = (combinations(items, n) for n in range(1, len(items) + 1))
                choices.append(list(chain.from_iterable(subsets)))
            found.update(product(*choices))
    return found


def frequent_events(rows, min_support, max_length=None, max_gap=None, max_span=None):
    """Every pattern of events that at least `min_support` rows contain, and their number."""
    candidates = set().union(*map(event_patterns, rows))
    counted = {
        pattern: sum(contains(pattern, row, max_gap, max_span) for row in rows)
        for pattern in candidates
        if max_length is None or sum(map(len, pattern)) <= max_length
    }
    return {pattern: count for pattern, count in counted.items() if count >= min_support}


def closed_events(rows, min_support, max_length=None, max_span=None):
    """Those that no longer one contains which has as many supporters."""
    every = frequent_events(rows, min_support, None, None, max_span)
    size = {pattern: sum(map(len, pattern)) for pattern in every}
    return {
        pattern: count
        for pattern, count in every.items()
        if (max_length is None or size[pattern] <= max_length)
        and not any(
            size[other] > size[pattern] and others == count and contains(pattern, other)
            for other, others in every.items()
        )
    }
