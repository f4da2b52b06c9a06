"""What the tests of the window share: feeding letters, and reading a window as plain Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sequester.methods.reposition.method import Costs
from sequester.methods.reposition.window import Window

LETTERS = "abcdefgh"


def new_window(*, size, level, cost="linear", suppression=None, seed=5, randomize=False):
    window = Window(
        size=size,
        level=Fraction(str(level)),
        costs=Costs.of(cost, window=size, suppression=suppression),
        seed=seed,
        randomize=randomize,
    )
    window.labels = list(LETTERS)
    return window


def snapshot(letters, persons=None):
    codes = np.array([LETTERS.index(letter) for letter in letters], np.int32)
    return codes, None if persons is None else np.array(persons, np.int64)


def contents(window):
    """Published (slot, home, letter) and suppressed (home, letter) of a window, one per record."""
    lists = window.lists
    published, held = [], []
    for slot in range(window.n_published, window.n_fed):
        for distance in range(window.size):
            for value in range(window.n_values):
                count = lists.counts[slot % window.size, distance, value]
                published += [(slot, slot - distance, LETTERS[value])] * int(count)
        for value in range(window.n_values):
            held += [(slot, LETTERS[value])] * int(lists.held_counts[slot % window.size, value])
    return published, held


def published_letters(window_output, snapshots):
    """Slot to (home, letter) of what was published in it."""
    return {
        each.number: sorted(
            (home, snapshots[home][row]) for home, row in zip(each.homes.tolist(), each.rows, strict=True)
        )
        for each in window_output
    }
