"""Everybody's histories, and the clusters that they are in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.hierarchies.labels import in_label_order

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.kernels.clusters import Clusters, Demand, Scratch
    from sequester.methods.cblda.forest import Trees

RANDOM_BITS = 32
"""A seed of kernels has so many."""


@dataclass(frozen=True, eq=False)
class Values:
    """Which protected values each event has."""

    names: tuple[tuple[str, str], ...]
    """Value to its attribute and label."""
    offsets: Offsets
    """Event ``e`` has ``codes[offsets[e]:offsets[e + 1]]``, each value once."""
    codes: Codes
    """Values."""

    @classmethod
    def of(cls, table: EventTable) -> Values:
        """Collect the protected values of each event, from all columns of each sensitive attribute.

        Where a quasi-identifier is sensitive, too, a class may show a node that has nothing but protected
        leaves below it: whoever has one of these has that node, as a value of its own.
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
                codes = np.array([code_of.get(label, -1) for label in book], np.int64)
                codes = codes[sequences.columns[column]]
                pairs.append((events * (1 << 31) + codes)[codes >= 0])
                for node in in_label_order(table.protected_nodes[attribute] - labels):
                    if column not in table.schema.quasi or node not in table.hierarchies[column]:
                        continue
                    if (attribute, node) not in names:
                        names.append((attribute, node))
                    tree = table.hierarchies[column]
                    is_below = np.array([node in _labels_above(tree, label) for label in book], np.bool_)
                    has_it = is_below[sequences.columns[column]]
                    pairs.append(events[has_it] * (1 << 31) + names.index((attribute, node)))
        distinct = np.unique(np.concatenate(pairs))
        return cls(
            tuple(names),
            np.searchsorted(distinct >> 31, np.arange(table.n_events + 1)).astype(np.int64),
            (distinct & ((1 << 31) - 1)).astype(np.int32),
        )

    def of_persons(self, person_offsets: Offsets) -> tuple[Counts, Codes]:
        """List each pair of a person and a value that they have in any event, once."""
        per_event = np.diff(self.offsets)
        owners = np.repeat(np.arange(len(person_offsets) - 1), np.diff(person_offsets))
        distinct = np.unique(np.repeat(owners, per_event) * (1 << 31) + self.codes)
        return distinct >> 31, (distinct & ((1 << 31) - 1)).astype(np.int32)


def _labels_above(tree: Hierarchy, label: str) -> list[str]:
    return [tree.labels[node] for node in tree.ancestors(tree.node(label))]


