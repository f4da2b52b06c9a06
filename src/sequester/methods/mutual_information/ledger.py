"""A running account of index tuples as they are released, and of what they tell at the most."""

from __future__ import annotations

from math import e, exp, inf, log, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

ROOT = 0
"""The node that says nothing."""


def ceiling(n_patterns: int) -> float:
    """The largest entropy that patterns of one length can have: the most of sum P log2 1/P for a sum P of 1.

    Examples
    --------
    >>> [round(ceiling(n), 3) for n in (1, 2, 4)]
    [0.531, 1.061, 2.0]
    """
    return log2(n_patterns) if n_patterns > e else n_patterns * log2(e) / e


class Ledger:
    """Counts of one length: how often each image was released, and how often it was a secret pattern.

    The patterns of a group leak no more than the sum over their occurrences of log2 (N / F) / N, with N index
    tuples in all, F of which look like the occurrence. (By Equation 2 the leakage is the sum over images q of
    P[p, q] log2 (P[p, q] / (P[p] P[q])), and P[p, q] is at most P[p].) That sum changes by little with each
    tuple, so that it can be kept, tried and taken back.

    Examples
    --------
    >>> ledger = Ledger(2, [{("a", "b")}])
    >>> for symbols, image in [(("a", "b"), (1, 2)), (("b", "a"), (2, 1)), (("a", "a"), (1, 1))]:
    ...     ledger.add(symbols, image)
    >>> round(ledger.leakage, 4)  # log2(3) / 3
    0.5283
    """

    def __init__(self, length: int, groups: Iterable[Iterable[tuple[Hashable, ...]]]) -> None:
        self.length = length
        self.groups = [frozenset(group) for group in groups]
        """Patterns that share a bound."""
        self.total = 0
        self.counts: dict[tuple[int, ...], int] = {}
        self.hits: list[dict[tuple[int, ...], int]] = [{} for _ in self.groups]
        self.occurrences = [0] * len(self.groups)
        self.logs = [0.0] * len(self.groups)
        """Group to the sum of log2 F over its occurrences."""
        self._journal: list[tuple[tuple[int, ...], int, list[int], list[int], list[float]]] = []

    def add(self, symbols: tuple[Hashable, ...], image: tuple[int, ...]) -> None:
        """Take down a tuple of `symbols` that is released as the nodes `image`."""
        before = self.counts.get(image, 0)
        hits = [group.get(image, 0) for group in self.hits]
        self._journal.append((image, before, hits, self.occurrences.copy(), self.logs.copy()))
        self.total += 1
        self.counts[image] = before + 1
        for number, group in enumerate(self.groups):
            if hits[number]:
                self.logs[number] += hits[number] * (log2(before + 1) - log2(before))
            if symbols in group:
                self.hits[number][image] = hits[number] + 1
                self.occurrences[number] += 1
                self.logs[number] += log2(before + 1)

    def mark(self) -> int:
        """Remember this moment."""
        return len(self._journal)

    def take_back(self, mark: int) -> None:
        """Forget what was taken down since."""
        while len(self._journal) > mark:
            image, count, hits, self.occurrences, self.logs = self._journal.pop()
            self.total -= 1
            self.counts[image] = count
            for number, hit in enumerate(hits):
                self.hits[number][image] = hit

    def settle(self) -> None:
        """Nothing so far will be taken back."""
        self._journal.clear()

    @property
    def leakage(self) -> float:
        """What has been released tells at most this many bits, of the group of which it tells most."""
        return max(
            min(self._leakage(number), ceiling(len(group))) for number, group in enumerate(self.groups)
        )

    @property
    def worst_to_come(self) -> float:
        """The most that this can become if only the root is released from now on, whatever happens.

        Requires that no tuple to come has a place before now, other than on the root. Then, with N tuples,
        c of them not all on the root, and the sum (a log2 N - b) / N of the a occurrences that are not all on
        the root, the others tell no more than -(1 - c / N) log2 (1 - c / N), even if all of them are secret.
        """
        on_root = (ROOT,) * self.length
        all_root = self.counts.get(on_root, 0)
        other = self.total - all_root
        # The second part rises with the share c / N up to 1 - 1 / e, and the share only falls.
        share = min(other / self.total, 1 - 1 / e) if self.total else 0.0
        beyond = -(1 - share) * log2(1 - share)
        return max(
            min(self._worst(number, on_root, all_root) + beyond, ceiling(len(group)))
            for number, group in enumerate(self.groups)
        )

    def _leakage(self, number: int) -> float:
        if not self.occurrences[number]:
            return 0.0
        return (self.occurrences[number] * log2(self.total) - self.logs[number]) / self.total

    def _worst(self, number: int, on_root: tuple[int, ...], all_root: int) -> float:
        """The largest value of (a log2 N - b) / N for any number of tuples from now on."""
        hidden = self.hits[number].get(on_root, 0)
        a = self.occurrences[number] - hidden
        if not a:
            return 0.0
        b = self.logs[number] - (hidden * log2(all_root) if hidden else 0.0)
        power = 1 + b * log(2) / a
        peak = exp(power) if power < 700 else inf
        if self.total >= peak:
            return (a * log2(self.total) - b) / self.total
        return a / (peak * log(2))
