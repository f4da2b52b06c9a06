"""What a release tells about time: the quasi-identifier from which it can be read, if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Offsets
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy

    Amounts = npt.NDArray[np.float64]

SINCE_FIRST, SINCE_PREVIOUS = "days_since_first", "days_since_previous"


@dataclass(frozen=True, slots=True)
class Clock:
    """A quasi-identifier that tells when events were; of a coarse value, the mean of what it stands for."""

    name: str
    """The quasi-identifier."""
    unit: str
    """What it counts in: days, or steps of the order."""
    counts_gaps: bool
    """It tells the time since the event before rather than a time."""
    values: Amounts
    """Node to its number: of a leaf its own, of a node the mean of the named leaves below; not a number where
    none of them is one."""

    def gaps(self, nodes: Codes, offsets: Offsets) -> Amounts:
        """List the times between events of a person that are next to each other, where they are known."""
        times = self.values[nodes]
        is_first = np.zeros(len(nodes), np.bool_)
        is_first[offsets[:-1][np.diff(offsets) > 0]] = True
        found = times if self.counts_gaps else np.diff(times, prepend=np.nan)
        found = found[~is_first]
        return np.asarray(found[~np.isnan(found)], np.float64)


def clock_of(original: EventTable) -> Clock | None:
    """Find what tells time: the time or order itself, or days since the first or the previous event.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": ["a", "a"], "day": ["2010-01-02", "2010-01-30"]})
    >>> dates = Hierarchy.dates(["month", "year"])
    >>> table = EventTable(frame, Schema(person="who", time="day", quasi={"day": dates}))
    >>> clock = clock_of(table)
    >>> clock.name, clock.unit, clock.gaps(table.hierarchies["day"].leaf_nodes, table.person_offsets).tolist()
    ('day', 'days', [28.0])
    """
    schema = original.schema
    kinds = schema.derive
    for name, each in schema.quasi.items():
        if each.weight <= 0:
            continue
        is_gap = kinds.get(name) == SINCE_PREVIOUS
        is_time = name in schema.time_columns and len(schema.time_columns) == 1
        if not (is_gap or is_time or kinds.get(name) == SINCE_FIRST or name == schema.order):
            continue
        values = _numbers(original.hierarchies[name])
        if not np.isnan(values[original.hierarchies[name].leaf_nodes]).all():
            return Clock(name, "steps" if name == schema.order else "days", is_gap, values)
    return None


def _numbers(tree: Hierarchy) -> Amounts:
    """Give each leaf its number, and each node the mean of the leaves below it that have one."""
    values = np.full(len(tree), np.nan)
    leaves = tree.leaf_nodes
    values[leaves] = [_number(tree.labels[node]) for node in leaves]
    known = np.concatenate([[0], np.cumsum(~np.isnan(values))])
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values))])
    nodes = np.arange(len(tree))
    counts = known[tree.subtree_end] - known[nodes]
    means = (sums[tree.subtree_end] - sums[nodes]) / np.maximum(counts, 1)
    return np.where(tree.is_leaf, values, np.where(counts > 0, means, np.nan))


def _number(label: str) -> float:
    """Read a number or a date, which counts days; anything else is not a number."""
    try:
        return float(label)
    except ValueError:
        pass
    try:
        return float(date.fromisoformat(label[:10]).toordinal())
    except ValueError:
        return np.nan
