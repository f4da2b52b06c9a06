"""Equivalence classes: discernibility, classification metric, loss per privacy gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.score import Score, attribute_weights, units_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


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
    groups, firsts = kernels.rows.fold_rows(cells, sequences.person_offsets * size)
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
    # Symbol sequences without a schema may call their column as they like.
    return [sequences.columns[name if name in sequences.columns else sequences.symbol] for name in names]


def discernibility(released: EventTable | Sequences, *, original: EventTable) -> Score:
    """Return how many persons are released alike, on average; one who is not released is alike to all.

    Two persons are alike if their released histories are equal in every quasi-identifier that has a weight,
    or in their symbols.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "ab", "b", "c"])
    >>> discernibility(original, original=original).value  # (2 + 2 + 1 + 1) / 4
    1.5
    >>> released = Sequences.from_rows(["ab", "ab", "b", ""])
    >>> discernibility(released, original=original).value  # (2 + 2 + 1 + 4) / 4
    2.25

    References
    ----------
    Bayardo, Agrawal (2005); Sehatkar (2014), section 2.3. The record is a person's history, and the sum is
    divided by the persons.
    """
    units = units_of(original)
    sizes = class_sizes(released, [*attribute_weights(original)])
    n = sequences_of(original).n_persons
    total = int((sizes * sizes).sum()) + (n - int(sizes.sum())) * n
    return Score(
        value=total / n if n else 1.0,
        bounds=(1, max(n, 1)),
        means=f"How many {units.many} are released alike, on average over {units.many}; 1 says that all "
        f"differ, and one that is not released counts as alike to all {n:,}.",
        formula="DM = (Σ over classes E of |E|² + |suppressed| · n) / n; "
        "E = persons with the same released history",
        reference="Bayardo, Agrawal (2005); Sehatkar (2014), section 2.3",
    )


def classification_metric(released: EventTable | Sequences, *, original: EventTable) -> Score:
    """Return the share of events that are absent, or whose sensitive value is not that of most alike events.

    Events are alike if they are equal in every quasi-identifier that has a weight. Several sensitive columns
    are averaged.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> age = Hierarchy.from_tree({"young": ["1", "2"], "old": ["8"]})
    >>> frame = pl.DataFrame({"who": list("abcd"), "n": 1, "age": list("1128"), "ill": list("yynn")})
    >>> roles = {"person": "who", "order": "n", "quasi": {"age": age}, "sensitive": {"ill": ["y"]}}
    >>> original = EventTable(frame, Schema(**roles))
    >>> classification_metric(original, original=original).value
    0.0
    >>> coarser = frame.with_columns(age=pl.Series(["young", "young", "young", "8"]))
    >>> released = EventTable(coarser, Schema(**roles, released=True))
    >>> classification_metric(released, original=original).value  # the third is not like most young
    0.25

    References
    ----------
    Iyengar (2002); Sehatkar (2014), Eq. 2.6 and 2.7. The record is an event, its class the sensitive value.
    """
    columns = original.schema.sensitive_columns
    if not columns:
        msg = "the classification metric needs a sensitive attribute, and there is none"
        raise ParameterError(msg)
    sequences = sequences_of(released)
    classes = cell_classes(sequences, [*attribute_weights(original)])
    right = sum(_majority(classes, sequences.columns[column]) for column in columns) / len(columns)
    n = original.n_events
    return Score(
        value=1 - right / n if n else 0.0,
        means=f"The share of events that are not released, or whose {' and '.join(columns)} is not the "
        "most frequent among released events with the same quasi-identifiers: what a classifier that "
        "learned all of them would get wrong.",
        formula="CM = Σ over events of penalty / n; "
        "penalty 1 if absent or not of its class's majority, else 0",
        reference="Iyengar (2002); Sehatkar (2014), Eq. 2.6 and 2.7",
    )


def _majority(classes: np.ndarray, values: np.ndarray) -> int:
    """Count the events that have the most frequent value of their class."""
    pairs, counts = np.unique(classes * (int(values.max(initial=0)) + 1) + values, return_counts=True)
    most = np.zeros(int(classes.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, pairs // (int(values.max(initial=0)) + 1), counts)
    return int(most.sum())


def loss_per_privacy_gain(
    released: EventTable | Sequences, *, original: EventTable, information_loss: float
) -> Score:
    """Return the information loss over one more than the privacy gained.

    Privacy is the size of the smallest class of persons whose histories are alike; a release that leaves it
    as it was, or makes it smaller, gains none.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "ab", "ac", "b"])
    >>> released = Sequences.from_rows(["ab", "ab", "ab", ""])
    >>> loss_per_privacy_gain(released, original=original, information_loss=0.75).value  # 1, then 3
    0.25

    References
    ----------
    Fung, Wang, Yu (2005); Sehatkar (2014), Eq. 2.8, with the smallest class for the anonymity.
    """
    if not 0 <= information_loss <= 1:
        msg = f"information_loss must be from 0 to 1, got {information_loss}"
        raise ParameterError(msg)
    units = units_of(original)
    names = [*attribute_weights(original)]
    before, after = (int(class_sizes(side, names).min(initial=2**62)) for side in (original, released))
    gain = max(after - before, 0) if max(before, after) < 2**62 else 0
    return Score(
        value=information_loss / (gain + 1),
        means=f"The information loss over one more than the privacy gained, which is by how many "
        f"{units.many} the smallest group of those who are released alike has grown; 0 is no loss.",
        formula="ILPG = IL / (PG + 1); PG = max(0, smallest class of the release - smallest "
        "class of the original)",
        reference="Fung, Wang, Yu (2005); Sehatkar (2014), Eq. 2.8",
    )
