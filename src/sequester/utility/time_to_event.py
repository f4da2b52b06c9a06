"""How soon something first happens: survival curves of original and release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.attributes import attributes_of
from sequester.utility.clock import clock_of
from sequester.utility.score import Score
from sequester.utility.units import units_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.utility.clock import Clock

    Amounts = npt.NDArray[np.float64]

MOST_ITEMS = 10
"""Items whose curves are compared: the most frequent ones."""
N_TIMES = 200
"""Points of time at which curves are compared where time is counted in days."""
FORMULA = (
    "mean over outcomes of max over t of |S(t) - S'(t)|; S(t) = Π over u ≤ t of 1 - first(u) / waiting(u)"
)
REFERENCE = "Kaplan, Meier (1958); the largest difference of two curves as Kolmogorov and Smirnov take it"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeToEvent:
    """The largest difference between the survival curves of original and release, averaged over outcomes.

    The curve of an outcome says which share still waits for it after some time (Kaplan-Meier); persons whose
    events end without it leave the count. Outcomes are, per sensitive attribute, its protected values taken
    together; of symbols, the most frequent ones. Time is read from a quasi-identifier that tells it, since
    the person's first event, and is otherwise the number of the event. A released node is an outcome with
    the probability that one of its leaves is.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "bb", "ab", "bb"])
    >>> released = Sequences.from_rows(["ab", "bb", "bb", "bb"])
    >>> TimeToEvent().score(released, original=original).value  # first a: 2 of 4, then 1; first b: 2, then 3
    0.25
    """

    most_items: int = MOST_ITEMS
    """Symbols whose curves are compared."""

    def __post_init__(self) -> None:
        if self.most_items < 1:
            msg = f"most_items must be at least 1, got {self.most_items}"
            raise ParameterError(msg)

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
        """Draw the curves of every outcome on both sides and compare."""
        after = sequences_of(released)
        clock = clock_of(original)
        times = _times(after, original, clock)
        offsets = after.person_offsets, original.person_offsets
        n_times = int(max(each.max(initial=0) for each in times)) + 1
        apart, names = [], []
        for name, chances in self._outcomes(after, original):
            curves = [_curve(*each, n_times) for each in zip(chances, times, offsets, strict=True)]
            apart.append(float(np.abs(curves[0] - curves[1]).max(initial=0.0)))
            names.append(name)
        units = units_of(original)
        unit = "events" if clock is None else f"{clock.unit} since the first event, read from {clock.name}"
        return Score(
            value=float(np.mean(apart)) if apart else 0.0,
            goal="minimize",
            bounds=(0, 1),
            means=f"The largest difference, at any time, between the shares of {units.many} that still wait "
            f"for their first {_said(names, original)} in the original and, as a recipient would estimate "
            f"it, in the release, on average; time is counted in {unit}; 0 is the same curves.",
            formula=FORMULA,
            reference=REFERENCE,
        )

    def _outcomes(
        self, after: Sequences, original: EventTable
    ) -> Iterator[tuple[str, tuple[Amounts, Amounts]]]:
        """Give each outcome and how likely every event of the release and of the original is one."""
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
        for leaf in np.argsort(-counts, kind="stable")[: self.most_items]:
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
        return _places(sides[0]), _places(sides[1])
    (told,) = (each for each in attributes_of(after, original) if each.name == clock.name)
    since = [
        _since_first(clock, nodes, offsets)
        for nodes, offsets in zip((told.after, told.before), sides, strict=True)
    ]
    points = np.unique(np.quantile(np.concatenate([*since, [0.0]]), np.linspace(0, 1, N_TIMES)))
    after_times, before_times = (np.searchsorted(points, each).astype(np.int64) for each in since)
    return after_times, before_times


def _places(offsets: Offsets) -> Counts:
    return np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def _since_first(clock: Clock, nodes: Codes, offsets: Offsets) -> Amounts:
    """Give the time since the person's first event; what is not known is taken as none."""
    times = clock.values[nodes]
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    if clock.counts_gaps:
        sums = np.cumsum(np.nan_to_num(times))
        return np.asarray(sums - sums[starts], np.float64)
    return np.asarray(np.maximum(np.nan_to_num(times - times[starts]), 0.0), np.float64)


def _curve(chances: Amounts, times: Counts, offsets: Offsets, n_times: int) -> Amounts:
    """Give the share that still waits after each time, by Kaplan and Meier."""
    happened, left = kernels.waiting.count_firsts(chances, times, offsets, n_times)
    gone = np.cumsum(happened + left)
    waiting = np.count_nonzero(np.diff(offsets)) - np.concatenate([[0.0], gone[:-1]])
    # Rounding may leave a little of nobody waiting.
    hazards = np.divide(happened, waiting, out=np.zeros(n_times), where=waiting > 1e-9)
    return np.asarray(np.cumprod(1 - np.minimum(hazards, 1.0)), np.float64)


def _said(names: list[str], original: EventTable) -> str:
    if original.symbol is None:
        return f"protected value of {' and of '.join(names)}" if names else "outcome"
    return f"of the {len(names)} most frequent items"
