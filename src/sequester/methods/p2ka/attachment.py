"""Which path of the pruned prefix tree every sequence is released as, brought to a fixpoint."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import part, silent
from sequester.methods.p2ka.prefix_tree import ROOT, PrefixTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Mask
    from sequester.data.sequences import Distinct
    from sequester.engine import Engine, Progress

PHASE = "finding the closest paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A node for every distinct sequence; its path is what is released of those who have the sequence."""

    tree: PrefixTree
    """The kept nodes."""
    targets: Codes
    """For each distinct sequence its node; the root says that nothing is released."""
    is_cut: Mask
    """The sequence does not end on a kept node."""
    cut_share: float
    """Share of the persons whose sequence is cut."""
    n_rounds: int
    """How often persons were counted."""

    @property
    def releases_nothing(self) -> bool:
        """No person keeps anything."""
        return not (self.targets != ROOT).any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacher:
    """Finds a place in the pruned prefix tree for every sequence.

    1. Keep the nodes that at least k persons pass. 2. A sequence that ends on a kept node stays; any other is
    cut, whole. 3. A cut sequence moves to the node that has most in common with it; where nothing is common,
    or without `reattach`, it is dropped. 4. With `strict`, count again who passes each kept node, remove the
    nodes with fewer than k, and repeat from 2 with the original sequences until no node is removed.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.engine import LocalEngine
    >>> distinct = Sequences.from_rows(["AB", "ABXYZ", "CXYZ", "CXYZ"]).distinct()
    >>> for strict in (False, True):
    ...     attacher = Attacher(distinct=distinct, strict=strict, reattach=True, engine=LocalEngine())
    ...     attachment = attacher.run(2)
    ...     print(attachment.tree.depths[attachment.targets].tolist())  # of AB, ABXYZ and CXYZ
    [2, 4, 4]
    [0, 4, 4]
    """

    distinct: Distinct
    """The sequences and how many persons have each."""
    strict: bool
    """Count those who pass a node in the release, too."""
    reattach: bool
    """Move cut sequences to their closest path."""
    engine: Engine
    """Runs shards of cut sequences."""
    weigh: Callable[[Codes], Codes] | None = None
    """What pairs of symbols have in common, where near ones have something; see `PrefixTree.closest`."""

    def run(self, k: int, *, progress: Progress = silent) -> Attachment:
        """Find the places for one k."""
        weights = self.distinct.weights
        tree, deepest = PrefixTree.grow(self.distinct, k)
        targets = np.full(self.distinct.n_rows, -1, np.int32)
        for n_rounds in count(1):
            is_cut = tree.depths[deepest] < self.distinct.lengths
            targets[~is_cut] = deepest[~is_cut]
            # Only sequences without a target are matched: those cut for the first time, and those whose
            # target was removed. The others would find the same target again: the nodes of this round are
            # among those of the round before, so what was cut stays cut; and a target comes first among the
            # nodes in a strict order that depends on the sequence and the node alone (most in common, then
            # shallowest, then label), so it comes first in every subset that still has it. The root is never
            # removed, and who was left there has nothing in common with the fewer nodes either.
            homeless = np.flatnonzero(targets < 0)
            if self.reattach:
                targets[homeless] = tree.closest(
                    self.distinct,
                    homeless,
                    deepest[homeless],
                    engine=self.engine,
                    weigh=self.weigh,
                    # Rounds get shorter, and nobody knows how many there are.
                    progress=part(progress, 1 - 0.5 ** (n_rounds - 1), 1 - 0.5**n_rounds),
                )
            else:
                targets[homeless] = ROOT
            kept = tree.passing(targets, self.distinct) >= k
            kept[ROOT] = True
            if not self.strict or kept.all():
                break
            tree, nearest = tree.prune(kept)
            targets = np.where(kept[targets], nearest[targets], np.int32(-1))
            deepest = nearest[deepest]
        progress(1.0, PHASE)
        return Attachment(
            tree=tree,
            targets=targets,
            is_cut=is_cut,
            cut_share=int(weights[is_cut].sum()) / max(int(weights.sum()), 1),
            n_rounds=n_rounds,
        )
