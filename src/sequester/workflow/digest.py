"""Tells one table from any other: its data, its roles and its hierarchies."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sequester.data.table import EventTable


def table_digest(table: EventTable) -> str:
    """Give the SHA-256 of all that a method can see of a table, in hexadecimal.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> table_digest(symbol_table(["ab", "a"])) == table_digest(symbol_table(["ab", "a"]))
    True
    >>> table_digest(symbol_table(["ab", "a"])) == table_digest(symbol_table(["ab", "b"]))
    False
    """
    schema = table.schema
    roles = {
        "columns": [schema.person, schema.order, schema.tie, table.symbol, schema.weight],
        "keep": schema.keep,
        "quasi": {
            name: [each.max_level, sorted(each.never_suppress), each.weight]
            for name, each in schema.quasi.items()
        },
        "sensitive": {name: each.columns for name, each in schema.sensitive.items()},
        "protected": {name: sorted(labels) for name, labels in table.protected.items()},
        "hierarchies": {
            name: [tree.labels, tree.parent.tolist(), tree.leaves.tolist()]
            for name, tree in table.hierarchies.items()
        },
        "regions": None if table.regions is None else sorted(table.regions.outlines.items()),
    }
    state = hashlib.sha256(json.dumps(roles, sort_keys=True, default=str).encode())
    for numbers in (table.person_offsets, table.rows, table.owners):
        state.update(b"none" if numbers is None else numbers.astype("<i8").tobytes())
    state.update(table.frame.write_csv().encode())
    if table.times is not None:
        state.update(table.times.to_frame().write_csv().encode())
    return state.hexdigest()
