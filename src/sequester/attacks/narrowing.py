"""What dependent quasi-identifiers give back: a coarse value is narrowed by its fine neighbours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.attacks.spans import spans_of
from sequester.mining.dependence import dependent

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.attacks.ground import Ground
    from sequester.data.table import EventTable
    from sequester.kernels.narrowing import Spans
    from sequester.mining.dependence import Dependence

_ROUNDS = 4
"""What is narrowed may narrow others; after so many rounds hardly anything is left to find."""


@dataclass(frozen=True, slots=True)
class _Rule(ABC):
    """How columns of one event depend on each other."""

    columns: tuple[int, ...]
    """Their places in the ground, the one that follows from the others last."""

    @abstractmethod
    def narrow(self, cells: Codes, ground: Ground) -> Codes:
        """Narrow the cells of these columns, a row each."""


@dataclass(frozen=True, slots=True)
class _Sum(_Rule):
    spans: Spans
    """What numbers the nodes of these columns stand for."""
    is_whole: Mask
    """Columns of whole numbers."""

    @classmethod
    def of(cls, dependence: Dependence, ground: Ground) -> _Sum:
        columns = tuple(ground.columns.index(name) for name in dependence.columns)
        numbers, lows, highs = (np.full(ground.n_nodes, np.nan) for _ in range(3))
        is_open = np.zeros(ground.n_nodes, np.bool_)
        is_whole = []
        for column, reading in zip(columns, dependence.readings, strict=True):
            own = slice(int(ground.starts[column]), int(ground.starts[column + 1]))
            numbers[own], lows[own], highs[own], is_open[own] = spans_of(ground.trees[column], reading)
            finite = numbers[own][np.isfinite(numbers[own])]
            is_whole.append(bool((finite == np.floor(finite)).all()))
        spans = kernels.narrowing.Spans(numbers, lows, highs, is_open)
        return cls(columns, spans, np.array(is_whole, np.bool_))

    def narrow(self, cells: Codes, ground: Ground) -> Codes:
        narrowed: Codes = kernels.narrowing.narrow_sums(
            cells, self.spans, self.is_whole, ground.parent, ground.kernel.end
        )
        return narrowed


@dataclass(frozen=True, slots=True)
class _Image(_Rule):
    images: Codes
    """Leaf of the first column to the leaf of the second that goes with it; -1 where that is not known."""
    is_open: Mask
    """Nodes of the first column that stand for more than the leaves below them."""

    @classmethod
    def of(cls, dependence: Dependence, ground: Ground, cells: Codes) -> _Image:
        source, other = (ground.columns.index(name) for name in dependence.columns)
        images = np.full(ground.n_nodes, -1, np.int32)
        images[cells[:, source]] = cells[:, other]
        tree = ground.trees[source]
        named = np.zeros(len(tree), np.int64)
        np.add.at(named, tree.parent[1:], tree.leaves[1:])
        is_open = np.zeros(ground.n_nodes, np.bool_)
        start = int(ground.starts[source])
        is_open[start : start + len(tree)] = ~tree.is_leaf & (tree.leaves > named)
        return cls((source, other), images, is_open)

    def narrow(self, cells: Codes, ground: Ground) -> Codes:
        narrowed: Codes = kernels.narrowing.narrow_images(
            cells, self.images, self.is_open, ground.parent, ground.kernel.end
        )
        return narrowed


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Knows which quasi-identifiers follow from others, and makes released values finer by it.

    It supposes that the adversary knows the dependence: that discharge minus admission is the length of stay,
    or which city a ZIP code belongs to. A value becomes the lowest one of its hierarchy that covers all that
    its neighbours leave of it, values included that nobody has: which occur is not known.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.attacks.ground import Ground
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> stays = {"came": [1, 5, 2], "stayed": [3, 1, 3], "left": [4, 6, 5]}
    >>> frame = pl.DataFrame({"who": list("aab"), "n": [1, 2, 1], **stays})
    >>> weeks = {name: Hierarchy.intervals(7) for name in stays}
    >>> table = EventTable(frame, Schema("who", "n", quasi=weeks))
    >>> ground = Ground.of(table)
    >>> narrowing = Narrowing.of(table, ground)
    >>> coarse = ground.cells(table.sequences)
    >>> coarse[:, 1] = ground.lift(coarse[:, 1], np.ones(3, int))
    >>> [ground.label(node) for node in coarse[0]]
    ['came=1', 'stayed=[0:6]', 'left=4']
    >>> [ground.label(node) for node in narrowing.apply(coarse)[0]]
    ['came=1', 'stayed=3', 'left=4']
    """

    ground: Ground
    rules: tuple[_Rule, ...]

    @classmethod
    def of(cls, original: EventTable, ground: Ground) -> Narrowing | None:
        """Find what depends on what in every event of the original; None where nothing does."""
        found = dependent(original)
        if not found:
            return None
        cells = ground.cells(original.sequences)
        rules: list[_Rule] = [
            _Sum.of(each, ground) if each.kind == "adds up" else _Image.of(each, ground, cells)
            for each in found
        ]
        return cls(ground, tuple(rules))

    def apply(self, cells: Codes) -> Codes:
        """Make the cells of events finer, as far as the others of their event allow."""
        columns = sorted({column for rule in self.rules for column in rule.columns})
        place_of = {column: place for place, column in enumerate(columns)}
        rows, row_of = _distinct(cells[:, columns])
        for _ in range(_ROUNDS):
            before = rows.copy()
            for rule in self.rules:
                own = [place_of[column] for column in rule.columns]
                rows[:, own] = rule.narrow(np.ascontiguousarray(rows[:, own]), self.ground)
            if np.array_equal(rows, before):
                break
        narrowed = cells.copy()
        narrowed[:, columns] = rows[row_of]
        return narrowed

    def given_back(self, cells: Codes) -> tuple[int, int]:
        """Count the generalized values of dependent columns that become finer, and all of them."""
        columns = sorted({column for rule in self.rules for column in rule.columns})
        coarse = cells[:, columns]
        is_coarse = self.ground.kernel.end[coarse] > coarse + 1
        finer = self.apply(cells)[:, columns] != coarse
        return int(finer.sum()), int(is_coarse.sum())


def _distinct(rows: Codes) -> tuple[Codes, Counts]:
    """Give the different rows, and for each row which of them it is; many events are equal."""
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
    row_of, firsts = kernels.distinct.fold_rows(rows.ravel(), offsets)
    return rows[firsts], row_of
