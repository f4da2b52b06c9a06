"""What levels and suppressed values lose, and breaking channels by suppressing values: Algorithm 4.2."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from sequester.engine import part, silent
from sequester.methods.halt import _kernels
from sequester.methods.halt.extraction import Channels, Extraction, TooMuchError
from sequester.methods.halt.histories import HIDDEN, NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.extraction import Cause, Mined
    from sequester.methods.halt.histories import QuasiIdentifier, QuasiIdentifiers, Signature, WeightedRows
    from sequester.methods.halt.local import LocalDraft
    from sequester.methods.halt.signature_rows import Thresholds

    Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeCosts:
    """A lattice node's released values, and what it costs to suppress each (Eq. 4.1 to 4.8)."""

    generalization: float
    """The loss without any suppression."""
    numbers: Codes
    """The items that are the released values, ascending."""
    costs: Amounts
    """What each adds to the loss when it is suppressed."""
    starts: Codes
    """Item to the first released value at or below it."""
    stops: Codes
    """And to the one after the last."""


class LatticeCosts:
    """Counts cells once, and prices every node of the lattice; losses lie between 0 and 1."""

    def __init__(
        self,
        histories: WeightedRows,
        quasi: QuasiIdentifiers,
        weights: Sequence[float],
        losses: Sequence[Amounts] | None = None,
    ) -> None:
        """Count how often each value occurs in each quasi-identifier.

        Columns have `weights`, and nodes of their trees `losses`: by default those of the trees.
        """
        self._quasi = quasi
        self._losses = [column.tree.loss for column in quasi.columns] if losses is None else losses
        persons = np.repeat(histories.persons.weights, np.diff(histories.offsets))
        # A weight of 0 says that nothing in the column matters; if nothing matters at all, all losses are 0.
        scale = int(persons.sum()) * sum(weights)
        # Cells that hold nothing have nothing to lose.
        for weight, cells in zip(weights, histories.cells.T, strict=True):
            scale -= weight * int(persons[cells == NOTHING].sum())
        self._weights = [weight / scale if scale else 0.0 for weight in weights]
        self._counts = [
            np.bincount(cells[cells >= 0], persons[cells >= 0], minlength=column.n_nodes).astype(np.float64)
            for cells, column in zip(histories.cells.T, quasi.columns, strict=True)
        ]
        self._priced: dict[tuple[int, int], tuple[float, Codes, Amounts]] = {}

    def at(self, node: Signature) -> NodeCosts:
        """Price the release of a node."""
        quasi = self._quasi
        generalization = 0.0
        cost_of = np.full(quasi.n_items, -1.0)
        for column, counts, weight, losses, level in zip(
            quasi.columns, self._counts, self._weights, self._losses, node, strict=True
        ):
            key = column.first, level
            if key not in self._priced:
                released, amounts, exact = _released(column, counts, level)
                loss = losses[released]
                self._priced[key] = (
                    weight * float(amounts @ loss),
                    column.first + released,
                    weight * amounts * (1 - loss) + weight * exact,
                )
            own, items, prices = self._priced[key]
            generalization += own
            if level < column.height:
                cost_of[items] = prices
        numbers = np.flatnonzero(cost_of >= 0)
        return NodeCosts(
            generalization,
            numbers.astype(np.int32),
            cost_of[numbers],
            np.searchsorted(numbers, np.arange(quasi.n_items)).astype(np.int32),
            np.searchsorted(numbers, quasi.ends).astype(np.int32),
        )

    def prices(self, node: Signature) -> Amounts:
        """Return for each item what suppressing it in one cell of one person adds to the loss of a node."""
        prices = np.zeros(self._quasi.n_items)
        for column, weight, losses, level in zip(
            self._quasi.columns, self._weights, self._losses, node, strict=True
        ):
            own = np.append(weight * (1 - losses), 0.0)
            own[column.leaves_as_it_is(level)] = weight
            prices[column.first : column.first + column.n_nodes] = own
        return prices


def _released(column: QuasiIdentifier, counts: Amounts, level: int) -> tuple[Codes, Amounts, Amounts]:
    """Return the nodes that values of a column become at a level, and their numbers of cells.

    The second are those of protected values, which are released as they are unless they are suppressed.
    """
    nodes = np.flatnonzero(counts)
    above = column.tree.levels[level][nodes]
    released, place = np.unique(above, return_inverse=True)
    is_exact = column.leaves_as_it_is(level)[nodes]
    amounts, exact = (
        np.bincount(place, np.where(mask, counts[nodes], 0.0), minlength=len(released)).astype(np.float64)
        for mask in (~is_exact, is_exact)
    )
    return released.astype(np.int32), amounts, exact


