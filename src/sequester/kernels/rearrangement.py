"""Records of a reposition window that are moved although no relay asks for it: by a plan, or by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.bags import END, find_free, move
from sequester.kernels.compiler import njit
from sequester.kernels.person_sets import draw
from sequester.kernels.reposition import largest_level, latest_home, relay

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.kernels.bags import Bags


@njit
def hold_back(value: int, number: int, bags: Bags) -> None:
    """Take the nearest record of a value out of the newest slot, back to the suppressed set of its home."""
    slot = number % bags.heads.shape[0]
    for distance in range(bags.heads.shape[1]):
        row = bags.heads[slot, distance, value]
        if row != END:
            move(value, number - distance, row, END, number, END, bags)
            return


@njit
def trim(number: int, level_parts: tuple[int, int], bags: Bags) -> None:
    """Take records out of a slot until it is eligible: most frequent values first, farthest records first."""
    window = bags.heads.shape[0]
    slot = number % window
    totals = bags.totals[slot]
    level = largest_level(totals, level_parts[0], level_parts[1])
    for value in range(totals.size):
        for distance in range(window - 1, -1, -1):
            while totals[value] > level and bags.heads[slot, distance, value] != END:
                move(value, number - distance, bags.heads[slot, distance, value], END, number, END, bags)


@njit
def rearrange(wanted: Counts, level_parts: tuple[int, int], bags: Bags) -> None:
    """Publish ``wanted[home, slot, value]`` records as far as persons allow, and keep every slot eligible.

    Requires that all records of homes 0 to ``wanted.shape[0] - 1`` are in their own slot or suppressed.
    """
    n_homes = wanted.shape[0]
    for home in range(n_homes):
        for value in range(wanted.shape[2]):
            while bags.totals[home, value] > wanted[home, home, value]:
                move(value, home, bags.heads[home, 0, value], END, home, END, bags)
    for slot in range(n_homes):
        for home in range(slot + 1):
            for value in range(wanted.shape[2]):
                while bags.counts[slot, slot - home, value] < wanted[home, slot, value]:
                    previous, row = find_free(bags.held_heads[home, value], home, slot, bags)
                    if row == END:
                        break
                    move(value, home, row, previous, END, slot, bags)
        trim(slot, level_parts, bags)


@njit
def shake(number: int, level_parts: tuple[int, int], bags: Bags) -> None:
    """Add relays that nothing asks for, and hold back records that could stay, a few, by chance.

    Eligibility stays: a relay goes to a value below the level, what is held back one by one is to spare, and
    a whole level can go because the smaller levels of an eligible slot are eligible, too.
    """
    window, n_values = bags.heads.shape[0], bags.heads.shape[2]
    newest = bags.totals[number % window]
    log = np.empty((window, 4), np.int64)
    while draw(bags.state, 2) == 0:
        value = draw(bags.state, n_values)
        home = latest_home(value, number, number + 1, bags)
        if home != END and newest[value] < newest.max():
            relay(value, home, number, bags, log, 0)
    while draw(bags.state, 2) == 0:
        value = draw(bags.state, n_values)
        if (newest.sum() - 1) * level_parts[1] >= newest.max() * level_parts[0]:
            hold_back(value, number, bags)
    if draw(bags.state, 4) == 0:
        level = newest.max()
        for value in range(n_values):
            if level > 0 and newest[value] == level:
                hold_back(value, number, bags)
