"""From published records to the tables of a release, what these are good for, and why records came late."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import ROW, Quasi, Schema
from sequester.data.text import as_text
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, counted, in_label_order
from sequester.methods.reposition import _group_kernels
from sequester.privacy.l_diversity import COUNT, GROUP, RECORDS, TIME, VALUES
from sequester.ragged import offsets_of, owners_of
from sequester.release.outcome import Reason, most_frequent, split_changes
from sequester.release.plot import Figure
from sequester.utility.queries import RecordView, draw_window_queries, exact_values, query_errors
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.methods.reposition._group_kernels import State
    from sequester.methods.reposition.method import SnapshotMethod

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


def _anatomy(records: Records, size: int, state: State) -> Tables:
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


def _generalized(records: Records, level: Fraction, state: State) -> Tables:
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


def _shuffled(records: Records, groups: Counts, state: State) -> Counts:
    """Return records in the order of snapshot and group, otherwise by chance, and never as they came."""
    # Groups are numbered snapshot after snapshot; without groups there is one of each snapshot.
    return _group_kernels.shuffled_within(groups if groups.any() else owners_of(records.offsets), state)


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


LENGTHS = (1, 2, 3, 5, 7, 14)
"""Snapshots that a window query spans."""
_PER_LENGTH = 100
_MOST_WORK = 20_000_000
"""Records times queries; beyond, fewer queries are asked."""
MOST_VALUES = 20
"""Values that a plot shows."""
MOVED, LEFT_OUT = "published later", "not published"
"""What may happen to a record."""
FREQUENT = "value above 1/l of its snapshot"
TWICE = "second record of a person in a snapshot"
TENTHS = 10
REFERENCE = "Wang, Xu, Wong, Fu (2010), section II"


def measure_queries(
    table: EventTable,
    tables: Mapping[str, pl.DataFrame],
    homes: Counts,
    times: Sequence[str],
    *,
    merged: int,
) -> tuple[float, Figure]:
    """Ask random window queries of the released tables, and compare with the original.

    `homes` are the snapshots of the original, `times` the names of those that are published, each of which
    stands for so many, `merged` into one.

    Returns the mean relative error, and how it depends on the number of snapshots that a query spans.
    """
    trees = {name: table.hierarchies[name] for name in table.schema.quasi}
    weights = {name: each.weight for name, each in table.schema.quasi.items()}
    column = table.schema.sensitive_columns[0]
    labels = table.sequences.codebooks[column].labels
    groups, shares = exact_values(table.sequences.columns[column], len(labels))
    original = RecordView(
        first=homes,
        last=homes,
        nodes={
            name: tree.nodes_of(as_text(table.frame[name]).fill_null(MISSING)) for name, tree in trees.items()
        },
        groups=groups,
        shares=shares,
    )
    released = view_of(tables, trees, times, next(iter(table.schema.sensitive)), labels, merged=merged)
    count = max(min(_PER_LENGTH, _MOST_WORK // max(table.n_events, 1) // len(LENGTHS)), 5)
    means = []
    for length in LENGTHS:
        queries = draw_window_queries(original, trees, weights=weights, length=length, count=count, seed=0)
        means.append(float(query_errors(released, original, queries, trees).mean()))
    plot = Figure(
        tuple(map(str, LENGTHS)),
        {"error": tuple(round(100 * mean, 1) for mean in means)},
        title="Mean error of window queries, by the number of snapshots they span",
        unit="percent",
    )
    return float(np.mean(means)), plot


def view_of(
    tables: Mapping[str, pl.DataFrame],
    trees: Mapping[str, Hierarchy],
    times: Sequence[str],
    attribute: str,
    labels: Sequence[str],
    *,
    merged: int,
) -> RecordView:
    """Read released tables as somebody does who asks queries."""
    main = next(iter(tables.values()))
    first_of = {time: merged * place for place, time in enumerate(times)}
    first = main[TIME].replace_strict(first_of, return_dtype=pl.Int64).to_numpy()
    codes = {label: code for code, label in enumerate(labels)}
    if VALUES in tables:
        values = tables[VALUES]
        shares = np.zeros((int(values[GROUP].to_numpy().max(initial=0)) + 1, len(labels)))
        cells = values[attribute].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
        np.add.at(shares, (values[GROUP].to_numpy(), cells), values[COUNT].to_numpy())
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
        groups = main[GROUP].to_numpy()
    else:
        values_shown = main[attribute].replace_strict(codes, return_dtype=pl.Int32).to_numpy()
        groups, shares = exact_values(values_shown, len(labels))
    return RecordView(
        first=first,
        last=first + merged - 1,
        nodes={name: tree.nodes_of(main[name]) for name, tree in trees.items()},
        groups=groups,
        shares=shares,
    )


def scores(
    distances: Counts, published: Mask, loss: float, query_error: float, *, moves: bool
) -> dict[str, Score]:
    """Put the figures together; none of them is published. What never `moves` has no distances."""
    n_records = max(len(published), 1)
    found = {
        "unpublished_records": Score(
            value=float((~published).sum()) / n_records,
            means="The share of records that are not published.",
            formula="records that are not published / records",
            reference=REFERENCE,
        ),
        "window_query_error": Score(
            value=query_error,
            bounds=(0, None),
            means="By how much counts over windows of time are off, relative to the count, on average over "
            "random predicates and windows of 1 to 14 snapshots.",
            formula="mean over queries of |estimate - count| / max(count, 1)",
            reference=REFERENCE,
        ),
    }
    return found | (_moved(distances[published], n_records, loss) if moves else {})


def _moved(distances: Counts, n_records: int, loss: float) -> dict[str, Score]:
    return {
        "moved_records": Score(
            value=float((distances > 0).sum()) / n_records,
            means="The share of records that are published later than they came.",
            formula="records published after their snapshot / records",
            reference=REFERENCE,
        ),
        "mean_distance": Score(
            value=float(distances.mean()) if distances.size else 0.0,
            bounds=(0, None),
            means="By how many snapshots a published record is late, on average.",
            formula="mean over published records of published - original snapshot",
            reference=REFERENCE,
        ),
        "reposition_cost": Score(
            value=loss,
            bounds=(0, None),
            means="The costs of all distances and of all records that are not published, added up.",
            formula="Σ over published records of cost(distance) + Σ over others of cost(suppression)",
            reference=REFERENCE,
        ),
    }


def distance_plot(distances: Counts, published: Mask) -> Figure:
    """Show by how many snapshots records were moved."""
    moved = np.bincount(distances[published], minlength=1)
    return Figure(
        tuple(map(str, range(len(moved)))),
        {"records": tuple(moved.tolist())},
        title="Records by how many snapshots later they are published",
        unit="records",
    )


def expired_plot(values: Codes, labels: Sequence[str]) -> Figure:
    """Show which values are not published; what is left out often is itself a bias."""
    counts = np.bincount(values, minlength=len(labels))
    order = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    return Figure(
        tuple(labels[code] for code in order),
        {"records": tuple(counts[order].tolist())},
        title="Records that are not published, by sensitive value",
        unit="records",
    )


def reasons_of(
    method: SnapshotMethod, changes: pl.DataFrame, table: EventTable, snapshot_numbers: Counts
) -> tuple[Reason, ...]:
    """Count moved and lost records by whether their person had another one in the same snapshot."""
    numbers = snapshot_numbers // method.merged
    owners = owners_of(table.person_offsets)
    pairs = pl.DataFrame({"row": table.rows.astype(np.int64), "person": owners, "snapshot": numbers})
    twice = pairs.select("row", twice=pl.len().over("person", "snapshot") > 1)
    marked = changes.join(twice, on="row", how="left", maintain_order="left")
    moves = method.waits and method.merged == 1
    reasons = []
    for part in split_changes(marked, (LEFT_OUT, MOVED), mark="twice"):
        done = "are not published" if part.what == LEFT_OUT else "are published later than they came"
        why = (
            "their persons had several records in the same snapshot, which has room for one"
            if part.is_marked
            else f"values would have had more than 1/{method.l} of a snapshot"
        )
        place = ", and there was no room within the window" if part.what == LEFT_OUT and moves else ""
        text = f"{counted(part.events, 'record', 'records')} {done}: {why}{place}."
        reasons.append(part.reason(TWICE if part.is_marked else FREQUENT, text, _values(part.rows)))
    return tuple(reasons)


def smaller_levels(level: Fraction, *, whole: bool) -> list[float]:
    """Return the levels below one, down to 2 where they must be whole, otherwise by tenths to above 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> smaller_levels(Fraction(4), whole=True), smaller_levels(Fraction(3, 2), whole=False)
    ([3, 2], [1.4, 1.3, 1.2, 1.1])
    """
    if whole:
        return list(range(math.ceil(level) - 1, 1, -1))
    return [tenth / TENTHS for tenth in range(math.ceil(level * TENTHS) - 1, TENTHS, -1)]


def _values(part: pl.DataFrame) -> tuple[str, ...]:
    return tuple(f"{value}: {counted(n, 'record', 'records')}" for value, n in most_frequent(part, "value"))
