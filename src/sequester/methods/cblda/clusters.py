"""Everybody's histories, what their cells are worth, and the clusters that they are in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.data.sequences import events_of
from sequester.hierarchies.labels import in_label_order
from sequester.kernels.shares import TOLERANCE
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda import _search_kernels as search
from sequester.methods.prices import price_nodes
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.cblda._search_kernels import Amounts

FINEST = 10**6
"""The largest unit: a cell as it was is worth at most so much, and the rest is rounded to wholes."""
_ROOM = 1 << 62
_CODE = (1 << 31) - 1


@dataclass(frozen=True, eq=False)
class QuasiTrees:
    """The quasi-identifiers, one tree each, nodes numbered through."""

    names: tuple[str, ...]
    """Quasi-identifiers in the order of the schema."""
    hierarchies: tuple[Hierarchy, ...]
    """Their trees."""
    first: Counts
    """Quasi-identifier to the number of its root."""
    wholes: Counts
    """Quasi-identifier to what a cell is worth as it was."""
    nodes: Codes
    """All nodes, by the columns that kernels read."""

    @classmethod
    def of(cls, table: EventTable) -> QuasiTrees:
        """Number the nodes, and find what each is worth: all for a leaf, nothing for the root (Eq. 5.3).

        Worths are exact where a unit of at most a million allows it. Weights count in proportion to the
        largest. With a purpose, nodes lose what it loses by them.
        """
        quasi = table.schema.quasi
        trees = tuple(table.hierarchies[name] for name in quasi)
        priced, losses = price_nodes(table)
        weights = _proportions(priced)
        is_exact = table.schema.purpose is None
        exact = math.lcm(
            *(int(tree.leaves[0]) * weight.denominator for tree, weight in zip(trees, weights, strict=True))
        )
        longest = int(np.diff(table.person_offsets).max(initial=1))
        unit = min(exact, FINEST, max(_ROOM // (max(table.n_persons, 1) * longest * len(trees)), 1))
        parts, first, n_groups = [], [int(bool(table.of_persons))], 0
        for name, tree, weight, loss in zip(quasi, trees, weights, losses, strict=True):
            n_before = n_groups + bool(table.of_persons)
            worths = _worths(tree, weight, unit, None if is_exact else loss)
            part, n_after = _columns(tree, worths, first[-1], n_before)
            part[tree.depth < _least_depth(table, name), kernels.SHARED] = kernels.FORBIDDEN
            first.append(first[-1] + len(tree))
            if table.of_persons:
                part = _beside_nothing(part, first[-2], n_groups, n_after, name not in table.of_persons)
                first[-1] += 2
            parts.append(part)
            n_groups = n_after
        return cls(
            names=tuple(quasi),
            hierarchies=trees,
            first=np.array(first, np.int64),
            wholes=np.array([round(unit * weight) for weight in weights], np.int64),
            nodes=np.concatenate(parts),
        )

    @cached_property
    def n_groups(self) -> int:
        """Number of nodes that are no leaves."""
        return int(self.nodes[:, kernels.GROUP_END].max())

    def nodes_of(self, table: EventTable) -> Codes:
        """Return the node of every cell, events by quasi-identifiers."""
        sequences = table.sequences
        columns = [
            # Nothing comes behind the nodes of the tree.
            (np.append(tree.nodes(sequences.codebooks[name].labels), len(tree)) + at)[sequences.columns[name]]
            for name, tree, at in zip(self.names, self.hierarchies, self.first, strict=False)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1), np.int32)


def _columns(tree: Hierarchy, worths: Counts, first: int, n_groups: int) -> tuple[Codes, int]:
    """Return the nodes of a tree as kernels read them, and the number of groups so far.

    Nodes and groups, which are the nodes that are no leaves, are numbered through all trees.
    """
    is_group = ~tree.is_leaf | (tree.depth == 0)
    before = n_groups + offsets_of(is_group)
    node_of_group = np.where(is_group, np.arange(len(tree)), tree.parent)
    columns = np.empty((len(tree), 6), np.int32)
    columns[:, kernels.PARENT] = tree.parent + first
    columns[:, kernels.END] = tree.subtree_end + first
    columns[:, kernels.WORTH] = columns[:, kernels.SHARED] = worths
    columns[:, kernels.GROUP] = before[node_of_group]
    columns[:, kernels.GROUP_END] = before[tree.subtree_end[node_of_group]]
    return columns, int(before[-1])


def _beside_nothing(part: Codes, first: int, n_groups: int, n_after: int, is_of_events: bool) -> Codes:
    """Put a node above a tree, and below it, behind the tree, one for a cell that holds nothing.

    What is above both must not be shown, so that no event becomes one with what holds attributes of a person.
    Nothing has a worth in columns of events, which only that one has not: so two of them are always paired,
    whatever is left of the attributes.
    """
    end = first + len(part) + 1
    above = [first - 1, end, 0, kernels.FORBIDDEN, n_groups, n_after]
    nothing = [first - 1, end, is_of_events, is_of_events, n_groups, n_after]
    part[0, kernels.PARENT] = first - 1
    return np.concatenate([[above], part, [nothing]]).astype(np.int32)


def _proportions(weights: list[float]) -> list[Fraction]:
    """Return each weight as a share of the largest, as exactly as it was written."""
    exact = [Fraction(str(weight)) for weight in weights]
    largest = max(exact)
    return [weight / largest if largest else Fraction(0) for weight in exact]


def _worths(tree: Hierarchy, weight: Fraction, unit: int, loss: Amounts | None) -> Counts:
    whole = round(unit * weight)
    per_leaf = unit * weight / int(tree.leaves[0])
    is_exact = tree.is_leaf & (tree.leaves == 1)
    if loss is None:
        inner = [round(unit * weight - per_leaf * int(n)) for n in tree.leaves]
    else:
        inner = np.rint(whole * (1 - loss)).astype(np.int64).tolist()
    # What is not exact is always worth less, however finely the domain is divided.
    inner = [min(each, max(whole - 1, 0)) for each in inner]
    return np.where(is_exact, whole, inner).astype(np.int64)


def _least_depth(table: EventTable, name: str) -> int:
    """Find the smallest depth that two different values may be generalized to."""
    quasi, tree = table.schema.quasi[name], table.hierarchies[name]
    least = 0 if quasi.max_level is None else max(tree.height - quasi.max_level, 0)
    if set(quasi.never_suppress).intersection(table.labels[name]):
        least = max(least, 1)
    return least


@dataclass(frozen=True, eq=False)
class ProtectedValues:
    """Which protected values each event has."""

    names: tuple[tuple[str, str], ...]
    """Value to its attribute and label."""
    offsets: Offsets
    """Event ``e`` has ``codes[offsets[e]:offsets[e + 1]]``, each value once."""
    codes: Codes
    """Values."""

    @classmethod
    def of(cls, table: EventTable) -> ProtectedValues:
        """Collect the protected values of each event, from all columns of each sensitive attribute.

        Where a quasi-identifier is sensitive, too, a class may show a node that has nothing but protected
        leaves below it: a person with one of these has that node, as a value of its own.
        """
        sequences = table.sequences
        names: list[tuple[str, str]] = []
        pairs = [np.empty(0, np.int64)]
        events = np.arange(table.n_events, dtype=np.int64)
        for attribute, labels in table.protected.items():
            columns = table.schema.sensitive[attribute].columns
            present = {label for column in columns for label in table.labels[column]} & labels
            code_of = {label: len(names) + i for i, label in enumerate(in_label_order(present))}
            names += [(attribute, label) for label in code_of]
            for column in columns:
                book = sequences.codebooks[column].labels
                codes = np.array([*(code_of.get(label, -1) for label in book), -1], np.int64)
                codes = codes[sequences.columns[column]]
                pairs.append((events * (1 << 31) + codes)[codes >= 0])
                for node in in_label_order(table.protected_nodes[attribute] - labels):
                    if column not in table.schema.quasi or node not in table.hierarchies[column]:
                        continue
                    if (attribute, node) not in names:
                        names.append((attribute, node))
                    tree = table.hierarchies[column]
                    low = tree.node(node)
                    nodes = np.append(tree.nodes(book), -1)
                    is_below = (nodes >= low) & (nodes < tree.subtree_end[low])
                    has_it = is_below[sequences.columns[column]]
                    pairs.append(events[has_it] * (1 << 31) + names.index((attribute, node)))
        distinct = np.unique(np.concatenate(pairs))
        return cls(
            tuple(names),
            np.searchsorted(distinct >> 31, np.arange(table.n_events + 1)).astype(np.int64),
            (distinct & _CODE).astype(np.int32),
        )

    def of_persons(self, person_offsets: Offsets) -> tuple[Counts, Codes]:
        """List each pair of a person and a value that they have in any event, once."""
        owners = owners_of(self.offsets[person_offsets])
        distinct = np.unique(owners * (1 << 31) + self.codes)
        return distinct >> 31, (distinct & _CODE).astype(np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassRules:
    """What is the same for all who are clustered."""

    trees: QuasiTrees
    """The quasi-identifiers."""
    k: int
    """Persons of a class."""
    c: float
    """Largest share of a class at risk."""
    n_values: int
    """Protected values that count one by one; 0 where any counts."""
    only_equals_touch: bool
    """Every cell is as exact as can be and counts, so that only equal histories are at no distance."""
    seed: int
    """Events are suppressed at random, by this seed; -1: they are aligned."""
    n_fixed: int
    """First events that are never suppressed at random: those that hold attributes of persons."""


class ClusterRows(NamedTuple):
    """Persons, and what they have."""

    offsets: Offsets
    """Person ``m`` has the events ``offsets[m]`` to ``offsets[m + 1]``."""
    nodes: Codes
    """The node of every cell, events by quasi-identifiers."""
    value_offsets: Offsets
    """Event ``e`` has the protected values ``values[value_offsets[e]:value_offsets[e + 1]]``."""
    values: Codes
    """Protected values."""
    is_counted: Mask
    """Person to whether they are released."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """Persons who are being clustered."""

    rules: ClassRules
    """What a class has to keep."""
    offsets: Offsets
    """Person ``m`` has the events ``offsets[m]`` to ``offsets[m + 1]``."""
    nodes: Codes
    """The node of every cell as it was, events by quasi-identifiers."""
    clusters: kernels.Clusters
    """The clusters, changed as the work goes on."""
    nearest: Amounts
    """Cluster to a distance that no other cluster, of those that it knew, is nearer than."""
    divisors: dict[int, Amounts]
    """Status of clusters to what an extra loss is divided by, by the persons that it is about."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        values: ProtectedValues,
        is_counted: Mask,
        *,
        k: int,
        c: float,
        each: bool,
        seed: int,
    ) -> Clustering:
        """Make everybody a cluster of their own; a `seed` of -1 has events aligned."""
        trees = QuasiTrees.of(table)
        nodes = trees.nodes_of(table)
        worths = trees.nodes[nodes, kernels.WORTH]
        rules = ClassRules(
            trees=trees,
            k=k,
            c=c,
            n_values=len(values.names) if each else 0,
            only_equals_touch=bool((worths == trees.wholes).all() and (trees.wholes > 0).all()),
            seed=seed,
            n_fixed=int(bool(table.of_persons)),
        )
        histories = ClusterRows(table.person_offsets, nodes, values.offsets, values.codes, is_counted)
        return cls.begin(histories, rules)

    @classmethod
    def begin(cls, histories: ClusterRows, rules: ClassRules) -> Clustering:
        """Make everybody a cluster of their own."""
        n_persons = len(histories.is_counted)
        state = np.zeros((n_persons, kernels.N_COLUMNS), np.int64)
        state[:, kernels.START] = histories.offsets[:-1]
        state[:, kernels.IS_COUNTED] = histories.is_counted
        counts = np.arange(n_persons + 1)
        # As many as do not exceed the share.
        allowed = np.floor(rules.c * counts + TOLERANCE * counts).astype(np.int64)
        trees, nodes = rules.trees, histories.nodes
        work = cls(
            rules=rules,
            offsets=histories.offsets,
            nodes=nodes,
            clusters=kernels.Clusters(
                tree=trees.nodes,
                state=state,
                cells=np.empty((len(nodes), 2 * len(trees.names) + 1), np.int32),
                value_offsets=histories.value_offsets,
                values=histories.values,
                allowed=np.where(counts < rules.k, -1, allowed),
                seed=rules.seed,
                n_fixed=rules.n_fixed,
            ),
            nearest=np.full(n_persons, np.inf),
            # Every bit of a logarithm counts, and those of numpy are not the same on every machine.
            # A box of the index may remember a cluster that has long been merged: persons may count twice.
            divisors={
                kernels.WAITING: np.fromiter(
                    chain([0.0], map(math.log, range(1, 2 * n_persons + 2))), np.float64, 2 * n_persons + 2
                ),
                kernels.FINISHED: np.ones(2 * n_persons + 2),
            },
        )
        work.restore(np.arange(n_persons))
        return work

    def take(self, persons: Counts) -> ClusterRows:
        """Return some persons as they were, numbered from 0 in their order."""
        events, offsets = self.events_of(persons)
        values, value_offsets = gather_rows(self.clusters.values, self.clusters.value_offsets, events)
        is_counted = self.state[persons, kernels.IS_COUNTED] > 0
        return ClusterRows(offsets, self.nodes[events], value_offsets, values, is_counted)

    @property
    def trees(self) -> QuasiTrees:
        """The quasi-identifiers."""
        return self.rules.trees

    @property
    def state(self) -> Counts:
        """Person or cluster by the columns that kernels read."""
        return self.clusters.state

    @cached_property
    def longest(self) -> int:
        """Events of the longest history."""
        return int(np.diff(self.offsets).max(initial=1))

    def scratch(self) -> kernels.AlignmentScratch:
        """Return memory for a thread to work in."""
        width = 2 * (len(self.trees.names) + self.trees.n_groups)
        return kernels.AlignmentScratch(
            profile=np.empty((self.longest, width), np.int32),
            row=np.empty(self.longest + 1, np.int64),
            places=np.empty((2, self.longest), np.int64),
            tally=np.zeros((2, self.rules.n_values + 1), np.int64),
        )

    def with_status(self, status: int, among: Counts | None = None) -> Counts:
        """List the clusters, or those among some numbers, that are waiting, or finished."""
        if among is None:
            return np.flatnonzero(self.state[:, kernels.STATUS] == status)
        found: Counts = among[self.state[among, kernels.STATUS] == status]
        return found

    @property
    def waiting(self) -> Counts:
        """The clusters that are not finished."""
        return self.with_status(kernels.WAITING)

    @property
    def finished(self) -> Counts:
        """The clusters that keep the promise."""
        return self.with_status(kernels.FINISHED)

    def members(self, clusters: Counts) -> tuple[Counts, Counts]:
        """List the persons of some clusters, in ascending order, and the cluster of each."""
        persons, owners = [clusters], [clusters]
        while len(persons[-1]):
            following = self.state[persons[-1], kernels.NEXT]
            owners.append(owners[-1][following >= 0])
            persons.append(following[following >= 0])
        found = np.concatenate(persons)
        order = np.argsort(found)
        return found[order], np.concatenate(owners)[order]

    def events_of(self, persons: Counts) -> tuple[Counts, Counts]:
        """List the events of some persons, with offsets."""
        return events_of(self.offsets, persons)

    def restore(self, persons: Counts) -> None:
        """Make each person a cluster of their own, that shows all events as they were."""
        if not len(persons):
            return
        state, cells = self.state, self.clusters.cells
        events, offsets = self.events_of(persons)
        nodes = self.nodes[events]
        cells[events, 0:-1:2] = nodes
        cells[events, 1:-1:2] = self.trees.nodes[nodes, kernels.GROUP]
        cells[events, -1] = places_of(offsets)
        worths = self.trees.nodes[nodes, kernels.WORTH].sum(axis=1, dtype=np.int64)
        has_value = np.diff(self.clusters.value_offsets)[events] > 0
        is_counted = state[persons, kernels.IS_COUNTED]
        state[persons, kernels.LENGTH] = np.diff(offsets)
        state[persons, kernels.SIZE] = 1
        state[persons, kernels.COUNTED] = is_counted
        state[persons, kernels.AT_RISK] = is_counted * np.logical_or.reduceat(has_value, offsets[:-1])
        state[persons, kernels.WORTH_LEFT] = np.add.reduceat(worths, offsets[:-1])
        state[persons, kernels.NEXT] = -1
        state[persons, kernels.LAST] = persons
        state[persons, kernels.STATUS] = kernels.WAITING
        state[persons, kernels.VERSION] += 1
        state[persons, kernels.INDEXED] = 0

    def merge(self, one: int, other: int) -> int:
        """Make one cluster of two, and return its number; it is finished if it keeps the promise."""
        scratch = self.scratch()
        kernels.merge(self.clusters, scratch, min(one, other), max(one, other))
        kernels.finish(self.clusters, scratch, min(one, other))
        return min(one, other)

    def n_at_risk(self, cluster: int) -> int:
        """Count the persons of a cluster at risk, as the promise reads it."""
        if not self.rules.n_values:
            return int(self.state[cluster, kernels.AT_RISK])
        scratch, length = self.scratch(), int(self.state[cluster, kernels.LENGTH])
        kernels.count_at_risk(self.clusters, scratch, cluster, -1, length)
        return int(scratch.tally[0, :-1].max(initial=0))

    def left_worth(self, clusters: Counts) -> int:
        """Add up what is left of all persons of some clusters; the more, the smaller the loss."""
        return int((self.state[clusters, kernels.SIZE] * self.state[clusters, kernels.WORTH_LEFT]).sum())

    def build_index(self, clusters: Counts) -> search.ClusterIndex:
        """Make an index of some clusters, all of one status, and mark them as known to it.

        Waiting clusters are as far apart as merging them adds to the loss, for each factor of their persons
        (Eq. 5.8). Finished ones are chosen by the loss alone.
        """
        status = int(self.state[clusters[0], kernels.STATUS])
        lengths, sizes = self.state[clusters, kernels.LENGTH], self.state[clusters, kernels.SIZE]
        keys = (lengths << 32) + sizes
        sorting = np.argsort(keys, kind="stable")
        order, keys = clusters[sorting].astype(np.int64), keys[sorting]
        self.state[order, kernels.INDEXED] = 1
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        n_roots = len(begins)
        nodes = np.empty((max(2 * len(order), 1), search.N_COLUMNS), np.int64)
        nodes[:n_roots, search.LOW] = begins
        nodes[:n_roots, search.HIGH] = np.append(begins[1:], len(order))[:n_roots]
        boxes = np.empty((int(lengths.sum()) + self.longest, 2 * len(self.trees.names)), np.int32)
        index = search.ClusterIndex(order, nodes, boxes, n_roots, self.divisors[status], status)
        grown = np.array([0, n_roots, 0], np.int64)
        numbers = np.empty((3, len(order)), np.int64)
        while not search.grow_index(self.clusters, index, grown, self.trees.n_groups, numbers):
            wider = np.empty((2 * len(index.boxes), index.boxes.shape[1]), np.int32)
            wider[: grown[2]] = index.boxes[: grown[2]]
            index = index._replace(boxes=wider)
        return index._replace(nodes=nodes[: grown[1]])


