"""Masks say which symbols are ahead of a place, and where each comes next."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.row_masks import list_parts, lowest, mark_rows, next_place

pytestmark = pytest.mark.kernel

some_rows = st.lists(st.lists(st.integers(0, 2), max_size=5), max_size=5)
WIDE = [[*range(130), *range(0, 130, 3)], [], [1] * 70 + [2]]


@given(some_rows | st.just(WIDE))
def test_masks_equal_what_a_look_at_the_row_says(rows):
    items = np.array([code for row in rows for code in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    part_rows, part_symbols, symbols, first_parts, ahead_starts = list_parts(items, offsets, 130)
    ahead, bits, bit_starts = mark_rows(items, offsets, 130, part_symbols, symbols, first_parts, ahead_starts)
    ends = [*part_symbols.tolist(), len(symbols)]
    for row, (word, (first, last)) in enumerate(zip(rows, pairwise(first_parts.tolist()), strict=True)):
        assert part_rows[first:last].tolist() == [row] * (last - first)
        ranked = symbols[ends[first] : ends[last]].tolist() if last > first else []
        assert ranked == list(dict.fromkeys(word))
        n_blocks = -(-len(word) // 64)
        for place in range(len(word) + 1):
            here = ahead_starts[row] + place * (last - first)
            set_bits = {
                ranked[64 * part + bit]
                for part in range(last - first)
                for bit in range(64)
                if int(ahead[here + part]) >> bit & 1
            }
            assert set_bits == set(word[place:])
            for symbol in set_bits:
                start = bit_starts[row] + ranked.index(symbol) * n_blocks
                assert next_place(bits, start, place) == word.index(symbol, place)


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 62, 63])
def test_the_lowest_bit_is_found(bit):
    assert lowest(np.uint64(2**bit)) == bit
    assert lowest(np.uint64(2**64 - 2**bit)) == bit