DRAFT = 30_000
"""What a draft takes for each quasi-identifier, in cells that could be looked at in the same time."""
SHOW = 2
"""What showing a cell anew takes, in cells that could be looked at in the same time."""
MOST_STALE = 4
"""So many times the open g-sequences of the original are held before the rest is forgotten."""
SLACK = 1e-12
"""Losses that differ by less are equal: they are sums of many small numbers."""


class StepProgress:
    """Progress of a run of which nobody knows how many steps it takes: each takes a tenth of what is left.

    Examples
    --------
    >>> seen = []
    >>> steps = StepProgress(lambda fraction, phase: seen.append(round(fraction, 3)))
    >>> for _ in range(3):
    ...     steps.next()(1.0, "counting")
    >>> seen
    [0.1, 0.19, 0.271]
    """

    def __init__(self, progress: Progress) -> None:
        """Start at nothing."""
        self._progress = progress
        self._done = 0.0

    def next(self) -> Progress:
        """Return the progress of the next step."""
        start = self._done
        self._done += 0.1 * (1 - start)
        return part(self._progress, start, self._done)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueRules:
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


class Suppression(NamedTuple):
    """An item that is suppressed, everything at or below it included, and the channel to be broken."""

    item: int
    channels: Channels
    row: int
    """The channel among these."""


