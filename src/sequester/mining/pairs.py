"""Ordered pairs of symbols: which somebody has, and who has one that nobody had before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.mining import _pair_kernels as kernels

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Sequences

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
        row, n_keys = kernels.scan_pairs(row, items, offsets, slots, n_keys, NO_ROWS, work)
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
        kernels.scan_pairs(0, items, offsets, _table(len(before), before), len(before), is_new, work)
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
    kernels.enter_keys(slots, keys)
    return slots
