"""Sets of persons, one per published slot: open addressing on 64-bit numbers.

A set is a row of cells, a power of two of them. A cell is 0 where it is free; otherwise its upper 62 bits
tell who stands there and its lower two whether they have a record in the slot. Persons who share these bits
of their scrambled number count as one, which keeps them apart and breaks no promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    Cells = npt.NDArray[np.uint64]

FREE = np.uint64(0)
"""Nobody."""
SEEN = np.uint64(1)
"""Somebody without a record in the slot."""
IN = np.uint64(2)
"""Somebody with a record in the slot."""

_MARK = np.uint64(3)
_WHO = np.uint64(0xFFFFFFFFFFFFFFFC)
_7, _13, _17, _11 = np.uint64(7), np.uint64(13), np.uint64(17), np.uint64(11)


@njit
def scramble(number: np.uint64) -> np.uint64:
    """Spread the bits of a number: one step of Marsaglia's xorshift, which leaves only 0 where it is."""
    # Shifts alone: what a product would lose is an error where kernels run without the compiler.
    number ^= number << _13
    number ^= number >> _7
    return number ^ (number << _17)


@njit
def draw(state: npt.NDArray[np.uint64], below: int) -> int:
    """Draw a number from 0 to `below` - 1 and move the state on. Requires ``below > 0`` and ``state > 0``."""
    state[0] = scramble(state[0])
    return int((state[0] >> _11) % np.uint64(below))


@njit
def place_of(cells: Cells, person: int) -> int:
    """Give the place of a person in a set, or the free place where they would stand. Requires one."""
    mask = cells.size - 1
    mixed = scramble(scramble(np.uint64(person)))
    who = mixed & _WHO
    place = int(mixed >> _11) & mask
    while cells[place] != FREE and cells[place] & _WHO != who:
        place = (place + 1) & mask
    return place


@njit
def is_in(cells: Cells, person: int) -> bool:
    """Tell whether a person has a record in the slot."""
    return bool(cells[place_of(cells, person)] & _MARK == IN)


@njit
def see(cells: Cells, person: int) -> int:
    """Note somebody without a record; their place, or -1 where they were known already."""
    place = int(place_of(cells, person))
    if cells[place] != FREE:
        return -1
    cells[place] = scramble(scramble(np.uint64(person))) & _WHO | SEEN
    return place


@njit
def enter(cells: Cells, person: int) -> int:
    """Put a person in, or mark them again; tells how many places this took, 0 or 1."""
    place = place_of(cells, person)
    taken = int(cells[place] == FREE)
    cells[place] = scramble(scramble(np.uint64(person))) & _WHO | IN
    return taken


@njit
def enter_at(cells: Cells, place: int) -> None:
    """Put in who stands at a place."""
    cells[place] = cells[place] & _WHO | IN


@njit
def leave(cells: Cells, person: int) -> None:
    """Take a person out who is in."""
    place = place_of(cells, person)
    cells[place] = cells[place] & _WHO | SEEN


@njit
def move_over(cells: Cells, larger: Cells) -> int:
    """Copy those who are in to an empty, larger set; tells how many."""
    count, mask = 0, larger.size - 1
    for cell in cells:
        if cell & _MARK == IN:
            # The lowest two bits are not part of a place, so the cell tells where it belongs.
            place = int(cell >> _11) & mask
            while larger[place] != FREE:
                place = (place + 1) & mask
            larger[place] = cell
            count += 1
    return count
