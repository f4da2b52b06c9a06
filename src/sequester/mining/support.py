"""Who contains a pattern as a subsequence, gaps allowed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine, silent
from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct
    from sequester.data.table import SequenceData
    from sequester.data.text import Codebook
    from sequester.engine import Engine, Progress

MOST_EMBEDDINGS = 2**62 - 1
"""Where counts of embeddings stop."""


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
    marked: Mask = kernels.containment.mark_supporters(
        sequences.codes, sequences.person_offsets, book.encode(pattern)
    )
    return marked


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
        marks[:, number] = kernels.containment.mark_supporters(items, offsets, patterns[a:b])
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
    index: tuple[object, ...]
    if rows.owners is None:
        ahead = kernels.containment.mark_ahead(rows.items, rows.offsets)
        places = kernels.containment.list_first_places(rows.items, rows.offsets, n_known + len(pattern_book))
        index = (rows.weights, ahead, places)
    else:
        index = (kernels.rows.mark_symbols(rows.items, rows.offsets), rows.rows_of_owners(rows.owners))
    engine = engine or LocalEngine()
    parts = engine.map(
        _count_persons if rows.owners is None else _count_owners,
        engine.split(len(pattern_offsets) - 1),
        shared=((codes, pattern_offsets), ((rows.items, rows.offsets), *index)),
        progress=progress,
        phase="counting supporters",
    )
    return np.concatenate([np.empty(0, np.int64), *parts])


_Shared = tuple[tuple[object, ...], tuple[object, ...]]
"""Patterns, and the rows that may contain them, as kernels take them."""


def _count_persons(shard: range, shared: _Shared) -> Counts:
    """Count the persons behind rows of their own who contain each pattern of a shard."""
    patterns, rows = shared
    counts: Counts = kernels.containment.count_supporters(patterns, shard.start, shard.stop, *rows)
    return counts


def _count_owners(shard: range, shared: _Shared) -> Counts:
    """Count the persons, some with several rows, who contain each pattern of a shard."""
    patterns, rows = shared
    counts: Counts = kernels.rows.count_supporting_owners(patterns, shard.start, shard.stop, *rows)
    return counts


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
    counts: Counts = kernels.containment.count_embeddings(
        sequences.codes, sequences.person_offsets, book.encode(pattern)
    )
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


@inner
def find_slot(slots: Counts, key: int) -> int:
    """Return the slot that holds `key`, or the free one (-1) where it belongs."""
    # A multiplicative hash of 31 bits, so that no product overflows and the JIT may be off.
    slot = (((key & 0x7FFFFFFF) * 0x9E3779B1 + (key >> 31)) >> 7) & (slots.size - 1)
    while slots[slot] >= 0 and slots[slot] != key:
        slot = (slot + 1) & (slots.size - 1)
    return slot


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
