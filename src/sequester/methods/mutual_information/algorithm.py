"""From a table to the node that is released for each event: the same search for each person.

What has to be hidden, the bounds and every index tuple of one person, counted once, are a `PersonProblem`;
the greedy searches of the paper and the closer ones are compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import is_number
from sequester.engine import silent
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.labels import counted, listed, quoted
from sequester.methods.method import absent_warnings
from sequester.methods.mutual_information import _kernels, _search_kernels
from sequester.privacy.mutual_information import count_spelled, count_tuples
from sequester.ragged import gather_rows, offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.mutual_information._kernels import PersonProblem
    from sequester.methods.mutual_information.method import MutualInformationMethod
    from sequester.privacy.mutual_information import MutualInformationPrivacy

    Numbers = npt.NDArray[np.float64]

MOST_TRIALS = 200_000
"""Trials of the local search for one person."""
MOST_RECOUNTED = 20_000_000
"""Tuples that all of these may look at: about a second. Single moves come first, and pay most."""
MOST_MOVES = 2_000
"""Moves among which the local search looks for pairs."""
MOST_WORK = 3_000_000_000
"""Tuples that the exact search looks at for one person."""


SLACK = 0.5e-9
"""Share of the entropy that rounding may add; half of what the check of the promise allows."""
MOST_TUPLES = 1 << 33
"""Index tuples of one length that are looked at for one person."""
MOST_DISTINCT = 1 << 25
"""Different tuples of one person that are held."""
LARGEST_KEY = 9e18
"""Tuples of symbols are numbered below this."""
DENSE = 1 << 24
"""Cells of a table that is counted in directly; where more could occur, tuples are hashed."""
SMALLEST_TABLE = 1 << 12
"""Places of a hash table to begin with."""


@dataclass(frozen=True, kw_only=True)
class LeakagePlan:
    """The sequences to work on, equal ones once, and how often each pattern occurs in each."""

    method: MutualInformationMethod
    """How to search."""
    task: SharedTask
    """What is the same for everybody."""
    items: Codes
    """The codes of all rows."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    row_of_person: Counts
    """Person to row."""
    weights: Numbers | None
    """The importance of each item, where it is given."""
    found: Counts
    """Cell ``[p, r]``: how often pattern ``p`` of the task occurs in row ``r``."""
    warnings: tuple[str, ...]
    """Patterns that do not occur."""

    @classmethod
    def of(cls, method: MutualInformationMethod, table: EventTable) -> LeakagePlan:
        """Encode patterns and costs, and count; refuses where no pattern occurs."""
        sequences = table.sequences
        column = sequences.symbol
        book, tree = sequences.codebooks[column], table.hierarchies[column]
        weights = read_weights(table)
        if weights is None:
            rows = sequences.distinct(column)
            items, offsets, row_of_person = rows.items, rows.offsets, rows.row_of_person.astype(np.int64)
        else:
            # Equal sequences may have different weights.
            items, offsets = sequences.columns[column], sequences.person_offsets
            row_of_person = np.arange(sequences.n_persons)
        everybody = np.ones(len(offsets) - 1, np.bool_)
        counts: list[Counts] = []
        for pattern in method.patterns:
            if all(label in book.codes for label in pattern):
                codes = book.encode(pattern)
                counts.append(count_spelled(items, items, offsets, codes, codes, method.window, everybody))
            else:
                counts.append(np.zeros(len(everybody), np.int64))
        warnings = absent_warnings("patterns", method.patterns, [int(each.any()) for each in counts])
        order = sorted(
            (place for place, each in enumerate(counts) if each.any()),
            key=lambda place: (len(method.patterns[place]), method.patterns[place]),
        )
        leaves = tree.nodes(book.labels)
        task = SharedTask(
            tree=tree,
            paths=paths_of(tree, leaves),
            leaf_depths=tree.depth[leaves].astype(np.int64),
            costs=costs_by_depth(tree, book.labels, method.cost),
            patterns=tuple(book.encode(method.patterns[place]) for place in order),
            model=method.model(),
        )
        return cls(
            method=method,
            task=task,
            items=items,
            offsets=offsets,
            row_of_person=row_of_person,
            weights=weights,
            found=np.array([counts[place] for place in order]),
            warnings=warnings,
        )

    def run(self, *, engine: Engine, progress: Progress = silent) -> Codes:
        """Return the node that is released for each event of the table, persons one after the other."""
        concerned = np.flatnonzero(self.found.any(axis=0))
        nodes = self.task.leaf_nodes[self.items]
        parts = [concerned[shard.start : shard.stop] for shard in engine.split(len(concerned))]
        solved = engine.map(_sanitize, parts, shared=self, progress=progress, phase="generalizing")
        for rows, answer in zip(parts, solved, strict=True):
            nodes[gather_rows(np.arange(len(nodes)), self.offsets, rows)[0]] = answer
        released: Codes = gather_rows(nodes, self.offsets, self.row_of_person)[0]
        return released

    def solve(self, row: int) -> Codes:
        """Return the node that is released at each place of a row in which a pattern occurs."""
        here, found = slice(self.offsets[row], self.offsets[row + 1]), self.found[:, row]
        items, weights = self.items[here], None if self.weights is None else self.weights[here]
        if self.method.search == "greedy" and self.method.scope == "global":
            # Where the sensitive symbols suffice, the others stay as they are and need not be counted.
            person = describe(self.task, items, found, weights=weights, only_sensitive=True)
            depths = self._go(person, person.is_sensitive)
            if depths is not None:
                return _released(self.task, items, person, depths)
        takes_part = participants(self.task, items, found) if self.method.scope == "local" else None
        person = describe(self.task, items, found, weights=weights, is_participant=takes_part)
        return _released(self.task, items, person, self._search(person))

    def _go(self, person: Person, active: Mask) -> Counts | None:
        """Return the depths that the paper's way finds; None where more than the active symbols must move."""
        if self.method.way == "top-down":
            return _top_down(person, active)
        depths, tree = np.empty(len(person.codes), np.int64), self.task.tree
        n_tested = _kernels.bottom_up(person.problem, active, tree.parent, tree.depth, depths)
        return depths if n_tested else None

    def _search(self, person: Person) -> Counts:
        """Return the depths that the way alone, a local search from its answer, or an exact one finds."""
        problem = person.problem
        everything = np.ones(len(person.codes), np.bool_)
        # All occurrences of a sensitive symbol, those that take part in no pattern included.
        sensitive = np.isin(person.codes, person.codes[person.is_sensitive])
        first = self._go(person, sensitive)
        answers = [self._go(person, everything) if first is None else first]
        if self.method.scope == "local":
            _search_kernels.refine_alone(problem, answers[0], ~person.is_sensitive)
            answers.append(_top_down(person, person.is_sensitive))
        best = _cheapest(problem, answers)
        if self.method.search == "greedy":
            return best
        starts = [best, _top_down(person, everything)]
        trials = min(MOST_TRIALS, 1 + MOST_RECOUNTED // len(problem.tuples.counts))
        best = _cheapest(
            problem, [_search_kernels.improve(problem, start, trials, MOST_MOVES) for start in starts]
        )
        if self.method.search == "improve":
            return best
        exact: Counts
        exact, ended = _search_kernels.optimal(problem, best, person.is_sensitive, MOST_WORK)
        if not ended:
            msg = (
                f'search must be "greedy" or "improve" here: with {len(everything)} symbols and '
                f'{len(problem.tuples.counts):,} different tuples, "optimal" would look at more than '
                f"{MOST_WORK:.0e} tuples"
            )
            raise ParameterError(msg)
        return exact


def _sanitize(rows: Counts, plan: LeakagePlan) -> Codes:
    """Return the nodes that are released for the events of some rows, one row after the other."""
    return np.concatenate([np.empty(0, np.int32), *(plan.solve(row) for row in rows.tolist())])


def read_weights(table: EventTable) -> Numbers | None:
    """Return the importance of each event; what is no number of at least 0 is refused by its row."""
    if table.schema.weight is None:
        return None
    given = table.frame[table.schema.weight]
    values = given.cast(pl.Float64, strict=False)
    weights = values.to_numpy().astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        msg = (
            f"column {table.schema.weight!r}: {given[first]!r} is not a weight, which is a number of at "
            f"least 0 (row {table.rows[first]})"
        )
        raise SchemaError(msg)
    return weights


def participants(task: SharedTask, row: Codes, found: Counts) -> Mask:
    """Mark the places of a sequence that take part in a sensitive occurrence."""
    marked = np.zeros(len(row), np.bool_)
    for each in np.flatnonzero(found):
        _kernels.mark_participants(row, task.patterns[each], task.model.window, marked)
    return marked


def _top_down(person: Person, active: Mask) -> Counts | None:
    """Return the depths that Top-Down finds; None where more than the active symbols must move."""
    depths = np.empty(len(person.codes), np.int64)
    return depths if _kernels.top_down(person.problem, active, person.ranks, depths) else None


def _cheapest(problem: PersonProblem, answers: list[Counts | None]) -> Counts:
    """Return the first of the answers that cost least."""
    private = [depths for depths in answers if depths is not None]
    if len(private) == 1:
        return private[0]
    return min(private, key=lambda depths: _search_kernels.loss_at(problem, depths))


def _released(task: SharedTask, row: Codes, person: Person, depths: Counts) -> Codes:
    nodes = task.leaf_nodes[row]
    moved = person.symbols >= 0
    chosen = person.problem.paths[np.arange(len(depths)), depths]
    nodes[moved] = chosen[person.symbols[moved]]
    return nodes


@dataclass(frozen=True, kw_only=True)
class SharedTask:
    """What is the same for all persons."""

    tree: Hierarchy
    """The taxonomy."""
    paths: Codes
    """Cell ``[code, d]``: the node above a symbol at depth ``d``; beyond its leaf the leaf."""
    leaf_depths: Counts
    """Code to the depth of its leaf."""
    costs: Numbers
    """Cell ``[code, d]``: the cost of one event of a symbol at depth ``d``."""
    patterns: tuple[Codes, ...]
    """The sensitive patterns that can occur, as codes, shorter ones first."""
    model: MutualInformationPrivacy
    """What may leak, and how far the places of an occurrence are apart."""

    @property
    def leaf_nodes(self) -> Codes:
        """Code to its leaf."""
        return self.paths[:, -1]

    def bound(self, entropy: Numbers) -> Numbers:
        """Return the bits that may leak where `entropy` could."""
        share, bits = self.model.max_leakage, self.model.max_leakage_bits
        most = np.full(entropy.shape, bits) if share is None else share * entropy
        return most + SLACK * entropy


@dataclass(frozen=True, kw_only=True)
class Person:
    """One person's problem."""

    problem: PersonProblem
    """As the kernels take it."""
    symbols: Codes
    """Place to symbol; -1 where it stays as it is and takes part in nothing."""
    codes: Counts
    """Symbol to its code; two symbols have one code where occurrences may be released differently."""
    is_sensitive: Mask
    """Symbol to whether a pattern has it."""
    ranks: Counts
    """Symbol to its place when the most frequent come first, then the lowest numbers."""


def paths_of(tree: Hierarchy, leaves: Codes) -> Codes:
    """Return in cell ``[i, d]`` the node above ``leaves[i]`` at depth ``d``; beyond its depth the leaf.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> food = Hierarchy.from_tree({"Snack": ["Chips", "Cookies"], "Milk": {}})
    >>> paths_of(food, food.nodes(["Chips", "Milk"])).tolist()
    [[0, 2, 3], [0, 1, 1]]
    """
    paths = np.repeat(leaves[:, None], tree.height + 1, axis=1).astype(np.int32)
    for depth in range(tree.height - 1, -1, -1):
        below = paths[:, depth + 1]
        paths[:, depth] = np.where(tree.depth[below] > depth, tree.parent[below], below)
    return paths


def describe(
    task: SharedTask,
    row: Codes,
    found: Counts,
    *,
    weights: Numbers | None = None,
    is_participant: Mask | None = None,
    only_sensitive: bool = False,
) -> Person:
    """Number the symbols of a person's sequence and count its tuples.

    Parameters
    ----------
    task
        What is the same for everybody.
    row
        The codes of the person's events.
    found
        How often each pattern of the task occurs in it; at least one does.
    weights
        The importance of each event; all alike without it.
    is_participant
        Places that may be released in another way than others of the same symbol.
    only_sensitive
        Count only tuples of symbols that occur in patterns.
    """
    window, is_exact = task.model.window, task.model.measure == "exact"
    kinds = row.astype(np.int64) * 2
    if is_participant is not None:
        kinds += ~is_participant
    rows = np.flatnonzero(found)
    frequencies = np.bincount(kinds, minlength=2 * len(task.leaf_depths))
    importance = frequencies if weights is None else np.bincount(kinds, weights, len(frequencies))
    is_sensitive = np.zeros(len(frequencies), np.bool_)
    for each in rows:
        is_sensitive[2 * task.patterns[each].astype(np.int64)] = True
    kept = np.flatnonzero(is_sensitive if only_sensitive else frequencies > 0)
    numbers = np.full(len(frequencies), -1, np.int32)
    numbers[kept] = np.arange(len(kept))
    symbols, codes = numbers[kinds], kept // 2

    lengths = np.array([len(task.patterns[each]) for each in rows], np.int64)
    group_lengths, groups = np.unique(lengths, return_inverse=True)
    patterns = np.full((len(rows), int(lengths.max())), -1, np.int32)
    for place, each in enumerate(rows):
        patterns[place, : lengths[place]] = numbers[2 * task.patterns[each].astype(np.int64)]
    sizes = np.array([_size(len(row), length, window) for length in group_lengths.tolist()])
    shares = found[rows] / sizes[groups]
    entropy = shares * np.log2(1 / shares)
    totals = np.bincount(groups, entropy).astype(np.float64)
    if is_exact:
        # The outcome that a tuple is not the pattern, or none of them.
        entropy += _other_entropy(shares)
        totals += _other_entropy(np.bincount(groups, found[rows]) / sizes)
    pattern_bounds, group_bounds = np.full(len(rows), np.inf), np.full(len(sizes), np.inf)
    if task.model.worst_case:
        pattern_bounds = task.bound(entropy)
    else:
        group_bounds = task.bound(totals)
    tuples, counts, group_offsets = _count_all(symbols, len(kept), group_lengths, window)
    list_offsets, listed = _list_tuples(tuples, group_offsets, len(kept))
    costs = importance[kept][:, None] * task.costs[codes]
    problem = _kernels.PersonProblem(
        paths=task.paths[codes],
        leaf_depths=task.leaf_depths[codes],
        costs=costs,
        near=_kernels.NEAR * float(np.cumsum(costs[:, 0])[-1]),
        patterns=_kernels.SecretPatterns(
            symbols=patterns,
            groups=groups.astype(np.int64),
            numbers=np.column_stack([found[rows], shares, pattern_bounds]),
            group_numbers=np.column_stack([sizes, group_bounds]),
            is_exact=is_exact,
        ),
        tuples=_kernels.Tuples(symbols=tuples, counts=counts, list_offsets=list_offsets, listed=listed),
    )
    ranks = np.empty(len(kept), np.int64)
    ranks[np.argsort(-frequencies[kept], kind="stable")] = np.arange(len(kept))
    return Person(problem=problem, symbols=symbols, codes=codes, is_sensitive=is_sensitive[kept], ranks=ranks)


def _other_entropy(shares: Numbers) -> Numbers:
    """Return (1 - P) log2 1/(1 - P); nothing where P is 1."""
    rest = 1 - shares
    bits: Numbers = rest * -np.log1p(-shares, out=np.zeros(len(shares)), where=rest > 0) / np.log(2)
    return bits


def _size(n_events: int, length: int, window: int) -> float:
    size = count_tuples(n_events, length, window)
    if size > MOST_TUPLES:
        msg = (
            f"window must be shorter: {n_events:,} events have {size:.1e} index tuples of length {length} in "
            f"a window of {window}, and {MOST_TUPLES:.1e} can be looked at"
        )
        raise ParameterError(msg)
    return float(size)


def _count_all(
    symbols: Codes, n_symbols: int, group_lengths: Counts, window: int
) -> tuple[Codes, Counts, Counts]:
    """List the tuples of all lengths, group after group, with their counts and where each group begins."""
    widest = int(group_lengths.max())
    tables: list[Codes] = []
    counts: list[Counts] = []
    for length in group_lengths.tolist():
        found, often = np.empty((0, length), np.int32), np.empty(0, np.int64)
        if float(n_symbols) ** length < LARGEST_KEY:
            found, often = count_index_tuples(symbols, n_symbols, length, window)
        # There is at least the occurrence of a pattern, so nothing means too much.
        if not len(found):
            msg = (
                f"window must be shorter: {n_symbols:,} symbols make more different tuples of length "
                f"{length} in a window of {window} than can be held"
            )
            raise ParameterError(msg)
        table = np.full((len(found), widest), -1, np.int32)
        table[:, :length] = found
        tables.append(table)
        counts.append(often)
    return np.concatenate(tables), np.concatenate(counts), offsets_of([len(table) for table in tables])


def count_index_tuples(
    symbols: Codes,
    n_symbols: int,
    length: int,
    window: int,
    *,
    dense: int = DENSE,
) -> tuple[Codes, Counts]:
    """List the different tuples of `length` symbols within the window, in order, and how often each occurs.

    A symbol of -1 takes part in no tuple. A table of up to `dense` cells is counted in directly. Nothing is
    listed where there are more than `MOST_DISTINCT` different ones. Requires ``n_symbols ** length < 2^63``.

    Examples
    --------
    >>> tuples, counts = count_index_tuples(np.array([0, 1, -1, 0, 1], np.int32), 2, 2, 3)
    >>> tuples.tolist(), counts.tolist()
    ([[0, 0], [0, 1], [1, 0], [1, 1]], [1, 2, 1, 1])
    """
    places = np.flatnonzero(symbols >= 0)
    kept = symbols[places]
    keys: Counts | None = None
    if length == 1:
        counts = np.bincount(kept, minlength=1)
    elif float(n_symbols) ** length <= dense:
        counts = np.zeros(n_symbols**length, np.int64)
        _kernels.tally_tuples(kept, places, n_symbols, length, window, counts, None, MOST_DISTINCT)
    else:
        keys, counts = np.full(SMALLEST_TABLE, _kernels.EMPTY, np.int64), np.zeros(SMALLEST_TABLE, np.int64)
        keys, counts = _kernels.tally_tuples(
            kept, places, n_symbols, length, window, counts, keys, MOST_DISTINCT
        )
    used = np.flatnonzero(counts)
    if used.size > MOST_DISTINCT:
        used = used[:0]
    rest, tuples = used, np.empty((used.size, length), np.int32)
    if keys is not None:
        used = used[np.argsort(keys[used])]
        rest = keys[used]
    for k in range(length - 1, -1, -1):
        rest, tuples[:, k] = np.divmod(rest, max(n_symbols, 1))
    return tuples, counts[used]


def _list_tuples(tuples: Codes, group_offsets: Counts, n_symbols: int) -> tuple[Counts, Codes]:
    """List, for each group, place and symbol, the tuples that have the symbol there."""
    sizes = [
        np.bincount(column + 1, minlength=n_symbols + 1)[1:]
        for first, last in pairwise(group_offsets.tolist())
        for column in tuples[first:last].T
    ]
    offsets = offsets_of(np.concatenate(sizes))
    listed = np.empty(offsets[-1], np.int32)
    _kernels.list_tuples(tuples, group_offsets, n_symbols, offsets[:-1].copy(), listed)
    return offsets, listed


CostTable = Mapping[str, Mapping[str, float]]
"""Leaf to node to cost."""


def costs_by_depth(tree: Hierarchy, labels: Sequence[str], cost: str | CostTable) -> Numbers:
    """Return in cell ``[i, d]`` the cost of releasing ``labels[i]`` as the node above it at depth ``d``.

    Beyond the depth of its leaf a symbol costs nothing.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> food = Hierarchy.from_tree({"Snack": ["Chips", "Cookies"], "Milk": {}})
    >>> costs_by_depth(food, ["Chips", "Milk"], "linear").tolist()
    [[1.0, 0.5, 0.0], [1.0, 0.0, 0.0]]
    """
    costs = np.zeros((len(labels), tree.height + 1))
    by_node = tree.cost(cost) if isinstance(cost, str) else None
    if by_node is None:
        check_table(tree, cost)  # type: ignore[arg-type]  # what is no name is a table
    for row, label in enumerate(labels):
        for node in tree.ancestors(tree.node(label))[1:]:
            costs[row, tree.depth[node]] = (
                by_node[node] if by_node is not None else cost[label][tree.labels[node]]  # type: ignore[index]
            )
    return costs


def check_table(tree: Hierarchy, table: CostTable) -> None:
    """Refuse a table that is no generalization cost (Definition 3), and name leaf and node.

    Every leaf needs a cost for every node above it: more than 0, and no less the higher the node. A cost for
    the leaf itself may be left out, and is 0.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> food = Hierarchy.from_tree({"Snack": ["Chips", "Cookies"]})
    >>> check_table(food, {"Chips": {"Snack": 2, "*": 1}, "Cookies": {"Snack": 0.8, "*": 1}})
    Traceback (most recent call last):
    sequester.errors.ParameterError: cost of 'Chips' at '*' must be at least 2, as at 'Snack' below, got 1
    """
    leaves = [tree.labels[node] for node in tree.leaf_nodes]
    missing = set(leaves) - set(table)
    if missing:
        are = counted(len(missing), "is", "are")
        msg = f"cost must have every leaf of the taxonomy, {are} missing: {listed(missing)}"
        raise ParameterError(msg)
    strange = set(table) - set(leaves)
    if strange:
        msg = f"cost must be given for leaves of the taxonomy, and there is no leaf {listed(strange)}"
        raise ParameterError(msg)
    for leaf in leaves:
        path = [tree.labels[node] for node in tree.ancestors(tree.node(leaf))]
        _check_path(leaf, path, {leaf: 0.0, **table[leaf]})


def _check_path(leaf: str, path: list[str], costs: Mapping[str, float]) -> None:
    outside = set(costs) - set(path)
    if outside:
        msg = f"cost of {quoted(leaf)} must be about nodes above it, and {listed(outside)} is none"
        raise ParameterError(msg)
    for below, node in zip([leaf, *path], path, strict=False):
        where = f"cost of {quoted(leaf)} at {quoted(node)}"
        if node not in costs:
            msg = f"{where} is missing"
            raise ParameterError(msg)
        value: object = costs[node]
        if not is_number(value):
            msg = f"{where} must be a number, got {value!r}"
            raise ParameterError(msg)
        if node == leaf and value != 0:
            msg = f"{where} must be 0, which releases it as it is, got {value}"
            raise ParameterError(msg)
        if node != leaf and value <= 0:
            msg = f"{where} must be above 0, got {value}"
            raise ParameterError(msg)
        if value < costs[below]:
            msg = f"{where} must be at least {costs[below]}, as at {quoted(below)} below, got {value}"
            raise ParameterError(msg)
