"""What it costs to make a value coarser: how much of its domain it may be, or what a purpose loses by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Purpose
from sequester.errors import SchemaError
from sequester.hierarchies.labels import MISSING
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes
    from sequester.data.table import EventTable

    Amounts = npt.NDArray[np.float64]

GENERAL = 0.1
"""With a purpose, the share of a price that stays the general one: no column is free to lose."""
MOST_CLASSES = 20
"""Targets with more numbers than this are put into as many classes as `CLASSES`."""
CLASSES = 10


def price_nodes(table: EventTable) -> tuple[list[float], list[Amounts]]:
    """Return the weight of each quasi-identifier, and the loss of each node of its tree, 0 to 1.

    Without a purpose they are the weights of the schema and the share of the domain below a node. With one, a
    column weighs as much as it tells about what is to be predicted, beside the other columns; and a level of
    its tree loses the share of that information which the level no longer has.
    """
    quasi, purpose = table.schema.quasi, table.schema.purpose
    trees = [table.hierarchies[name] for name in quasi]
    weights, losses = [each.weight for each in quasi.values()], [tree.loss for tree in trees]
    if purpose is None:
        return weights, losses
    kept = [_kept_by_levels(table, purpose, name) for name in quasi]
    total = sum(float(each[0]) for each in kept)
    if not total:
        return weights, losses
    priced_weights, priced_losses = [], []
    for weight, loss, tree, levels in zip(weights, losses, trees, kept, strict=True):
        relevance = (1 - GENERAL) * float(levels[0]) * len(kept) / total
        shape = np.zeros(len(tree)) if not levels[0] else 1 - levels[tree.height - tree.depth] / levels[0]
        whole = relevance + GENERAL
        priced_weights.append(weight * whole)
        priced_losses.append(np.where(loss == 0, 0.0, (relevance * shape + GENERAL * loss) / whole))
    return priced_weights, priced_losses


def purpose_warnings(table: EventTable) -> list[str]:
    """Return a line for each thing that is to be predicted and has one class only: it prices nothing."""
    lines = []
    for each in () if table.schema.purpose is None else table.schema.purpose.predict:
        targets = classes_of(table, Purpose((each,)))
        if all(len(np.unique(target)) < 2 for target in targets):
            if isinstance(each, str):
                what = f"{each!r}, which is the same in all events"
            else:
                what = f"{list(each)}, which {'everybody' if targets[0].any() else 'nobody'} has"
            lines.append(f"purpose predicts {what}: it has no effect")
    return lines


def _kept_by_levels(table: EventTable, purpose: Purpose, name: str) -> Amounts:
    """Return, for each level of a column, the information that it has about the targets, root last: 0.

    Each target counts by the share of its own entropy. A coarser level has no more than a finer one: what the
    estimate says beyond that is noise.
    """
    tree = table.hierarchies[name]
    leaves = tree.nodes_of(event_labels(table, name))
    kept = np.zeros(tree.height + 1)
    for target in classes_of(table, purpose):
        kept[:-1] += [
            uncertainty_coefficient(tree.levels[level][leaves], target) for level in range(tree.height)
        ]
    return np.maximum.accumulate(kept[::-1])[::-1]


def uncertainty_coefficient(values: Codes, target: Codes) -> float:
    """Return the mutual information of two columns, as a share of the entropy of the second (Theil's U).

    Entropies are corrected for what few observations make them too small by (Miller and Madow); without that,
    a column of many values seems to tell everything.

    Examples
    --------
    >>> uncertainty_coefficient(np.array([1, 1, 2, 2] * 100), np.array([5, 5, 6, 6] * 100))
    1.0
    >>> uncertainty_coefficient(np.array([1, 2, 1, 2] * 100), np.array([5, 5, 6, 6] * 100))
    0.0
    """
    if not len(target):
        return 0.0
    pairs = values.astype(np.int64) * (int(target.max()) + 1) + target
    own, other, both = (_entropy(each) for each in (values, target, pairs))
    return float(np.clip((own + other - both) / other, 0, 1)) if other > 0 else 0.0


def _entropy(codes: Codes) -> float:
    """Return the entropy in nats."""
    counts = np.unique(codes, return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares @ np.log(shares)) + (len(counts) - 1) / (2 * counts.sum()))


def classes_of(table: EventTable, purpose: Purpose) -> list[Codes]:
    """Return, for each thing that is to be predicted, its class in every event of `event_labels`."""
    return [
        _classes(event_labels(table, column))
        for each in purpose.predict
        if isinstance(each, str)
        for column in _columns(table, each)
    ] + [_holders(table, each) for each in purpose.predict if not isinstance(each, str)]


def event_labels(table: EventTable, column: str) -> pl.Series:
    """Return the label of a column in every event; an attribute of persons in all events of the person."""
    labels = table.frame[column].cast(pl.String)
    if table.of_persons:
        is_first = np.zeros(table.n_events, np.bool_)
        is_first[table.person_offsets[:-1]] = True
        if column in table.of_persons:
            n_events = np.diff(table.person_offsets) - 1
            labels = labels.filter(is_first).gather(np.repeat(np.arange(table.n_persons), n_events))
        else:
            labels = labels.filter(~is_first)
    return labels.fill_null(MISSING)


def _columns(table: EventTable, name: str) -> tuple[str, ...]:
    """Return the columns of an attribute that is released."""
    if name in table.schema.sensitive:
        return table.schema.sensitive[name].columns
    released = (*table.schema.attributes, *table.schema.keep)
    if name not in released:
        names = ", ".join(released)
        msg = f"purpose predicts {name!r}, which is not a column of the release: name one of {names}"
        raise SchemaError(msg)
    return (name,)


def _classes(labels: pl.Series) -> Codes:
    """Number the labels; many numbers become classes of about equal size."""
    numbers = labels.cast(pl.Float64, strict=False)
    if labels.n_unique() > MOST_CLASSES and numbers.null_count() <= (labels == MISSING).sum():
        ranks = numbers.rank("average").fill_null(0)
        labels = (ranks * CLASSES / (len(labels) + 1)).floor()
    return labels.rank("dense").to_numpy().astype(np.int32)


def _holders(table: EventTable, pattern: tuple[str, ...]) -> Codes:
    """Mark the events of persons who have the values of a pattern in order."""
    n_events = np.diff(table.person_offsets) - bool(table.of_persons)
    starts = offsets_of(n_events)
    places = starts[:-1].copy()
    has = np.ones(len(n_events), np.bool_)
    for item in pattern:
        name, _, label = item.partition("=")
        hits = np.zeros(int(starts[-1]) + 1, np.int64)
        for column in _columns(table, name):
            hits[:-1] |= (event_labels(table, column) == label).to_numpy()
        # For every place the first hit at or after it.
        found = np.append(np.flatnonzero(hits), len(hits))
        places = found[np.searchsorted(found, places)] + 1
        has &= places <= starts[1:]
        places = np.minimum(places, len(hits))
    return np.repeat(has, n_events).astype(np.int32)
