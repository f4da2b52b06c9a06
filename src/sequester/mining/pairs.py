"""Ordered pairs of symbols: which somebody has, and who has one that nobody had before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import inner, njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Sequences


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
    book, own = original.codebooks[original.symbol], released.codebooks[released.symbol]
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
