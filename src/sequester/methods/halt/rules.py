"""What the schema allows a release to do to values, as the search reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.halt.elimination import Rules
from sequester.methods.halt.histories import HIDDEN

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.halt.axes import Axes
    from sequester.methods.halt.histories import Histories


def rules_of(table: EventTable, axes: Axes, histories: Histories, *, suppress: bool, stars: bool) -> Rules:
    """Read `max_level` and `never_suppress`.

    A column with a `max_level` keeps something of its values: neither the root of its tree nor the
    suppression of all of its values may stand for them. A value that may never be suppressed may not become
    the root, either; that is asked for only where it occurs.
    """
    tops = []
    is_allowed = np.ones(axes.n_items, np.bool_)
    is_allowed[axes.stars] = False
    cells = histories.cells.reshape(-1, len(axes))
    for q, axis in enumerate(axes.each):
        quasi = table.schema.quasi[axis.name]
        top = axis.height if quasi.max_level is None else quasi.max_level
        present = np.unique(cells[:, q])
        kept = [node for node in map(axis.tree.node, quasi.never_suppress) if node in present]
        for node in kept:
            for above in axis.tree.ancestors(node):
                is_allowed[axis.first + above] = False
        if kept:
            top = min(top, axis.height - 1)
        if top < axis.height:
            is_allowed[axis.first] = False
        tops.append(top)
    return Rules(
        tops=tuple(tops),
        is_allowed=is_allowed,
        suppress=suppress,
        stars=stars,
        has_secrets=tuple(bool((cells[:, q] == HIDDEN).any()) for q in range(len(axes))),
    )
