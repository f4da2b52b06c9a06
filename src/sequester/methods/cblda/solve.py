"""From a table and a demand to classes of persons who will look alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import part, silent
from sequester.engine.progress import NoCheckpoint
from sequester.methods.cblda.absorb import absorb
from sequester.methods.cblda.agglomerate import agglomerate
from sequester.methods.cblda.feasibility import choose_persons, refuse_broken_rules, refuse_impossible
from sequester.methods.cblda.forest import Trees
from sequester.methods.cblda.solution import Solution
from sequester.methods.cblda.work import Snapshot, Values, Work

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.release.randomness import Randomness

EXACT = 60_000
"""Persons up to which ``block = "auto"`` compares everybody with everybody."""
BLOCK = 2_500
"""Persons of a block above that."""
PHASE = "merging the nearest histories"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked for."""

    k: int
    """Persons of a class."""
    c: float
    """Largest share at risk."""
    each: bool
    """Every protected value by itself."""
    drop: bool
    """Leave out persons where too many are at risk."""
    split: bool
    """Divide large classes again."""
    is_random: bool
    """Suppress at random instead of aligning."""
    exact: int | None
    """Persons up to which everybody is compared with everybody; None: whatever their number."""
    block: int
    """Persons of a block above that."""


def solve(
    table: EventTable,
    plan: Plan,
    *,
    randomness: Randomness,
    engine: Engine,
    progress: Progress,
    checkpoint: Checkpoint,
) -> Solution:
    """Find the classes, or say why there cannot be any."""
    progress(0.0, "reading histories")
    values = Values.of(table)
    refuse_impossible(table, values, plan.k, plan.c, each=plan.each, drop=plan.drop)
    is_counted = choose_persons(table, values, plan.c, plan.k, each=plan.each, randomness=randomness)
    work = Work.of(
        table,
        Trees.of(table),
        values,
        is_counted,
        k=plan.k,
        c=plan.c,
        each=plan.each,
        seed=int(randomness.numbers("suppression", 1)[0] >> np.uint64(32)) if plan.is_random else None,
    )
    everybody = np.arange(table.n_persons)
    blocks = [everybody]
    if plan.exact is not None and len(everybody) > plan.exact:
        progress(0.02, "putting neighbours together")
        blocks = _neighbours(work, everybody, plan.block)
    merging = part(progress, 0.05, 0.85)
    if len(blocks) == 1:
        agglomerate(
            work,
            everybody,
            engine=engine,
            progress=merging,
            checkpoint=checkpoint,
            name="merges",
            phase=PHASE,
        )
    else:
        _block_by_block(work, blocks, engine, merging, checkpoint)
    progress(0.85, "placing who is left over")
    for rest in work.waiting:
        absorb(work, int(rest), work.finished)
    if plan.split:
        _split(work, part(progress, 0.9, 0.98))
    progress(0.98, "writing down what is released")
    solution = Solution.of(work, n_blocks=len(blocks))
    refuse_broken_rules(table, solution)
    return solution


def _neighbours(work: Work, persons: Counts, block: int) -> list[Counts]:
    """Cut persons into blocks of similar histories, of at most `block` and nearly equally many persons."""
    index = kernels.cluster_index.build_index(work.trees.kernel, work.clusters, persons.astype(np.int32))
    order = persons[np.searchsorted(persons, index.order)]
    return [np.sort(each) for each in np.array_split(order, -(-len(order) // block))]


def _block_by_block(
    work: Work, blocks: list[Counts], engine: Engine, progress: Progress, checkpoint: Checkpoint
) -> None:
    """Cluster each block by itself, then everybody who is left over in any of them together."""

    def cluster(shard: range) -> None:
        for number in shard:
            agglomerate(
                work,
                blocks[number],
                engine=None,
                progress=silent,
                checkpoint=checkpoint,
                name=f"block-{number}",
                phase="",
            )

    shards = [range(number, number + 1) for number in range(len(blocks))]
    engine.map(cluster, shards, progress=part(progress, 0.0, 0.9), phase=f"{len(blocks):,} blocks: {PHASE}")
    left = [work.members(int(each)) for each in work.waiting]
    pooled = np.sort(np.concatenate([np.empty(0, np.int64), *left]))
    work.restore(pooled)
    agglomerate(
        work,
        pooled,
        engine=engine,
        progress=part(progress, 0.9, 1.0),
        checkpoint=checkpoint,
        name="pooled",
        phase="merging who is left over",
    )


def _split(work: Work, progress: Progress) -> None:
    """Divide classes of twice k or more again, as often as that leaves more of them."""
    large = [int(each) for each in work.finished if work.clusters.counted[each] >= 2 * work.demand.k]
    n_done, n_all = 0, len(large)
    while large:
        progress(n_done / n_all, "dividing large classes")
        cluster = large.pop()
        parts = _divide(work, cluster)
        n_done += 1
        again = [each for each in parts if work.clusters.counted[each] >= 2 * work.demand.k]
        if len(parts) > 1:
            large += again
            n_all += len(again)


def _divide(work: Work, cluster: int) -> list[int]:
    """Cluster the persons of a class anew, if more is left of them so; give the classes they are in then."""
    members = np.sort(work.members(cluster))
    before, worth = Snapshot.of(work, members), work.left_worth(np.array([cluster]))
    work.restore(members)
    agglomerate(work, members, engine=None, progress=silent, checkpoint=NoCheckpoint(), name="", phase="")
    ours = members[work.clusters.status[members] != kernels.clusters.GONE]
    finished = ours[work.clusters.status[ours] == kernels.clusters.FINISHED]
    for rest in ours[work.clusters.status[ours] == kernels.clusters.WAITING]:
        if len(finished):
            absorb(work, int(rest), finished)
    ours = members[work.clusters.status[members] != kernels.clusters.GONE]
    is_done = bool((work.clusters.status[ours] == kernels.clusters.FINISHED).all())
    if is_done and len(ours) > 1 and work.left_worth(ours) > worth:
        return [int(each) for each in ours]
    before.go_back(work)
    return [cluster]
