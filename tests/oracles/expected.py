"""How many rows and persons have what is wanted, over all that could be behind coarse values."""

from __future__ import annotations

from itertools import product


def expected(rows, leaves_of, wanted):
    """Average over every way to put a leaf behind each cell: (rows, persons) that have all that is wanted.

    `rows` are (person, {column: node}); `leaves_of` is column to node to its leaves, or to None where cells
    are as they are; `wanted` is column to the set of leaves that will do.
    """
    columns = sorted(wanted)
    cells = [(place, column) for place in range(len(rows)) for column in columns]
    choices = []
    for place, column in cells:
        node = rows[place][1][column]
        choices.append([node] if leaves_of[column] is None else sorted(leaves_of[column][node]))
    n_worlds = n_rows = n_persons = 0
    for world in product(*choices):
        behind = dict(zip(cells, world, strict=True))
        fits = [all(behind[place, c] in wanted[c] for c in columns) for place in range(len(rows))]
        n_worlds += 1
        n_rows += sum(fits)
        n_persons += len({rows[place][0] for place in range(len(rows)) if fits[place]})
    return n_rows / n_worlds, n_persons / n_worlds
