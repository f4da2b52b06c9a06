"""Baskets that customers fill from a pool of patterns, as the IBM Quest generator does, and visits so made.

As read in the sequence mode of zakimjz/IBMGenerator, with two departures: a customer's baskets depend on no
other customer (there, a pattern that did not fit waits for the next one), and a customer who ends up with
nothing gets one item (there, the customer is drawn again).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range
from sequester.datasets import SEED
from sequester.datasets.draws import check_n_persons, generator, repeat_keys
from sequester.datasets.hospital import ORDINARY, PROTECTED, YEARS
from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_capacity
from sequester.ragged import offsets_of, owners_of, places_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Shares = npt.NDArray[np.float64]
    Table = npt.NDArray[np.int32]


# Percentage of persons with a protected value, most events of a person, events.
TABLE_6_5 = {
    (1_000, 3, 2): (36.7, 10, 3_060),
    (1_000, 3, 3): (37.0, 9, 3_050),
    (1_000, 3, 4): (34.2, 9, 3_062),
    (1_000, 5, 2): (47.2, 11, 4_761),
    (1_000, 5, 3): (45.8, 10, 4_538),
    (1_000, 5, 4): (45.0, 12, 4_572),
    (1_000, 10, 2): (65.7, 17, 9_466),
    (1_000, 10, 3): (67.1, 15, 9_594),
    (1_000, 10, 4): (68.3, 16, 9_492),
    (10_000, 3, 2): (35.17, 10, 30_964),
    (10_000, 3, 3): (34.61, 11, 30_864),
    (10_000, 3, 4): (34.51, 10, 30_735),
    (10_000, 5, 2): (43.33, 11, 46_228),
    (10_000, 5, 3): (44.86, 13, 46_008),
    (10_000, 5, 4): (48.04, 12, 46_600),
    (10_000, 10, 2): (67.04, 18, 95_016),
    (10_000, 10, 3): (66.96, 18, 94_648),
    (10_000, 10, 4): (66.52, 17, 95_234),
}
"""What the thesis counts in its ``Data_X_Y_Z`` on average, by persons, events each and quasi-identifiers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternPool:
    """The patterns that customers share: frequent sequences, whose elements are frequent itemsets."""

    items: int = 10_000
    """Different items."""
    itemsets: int = 25_000
    """Itemsets in the pool."""
    itemset_size: float = 1.25
    """Items in an itemset, on average."""
    sequences: int = 5_000
    """Sequences in the pool."""
    sequence_size: float = 4.0
    """Itemsets in a sequence, on average."""
    correlation: float = 0.25
    """Share of a pattern that is taken from the one before, on average."""
    confidence: float = 0.75
    """How likely a pattern, or an element of a corrupted one, is kept, on average over the patterns."""
    deviation: float = 0.1
    """Standard deviation of the confidence over the patterns."""

    def __post_init__(self) -> None:
        for name in ("items", "itemsets", "itemset_size", "sequences", "sequence_size"):
            in_range(name, getattr(self, name), 1)
        in_range("deviation", self.deviation, 0)
        in_range("correlation", self.correlation, 0, 1)
        in_range("confidence", self.confidence, 0, 1)


def make(
    *,
    persons: int = 10_000,
    seed: str = SEED,
    mean_baskets: float = 10.0,
    mean_items: float = 2.5,
    pool: PatternPool | None = None,
) -> pl.DataFrame:
    """Make purchases: ``customer``, ``basket`` (numbered in order) and ``item``; no item twice in a basket.

    Baskets that stay empty are left out, and patterns overlap, so the table holds somewhat fewer baskets and
    items than asked for.

    Parameters
    ----------
    persons
        Number of customers, each with at least one item.
    seed
        The same text gives the same purchases.
    mean_baskets
        Baskets per customer, on average (``slen``).
    mean_items
        Items per basket, on average over the customers (``tlen``).
    pool
        What customers share; the defaults are the generator's own.

    Examples
    --------
    >>> purchases = make(persons=50, pool=PatternPool(items=20, itemsets=10, sequences=5))
    >>> purchases.columns, purchases["customer"].n_unique()
    (['customer', 'basket', 'item'], 50)
    """
    check_n_persons(persons)
    in_range("mean_baskets", mean_baskets, 1)
    in_range("mean_items", mean_items, 1)
    pool = pool or PatternPool()
    chance = generator("quest", seed)
    n_baskets = 1 + chance.poisson(mean_baskets - 1, persons)
    n_items = 1 + chance.poisson(mean_items - 1, persons)
    customers, baskets, items = _fill(chance, pool, n_baskets, n_items, _weights(chance, pool.items))
    is_next = np.ones(len(customers), np.bool_)
    is_next[1:] = (customers[1:] != customers[:-1]) | (baskets[1:] != baskets[:-1])
    lengths = np.bincount(customers, minlength=persons)
    number = np.cumsum(is_next, dtype=np.int64)
    number -= np.repeat(number[offsets_of(lengths)[:-1]] - 1, lengths)
    width = len(str(pool.items))
    labels = "i" + pl.Series(np.arange(1, pool.items + 1)).cast(pl.String).str.zfill(width)
    return pl.DataFrame(
        {"customer": repeat_keys("c", lengths), "basket": number, "item": labels.gather(items)}
    )


