"""Read lines of itemsets from bytes: whole numbers, -1 after each itemset, -2 after the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Offsets

LARGEST = 2**31 - 1
"""Items above are refused: codes have 32 bits."""

SOUND = 0
"""No fault."""
NO_NUMBER = 1
"""Something that is no whole number."""
TOO_LARGE = 2
"""An item above the largest."""
NEGATIVE = 3
"""A number below zero that is neither -1 nor -2."""
NO_END = 4
"""A line that does not end with -2."""
GOES_ON = 5
"""Something after -2."""
OPEN_ITEMSET = 6
"""A -2 before the -1 of the last itemset."""
EMPTY_ITEMSET = 7
"""A -1 without an item before it."""
EMPTY_SEQUENCE = 8
"""A -2 without an itemset before it."""

_FEED, _RETURN, _SPACE, _TAB, _MINUS = np.uint8(10), np.uint8(13), np.uint8(32), np.uint8(9), np.uint8(45)
_ZERO, _NINE = np.uint8(48), np.uint8(57)
_REMARKS = (np.uint8(35), np.uint8(37), np.uint8(64))  # what begins with # % @ is no sequence


@njit
def parse_itemsets(data: npt.NDArray[np.uint8]) -> tuple[Codes, Codes, Offsets, int, int]:
    """Give all items, the places of their itemsets (from 1), the offsets of sequences, and the first fault.

    Each line is a sequence; blank lines and remarks are none. The fault comes with its line, counted from 0.
    """
    n_lines = 1
    n_words = 0
    inside = False
    for i in range(data.size):
        byte = data[i]
        if byte == _FEED:
            n_lines += 1
        is_blank = byte in (_FEED, _RETURN, _SPACE, _TAB)
        if not is_blank and not inside:
            n_words += 1
        inside = not is_blank
    items = np.empty(n_words, np.int32)
    places = np.empty(n_words, np.int32)
    offsets = np.zeros(n_lines + 1, np.int64)
    n_items = 0
    n_rows = 0
    line = 0
    place = 1  # of the itemset that is being read
    first = 0  # the item that it begins with
    is_ended = False
    at_start = True
    value = np.int64(-1)
    is_negative = False
    i = 0
    while i <= data.size:
        byte = data[i] if i < data.size else _FEED
        if at_start and byte in _REMARKS:
            while i < data.size and data[i] != _FEED:
                i += 1
            continue
        if _ZERO <= byte <= _NINE:
            at_start = False
            value = max(value, np.int64(0)) * 10 + np.int64(byte - _ZERO)
            if value > LARGEST:
                return items[:n_items], places[:n_items], offsets[: n_rows + 1], TOO_LARGE, line
        elif byte == _MINUS:
            at_start = False
            if is_negative or value >= 0:
                return items[:n_items], places[:n_items], offsets[: n_rows + 1], NO_NUMBER, line
            is_negative = True
        elif byte in (_FEED, _RETURN, _SPACE, _TAB):
            fault = SOUND
            if value >= 0:
                if is_ended:
                    fault = GOES_ON
                elif not is_negative:
                    items[n_items] = value
                    places[n_items] = place
                    n_items += 1
                elif value == 1:
                    if n_items == first:
                        fault = EMPTY_ITEMSET
                    place += 1
                    first = n_items
                elif value == 2:
                    if n_items > first:
                        fault = OPEN_ITEMSET
                    elif n_items == offsets[n_rows]:
                        fault = EMPTY_SEQUENCE
                    is_ended = True
                else:
                    fault = NEGATIVE
            elif is_negative:
                fault = NO_NUMBER
            value = np.int64(-1)
            is_negative = False
            if byte == _FEED and fault == SOUND:
                if is_ended:
                    n_rows += 1
                    offsets[n_rows] = n_items
                elif not at_start:
                    fault = NO_END
                place = 1
                is_ended = False
                at_start = True
            if fault != SOUND:
                return items[:n_items], places[:n_items], offsets[: n_rows + 1], fault, line
            if byte == _FEED:
                line += 1
        else:
            return items[:n_items], places[:n_items], offsets[: n_rows + 1], NO_NUMBER, line
        i += 1
    return items[:n_items].copy(), places[:n_items].copy(), offsets[: n_rows + 1].copy(), SOUND, -1
