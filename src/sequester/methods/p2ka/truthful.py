"""Truthful reconstruction: of every sequence the longest part that enough persons share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.data.sequences import Distinct, Sequences
from sequester.engine import part, silent
from sequester.errors import ParameterError
from sequester.methods.p2ka import _kernels
from sequester.methods.p2ka.algorithm import ROOT, PrefixTree, Reconstruction, Reconstructor
from sequester.mining.frequent import frequent
from sequester.mining.support import supports_of_codes
from sequester.ragged import gather_rows, offsets_of, owners_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.mining.frequent import Patterns

MAX_CANDIDATES = 200_000
"""Frequent patterns that persons choose among; where there are more, the longest and rarest are left out."""
LENGTHS = (None, 8, 6, 5, 4, 3, 2, 1)
"""Longest patterns that are looked for, until these are not too many."""
ROUNDS = 5
"""Times that persons choose anew among parts of one length before they choose among shorter ones."""
PHASE = "finding the longest common parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthfulReconstructor(Reconstructor):
    """Finds for every sequence a part of it that at least k released sequences contain.

    Candidates are the frequent subsequences and the prefixes that enough persons begin with. Every sequence
    chooses the longest candidate that it contains; among equals the one with most supporters, then the first
    in label order. From the longest choices to the shortest: those that at least k persons' choices contain
    are settled, and the others are removed from the candidates, so that their persons choose anew. What
    contains a choice is at least as long and settled before or with it, so nothing that comes later takes
    its supporters away.

    Examples
    --------
    >>> from sequester.engine import LocalEngine
    >>> sequences = Sequences.from_rows(["ADEF", "ADEF", "DEJF", "BK", "BK", "BKS", "Q"])
    >>> asked = {"distinct": sequences.distinct(), "strict": True, "reattach": True, "engine": LocalEngine()}
    >>> found = TruthfulReconstructor(sequences=sequences, **asked).run(2)
    >>> items, offsets = found.tree.paths()
    >>> book = sequences.codebooks["symbol"]
    >>> ["".join(book.decode(items[offsets[node] : offsets[node + 1]])) for node in found.targets]
    ['ADEF', 'BK', 'BK', 'DEF', '']
    """

    sequences: Sequences
    """The sequences."""

    @property
    def sharing(self) -> tuple[Codes, str]:
        """The items of which k persons must have one, one row each, and what is said where no two have."""
        rows = owners_of(self.distinct.offsets)
        return np.unique(np.column_stack([rows, self.distinct.items]), axis=0), "no two persons share an item"

    @property
    def is_cut_by_beginning(self) -> bool:
        """Others need not begin with a sequence to contain it."""
        return False

    def run(self, k: int, *, progress: Progress = silent) -> Reconstruction:
        """Return the reconstruction for one k."""
        progress(0.0, PHASE)
        tree, supports = self._candidates(k, progress)
        distinct = self.distinct
        is_open = np.ones(tree.n_nodes, np.bool_)
        targets = np.full(distinct.n_rows, -1, np.int32)
        is_settled = np.zeros(distinct.n_rows, np.bool_)
        deepest = n_rounds = tree.height
        for depth in range(deepest, 0, -1):
            progress(1 - 0.7 * depth / deepest, PHASE)
            for round_number in range(ROUNDS):
                targets = _choose(tree, supports, is_open, distinct, targets, engine=self.engine)
                chosen = np.flatnonzero(~is_settled & (tree.depths[targets] == depth))
                if not chosen.size:
                    break
                n_rounds += round_number > 0
                nodes = np.unique(targets[chosen])
                if self.strict:
                    is_enough = self._supporters(tree, targets, nodes, depth) >= k
                    is_open[nodes[~is_enough]] = False
                is_settled[chosen[is_open[targets[chosen]]]] = True
                targets[~is_open[targets]] = -1
            else:
                # What nobody settled on at this length is left out.
                rest = np.ones(tree.n_nodes, np.bool_)
                rest[targets[is_settled]] = False
                is_open[rest & (tree.depths == depth)] = False
                targets[~is_settled & (targets >= 0) & ~is_open[targets]] = -1
        targets = np.maximum(targets, ROOT)
        is_cut = tree.depths[targets] < distinct.lengths
        progress(1.0, PHASE)
        return Reconstruction(
            tree=tree,
            targets=targets,
            is_cut=is_cut,
            cut_share=self.share(is_cut),
            n_rounds=n_rounds,
        )

    def _candidates(self, k: int, progress: Progress) -> tuple[PrefixTree, Counts]:
        """Return the tree of all parts to choose among, and how many persons have each, at least."""
        prefixes, deepest = PrefixTree.grow(self.distinct, k)
        beginning = prefixes.passing(deepest, self.distinct)
        mined = list(_mine(self.sequences, k, self.engine, part(progress, 0.0, 0.3)))
        rows = [prefixes.paths(), *((each.codes, each.offsets) for each in mined)]
        counts = np.concatenate([beginning, *(each.supports for each in mined)])
        items = np.concatenate([each for each, _ in rows]).astype(np.int32)
        offsets = offsets_of(np.concatenate([np.diff(offsets) for _, offsets in rows]))
        source = self.sequences
        folded = Sequences(offsets, {source.symbol: items}, source.codebooks).distinct()
        tree, ends = PrefixTree.grow(folded, 1)
        supports = np.zeros(tree.n_nodes, np.int64)
        np.maximum.at(supports, ends[folded.row_of_person], counts)
        return tree, supports

    def _supporters(self, tree: PrefixTree, targets: Codes, nodes: Codes, depth: int) -> Counts:
        """Count the persons whose choice contains the path of each of `nodes`, which end at `depth`."""
        # Nodes are in preorder, so their paths are in lexicographic order; the empty one stands for all that
        # is too short to contain any.
        records = np.where(tree.depths[targets] >= depth, targets, ROOT)
        known, record_of_row = np.unique(np.append(records, ROOT), return_inverse=True)
        row_of_person = record_of_row[:-1][self.distinct.row_of_person].astype(np.int32)
        paths = tree.paths()
        released = Distinct(
            *gather_rows(*paths, known.astype(np.int64)),
            np.bincount(row_of_person, minlength=len(known)).astype(np.int64),
            row_of_person,
            self.distinct.owners,
        )
        book = self.sequences.codebooks[self.sequences.symbol]
        asked = gather_rows(*paths, nodes.astype(np.int64))
        return supports_of_codes(*asked, book, released, book, engine=self.engine)


def _mine(sequences: Sequences, k: int, engine: Engine, progress: Progress) -> list[Patterns]:
    """Return the frequent patterns; where these are too many, the shorter ones and the more frequent ones."""

    def attempt(min_support: int, max_length: int | None) -> Patterns | None:
        try:
            return frequent(
                sequences,
                min_support=min_support,
                max_length=max_length,
                max_patterns=MAX_CANDIDATES,
                engine=engine,
                progress=progress,
            )
        except ParameterError:  # more than that
            return None

    found = [attempt(k, None)]
    if found[0] is None:
        found = [next((each for length in LENGTHS if (each := attempt(k, length)) is not None), None)]
        min_support = 2 * k
        while (more := attempt(min_support, None)) is None:
            min_support *= 2
        found.append(more)
    return [each for each in found if each is not None]


def _choose(
    tree: PrefixTree, supports: Counts, is_open: Mask, distinct: Distinct, targets: Codes, *, engine: Engine
) -> Codes:
    """Return the targets, with the best open node for each row that has none."""
    rows = np.flatnonzero(targets < 0)

    found = engine.map(
        _longest_parts,
        [rows[shard.start : shard.stop] for shard in engine.split(len(rows))],
        shared=(distinct, tree, supports, is_open),
        phase=PHASE,
    )
    chosen = targets.copy()
    chosen[rows] = np.concatenate([np.empty(0, np.int32), *found])
    return chosen


def _longest_parts(rows: Counts, shared: tuple[Distinct, PrefixTree, Counts, Mask]) -> Codes:
    """Return for each row the open node whose path is the longest part of it."""
    distinct, tree, supports, is_open = shared
    nodes, places = np.zeros(len(rows), np.int32), np.zeros(tree.height + 1, np.int64)
    items, offsets = distinct.items, distinct.offsets
    _kernels.longest_parts(items, offsets, rows, tree, supports, is_open, places, nodes)
    return nodes
