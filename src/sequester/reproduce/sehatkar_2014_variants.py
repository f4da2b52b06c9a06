"""What Sehatkar (2014) may have done where the thesis leaves it open: baseline, queries and codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.datasets import desynpuf
from sequester.methods.cblda import _alignment_kernels as kernels
from sequester.methods.cblda.algorithm import ClassSolution
from sequester.methods.cblda.clusters import ProtectedValues, QuasiTrees
from sequester.methods.cblda.method import CBLDABaseline
from sequester.methods.cblda.publish import publish
from sequester.utility.queries import Query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.release.outcome import Outcome
    from sequester.release.randomness import Randomness
    from sequester.reproduce.plan import Rows, Value

TOBACCO = "3051"
"""The code that half of our protected claims have."""


@dataclass(frozen=True, kw_only=True)
class RandomClasses(CBLDABaseline):
    """Classes of persons who come together by chance: what the Baseline of the thesis may have been.

    It is said to be inspired by classifiers that guess. Our `CBLDABaseline` merges the nearest.
    """

    def resume(
        self,
        table: EventTable,
        *,
        randomness: Randomness,
        engine: Engine,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> Outcome:
        """Put persons into classes by lot, and make those of a class look alike."""
        del engine, progress, checkpoint
        trees = QuasiTrees.of(table)
        nodes, offsets = trees.nodes_of(table), table.person_offsets
        draw = np.random.default_rng(int(randomness.numbers("classes", 1)[0]))
        class_of_person = np.empty(table.n_persons, np.int64)
        is_kept, shown = np.zeros(table.n_events, np.bool_), np.zeros(nodes.shape, np.int32)
        for members in self._classes(table, draw):
            class_of_person[members] = members.min()
            n_events = int(np.diff(offsets)[members].min())
            chosen = np.stack(
                [
                    offsets[each] + np.sort(draw.permutation(offsets[each + 1] - offsets[each])[:n_events])
                    for each in members.tolist()
                ]
            )
            is_kept[chosen] = True
            low, high = nodes[chosen].min(axis=0), nodes[chosen].max(axis=0)
            while (apart := trees.nodes[low, kernels.END] <= high).any():
                low = np.where(apart, trees.nodes[low, kernels.PARENT], low)
            shown[chosen] = low
        solution = ClassSolution(
            trees=trees,
            class_of_person=class_of_person,
            is_released=np.ones(table.n_persons, np.bool_),
            is_kept=is_kept,
            shown=shown,
            class_size=np.bincount(class_of_person)[class_of_person],
            n_blocks=1,
        )
        return publish(table, solution, self.plan())

    def _classes(self, table: EventTable, draw: np.random.Generator) -> list[Counts]:
        """Return persons by lot, each class as soon as it is large enough and few enough are at risk."""
        owners, _ = ProtectedValues.of(table).of_persons(table.person_offsets)
        is_at_risk = np.bincount(owners, minlength=table.n_persons) > 0
        classes: list[list[int]] = [[]]
        for person in draw.permutation(table.n_persons).tolist():
            classes[-1].append(person)
            if len(classes[-1]) >= self.k and is_at_risk[classes[-1]].mean() <= self.plan().c:
                classes.append([])
        rest = classes.pop()
        while rest and (len(rest) < self.k or is_at_risk[rest].mean() > self.plan().c):
            rest += classes.pop()
        return [np.array(each, np.int64) for each in [*classes, rest] if each]


def leaf_queries(table: EventTable, n: int) -> list[Query]:
    """Draw queries in which every value that occurs is as likely as any other, however rare, and as it was.

    A value of a column is drawn, then somebody who has it, and up to two more of their events, each with up
    to two more values.
    """
    draw, sequences = np.random.default_rng(0), table.sequences
    names = list(table.schema.quasi)
    by_code = {
        name: np.split(order, np.flatnonzero(np.diff(sequences.columns[name][order])) + 1)
        for name in names
        for order in [np.argsort(sequences.columns[name], kind="stable")]
    }
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    queries = []
    for number in range(n):
        first = names[draw.integers(len(names))]
        holders = by_code[first][draw.integers(len(by_code[first]))]
        event = int(holders[draw.integers(len(holders))])
        own = np.arange(*table.person_offsets[owners[event] : owners[event] + 2])
        more = draw.permutation(own[own != event])[: draw.integers(3) if number % 2 else 0]
        asked = []
        for each in sorted([event, *more.tolist()]):
            others = draw.permutation(names)[: draw.integers(1, min(3, len(names)) + 1)].tolist()
            asked.append(
                {
                    name: (sequences.codebooks[name].labels[sequences.columns[name][each]],)
                    for name in dict.fromkeys([first, *others] if each == event else others)
                }
            )
        queries.append(Query(tuple(asked)))
    return queries


def protected_claims(samples: Sequence[Path]) -> Rows:
    """Count, per sample, the share of claims with a code of Table 6.2, among their first codes."""
    rows: list[dict[str, Value]] = []
    for path in samples:
        counted = desynpuf.protected_shares(path, without=TOBACCO)
        rows += [{"sample": path.name.split(".")[0].rsplit("_", 1)[1], **each} for each in counted]
    return rows
