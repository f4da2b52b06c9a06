"""Refinement: a generalized value is narrowed by the columns that it depends on."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.attacks.risk import Proportion, Risk
from sequester.datasets.draws import generator
from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import fold_rows
from sequester.mining.dependence import find_dependences, parse_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask
    from sequester.attacks.context import AttackContext
    from sequester.attacks.domain import Domain
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.mining.dependence import Dependence, LabelKind

    Numbers = npt.NDArray[np.float64]
    Rule = tuple[tuple[int, ...], Callable[..., Codes]]
    """Columns of one event, the one that follows from the others last; and what narrows their cells."""

SLACK = 1e-9
"""Numbers are equal if they differ by no more than this share of them, or than this."""


@inner
def _common(first: int, last: int, parent: Codes, end: Codes) -> int:
    """Return the lowest node at or above two nodes, the first of which does not come after the last."""
    node = first
    while not node <= last < end[node]:
        node = parent[node]
    return node


class Spans(NamedTuple):
    """What numbers each node stands for."""

    numbers: Numbers
    """The number of each leaf; NaN where it has none."""
    lows: Numbers
    """Node to the smallest number that it may stand for."""
    highs: Numbers
    """Node to the largest."""
    is_open: Mask
    """Nodes that stand for more than the leaves below them."""


@njit
def _size(low: float, high: float, is_whole: bool) -> float:
    """Return how much lies between two numbers, both included: whole numbers, or the length."""
    if is_whole:
        return max(float(np.floor(high + SLACK) - np.ceil(low - SLACK)) + 1.0, 0.0)
    # Single points count, too, so that a number that has a leaf is covered by it.
    return max(high - low, 0.0) + (SLACK if high >= low - SLACK else 0.0)


@inner
def _holds_others(node: int, low: float, high: float, spans: Spans, end: Codes, is_whole: bool) -> bool:
    """Return whether a node stands for numbers from `low` to `high` that are in none of its children."""
    low, high = max(low, spans.lows[node]), min(high, spans.highs[node])
    left = _size(low, high, is_whole)
    if np.isinf(left):
        return True
    child = node + 1
    while child < end[node]:
        # A child that may stand for anything need not stand for these.
        if spans.lows[child] > -np.inf or spans.highs[child] < np.inf:
            left -= _size(max(low, spans.lows[child]), min(high, spans.highs[child]), is_whole)
        child = end[child]
    return bool(left > SLACK / 2)


@inner
def _within(
    cell: int, low: float, high: float, spans: Spans, parent: Codes, end: Codes, is_whole: bool
) -> int:
    """Narrow a cell to what lies from `low` to `high`; a leaf without a number may be any."""
    first, last = -1, -1
    for node in range(cell, end[cell]):
        number = spans.numbers[node]
        slack = SLACK * max(1.0, abs(number))
        if end[node] == node + 1:
            is_left = np.isnan(number) or low - slack <= number <= high + slack
        else:
            is_left = spans.is_open[node] and _holds_others(node, low, high, spans, end, is_whole)
        if is_left:
            if first < 0:
                first = node
            last = node
    return cell if first < 0 else _common(first, last, parent, end)


@njit
def narrow_sums(cells: Codes, parent: Codes, end: Codes, spans: Spans, is_whole: Mask) -> Codes:
    """Narrow the three cells of each row, the first two of which add up to the third.

    `is_whole` marks which of the three columns have whole numbers only.
    """
    lows, highs = spans.lows, spans.highs
    narrowed = cells.copy()
    for row in range(len(cells)):
        one, other, total = cells[row]
        narrowed[row, 0] = _within(
            one, lows[total] - highs[other], highs[total] - lows[other], spans, parent, end, is_whole[0]
        )
        narrowed[row, 1] = _within(
            other, lows[total] - highs[one], highs[total] - lows[one], spans, parent, end, is_whole[1]
        )
        narrowed[row, 2] = _within(
            total, lows[one] + lows[other], highs[one] + highs[other], spans, parent, end, is_whole[2]
        )
    return narrowed


@njit
def narrow_images(cells: Codes, parent: Codes, end: Codes, images: Codes, is_open: Mask) -> Codes:
    """Narrow the two cells of each row, the second of which is the image of the first.

    ``images[leaf]`` is the leaf that belongs to a leaf of the first column, -1 where that is not known. It is
    not known either of what a node stands for beside its leaves, if it `is_open`.
    """
    narrowed = cells.copy()
    for row in range(len(cells)):
        source, other = cells[row]
        first, last = -1, -1
        lowest, highest = -1, -1
        is_known = True
        for node in range(source, end[source]):
            if end[node] != node + 1 and not is_open[node]:
                continue
            image = images[node]
            is_known &= image >= 0
            if image < 0 or other <= image < end[other]:
                if first < 0:
                    first = node
                last = node
                if lowest < 0 or image < lowest:
                    lowest = image
                highest = max(highest, image)
        if first >= 0:
            narrowed[row, 0] = _common(first, last, parent, end)
            if is_known:
                narrowed[row, 1] = _common(lowest, highest, parent, end)
    return narrowed


_ROUNDS = 4
"""What is narrowed may narrow others; after so many rounds hardly anything is left to find."""


def _sum_rule(dependence: Dependence, domain: Domain) -> Rule:
    """Return how columns narrow each other of which the first two add up to the third."""
    columns = tuple(domain.columns.index(name) for name in dependence.columns)
    numbers, lows, highs = (np.full(domain.n_nodes, np.nan) for _ in range(3))
    spans = Spans(numbers, lows, highs, np.zeros(domain.n_nodes, np.bool_))
    is_whole = []
    for column, reading in zip(columns, dependence.readings, strict=True):
        own = slice(int(domain.starts[column]), int(domain.starts[column + 1]))
        for everywhere, here in zip(spans, spans_of(domain.trees[column], reading), strict=True):
            everywhere[own] = here
        finite = numbers[own][np.isfinite(numbers[own])]
        is_whole.append(bool((finite == np.floor(finite)).all()))
    return columns, partial(narrow_sums, spans=spans, is_whole=np.array(is_whole, np.bool_))


def _image_rule(dependence: Dependence, domain: Domain, cells: Codes) -> Rule:
    """Return how columns narrow each other of which the first determines the second, as `cells` have them."""
    source, other = (domain.columns.index(name) for name in dependence.columns)
    images = np.full(domain.n_nodes, -1, np.int32)
    images[cells[:, source]] = cells[:, other]
    is_open = np.zeros(domain.n_nodes, np.bool_)
    own = slice(int(domain.starts[source]), int(domain.starts[source + 1]))
    is_open[own] = _count_named(domain.trees[source])[1]
    return (source, other), partial(narrow_images, images=images, is_open=is_open)


def _count_named(tree: Hierarchy) -> tuple[Counts, Mask]:
    """Count the leaves below each node's children, and mark the nodes that stand for more than those."""
    named = np.zeros(len(tree), np.int64)
    np.add.at(named, tree.parent[1:], tree.leaves[1:])
    return named, ~tree.is_leaf & (tree.leaves > named)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Knows which quasi-identifiers follow from others, and makes released values finer by it.

    It supposes that the adversary knows the dependence: that discharge minus admission is the length of stay,
    or which city a ZIP code belongs to. A value becomes the lowest one of its hierarchy that covers all that
    its neighbours leave of it, values included that nobody has: which occur is not known.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.attacks.domain import Domain
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> stays = {"came": [1, 5, 2], "stayed": [3, 1, 3], "left": [4, 6, 5]}
    >>> frame = pl.DataFrame({"who": list("aab"), "n": [1, 2, 1], **stays})
    >>> weeks = {name: Hierarchy.intervals(7) for name in stays}
    >>> table = EventTable(frame, Schema("who", "n", quasi=weeks))
    >>> domain = Domain.of(table)
    >>> narrowing = Narrowing.of(table, domain)
    >>> coarse = domain.cells(table.sequences)
    >>> coarse[:, 1] = domain.lift(coarse[:, 1], np.ones(3, int))
    >>> [domain.label(node) for node in coarse[0]]
    ['came=1', 'stayed=[0:6]', 'left=4']
    >>> [domain.label(node) for node in narrowing.apply(coarse)[0]]
    ['came=1', 'stayed=3', 'left=4']
    """

    domain: Domain
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, original: EventTable, domain: Domain) -> Narrowing | None:
        """Find what depends on what in every event of the original; None where nothing does."""
        found = find_dependences(original.events)
        if not found:
            return None
        cells = domain.cells(original.sequences)
        rules = (
            _sum_rule(each, domain) if each.kind == "adds up" else _image_rule(each, domain, cells)
            for each in found
        )
        return cls(domain, tuple(rules))

    @property
    def columns(self) -> list[int]:
        """The columns that depend on others, or others on them."""
        return sorted({column for columns, _ in self.rules for column in columns})

    def apply(self, cells: Codes) -> Codes:
        """Make the cells of events finer, as far as the others of their event allow."""
        columns, trees = self.columns, (self.domain.parent, self.domain.kernel.end)
        # An event that holds attributes of persons has nothing in these columns.
        is_there = (cells[:, columns] < self.domain.nothing).all(axis=1)
        rows, row_of = _distinct(cells[is_there][:, columns])
        for _ in range(_ROUNDS):
            before = rows.copy()
            for dependent, narrow in self.rules:
                own = [columns.index(column) for column in dependent]
                rows[:, own] = narrow(np.ascontiguousarray(rows[:, own]), *trees)
            if np.array_equal(rows, before):
                break
        narrowed = cells.copy()
        narrowed[np.ix_(np.flatnonzero(is_there), np.array(columns))] = rows[row_of]
        return narrowed

    def count_refined(self, cells: Codes) -> tuple[int, int]:
        """Count the generalized values of dependent columns that become finer, and all of them."""
        coarse = cells[:, self.columns]
        is_coarse = self.domain.kernel.end[coarse] > coarse + 1
        finer = self.apply(cells)[:, self.columns] != coarse
        return int(finer.sum()), int(is_coarse.sum())


def _distinct(rows: Codes) -> tuple[Codes, Codes]:
    """Return the different rows, and for each row which of them it is; many events are equal."""
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
    row_of, firsts = fold_rows(rows.ravel(), offsets)
    return rows[firsts], row_of


_RANGES = tuple(map(re.compile, (r"\[(.+):(.+)[\])]", r"<()(.+)", r">=(.+)()")))
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])")
_YEAR = re.compile(r"([0-9]{4})")
_EPOCH = date(1970, 1, 1).toordinal()


def spans_of(tree: Hierarchy, reading: LabelKind) -> tuple[Numbers, Numbers, Numbers, Mask]:
    """Return the number of each leaf, and each node's smallest and largest number and whether it has others.

    A leaf that is no number has NaN. A node says by its label what it spans, such as ``[0:6]`` or
    ``2010-01``; one that does not spans its leaves, if it has no others than those that are named, and all
    numbers otherwise. Nobody knows what ``*`` stands for.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> weeks = Hierarchy.intervals(7).build(["2", "5"], column="stay")
    >>> weeks.labels
    ('*', '[0:6]', '2', '5')
    >>> numbers, lows, highs, is_open = spans_of(weeks, "number")
    >>> lows.tolist(), highs.tolist(), is_open.tolist()
    ([-inf, 0.0, 2.0, 5.0], [inf, 6.0, 2.0, 5.0], [True, True, False, False])
    """
    size = len(tree)
    numbers = np.full(size, np.nan)
    leaves = tree.leaf_nodes
    numbers[leaves] = parse_labels([tree.labels[leaf] for leaf in leaves.tolist()], reading)
    lows, highs = np.where(np.isnan(numbers), np.inf, numbers), np.where(np.isnan(numbers), -np.inf, numbers)
    is_leaf = tree.is_leaf
    named, is_open = _count_named(tree)
    is_unknown = is_leaf & np.isnan(numbers)
    for node in range(size - 1, 0, -1):
        if not is_leaf[node]:
            said = _said(tree.labels[node], reading)
            if said is not None:
                lows[node], highs[node] = said
                is_open[node] |= said[1] - said[0] + 1 > named[node]
            elif is_open[node] or is_unknown[node]:
                lows[node], highs[node] = -np.inf, np.inf
        elif is_unknown[node]:
            lows[node], highs[node] = -np.inf, np.inf
        above = tree.parent[node]
        is_unknown[above] |= is_unknown[node]
        lows[above], highs[above] = min(lows[above], lows[node]), max(highs[above], highs[node])
    lows[0], highs[0], is_open[0] = -np.inf, np.inf, True
    return numbers, lows, highs, is_open


def _said(label: str, reading: LabelKind) -> tuple[float, float] | None:
    """Read the smallest and the largest number that a label speaks of; None where it speaks of none."""
    if reading == "number":
        for written in _RANGES:
            if found := written.fullmatch(label):
                low, high = (
                    end if not text else float(parse_labels([text], "number")[0])
                    for text, end in ((found[1], -np.inf), (found[2], np.inf))
                )
                return None if np.isnan(low) or np.isnan(high) else (low, high)
        return None
    if found := _MONTH.fullmatch(label):
        return _months(int(found[1]), int(found[2]), int(found[2]))
    if found := _QUARTER.fullmatch(label):
        return _months(int(found[1]), 3 * int(found[2]) - 2, 3 * int(found[2]))
    if found := _YEAR.fullmatch(label):
        return _months(int(found[1]), 1, 12)
    day = float(parse_labels([label], "date")[0])
    return None if np.isnan(day) else (day, day)


def _months(year: int, first: int, last: int) -> tuple[float, float] | None:
    """Return the first and the last day of some months of a year, counted from 1970."""
    try:
        end = date(year, last, monthrange(year, last)[1])
    except (ValueError, IndexError):
        return None
    return float(date(year, first, 1).toordinal() - _EPOCH), float(end.toordinal() - _EPOCH)


def refinement_risk(context: AttackContext, narrowing: Narrowing) -> Risk:
    """Return the share of generalized values of dependent columns that an adversary can make finer.

    They read what is released of the other columns of the same event. All values are looked at, so the share
    is exact. In the control the values of every column are permuted, so that neighbours do not belong
    together; nothing of the original is generalized.
    """
    cells = context.domain.cells(context.released.sequences)
    rng = generator("attack control", context.seed)
    permuted = np.stack([rng.permutation(column) for column in cells.T], axis=1)
    finer, coarse = narrowing.count_refined(cells)
    return Risk.of(
        Proportion.counted(finer, coarse),
        0.0,
        Proportion.counted(*narrowing.count_refined(permuted)),
        raw=Proportion.counted(0, 0),
        name="refinement",
        kind="dependent",
        targets=coarse,
    )
