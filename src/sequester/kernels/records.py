"""Walk through the bytes of delimited text and judge its records before a fast reader trusts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts

SOUND = 0
"""No fault."""
STRAY_QUOTE = 1
"""A quote inside a cell that does not start with one, or text after a closing quote."""
OPEN_QUOTE = 2
"""A quoted cell that never ends."""
BARE_RETURN = 3
"""A carriage return outside quotes that no line feed follows."""

_QUOTE, _FEED, _RETURN = np.uint8(34), np.uint8(10), np.uint8(13)


@njit
def scan_records(
    data: npt.NDArray[np.uint8], delimiter: int, n_cells: int, n_shown: int
) -> tuple[int, int, int, int, Counts]:
    """Count records, blank lines and records that do not have `n_cells` cells, up to the first fault.

    Returns the number of records, of blank lines, the fault of the last record, the number of ragged records,
    and for the first `n_shown` of those their number (from 1) and their number of cells.
    """
    size = data.size
    separator = np.uint8(delimiter)
    ragged = np.zeros((n_shown, 2), np.int64)
    n_records = 0
    n_blank = 0
    n_ragged = 0
    i = 0
    while i < size:
        if data[i] == _FEED:
            n_blank += 1
            i += 1
            continue
        if data[i] == _RETURN and i + 1 < size and data[i + 1] == _FEED:
            n_blank += 1
            i += 2
            continue
        n_records += 1
        cells = 1
        at_start = True
        while i < size:
            byte = data[i]
            if byte == separator:
                cells += 1
                at_start = True
                i += 1
            elif byte == _FEED:
                i += 1
                break
            elif byte == _RETURN:
                if i + 1 >= size or data[i + 1] != _FEED:
                    return n_records, n_blank, BARE_RETURN, n_ragged, ragged
                i += 1
            elif byte == _QUOTE:
                if not at_start:
                    return n_records, n_blank, STRAY_QUOTE, n_ragged, ragged
                at_start = False
                i += 1
                while i < size and (data[i] != _QUOTE or (i + 1 < size and data[i + 1] == _QUOTE)):
                    i += 2 if data[i] == _QUOTE else 1
                if i >= size:
                    return n_records, n_blank, OPEN_QUOTE, n_ragged, ragged
                i += 1
                if i < size and data[i] != separator and data[i] != _FEED and data[i] != _RETURN:
                    return n_records, n_blank, STRAY_QUOTE, n_ragged, ragged
            else:
                at_start = False
                i += 1
        if cells != n_cells:
            if n_ragged < n_shown:
                ragged[n_ragged, 0] = n_records
                ragged[n_ragged, 1] = cells
            n_ragged += 1
    return n_records, n_blank, SOUND, n_ragged, ragged


@njit
def drop_blank_lines(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Copy sound delimited text without its blank lines; line feeds inside quotes stay."""
    out = np.empty(data.size, np.uint8)
    size = 0
    is_quoted = False
    at_line_start = True
    i = 0
    while i < data.size:
        byte = data[i]
        if at_line_start and not is_quoted:
            if byte == _FEED:
                i += 1
                continue
            if byte == _RETURN and i + 1 < data.size and data[i + 1] == _FEED:
                i += 2
                continue
        # In sound text quotes come in pairs, so parity tells what is inside.
        if byte == _QUOTE:
            is_quoted = not is_quoted
        at_line_start = byte == _FEED
        out[size] = byte
        size += 1
        i += 1
    return out[:size]
