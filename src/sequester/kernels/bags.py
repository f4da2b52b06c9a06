"""Bags of linked records: which record of a reposition window is published in which snapshot.

A *slot* is a published snapshot, a *home* the snapshot that a record came with. Numbers of snapshots count
from 0; slot ``j`` stands at ``j % w`` in what has `w` rows, home ``h`` at ``h % (2 w)`` in what has ``2 w``
rows, because a record may stay in a slot for up to ``w - 1`` snapshots after its own is gone.

``heads[j % w, d, s]`` is the first record of value `s` in slot `j` whose home is ``j - d``, and
``held_heads[h % w, s]`` the first suppressed one of home `h`; ``links[h % (2 w), row]`` is the next one in
the same bag, -1 at its end. ``counts`` and ``held_counts`` are the sizes of the bags, ``totals[j % w, s]``
sums over `d`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.person_sets import enter, is_in, leave

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.kernels.person_sets import Cells

END = -1
"""No further record."""
TRIES = 64
"""Records of a bag that are looked at for one whose person may move."""


class Bags(NamedTuple):
    """The arrays of a window, as the module describes them."""

    links: Codes
    """Home and row to the next row of its bag."""
    people: Counts
    """Home and row to its person."""
    heads: Codes
    """Slot, distance and value to the first row of the bag."""
    counts: Counts
    """Slot, distance and value to the size of the bag."""
    totals: Counts
    """Slot and value to the number of records."""
    held_heads: Codes
    """Home and value to the first suppressed row."""
    held_counts: Counts
    """Home and value to the number of suppressed rows."""
    slots: npt.NDArray[np.uint16]
    """Home and row to 1 + the row of the slot in which it is published; 0 for those that are not."""
    sizes: Counts
    """Home to its number of records."""
    cells: Cells
    """Slot to the set of its persons."""
    used: Counts
    """Slot to the places that are taken in its set."""
    state: npt.NDArray[np.uint64]
    """What everything random is drawn from."""


@njit
def find_free(first: int, home: int, target: int, bags: Bags) -> tuple[int, int]:
    """Find a record of a bag whose person has no record in slot `target`: the one before it, and it."""
    window = bags.heads.shape[0]
    links, people = bags.links[home % (2 * window)], bags.people[home % (2 * window)]
    cells = bags.cells[target % window]
    before, row = END, first
    for _ in range(TRIES):
        if row == END:
            break
        if not is_in(cells, people[row]):
            return before, row
        before, row = row, links[row]
    return END, END


@njit
def move(value: int, home: int, row: int, previous: int, source: int, target: int, bags: Bags) -> None:
    """Take a record out of its bag, where `previous` comes before it, and put it on top of another.

    `source` and `target` are slots, or -1 for the suppressed set of its home.
    """
    window = bags.heads.shape[0]
    links, person = bags.links[home % (2 * window)], bags.people[home % (2 * window), row]
    after = links[row]
    if previous != END:
        links[previous] = after
    elif source == END:
        bags.held_heads[home % window, value] = after
    else:
        bags.heads[source % window, source - home, value] = after
    if source == END:
        bags.held_counts[home % window, value] -= 1
    else:
        bags.counts[source % window, source - home, value] -= 1
        bags.totals[source % window, value] -= 1
        leave(bags.cells[source % window], person)
    if target == END:
        bags.slots[home % (2 * window), row] = 0
        links[row] = bags.held_heads[home % window, value]
        bags.held_heads[home % window, value] = row
        bags.held_counts[home % window, value] += 1
    else:
        slot = target % window
        links[row] = bags.heads[slot, target - home, value]
        bags.heads[slot, target - home, value] = row
        bags.counts[slot, target - home, value] += 1
        bags.totals[slot, value] += 1
        bags.slots[home % (2 * window), row] = slot + 1
        bags.used[slot] += enter(bags.cells[slot], person)


@njit
def gather_slot(number: int, bags: Bags) -> tuple[Counts, Codes]:
    """List the records of a slot by home and row."""
    window = bags.heads.shape[0]
    slot = number % window
    size = bags.totals[slot].sum()
    homes, rows = np.empty(size, np.int64), np.empty(size, np.int32)
    at = 0
    for home in range(max(number - window + 1, 0), number + 1):
        slots = bags.slots[home % (2 * window)]
        for row in range(bags.sizes[home % (2 * window)]):
            if slots[row] == slot + 1:
                homes[at], rows[at] = home, row
                at += 1
    return homes, rows


@njit
def enter_all(number: int, bags: Bags) -> None:
    """Note where the records of a slot are, and put their persons into its empty set, from its bags."""
    window, n_values = bags.heads.shape[0], bags.heads.shape[2]
    slot = number % window
    for distance in range(window):
        home = (number - distance) % (2 * window)
        for value in range(n_values):
            row = bags.heads[slot, distance, value]
            while row != END:
                bags.slots[home, row] = slot + 1
                bags.used[slot] += enter(bags.cells[slot], bags.people[home, row])
                row = bags.links[home, row]


@njit
def clear_slot(number: int, bags: Bags) -> None:
    """Empty the bags of a slot and of the home of its number, and the set of its persons."""
    window = bags.heads.shape[0]
    slot = number % window
    bags.heads[slot] = END
    bags.counts[slot] = 0
    bags.totals[slot] = 0
    bags.held_heads[slot] = END
    bags.held_counts[slot] = 0
    bags.cells[slot] = 0
    bags.used[slot] = 0
    # Rows of the next slot at this place must not be taken for rows of this one.
    for home in range(max(number - window + 1, 0), number + 1):
        slots = bags.slots[home % (2 * window)]
        for row in range(bags.sizes[home % (2 * window)]):
            if slots[row] == slot + 1:
                slots[row] = 0
