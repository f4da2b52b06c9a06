"""Read lines of whole numbers from bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Offsets

_FEED, _RETURN, _SPACE, _TAB = np.uint8(10), np.uint8(13), np.uint8(32), np.uint8(9)
_BLANKS = (_FEED, _RETURN, _SPACE, _TAB)
_ZERO, _NINE = np.uint8(48), np.uint8(57)
LARGEST = 2**31 - 1
"""Numbers above are refused: codes have 32 bits."""


@njit
def parse_number_lines(data: npt.NDArray[np.uint8]) -> tuple[Codes, Offsets, int]:
    """Give the numbers of all lines, the offsets of the lines that have any, and the first faulty line.

    Numbers are digits between blanks. Lines are counted from 0; -1 is none.
    """
    n_lines = 1
    n_numbers = 0
    inside = False
    for i in range(data.size):
        byte = data[i]
        if byte == _FEED:
            n_lines += 1
        is_blank = byte in _BLANKS
        if not is_blank and not inside:
            n_numbers += 1
        inside = not is_blank
    numbers = np.empty(n_numbers, np.int32)
    offsets = np.zeros(n_lines + 1, np.int64)
    row = 0
    line = 0
    n_read = 0
    value = np.int64(-1)
    for i in range(data.size + 1):
        byte = data[i] if i < data.size else _FEED
        if _ZERO <= byte <= _NINE:
            value = np.int64(byte - _ZERO) if value < 0 else value * 10 + np.int64(byte - _ZERO)
            if value > LARGEST:
                return numbers[:n_read], offsets[: row + 1], line
        elif byte in _BLANKS:
            if value >= 0:
                numbers[n_read] = value
                n_read += 1
                value = np.int64(-1)
            if byte == _FEED:
                if n_read > offsets[row]:
                    row += 1
                    offsets[row] = n_read
                line += 1
        else:
            return numbers[:n_read], offsets[: row + 1], line
    return numbers, offsets[: row + 1].copy(), -1
