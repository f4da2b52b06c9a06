"""Merge the two nearest clusters until at most one is unfinished (Algorithm 5.1), and improve the classes.

Who is left is assigned; then large classes are divided, and near ones exchange persons.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import LocalEngine, part, silent
from sequester.engine.progress import NoCheckpoint
from sequester.kernels.rows import fold_rows
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda import _search_kernels as search
from sequester.methods.cblda.clusters import Clustering, SavedClusters

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint

FEWEST_NEW, NEW_SHARE = 128, 32
"""The index is made again after so many new clusters, or after one for so many that are in it."""
BETWEEN = 20.0
"""Seconds between two steps that are kept."""
NOBODY = np.empty(0, np.int64)
PHASE = "merging the nearest histories"
LEAST_RELIEF = 1e-9
"""Persons above the share by whom a merge must bring them down, to be any help."""


def merge_nearest(
    work: Clustering,
    persons: Counts,
    *,
    engine: Engine | None = None,
    progress: Progress = silent,
    checkpoint: Checkpoint | None = None,
    name: str = "merges",
    phase: str = PHASE,
) -> None:
    """Cluster some persons, each of whom is a cluster of their own.

    Parameters
    ----------
    work
        What is clustered; clusters of others are left alone.
    persons
        Who, in ascending order.
    engine
        Looks for all nearest clusters side by side; by default, one after the other.
    progress
        Called with the share that is finished.
    checkpoint
        Keeps the merges that were made, under `name`; by default, nothing is kept.
    name
        Tells this part of the work from others.
    phase
        The phase that progress is called with.
    """
    engine, checkpoint = engine or LocalEngine(threads=1, shards=1), checkpoint or NoCheckpoint()
    scratch = work.scratch()
    if work.rules.only_equals_touch:
        # Equal histories are at no distance, and all others are at some.
        events, offsets = work.events_of(persons)
        groups, firsts = fold_rows(work.nodes[events].reshape(-1), offsets * work.nodes.shape[1])
        kernels.merge_equal(work.clusters, scratch, persons, groups, np.full(len(firsts), -1, np.int64))
    merges = np.empty((len(persons), 2), np.int64)
    # Merges that were made, and clusters that wait.
    done = np.zeros(2, np.int64)
    kept = checkpoint.load(name)
    if kept is not None:
        done[0] = len(kept["merges"])
        merges[: done[0]] = kept["merges"]
        for one, other in merges[: done[0]].tolist():
            kernels.merge(work.clusters, scratch, one, other)
            kernels.finish(work.clusters, scratch, one)
    waiting = work.with_status(kernels.WAITING, persons)
    done[1], saved = len(waiting), time.monotonic()
    is_new = True
    while done[1] > 1:
        index = work.build_index(waiting)
        if is_new:
            _find_all(work, index, engine, part(progress, 0.0, 0.3), f"{phase}: comparing histories")
            is_new = False
        n_places = 1 << (len(waiting) - 1).bit_length()
        winners = np.full(2 * n_places, -1, np.int64)
        winners[n_places : n_places + len(waiting)] = waiting
        search.advance(
            work.clusters,
            scratch,
            index,
            winners,
            merges,
            done,
            np.empty(max(FEWEST_NEW, len(waiting) // NEW_SHARE), np.int64),
            np.empty((len(index.nodes) + 1, 2), np.float64),
            work.nearest,
        )
        waiting = work.with_status(kernels.WAITING, persons)
        # Who waits is compared with who waits, so what is left to do goes with the square.
        progress(0.3 + 0.7 * (1 - (len(waiting) / len(persons)) ** 2), phase)
        if time.monotonic() - saved > BETWEEN:
            checkpoint.save(name, {"merges": merges[: done[0]]})
            saved = time.monotonic()
    checkpoint.save(name, {"merges": merges[: done[0]]})


def _find_all(
    work: Clustering, index: search.ClusterIndex, engine: Engine, progress: Progress, phase: str
) -> None:
    """Find the nearest of every waiting cluster; neighbours in the index share what is in the cache."""
    parts = [index.order[shard.start : shard.stop] for shard in engine.split(len(index.order))]
    found = list(engine.map(_find, parts, shared=(work, index), progress=progress, phase=phase))
    looking, partners = index.order, np.concatenate([partners for _, partners in found])
    work.nearest[looking] = np.concatenate([distances for distances, _ in found])
    work.state[looking, kernels.PARTNER] = partners
    work.state[looking, kernels.PARTNER_VERSION] = work.state[partners, kernels.VERSION]


def _find(
    looking: Counts, shared: tuple[Clustering, search.ClusterIndex], fresh: Counts = NOBODY
) -> tuple[search.Amounts, Counts]:
    """Return the distances and the nearest of some clusters, among those of an index and newer ones."""
    work, index = shared
    distances, partners = np.empty(len(looking), np.float64), np.empty(len(looking), np.int64)
    stack = np.empty((len(index.nodes) + 1, 2), np.float64)
    search.find_all_nearest(work.clusters, work.scratch(), index, fresh, looking, stack, distances, partners)
    return distances, partners


def assign_rest(work: Clustering, rest: int, finished: Counts) -> None:
    """Assign a cluster that is not finished to finished ones, for little extra loss while the share holds.

    The thesis drops it. That would tell of a person who is known to be in the data, and found nowhere, that
    they were among those with protected values.

    The cluster as a whole goes into one of them, or its persons one by one into several, whichever loses
    less. If neither is possible, the unassigned are merged with finished clusters until the share holds; with
    all of them it does. Everything happens among `rest` and `finished`.
    """
    chosen, extra = Assignment(work, finished).find(rest)
    members, _ = work.members(np.array([rest]))
    everybody, _ = work.members(np.append(finished, rest))
    before = SavedClusters.of(work, everybody)
    whole_worth = work.left_worth(np.append(finished, rest)) - extra
    finished, unassigned = _assign_persons(work, members, finished)
    if not len(unassigned) and (chosen < 0 or work.left_worth(finished) > whole_worth):
        return
    if chosen >= 0:
        before.go_back(work)
        work.merge(chosen, rest)
        return
    rest = int(unassigned[0])
    for other in unassigned[1:]:
        rest = work.merge(rest, int(other))
    chosen, _ = Assignment(work, finished).find(rest)
    if chosen >= 0:
        work.merge(chosen, rest)
        return
    rates = _rate(work, rest, finished)
    for each in finished[np.lexsort((finished, rates))]:
        rest = work.merge(int(each), rest)
        if work.state[rest, kernels.STATUS] == kernels.FINISHED:
            return


class Assignment:
    """Finds for a cluster the finished one to which it adds the least loss while that stays private."""

    def __init__(self, work: Clustering, finished: Counts) -> None:
        self.work, self.finished = work, finished.copy()
        self._index, self._fresh = work.build_index(finished), NOBODY

    def find(self, cluster: int) -> tuple[int, int]:
        """Return the finished cluster and the extra loss; -1 where none can take the cluster."""
        (extra,), (chosen,) = _find(np.array([cluster]), (self.work, self._index), self._fresh)
        return int(chosen), int(extra) if chosen >= 0 else 0

    def merge(self, chosen: int, person: int) -> None:
        """Merge a person into the finished cluster that was found."""
        both = self.work.merge(chosen, person)
        self.finished[self.finished == chosen] = both
        self._fresh = np.append(self._fresh, both)
        if len(self._fresh) == max(FEWEST_NEW, len(self.finished) // NEW_SHARE):
            self._index, self._fresh = self.work.build_index(self.finished), NOBODY


def _assign_persons(work: Clustering, members: Counts, finished: Counts) -> tuple[Counts, Counts]:
    """Put persons one by one into finished clusters; return these, and the unassigned.

    Those without protected values come first, because they make room for the others.
    """
    work.restore(members)
    order = np.lexsort((members, work.state[members, kernels.AT_RISK] > 0))
    assignment = Assignment(work, finished)
    unassigned = []
    for person in members[order].tolist():
        chosen, _ = assignment.find(person)
        if chosen < 0:
            unassigned.append(person)
        else:
            assignment.merge(chosen, person)
    return np.sort(assignment.finished), np.sort(np.array(unassigned, np.int64))


def _rate(work: Clustering, cluster: int, finished: Counts) -> search.Amounts:
    """Return for each finished cluster the loss of merging with it for each person fewer above the share.

    Each merge is tried, and taken back.
    """
    state = work.state

    def excess(which: int) -> float:
        return float(work.n_at_risk(which) - work.rules.c * state[which, kernels.COUNTED])

    before, rates = excess(cluster), np.full(len(finished), np.inf)
    for i, other in enumerate(finished.tolist()):
        both = np.array([cluster, other])
        snapshot, worth = SavedClusters.of(work, work.members(both)[0]), work.left_worth(both)
        merged = work.merge(other, cluster)
        extra, relief = worth - work.left_worth(np.array([merged])), before - excess(merged)
        snapshot.go_back(work)
        if relief > LEAST_RELIEF:
            rates[i] = extra / relief
    return rates


PASSES = 3
MOST_WORK = 30_000_000_000
"""Cells that are looked at for all persons, at most: about a minute of one processor."""
PER_CALL = 20_000
"""Cells that the call of a kernel counts as."""
MOST_STARTS = 8
"""Persons of a large class around whom a class of their own is tried."""
MOST_MEMBERS = 256
"""Persons of two classes up to whom they are compared one by one."""


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
        # Classes are small, and this is asked for often: numpy would be called several times per member.
        following, found = self.work.state[:, kernels.NEXT], []
        while cluster >= 0:
            found.append(cluster)
            cluster = int(following[cluster])
        return np.array(sorted(found), np.int64)

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
            fresh: dict[int, None] = {}
            # The index is made again when too many classes are not in it.
            while cluster < len(work.state) and len(fresh) <= 128 + len(finished) // 32:
                if self.can_go_on and self.is_finished(cluster):
                    one = cluster
                    for near in self._nearest(cluster, index, np.array([*fresh], np.int64)):
                        one, other = self.exchange(one, near)
                        fresh |= {
                            each: None for each in (one, other) if not work.state[each, kernels.INDEXED]
                        }
                cluster += 1

    def _nearest(self, cluster: int, index: search.ClusterIndex, fresh: Counts) -> list[int]:
        """List the classes to which the members of a class would add the least loss."""
        work, members = self.work, self.members(cluster)
        if len(members) >= MOST_MEMBERS:
            return []
        events, _ = work.events_of(members)
        state, cells = work.state[members], work.clusters.cells[events]
        work.state[members], work.clusters.cells[events] = self.alone.state[members], self.alone.cells[events]
        # One call for all of them: to call a kernel takes the lock, which blocks side by side wait for.
        _, near = _find(members, (work, index), fresh)
        self.left_work -= len(members) * PER_CALL
        work.state[members], work.clusters.cells[events] = state, cells
        return [other for other in dict.fromkeys(near.tolist()) if other >= 0]

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