def longitudinal(
    *,
    persons: int = 1_000,
    seed: str = SEED,
    mean_events: float = 5.0,
    n_quasi: int = 3,
    protected_share: float | None = None,
    most_events: int | None = None,
) -> pl.DataFrame:
    """Make visits whose values come from shared patterns: the thesis' ``Data_X_Y_Z``.

    The items of the generator are pairs of a quasi-identifier and a value, one for each quasi-identifier and
    visit; what no pattern fills is drawn by weight. Then ``AdmYr`` is put in order, ``DSFC`` counts from the
    first visit of the year, and nine in ten persons keep their ``ZIP``.

    Parameters
    ----------
    persons
        Number of persons (X).
    seed
        The same text gives the same visits.
    mean_events
        Visits per person, on average (Y).
    n_quasi
        Quasi-identifiers (Z): the first so many of ``AdmYr``, ``LOS``, ``DSFC``, ``ZIP``; at least 2.
    protected_share
        Share of persons with a protected disease that is expected; without it, what the thesis has at this
        mean: 0.35, 0.45 and 0.67 at 3, 5 and 10, and in proportion between them.
    most_events
        Nobody has more visits than that; those who would have so many only, which lowers the mean a little.

    Examples
    --------
    >>> longitudinal(persons=10, mean_events=3, n_quasi=2).columns
    ['PID', 'VID', 'AdmYr', 'LOS', 'Disease']
    """
    check_n_persons(persons)
    in_range("mean_events", mean_events, 1)
    in_range("n_quasi", n_quasi, 2, 4)
    if protected_share is None:
        protected_share = float(np.interp(mean_events, (3, 5, 10), (0.35, 0.45, 0.67)))
    in_range("protected_share", protected_share, 0, 1)
    chance = generator("quest.longitudinal", seed)
    lengths = 1 + chance.poisson(mean_events - 1, persons)
    if most_events is not None:
        in_range("most_events", most_events, 1)
        lengths = np.minimum(lengths, most_events)
    offsets = offsets_of(lengths)
    person = owners_of(offsets)
    values = _visit_values(chance, lengths, [len(YEARS), 61, 365, 40])
    year, stay, day, area = values[:, 0], values[:, 1], values[:, 2], values[:, 3]
    year = year[np.lexsort((year, person))]
    day = day[np.lexsort((day, year, person))]
    is_first = np.ones(len(person), np.bool_)
    is_first[1:] = (person[1:] != person[:-1]) | (year[1:] != year[:-1])
    visit = places_of(offsets)
    moved_after = np.where(chance.random(persons) < 0.1, chance.integers(1, 1 + lengths), lengths)
    lives_at = np.where(visit < moved_after[person], area[offsets[person]], area[offsets[person + 1] - 1])
    zips = pl.Series(10_000 + np.sort(chance.choice(90_000, 40, replace=False))).cast(pl.String)
    is_protected = chance.random(len(person)) < _rate(protected_share, mean_events)
    disease = np.where(
        is_protected,
        len(ORDINARY) + chance.integers(0, len(PROTECTED), len(person)),
        chance.integers(0, len(ORDINARY), len(person)),
    )
    quasi = {
        "AdmYr": pl.Series(np.array(YEARS)[year]),
        "LOS": pl.Series(stay),
        "DSFC": pl.Series(day - day[is_first][np.cumsum(is_first) - 1]),
        "ZIP": zips.gather(lives_at),
    }
    return pl.DataFrame(
        {
            "PID": repeat_keys("p", lengths),
            "VID": visit + 1,
            **{name: quasi[name] for name in list(quasi)[:n_quasi]},
            "Disease": pl.Series(ORDINARY + PROTECTED).gather(disease),
        }
    )


