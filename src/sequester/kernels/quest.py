"""Fill the baskets of customers with patterns, as the IBM Quest generator does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Shares = npt.NDArray[np.float64]
    Table = npt.NDArray[np.int32]


@inner
def _choose(chance: np.random.Generator, n: int, size: int, out: Counts) -> None:
    """Write `size` of the numbers below `n` into `out`, in increasing order, every choice equally likely."""
    chosen = 0
    for number in range(n):
        if chosen == size:
            break
        if (n - number) * chance.random() < size - chosen:
            out[chosen] = number
            chosen += 1


@njit
def draw_patterns(chance: np.random.Generator, offsets: Offsets, n_same: Counts, cumulated: Shares) -> Codes:
    """Draw patterns of which each takes `n_same` elements from the one before, in their order.

    Pattern ``p`` is ``elements[offsets[p]:offsets[p + 1]]``. New elements come by weight; `cumulated` ends in
    1. Requires ``n_same[p]`` to be at most the size of pattern ``p``, and of the one before.
    """
    elements = np.empty(offsets[-1], np.int32)
    taken = np.empty(offsets[-1], np.int64)
    for pattern in range(offsets.size - 1):
        start = offsets[pattern]
        n_taken = n_same[pattern]
        if n_taken > 0:
            before = offsets[pattern - 1]
            _choose(chance, start - before, n_taken, taken)
            for i in range(n_taken):
                elements[start + i] = elements[before + taken[i]]
        for i in range(start + n_taken, offsets[pattern + 1]):
            elements[i] = np.searchsorted(cumulated, chance.random(), side="right")
    return elements


@inner
def _keep(chance: np.random.Generator, size: int, confidence: float) -> int:
    """Corrupt a pattern: drop one element after the other while chance exceeds the confidence."""
    while size > 0 and chance.random() > confidence:
        size -= 1
    return size


@njit
def fill_baskets(
    chance: np.random.Generator,
    n_baskets: Counts,
    n_items: Counts,
    sequences: tuple[Codes, Offsets, Shares, Shares],
    itemsets: tuple[Codes, Offsets, Shares, Shares],
) -> tuple[Codes, Codes, Codes]:
    """Fill ``n_baskets[c]`` baskets of about ``n_items[c]`` items for each customer ``c``.

    Both kinds of pattern are given as elements, offsets, confidence of each, and cumulated weights that end
    in 1; the elements of a sequence are itemsets. Returns customer, basket (from 0) and item, sorted, without
    repeats; every customer has an item. Requires at least one basket and one item for each customer.
    """
    longest, widest = np.diff(sequences[1]).max(), np.diff(itemsets[1]).max()
    work = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(widest, np.int64)
    sizes = np.zeros(n_baskets.max(), np.int64)
    held = np.empty((n_baskets.max(), 16), np.int32)
    room = (n_baskets * n_items).sum() + 64
    customers = np.empty(room, np.int32)
    baskets = np.empty(room, np.int32)
    items = np.empty(room, np.int32)
    n_rows = 0
    for customer in range(n_baskets.size):
        length = n_baskets[customer]
        sizes[:length] = 0
        held, total = _fill(chance, length, n_items[customer], sequences, itemsets, work, sizes, held)
        if n_rows + total > room:
            room = 2 * (n_rows + total)
            customers = _grow(customers, n_rows, room)
            baskets = _grow(baskets, n_rows, room)
            items = _grow(items, n_rows, room)
        for basket in range(length):
            for i in range(sizes[basket]):
                customers[n_rows] = customer
                baskets[n_rows] = basket
                items[n_rows] = held[basket, i]
                n_rows += 1
    return customers[:n_rows], baskets[:n_rows], items[:n_rows]


@inner
def _fill(
    chance: np.random.Generator,
    length: int,
    width: int,
    sequences: tuple[Codes, Offsets, Shares, Shares],
    itemsets: tuple[Codes, Offsets, Shares, Shares],
    work: tuple[Counts, Counts, Counts],
    sizes: Counts,
    held: Table,
) -> tuple[Table, int]:
    """Fill the `length` baskets of one customer with about `width` items each.

    Basket ``b`` is ``held[b, : sizes[b]]``. Returns the baskets, which may have been widened, and the number
    of items in them.
    """
    itemset_of, sequence_offsets, sequence_confidence, cumulated = sequences
    item_of, itemset_offsets, itemset_confidence, _ = itemsets
    parts, places, picked = work
    total = 0
    # Few different items may never fill the baskets, so the number of attempts is bounded too.
    for _attempt in range(10 * length * width):
        if total >= length * width:
            break
        sequence = np.searchsorted(cumulated, chance.random(), side="right")
        start = sequence_offsets[sequence]
        whole = sequence_offsets[sequence + 1] - start
        confidence = sequence_confidence[sequence]
        is_corrupt = chance.random() > confidence
        size = _keep(chance, whole, confidence) if is_corrupt else whole
        _choose(chance, whole, size, parts)
        n_new = 0
        for i in range(size):
            itemset = itemset_of[start + parts[i]]
            n_new += itemset_offsets[itemset + 1] - itemset_offsets[itemset]
        if (size > length or total + n_new > length * width) and chance.random() > 0.5:
            break
        n_places = min(size, length)
        _choose(chance, length, n_places, places)
        for i in range(n_places):
            basket = places[i]
            itemset = itemset_of[start + parts[i]]
            first = itemset_offsets[itemset]
            n_set = itemset_offsets[itemset + 1] - first
            n_kept = _keep(chance, n_set, itemset_confidence[itemset]) if is_corrupt else n_set
            if n_kept + sizes[basket] > width and chance.random() > 0.5:
                continue
            _choose(chance, n_set, n_kept, picked)
            for j in range(n_kept):
                if sizes[basket] == held.shape[1]:
                    wider = np.empty((held.shape[0], 2 * held.shape[1]), np.int32)
                    wider[:, : held.shape[1]] = held
                    held = wider
                n_before = sizes[basket]
                sizes[basket] = _insert(held[basket], n_before, item_of[first + picked[j]])
                total += sizes[basket] - n_before
    if total == 0:
        sequence = np.searchsorted(cumulated, chance.random(), side="right")
        held[0, 0] = item_of[itemset_offsets[itemset_of[sequence_offsets[sequence]]]]
        sizes[0] = total = 1
    return held, total


@inner
def _insert(basket: Codes, size: int, item: int) -> int:
    """Put an item into a sorted basket with room for it, unless it is there already; return the new size."""
    place = np.searchsorted(basket[:size], item)
    if place < size and basket[place] == item:
        return size
    for k in range(size, place, -1):
        basket[k] = basket[k - 1]
    basket[place] = item
    return size + 1


@njit
def _grow(values: Codes, size: int, room: int) -> Codes:
    grown = np.empty(room, np.int32)
    grown[:size] = values[:size]
    return grown
