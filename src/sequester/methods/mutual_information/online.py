"""Symbols that arrive one by one and must leave within the window: decided once, never revised."""

from __future__ import annotations

from collections import deque
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from sequester.errors import InputError, ParameterError
from sequester.hierarchies.labels import quoted
from sequester.methods.mutual_information.leakage_accounts import (
    ROOT,
    ExactLeakageAccount,
    PaperLeakageAccount,
)
from sequester.methods.mutual_information.problem import costs_by_depth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sequester.hierarchies.hierarchy import Hierarchy

ROUNDING = 1e-12
"""Bits that may be lost in adding up."""


class OnlineTopDown:
    """Releases each symbol when at most `window` others have come after it.

    After every released symbol, what has been released tells at most `max_leakage_bits` about the patterns of
    each length (in the worst case: about each pattern) by the `measure`, whatever comes later. A symbol
    leaves as the lowest node of its path after which it is still possible, for any future, to stay within the
    bound by releasing nothing but the root; so the root itself is always possible.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> shop = Hierarchy.from_tree({"Alcohol": ["Beer", "Wine"], "Snack": ["Chips", "Cookies"]})
    >>> online = OnlineTopDown(shop, patterns=[("Beer", "Chips")], window=1, max_leakage_bits=0.6)
    >>> list(online.run(["Beer", "Chips", "Wine", "Beer", "Cookies"]))
    ['*', '*', '*', 'Beer', 'Cookies']
    >>> online.leakage_bits <= 0.6
    True
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        patterns: Iterable[tuple[str, ...]],
        window: int,
        max_leakage_bits: float,
        worst_case: bool = False,
        measure: Literal["exact", "paper"] = "exact",
        cost: str | Mapping[str, Mapping[str, float]] = "information-loss",
    ) -> None:
        self._tree = hierarchy
        self._window = window
        self._bits = max_leakage_bits + ROUNDING
        self._leaves = frozenset(hierarchy.labels[node] for node in hierarchy.leaf_nodes)
        labels = sorted(self._leaves)
        self._costs = dict(zip(labels, costs_by_depth(hierarchy, labels, cost), strict=True))
        by_length: dict[int, list[tuple[str, ...]]] = {}
        for pattern in patterns:
            by_length.setdefault(len(pattern), []).append(pattern)
        self._accounts = [
            (ExactLeakageAccount if measure == "exact" else PaperLeakageAccount)(
                length, [[each] for each in group] if worst_case else [group], window=window
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
            msg = f"symbol {quoted(symbol)} is no leaf of the taxonomy"
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
