"""Count everything that could be known of anybody, signature by signature, so that memory stays bounded.

A view is a quasi-identifier at one level, from the released one upwards: how much of an event can be known. A
signature is a set of views. Every g-sequence belongs to one signature, which is counted alone.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, groupby, product
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester import kernels
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.labels import quoted
from sequester.kernels.shares import exceeds_share
from sequester.privacy import sequence_table as kernel
from sequester.privacy.model import Channel, Verdict
from sequester.privacy.sequence_table import NO_LIMIT, PersonRows, SequenceTable
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.engine import Engine
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.privacy.sequence_table import Nodes

    Amounts = npt.NDArray[np.float64]

ROOM = 1 << 21
"""Sequences that are counted at once; a signature with more is counted in parts."""
LIMIT = 1e12
"""Sequences that can be counted in a day or so; more are refused."""
MOST_SIGNATURES = 1_000_000
"""Signatures that can be gone through; more are refused."""
_MANY = 64
HIDDEN = -1
"""Stands for a cell that nothing is known of."""
ROOT = 0
"""The node of a suppressed cell."""


@dataclass(frozen=True, slots=True)
class View:
    """A quasi-identifier at one level: which item each cell shows."""

    column: int
    """Place of the quasi-identifier."""
    nodes: Codes
    """Item to node, ascending."""
    item_of_node: Codes
    """Node to item, -1 where a cell of that node shows none."""
    is_exact: Mask
    """Item to whether it belongs to this level; others are padded, and belong to a coarser one as well."""
    is_own: bool
    """Some cell stands at this level as it is, so that the view may be the finest that there is of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is asked of every sequence, and how many of those that break it are shown."""

    k: int
    c: float
    most: int
    """Items of a sequence."""
    shown: int


class SoFar:
    """What has been found so far, by whoever found it, and what need not be looked for any more."""

    def __init__(self, share: Fraction, n_shown: int) -> None:
        self.share = share
        """The largest share; it only rises."""
        self._n_shown = n_shown
        self._first: list[Violation] = []
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[SoFar], tuple[Fraction, int]]:
        return SoFar, (self.share, self._n_shown)

    @property
    def longest(self) -> float:
        """Items of a violation that can still be among the first."""
        return self._first[-1].length if len(self._first) == self._n_shown else math.inf

    def add(self, share: Fraction, violations: Iterable[Violation]) -> None:
        """Take note of a share, and of violations; what is known already changes nothing."""
        with self._lock:
            self.share = max(self.share, share)
            self._first = sorted({*self._first, *violations})[: self._n_shown]


class Violation(NamedTuple):
    """A sequence that breaks a bound; shorter ones come first, then those before it in label order."""

    length: int
    path: tuple[tuple[bool, int], ...]
    """Per item, whether it belongs to the event of the one before it, and its rank in label order."""
    persons: int
    value: int
    """The protected value that makes it break the bound; -1 where persons are too few."""
    have: int
    """How many of the persons have it."""


class Matches(NamedTuple):
    """What the sequences of a signature say."""

    fewest: int
    """The smallest number of persons who have one; -1 where there is none."""
    share: Fraction
    """The largest share of persons with one protected value, of those that were looked at."""
    n_violations: int
    """Sequences that break a bound."""
    violations: list[Violation]
    """The first of them."""


@dataclass(frozen=True)
class GSequences:
    """The persons of a table, equal ones folded, and all views on their events."""

    names: tuple[str, ...]
    """The quasi-identifiers."""
    trees: tuple[Hierarchy, ...]
    """Their hierarchies."""
    values: tuple[tuple[str, str], ...]
    """Attribute and label of every protected value."""
    n_persons: int
    """Number of persons."""
    rows: PersonRows
    """Different persons: kinds of events in order, how many have them, and their protected values."""
    kinds: Codes
    """The nodes of each kind of event, a column per quasi-identifier."""
    secrets: tuple[Mask, ...]
    """For each quasi-identifier which nodes are no background knowledge."""
    mixed: bool
    """The items of a quasi-identifier may be at different levels."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        protect: Mapping[str, Sequence[str]],
        columns: Mapping[str, Sequence[str]],
        mixed: bool,
        stars: bool,
    ) -> GSequences:
        """Fold equal events and equal persons of a table."""
        cells, secrets = read_cells(table, protect, stars=stars)
        n_events, n_columns = cells.shape
        kind_of_event, first_events = kernels.rows.fold_rows(
            cells.reshape(-1), np.arange(n_events + 1) * n_columns
        )
        values = tuple((name, label) for name, labels in protect.items() for label in labels)
        held, held_offsets = table.sequences.values_of_persons(values, columns)
        ones = np.ones(table.n_persons, np.int64)
        everybody = PersonRows(
            kind_of_event,
            table.person_offsets,
            ones,
            (np.diff(held_offsets) > 0).astype(np.int64),
            np.column_stack([owners_of(held_offsets), held, np.ones(len(held), np.int64)]),
        )
        return cls(
            names=tuple(table.schema.quasi),
            trees=tuple(table.hierarchies[name] for name in table.schema.quasi),
            values=values,
            n_persons=table.n_persons,
            rows=everybody.project(np.arange(len(first_events), dtype=np.int32)),
            kinds=cells[first_events],
            secrets=tuple(secrets),
            mixed=mixed,
        )

    @cached_property
    def views(self) -> tuple[View, ...]:
        """Every quasi-identifier at every level, in the order of columns, coarse first."""
        return tuple(
            view
            for column, tree in enumerate(self.trees)
            for view in views_of(column, tree, self.kinds[:, column], self.secrets[column], mixed=self.mixed)
        )

    @cached_property
    def _items(self) -> list[Codes]:
        """For each view the item of each kind of event."""
        padded = [np.append(view.item_of_node, np.int32(-1)) for view in self.views]
        # The last place stands for a hidden cell, whose node is -1.
        return [items[self.kinds[:, view.column]] for items, view in zip(padded, self.views, strict=True)]

    @cached_property
    def _first_rank(self) -> Counts:
        """The rank of the root of each quasi-identifier; nodes follow in their order."""
        return np.cumsum([0, *map(len, self.trees)])[:-1]

    def signatures(self, most: int) -> Iterator[tuple[int, ...]]:
        """Name the views of every signature, fewest views first."""
        for size in range(1, min(most, len(self._choices)) + 1):
            for chosen in combinations(self._choices, size):
                yield from product(*chosen)

    @cached_property
    def _choices(self) -> list[list[int]]:
        """Views of which a signature has at most one: those of a quasi-identifier; with mixed levels, any."""
        if self.mixed:
            return [[place] for place in range(len(self.views))]
        places = enumerate(self.views)
        return [[place for place, _ in own] for _, own in groupby(places, lambda each: each[1].column)]

    def count_signatures(self, most: int) -> float:
        """Count the signatures without listing them."""
        ways = np.ones(1)
        for places in self._choices:
            ways = np.convolve(ways, [1.0, len(places)])
        return float(ways[1 : most + 1].sum())

    def estimate(self, most: int) -> float:
        """Return an upper bound on the sequences of at most so many items that all different persons have."""
        lengths, n_rows = np.unique(np.diff(self.rows.offsets), return_counts=True)
        n_levels = Counter(view.column for view in self.views).values()
        # Of many items there are more than enough sequences.
        return float(n_rows @ count_sequences(lengths, n_levels, min(most, _MANY), mixed=self.mixed))

    def _fits(self, most: int) -> bool:
        return self.estimate(most) <= LIMIT and self.count_signatures(most) <= MOST_SIGNATURES

    def _refuse_too_many(self, most: int) -> None:
        if not self._fits(most):
            largest = next((size for size in range(min(most, _MANY), 0, -1) if self._fits(size)), 0)
            msg = (
                f"what could be known of {most:,} items is too much to be counted, about "
                f"{self.estimate(most):.0e} sequences; the largest p that can be checked here is {largest}"
            )
            raise InputError(msg)

    def judge(self, bounds: Bounds, engine: Engine) -> Verdict:
        """Count every sequence of at most so many items, and show the first of those that break the bounds.

        Whatever occurs has a specialization that occurs in the cells as they are, and which no more persons
        have. So supports are counted there first; only if one of them is too small are they counted
        everywhere. A share can be largest at any level, but only where somebody has a protected value.
        """
        # Nobody has more items than events times columns, and nobody is rarer than everybody.
        longest = int(np.diff(self.rows.offsets).max(initial=0))
        most = min(bounds.most, longest * len(self.names))
        self._refuse_too_many(most)
        bounds = replace(bounds, most=most, k=min(bounds.k, self.n_persons + 1))
        signatures = list(self.signatures(most))
        is_own = [all(self.views[view].is_own for view in chosen) for chosen in signatures]
        own = [chosen for chosen, is_so in zip(signatures, is_own, strict=True) if is_so]
        coarse = [chosen for chosen, is_so in zip(signatures, is_own, strict=True) if not is_so]
        most_frequent = int(self._n_holders.max(initial=0))
        so_far = SoFar(Fraction(most_frequent, self.n_persons), bounds.shown)
        found = self._count_all(own, bounds, so_far, engine, everything=True)
        is_rare = any(0 <= each.fewest < bounds.k for each in found)
        if is_rare or self.values:
            found += self._count_all(coarse, bounds, so_far, engine, everything=is_rare)
        nothing = self._nothing_known(bounds)
        violations = sorted(each for part in found for each in part.violations)
        fewest = min([self.n_persons, *(each.fewest for each in found if each.fewest >= 0)])
        n_violations = sum(each.n_violations for each in found) + len(nothing)
        return Verdict(
            holds=not n_violations,
            achieved={"k": fewest, "c": float(so_far.share)},
            witnesses=(*nothing, *map(self._channel, violations))[: bounds.shown],
            violations=n_violations,
        )

    @cached_property
    def _n_holders(self) -> Counts:
        """Protected value to the number of persons who have it."""
        _, values, counts = self.rows.values.T
        return np.bincount(values, counts, minlength=len(self.values)).astype(np.int64)

    def _nothing_known(self, bounds: Bounds) -> list[Channel]:
        """List what is wrong before anything is known."""
        if self.n_persons < bounds.k:
            return [Channel(events=(), persons=self.n_persons)]
        have = int(self._n_holders.max(initial=0))
        if not exceeds_share(have, bounds.c, self.n_persons):
            return []
        value = self.values[int(np.argmax(self._n_holders))]
        return [Channel(events=(), persons=self.n_persons, value=value, with_value=have)]

    def _count_all(
        self,
        chosen: list[tuple[int, ...]],
        bounds: Bounds,
        so_far: SoFar,
        engine: Engine,
        *,
        everything: bool,
    ) -> list[Matches]:
        found = []
        for answers in engine.map(_count, chosen, shared=(self, bounds, so_far, everything)):
            for each in answers:
                # Another process has a copy of what was found so far.
                so_far.add(each.share, each.violations)
                found.append(each)
        return found

    def count(
        self, chosen: tuple[int, ...], bounds: Bounds, so_far: SoFar, *, everything: bool
    ) -> list[Matches]:
        """Count one signature, in parts where it has too many sequences to be held at once."""
        views, ranks, kind_of = self._signature(chosen)
        persons = self.rows.project(kind_of)
        rows = persons.rows()
        n_rows, n_at_risk = len(persons.persons), int(np.count_nonzero(persons.at_risk))
        # Rows at risk come first; only they make sequences where nothing else is asked for.
        n_counted = n_rows if everything else n_at_risk
        found, parts = [], [range(len(ranks))]
        while parts:
            firsts = parts.pop()
            table = SequenceTable(views, most=bounds.most, n_values=len(self.values), firsts=firsts)
            room = ROOM if len(firsts) > 1 else NO_LIMIT
            if not table.walk(rows, kernel.MAKES | kernel.COUNTS, span=range(n_counted), room=room):
                middle = (firsts.start + firsts.stop) // 2
                parts += [range(middle, firsts.stop), range(firsts.start, middle)]
                continue
            if n_counted < n_rows:
                table.walk(rows, kernel.COUNTS, span=range(n_counted, n_rows))
            nodes = table.list_nodes()
            is_wanted = self._is_wanted(table, nodes, bounds.c, so_far.share)
            if is_wanted.any():
                table.look_only_for(nodes, is_wanted)
                table.walk(rows, kernel.HOLDS, span=range(n_at_risk))
            found.append(self._judge(table, nodes, ranks, bounds, so_far, len(chosen)))
        return found

    def _is_wanted(self, table: SequenceTable, nodes: Nodes, c: float, share: Fraction) -> Mask:
        """Mark the sequences whose protected values must be told apart, and what these begin with.

        No share of a single value exceeds that of all of them. So a sequence is wanted only if the latter is
        above `c`, or above the largest share that is known already.
        """
        is_wanted = exceeds_share(nodes.at_risk, c, nodes.persons)
        is_wanted |= nodes.at_risk * share.denominator > nodes.persons * share.numerator
        return table.with_beginnings(nodes, is_wanted & nodes.is_complete)

    def _judge(
        self,
        table: SequenceTable,
        nodes: Nodes,
        ranks: Counts,
        bounds: Bounds,
        so_far: SoFar,
        n_views: int,
    ) -> Matches:
        """Find the rarest and the surest sequence, and what breaks the bounds."""
        counts, is_complete = nodes.persons, nodes.is_complete
        numbers, values, have = table.list_values()
        share = Fraction(0)
        if len(numbers):
            surest = int(np.argmax(have / counts[numbers]))
            share = Fraction(int(have[surest]), int(counts[numbers[surest]]))
        is_broken = is_complete & (counts < bounds.k)
        is_broken[numbers[exceeds_share(have, bounds.c, counts[numbers])]] = True
        violations = []
        if is_broken.any() and n_views <= so_far.longest:
            for number, path in _first_paths(
                table, nodes.keys, is_broken, ranks, bounds.shown, so_far.longest
            ):
                value = (-1, 0) if counts[number] < bounds.k else _worst(number, numbers, values, have)
                violations.append(Violation(len(path), path, int(counts[number]), *value))
        so_far.add(share, violations)
        fewest = int(counts[is_complete].min()) if is_complete.any() else -1
        return Matches(fewest, share, int(np.count_nonzero(is_broken)), violations)

    def _signature(self, chosen: tuple[int, ...]) -> tuple[kernel.Views, Counts, Codes]:
        """Number the items of the views one after the other, and the kinds of events that differ in them.

        Returns the views, the rank of each item in label order, and the new kind of each kind of event.
        """
        views = [self.views[view] for view in chosen]
        starts = np.cumsum([0, *(view.nodes.size for view in views)])
        items = np.stack(
            [
                np.where(self._items[view] < 0, np.int32(-1), self._items[view] + np.int32(start))
                for view, start in zip(chosen, starts[:-1], strict=True)
            ],
            axis=1,
        )
        group_of, first = kernels.rows.fold_rows(
            items.reshape(-1), np.arange(items.shape[0] + 1) * items.shape[1]
        )
        shows = np.any(items[first] >= 0, axis=1)
        used = np.arange(1 << len(views))
        missing = len(views) - sum(used >> place & 1 for place in range(len(views)))
        signature = kernel.Views(
            items[first],
            np.array([view.column for view in views], np.int32),
            np.concatenate([view.is_exact.astype(np.int64) << place for place, view in enumerate(views)]),
            np.asarray(missing, np.int64),
        )
        ranks = np.concatenate([self._first_rank[view.column] + view.nodes for view in views])
        return signature, ranks, np.where(shows[group_of], group_of, np.int32(-1))

    def _channel(self, violation: Violation) -> Channel:
        events: list[list[tuple[str, str]]] = []
        for is_same, rank in violation.path:
            column = int(np.searchsorted(self._first_rank, rank, side="right")) - 1
            label = self.trees[column].labels[rank - int(self._first_rank[column])]
            if not is_same:
                events.append([])
            events[-1].append((self.names[column], label))
        return Channel(
            events=tuple(map(tuple, events)),
            persons=violation.persons,
            value=None if violation.value < 0 else self.values[violation.value],
            with_value=violation.have,
        )


