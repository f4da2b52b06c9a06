"""Rows of different lengths in flat arrays: row ``r`` is ``values[offsets[r]:offsets[r + 1]]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts, Mask, Offsets

Scalar = TypeVar("Scalar", bound=np.generic)


def offsets_of(sizes: npt.ArrayLike) -> Offsets:
    """Return the offsets of rows with so many values each.

    Examples
    --------
    >>> offsets_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    counts = np.asarray(sizes)
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def owners_of(offsets: npt.NDArray[np.integer[Any]]) -> Counts:
    """Return, for each value, the number of its row.

    Examples
    --------
    >>> owners_of(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def places_of(offsets: Offsets) -> Counts:
    """Return, for each value, its place in its row, from 0.

    Examples
    --------
    >>> places_of(np.array([0, 2, 2, 3])).tolist()
    [0, 1, 0]
    """
    places: Counts = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return places


def gather_rows(
    values: npt.NDArray[Scalar], offsets: Offsets, rows: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[Scalar], Offsets]:
    """Copy the numbered rows, in the order given, into arrays of their own.

    Examples
    --------
    >>> values, offsets = gather_rows(np.array([5, 6, 7]), np.array([0, 2, 3]), np.array([1, 0, 1]))
    >>> values.tolist(), offsets.tolist()
    ([7, 5, 6, 7], [0, 1, 3, 4])
    """
    starts = offsets[rows]
    sizes = offsets[rows + 1] - starts
    gathered = offsets_of(sizes)
    return values[np.repeat(starts - gathered[:-1], sizes) + np.arange(gathered[-1])], gathered


def keep_values(
    values: npt.NDArray[Scalar], offsets: Offsets, is_kept: Mask
) -> tuple[npt.NDArray[Scalar], Offsets]:
    """Copy the marked values of each row; a row may be empty afterwards.

    Examples
    --------
    >>> values, offsets = keep_values(np.array([5, 6, 7]), np.array([0, 2, 3]), np.array([True, False, True]))
    >>> values.tolist(), offsets.tolist()
    ([5, 7], [0, 1, 2])
    """
    return values[is_kept], offsets_of(is_kept)[offsets]


def append_rows(
    values: npt.NDArray[Scalar], offsets: Offsets, more: npt.NDArray[Scalar], more_offsets: Offsets
) -> tuple[npt.NDArray[Scalar], Offsets]:
    """Append each row of the second list to the row of the first.

    Examples
    --------
    >>> values, offsets = append_rows(
    ...     np.array([5, 6, 7]), np.array([0, 2, 3]), np.array([8, 9]), np.array([0, 1, 2])
    ... )
    >>> values.tolist(), offsets.tolist()
    ([5, 6, 8, 7, 9], [0, 3, 5])
    """
    both = np.empty(len(values) + len(more), values.dtype)
    both[np.arange(len(values)) + np.repeat(more_offsets[:-1], np.diff(offsets))] = values
    both[np.arange(len(more)) + np.repeat(offsets[1:], np.diff(more_offsets))] = more
    return both, offsets + more_offsets


def index_codes(codes: npt.NDArray[np.integer[Any]], n_codes: int) -> tuple[Offsets, Counts]:
    """List the places of each code, ascending: ``places[starts[c]:starts[c + 1]]``.

    Examples
    --------
    >>> starts, places = index_codes(np.array([1, 0, 1]), 3)
    >>> starts.tolist(), places.tolist()
    ([0, 1, 3, 3], [1, 0, 2])
    """
    # Two bytes are sorted much faster than four.
    sorted_by = codes.astype(np.uint16) if n_codes < 2**16 else codes
    return offsets_of(np.bincount(codes, minlength=n_codes)), np.argsort(sorted_by, kind="stable")


def list_sets(
    values: npt.NDArray[np.integer[Any]], offsets: Offsets
) -> tuple[npt.NDArray[np.int32], Offsets]:
    """Return the different values of each row, ascending. Values are not negative.

    Examples
    --------
    >>> values, offsets = list_sets(np.array([7, 5, 7, 6]), np.array([0, 3, 3, 4]))
    >>> values.tolist(), offsets.tolist()
    ([5, 7, 6], [0, 2, 2, 3])
    """
    size = int(values.max(initial=0)) + 1
    keys = owners_of(offsets) * size + values
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    rows, different = np.divmod(keys, size)
    return different.astype(np.int32), offsets_of(np.bincount(rows, minlength=len(offsets) - 1))
