"""Merge the two nearest clusters until at most one is unfinished, step by step, and to be continued."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import part
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.methods.cblda.work import Work

FEWEST_NEW, NEW_SHARE = 128, 32
"""The index is made again after so many new clusters, or after one for so many waiting ones."""
BETWEEN = 20.0
"""Seconds between two steps that are kept."""


def agglomerate(
    work: Work,
    persons: Counts,
    *,
    engine: Engine | None,
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
        Looks for all nearest clusters side by side; None looks one by one.
    progress
        Hears how many are finished.
    checkpoint
        Keeps the merges that were made, under `name`.
    name
        Tells this part of the work from others.
    phase
        What is said to go on.
    """
    forest, clusters, demand = work.trees.kernel, work.clusters, work.demand
    if work.only_equals_touch:
        _fold(work, persons)
    merges = np.empty((len(persons), 2), np.int32)
    kept = checkpoint.load(name)
    n_merges = 0
    if kept is not None:
        n_merges = len(kept["merges"])
        merges[:n_merges] = kept["merges"]
        kernels.agglomeration.repeat_merges(forest, clusters, demand, merges[:n_merges], work.longest)
    waiting = _still_waiting(work, persons)
    n_waiting, saved = len(waiting), time.monotonic()
    is_new = True
    while n_waiting > 1:
        index = kernels.cluster_index.build_index(forest, clusters, waiting)
        if is_new:
            _find_all(work, index, engine, part(progress, 0.0, 0.3), f"{phase}: comparing histories")
            is_new = False
        winners = kernels.agglomeration.begin_tournament(clusters, waiting)
        n_merges, n_waiting = kernels.agglomeration.advance(
            forest,
            clusters,
            demand,
            index,
            winners,
            merges,
            n_merges,
            n_waiting,
            max(FEWEST_NEW, n_waiting // NEW_SHARE),
            work.longest,
        )
        waiting = _still_waiting(work, persons)
        # Who waits is compared with who waits, so what is left to do goes with the square.
        progress(0.3 + 0.7 * (1 - (n_waiting / len(persons)) ** 2), phase)
        if time.monotonic() - saved > BETWEEN:
            checkpoint.save(name, {"merges": merges[:n_merges]})
            saved = time.monotonic()
    checkpoint.save(name, {"merges": merges[:n_merges]})


def _still_waiting(work: Work, persons: Counts) -> Codes:
    status = work.clusters.status[persons]
    waiting: Codes = persons[status == kernels.clusters.WAITING].astype(np.int32)
    return waiting


def _find_all(work: Work, index: object, engine: Engine | None, progress: Progress, phase: str) -> None:
    """Find the nearest of every waiting cluster; neighbours in the index share what is in the cache."""
    order = index.order  # type: ignore[attr-defined]

    def find(shard: range) -> None:
        kernels.cluster_index.find_many(
            work.trees.kernel,
            work.clusters,
            work.demand,
            index,
            order[shard.start : shard.stop],
            work.longest,
        )

    if engine is None:
        find(range(len(order)))
    else:
        engine.map(find, engine.split(len(order)), progress=progress, phase=phase)


def _fold(work: Work, persons: Counts) -> None:
    """Merge equal histories first: they are at no distance, and all others are at some."""
    state = work.clusters
    n_quasi = state.nodes.shape[1]
    cells, offsets = gather_rows(state.nodes.reshape(-1), state.offsets * n_quasi, persons)
    groups, firsts = kernels.rows.fold_rows(cells, offsets)
    kernels.clusters.fold_equal(
        work.trees.kernel, state, work.demand, persons, groups, len(firsts), work.longest
    )