@dataclass(frozen=True, eq=False)
class SavedClusters:
    """Some persons as they are clustered now, to go back to."""

    persons: Counts
    events: Counts
    state: Counts
    cells: Codes

    COLUMNS = (
        kernels.STATUS,
        kernels.SIZE,
        kernels.WORTH_LEFT,
        kernels.LENGTH,
        kernels.COUNTED,
        kernels.AT_RISK,
        kernels.NEXT,
        kernels.LAST,
    )

    @classmethod
    def of(cls, work: Clustering, persons: Counts) -> SavedClusters:
        """Remember everything about some persons; whole clusters only."""
        events, _ = work.events_of(persons)
        return cls(persons, events, work.state[persons], work.clusters.cells[events])

    @classmethod
    def taken(cls, work: Clustering, persons: Counts, state: Counts, cells: Codes) -> SavedClusters:
        """Return persons who were taken out of the work, as they were clustered by themselves."""
        for column in (kernels.NEXT, kernels.LAST):
            state[:, column] = np.where(state[:, column] < 0, -1, persons[state[:, column]])
        return cls(persons, work.events_of(persons)[0], state, cells)

    def go_back(self, work: Clustering) -> None:
        """Cluster the persons as they were."""
        for column in self.COLUMNS:
            work.state[self.persons, column] = self.state[:, column]
        work.state[self.persons, kernels.VERSION] += 1
        work.clusters.cells[self.events] = self.cells
