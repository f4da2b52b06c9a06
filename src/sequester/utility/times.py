"""Time: gaps between events, returns, and time to an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from sequester._validation import at_least
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.ragged import offsets_of, owners_of, places_of
from sequester.utility.distributions import attributes_of, distance_score
from sequester.utility.score import Score, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable, SequenceData
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
    """Return the number of each leaf, and for each node the mean of the leaves below it that have one."""
    values = np.full(len(tree), np.nan)
    leaves = tree.leaf_nodes
    values[leaves] = [_number(tree.labels[node]) for node in leaves]
    known = offsets_of(~np.isnan(values))
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


def gap_distance(released: SequenceData, *, original: EventTable) -> Score:
    """Return by how much the times between a person's events lie apart from the original, on average.

    Times are read from the quasi-identifier that tells them: the time or order itself, or days since the
    first or the previous event. A coarse value is read as the mean of the leaves below it.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> tree = Hierarchy.from_tree({"early": ["1", "3"], "late": ["9"]})
    >>> roles = {"person": "who", "order": "n", "quasi": {"n": tree}}
    >>> original = EventTable(pl.DataFrame({"who": ["a", "a"], "n": ["1", "9"]}), Schema(**roles))
    >>> released = EventTable(
    ...     pl.DataFrame({"person": ["p", "p"], "order": [1, 2], "n": ["early", "9"]}),
    ...     Schema(person="person", order="order", quasi={"n": tree}, released=True),
    ... )
    >>> gap_distance(released, original=original).value  # 8 before, 7 after
    1.0
    """
    clock = clock_of(original)
    if clock is None:
        msg = "gaps need a quasi-identifier that tells time, and there is none"
        raise ParameterError(msg)
    sequences = sequences_of(released)
    (column,) = (each for each in attributes_of(sequences, original) if each.name == clock.name)
    after = clock.gaps(column.after, sequences.person_offsets)
    before = clock.gaps(column.before, original.person_offsets)
    return distance_score(
        after,
        before,
        means=f"By how many {clock.unit} the gaps between neighbouring events, read from {clock.name}, "
        "lie apart from those of the original, on average, regardless of who has which; 0 is the same gaps.",
        shares="gaps between neighbours of at most x",
    )


def return_distance(released: SequenceData, *, original: SequenceData) -> Score:
    """Return by how many steps the gaps between an item and its next occurrence lie apart, on average.

    A release of symbols tells no times, so gaps are counted in events. Where one side has no returns at all
    the distance is 0.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original, released = Sequences.from_rows(["abcab"]), Sequences.from_rows(["aabbc"])
    >>> return_distance(released, original=original).value  # after 3 steps, then after 1
    2.0
    """
    return distance_score(
        _returns(sequences_of(released)),
        _returns(sequences_of(original)),
        means=f"By how many steps the gaps after which a {unit_of(original)} comes back to an item lie apart "
        "from those of the original, on average, regardless of who has which; 0 is the same gaps.",
        shares="returns after at most x steps, before and after",
    )


def _returns(sequences: Sequences) -> npt.NDArray[np.float64]:
    """List after how many steps each item comes again."""
    keys = owners_of(sequences.person_offsets) * max(len(sequences.codebook), 1) + sequences.codes
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    return np.asarray(np.diff(order)[same], np.float64)


MOST_ITEMS = 10
"""Items whose curves are compared: the most frequent ones."""
N_TIMES = 200
"""Points of time at which curves are compared where time is counted in days."""


def time_to_event_distance(
    released: SequenceData, *, original: EventTable, most_items: int = MOST_ITEMS
) -> Score:
    """Return the largest difference between the survival curves of both sides, averaged over outcomes.

    The curve of an outcome says which share still waits for it after some time (Kaplan-Meier); persons whose
    events end without it leave the count. Outcomes are, per sensitive attribute, its protected values taken
    together; of symbols, the `most_items` most frequent ones. Time is read from a quasi-identifier that
    tells it, since the person's first event, and is otherwise the number of the event. A released node is an
    outcome with the probability that one of its leaves is.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "bb", "ab", "bb"])
    >>> released = Sequences.from_rows(["ab", "bb", "bb", "bb"])
    >>> time_to_event_distance(released, original=original).value  # first a: 2 of 4, then 1; b: 2, then 3
    0.25
    """
    at_least("most_items", most_items, 1)
    after = sequences_of(released)
    clock = clock_of(original)
    times = _times(after, original, clock)
    offsets = after.person_offsets, original.person_offsets
    n_times = int(max(each.max(initial=0) for each in times)) + 1
    apart, names = [], []
    for name, chances in _outcomes(after, original, most_items):
        curves = [_curve(*each, n_times) for each in zip(chances, times, offsets, strict=True)]
        apart.append(float(np.abs(curves[0] - curves[1]).max(initial=0.0)))
        names.append(name)
    unit = unit_of(original)
    scale = "events" if clock is None else f"{clock.unit} since the first event, read from {clock.name}"
    return Score(
        value=float(np.mean(apart)) if apart else 0.0,
        means=f"The largest difference, at any time, between the shares of {unit}s that still wait "
        f"for their first {_said(names, original)} in the original and, as a recipient would estimate "
        f"it, in the release, on average; time is counted in {scale}; 0 is the same curves.",
        formula=(
            "mean over outcomes of max over t of |S(t) - S'(t)|; "
            "S(t) = Π over u ≤ t of 1 - first(u) / waiting(u)"
        ),
        reference="Kaplan, Meier (1958); the largest difference of two curves as Kolmogorov and "
        "Smirnov take it",
    )


def _outcomes(
    after: Sequences, original: EventTable, most_items: int
) -> Iterator[tuple[str, tuple[Amounts, Amounts]]]:
    """Return each outcome and how likely every event of the release and of the original is one."""
    source = original.sequences
    if original.symbol is None:
        for name, each in original.schema.sensitive.items():
            protected = original.protected[name]
            chances = tuple(_any_of(side, each.columns, protected) for side in (after, source))
            yield name, (chances[0], chances[1])
        return
    (symbol,) = attributes_of(after, original)
    tree = symbol.tree
    counts = np.bincount(symbol.before, minlength=len(tree))
    for leaf in np.argsort(-counts, kind="stable")[:most_items]:
        if not counts[leaf]:
            break
        stands_for = (np.arange(len(tree)) <= leaf) & (leaf < tree.subtree_end)
        shares = np.where(stands_for, 1 / tree.leaves, 0.0)
        yield tree.labels[leaf], (shares[symbol.after], shares[symbol.before])


def _any_of(sequences: Sequences, columns: tuple[str, ...], protected: frozenset[str]) -> Amounts:
    found = np.zeros(sequences.n_events, np.bool_)
    for column in columns:
        labels = sequences.codebooks[column].labels
        is_one = np.array([label in protected for label in labels], np.bool_)
        found |= is_one[sequences.columns[column]]
    return found.astype(np.float64)


def _times(after: Sequences, original: EventTable, clock: Clock | None) -> tuple[Counts, Counts]:
    """Number the times of the events of release and original on one scale."""
    sides = after.person_offsets, original.person_offsets
    if clock is None:
        return places_of(sides[0]), places_of(sides[1])
    (column,) = (each for each in attributes_of(after, original) if each.name == clock.name)
    since = [
        _since_first(clock, nodes, offsets)
        for nodes, offsets in zip((column.after, column.before), sides, strict=True)
    ]
    points = np.unique(np.quantile(np.concatenate([*since, [0.0]]), np.linspace(0, 1, N_TIMES)))
    after_times, before_times = (np.searchsorted(points, each).astype(np.int64) for each in since)
    return after_times, before_times


def _since_first(clock: Clock, nodes: Codes, offsets: Offsets) -> Amounts:
    """Return the time since the person's first event; what is not known is taken as none."""
    times = clock.values[nodes]
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    if clock.counts_gaps:
        sums = np.cumsum(np.nan_to_num(times))
        return np.asarray(sums - sums[starts], np.float64)
    return np.asarray(np.maximum(np.nan_to_num(times - times[starts]), 0.0), np.float64)


