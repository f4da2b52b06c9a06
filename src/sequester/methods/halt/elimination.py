"""Break the channels that a lattice node leaves: suppress values, look again at what is released, go on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import silent
from sequester.methods.halt.extraction import Extraction
from sequester.methods.halt.histories import HIDDEN
from sequester.methods.halt.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.kernels.channels import Channels
    from sequester.methods.halt.axes import Axes, Axis, Signature
    from sequester.methods.halt.costs import Costs, NodeCosts
    from sequester.methods.halt.histories import Histories
    from sequester.privacy.channel import Channel

SLACK = 1e-12
"""Losses that differ by less are equal: they are sums of many small numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rules:
    """What a release may do to values."""

    tops: Signature
    """The coarsest level of each quasi-identifier."""
    is_allowed: Mask
    """Item to whether all at or below it may be suppressed; true for a root if the column may vanish."""
    suppress: bool
    """Values may be suppressed at all."""
    stars: bool
    """A suppressed cell is an item of its own."""
    has_secrets: tuple[bool, ...]
    """Quasi-identifier to whether some of its cells show a protected value, which is no knowledge."""


@dataclass(frozen=True, eq=False)
class Reason:
    """Why an item was suppressed."""

    item: int
    """The item; everything at or below it is gone."""
    source: Extraction
    """Who found the channel."""
    channels: Channels
    """The channel is among these."""
    row: int
    """It is this one."""

    @cached_property
    def channel(self) -> Channel:
        """The channel in labels."""
        return self.source.describe(self.channels, self.row)