def count_sequences(lengths: Counts, n_levels: Iterable[int], most: int, *, mixed: bool) -> Amounts:
    """Return, for persons of so many events, how many g-sequences of at most `most` items they can have.

    A choice of cells is a g-sequence but for its levels, of which each column has so many: one for each item
    where they are `mixed`, else one for all of its items. The ways to take n items are the coefficient of z^n
    in the product, over the columns, of 1 + levels ((1 + z)^events - 1); where levels are mixed, of
    (1 + levels z)^events.
    """
    total = np.zeros((len(lengths), most + 1))
    total[:, 0] = 1
    sizes = np.arange(1, most + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        chosen = np.cumprod(np.maximum(lengths[:, None] - sizes + 1, 0) / sizes, axis=1)
        for levels in n_levels:
            factor = chosen * (float(levels) ** sizes if mixed else levels)
            product = total.copy()
            for size in range(1, most + 1):
                product[:, size:] += total[:, : most + 1 - size] * factor[:, size - 1 : size]
            total = product
        return np.asarray(np.nan_to_num(total[:, 1:], nan=np.inf, posinf=np.inf).sum(axis=1))


def read_cells(
    table: EventTable, protect: Mapping[str, Sequence[str]], *, stars: bool
) -> tuple[Codes, list[Mask]]:
    """Return the node of every cell, events by quasi-identifiers, and of each column which nodes are secret.

    A protected value is what is to be learned, and not what is known. What is above it is knowledge,
    and the cell is a member of it; see `secret_nodes`.

    A suppressed cell is knowledge only if `stars` count and the column shows anything else; otherwise its
    cell is `HIDDEN`. So is a cell that holds nothing: see `EventTable.histories`.
    """
    sequences, columns, secrets = table.sequences, [], []
    for quasi in table.schema.quasi:
        if quasi not in table.hierarchies:
            msg = f"quasi-identifier {quoted(quasi)} has no hierarchy"
            raise SchemaError(msg)
        labels = sequences.codebooks[quasi].labels
        node_of = table.hierarchies[quasi].nodes(labels)
        if not stars or (node_of == ROOT).all():
            node_of[node_of == ROOT] = HIDDEN
        columns.append(np.append(node_of, np.int32(HIDDEN))[sequences.columns[quasi]])
        secrets.append(secret_nodes(table, quasi, protect))
    cells = np.stack(columns, axis=1) if columns else np.empty((table.n_events, 0), np.int32)
    return cells, secrets


def secret_nodes(table: EventTable, quasi: str, protect: Mapping[str, Collection[str]]) -> Mask:
    """Mark the nodes of a quasi-identifier that are no background knowledge.

    They are protected, and no unprotected value of the column stands at them or below them. Whether an inner
    node has protected leaves alone is for `protect` to say: a release does not show its leaves, and what is
    not named there is knowledge.
    """
    tree = table.hierarchies[quasi]
    protected = {
        label
        for name, sensitive in table.schema.sensitive.items()
        if quasi in sensitive.columns
        for label in protect.get(name, ())
    }
    is_secret: Mask = np.array([label in protected for label in tree.labels], np.bool_)
    for label in table.sequences.codebooks[quasi].labels:
        if label not in protected:
            is_secret[tree.ancestors(tree.node(label))] = False
    is_secret[ROOT] = False
    return is_secret


def views_of(column: int, tree: Hierarchy, cells: Codes, is_secret: Mask, *, mixed: bool) -> list[View]:
    """Return the views of a quasi-identifier whose cells have the nodes `cells`, coarse first.

    A cell shows the node above it at the level. Where its branch is shorter, it is padded and shows itself,
    unless something in the column lies below it: then it is no value of that level. With `mixed` levels
    nothing is padded, because every item has a level of its own. A star shows itself at any level, and is
    listed at the first. Where a cell would show a secret node, it shows nothing.
    """
    present = np.unique(cells)
    present = present[present != HIDDEN]
    if not present.size:
        return []
    stars, known = present[present == ROOT], present[present != ROOT]
    # Nodes are numbered depth first: what lies below a node comes next.
    has_below = np.zeros(known.size, np.bool_)
    has_below[:-1] = known[1:] < tree.subtree_end[known[:-1]]
    depths = tree.depth[known]
    # The finest that a cell shows: itself, or what is above where that is secret.
    own = known.copy()
    while is_secret[own].any():
        own = np.where(is_secret[own], tree.parent[own], own)
    own_depths = tree.depth[own]
    views = []
    for level in range(1, int(depths.max(initial=1)) + 1):
        shows = known.copy()
        while (deeper := tree.depth[shows] > level).any():
            shows[deeper] = tree.parent[shows[deeper]]
        shorter = depths < level
        shows[(shorter & (has_below | mixed)) | is_secret[shows]] = HIDDEN
        item_of_node = np.full(len(tree), -1, np.int32)
        with_star = stars.size > 0 and (level == 1 or not mixed)
        nodes = np.unique(shows[shows != HIDDEN])
        nodes = np.concatenate([stars, nodes]) if with_star else nodes
        number = np.full(len(tree), -1, np.int32)
        number[nodes] = np.arange(nodes.size)
        item_of_node[known] = np.where(shows == HIDDEN, -1, number[shows])
        if with_star:
            item_of_node[ROOT] = number[ROOT]
        views.append(
            View(
                column=column,
                nodes=nodes.astype(np.int32),
                item_of_node=item_of_node,
                is_exact=(tree.depth[nodes] == level) | (nodes == ROOT) & (level == 1),
                is_own=bool((own_depths == level).any() or (stars.size and level == 1)),
            )
        )
    return views


def _count(chosen: tuple[int, ...], shared: tuple[GSequences, Bounds, SoFar, bool]) -> list[Matches]:
    """Count one signature."""
    sequences, bounds, so_far, everything = shared
    return sequences.count(chosen, bounds, so_far, everything=everything)


def _first_paths(
    table: SequenceTable, keys: Counts, is_broken: Mask, ranks: Counts, n_shown: int, longest: float
) -> list[tuple[int, tuple[tuple[bool, int], ...]]]:
    """Return the first of the marked sequences, with their paths: shortest first, then in label order."""
    found: list[tuple[int, tuple[tuple[bool, int], ...]]] = []
    numbers = np.flatnonzero(is_broken)
    above, length = numbers, 0
    while len(numbers) and len(found) < n_shown and length < longest:
        # Those that are used up now have this length.
        above, length = table.parents(keys[above]), length + 1
        ended = numbers[above == 0]
        items, is_same = table.paths(keys, ended)
        items, is_same = items[:, -length:], is_same[:, -length:]
        n_left = n_shown - len(found)
        if len(ended) > n_left:
            # Only those whose first item can be among the first.
            first = ranks[items[:, 0]]
            kept = first <= np.partition(first, n_left - 1)[n_left - 1]
            ended, items, is_same = ended[kept], items[kept], is_same[kept]
        marked = ranks[items] + is_same * (int(ranks.max()) + 1)
        for place in np.lexsort(marked.T[::-1])[:n_left].tolist():
            path = zip(is_same[place].tolist(), ranks[items[place]].tolist(), strict=True)
            found.append((int(ended[place]), tuple(path)))
        numbers, above = numbers[above > 0], above[above > 0]
    return found


def _worst(number: int, numbers: Counts, values: Counts, have: Counts) -> tuple[int, int]:
    """Return the protected value that most of a sequence's persons have, the first of them, and how many."""
    own = np.flatnonzero(numbers == number)
    first = own[np.lexsort((values[own], -have[own]))[0]]
    return int(values[first]), int(have[first])
