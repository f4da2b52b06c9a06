"""Show every row's events in the items of a few columns only, for a search through those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets


@njit
def project_rows(
    cells: Codes,
    offsets: Offsets,
    n_attributes: int,
    attribute_of_column: Codes,
    item_of_cell: Codes,
    map_offsets: Offsets,
    least: int,
) -> tuple[Codes, Offsets, Counts]:
    """Translate cells into items; leave out events without an item, and rows with fewer than `least` items.

    Event ``e`` has the cells ``cells[e * n_attributes:(e + 1) * n_attributes]``; -1 is no value. Column ``c``
    shows a cell ``v`` of attribute ``attribute_of_column[c]`` as ``item_of_cell[map_offsets[c] + v]``, -1 is
    no item. Gives the items event by event, the offsets of rows in events, and the rows that are left.
    """
    n_columns = attribute_of_column.size
    n_rows = offsets.size - 1
    items = np.empty(offsets[n_rows] * n_columns, np.int32)
    new_offsets = np.zeros(n_rows + 1, np.int64)
    kept = np.empty(n_rows, np.int64)
    n_kept, n_events = 0, 0
    for row in range(n_rows):
        start, n_items = n_events, 0
        for event in range(offsets[row], offsets[row + 1]):
            n_here = 0
            for column in range(n_columns):
                cell = cells[event * n_attributes + attribute_of_column[column]]
                item = np.int32(-1)
                if cell >= 0:
                    item = item_of_cell[map_offsets[column] + cell]
                if item >= 0:
                    n_here += 1
                items[n_events * n_columns + column] = item
            if n_here > 0:
                n_events += 1
                n_items += n_here
        if n_items < least:
            n_events = start
        else:
            kept[n_kept] = row
            n_kept += 1
            new_offsets[n_kept] = n_events
    return items[: n_events * n_columns].copy(), new_offsets[: n_kept + 1].copy(), kept[:n_kept].copy()


@njit
def list_members(group_of_row: Codes, n_groups: int) -> tuple[Offsets, Counts]:
    """List the rows of each group, ascending: offsets, and the rows."""
    offsets = np.zeros(n_groups + 1, np.int64)
    for row in range(group_of_row.size):
        offsets[group_of_row[row] + 1] += 1
    for group in range(n_groups):
        offsets[group + 1] += offsets[group]
    place = offsets[:-1].copy()
    rows = np.empty(group_of_row.size, np.int64)
    for row in range(group_of_row.size):
        group = group_of_row[row]
        rows[place[group]] = row
        place[group] += 1
    return offsets, rows


@njit
def list_events(items: Codes, n_columns: int, n_items: int) -> tuple[Offsets, Codes]:
    """List the events that hold each item, ascending: offsets, and the events."""
    offsets = np.zeros(n_items + 1, np.int64)
    for i in range(items.size):
        if items[i] >= 0:
            offsets[items[i] + 1] += 1
    for item in range(n_items):
        offsets[item + 1] += offsets[item]
    place = offsets[:-1].copy()
    events = np.empty(offsets[n_items], np.int32)
    for i in range(items.size):
        item = items[i]
        if item >= 0:
            events[place[item]] = i // n_columns
            place[item] += 1
    return offsets, events


@njit
def write_records(
    items: Codes, n_columns: int, offsets: Offsets, weights: Codes, risks: Codes, head: int
) -> Codes:
    """Write for each event the end of its row, the row's weight and risk, and its items, side by side."""
    stride = n_columns + head
    records = np.empty(offsets[-1] * stride, np.int32)
    for row in range(offsets.size - 1):
        for event in range(offsets[row], offsets[row + 1]):
            at = event * stride
            records[at], records[at + 1], records[at + 2] = offsets[row + 1], weights[row], risks[row]
            for column in range(n_columns):
                records[at + head + column] = items[event * n_columns + column]
    return records