def _weights(chance: np.random.Generator, n: int) -> Shares:
    """Draw how likely each of `n` things is picked."""
    weights = chance.exponential(size=n)
    shares: Shares = weights / weights.sum()
    return shares


def _cumulated(weights: Shares) -> Shares:
    cumulated = np.cumsum(weights)
    cumulated[-1] = 1.0  # rounding must not leave a gap at the end
    return cumulated


def _patterns(
    chance: np.random.Generator, pool: PatternPool, n: int, mean_size: float, weights: Shares
) -> tuple[Codes, Offsets, Shares, Shares]:
    """Draw `n` patterns: elements, offsets, confidence, and cumulated weights."""
    sizes = 1 + chance.poisson(mean_size - 1, n)
    offsets = offsets_of(sizes)
    n_same = (sizes * pool.correlation * chance.exponential(size=n) + 0.5).astype(np.int64)
    n_same = np.minimum(n_same, np.minimum(sizes, np.concatenate([[0], sizes[:-1]])))
    elements = draw_patterns(chance, offsets, n_same, _cumulated(weights))
    confidence = np.clip(chance.normal(pool.confidence, pool.deviation, n), 0, 1)
    return elements, offsets, confidence, _cumulated(_weights(chance, n))


def _fill(
    chance: np.random.Generator, pool: PatternPool, n_baskets: Counts, n_items: Counts, weights: Shares
) -> tuple[Codes, Codes, Codes]:
    """Draw the pool and fill every customer's baskets from it: customer, basket and item of each row."""
    itemsets = _patterns(chance, pool, pool.itemsets, pool.itemset_size, weights)
    alike = np.full(pool.itemsets, 1 / pool.itemsets)
    sequences = _patterns(chance, pool, pool.sequences, pool.sequence_size, alike)
    filled: tuple[Codes, Codes, Codes] = fill_baskets(chance, n_baskets, n_items, sequences, itemsets)
    return filled


def _visit_values(chance: np.random.Generator, lengths: Counts, domains: list[int]) -> Counts:
    """Draw for each visit one value of each domain, from patterns where they say so, otherwise by weight."""
    starts = offsets_of(np.array(domains))
    weights = _weights(chance, int(starts[-1]))
    values = np.empty((int(lengths.sum()), len(domains)), np.int64)
    for quasi, size in enumerate(domains):
        own = _cumulated(
            weights[starts[quasi] : starts[quasi + 1]] / weights[starts[quasi] : starts[quasi + 1]].sum()
        )
        values[:, quasi] = np.minimum(
            np.searchsorted(own, chance.random(len(values)), side="right"), size - 1
        )
    pool = PatternPool(
        items=int(starts[-1]), itemsets=2_000, itemset_size=2.0, sequences=500, sequence_size=3.0
    )
    width = np.full(len(lengths), len(domains))
    person, visit, item = _fill(chance, pool, lengths, width, weights)
    quasi_of = np.searchsorted(starts, item, side="right") - 1
    values[offsets_of(lengths)[person] + visit, quasi_of] = item - starts[quasi_of]
    return values


def _rate(protected_share: float, mean_events: float) -> float:
    """Solve for the rate per visit at which a share of persons has at least one protected visit.

    With ``1 + Poisson(m - 1)`` visits and rate r, a person has none with chance ``(1 - r) exp(-(m - 1) r)``,
    which falls in r.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        without = (1 - rate) * np.exp(-(mean_events - 1) * rate)
        low, high = (rate, high) if without > 1 - protected_share else (low, rate)
    return (low + high) / 2


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
        held, total = _fill_customer(
            chance, length, n_items[customer], sequences, itemsets, work, sizes, held
        )
        customers = ensure_capacity(customers, n_rows, n_rows + total)
        baskets = ensure_capacity(baskets, n_rows, n_rows + total)
        items = ensure_capacity(items, n_rows, n_rows + total)
        for basket in range(length):
            for i in range(sizes[basket]):
                customers[n_rows] = customer
                baskets[n_rows] = basket
                items[n_rows] = held[basket, i]
                n_rows += 1
    return customers[:n_rows], baskets[:n_rows], items[:n_rows]


@inner
def _fill_customer(
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
