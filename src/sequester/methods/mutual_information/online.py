"""Symbols that arrive one by one and must leave within the window: decided once, never revised.

What was released is kept in leakage accounts: running counts of index tuples of one length, and what they
tell at the most. Entries can be tried and undone.
"""

from __future__ import annotations

from collections import Counter, deque
from functools import lru_cache
from itertools import combinations
from math import comb, e, exp, inf, log, log2
from typing import TYPE_CHECKING, Any, TypeVar

from sequester.errors import InputError, ParameterError
from sequester.hierarchies.labels import quoted
from sequester.methods.mutual_information.algorithm import costs_by_depth

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.mutual_information.method import TopDown

ROOT = 0
"""The node that says nothing."""
GRID = 1.05
"""Futures whose numbers of tuples differ by a smaller factor are looked at together."""
UNIT = 1 << 40
"""Terms x log2 x are kept as whole multiples of 1 / UNIT, so that what is added can be undone exactly."""


def ceiling(n_patterns: int) -> float:
    """Return the largest entropy of patterns of one length: the most of sum P log2 1/P for a sum P of 1.

    Examples
    --------
    >>> [round(ceiling(n), 3) for n in (1, 2, 4)]
    [0.531, 1.061, 2.0]
    """
    return log2(n_patterns) if n_patterns > e else n_patterns * log2(e) / e


def density(patterns: frozenset[tuple[Hashable, ...]]) -> float:
    """Return the largest share of secret tuples in a long run, at any one choice of steps between places.

    Where the symbols of the patterns at one place are all different from those at another, no event can be
    both, so that at most every second event begins an occurrence; otherwise all may be.

    Examples
    --------
    >>> density(frozenset({("a", "b"), ("a", "c")})), density(frozenset({("a", "b"), ("b", "a")}))
    (0.5, 1.0)
    """
    places = [set(symbols) for symbols in zip(*patterns, strict=True)]
    return 0.5 if any(left.isdisjoint(right) for left, right in combinations(places, 2)) else 1.0


class LeakageAccount:
    """Running counts of index tuples of one length; what is entered can be undone until it is settled."""

    def __init__(self, length: int, *, window: int) -> None:
        self.length = length
        self.window = window
        self.total = 0
        self._journal: list[tuple[Any, ...]] = []

    def mark(self) -> int:
        """Return a mark of this moment."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Undo what was counted since the mark."""
        while len(self._journal) > mark:
            self._take_back(*self._journal.pop())

    def settle(self) -> None:
        """Make final what was counted so far."""
        self._journal.clear()

    def _take_back(self, *entry: Any) -> None:
        """Undo the last entry."""
        raise NotImplementedError


class PaperLeakageAccount(LeakageAccount):
    """Counts of one length by the paper's measure: how often each image was released, and was a pattern.

    The patterns of a group leak no more than the sum over their occurrences of log2 (N / F) / N, with N index
    tuples in all, F of which look like the occurrence. (By Equation 2 the leakage is the sum over images q of
    P[p, q] log2 (P[p, q] / (P[p] P[q])), and P[p, q] is at most P[p].) That sum changes by little with each
    tuple, so that it can be kept, tried and undone.

    Examples
    --------
    >>> account = PaperLeakageAccount(2, [{("a", "b")}], window=1)
    >>> for symbols, image in [(("a", "b"), (1, 2)), (("b", "a"), (2, 1)), (("a", "a"), (1, 1))]:
    ...     account.add(symbols, image)
    >>> round(account.leakage, 4)  # log2(3) / 3
    0.5283
    """

    def __init__(self, length: int, groups: Iterable[Iterable[tuple[Hashable, ...]]], *, window: int) -> None:
        super().__init__(length, window=window)
        self.groups = [frozenset(group) for group in groups]
        """Patterns that share a bound."""
        self.densities = [density(group) for group in self.groups]
        """Group to the largest share of tuples that can be its patterns in the long run."""
        self.counts: dict[tuple[int, ...], int] = {}
        self.hits: list[dict[tuple[int, ...], int]] = [{} for _ in self.groups]
        self.occurrences = [0] * len(self.groups)
        self.logs = [0.0] * len(self.groups)
        """Group to the sum of log2 F over its occurrences."""

    def add(self, symbols: tuple[Hashable, ...], image: tuple[int, ...]) -> None:
        """Count a tuple of `symbols` that is released as the nodes `image`."""
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

    def _take_back(self, *entry: Any) -> None:
        image, count, hits, self.occurrences, self.logs = entry
        self.total -= 1
        self.counts[image] = count
        for number, hit in enumerate(hits):
            self.hits[number][image] = hit

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
        """Return the largest value of (a log2 N - b) / N for any number of tuples from now on."""
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
        """Return the largest value of (y / N) log2 (N / R) for any number of tuples from now on."""
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


