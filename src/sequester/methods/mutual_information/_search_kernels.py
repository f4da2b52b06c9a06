"""Closer to the best generalization than greedy: a local search, and an exact one for small alphabets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba.misc.quicksort import make_quicksort_impl

from sequester.kernels.compiler import inner, njit
from sequester.methods.mutual_information._kernels import PersonProblem, is_private, recount_alike

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask

    Numbers = npt.NDArray[np.float64]

ALONE, TOGETHER = 0, 1
"""Kinds of a move: one symbol, or every symbol below a node."""
UNDECIDED = -1
"""The depth of a symbol that the exact search has not decided on."""

# What np.argsort does in a kernel, without its choice of a kind, for which numba compiles its class of text.
argsort = make_quicksort_impl(inner, is_argsort=True).run_quicksort


class Around(NamedTuple):
    """A private answer, and the moves away from it."""

    depths: Counts
    """The depth of each symbol."""
    nodes: Codes
    """The node of each symbol."""
    alike: Counts
    """Per pattern, the index tuples that are released as it is."""
    moves: Codes
    """Rows of symbol, depth and kind."""
    change: Numbers
    """What each move adds to the loss."""
    order: Counts
    """The moves, the most saving first."""


@njit
def nodes_at(problem: PersonProblem, depths: Counts) -> Codes:
    """Return the node of each symbol at the given depths."""
    nodes = np.empty(depths.size, np.int32)
    for symbol in range(depths.size):
        nodes[symbol] = problem.paths[symbol, depths[symbol]]
    return nodes


@njit
def count_all_alike(problem: PersonProblem, nodes: Codes) -> Counts:
    """Count, per pattern, the index tuples that are released as it is."""
    nowhere, alike = np.empty(nodes.size, np.int32), np.empty(problem.patterns.symbols.shape[0], np.int64)
    for symbol in range(nodes.size):
        nowhere[symbol] = -1
    recount_alike(problem.tuples, problem.patterns, nowhere, nodes, alike, alike)
    return alike


@njit
def loss_at(problem: PersonProblem, depths: Counts) -> float:
    """Return what a generalization costs altogether."""
    loss = 0.0
    for symbol in range(depths.size):
        loss += problem.costs[symbol, depths[symbol]]
    return loss


@njit
def refine_alone(problem: PersonProblem, depths: Counts, may_refine: Mask) -> None:
    """Bring symbols down, each alone and as deep as stays private, those that save most first."""
    nodes = nodes_at(problem, depths)
    alike = count_all_alike(problem, nodes)
    savings = np.zeros(depths.size)
    for symbol in range(depths.size):
        if may_refine[symbol]:
            savings[symbol] = problem.costs[symbol, depths[symbol]]
    counted = np.empty(alike.size, np.int64)
    for symbol in argsort(-savings):
        if savings[symbol] <= 0:
            break
        for depth in range(problem.leaf_depths[symbol], depths[symbol], -1):
            new = nodes.copy()
            new[symbol] = problem.paths[symbol, depth]
            recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
            if is_private(problem.patterns, new, counted, True):
                nodes, alike, counted = new, counted, alike
                depths[symbol] = depth
                break


@inner
def _list_moves(problem: PersonProblem, depths: Counts) -> Codes:
    """List moves as rows of symbol, depth and kind: a symbol alone, or all below a node to that node."""
    n_symbols, height = problem.paths.shape
    moves = np.empty((2 * n_symbols * height, 3), np.int32)
    n_moves = 0
    for symbol in range(n_symbols):
        for depth in range(problem.leaf_depths[symbol] + 1):
            if depth != depths[symbol]:
                moves[n_moves, 0], moves[n_moves, 1], moves[n_moves, 2] = symbol, depth, ALONE
                n_moves += 1
    for symbol in range(n_symbols):
        for depth in range(problem.leaf_depths[symbol]):
            # The first symbol below a node speaks for all of them.
            is_first, has_others = True, False
            for other in range(n_symbols):
                if other != symbol and problem.paths[other, depth] == problem.paths[symbol, depth]:
                    has_others = True
                    is_first = is_first and other > symbol
            if is_first and has_others:
                moves[n_moves, 0], moves[n_moves, 1], moves[n_moves, 2] = symbol, depth, TOGETHER
                n_moves += 1
    return moves[:n_moves]


@inner
def _move(problem: PersonProblem, depths: Counts, move: Codes) -> None:
    """Bring `depths` to what they are after a move."""
    symbol, depth = move[0], move[1]
    if move[2] == ALONE:
        depths[symbol] = depth
        return
    for other in range(depths.size):
        below = problem.leaf_depths[other] >= depth
        if below and problem.paths[other, depth] == problem.paths[symbol, depth]:
            depths[other] = depth


@inner
def _is_private_at(problem: PersonProblem, nodes: Codes, alike: Counts, depths: Counts) -> bool:
    """Return whether other depths are private, counting only what they change."""
    new, counted = nodes_at(problem, depths), np.empty(alike.size, np.int64)
    recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
    private: bool = is_private(problem.patterns, new, counted, True)
    return private


@njit
def improve(problem: PersonProblem, start: Counts, most_trials: int, most_moves: int) -> Counts:
    """Search around a private answer: move a symbol or a block, or exchange two moves, while it pays.

    A pair may refine one symbol and lift another, which no single move can. Every step lowers the loss and
    is private. It ends where no move and no pair helps, or after `most_trials` trials; pairs are left out
    where there are more than `most_moves` moves.
    """
    depths, trial = np.empty(start.size, np.int64), np.empty(start.size, np.int64)
    found = np.empty(start.size, np.int64)
    near = problem.near
    _copy(start, depths)
    trials = 0
    while trials < most_trials:
        nodes = nodes_at(problem, depths)
        alike = count_all_alike(problem, nodes)
        loss = loss_at(problem, depths)
        moves = _list_moves(problem, depths)
        change = np.empty(moves.shape[0], np.float64)
        for each in range(change.size):
            _copy(depths, trial)
            _move(problem, trial, moves[each])
            change[each] = loss_at(problem, trial) - loss
        order = argsort(change)
        gain = 0.0
        # The most saving move first, so the first private one is the best.
        for each in order:
            if change[each] >= -near or trials >= most_trials:
                break
            trials += 1
            _copy(depths, trial)
            _move(problem, trial, moves[each])
            if _is_private_at(problem, nodes, alike, trial):
                _copy(trial, found)
                gain = change[each]
                break
        if gain >= 0 and change.size <= most_moves:
            around = Around(depths, nodes, alike, moves, change, order)
            gain, trials = _exchange(problem, around, trials, most_trials, trial, found)
        if gain >= 0:
            break
        _copy(found, depths)
    return depths


@inner
def _copy(values: Counts, to: Counts) -> None:
    for i in range(values.size):
        to[i] = values[i]


@inner
def _exchange(
    problem: PersonProblem, around: Around, trials: int, most_trials: int, both: Counts, found: Counts
) -> tuple[float, int]:
    """Find the two moves that together save most and are private: what they add, and the trials.

    The depths after them are written to `found`.
    """
    depths, moves, change, order = around.depths, around.moves, around.change, around.order
    near = problem.near
    loss = loss_at(problem, depths)
    gain = 0.0
    for first in order:
        if change[first] >= gain - near or trials >= most_trials:
            break
        for second in order:
            is_too_costly = change[first] + change[second] >= gain - near
            if moves[second, 2] == ALONE and (is_too_costly or moves[second, 0] == moves[first, 0]):
                continue
            # The saving move comes last: it may take a symbol out of a block that is lifted.
            _copy(depths, both)
            _move(problem, both, moves[second])
            _move(problem, both, moves[first])
            saved = loss_at(problem, both) - loss
            if saved >= gain - near:
                continue
            trials += 1
            if _is_private_at(problem, around.nodes, around.alike, both):
                _copy(both, found)
                gain = saved
            if trials >= most_trials:
                break
    return gain, trials


@inner
def _could_be_alike(problem: PersonProblem, depths: Counts, left: int, right: int) -> bool:
    """Return whether two symbols are, or can still be, released as one node."""
    if left == right:
        return True
    if depths[left] == UNDECIDED:
        left, right = right, left
    depth = depths[left]
    if depth == UNDECIDED:
        return True
    if depths[right] != UNDECIDED and depths[right] != depth:
        return False
    alike: bool = (
        depth <= problem.leaf_depths[right] and problem.paths[left, depth] == problem.paths[right, depth]
    )
    return alike


@inner
def _can_be_private(problem: PersonProblem, depths: Counts) -> bool:
    """Return whether the undecided symbols could make it private: count every tuple that may look alike.

    With the exact measure, take also symbols that may look alike, and those that may look like these, as one.
    Whatever is decided, the release tells all that such classes of symbols tell (data-processing inequality).
    """
    alike = np.zeros(problem.patterns.symbols.shape[0], np.int64)
    widest, n_symbols = problem.tuples.symbols.shape[1], depths.size
    for pattern in range(alike.size):
        group = problem.patterns.groups[pattern]
        length = 0
        while length < widest and problem.patterns.symbols[pattern, length] >= 0:
            length += 1
        for symbol in range(n_symbols):
            if not _could_be_alike(problem, depths, symbol, problem.patterns.symbols[pattern, 0]):
                continue
            each = group * widest * n_symbols + symbol
            for at in range(problem.tuples.list_offsets[each], problem.tuples.list_offsets[each + 1]):
                row = problem.tuples.listed[at]
                fits = True
                for k in range(1, length):
                    fits = fits and _could_be_alike(
                        problem, depths, problem.tuples.symbols[row, k], problem.patterns.symbols[pattern, k]
                    )
                if fits:
                    alike[pattern] += problem.tuples.counts[row]
    if not is_private(problem.patterns, np.empty(0, np.int32), alike, False):
        return False
    if not problem.patterns.is_exact:
        return True
    classes = np.arange(n_symbols).astype(np.int32)
    for symbol in range(n_symbols):
        for other in range(symbol):
            if classes[other] != classes[symbol] and _could_be_alike(problem, depths, symbol, other):
                old, new = classes[symbol], classes[other]
                for each in range(symbol + 1):
                    if classes[each] == old:
                        classes[each] = new
    private: bool = is_private(problem.patterns, classes, count_all_alike(problem, classes), True)
    return private


@njit
def optimal(problem: PersonProblem, start: Counts, is_sensitive: Mask, most_work: int) -> tuple[Counts, bool]:
    """Find a private generalization of least loss by branch and bound, and whether the search ended.

    Symbols are decided one by one, sensitive ones first, cheap depths first. A branch is left when it cannot
    cost less than the best so far (at first `start`, which must be private), or when no decision on the rest
    can make it private. `most_work` bounds how many tuples are looked at altogether.
    """
    n_symbols = problem.paths.shape[0]
    near = problem.near
    keys = np.where(is_sensitive, 1.0, 0.0) * (1 + problem.costs[:, 0].sum()) + problem.costs[:, 0]
    order = argsort(-keys)
    best, least = start.copy(), loss_at(problem, start)
    depths = np.full(n_symbols, UNDECIDED)
    spent = np.zeros(n_symbols + 1)
    at, work = 0, 0
    step = problem.tuples.symbols.shape[0] * problem.patterns.symbols.shape[0] + 1
    while at >= 0:
        symbol = order[at]
        # From the leaf upwards, so that cheap ones come first.
        depth = problem.leaf_depths[symbol] if depths[symbol] == UNDECIDED else depths[symbol] - 1
        if depth < 0:
            depths[symbol] = UNDECIDED
            at -= 1
            continue
        depths[symbol] = depth
        loss = spent[at] + problem.costs[symbol, depth]
        if loss >= least - near:
            # Nodes further up cost no less.
            depths[symbol] = UNDECIDED
            at -= 1
            continue
        work += step
        if work > most_work:
            return best, False
        if not _can_be_private(problem, depths):
            continue
        if at == n_symbols - 1:
            best, least = depths.copy(), loss
            continue
        at += 1
        spent[at] = loss
    return best, True
