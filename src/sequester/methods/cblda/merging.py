"""Merge the two nearest clusters until at most one is unfinished (Algorithm 5.1), and assign who is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import part
from sequester.kernels.rows import fold_rows
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda import _search_kernels as search
from sequester.methods.cblda.clusters import SavedClusters

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.methods.cblda.clusters import Clustering

FEWEST_NEW, NEW_SHARE = 128, 32
"""The index is made again after so many new clusters, or after one for so many that are in it."""
BETWEEN = 20.0
"""Seconds between two steps that are kept."""
LEAST_RELIEF = 1e-9
"""Persons above the share by whom a merge must bring them down, to be any help."""


def merge_nearest(
    work: Clustering,
    persons: Counts,
    *,
    engine: Engine,
    progress: Progress,
    checkpoint: Checkpoint,
    name: str,
    phase: str,
) -> None:
    """Cluster some persons, each of whom is a cluster of their own.

    Parameters
    ----------
    work
        What is clustered; clusters of others are left alone.
    persons
        Who, in ascending order.
    engine
        Looks for all nearest clusters side by side.
    progress
        Called with the share that is finished.
    checkpoint
        Keeps the merges that were made, under `name`.
    name
        Tells this part of the work from others.
    phase
        The phase that progress is called with.
    """
    scratch = work.scratch()
    if work.rules.only_equals_touch:
        _merge_equal(work, persons, scratch)
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


def _merge_equal(work: Clustering, persons: Counts, scratch: kernels.Scratch) -> None:
    """Merge equal histories first: they are at no distance, and all others are at some."""
    events, offsets = work.events_of(persons)
    groups, firsts = fold_rows(work.nodes[events].reshape(-1), offsets * work.nodes.shape[1])
    kernels.merge_equal(work.clusters, scratch, persons, groups, np.full(len(firsts), -1, np.int64))


def _find_all(work: Clustering, index: search.Index, engine: Engine, progress: Progress, phase: str) -> None:
    """Find the nearest of every waiting cluster; neighbours in the index share what is in the cache."""
    parts = [index.order[shard.start : shard.stop] for shard in engine.split(len(index.order))]
    found = list(engine.map(_find, parts, shared=(work, index), progress=progress, phase=phase))
    looking, partners = index.order, np.concatenate([partners for _, partners in found])
    work.nearest[looking] = np.concatenate([distances for distances, _ in found])
    work.state[looking, kernels.PARTNER] = partners
    work.state[looking, kernels.PARTNER_VERSION] = work.state[partners, kernels.VERSION]


def _find(looking: Counts, shared: tuple[Clustering, search.Index]) -> tuple[search.Amounts, Counts]:
    """Return the distances and the nearest of some clusters."""
    work, index = shared
    distances, partners = np.empty(len(looking), np.float64), np.empty(len(looking), np.int64)
    stack = np.empty((len(index.nodes) + 1, 2), np.float64)
    search.find_all_nearest(work.clusters, work.scratch(), index, looking, stack, distances, partners)
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
        self.scratch = work.scratch()
        self.fresh = np.empty(max(FEWEST_NEW, len(finished) // NEW_SHARE), np.int64)
        self._index()

    def _index(self) -> None:
        self.index, self.n_fresh = self.work.build_index(self.finished), 0
        self.stack = np.empty((len(self.index.nodes) + 1, 2), np.float64)

    def find(self, cluster: int) -> tuple[int, int]:
        """Return the finished cluster and the extra loss; -1 where none can take the cluster."""
        extra, chosen = search.find_nearest(
            self.work.clusters, self.scratch, self.index, self.fresh, self.n_fresh, cluster, self.stack
        )
        return chosen, int(extra) if chosen >= 0 else 0

    def merge(self, chosen: int, person: int) -> None:
        """Merge a person into the finished cluster that was found."""
        both = self.work.merge(chosen, person)
        self.finished[self.finished == chosen] = both
        self.fresh[self.n_fresh] = both
        self.n_fresh += 1
        if self.n_fresh == len(self.fresh):
            self._index()


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
