"""Improve finished classes: divide large ones, and exchange persons between near ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda import _search_kernels as search
from sequester.methods.cblda.clusters import Clustering

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.engine import Progress

PASSES = 3
MOST_WORK = 30_000_000_000
"""Cells that are looked at for all persons, at most: about a minute of one processor."""
PER_CALL = 20_000
"""Cells that the call of a kernel counts as."""
MOST_STARTS = 8
"""Persons of a large class around whom a class of their own is tried."""
MOST_MEMBERS = 256
"""Persons of two classes up to whom they are compared one by one."""
NOBODY = np.empty(0, np.int64)


def improve(work: Clustering, most_work: int, progress: Progress) -> None:
    """Divide large classes, then move and swap persons between near ones, pass by pass, where that gains.

    Classes that are not finished stay as they are. After `most_work` cells, nothing more is tried.
    """
    improvement, left = Improvement(work, most_work), -1
    for done in range(PASSES):
        before, left = left, work.left_worth(work.finished)
        if left == before:
            break
        progress(done / PASSES, "improving classes")
        for cluster in range(len(work.state)):
            while improvement.can_go_on and improvement.is_finished(cluster) and improvement.divide(cluster):
                pass
        improvement.exchange_all()


class Improvement:
    """Tries changes of finished classes on the side, and makes those that gain and keep the promise."""

    def __init__(self, work: Clustering, most_work: int) -> None:
        self.work, self.left_work, self.scratch = work, most_work, work.scratch()
        self.alone = Clustering.begin(work.take(np.arange(len(work.state))), work.rules).clusters
        self.trial = work.clusters._replace(state=work.state.copy(), cells=work.clusters.cells.copy())

    @property
    def can_go_on(self) -> bool:
        """Whether there is work left to do."""
        return self.left_work > 0

    def is_finished(self, cluster: int) -> bool:
        """Return whether a number is that of a finished class."""
        return bool(self.work.state[cluster, kernels.STATUS] == kernels.FINISHED)

    def members(self, cluster: int) -> Counts:
        """List the persons of a class in ascending order."""
        return self.work.members(np.array([cluster]))[0]

    def values(self, members: Counts, others: Counts = NOBODY, *, first: int = 0) -> Counts:
        """Return what is left of members without each, and with each of the others."""
        found = np.zeros((len(members) + 1, len(others) + 1), np.int64)
        self.left_work -= PER_CALL + kernels.write_values(
            self.trial, self.alone, self.scratch, members, others, first, found
        )
        return found

    def align(self, members: Counts, coming: Counts = NOBODY) -> int:
        """Make a class of some persons on the side; return its number, -1 where it breaks the promise."""
        self.values(members, first=len(members))
        cluster = int(members[0])
        for person in coming.tolist():
            self.values(np.array([person]), first=1)
            cluster, other = min(cluster, person), max(cluster, person)
            kernels.merge(self.trial, self.scratch, cluster, other)
        return cluster if kernels.finish(self.trial, self.scratch, cluster) else -1

    def accept(self, persons: Counts) -> None:
        """Cluster persons as they are on the side."""
        events, _ = self.work.events_of(persons)
        self.work.state[persons] = self.trial.state[persons]
        self.work.clusters.cells[events] = self.trial.cells[events]

    def divide(self, cluster: int) -> bool:
        """Make two classes of a large one if that leaves more of it; return whether it does."""
        if self.work.state[cluster, kernels.COUNTED] < 2 * self.work.rules.k:
            return False
        members = self.members(cluster)
        most, best = self.work.left_worth(np.array([cluster])), -1
        for start in range(min(len(members), MOST_STARTS)):
            value = self._grow(members, start)
            if value > most:
                most, best = value, start
        if best < 0 or self._grow(members, best) < 0:
            return False
        self.accept(members)
        return True

    def _grow(self, members: Counts, start: int) -> int:
        """Grow a class around a person until it and the rest keep the promise; return what is left of both.

        -1 where there are no such classes. Who leaves most of the class comes next.
        """
        allowed, is_counted = self.work.clusters.allowed, self.alone.state[members, kernels.COUNTED]
        is_in = np.arange(len(members)) == start
        while allowed[is_counted[~is_in].sum()] >= 0 and self.can_go_on:
            inside, others = members[is_in], members[~is_in]
            values = self.values(inside, others, first=len(inside))[-1]
            if kernels.finish(self.trial, self.scratch, int(inside[0])):
                rest = self.align(others)
                if rest >= 0:
                    return int(values[-1] + len(others) * self.trial.state[rest, kernels.WORTH_LEFT])
            is_in[np.flatnonzero(~is_in)[np.argmax(values[:-1])]] = True
        return -1

    def exchange_all(self) -> None:
        """Exchange persons of each class with the classes nearest to them, in the order of classes."""
        work, cluster = self.work, 0
        while cluster < len(work.state) and self.can_go_on:
            finished = work.finished
            if len(finished) < 2:
                return
            index = work.build_index(finished)
            stack = np.empty((len(index.nodes) + 1, 2), np.float64)
            fresh: dict[int, None] = {}
            # The index is made again when too many classes are not in it.
            while cluster < len(work.state) and len(fresh) <= 128 + len(finished) // 32:
                if self.can_go_on and self.is_finished(cluster):
                    one = cluster
                    for near in self._nearest(cluster, index, np.array([*fresh], np.int64), stack):
                        one, other = self.exchange(one, near)
                        fresh |= {
                            each: None for each in (one, other) if not work.state[each, kernels.INDEXED]
                        }
                cluster += 1

    def _nearest(self, cluster: int, index: search.Index, fresh: Counts, stack: search.Amounts) -> list[int]:
        """List the classes to which the members of a class would add the least loss."""
        work, members = self.work, self.members(cluster)
        if len(members) >= MOST_MEMBERS:
            return []
        events, _ = work.events_of(members)
        state, cells = work.state[members], work.clusters.cells[events]
        work.state[members], work.clusters.cells[events] = self.alone.state[members], self.alone.cells[events]
        near = [
            search.find_nearest(work.clusters, self.scratch, index, fresh, len(fresh), person, stack)[1]
            for person in members.tolist()
        ]
        self.left_work -= len(members) * PER_CALL
        work.state[members], work.clusters.cells[events] = state, cells
        return [other for other in dict.fromkeys(near) if other >= 0]

    def exchange(self, one: int, other: int) -> tuple[int, int]:
        """Exchange persons between two classes as long as that gains; return their numbers then.

        A person is moved, or two are swapped. Who comes is aligned with those who stay.
        """
        work = self.work
        while self.can_go_on and work.state[[one, other], kernels.SIZE].sum() <= MOST_MEMBERS:
            left, right = self.members(one), self.members(other)
            gains = self.values(left, right) + self.values(right, left).T
            gains -= work.left_worth(np.array([one, other]))
            gains[-1, -1] = 0
            changed = self._best(left, right, gains)
            if changed is None:
                break
            self.accept(np.sort(np.concatenate([left, right])))
            one, other = changed
        return one, other

    def _best(self, left: Counts, right: Counts, gains: Counts) -> tuple[int, int] | None:
        """Make the exchange that gains most and keeps the promise, on the side; return the two classes.

        Of equal gains, moves from the left class come first, then moves from the right one, then swaps.
        """
        rows, columns = np.nonzero(gains > 0)
        is_swap = (rows < len(left)) & (columns < len(right))
        kind = np.where(is_swap, 2, np.where(rows < len(left), 0, 1))
        for place in np.lexsort((columns, rows, kind, -gains[rows, columns])).tolist():
            i, j = rows[place : place + 1], columns[place : place + 1]
            a = self.align(np.delete(left, i[i < len(left)]), right[j[j < len(right)]])
            b = self.align(np.delete(right, j[j < len(right)]), left[i[i < len(left)]]) if a >= 0 else -1
            if b >= 0:
                return a, b
        return None
