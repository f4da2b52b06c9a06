"""A running account of index tuples as they are released, and of what they tell at the most."""

from __future__ import annotations

from itertools import combinations
from math import comb, e, exp, inf, log, log2
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


def density(patterns: frozenset[tuple[Hashable, ...]]) -> float:
    """The largest share of a long run's tuples, at any one choice of steps between places, that are secret.

    Where the symbols of the patterns at one place are all different from those at another, no event can be
    both, so that at most every second event begins an occurrence; otherwise all may be.

    Examples
    --------
    >>> density(frozenset({("a", "b"), ("a", "c")})), density(frozenset({("a", "b"), ("b", "a")}))
    (0.5, 1.0)
    """
    places = [set(symbols) for symbols in zip(*patterns, strict=True)]
    return 0.5 if any(left.isdisjoint(right) for left, right in combinations(places, 2)) else 1.0


class Ledger:
    """Counts of one length: how often each image was released, and how often it was a secret pattern.

    The patterns of a group leak no more than the sum over their occurrences of log2 (N / F) / N, with N index
    tuples in all, F of which look like the occurrence. (By Equation 2 the leakage is the sum over images q of
    P[p, q] log2 (P[p, q] / (P[p] P[q])), and P[p, q] is at most P[p].) That sum changes by little with each
    tuple, so that it can be kept, tried and taken back.

    Examples
    --------
    >>> ledger = Ledger(2, [{("a", "b")}], window=1)
    >>> for symbols, image in [(("a", "b"), (1, 2)), (("b", "a"), (2, 1)), (("a", "a"), (1, 1))]:
    ...     ledger.add(symbols, image)
    >>> round(ledger.leakage, 4)  # log2(3) / 3
    0.5283
    """

    def __init__(self, length: int, groups: Iterable[Iterable[tuple[Hashable, ...]]], *, window: int) -> None:
        self.length = length
        self.window = window
        self.groups = [frozenset(group) for group in groups]
        """Patterns that share a bound."""
        self.densities = [density(group) for group in self.groups]
        """Group to the largest share of tuples that can be its patterns in the long run."""
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

        Requires that the last `window` places are on the root, so that every tuple to come is, too. Take N
        tuples, R of them all on the root, and c = N - R others, which stay as many. What the occurrences that
        are not all on the root tell is (a log2 N - b) / N. Those on the root, y of them, tell
        (y / N) log2 (N / R), and y is at most R; it is also at most those until now, plus the `density` of
        all to come, plus a few for tuples that reach back.
        """
        on_root = (ROOT,) * self.length
        all_root = self.counts.get(on_root, 0)
        return max(
            min(
                self._worst_shown(number, on_root, all_root) + self._worst_hidden(number, on_root, all_root),
                most,
            )
            for number, most in enumerate(map(ceiling, map(len, self.groups)))
        )

    def _leakage(self, number: int) -> float:
        if not self.occurrences[number]:
            return 0.0
        return (self.occurrences[number] * log2(self.total) - self.logs[number]) / self.total

    def _worst_shown(self, number: int, on_root: tuple[int, ...], all_root: int) -> float:
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

    def _worst_hidden(self, number: int, on_root: tuple[int, ...], all_root: int) -> float:
        """The largest value of (y / N) log2 (N / R) for any number of tuples from now on."""
        other = self.total - all_root
        if not other:
            return 0.0
        # (R / N) log2 (N / R) rises with the share c / N up to 1 - 1 / e, and the share only falls.
        share = min(other / self.total, 1 - 1 / e)
        anything = -(1 - share) * log2(1 - share)
        dense = self.densities[number]
        hidden = self.hits[number].get(on_root, 0)
        reaching_back = dense * comb(self.window, self.length - 1) * self.window
        beyond = max(0.0, hidden + reaching_back - dense * all_root)
        root = max(all_root, 1)
        return min(anything, dense * anything + beyond / (other + root) * log2((other + root) / root))
