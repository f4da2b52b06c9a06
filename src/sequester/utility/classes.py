"""Persons who cannot be told apart, and events that cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


def telling(original: EventTable) -> list[str]:
    """Name the attributes that tell persons apart: the symbol, or quasi-identifiers that have a weight."""
    if original.symbol is not None:
        return [original.symbol]
    return [name for name, each in original.schema.quasi.items() if each.weight > 0]


def class_sizes(data: EventTable | Sequences, names: Sequence[str]) -> Counts:
    """Count the persons of each class of equal histories; a person without events is in none.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> sorted(class_sizes(Sequences.from_rows(["ab", "b", "ab", ""]), ["symbol"]).tolist())
    [1, 2]
    """
    sequences = sequences_of(data)
    columns = _columns(sequences, names)
    size = max(len(columns), 1)
    cells = np.stack(columns, axis=1).reshape(-1) if columns else np.zeros(sequences.n_events, np.int32)
    groups, firsts = kernels.distinct.fold_rows(cells, sequences.person_offsets * size)
    sizes = np.bincount(groups, minlength=len(firsts)).astype(np.int64)
    has_events = np.diff(sequences.person_offsets)[firsts] > 0
    return np.asarray(sizes[has_events], np.int64)


def cell_classes(sequences: Sequences, names: Sequence[str]) -> Counts:
    """Number the events so that those with equal values have the same number.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> cell_classes(Sequences.from_rows(["bab"]), ["symbol"]).tolist()
    [1, 0, 1]
    """
    numbers = np.zeros(sequences.n_events, np.int64)
    for column in _columns(sequences, names):
        # Made dense after each attribute, so that products never grow.
        pairs = numbers * (int(column.max(initial=0)) + 1) + column
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def _columns(sequences: Sequences, names: Sequence[str]) -> list[Codes]:
    # Symbol sequences that stand alone may call their column as they like.
    return [sequences.columns[name if name in sequences.columns else sequences.symbol] for name in names]
