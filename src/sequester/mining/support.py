"""Who contains a pattern as a subsequence, gaps allowed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine, silent
from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import ensure_rows, find_slot, frozen, list_symbols
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct
    from sequester.data.table import SequenceData
    from sequester.data.text import Codebook
    from sequester.engine import Engine, Progress

    Bits = npt.NDArray[np.uint64]

RARE = 8
"""A symbol whose rows are this many times fewer than the rows at hand is looked up, not scanned for."""


MOST_EMBEDDINGS = 2**62 - 1
"""Where counts of embeddings stop: two of them can still be added in 64 bits."""


def sequences_of(data: SequenceData) -> Sequences:
    """Return the sequences of a table; sequences are returned as they are."""
    return data if isinstance(data, Sequences) else data.sequences


def supporters(pattern: Sequence[str], data: SequenceData) -> Mask:
    """Mark each person whose events contain `pattern` in order, gaps allowed.

    Everybody contains the empty pattern; nobody contains a label that does not occur.

    Examples
    --------
    >>> supporters("ac", Sequences.from_rows(["abc", "ca", "aac"])).tolist()
    [True, False, True]
    """
    sequences = sequences_of(data)
    book = sequences.codebook
    if not len(pattern):
        return np.ones(sequences.n_persons, np.bool_)
    if not all(label in book.codes for label in pattern):
        return np.zeros(sequences.n_persons, np.bool_)
    marked: Mask = mark_supporters(sequences.codes, sequences.person_offsets, book.encode(pattern))
    return marked


@njit
def mark_supporters(items: Codes, offsets: Offsets, pattern: Codes) -> Mask:
    """Mark each row that contains `pattern` as a subsequence, gaps allowed.

    Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``. Requires ``pattern.size > 0``.
    """
    n_rows = offsets.size - 1
    supports = np.empty(n_rows, np.bool_)
    for row in range(n_rows):
        matched, supports[row] = 0, False
        for i in range(offsets[row], offsets[row + 1]):
            if items[i] == pattern[matched]:
                matched += 1
                if matched == pattern.size:
                    supports[row] = True
                    break
    return supports


def mark_patterns(items: Codes, offsets: Offsets, patterns: Codes, pattern_offsets: Offsets) -> Mask:
    """Mark which row contains which pattern: a row per row, a column per pattern.

    Examples
    --------
    >>> rows, patterns = Sequences.from_rows(["abc", "ca"]), np.array([0, 2, 1], np.int32)
    >>> mark_patterns(rows.columns["symbol"], rows.person_offsets, patterns, np.array([0, 2, 3])).tolist()
    [[True, True], [False, False]]
    """
    marks = np.empty((len(offsets) - 1, len(pattern_offsets) - 1), np.bool_)
    for number, (a, b) in enumerate(pairwise(pattern_offsets.tolist())):
        marks[:, number] = mark_supporters(items, offsets, patterns[a:b])
    return marks


def support(pattern: Sequence[str], data: SequenceData) -> int:
    """Count the persons whose events contain `pattern` in order, gaps allowed.

    Examples
    --------
    >>> support("ac", Sequences.from_rows(["abc", "ca", "aac"]))
    2
    """
    marked, owners = supporters(pattern, data), sequences_of(data).owners
    return int(np.count_nonzero(marked) if owners is None else len(np.unique(owners[marked])))


def supports(
    patterns: Iterable[Sequence[str]], data: SequenceData, *, engine: Engine | None = None
) -> Counts:
    """Count the supporters of many patterns, in the order given; sorted ones share most work.

    Examples
    --------
    >>> supports(["a", "ac", "cc"], Sequences.from_rows(["abc", "ca", "aac"])).tolist()
    [3, 2, 0]
    """
    asked = Sequences.from_rows(patterns)
    sequences = sequences_of(data)
    rows, book = sequences.distinct(), sequences.codebook
    return supports_of_codes(asked.codes, asked.person_offsets, asked.codebook, rows, book, engine=engine)


def supports_of_codes(
    patterns: Codes,
    pattern_offsets: Offsets,
    pattern_book: Codebook,
    rows: Distinct,
    book: Codebook,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Counts:
    """Count the persons behind `rows` who contain each pattern; the codebooks of the two may differ.

    A person with several sequences counts once, however many of them contain a pattern.
    """
    n_known = len(book)
    # A label that the rows lack becomes a symbol without occurrences, so its patterns get support 0.
    translated = [book.codes.get(label, n_known + i) for i, label in enumerate(pattern_book.labels)]
    codes = np.array(translated, np.int32)[patterns]
    engine = engine or LocalEngine()
    parts = engine.map(
        _count,
        engine.split(len(pattern_offsets) - 1),
        shared=(
            (codes, pattern_offsets),
            (
                (rows.items, rows.offsets),
                rows.weights,
                mark_ahead(rows.items, rows.offsets),
                list_first_places(rows.items, rows.offsets, n_known + len(pattern_book)),
                None if rows.owners is None else _owners_of_rows(rows, rows.owners),
            ),
        ),
        progress=progress,
        phase="counting supporters",
    )
    return np.concatenate([np.empty(0, np.int64), *parts])


def _owners_of_rows(rows: Distinct, owners: Codes) -> tuple[Codes, Offsets, int]:
    """List the persons who have each row, where the rows of each begin, and how many persons there are."""
    n_owners = int(owners.max(initial=-1)) + 1
    pairs = np.unique(rows.row_of_person * np.int64(max(n_owners, 1)) + owners)
    row_of, owner_of = np.divmod(pairs, max(n_owners, 1))
    return owner_of.astype(np.int32), offsets_of(np.bincount(row_of, minlength=rows.n_rows)), n_owners


def _count(shard: range, shared: tuple[tuple[object, ...], tuple[object, ...]]) -> Counts:
    """Count the persons who contain each pattern of a shard."""
    patterns, rows = shared
    counts: Counts = count_supporters(patterns, shard.start, shard.stop, *rows)
    return counts


def mark_ahead(items: Codes, offsets: Offsets) -> Bits:
    """Set, for each place of a row, one bit per symbol (modulo 64) that occurs there or later."""
    ahead = np.empty(len(items), np.uint64)
    _mark_ahead(frozen(items), frozen(offsets), ahead)
    return ahead


@njit
def _mark_ahead(items: Codes, offsets: Offsets, ahead: Bits) -> None:
    for row in range(offsets.size - 1):
        seen = np.uint64(0)
        for i in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            seen |= np.uint64(1) << np.uint64(items[i] & 63)
            ahead[i] = seen


def list_first_places(items: Codes, offsets: Offsets, n_symbols: int) -> tuple[Offsets, Codes, Offsets]:
    """List, symbol by symbol, the rows that hold it, ascending, and the place after its first occurrence.

    Symbol ``s`` has the entries ``starts[s]`` to ``starts[s + 1]`` of the two lists. Requires codes below
    `n_symbols`.
    """
    symbols = list_symbols(items, offsets, n_symbols)[0]
    starts = offsets_of(np.bincount(symbols, minlength=n_symbols))
    rows, after = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int64)
    seen_in = np.full(n_symbols, -1, np.int64)
    _list_first_places(frozen(items), frozen(offsets), seen_in, starts[:-1].copy(), rows, after)
    return starts, rows, after


@njit
def _list_first_places(
    items: Codes, offsets: Offsets, seen_in: Counts, filled: Offsets, rows: Codes, after: Offsets
) -> None:
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            symbol = items[i]
            if seen_in[symbol] != row:
                seen_in[symbol] = row
                rows[filled[symbol]] = row
                after[filled[symbol]] = i + 1
                filled[symbol] += 1


@inner
def _place_after(items: Codes, ahead: Bits, start: int, stop: int, symbol: int) -> int:
    """Return the place after the first `symbol` in ``items[start:stop]``, or -1."""
    if start < stop and (ahead[start] >> np.uint64(symbol & 63)) & np.uint64(1):
        for i in range(start, stop):
            if items[i] == symbol:
                return i + 1
    return -1


@inner
def _find(found: Counts, low: int, high: int, row: int) -> int:
    """Return the first place in the ascending ``found[low:high, 0]`` that is not below `row`."""
    while low < high:
        middle = (low + high) // 2
        if found[middle, 0] < row:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _narrow(
    symbol: int,
    low: int,
    high: int,
    rows: tuple[Codes, Offsets],
    ahead: Bits,
    first_places: tuple[Offsets, Codes, Offsets],
    found: Counts,
) -> int:
    """Write those of the rows ``found[low:high]`` in which the symbol follows behind them; return their end.

    The places after it are written, too. Requires room behind `high`.
    """
    items, offsets = rows
    starts, symbol_rows, _ = first_places
    fill = high
    if RARE * (starts[symbol + 1] - starts[symbol]) < high - low:
        for i in range(starts[symbol], starts[symbol + 1]):
            row = symbol_rows[i]
            low = _find(found, low, high, row)
            if low == high:
                break
            if found[low, 0] == row:
                place = _place_after(items, ahead, found[low, 1], offsets[row + 1], symbol)
                if place >= 0:
                    found[fill, 0], found[fill, 1] = row, place
                    fill += 1
        return fill
    for i in range(low, high):
        row = found[i, 0]
        place = _place_after(items, ahead, found[i, 1], offsets[row + 1], symbol)
        if place >= 0:
            found[fill, 0], found[fill, 1] = row, place
            fill += 1
    return fill


@inner
def _count_new(owners: tuple[Codes, Offsets, int], row: int, pattern: int, counted_for: Counts) -> int:
    """Count the owners of a row who have not been counted for this pattern, and note that they are."""
    owner_of, owner_offsets, _ = owners
    n_new = 0
    for i in range(owner_offsets[row], owner_offsets[row + 1]):
        if counted_for[owner_of[i]] != pattern:
            counted_for[owner_of[i]] = pattern
            n_new += 1
    return n_new


@njit
def count_supporters(
    spelled: tuple[Codes, Offsets],
    first: int,
    last: int,
    rows: tuple[Codes, Offsets],
    weights: Counts,
    ahead: Bits,
    first_places: tuple[Offsets, Codes, Offsets],
    owners: tuple[Codes, Offsets, int] | None,
) -> Counts:
    """Return the weight of the rows that contain each of the patterns `first` to `last`, or their owners.

    The rows that contain the first ``d`` items of a pattern, each with the place where that greedy match
    ends, are narrowed to those that contain ``d + 1``. The lists stay on a stack, so patterns that follow
    each other share the work for the items they begin with; sorted patterns share most, other orders are as
    correct. A row stands in at most as many lists as it has items, which bounds the memory.

    `spelled` and `rows` are codes and offsets, the codes below the number of symbols of `first_places`, which
    is from `list_first_places`; `ahead` is from `mark_ahead`, both of the same rows. With `owners`, who are
    listed for each row, they are counted, each once; without them the compiler leaves that out.
    """
    patterns, pattern_offsets = spelled
    symbol_starts, symbol_rows, symbol_after = first_places
    longest = 0
    for pattern in range(first, last):
        longest = max(longest, pattern_offsets[pattern + 1] - pattern_offsets[pattern])
    level_starts = np.empty(longest + 2, np.int64)
    level_starts[0], level_starts[1] = 0, 0
    # Rows, and where the match ends in each.
    found = np.empty((1024, 2), np.int64)
    supports = np.empty(last - first, np.int64)
    if owners is not None:
        counted_for = np.full(owners[2], -1, np.int64)
    for pattern in range(first, last):
        start = pattern_offsets[pattern]
        size = pattern_offsets[pattern + 1] - start
        depth = 0
        if pattern > first:
            other = pattern_offsets[pattern - 1]
            shared = min(size, start - other)
            while depth < shared and patterns[other + depth] == patterns[start + depth]:
                depth += 1
        # Level d is between level_starts[d] and level_starts[d + 1]; level 0, every row, is not written down.
        while depth < size:
            symbol = patterns[start + depth]
            low, high = level_starts[depth], level_starts[depth + 1]
            s_low, s_high = symbol_starts[symbol], symbol_starts[symbol + 1]
            wanted = s_high - s_low if depth == 0 else min(high - low, s_high - s_low)
            found = ensure_rows(found, high, high + wanted)
            if depth == 0:
                for i in range(s_low, s_high):
                    found[high + i - s_low, 0], found[high + i - s_low, 1] = symbol_rows[i], symbol_after[i]
                fill = s_high - s_low + high
            else:
                fill = _narrow(symbol, low, high, rows, ahead, first_places, found)
            depth += 1
            level_starts[depth + 1] = fill
        total = 0
        for i in range(level_starts[size], level_starts[size + 1] if size > 0 else weights.size):
            row = found[i, 0] if size > 0 else i
            if owners is None:
                total += weights[row]
            else:
                total += _count_new(owners, row, pattern, counted_for)
        supports[pattern - first] = total
    return supports


def embeddings(pattern: Sequence[str], data: SequenceData) -> Counts:
    """Count, for each person, the ways in which their events contain `pattern`, gaps allowed.

    Everybody contains the empty pattern in one way. Counts above ``MOST_EMBEDDINGS`` stop there;
    `count_embeddings` is exact for one sequence.

    Examples
    --------
    >>> embeddings("ab", Sequences.from_rows(["abab", "ba", "aab"])).tolist()
    [3, 0, 2]
    """
    sequences = sequences_of(data)
    book = sequences.codebook
    if not all(label in book.codes for label in pattern):
        return np.zeros(sequences.n_persons, np.int64)
    counts: Counts = count_rows(sequences.codes, sequences.person_offsets, book.encode(pattern))
    return counts


@njit
def count_rows(items: Codes, offsets: Offsets, pattern: Codes) -> Counts:
    """Return the number of embeddings of `pattern` in each row, `MOST_EMBEDDINGS` where there are more."""
    ways = np.empty(pattern.size + 1, np.int64)
    counts = np.empty(offsets.size - 1, np.int64)
    for row in range(offsets.size - 1):
        ways[:] = 0
        ways[0] = 1
        for i in range(offsets[row], offsets[row + 1]):
            # Backwards, so that one place is not used twice.
            for m in range(pattern.size, 0, -1):
                if pattern[m - 1] == items[i]:
                    ways[m] = min(ways[m] + ways[m - 1], MOST_EMBEDDINGS)
        counts[row] = ways[pattern.size]
    return counts


def count_embeddings(pattern: Sequence[str], sequence: Sequence[str]) -> int:
    """Count the ways in which `sequence` contains `pattern`, exactly, however many there are.

    Examples
    --------
    >>> count_embeddings("ab", "abab")
    3
    >>> count_embeddings("a" * 50, "a" * 100)
    100891344545564193334812497256
    """
    ways = [1, *[0] * len(pattern)]
    for label in sequence:
        for m in range(len(pattern), 0, -1):
            if pattern[m - 1] == label:
                ways[m] += ways[m - 1]
    return ways[-1]


def minimum_prefix(pattern: Sequence[str], sequence: Sequence[str]) -> tuple[str, ...] | None:
    """Return the shortest beginning of `sequence` that contains `pattern`, or None where none does.

    Examples
    --------
    >>> minimum_prefix("ACD", "ABCDECDF")
    ('A', 'B', 'C', 'D')
    >>> minimum_prefix("FA", "ABCDECDF") is None
    True

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Definition 2 and Example 1.
    """
    matched = 0
    for length, label in enumerate(sequence):
        if matched == len(pattern):
            return tuple(sequence[:length])
        if label == pattern[matched]:
            matched += 1
    return tuple(sequence) if matched == len(pattern) else None


@njit
def enter_keys(slots: Counts, keys: Counts) -> None:
    """Put different keys into an empty table that has room for them."""
    for i in range(keys.size):
        slots[find_slot(slots, keys[i])] = keys[i]


@njit
def scan_pairs(
    first: int, items: Codes, offsets: Offsets, slots: Counts, n_keys: int, is_new: Mask, work: Counts
) -> tuple[int, int]:
    """Enter the pairs of each row, from row `first` on, as ``one * n_symbols + other``.

    A symbol that a row holds twice makes a pair with itself. Returns the first row that the table may have no
    room for, and the number of keys. Where `is_new` has rows, the table stays as it is, and rows with a pair
    that it lacks are marked. `work` has a column per symbol, -1 throughout.
    """
    n_symbols = np.int64(work.shape[1])
    seen_in, firsts, lasts, met = work[0], work[1], work[2], work[3]
    for row in range(first, offsets.size - 1):
        n_met = 0
        for i in range(offsets[row], offsets[row + 1]):
            symbol = items[i]
            if seen_in[symbol] != row:
                seen_in[symbol] = row
                met[n_met] = symbol
                n_met += 1
                firsts[symbol] = i
            lasts[symbol] = i
        if is_new.size == 0 and 2 * (n_keys + n_met * n_met) > slots.size:
            return row, n_keys
        for a in range(n_met):
            for b in range(n_met):
                # The first of one before the last of the other: there is no better pair of places.
                if firsts[met[a]] < lasts[met[b]]:
                    key = met[a] * n_symbols + met[b]
                    slot = find_slot(slots, key)
                    if slots[slot] < 0:
                        if is_new.size:
                            is_new[row] = True
                        else:
                            slots[slot] = key
                            n_keys += 1
    return offsets.size - 1, n_keys


NO_ROWS = np.empty(0, np.bool_)


def list_pairs(items: Codes, offsets: Offsets, n_symbols: int) -> Counts:
    """List every pair that some row holds in this order, as ``first * n_symbols + second``, ascending.

    Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``, with codes below `n_symbols`; a symbol that a row holds
    twice makes a pair with itself.

    Examples
    --------
    >>> list_pairs(np.array([0, 2, 0], np.int32), np.array([0, 3]), 3).tolist()
    [0, 2, 6]
    """
    slots = np.full(1 << 10, -1, np.int64)
    work = np.full((4, n_symbols), -1, np.int64)
    row, n_keys = 0, 0
    while True:
        row, n_keys = scan_pairs(row, items, offsets, slots, n_keys, NO_ROWS, work)
        keys = np.sort(slots[slots >= 0])
        if row == len(offsets) - 1:
            return keys
        work[0] = -1
        different = len(np.unique(items[offsets[row] : offsets[row + 1]]))
        slots = _table(max(2 * n_keys, n_keys + different**2), keys)


def find_new_pairs(released: Sequences, original: Sequences) -> set[tuple[str, str]]:
    """Return the ordered pairs of labels that somebody has in the release and nobody had.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> find_new_pairs(Sequences.from_rows(["ab", "cb"]), Sequences.from_rows(["ab", "bc"]))
    {('c', 'b')}
    """
    labels, before, (items, offsets) = _in_common_codes(released, original)
    new = np.setdiff1d(list_pairs(items, offsets, len(labels)), before, assume_unique=True)
    firsts, seconds = np.divmod(new, max(len(labels), 1))
    return {(labels[first], labels[second]) for first, second in zip(firsts, seconds, strict=True)}


def mark_new_pairs(released: Sequences, original: Sequences) -> Mask:
    """Mark each person of the release who has an ordered pair of labels that nobody had.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> mark_new_pairs(Sequences.from_rows(["ab", "cb"]), Sequences.from_rows(["ab", "bc"])).tolist()
    [False, True]
    """
    labels, before, (items, offsets) = _in_common_codes(released, original)
    is_new = np.zeros(len(offsets) - 1, np.bool_)
    if is_new.size:
        work = np.full((4, len(labels)), -1, np.int64)
        scan_pairs(0, items, offsets, _table(len(before), before), len(before), is_new, work)
    marked: Mask = is_new[released.distinct().row_of_person]
    return marked


def _in_common_codes(
    released: Sequences, original: Sequences
) -> tuple[tuple[str, ...], Counts, tuple[Codes, Offsets]]:
    """Return labels, the pairs of the original, and the rows of the release, all in the same codes."""
    book, own = original.codebook, released.codebook
    labels = (*book.labels, *(label for label in own.labels if label not in book.codes))
    code_of = {label: code for code, label in enumerate(labels)}
    translated = np.array([code_of[label] for label in own.labels], np.int32)
    before, after = original.distinct(), released.distinct()
    pairs = list_pairs(before.items, before.offsets, len(labels))
    return labels, pairs, (translated[after.items], after.offsets)


def _table(n_keys: int, keys: Counts) -> Counts:
    """Return an open table with `keys` in it and room for `n_keys`, half of it free."""
    slots = np.full(1 << max(2 * n_keys, 1).bit_length(), -1, np.int64)
    enter_keys(slots, keys)
    return slots
