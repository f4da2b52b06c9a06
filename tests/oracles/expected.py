"""How many rows and persons have what is wanted, over all that could be behind coarse values."""

from __future__ import annotations

from itertools import product
from math import prod


def parts_of(node, leaves_of, shown, n_rows):
    """Return what `node` is divided into, released nodes just below it and other leaves, with their shares.

    `leaves_of` is every released node to its leaves, `shown` the nodes of all cells, `n_rows` how many cells
    are expected to be divided here.
    """
    leaves = leaves_of[node]
    inside = [each for each in leaves_of if leaves_of[each] < leaves]
    children = [each for each in inside if not any(leaves_of[each] < leaves_of[o] for o in inside)]
    covered = {leaf for each in children for leaf in leaves_of[each]}
    alone = leaves - covered
    rows = {each: sum(leaves_of[cell] <= leaves_of[each] for cell in shown) for each in children}
    n_shown = sum(rows.values())
    if not n_shown:
        for_alone = len(alone) / len(leaves)
    else:
        for_alone = min(len(alone) * n_shown / len(covered), n_rows) / n_rows if n_rows else 0.0
    shares = {leaf: for_alone / len(alone) for leaf in alone}
    for each in children:
        own = (rows[each] + len(leaves_of[each]) / len(covered)) / (n_shown + 1)
        shares[each] = (1 - for_alone) * own
    return shares


def behind_cells(leaves_of, shown):
    """Return released node to leaf to its probability, from the root down."""
    n_rows = dict.fromkeys(leaves_of, 0.0)
    parts = {}
    for node in sorted(leaves_of, key=lambda each: -len(leaves_of[each])):
        n_rows[node] += shown.count(node)
        if len(leaves_of[node]) == 1:
            continue
        parts[node] = parts_of(node, leaves_of, shown, n_rows[node])
        for each, share in parts[node].items():
            if each in n_rows:
                n_rows[each] += n_rows[node] * share

    def leaves(node):
        if node not in parts:
            return {node: 1.0}
        return {
            leaf: share * part
            for each, share in parts[node].items()
            for leaf, part in (leaves(each) if each in leaves_of else {each: 1.0}).items()
        }

    return {node: leaves(node) for node in leaves_of}


def expected(rows, leaves_of, wanted):
    """Average over every way to put a leaf behind each cell: (rows, persons) that have all that is wanted.

    `rows` are (person, {column: node}); `leaves_of` is column to released node to its leaves, or to None
    where cells are as they are; `wanted` is column to the set of leaves that will do.
    """
    columns = sorted(wanted)
    cells = [(place, column) for place in range(len(rows)) for column in columns]
    choices = []
    for place, column in cells:
        node = rows[place][1][column]
        nodes = leaves_of[column]
        shares = {} if nodes is None else behind_cells(nodes, [own[column] for _, own in rows])
        choices.append(sorted(shares[node].items()) if shares else [(node, 1.0)])
    n_rows = n_persons = 0.0
    for world in product(*choices):
        behind = {cell: leaf for cell, (leaf, _) in zip(cells, world, strict=True)}
        chance = prod(share for _, share in world)
        fits = [all(behind[place, c] in wanted[c] for c in columns) for place in range(len(rows))]
        n_rows += chance * sum(fits)
        n_persons += chance * len({rows[place][0] for place in range(len(rows)) if fits[place]})
    return n_rows, n_persons
