"""BF-P2kA: build the prefix tree, prune it, and reconstruct every sequence as a path that is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.data.sequences import Distinct, Sequences
from sequester.engine import part, silent
from sequester.errors import ParameterError, UnattainableError
from sequester.methods.p2ka import _kernels
from sequester.methods.relax import largest
from sequester.mining.frequent import frequent
from sequester.mining.support import supports_of_codes
from sequester.ragged import gather_rows, offsets_of, owners_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.engine import Engine, Progress
    from sequester.mining.frequent import Patterns


ROOT = 0
"""The node of the empty path."""
PHASE = "finding the closest paths"
HALF = 0.5
"""A run that cuts a larger share of the sequences draws a warning."""
AFFORDABLE = 10**10
"""Pairs of a cut sequence and a node that another run may look at: a few seconds."""


class _Paths(NamedTuple):
    """Sequences, and the tree whose paths they are compared with."""

    sequences: tuple[Codes, Offsets]
    tree: PrefixTree
    n_known: int
    """Symbols of the tree."""
    weights: Codes | None
    """What pairs of symbols weigh; None where equal ones count."""


def _weigh_most(part: tuple[Counts, Codes], paths: _Paths) -> Codes:
    """Return for each row the node whose path weighs most together with it."""
    rows, _ = part
    nodes, offsets = np.zeros(len(rows), np.int32), paths.sequences[1]
    longest = int((offsets[rows + 1] - offsets[rows]).max(initial=0))
    sums = np.zeros((paths.tree.height + 1, longest + 1), np.int64)
    _kernels.heaviest_paths(paths.sequences, rows, paths.tree, paths.weights, sums, nodes)
    return nodes


def _share_most(part: tuple[Counts, Codes], paths: _Paths) -> Codes:
    """Return for each row, with a node to begin with, the node whose path has most in common with it."""
    rows, guesses = part
    sequences, tree = paths.sequences, paths.tree
    lengths = sequences[1][rows + 1] - sequences[1][rows]
    found, is_long = guesses.copy(), lengths > _kernels.WORD
    short = np.flatnonzero(~is_long)
    nodes, masks = found[short], np.zeros((paths.n_known + 1, _kernels.LANES), np.int64)
    states = np.empty((2 * tree.height + 4, _kernels.LANES), np.int64)
    _kernels.closest_paths(sequences, rows[short], tree, masks, states, nodes)
    found[short] = nodes
    if is_long.any():
        nodes, long = found[is_long], rows[is_long]
        room = _kernels.room_for(int(lengths.max()), paths.n_known + 1, tree.height)
        _kernels.closest_of_long(sequences, long, tree, room, nodes)
        found[is_long] = nodes
    return found


class PrefixTree(NamedTuple):
    """Nodes in preorder, children in label order; a node stands for the items on its path from the root.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> tree, deepest = PrefixTree.grow(Sequences.from_rows(["AB", "ABC", "AD", "B"]).distinct(), 2)
    >>> tree.depths.tolist(), tree.symbols.tolist()
    ([0, 1, 2], [-1, 0, 1])
    >>> deepest.tolist()
    [2, 2, 1, 0]
    """

    symbols: Codes
    """The last item of each node's path; -1 for the root."""
    depths: Codes
    """The length of each node's path."""
    parents: Codes
    """The node above; the root's is the root."""
    ends: Codes
    """The subtree of ``v`` is the range from ``v`` to ``ends[v]``."""
    heights: Codes
    """Levels below each node."""

    @classmethod
    def grow(cls, distinct: Distinct, min_support: int) -> tuple[PrefixTree, Codes]:
        """Return the tree of all prefixes that at least `min_support` persons begin with.

        Also returns, for each distinct sequence, the deepest node on its path.
        """
        least = 1 if distinct.owners is not None else min_support
        # A node is one item of a row, and takes an event each of at least `least` persons.
        n_events = int(distinct.weights @ distinct.lengths)
        room = 1 + min(len(distinct.items), n_events // least)
        before = offsets_of(distinct.weights)
        nodes, waiting = np.empty((3, room), np.int32), np.empty((3, room), np.int64)
        deepest = np.zeros(distinct.n_rows, np.int32)
        rows = distinct.items, distinct.offsets
        n_nodes = _kernels.grow(rows, before, least, nodes, waiting, deepest)
        tree = cls.of(*(line[:n_nodes].copy() for line in nodes))
        if distinct.owners is None:
            return tree, deepest
        # Several sequences of a person are one supporter, so they are counted on the whole tree.
        kept = tree.passing(deepest, distinct) >= min_support
        kept[ROOT] = True
        pruned, nearest = tree.prune(kept)
        return pruned, nearest[deepest]

    @classmethod
    def of(cls, symbols: Codes, depths: Codes, parents: Codes) -> PrefixTree:
        """Return the tree of nodes in preorder."""
        ends, heights = np.empty_like(parents), np.empty_like(parents)
        _kernels.measure_subtrees(parents, ends, heights)
        return cls(symbols, depths, parents, ends, heights)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return len(self.symbols)

    @property
    def height(self) -> int:
        """Length of the longest path."""
        return int(self.heights[ROOT])

    def closest(
        self,
        distinct: Distinct,
        rows: Counts,
        guesses: Codes,
        *,
        engine: Engine,
        weigh: Callable[[Codes], Codes] | None = None,
        progress: Progress = silent,
    ) -> Codes:
        """Return for each of `rows` the node that has most in common with it, in order and with gaps.

        Among equals the shallowest, then the first in label order: the end of a minimum prefix (Definition 2)
        that contains a longest common subsequence. The root where nothing is common. `guesses` are nodes
        whose paths are prefixes of the rows. Where pairs of symbols `weigh` something, that is common; it
        returns a table of all symbols by those that it is asked about.
        """
        # Only the symbols of the tree can be common. Numbered among themselves, with one number for all
        # others, they need small tables whatever the alphabet.
        known = np.unique(self.symbols[1:])
        numbers = np.full(int(distinct.items.max(initial=0)) + 1, len(known), np.int32)
        numbers[known] = np.arange(len(known), dtype=np.int32)
        weights = None if weigh is None else weigh(known.astype(np.int32))
        shared = _Paths(
            sequences=(numbers[distinct.items] if weights is None else distinct.items, distinct.offsets),
            tree=self._replace(symbols=numbers[self.symbols]),
            n_known=len(known),
            weights=weights,
        )
        shards = [slice(shard.start, shard.stop) for shard in engine.split(len(rows))]
        found = engine.map(
            _share_most if weights is None else _weigh_most,
            [(rows[shard], guesses[shard]) for shard in shards],
            shared=shared,
            progress=progress,
            phase=PHASE,
        )
        return np.concatenate([np.empty(0, np.int32), *found])

    def passing(self, targets: Codes, distinct: Distinct) -> Counts:
        """Count the persons with a path, from the root to the target of their sequence, through each node.

        `targets` are the nodes of the distinct sequences. Who has several sequences counts once.
        """
        if distinct.owners is None:
            # All who pass a node end in its subtree, which is a range.
            ending = np.bincount(targets, distinct.weights, self.n_nodes).astype(np.int64)
            up_to = offsets_of(ending)
            passing: Counts = up_to[self.ends] - up_to[:-1]
            return passing
        passing = np.zeros(self.n_nodes, np.int64)
        _kernels.count_owners(self.parents, targets, *distinct.rows_of_owners(distinct.owners), passing)
        return passing

    def prune(self, kept: Mask) -> tuple[PrefixTree, Codes]:
        """Return the tree of the marked nodes; every kept node's parent is kept.

        Also returns, for each node of this tree, the deepest node of the pruned one on its path.
        """
        nearest = (np.cumsum(kept) - 1).astype(np.int32)
        # What is not kept is whole subtrees, one after the other.
        tops = np.flatnonzero(~kept & kept[self.parents])
        nearest[~kept] = np.repeat(nearest[self.parents[tops]], self.ends[tops] - tops)
        return PrefixTree.of(self.symbols[kept], self.depths[kept], nearest[self.parents[kept]]), nearest

    def paths(self) -> tuple[Codes, Offsets]:
        """Write the items of every node's path, one row per node."""
        offsets = offsets_of(self.depths)
        items = np.empty(offsets[-1], np.int32)
        # From the last item of each path to the first, all nodes at once.
        above = np.flatnonzero(self.depths).astype(np.int32)
        at = offsets[1:][above] - 1
        while above.size:
            items[at] = self.symbols[above]
            above = self.parents[above]
            goes_on = above != ROOT
            above, at = above[goes_on], at[goes_on] - 1
        return items, offsets


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A node for every distinct sequence; its path is what is released of those who have the sequence."""

    tree: PrefixTree
    """The kept nodes."""
    targets: Codes
    """For each distinct sequence its node; the root says that nothing is released."""
    is_cut: Mask
    """The sequence does not end on a kept node."""
    cut_share: float
    """The share of the persons whose sequence is cut."""
    n_rounds: int
    """How often persons were counted."""

    @property
    def releases_nothing(self) -> bool:
        """No person keeps anything."""
        return not (self.targets != ROOT).any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstructor:
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
    >>> asked = {"distinct": distinct, "reattach": True, "engine": LocalEngine()}
    >>> for strict in (False, True):
    ...     found = Reconstructor(strict=strict, **asked).run(2)
    ...     print(found.tree.depths[found.targets].tolist())  # of AB, ABXYZ and CXYZ
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

    @property
    def sharing(self) -> tuple[Codes, str]:
        """The items of which k persons must have one, one row each, and what is said where no two have."""
        has_items = np.flatnonzero(self.distinct.lengths)
        rows = np.column_stack([has_items, self.distinct.items[self.distinct.offsets[has_items]]])
        return rows, "no two persons begin alike"

    @property
    def is_cut_by_beginning(self) -> bool:
        """At least those are cut whose whole sequence fewer than k persons begin with."""
        return True

    def share(self, marked: Mask) -> float:
        """Return the share of the persons who have one of the marked sequences."""
        weights = self.distinct.weights
        return int(weights[marked].sum()) / max(int(weights.sum()), 1)

    def run(self, k: int, *, progress: Progress = silent) -> Reconstruction:
        """Return the reconstruction for one k."""
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
            unassigned = np.flatnonzero(targets < 0)
            if self.reattach:
                targets[unassigned] = tree.closest(
                    self.distinct,
                    unassigned,
                    deepest[unassigned],
                    engine=self.engine,
                    weigh=self.weigh,
                    # Rounds get shorter, and nobody knows how many there are.
                    progress=part(progress, 1 - 0.5 ** (n_rounds - 1), 1 - 0.5**n_rounds),
                )
            else:
                targets[unassigned] = ROOT
            kept = tree.passing(targets, self.distinct) >= k
            kept[ROOT] = True
            if not self.strict or kept.all():
                break
            tree, nearest = tree.prune(kept)
            targets = np.where(kept[targets], nearest[targets], np.int32(-1))
            deepest = nearest[deepest]
        progress(1.0, PHASE)
        return Reconstruction(tree, targets, is_cut, self.share(is_cut), n_rounds)


@dataclass(frozen=True)
class FeasibleK:
    """Looks for a k that releases something, or that cuts at most half of the sequences.

    Two bounds hold for the share of sequences that are cut, and both only grow with k. At least those are cut
    that fewer than k persons begin with, because every kept node has k persons in the original. At most those
    are cut that pruning to a fixpoint without re-attachment cuts: re-attached persons only add to the count
    of a node, so round by round each node that pruning alone keeps is kept with re-attachment, too. Where
    parts are released, only the second is known: who keeps the whole sequence by pruning chooses it, and so
    do the longer ones that begin with it.
    """

    reconstructor: Reconstructor
    """What runs."""

    @property
    def largest_k(self) -> int:
        """The largest k that releases anything; below 2 no k does.

        Where persons have several sequences, one that does and that was found by halving: trips of a person
        may be re-attached to different paths, so a smaller k need not release more.
        """
        distinct = self.reconstructor.distinct
        if self.reconstructor.reattach and distinct.owners is None:
            # As many as begin with the most common first item. For a larger k no node is kept. For this one
            # some are, in every round: take the m kept nodes of depth 1; at least m k persons begin with one
            # of their items, have something in common with a path, and so sit below one of the m nodes; then
            # one of the m has k of them. Where parts are released, as many as have the most common item: if
            # nothing longer is released, all who have it choose it.
            rows, items = self.reconstructor.sharing[0].T
            return int(np.bincount(items, weights=distinct.weights[rows], minlength=1).max())
        return largest(2, self.n_persons, lambda k: not self.reconstructor.run(k).releases_nothing) or 1

    @property
    def n_persons(self) -> int:
        """Number of distinct persons."""
        distinct = self.reconstructor.distinct
        if distinct.owners is not None:
            return int(distinct.owners.max(initial=-1)) + 1
        return int(distinct.weights.sum())

    def nothing_released(self, k: int) -> UnattainableError:
        """Return the error that `k` releases nothing, and which k would."""
        n_persons = self.n_persons
        persons = "person" if n_persons == 1 else "persons"
        problem = f"is more than the {n_persons} {persons}" if k > n_persons else "releases nothing"
        why = f", because {self.reconstructor.sharing[1]}" if self.reconstructor.reattach else ""
        best = self.largest_k
        if self.reconstructor.distinct.owners is not None:
            hint = f"k = {best} releases something" if best >= 2 else "k = 2 releases nothing either"
        elif best >= 2:
            hint = f"the largest k that releases anything here is {best}"
        else:
            hint = f"no k of 2 or more releases anything here{why}"
        return UnattainableError(f"k = {k} {problem}; {hint}", achieved={"k": best})

    def cut_too_much(self, k: int, share: float) -> str:
        """Return the warning that `k` cuts a large share, and a k that cuts less."""
        problem = f"k = {k} cuts {_percent(share)} of the sequences"
        if k == 2:
            return f"{problem}, and no smaller k can be asked for"
        candidates = {
            largest(2, k - 1, lambda k: self.least_cut(k) <= HALF),
            largest(2, k - 1, lambda k: self.most_cut(k) <= HALF),
            2,
        }
        for candidate in sorted(filter(None, candidates), reverse=True):
            low, high = self.cut_between(candidate)
            if high <= HALF:
                at_most = "" if low == high else "at most "
                return f"{problem}; k = {candidate} cuts {at_most}{_percent(high)}"
        cuts = _percent(high) if low == high else f"between {_percent(low)} and {_percent(high)}"
        found = "no k of 2 or more cuts" if self.least_cut(2) > HALF else "no k was found that cuts"
        return f"{problem}; {found} less than half, and k = 2 cuts {cuts}"

    def cut_between(self, k: int) -> tuple[float, float]:
        """Return the share of sequences that `k` cuts by running it; bounds where that takes too long."""
        if not self.reconstructor.strict and self.reconstructor.is_cut_by_beginning:
            # The first round is the only one, and what it cuts does not depend on where it goes.
            return self.least_cut(k), self.least_cut(k)
        tree, deepest = PrefixTree.grow(self.reconstructor.distinct, k)
        n_cut = int((tree.depths[deepest] < self.reconstructor.distinct.lengths).sum())
        if self.reconstructor.reattach and n_cut * tree.n_nodes > AFFORDABLE:
            return self.least_cut(k), self.most_cut(k)
        share = self.reconstructor.run(k).cut_share
        return share, share

    def least_cut(self, k: int) -> float:
        """Return the share of the persons whose whole sequence fewer than `k` persons begin with."""
        if not self.reconstructor.is_cut_by_beginning:
            return 0.0
        return self.reconstructor.share(self._beginners < k)

    def most_cut(self, k: int) -> float:
        """Return the share of the persons whom pruning to a fixpoint cuts when nobody is re-attached."""
        distinct, engine = self.reconstructor.distinct, self.reconstructor.engine
        return Reconstructor(distinct=distinct, strict=True, reattach=False, engine=engine).run(k).cut_share

    @cached_property
    def _beginners(self) -> Counts:
        """For each distinct sequence the persons who begin with it."""
        distinct = self.reconstructor.distinct
        tree, ends = PrefixTree.grow(distinct, 1)
        return tree.passing(ends, distinct)[ends]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


MAX_CANDIDATES = 200_000
"""Frequent patterns that persons choose among; where there are more, the longest and rarest are left out."""
LENGTHS = (None, 8, 6, 5, 4, 3, 2, 1)
"""Longest patterns that are looked for, until these are not too many."""
ROUNDS = 5
"""Times that persons choose anew among parts of one length before they choose among shorter ones."""
TRUTHFUL_PHASE = "finding the longest common parts"


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
        progress(0.0, TRUTHFUL_PHASE)
        tree, supports = self._candidates(k, progress)
        distinct = self.distinct
        is_open = np.ones(tree.n_nodes, np.bool_)
        targets = np.full(distinct.n_rows, -1, np.int32)
        is_settled = np.zeros(distinct.n_rows, np.bool_)
        deepest = n_rounds = tree.height
        for depth in range(deepest, 0, -1):
            progress(1 - 0.7 * depth / deepest, TRUTHFUL_PHASE)
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
        progress(1.0, TRUTHFUL_PHASE)
        return Reconstruction(tree, targets, is_cut, self.share(is_cut), n_rounds)

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
        phase=TRUTHFUL_PHASE,
    )
    chosen = targets.copy()
    chosen[rows] = np.concatenate([np.empty(0, np.int32), *found])
    return chosen


def _longest_parts(rows: Counts, shared: tuple[Distinct, PrefixTree, Counts, Mask]) -> Codes:
    """Return for each row the open node whose path is the longest part of it."""
    distinct, tree, supports, is_open = shared
    nodes, places = np.zeros(len(rows), np.int32), np.zeros(tree.height + 1, np.int64)
    sequences = distinct.items, distinct.offsets
    _kernels.longest_parts(sequences, rows, tree, supports, is_open, places, nodes)
    return nodes
