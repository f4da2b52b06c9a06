"""What follows reposition: groups that keep who and what apart, within every published snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import ROW, Quasi, Schema
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import in_label_order
from sequester.methods.reposition import _group_kernels
from sequester.privacy.l_diversity import COUNT, GROUP, RECORDS, TIME, VALUES
from sequester.ragged import offsets_of, owners_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from sequester._typing import Codes, Counts, Offsets

EVENTS = "events"
"""The table of records where nothing follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Published records, snapshot after snapshot."""

    times: Sequence[str]
    """What each snapshot is called."""
    offsets: Offsets
    """Snapshot ``i`` has the records ``offsets[i]`` to ``offsets[i + 1]``."""
    quasi: Mapping[str, pl.Series]
    """The labels of every quasi-identifier."""
    trees: Mapping[str, Hierarchy]
    """The hierarchy of every quasi-identifier."""
    weights: Mapping[str, float]
    """The importance of every quasi-identifier."""
    attribute: str
    """The sensitive attribute."""
    values: Codes
    """The code of its value."""
    labels: Sequence[str]
    """What the codes mean."""

    def value_labels(self) -> pl.Series:
        """The sensitive value of each record."""
        return pl.Series(self.labels, dtype=pl.String).gather(self.values)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a release, with their roles and the hierarchies of what is in them."""

    tables: dict[str, pl.DataFrame]
    """By file name without ending, the main one first."""
    schema: Schema
    """The roles of the columns of the main table."""
    hierarchies: dict[str, pl.DataFrame]
    """Released nodes and those above, per quasi-identifier."""


def publish(records: Records, then: str, *, level: Fraction, seed: int) -> Tables:
    """Write the tables: as they are, by Anatomy, or generalized; rows in a random order within a snapshot."""
    state = np.array([seed % (2**64 - 1) + 1], np.uint64)
    if then == "anatomy":
        return _anatomy(records, int(level), state)
    if then == "generalize":
        return _generalized(records, level, state)
    order = _shuffled(records, np.zeros(len(records.values), np.int64), state)
    frame = _frame(records, records.quasi, order).with_columns(
        records.value_labels().gather(order).alias(records.attribute)
    )
    return _tables({EVENTS: frame}, records, sensitive=True)


def _anatomy(records: Records, size: int, state: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Tables:
    groups = np.zeros(len(records.values), np.int64)
    _group_kernels.form_groups(records.values, records.offsets, len(records.labels), size, state, groups)
    order = _shuffled(records, groups, state)
    frame = _frame(records, records.quasi, order).with_columns(pl.Series(GROUP, groups[order]))
    n_labels = max(len(records.labels), 1)
    cells, counts = np.unique(groups * n_labels + records.values, return_counts=True)
    numbers, codes = np.divmod(cells, n_labels)
    # The codes of a stream come in any order; the values of a group are listed in that of their labels.
    ranks = {label: rank for rank, label in enumerate(in_label_order(records.labels))}
    rank = np.array([ranks[label] for label in records.labels], np.int64)
    by = np.lexsort((rank[codes], numbers))
    values = pl.DataFrame(
        {
            GROUP: pl.Series(numbers[by], dtype=pl.Int64),
            records.attribute: pl.Series(records.labels, dtype=pl.String).gather(codes[by]),
            COUNT: pl.Series(counts[by], dtype=pl.Int64),
        }
    )
    return _tables({RECORDS: frame, VALUES: values}, records, sensitive=False)


def _generalized(
    records: Records, level: Fraction, state: np.ndarray[tuple[int], np.dtype[np.uint64]]
) -> Tables:
    groups, quasi = _partitioned(records, level)
    order = _shuffled(records, groups, state)
    frame = _frame(records, quasi, order).with_columns(
        records.value_labels().gather(order).alias(records.attribute), pl.Series(GROUP, groups[order])
    )
    return _tables({RECORDS: frame}, records, sensitive=True)


def _partitioned(records: Records, level: Fraction) -> tuple[Counts, dict[str, pl.Series]]:
    """Return the group of each record, and its quasi-identifiers as they are published."""
    if not len(records.values):
        return np.zeros(0, np.int64), dict(records.quasi)
    trees = [records.trees[name] for name in records.quasi]
    nodes = np.stack([records.trees[name].nodes_of(labels) for name, labels in records.quasi.items()])
    losses = [records.weights[name] * tree.loss for name, tree in zip(records.quasi, trees, strict=True)]
    groups, published = _group_kernels.partition(
        nodes,
        offsets_of([len(tree) for tree in trees]),
        np.concatenate([tree.parent for tree in trees]),
        np.concatenate([tree.subtree_end for tree in trees]),
        np.concatenate(losses),
        records.values,
        len(records.labels),
        records.offsets,
        (level.numerator, level.denominator),
    )
    return groups, {
        name: pl.Series(tree.labels, dtype=pl.String).gather(published[place])
        for place, (name, tree) in enumerate(zip(records.quasi, trees, strict=True))
    }


def _shuffled(records: Records, groups: Counts, state: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Counts:
    """Return records in the order of snapshot and group, otherwise by chance, and never as they came."""
    snapshot = owners_of(records.offsets)
    n_groups = int(groups.max(initial=0)) + 1
    # Groups are numbered snapshot after snapshot; without groups there is one of each snapshot.
    places = groups if n_groups > 1 else snapshot
    order: Counts = _group_kernels.shuffled_within(places, max(n_groups, len(records.times)), state)
    return order


def _frame(records: Records, quasi: Mapping[str, pl.Series], order: Counts) -> pl.DataFrame:
    time = pl.Series(records.times, dtype=pl.String).gather(owners_of(records.offsets)[order])
    return pl.DataFrame({TIME: time, **{name: labels.gather(order) for name, labels in quasi.items()}})


def _tables(tables: dict[str, pl.DataFrame], records: Records, *, sensitive: bool) -> Tables:
    main = next(iter(tables.values()))
    hierarchies = {name: tree.above(main[name].unique().to_list()) for name, tree in records.trees.items()}
    schema = Schema(
        person=ROW,
        order=TIME,
        quasi={name: Quasi(Hierarchy.from_frame(frame)) for name, frame in hierarchies.items()},
        sensitive={records.attribute: "all"} if sensitive else {},
        drop=[GROUP] if GROUP in main.columns else [],
        released=True,
    )
    return Tables(tables, schema, hierarchies)
