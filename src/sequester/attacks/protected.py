"""The protected values that persons have, numbered the same for a table and for what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.hierarchies.labels import in_label_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Codes, Offsets
    from sequester.data.schema import Schema
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable

Names = tuple[tuple[str, str], ...]
"""Attribute and label of each protected value."""


def value_names(table: EventTable, groups: Mapping[str, str] | None = None) -> Names:
    """List the protected values of a table by attribute, then by group, then in label order.

    `groups` leads from labels to the group of similar values that they belong to; others stand alone. Groups
    follow each other as their first labels do.
    """
    names: list[tuple[str, str]] = []
    for attribute in table.schema.sensitive:
        labels = in_label_order(table.protected[attribute])
        if groups is not None:
            firsts: dict[str, int] = {}
            for place, label in enumerate(labels):
                firsts.setdefault(groups.get(label, label), place)
            labels.sort(key=lambda label: firsts[groups.get(label, label)])
        names += [(attribute, label) for label in labels]
    return tuple(names)


def values_of(sequences: Sequences, schema: Schema, names: Names) -> tuple[Codes, Offsets]:
    """Give the values of `names` that each person has in any event, each once, ascending.

    Where a person has several sequences, what they have in one of them they have in all.
    """
    places: dict[str, dict[str, int]] = {}
    for place, (attribute, label) in enumerate(names):
        places.setdefault(attribute, {})[label] = place
    persons = np.arange(sequences.n_persons) if sequences.owners is None else sequences.owners
    owners = np.repeat(persons.astype(np.int64), np.diff(sequences.person_offsets))
    n_values = max(len(names), 1)
    pairs = [np.empty(0, np.int64)]
    for attribute, place_of in places.items():
        for column in _columns(schema, attribute):
            labels = sequences.codebooks[column].labels
            value_of = np.array([place_of.get(label, -1) for label in labels], np.int64)
            values = value_of[sequences.columns[column]]
            has = values >= 0
            pairs.append(owners[has] * n_values + values[has])
    holders, values = np.divmod(np.unique(np.concatenate(pairs)), n_values)
    offsets = np.searchsorted(holders, np.arange(persons.max(initial=-1) + 2)).astype(np.int64)
    own: tuple[Codes, Offsets] = values.astype(np.int32), offsets
    if sequences.owners is not None:
        own = kernels.distinct.gather_rows(*own, persons.astype(np.int64))
    return own


def _columns(schema: Schema, attribute: str) -> tuple[str, ...]:
    return schema.sensitive[attribute].columns if attribute in schema.sensitive else ()