class ExactLeakageAccount(LeakageAccount):
    """Counts of one length by the exact measure: the mutual information of outcome and image.

    The outcome of an index tuple is the secret pattern that it spells, or None. With n tuples in all, n_s of
    outcome s, n_g of image g and n_sg of both, n times the mutual information is the sum of n_sg log2 n_sg,
    less those of n_s log2 n_s and n_g log2 n_g, plus n log2 n.

    Examples
    --------
    >>> account = ExactLeakageAccount(1, [{("a",)}], window=1)
    >>> for symbol, image in 90 * [("a", 1)] + 10 * [("b", 2)]:
    ...     account.add((symbol,), (image,))
    >>> round(account.leakage, 3)
    0.469
    """

    def __init__(self, length: int, groups: Iterable[Iterable[tuple[Hashable, ...]]], *, window: int) -> None:
        super().__init__(length, window=window)
        self.images: Counter[tuple[int, ...]] = Counter()
        self.of_images = 0
        """The sum of n_g log2 n_g, in units."""
        self.groups = [_Outcomes(frozenset(group)) for group in groups]
        """One per set of patterns that share a bound."""

    def add(self, symbols: tuple[Hashable, ...], image: tuple[int, ...]) -> None:
        """Count a tuple of `symbols` that is released as the nodes `image`."""
        self._journal.append((symbols, image))
        self._count(symbols, image, 1)

    def _take_back(self, *entry: Any) -> None:
        symbols, image = entry
        self._count(symbols, image, -1)

    @property
    def leakage(self) -> float:
        """What has been released tells this many bits, of the group of which it tells most."""
        if not self.total:
            return 0.0
        rest = _units(self.total) - self.of_images
        return max((group.of_joint - group.of_outcomes + rest) / UNIT / self.total for group in self.groups)

    @property
    def worst_to_come(self) -> float:
        """The most that this can become if only the root is released from now on, whatever happens.

        Requires that the last `window` places are on the root, so that every tuple to come is, too.
        """
        return max(min(self._worst(group), log2(len(group.patterns) + 1)) for group in self.groups)

    def _count(self, symbols: tuple[Hashable, ...], image: tuple[int, ...], step: int) -> None:
        self.total += step
        self.of_images += _change(self.images, image, step)
        for group in self.groups:
            outcome = symbols if symbols in group.patterns else None
            group.of_joint += _change(group.joint, (outcome, image), step)
            group.of_outcomes += _change(group.outcomes, outcome, step)

    def _worst(self, group: _Outcomes) -> float:
        """Return the largest mutual information for any number of tuples from now on, or a little more.

        Take N tuples, R of them on the root, and c = N - R others, which stay as they are. N times the mutual
        information is a part that stays, what the images of the c others tell among themselves, and T, what
        is told by whether a tuple is on the root. For a given N, T is convex in the numbers of new outcomes,
        so it is largest where they are all None, or as many as can be are one pattern and the others None. At
        most the `density` of all to come are patterns, and a few that reach back.

        Between two numbers of new tuples, M1 and M2, T is at most its largest value at M2 where M2 - M1 more
        may be patterns: there is always an outcome that is no rarer on the root than elsewhere, more of which
        on the root make T no smaller. And N is at least what it is at M1. Far out, T / N is at most the
        entropy of c / N.
        """
        on_root = (ROOT,) * self.length
        root = self.images[on_root]
        others = self.total - root
        if not others:
            return 0.0
        counts = {
            outcome: (count - group.joint[outcome, on_root], group.joint[outcome, on_root])
            for outcome, count in group.outcomes.items()
        }
        none = counts.pop(None, (0, 0))
        shown = (group.of_joint - self.of_images) / UNIT + _bits(root) + _bits(others)
        shown -= sum(_bits(off) + _bits(on) for off, on in (*counts.values(), none))
        joint_counts = (
            {(0, 0)} | set(counts.values()) if len(counts) < len(group.patterns) else set(counts.values())
        )
        fixed = sum(_mixed(off, on) for off, on in counts.values())
        back = group.density * comb(self.window, self.length - 1) * self.window
        worst, fewest = 0.0, 0
        while True:
            most = max(fewest, int((self.total + fewest) * GRID) - self.total)
            secret = min(most, group.density * most + back + most - fewest)
            between = _mixed(others, root + most) - fixed
            largest = between - _mixed(none[0], none[1] + most)
            for off, on in joint_counts:
                here = _mixed(none[0], none[1] + most - secret) + _mixed(off, on + secret) - _mixed(off, on)
                largest = max(largest, between - here)
            worst = max(worst, (shown + largest) / (self.total + fewest))
            fewest = most + 1
            share = others / (self.total + fewest)
            if 2 * share <= 1 and shown / others * share + _entropy(share) <= worst:
                return worst


