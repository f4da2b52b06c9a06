"""The clustering of CBLDA (Sehatkar 2014, chapter 5): from a table to classes of persons who look alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.engine import part, silent
from sequester.engine.progress import NoCheckpoint
from sequester.errors import UnattainableError
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda.clusters import Clustering, ClusterRows, ProtectedValues, SavedClusters
from sequester.methods.cblda.merging import MOST_WORK, PHASE, assign_rest, improve, merge_nearest
from sequester.methods.feasibility import Holders, has_rules
from sequester.ragged import offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.methods.cblda.clusters import ClassRules, QuasiTrees
    from sequester.methods.cblda.method import KCMethod
    from sequester.release.randomness import Randomness

EXACT = 60_000
"""Persons up to which ``block = "auto"`` compares everybody with everybody."""
BLOCK = 2_500
"""Persons of a block above that."""
COLUMNS = 10
"""Quasi-identifiers up to which these numbers hold; with more of them, they are as many times smaller."""


def block_sizes(method: KCMethod, n_columns: int) -> tuple[float, int]:
    """Return up to how many persons everybody is compared with everybody, and the persons of a block above.

    Unless they are given, both are smaller with many quasi-identifiers, so that it takes no longer.
    """
    if method.block is False:
        return np.inf, BLOCK
    if method.block != "auto":
        return method.block, method.block
    n_columns = max(n_columns, COLUMNS)
    return EXACT * COLUMNS // n_columns, max(BLOCK * COLUMNS // n_columns, 2 * method.k)


def most_work(method: KCMethod, n_columns: int) -> int:
    """Return the cells that improving classes may look at: fewer with many quasi-identifiers."""
    if method.search == "greedy":
        return 0
    return MOST_WORK * COLUMNS // max(n_columns, COLUMNS) if method.block == "auto" else MOST_WORK


@dataclass(frozen=True, eq=False)
class ClassSolution:
    """A release before it is written."""

    trees: QuasiTrees
    """The quasi-identifiers."""
    class_of_person: Counts
    """Person to the smallest person of their class."""
    is_released: Mask
    """Person to whether they are released; others are only covered by a class."""
    is_kept: Mask
    """Event to whether it stands behind what its class shows."""
    shown: Codes
    """The node that is shown of each cell of such an event."""
    class_size: Counts
    """Person to the persons of their class who are released."""
    n_blocks: int
    """Blocks that were clustered by themselves."""

    @classmethod
    def of(cls, work: Clustering, *, n_blocks: int) -> ClassSolution:
        """Return what the clusters show."""
        state, cells = work.state, work.clusters.cells
        _, class_of_person = work.members(work.finished)
        lengths = state[class_of_person, kernels.LENGTH]
        # What a class shows, once for each of its persons, and the person's own event behind it.
        places = places_of(offsets_of(lengths))
        starts = np.repeat(state[:, kernels.START], lengths)
        events = starts + cells[starts + places, -1]
        is_kept = np.zeros(len(work.nodes), np.bool_)
        is_kept[events] = True
        shown = np.zeros(work.nodes.shape, np.int32)
        shown[events] = cells[np.repeat(state[class_of_person, kernels.START], lengths) + places, 0:-1:2]
        return cls(
            trees=work.trees,
            class_of_person=class_of_person,
            is_released=state[:, kernels.IS_COUNTED] > 0,
            is_kept=is_kept,
            shown=shown,
            class_size=state[class_of_person, kernels.COUNTED],
            n_blocks=n_blocks,
        )

    @property
    def n_dropped(self) -> int:
        """Persons who are not released."""
        return int((~self.is_released).sum())


def solve(
    table: EventTable,
    method: KCMethod,
    *,
    randomness: Randomness,
    engine: Engine,
    progress: Progress,
    checkpoint: Checkpoint,
) -> ClassSolution:
    """Return the classes, or raise where there cannot be any."""
    progress(0.0, "reading histories")
    values = ProtectedValues.of(table)
    # Who is left out does not depend on their quasi-identifiers, and will be covered by a class.
    each = method.reading == "each"
    is_left = holders_of(table, values, each=each).choose_persons(
        method.k,
        method.share,
        drop=method.infeasible == "drop",
        has_rules=has_rules(table),
        order=randomness.numbers("left out", table.n_persons),
    )
    seed = -1 if method.aligns else int(randomness.numbers("suppression", 1)[0] >> np.uint64(32))
    work = Clustering.of(table, values, is_left, k=method.k, c=method.share, each=each, seed=seed)
    everybody = np.arange(table.n_persons)
    blocks = [everybody]
    exact, block = block_sizes(method, len(table.schema.quasi))
    budget = most_work(method, len(table.schema.quasi))
    if len(everybody) > exact:
        progress(0.02, "ordering similar histories")
        # Similar histories, and nearly equally many persons in each.
        order = work.build_index(everybody).order
        blocks = [np.sort(each) for each in np.array_split(order, -(-len(order) // block))]
    merging = part(progress, 0.05, 0.85)
    if len(blocks) == 1:
        merge_nearest(work, everybody, engine=engine, progress=merging, checkpoint=checkpoint)
    else:
        _block_by_block(work, blocks, engine, merging, checkpoint, budget=budget)
    progress(0.85, "assigning remaining persons")
    for rest in work.waiting:
        assign_rest(work, int(rest), work.finished)
    if method.split:
        _split(work, part(progress, 0.9, 0.98))
    if budget and len(blocks) == 1:
        improve(work, budget, part(progress, 0.9, 0.98))
    progress(0.98, "assembling the release")
    solution = ClassSolution.of(work, n_blocks=len(blocks))
    try:
        refuse_broken_rules(table, solution)
    except UnattainableError:
        if method.search == "greedy":
            raise
        # What must not be suppressed may be in the other classes.
        method = replace(method, search="greedy")  # type: ignore[call-arg]  # a CBLDA
        return solve(
            table, method, randomness=randomness, engine=engine, progress=progress, checkpoint=NoCheckpoint()
        )
    return solution


def _block_by_block(
    work: Clustering,
    blocks: list[Counts],
    engine: Engine,
    progress: Progress,
    checkpoint: Checkpoint,
    *,
    budget: int,
) -> None:
    """Cluster each block by itself, then everybody who is left over in any of them together."""
    left = []
    for number, persons in enumerate(blocks):
        kept = checkpoint.load(f"block-{number}")
        if kept is None:
            left.append(number)
        else:
            SavedClusters.taken(work, persons, kept["state"], kept["cells"]).go_back(work)  # type: ignore[arg-type]
    clustered = engine.map(
        _cluster_block,
        _Blocks(work, [blocks[number] for number in left]),
        shared=(work.rules, budget // len(blocks)),
        progress=part(progress, 0.0, 0.9),
        phase=f"{len(blocks):,} blocks: {PHASE}",
    )
    for number, (state, cells) in zip(left, clustered, strict=True):
        checkpoint.save(f"block-{number}", {"state": state, "cells": cells})
        SavedClusters.taken(work, blocks[number], state, cells).go_back(work)
    pooled, _ = work.members(work.waiting)
    rest = Clustering.begin(work.take(pooled), work.rules)
    merge_nearest(
        rest,
        np.arange(len(pooled)),
        engine=engine,
        progress=part(progress, 0.9, 1.0),
        checkpoint=checkpoint,
        name="pooled",
        phase="merging remaining persons",
    )
    SavedClusters.taken(work, pooled, rest.state, rest.clusters.cells).go_back(work)


class _Blocks(Sequence[ClusterRows]):
    """The persons of each block, taken out when they are asked for."""

    def __init__(self, work: Clustering, blocks: list[Counts]) -> None:
        self._work, self._blocks = work, blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, place: Any) -> Any:
        return self._work.take(self._blocks[place])


def _cluster_block(histories: ClusterRows, shared: tuple[ClassRules, int]) -> tuple[Counts, Codes]:
    """Cluster persons among themselves, and return their state and their cells."""
    rules, budget = shared
    work = Clustering.begin(histories, rules)
    merge_nearest(work, np.arange(len(histories.is_counted)))
    if budget:
        improve(work, budget, silent)
    return work.state, work.clusters.cells


def _split(work: Clustering, progress: Progress) -> None:
    """Divide classes of twice k or more again, as often as that leaves more of them."""

    def list_large(classes: Counts) -> list[int]:
        return [int(each) for each in classes if work.state[each, kernels.COUNTED] >= 2 * work.rules.k]

    large = list_large(work.finished)
    n_done, n_all = 0, len(large)
    while large:
        progress(n_done / n_all, "dividing large classes")
        parts = _divide(work, large.pop())
        n_done += 1
        if len(parts) > 1:
            again = list_large(parts)
            large += again
            n_all += len(again)


def _divide(work: Clustering, cluster: int) -> Counts:
    """Cluster the persons of a class anew, if more is left of them so; return their classes."""
    members, _ = work.members(np.array([cluster]))
    before, worth = SavedClusters.of(work, members), work.left_worth(np.array([cluster]))
    work.restore(members)
    merge_nearest(work, members)
    finished = work.with_status(kernels.FINISHED, members)
    for rest in work.with_status(kernels.WAITING, members):
        if len(finished):
            assign_rest(work, int(rest), finished)
    classes: Counts = members[work.state[members, kernels.STATUS] != kernels.GONE]
    is_done = bool((work.state[classes, kernels.STATUS] == kernels.FINISHED).all())
    if is_done and len(classes) > 1 and work.left_worth(classes) > worth:
        return classes
    before.go_back(work)
    return np.array([cluster])


def holders_of(table: EventTable, values: ProtectedValues, *, each: bool) -> Holders:
    """Return who has which protected value, or, where not each counts by itself, who has any."""
    owners, codes = values.of_persons(table.person_offsets)
    if each:
        return Holders(owners, codes, values.names, table.n_persons)
    owners = np.unique(owners)
    return Holders(owners, np.zeros(len(owners), np.int32), (None,), table.n_persons)


def refuse_broken_rules(table: EventTable, solution: ClassSolution) -> None:
    """Refuse classes that show nothing, or that do to a value what it must never suffer."""
    lengths = np.bincount(owners_of(table.person_offsets)[solution.is_kept], minlength=table.n_persons)
    if table.of_persons:
        # The first event holds the person's attributes, without which nobody is released.
        lengths = solution.is_kept[table.person_offsets[:-1]].astype(np.int64)
    if (lengths == 0).any():
        capped = [name for name, quasi in table.schema.quasi.items() if quasi.max_level is not None]
        n_empty = int((lengths == 0).sum())
        what = "attributes" if table.of_persons else "events"
        msg = (
            f"{n_empty:,} of {table.n_persons:,} persons would lose all their {what}, because max_level of "
            f"{', '.join(capped) or 'no column'} and never_suppress keep values apart"
        )
        raise UnattainableError(msg)
    for quasi, name in enumerate(solution.trees.names):
        labels = table.sequences.codebooks[name].labels
        kept = table.schema.quasi[name].never_suppress
        must_stay = np.array([*(label in kept for label in labels), False], np.bool_)
        must_stay = must_stay[table.sequences.columns[name]]
        is_root = solution.shown[:, quasi] == solution.trees.first[quasi]
        broken = np.flatnonzero(must_stay & (~solution.is_kept | is_root))
        if len(broken):
            label = labels[table.sequences.columns[name][broken[0]]]
            msg = (
                f"never_suppress of {name} cannot be kept: {label!r} would be suppressed, "
                f"{len(broken):,} times, first in row {table.rows[broken[0]]:,}"
            )
            raise UnattainableError(msg)
