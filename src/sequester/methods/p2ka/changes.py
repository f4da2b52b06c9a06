"""Which events of whom the release does not show, and which items it shows instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.methods.p2ka.prefix_tree import ROOT
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.sequences import Distinct
    from sequester.data.table import EventTable
    from sequester.methods.p2ka.attachment import Attachment

KINDS = ("shortened", "re-attached", "dropped")
"""Events were removed and none added; moved to a path the person did not take; nothing is released."""
SHORTENED, REATTACHED, DROPPED = range(3)
NONE = -1


def list_changes(table: EventTable, distinct: Distinct, attachment: Attachment) -> pl.DataFrame:
    """List every event that was removed and every item that was added, by input row.

    A person's sequence and what is released of it are laid side by side along a longest common subsequence.
    What is in it is unchanged, and not listed. Take the removed events away, put the added items in their
    places, and the input becomes the release. The columns:

    - ``row``: the input row of the removed event; for an added item the row of the unchanged event that it
      comes after, or of the person's first event where it comes before all of those;
    - ``person``, as in the input, and where persons have several the number of the ``trip``, from 1;
    - ``what`` happened to the person's sequence: ``shortened``, ``re-attached`` or ``dropped``;
    - ``order``: the place of an added item in the released sequence, from 1; null for a removed event;
    - ``from``: the symbol of a removed event; null for an added item;
    - ``to``: the symbol of an added item; null for a removed event.
    """
    sequences = table.sequences
    labels = sequences.codebooks[sequences.symbol].labels
    cut = np.flatnonzero(attachment.is_cut)
    targets = attachment.targets[cut].astype(np.int64)
    items, offsets = gather_rows(distinct.items, distinct.offsets, cut)
    path_items, path_offsets = gather_rows(*attachment.tree.paths(), targets)
    is_shown, partners = kernels.lcs.align_rows(items, offsets, path_items, path_offsets, len(labels))
    is_added = partners < 0
    n_added = np.diff(np.concatenate([[0], np.cumsum(is_added)])[path_offsets])
    kinds = np.where(targets == ROOT, DROPPED, np.where(n_added > 0, REATTACHED, SHORTENED))
    # The last partner so far, as a position in `items`. Those of a later row are larger, so one running
    # maximum over all paths serves; a path that begins with an added item starts at its row's first event.
    starts = np.repeat(offsets[:-1], np.diff(path_offsets))
    anchors = np.maximum.accumulate(starts + np.maximum(partners, 0)) - starts

    number_of_cut = np.zeros(distinct.n_rows, np.int64)
    number_of_cut[cut] = np.arange(len(cut))
    persons = np.flatnonzero(attachment.is_cut[distinct.row_of_person])
    rows = number_of_cut[distinct.row_of_person[persons]]
    first_event = sequences.person_offsets[persons]

    owner, item = _cells(offsets, rows, where=~is_shown)
    removed = {
        "event": first_event[owner] + item - offsets[rows[owner]],
        "owner": owner,
        "order": np.full(len(owner), NONE),
        "from": items[item],
        "to": np.full(len(owner), NONE),
    }
    owner, item = _cells(path_offsets, rows, where=is_added)
    added = {
        "event": first_event[owner] + anchors[item],
        "owner": owner,
        "order": 1 + item - path_offsets[rows[owner]],
        "from": np.full(len(owner), NONE),
        "to": path_items[item],
    }
    both = {name: np.concatenate([removed[name], added[name]]) for name in removed}
    row = table.rows[both["event"]]
    by_row = np.lexsort((both["order"], row))
    owner, order = both["owner"][by_row], both["order"][by_row]
    # A code of -1 takes the last entry, which is no label.
    book = pl.Series([*labels, None], dtype=pl.String)
    what = pl.Series(KINDS, dtype=pl.Enum(KINDS))
    trip = {} if table.owners is None else {"trip": number_trips(table.owners)[persons[owner]]}
    return pl.DataFrame(
        {
            "row": row[by_row],
            "person": table.persons.gather(persons[owner]),
            **trip,
            "what": what.gather(kinds[rows[owner]]),
            "order": pl.Series(order).set(pl.Series(order == NONE), None),
            "from": book.gather(both["from"][by_row] % len(book)),
            "to": book.gather(both["to"][by_row] % len(book)),
        }
    )


def number_trips(owners: Codes) -> Counts:
    """Number the sequences of each owner from 1, in their order.

    Examples
    --------
    >>> number_trips(np.array([0, 0, 1, 0], np.int32)).tolist()
    [1, 2, 1, 3]
    """
    return (
        pl.Series("owner", owners)
        .to_frame()
        .select(pl.int_range(1, pl.len() + 1).over("owner"))
        .to_series()
        .to_numpy()
    )


def _cells(offsets: Offsets, rows: Counts, *, where: Mask) -> tuple[Counts, Counts]:
    """List the marked cells of `rows`, row after row: the place of the row in `rows`, and the cell."""
    lengths = np.diff(offsets)[rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    before = np.cumsum(lengths) - lengths
    cell = np.arange(len(owner)) + (offsets[rows] - before)[owner]
    marked = where[cell]
    return owner[marked], cell[marked]