class _Outcomes:
    """Patterns that share a bound, and how often each of them, or none, was released as what."""

    def __init__(self, patterns: frozenset[tuple[Hashable, ...]]) -> None:
        self.patterns = patterns
        self.density = density(patterns)
        self.outcomes: Counter[tuple[Hashable, ...] | None] = Counter()
        self.joint: Counter[tuple[tuple[Hashable, ...] | None, tuple[int, ...]]] = Counter()
        self.of_joint = 0
        """The sum of n_sg log2 n_sg, in units."""
        self.of_outcomes = 0
        """The sum of n_s log2 n_s, in units."""


Key = TypeVar("Key")


def _change(counts: Counter[Key], key: Key, step: int) -> int:
    """Change a count, and return the change of its term n log2 n, in units."""
    before = counts[key]
    counts[key] = before + step
    return _units(before + step) - _units(before)


@lru_cache(maxsize=1 << 16)
def _units(count: int) -> int:
    return int(_bits(count) * UNIT)


def _bits(count: float) -> float:
    """Return x log2 x, and 0 for 0."""
    return count * log2(count) if count > 0 else 0.0


def _mixed(off: float, on: float) -> float:
    """Return what is open about `off` and `on` tuples that are not told apart, in bits, for all together."""
    return _bits(off + on) - _bits(off) - _bits(on)


def _entropy(share: float) -> float:
    return -_bits(share) - _bits(1 - share)


ROUNDING = 1e-12
"""Bits that may be lost in adding up."""