@dataclass(frozen=True, eq=False)
class SuppressedNode:
    """A lattice node with what has to be suppressed in it."""

    node: Signature
    """The level of each quasi-identifier."""
    costs: NodeCosts
    """Its released values and their prices."""
    is_suppressed: Mask
    """Released value to whether it is suppressed."""
    suppressions: tuple[Suppression, ...] = ()
    """What was suppressed, in the order in which it was decided."""

    def joined(self, other: SuppressedNode) -> SuppressedNode:
        """Return the node with what is suppressed here and there."""
        is_suppressed = self.is_suppressed | other.is_suppressed
        return SuppressedNode(self.node, self.costs, is_suppressed, (*self.suppressions, *other.suppressions))

    @cached_property
    def loss(self) -> float:
        """The loss of generalization and suppression, 0 to 1."""
        return self.costs.generalization + float(self.costs.costs[self.is_suppressed].sum())


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A node is no candidate."""

    reason: Cause | None = None
    """The channel that nothing allowed breaks; none where the node costs more than another one."""
    too_much: bool = False
    """There was more to count than is allowed, or than there is room for."""


D = TypeVar("D", SuppressedNode, "LocalDraft")


class NodePricing(ABC, Generic[D]):
    """Finds out for lattice nodes what they cost once no channel is left, in two steps."""

    def __init__(
        self, quasi: QuasiIdentifiers, thresholds: Thresholds, costs: LatticeCosts, rules: ValueRules
    ) -> None:
        """Price nodes by `costs`, whose channels are made by `thresholds`, as far as `rules` allow."""
        self.quasi = quasi
        self.thresholds = thresholds
        self.costs = costs
        self.rules = rules

    def bound(self, node: Signature) -> float:
        """Return a loss that the node does not stay below, without a look at channels."""
        return self.costs.at(node).generalization

    def floor(self, node: Signature) -> float:
        """Return a loss that neither the node nor any finer one stays below, as far as it is known."""
        del node
        return 0.0

    @abstractmethod
    def draft(self, node: Signature, enough: float, *, progress: Progress = silent) -> D | Obstacle:
        """Suppress what breaks the channels of a node; give it up once the loss is clearly above `enough`."""

    @abstractmethod
    def repair(self, draft: D, enough: float, *, progress: Progress = silent) -> D | Obstacle:
        """Look again at what would be released, and suppress further until no channel is left."""

    @abstractmethod
    def is_blank(self, draft: D, q: int) -> bool:
        """Return whether a column of a draft shows nothing at all."""


class Elimination(NodePricing[SuppressedNode]):
    """Breaks channels by suppressing values wherever they stand."""

    def __init__(
        self,
        histories: WeightedRows,
        extraction: Extraction,
        costs: LatticeCosts,
        rules: ValueRules,
        engine: Engine,
    ) -> None:
        """Work on folded histories, with an extraction of their channels."""
        super().__init__(extraction.quasi, extraction.thresholds, costs, rules)
        self.extraction = extraction
        self._histories = histories
        self._engine = engine
        self._private: tuple[list[Codes], Mined] | None = None
        self._occurs = [
            np.bincount(cells[cells >= 0], minlength=column.n_nodes) > 0
            for cells, column in zip(histories.cells.T, self.quasi.columns, strict=True)
        ]

    def is_blank(self, draft: SuppressedNode, q: int) -> bool:
        """Return whether all values of a column are suppressed."""
        first = self.quasi.columns[q].first
        return bool(draft.is_suppressed[draft.costs.starts[first] : draft.costs.stops[first]].all())

    def floor(self, node: Signature) -> float:
        """Return a loss that neither the node nor any finer one stays below, by the channels known so far.

        A channel that can be seen in the release of a node can be seen in all finer ones. There, too, a cell
        that is suppressed costs 1, and the others cost nothing at the finest.
        """
        if not self.rules.suppress:
            return float("inf") if self.extraction.known(node) else 0.0
        costs = self.costs.at((0,) * len(self.quasi))
        known = Channels.join(self.extraction.known(node))
        return self._bound_cost(known, costs, costs.costs.copy(), float("inf"))

    def draft(
        self, node: Signature, enough: float, *, progress: Progress = silent
    ) -> SuppressedNode | Obstacle:
        """Suppress what breaks all channels of the original that can be seen in the release of a node."""
        costs = self.costs.at(node)
        left = costs.costs.copy()
        loss = costs.generalization
        layers = self.extraction.deepen(node, progress=progress)
        new: list[Channels] | None = self.extraction.known(node)
        found: list[Channels] = []
        while new is not None:
            channels = Channels.join(new)
            found += new
            if len(channels):
                if not self.rules.suppress:
                    return Obstacle(channels.cause(0))
                loss += self._bound_cost(channels, costs, left, enough + SLACK - loss)
            if loss > enough + SLACK:
                return Obstacle()
            try:
                new = next(layers, None)
            except TooMuchError:
                return Obstacle(too_much=True)
        draft = SuppressedNode(node, costs, np.zeros(len(costs.numbers), np.bool_))
        channels = Channels.join(found)
        self.extraction.work.spend(DRAFT * len(self.quasi) + channels.items.size)
        return self._suppress(draft, channels) if len(channels) else draft

    def repair(
        self, draft: SuppressedNode, enough: float, *, progress: Progress = silent
    ) -> SuppressedNode | Obstacle:
        """Look again at what would be released, and suppress further until no channel is left.

        Suppression can make a channel: a coarse item loses those who diluted it, and a star may be unique.
        """
        steps = StepProgress(progress)
        while draft.loss <= enough + SLACK:
            try:
                channels = self.recheck(draft, progress=steps.next())
            except TooMuchError:
                return Obstacle(too_much=True)
            if channels is None:
                return draft
            after = self._suppress(draft, channels, self._growths(draft))
            if isinstance(after, Obstacle):
                return after
            draft = after
        return Obstacle()

    def recheck(self, draft: SuppressedNode, *, progress: Progress = silent) -> Channels | None:
        """Find the channels of what would be released, none where it is private.

        Only g-sequences with a *fresh* item are counted: a star, or an item with a suppressed value below it.
        Any other has the same supporters as in the original; it was no channel there, because else an item of
        it, and with it the whole g-sequence, would be gone. Where another draft was private, those are fresh
        whose supporters changed since then, which are fewer.
        """
        shown, is_fresh = self._shown(draft)
        # Beside protected values, the stars of a column that shows nothing else can be seen.
        node = tuple(
            min(level, column.height - 1) if is_fresh[column.first + column.star] else level
            for column, level in zip(self.quasi.columns, draft.node, strict=True)
        )
        below = self.extraction.mined
        if self._private is not None and is_fresh.any():
            private, mined = self._private
            if mined.open.n_members <= MOST_STALE * below.open.n_members:
                below, is_fresh = mined, self._changed(private, shown)
        if not is_fresh.any():
            return None
        n_visible = sum(bool((nodes != HIDDEN).any()) for nodes in shown)
        self.extraction.work.add(SHOW * n_visible * len(self._histories.cells))
        extraction = Extraction(
            self._histories.show(shown, is_fresh, self.quasi),
            self.quasi,
            self.extraction.thresholds,
            self._engine,
            work=self.extraction.work,
            below=below,
            is_fresh=is_fresh,
        )
        channels = Channels.join(extraction.mine(node, progress=progress))
        if len(channels):
            return channels
        self._private = shown, extraction.mined
        return None

    def released(self, draft: SuppressedNode) -> list[Codes]:
        """Return, per quasi-identifier, what is released of each node; the star for nothing."""
        hidden = np.zeros(self.quasi.n_items, np.bool_)
        hidden[draft.costs.numbers[draft.is_suppressed]] = True
        shown = []
        for column, level in zip(self.quasi.columns, draft.node, strict=True):
            nodes = column.shown_at(level)
            nodes[hidden[column.first + nodes]] = column.star
            shown.append(nodes)
        return shown

    def count_persons(self, draft: SuppressedNode) -> Counts:
        """Count for each item the persons who have it in the release of a node, nothing suppressed."""
        return self._histories.count_items(draft.node, self.quasi)

    def _bound_cost(self, channels: Channels, costs: NodeCosts, left: Amounts, enough: float) -> float:
        ends = self.quasi.ends
        return float(_kernels.bound_cost(channels.items, ends, costs.starts, costs.stops, left, enough))

    def _shown(self, draft: SuppressedNode) -> tuple[list[Codes], Mask]:
        """Return what can be known of each released cell, and which items are fresh."""
        is_fresh = np.zeros(self.quasi.n_items, np.bool_)
        for number in draft.costs.numbers[draft.is_suppressed].tolist():
            item = number
            while item >= 0 and not is_fresh[item]:
                is_fresh[item] = True
                item = int(self.quasi.parents[item])
        shown = self.released(draft)
        for q, (column, nodes) in enumerate(zip(self.quasi.columns, shown, strict=True)):
            has_secrets = self.rules.has_secrets[q]
            own = self.quasi.owners[draft.costs.numbers] == q
            is_blank = draft.is_suppressed[own].all() and not has_secrets
            if is_blank or not self.rules.stars:
                nodes[nodes == column.star] = HIDDEN
            if is_blank:
                is_fresh[column.first : column.first + column.n_nodes] = False
            elif self.rules.stars and (has_secrets or draft.is_suppressed[own].any()):
                is_fresh[column.first + column.star] = bool((nodes == column.star).any())
        return shown, is_fresh

    def _changed(self, before: list[Codes], after: list[Codes]) -> Mask:
        """Mark the items that other cells show than before, at or below them."""
        is_changed = np.zeros(self.quasi.n_items, np.bool_)
        for column, occurs, old, new in zip(self.quasi.columns, self._occurs, before, after, strict=True):
            differ = occurs & (old != new)
            own = is_changed[column.first : column.first + column.n_nodes]
            above = np.append(column.tree.parent, 0)
            for node, other in np.unique(np.column_stack([old, new])[differ], axis=0).tolist():
                for start, end in ((node, other), (other, node)):
                    item = start
                    # What is above both is shown as it was.
                    while item > 0 and not item <= end < column.ends[item]:
                        own[item] = True
                        item = int(above[item])
        return is_changed

    def _suppress(
        self, draft: SuppressedNode, channels: Channels, growths: Mapping[int, Counts] | None = None
    ) -> SuppressedNode | Obstacle:
        """Suppress the items that break most channels for their price, until all are broken.

        `growths` leads from stars to the released values that may join them; where it is given, whole columns
        may be suppressed, too.
        """
        costs = draft.costs
        left = np.where(draft.is_suppressed, 0.0, costs.costs)
        total = np.concatenate([[0.0], np.cumsum(left)])
        prices = total[costs.stops] - total[costs.starts]
        is_allowed = self.rules.is_allowed.copy()
        parents = self.quasi.parents if growths is None else self.quasi.parents_with_roots
        growths = growths or {}
        for star, joining in growths.items():
            is_allowed[star] = True
            prices[star] = left[joining].sum()
        can_break = self.quasi.spread_down(is_allowed, parents)[channels.items] & (channels.items >= 0)
        if not can_break.any(axis=1).all():
            return Obstacle(channels.cause(int(np.argmin(can_break.any(axis=1)))))
        is_suppressed = draft.is_suppressed.copy()
        suppressions: list[Suppression] = []
        for item, row in self._pick_items(channels.items, parents, prices, is_allowed):
            if item in growths:
                is_suppressed[growths[item]] = True
                values = costs.numbers[growths[item]].tolist()
                suppressions += [Suppression(value, channels, row) for value in values]
            else:
                is_suppressed[costs.starts[item] : costs.stops[item]] = True
                suppressions.append(Suppression(item, channels, row))
        owners = self.quasi.owners[costs.numbers]
        for q, column in enumerate(self.quasi.columns):
            own = owners == q
            if own.any() and is_suppressed[own].all() and not self.rules.is_allowed[column.first]:
                # The column has to show something.
                last = next(each for each in reversed(suppressions) if self.quasi.owners[each.item] == q)
                return Obstacle(channels.cause(last.row))
        if (is_suppressed == draft.is_suppressed).all():
            # Stars of a column that shows nothing else than protected values.
            return Obstacle(channels.cause(suppressions[0].row))
        return SuppressedNode(draft.node, costs, is_suppressed, (*draft.suppressions, *suppressions))

    def _pick_items(
        self, items: Codes, parents: Codes, prices: Amounts, is_allowed: Mask
    ) -> list[tuple[int, int]]:
        """Pick items until all channels are broken, most channels per price first; and why each was picked.

        `items` are those of channels. They can be picked, and roots where `parents` leads to them.
        """
        is_candidate = self.quasi.is_root.copy()
        is_candidate[items[items >= 0]] = True
        candidates = np.flatnonzero(is_candidate & is_allowed)
        starts = np.zeros(self.quasi.n_items + 2, np.int64)
        listed = np.empty(np.count_nonzero(items >= 0), np.int32)
        _kernels.index_items(items, 0, starts, listed)
        picks = np.empty((len(candidates), 2), np.int64)
        n_picks = _kernels.pick_items(
            items, starts[:-1], listed, parents, self.quasi.ends, prices, candidates, picks
        )
        return [(item, row) for item, row in picks[:n_picks].tolist()]

    def _growths(self, draft: SuppressedNode) -> dict[int, Counts]:
        """Return for each star the cheapest values that at least double its persons when they join it.

        Protected values join it last: they make it no safer.
        """
        numbers, costs = draft.costs.numbers, draft.costs.costs
        owners = self.quasi.owners[numbers]
        persons = self.count_persons(draft)[numbers]
        growths = {}
        for q, column in enumerate(self.quasi.columns):
            own = owners == q
            free = np.flatnonzero(own & ~draft.is_suppressed & self.rules.is_allowed[numbers])
            if not self.rules.is_allowed[column.first] and len(free) == (own & ~draft.is_suppressed).sum():
                # A column that has to keep something keeps its dearest value.
                free = np.delete(free, np.argmax(costs[free])) if len(free) else free
            if len(free):
                is_secret = column.is_secret[numbers[free] - column.first]
                in_order = free[np.lexsort((costs[free], is_secret))]
                n_joined = np.cumsum(persons[in_order])
                needed = max(self.extraction.thresholds.k, int(persons[own & draft.is_suppressed].sum()))
                growths[column.first + column.star] = in_order[: int(np.searchsorted(n_joined, needed)) + 1]
        return growths


class JointElimination(Elimination):
    """What lattice nodes cost once none of several adversaries, who want different things, has a channel.

    What one of them must not see is suppressed for all. That can make a channel for another, so they take
    turns until nothing is left to do.
    """

    def __init__(self, histories: WeightedRows, parts: Sequence[Elimination], engine: Engine) -> None:
        """Join what finds out about one adversary each; `histories` are what nobody wants to learn of."""
        first = parts[0]
        super().__init__(histories, first.extraction, first.costs, first.rules, engine)
        self._parts = parts

    def floor(self, node: Signature) -> float:
        """Return a loss that neither the node nor any finer one stays below, by the channels known so far."""
        return max(part.floor(node) for part in self._parts)

    def draft(
        self, node: Signature, enough: float, *, progress: Progress = silent
    ) -> SuppressedNode | Obstacle:
        """Suppress what breaks the channels of all of them."""
        draft: SuppressedNode | None = None
        for each in self._parts:
            found = each.draft(node, enough, progress=progress)
            if isinstance(found, Obstacle):
                return found
            draft = found if draft is None else draft.joined(found)
            if draft.loss > enough + SLACK:
                return Obstacle()
        return Obstacle() if draft is None else draft

    def repair(
        self, draft: SuppressedNode, enough: float, *, progress: Progress = silent
    ) -> SuppressedNode | Obstacle:
        """Look again at what would be released, until none of them finds a channel."""
        steps = StepProgress(progress)
        n_done, place = 0, 0
        while n_done < len(self._parts):
            found = self._parts[place].repair(draft, enough, progress=steps.next())
            if isinstance(found, Obstacle):
                return found
            n_done = n_done + 1 if found is draft else 1
            draft, place = found, (place + 1) % len(self._parts)
        return draft
