"""Sets of persons, one per published slot: open addressing on 64-bit numbers.

A set is a row of `keys` and a row of `marks` of the same power of two; a mark says whether a place is free,
holds somebody who was seen, or somebody who has a record in the slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    Keys = npt.NDArray[np.int64]
    Marks = npt.NDArray[np.uint8]

FREE = 0
"""Nobody."""
SEEN = 1
"""Somebody without a record in the slot."""
IN = 2
"""Somebody with a record in the slot."""

_7, _13, _17, _11 = np.uint64(7), np.uint64(13), np.uint64(17), np.uint64(11)


@njit(cache=True, nogil=True)
def scramble(number: np.uint64) -> np.uint64:
    """Spread the bits of a number: one step of Marsaglia's xorshift, which leaves only 0 where it is."""
    # Shifts alone: what a product would lose is an error where kernels run without the compiler.
    number ^= number << _13
    number ^= number >> _7
    return number ^ (number << _17)


@njit(cache=True, nogil=True)
def draw(state: npt.NDArray[np.uint64], below: int) -> int:
    """Draw a number from 0 to `below` - 1 and move the state on. Requires ``below > 0`` and ``state > 0``."""
    state[0] = scramble(state[0])
    return int((state[0] >> _11) % np.uint64(below))


@njit(cache=True, nogil=True)
def place_of(keys: Keys, marks: Marks, person: int) -> int:
    """Give the place of a person in a set, or the free place where they would stand. Requires one."""
    mask = keys.size - 1
    place = int(scramble(scramble(np.uint64(person))) >> _11) & mask
    while marks[place] != FREE and keys[place] != person:
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def is_in(keys: Keys, marks: Marks, person: int) -> bool:
    """Tell whether a person has a record in the slot."""
    return bool(marks[place_of(keys, marks, person)] == IN)


@njit(cache=True, nogil=True)
def enter(keys: Keys, marks: Marks, person: int) -> int:
    """Put a person in, or mark them again; tells how many places this took, 0 or 1."""
    place = place_of(keys, marks, person)
    taken = int(marks[place] == FREE)
    keys[place] = person
    marks[place] = IN
    return taken


@njit(cache=True, nogil=True)
def leave(keys: Keys, marks: Marks, person: int) -> None:
    """Take a person out who is in."""
    marks[place_of(keys, marks, person)] = SEEN


@njit(cache=True, nogil=True)
def move_over(keys: Keys, marks: Marks, new_keys: Keys, new_marks: Marks) -> int:
    """Copy those who are in to an empty, larger set; tells how many."""
    count = 0
    for place in range(keys.size):
        if marks[place] == IN:
            count += enter(new_keys, new_marks, keys[place])
    return count