class OnlineTopDown:
    """Releases each symbol when at most `window` others have come after it.

    After every released symbol, what has been released tells at most `max_leakage_bits` about the patterns of
    each length (in the worst case: about each pattern) by the measure of the method, whatever comes later. A
    symbol leaves as the lowest node of its path after which it is still possible, for any future, to stay
    within the bound by releasing nothing but the root; so the root itself is always possible.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> shop = Hierarchy.from_tree({"Alcohol": ["Beer", "Wine"], "Snack": ["Chips", "Cookies"]})
    >>> from sequester.methods import TopDown
    >>> online = TopDown(patterns=[("Beer", "Chips")], window=1, max_leakage_bits=0.6).follow(shop)
    >>> list(online.run(["Beer", "Chips", "Wine", "Beer", "Cookies"]))
    ['*', '*', '*', 'Beer', 'Cookies']
    >>> online.leakage_bits <= 0.6
    True
    """

    def __init__(self, method: TopDown, hierarchy: Hierarchy, *, max_leakage_bits: float) -> None:
        self._tree = hierarchy
        self._window = method.window
        self._bits = max_leakage_bits + ROUNDING
        self._leaves = frozenset(hierarchy.labels[node] for node in hierarchy.leaf_nodes)
        labels = sorted(self._leaves)
        self._costs = dict(zip(labels, costs_by_depth(hierarchy, labels, method.cost), strict=True))
        by_length: dict[int, list[tuple[str, ...]]] = {}
        for pattern in method.patterns:
            by_length.setdefault(len(pattern), []).append(pattern)
        self._accounts = [
            (ExactLeakageAccount if method.measure == "exact" else PaperLeakageAccount)(
                length, [[each] for each in group] if method.worst_case else [group], window=method.window
            )
            for length, group in sorted(by_length.items())
        ]
        self._pending: deque[str] = deque()
        self._recent: list[tuple[str, int]] = []
        self._finished = False
        self._n_released, self._loss = 0, 0.0

    def run(self, symbols: Iterable[str]) -> Iterator[str]:
        """Release a whole stream, each symbol as soon as it can leave."""
        for symbol in symbols:
            yield from self.push(symbol)
        yield from self.finish()

    def push(self, symbol: str) -> list[str]:
        """Take the next symbol, and return what leaves: nothing until the window is full, then one."""
        if self._finished:
            msg = "the stream is finished, and no symbol can follow"
            raise ParameterError(msg)
        if symbol not in self._leaves:
            msg = f"symbol {quoted(symbol)} is not a leaf of the taxonomy"
            raise InputError(msg)
        self._pending.append(symbol)
        return [self._release()] if len(self._pending) > self._window else []

    def finish(self) -> list[str]:
        """Return all that is left: nothing will follow."""
        self._finished = True
        return [self._release() for _ in range(len(self._pending))]

    @property
    def leakage_bits(self) -> float:
        """The bits that the release so far tells at most, of the patterns of which it tells most."""
        return max((account.leakage for account in self._accounts), default=0.0)

    @property
    def loss_per_symbol(self) -> float:
        """The mean cost of what has been released."""
        return self._loss / max(self._n_released, 1)

    def _release(self) -> str:
        """Return the node at which the symbol that has waited longest is released."""
        symbol = self._pending.popleft()
        path = self._tree.ancestors(self._tree.node(symbol))
        node = next((node for node in path[:-1] if self._is_safe(symbol, node)), ROOT)
        self._count_ending(symbol, node)
        for account in self._accounts:
            account.settle()
        del self._recent[: -self._window]
        self._n_released += 1
        self._loss += float(self._costs[symbol][self._tree.depth[node]])
        return self._tree.labels[node]

    def _is_safe(self, symbol: str, node: int) -> bool:
        """Return whether the bound can be kept after this by releasing nothing but the root.

        Every tuple with a released place ends among those that wait, so what comes later meets only roots.
        """
        marks = [account.mark() for account in self._accounts]
        n_recent = len(self._recent)
        self._count_ending(symbol, node)
        safe = self._fits()
        for later in self._pending:
            if not safe:
                break
            self._count_ending(later, ROOT)
            safe = self._fits()
        if safe and not self._finished:
            safe = all(account.worst_to_come <= self._bits for account in self._accounts)
        for account, mark in zip(self._accounts, marks, strict=True):
            account.undo(mark)
        del self._recent[n_recent:]
        return safe

    def _fits(self) -> bool:
        return all(account.leakage <= self._bits for account in self._accounts)

    def _count_ending(self, symbol: str, node: int) -> None:
        """Count the tuples that end with this symbol."""
        before = self._recent[-self._window :]
        for account in self._accounts:
            for places in combinations(before, account.length - 1):
                symbols = (*(each[0] for each in places), symbol)
                account.add(symbols, (*(each[1] for each in places), node))
        self._recent.append((symbol, node))