@dataclass(frozen=True, eq=False)
class Draft:
    """A lattice node with what has to be suppressed in it."""

    node: Signature
    """The level of each quasi-identifier."""
    costs: NodeCosts
    """Its released values and their prices."""
    is_suppressed: Mask
    """Released value to whether it is suppressed."""
    reasons: tuple[Reason, ...] = ()
    """Why, in the order in which it was decided."""

    @cached_property
    def loss(self) -> float:
        """The loss of generalization and suppression, 0 to 1."""
        return self.costs.generalization + self.costs.suppression(self.is_suppressed)


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A node is no candidate."""

    reason: Reason | None = None
    """The channel that nothing allowed breaks; none where the node costs more than another one."""


class Elimination:
    """Finds out for lattice nodes what they cost once no channel is left."""

    def __init__(
        self, histories: Histories, extraction: Extraction, costs: Costs, rules: Rules, engine: Engine
    ) -> None:
        """Work on folded histories, with an extraction of their channels."""
        self.axes: Axes = extraction.axes
        self.extraction = extraction
        self.rules = rules
        self._histories = histories
        self._costs = costs
        self._engine = engine
        self._counted: tuple[Signature, Counts] | None = None

    def bound(self, node: Signature) -> float:
        """Give a loss that the node does not stay below, without a look at channels."""
        return self._costs.at(node).generalization

    def floor(self, node: Signature) -> float:
        """Give a loss that neither the node nor any finer one stays below, by the channels known so far.

        A channel that can be seen in the release of a node can be seen in all finer ones. There, too, a cell
        that is suppressed costs 1, and the others cost nothing at the finest.
        """
        if not self.rules.suppress:
            return float("inf") if self.extraction.known(node) else 0.0
        costs = self._costs.at((0,) * len(self.axes))
        return float(
            kernels.suppression.bound_cost(
                _Stack.of(self.extraction.known(node)).items,
                self.axes.ends,
                costs.starts,
                costs.stops,
                costs.costs.copy(),
                float("inf"),
            )
        )

    def draft(self, node: Signature, enough: float, *, progress: Progress = silent) -> Draft | Obstacle:
        """Suppress what breaks all channels of the original that can be seen in the release of a node.

        As soon as it is clear that the loss is above `enough`, the node is given up.
        """
        costs = self._costs.at(node)
        left = costs.costs.copy()
        loss = costs.generalization
        layers = self.extraction.deepen(node, progress=progress)
        new: list[Channels] | None = self.extraction.known(node)
        while new is not None:
            stacked = _Stack.of(new)
            if len(stacked.items):
                if not self.rules.suppress:
                    return Obstacle(stacked.reason(self.extraction, 0))
                loss += kernels.suppression.bound_cost(
                    stacked.items, self.axes.ends, costs.starts, costs.stops, left, enough + SLACK - loss
                )
            if loss > enough + SLACK:
                return Obstacle()
            new = next(layers, None)
        draft = Draft(node, costs, np.zeros(len(costs.numbers), np.bool_))
        stacked = _Stack.of(self.extraction.known(node))
        if not len(stacked.items):
            return draft
        return self._suppress(draft, stacked, self.extraction)

    def repair(self, draft: Draft, enough: float, *, progress: Progress = silent) -> Draft | Obstacle:
        """Look again at what would be released, and suppress further until no channel is left.

        Suppression can make a channel: a coarse item loses those who diluted it, and a star may stand alone.
        """
        steps = Steps(progress)
        while draft.loss <= enough + SLACK:
            found = self.recheck(draft, progress=steps.next())
            if found is None:
                return draft
            source, stacked = found
            after = self._suppress(draft, stacked, source, self._growths(draft))
            if isinstance(after, Obstacle):
                return after
            draft = after
        return Obstacle()

    def recheck(self, draft: Draft, *, progress: Progress = silent) -> tuple[Extraction, _Stack] | None:
        """Find the channels of what would be released, none where it is private.

        Only g-sequences with a *fresh* item are counted: a star, or an item with a suppressed value below it.
        Any other has the same supporters as in the original; it was no channel there, because else an item of
        it, and with it the whole g-sequence, would be gone.
        """
        shown, is_fresh = self._shown(draft)
        if not is_fresh.any():
            return None
        rows = self._histories.translate(shown).only_with(is_fresh, self.axes)
        extraction = Extraction(
            rows,
            self.axes,
            self.extraction.demand,
            self._engine,
            below=self.extraction,
            is_fresh=is_fresh,
        )
        # Beside protected values, the stars of a column that shows nothing else can be seen.
        node = tuple(
            min(level, axis.height - 1) if is_fresh[axis.first + axis.star] else level
            for axis, level in zip(self.axes.each, draft.node, strict=True)
        )
        for _ in extraction.deepen(node, progress=progress):
            pass
        stacked = _Stack.of(extraction.known(node))
        return (extraction, stacked) if len(stacked.items) else None

    def released(self, draft: Draft) -> list[Codes]:
        """Lead, per quasi-identifier, from each node to what is released of it; the star for nothing."""
        hidden = np.zeros(self.axes.n_items, np.bool_)
        hidden[draft.costs.numbers[draft.is_suppressed]] = True
        shown = []
        for axis, level in zip(self.axes.each, draft.node, strict=True):
            nodes = (
                axis.cuts[level].copy() if level < axis.height else np.full(axis.n_nodes, axis.star, np.int32)
            )
            nodes[hidden[axis.first + nodes]] = axis.star
            shown.append(nodes)
        return shown

    def count_persons(self, draft: Draft) -> Counts:
        """Give for each item the persons who have it in the release of a node, nothing suppressed."""
        if self._counted is None or self._counted[0] != draft.node:
            self._counted = draft.node, self._histories.count_items(draft.node, self.axes)
        return self._counted[1]

    def _shown(self, draft: Draft) -> tuple[list[Codes], Mask]:
        """Give what can be known of each released cell, and which items are fresh."""
        is_fresh = np.zeros(self.axes.n_items, np.bool_)
        for number in draft.costs.numbers[draft.is_suppressed].tolist():
            item = number
            while item >= 0 and not is_fresh[item]:
                is_fresh[item] = True
                item = int(self.axes.parents[item])
        shown = self.released(draft)
        for axis, nodes, has_secrets in zip(self.axes.each, shown, self.rules.has_secrets, strict=True):
            owner = self.axes.owners[draft.costs.numbers] == self.axes.owners[axis.first]
            is_blank = draft.is_suppressed[owner].all() and not has_secrets
            if is_blank or not self.rules.stars:
                nodes[nodes == axis.star] = HIDDEN
            if is_blank:
                is_fresh[axis.first : axis.first + axis.n_nodes] = False
            elif self.rules.stars and (has_secrets or draft.is_suppressed[owner].any()):
                is_fresh[axis.first + axis.star] = bool((nodes == axis.star).any())
        return shown, is_fresh

    def _suppress(
        self, draft: Draft, stacked: _Stack, source: Extraction, growths: Mapping[int, Counts] | None = None
    ) -> Draft | Obstacle:
        """Suppress the items that break most channels for their price, until all are broken.

        `growths` leads from stars to the released values that may join them; where it is given, whole columns
        may be suppressed, too.
        """
        left = np.where(draft.is_suppressed, 0.0, draft.costs.costs)
        total = np.concatenate([[0.0], np.cumsum(left)])
        prices = total[draft.costs.stops] - total[draft.costs.starts]
        is_allowed = self.rules.is_allowed.copy()
        parents = self.axes.parents if growths is None else self.axes.parents_with_roots
        growths = growths or {}
        for star, joining in growths.items():
            is_allowed[star] = True
            prices[star] = left[joining].sum()
        picks, forced_by, _, hopeless = kernels.suppression.pick_items(
            stacked.items, parents, self.axes.ends, prices, is_allowed, self.axes.is_root
        )
        if hopeless >= 0:
            return Obstacle(stacked.reason(source, hopeless))
        is_suppressed = draft.is_suppressed.copy()
        reasons: list[Reason] = []
        for item, row in zip(picks.tolist(), forced_by.tolist(), strict=True):
            if item in growths:
                is_suppressed[growths[item]] = True
                values = draft.costs.numbers[growths[item]].tolist()
                reasons += [stacked.reason(source, row, value) for value in values]
            else:
                is_suppressed[draft.costs.starts[item] : draft.costs.stops[item]] = True
                reasons.append(stacked.reason(source, row, item))
        owners = self.axes.owners[draft.costs.numbers]
        for q, axis in enumerate(self.axes.each):
            own = owners == q
            if own.any() and is_suppressed[own].all() and not self.rules.is_allowed[axis.first]:
                # The column has to show something.
                return Obstacle(next(each for each in reversed(reasons) if self._is_of(each.item, axis)))
        if (is_suppressed == draft.is_suppressed).all():
            # Stars of a column that shows nothing else than protected values.
            return Obstacle(reasons[0])
        return Draft(draft.node, draft.costs, is_suppressed, (*draft.reasons, *reasons))

    def _is_of(self, item: int, axis: Axis) -> bool:
        return axis.first <= item < axis.first + axis.n_nodes

    def _growths(self, draft: Draft) -> dict[int, Counts]:
        """Give for each star the cheapest values that at least double its company when they join it.

        Protected values join it last: they make it no safer.
        """
        owners = self.axes.owners[draft.costs.numbers]
        persons = self.count_persons(draft)[draft.costs.numbers]
        growths = {}
        for q, axis in enumerate(self.axes.each):
            own = owners == q
            free = np.flatnonzero(own & ~draft.is_suppressed & self.rules.is_allowed[draft.costs.numbers])
            if not self.rules.is_allowed[axis.first] and len(free) == (own & ~draft.is_suppressed).sum():
                # A column that has to keep something keeps its dearest value.
                free = np.delete(free, np.argmax(draft.costs.costs[free])) if len(free) else free
            if len(free):
                is_secret = axis.is_secret[draft.costs.numbers[free] - axis.first]
                in_order = free[np.lexsort((draft.costs.costs[free], is_secret))]
                company = np.cumsum(persons[in_order])
                needed = max(self.extraction.demand.k, int(persons[own & draft.is_suppressed].sum()))
                growths[axis.first + axis.star] = in_order[: int(np.searchsorted(company, needed)) + 1]
        return growths


class _Stack:
    """Channels of all lengths in one table, shorter ones first."""

    def __init__(self, items: Codes, parts: list[Channels]) -> None:
        self.items = items
        self._parts = parts
        self._starts = np.cumsum([0, *(len(part.supports) for part in parts)])

    @classmethod
    def of(cls, channels: Iterable[Channels]) -> _Stack:
        parts = sorted(
            (each for each in channels if len(each.supports)), key=lambda each: each.items.shape[1]
        )
        width = max((each.items.shape[1] for each in parts), default=0)
        items = np.full((sum(len(each.supports) for each in parts), width), -1, np.int32)
        start = 0
        for each in parts:
            stop = start + len(each.supports)
            items[start:stop, : each.items.shape[1]] = each.items
            start = stop
        return cls(items, parts)

    def find(self, row: int) -> tuple[Channels, int]:
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._parts[part], row - int(self._starts[part])

    def reason(self, source: Extraction, row: int, item: int = -1) -> Reason:
        channels, place = self.find(row)
        return Reason(item, source, channels, place)