def _curve(chances: Amounts, times: Counts, offsets: Offsets, n_times: int) -> Amounts:
    """Return the share that still waits after each time, by Kaplan and Meier."""
    happened, left = _count_firsts(chances, times, offsets, n_times)
    gone = np.cumsum(happened + left)
    waiting = np.count_nonzero(np.diff(offsets)) - np.concatenate([[0.0], gone[:-1]])
    # Rounding may leave a little of nobody waiting.
    hazards = np.divide(happened, waiting, out=np.zeros(n_times), where=waiting > 1e-9)
    return np.asarray(np.cumprod(1 - np.minimum(hazards, 1.0)), np.float64)


def _count_firsts(chances: Amounts, times: Counts, offsets: Offsets, n_times: int) -> tuple[Amounts, Amounts]:
    """Count for each time those to whom it first happens, and those whose events end without it.

    Event ``i`` of a person happens at ``times[i]``, below `n_times`, and is what is waited for with the
    probability ``chances[i]``, independently. Times that run backwards stand still.
    """
    owners = owners_of(offsets)
    now = np.maximum.accumulate(owners * n_times + times) - owners * n_times
    # The share that still waits is a product over the person's events before. Those that certainly are it
    # have no logarithm, and are counted apart.
    is_sure = (chances >= 1).astype(np.int64)
    logs = np.log1p(-np.where(is_sure > 0, 0.0, chances))
    before, sure_before = np.cumsum(logs) - logs, np.cumsum(is_sure) - is_sure
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    product = np.exp(np.minimum(before - before[starts], 0.0))
    waiting = np.where(sure_before > sure_before[starts], 0.0, product)
    lasts = offsets[1:][np.diff(offsets) > 0] - 1
    happened: Amounts = np.bincount(now, waiting * chances, n_times).astype(np.float64)
    left: Amounts = np.bincount(now[lasts], (waiting * (1 - chances))[lasts], n_times).astype(np.float64)
    return happened, left


def _said(names: list[str], original: EventTable) -> str:
    if original.symbol is None:
        return f"protected value of {' and of '.join(names)}" if names else "outcome"
    return f"of the {len(names)} most frequent items"