@dataclass(frozen=True, eq=False)
class Work:
    """What is clustered, and for what."""

    trees: Trees
    """The quasi-identifiers."""
    clusters: Clusters
    """The clusters, changed as the work goes on."""
    demand: Demand
    """When a cluster is finished."""
    longest: int
    """Events of the longest history."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        trees: Trees,
        values: Values,
        is_counted: Mask,
        *,
        k: int,
        c: float,
        each: bool,
        seed: int | None,
    ) -> Work:
        """Make everybody a cluster of their own; a `seed` has events suppressed at random."""
        n_persons, n_events = table.n_persons, table.n_events

        def numbers() -> Counts:
            return np.zeros(n_persons, np.int64)

        def codes() -> Codes:
            return np.zeros(n_persons, np.int32)

        clusters = kernels.clusters.Clusters(
            offsets=table.person_offsets.astype(np.int64),
            nodes=trees.nodes_of(table),
            value_offsets=values.offsets,
            values=values.codes,
            is_counted=is_counted,
            cells=np.empty((n_events, 2 * len(trees.names)), np.int32),
            kept=np.empty(n_events, np.int32),
            length=codes(),
            size=numbers(),
            counted=numbers(),
            risky=numbers(),
            kill=numbers(),
            status=np.zeros(n_persons, np.uint8),
            version=codes(),
            following=codes(),
            last=codes(),
            best=np.full(n_persons, np.inf),
            partner=codes(),
            partner_version=codes(),
            place=codes(),
            is_indexed=np.zeros(n_persons, np.bool_),
        )
        kernels.clusters.restore_many(trees.kernel, clusters, np.arange(n_persons))
        # Every bit of a logarithm counts, and those of numpy are not the same on every machine.
        # A box of the index may remember a cluster that has long been merged: persons may count twice.
        logs = np.array([0.0, *map(math.log, range(1, 2 * n_persons + 2))])
        return cls(
            trees=trees,
            clusters=clusters,
            demand=kernels.clusters.Demand(
                k=k,
                c=c,
                each=each,
                n_values=len(values.names),
                is_random=seed is not None,
                seed=seed or 0,
                logs=logs,
            ),
            longest=int(np.diff(table.person_offsets).max(initial=1)),
        )

    @cached_property
    def only_equals_touch(self) -> bool:
        """Every cell is as exact as can be and counts, so that only equal histories are at no distance."""
        worths = self.trees.kernel.worth[self.clusters.nodes]
        return bool((worths == self.trees.wholes).all() and (self.trees.wholes > 0).all())

    def with_status(self, status: int) -> Counts:
        """List the clusters that are waiting, or finished."""
        return np.flatnonzero(self.clusters.status == status)

    @property
    def waiting(self) -> Counts:
        """The clusters that are not finished."""
        return self.with_status(kernels.clusters.WAITING)

    @property
    def finished(self) -> Counts:
        """The clusters that keep the promise."""
        return self.with_status(kernels.clusters.FINISHED)

    def members(self, cluster: int) -> Counts:
        """List the persons of a cluster."""
        members: Counts = kernels.clusters.list_members(self.clusters, cluster)
        return members

    def scratch(self) -> Scratch:
        """Make room to work in."""
        scratch: Scratch = kernels.clusters.new_scratch(self.trees.kernel, self.demand.n_values, self.longest)
        return scratch

    def restore(self, persons: Counts) -> None:
        """Make each person a cluster of their own again."""
        kernels.clusters.restore_many(self.trees.kernel, self.clusters, persons)

    def merge(self, one: int, other: int) -> int:
        """Make one cluster of two, and give its number; it counts as finished if it keeps the promise."""
        scratch = self.scratch()
        both = kernels.clusters.merge(self.trees.kernel, self.clusters, self.demand, one, other, scratch)
        kernels.clusters.settle(self.clusters, self.demand, both, scratch)
        return int(both)

    def is_private(self, cluster: int) -> bool:
        """Tell whether a cluster keeps the promise."""
        scratch = self.scratch()
        risk = kernels.clusters.risk_of(self.clusters, self.demand, cluster, scratch)
        return bool(kernels.clusters.is_private(self.demand, self.clusters.counted[cluster], risk))

    def left_worth(self, clusters: Counts) -> int:
        """Add up what is left of all persons of some clusters; the more, the smaller the loss."""
        state = self.clusters
        return int((state.size[clusters] * state.kill[clusters]).sum())


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Some persons as they are clustered now, to go back to."""

    persons: Counts
    events: Counts
    arrays: tuple[object, ...]

    PER_PERSON = (
        "length",
        "size",
        "counted",
        "risky",
        "kill",
        "status",
        "following",
        "last",
    )
    PER_EVENT = ("cells", "kept")

    @classmethod
    def of(cls, work: Work, persons: Counts) -> Snapshot:
        """Remember everything about some persons; whole clusters only."""
        state = work.clusters
        lengths = np.diff(state.offsets)[persons]
        ends = np.cumsum(lengths)
        events = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            state.offsets[persons] - (ends - lengths), lengths
        )
        return cls(
            persons,
            events,
            (
                *(getattr(state, name)[persons] for name in cls.PER_PERSON),
                *(getattr(state, name)[events] for name in cls.PER_EVENT),
            ),
        )

    def go_back(self, work: Work) -> None:
        """Cluster the persons as they were."""
        state = work.clusters
        for name, array in zip((*self.PER_PERSON, *self.PER_EVENT), self.arrays, strict=True):
            getattr(state, name)[self.events if name in self.PER_EVENT else self.persons] = array
        state.version[self.persons] += 1
