"""Phases II and III: who passes untouched, and how the others are changed, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.methods.ph import _choice_kernels, _kernels, _row_kernels, _trie_kernels
from sequester.methods.ph._choice_kernels import BASE, BOUNDED, DELETE_ONLY, MAXIMUM, MINIMUM_HARM, USAGE
from sequester.methods.ph.problem import LONGEST, as_table, order_tables, widen
from sequester.methods.ph.refinement import refine
from sequester.mining.support import list_pairs, mark_supporters
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.ph._choice_kernels import Spread
    from sequester.methods.ph._kernels import Orders
    from sequester.methods.ph._trie_kernels import Trie, Work
    from sequester.methods.ph.method import PH, Bounded
    from sequester.methods.ph.problem import HidingProblem, HidingTask

BLOCK = 2000
"""Sequences between two signs of progress."""


@dataclass(frozen=True, kw_only=True)
class Sanitized:
    """The changed sequences; a deleted item is -1."""

    persons: Counts
    """Whose they are."""
    items: Codes
    """Their codes, as many as before."""
    offsets: Offsets
    """Sequence ``t`` is ``items[offsets[t]:offsets[t + 1]]``."""
    distances: Counts
    """Swaps that each took."""
    usage: dict[tuple[int, tuple[int, ...]], int]
    """Sensitive pattern and order of its places to the sequences that got it."""


@dataclass(frozen=True, kw_only=True)
class HidingRules:
    """How sequences may be changed."""

    mode: int
    """One of the modes of the search."""
    wanted: int = 0
    """Permutations of each sensitive pattern that are asked for."""
    least: int = 0
    """Supporters that each of them must have."""
    forbidden: tuple[tuple[int, ...], ...] = ()
    """Patterns that may not be where they were not."""
    seen: Counts | None = None
    """Pairs that may occur; None: all."""
    deletes_last: bool = False
    """Permutations come before deletions, whatever they cost."""


def permute(method: PH, task: HidingTask) -> Sanitized:
    """PH: let those pass whose change would do most harm, and permute the items of the others."""
    rules = _rules(method, task.table)
    sanitized = _change_the_rest(task, rules)
    if method.search == "improve" and rules.mode == MINIMUM_HARM:
        sanitized = refine(task.problem, sanitized, rules, task.rng)
    if not isinstance(method.uncertainty, str):
        _demand_spread(task.problem, sanitized, method.uncertainty, task.table)
    return sanitized


def delete_by_side_effects(task: HidingTask) -> Sanitized:
    """SBSH-style: change those with the fewest candidates, and delete what is in most embeddings."""
    return _change_the_rest(task, HidingRules(mode=DELETE_ONLY))


def _change_the_rest(task: HidingTask, rules: HidingRules) -> Sanitized:
    """Let those pass whose change would do most harm, and change the others by the rules."""
    task.progress(0.0, "choosing who passes")
    rows, persons = choose_rows(task.problem, task.trie, task.rng)
    return sanitize(task.problem, task.trie, rows, persons, rules, task.rng, progress=task.progress)


def delete_by_matchings(task: HidingTask) -> Sanitized:
    """Abul: pattern by pattern, change those with the fewest matchings."""
    problem, sequences = task.problem, task.table.sequences
    offsets = sequences.person_offsets
    items = sequences.columns[sequences.symbol].copy()
    longest = int(np.diff(offsets).max(initial=0))
    counts = np.empty(len(offsets) - 1)
    for number, threshold in enumerate(problem.thresholds.tolist()):
        task.progress(number / len(problem.thresholds), "hiding patterns")
        secret = problem.secret(number)
        _row_kernels.count_matchings(items, offsets, secret, np.empty(len(secret) + 1), counts)
        holders = np.flatnonzero(counts > 0)
        by_matchings = holders[np.argsort(counts[holders], kind="stable")]
        chosen = by_matchings[: max(len(holders) - threshold + 1, 0)]
        ways = np.empty((longest + 2, len(secret) + 1))
        _row_kernels.delete_matchings(items, offsets, chosen, secret, ways)
    persons = np.flatnonzero(np.diff(offsets_of(items < 0)[offsets]))
    changed, changed_offsets = gather_rows(items, offsets, persons)
    return Sanitized(
        persons=persons,
        items=changed,
        offsets=changed_offsets,
        distances=np.zeros(len(persons), np.int64),
        usage={},
    )


def choose_rows(problem: HidingProblem, trie: Trie, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Let those pass whose change would do most harm; return the rows of the others, and who they are."""
    supporting = np.flatnonzero(problem.marks.any(axis=1))
    order = supporting[np.argsort(-rank_rows(problem, trie, supporting), kind="stable")]
    n_changed = np.empty(len(order), np.int64)
    passed = np.zeros(len(problem.thresholds), np.int64)
    _row_kernels.pass_rows(order, problem.rows.weights, problem.marks, problem.thresholds, passed, n_changed)
    rows, counts = order[n_changed > 0], n_changed[n_changed > 0]
    return np.repeat(rows, counts), _draw_persons(problem, rows, counts, rng)


def rank_rows(problem: HidingProblem, trie: Trie, rows: Counts) -> Counts:
    """Return an upper bound of the side effects of changing each of `rows`."""
    ranks = np.zeros(len(rows), np.int64)
    _scan_rows(problem, trie, rows, np.zeros(len(rows), np.int64), ranks)
    return ranks


def _scan_rows(problem: HidingProblem, trie: Trie, rows: Counts, weights: Counts, ranks: Counts) -> None:
    _row_kernels.scan_rows(
        trie,
        problem.rows.items,
        problem.rows.offsets,
        rows,
        weights,
        problem.marks,
        _sensitive(problem, HidingRules(mode=MINIMUM_HARM)),
        problem.min_support,
        _work(problem, rows, 0),
        ranks,
    )


def _draw_persons(problem: HidingProblem, rows: Counts, counts: Counts, rng: np.random.Generator) -> Counts:
    """Draw `counts` persons of each of `rows`, row after row."""
    shuffled = rng.permutation(len(problem.rows.row_of_person))
    by_row = shuffled[np.argsort(problem.rows.row_of_person[shuffled], kind="stable")]
    starts = offsets_of(problem.rows.weights)[rows]
    offsets = offsets_of(counts)
    drawn: Counts = by_row[starts[owners_of(offsets)] + places_of(offsets)]
    return drawn


def sanitize(
    problem: HidingProblem,
    trie: Trie,
    rows: Counts,
    persons: Counts,
    rules: HidingRules,
    rng: np.random.Generator,
    *,
    progress: Progress,
) -> Sanitized:
    """Change the sequences of `persons`, which are the `rows`, so that no sensitive pattern is left there."""
    distinct = problem.rows
    orders = order_tables(np.diff(problem.secret_offsets).tolist(), rng)
    spread, patterns = _spread(problem, orders, rules)
    offsets = offsets_of(distinct.lengths[rows])
    changes = _kernels.Changes(
        rows,
        rng.random(len(rows)),
        np.empty(offsets[-1], np.int32),
        offsets,
        np.zeros(len(rows), np.int64),
    )
    different, counts = np.unique(rows, return_counts=True)
    _scan_rows(problem, trie, different, counts.astype(np.int64), np.empty(len(different), np.int64))
    work, sensitive = _work(problem, rows, len(rules.forbidden)), _sensitive(problem, rules)
    answers = _choice_kernels.Answers(
        np.empty((_choice_kernels.MAX_ANSWERS, work.codes.shape[1]), np.int32),
        np.empty((_choice_kernels.MAX_ANSWERS, 10), np.int64),
        np.empty(_choice_kernels.MAX_HITS, np.int64),
    )
    left = _kernels.Rows(distinct.items, distinct.offsets, distinct.weights.copy())
    done = 0
    while done < len(rows):
        progress(done / len(rows), "hiding patterns")
        last = min(done + BLOCK, len(rows))
        reached = _kernels.hide_rows(
            done, last, left, changes, trie, sensitive, orders, spread, answers, work, problem.min_support
        )
        if reached < last:
            trie = widen(trie)
        done = reached
    used = np.flatnonzero(spread.classes[:, USAGE])
    return Sanitized(
        persons=persons,
        items=changes.items,
        offsets=offsets,
        distances=changes.distances,
        usage={patterns[place]: int(spread.classes[place, USAGE]) for place in used.tolist()},
    )


def _sensitive(problem: HidingProblem, rules: HidingRules) -> _row_kernels.Sensitive:
    return _row_kernels.Sensitive(
        problem.pattern_table,
        problem.excess,
        as_table(rules.forbidden),
        np.empty(0, np.int64) if rules.seen is None else rules.seen,
    )


def _work(problem: HidingProblem, rows: Counts, n_forbidden: int) -> Work:
    """Make room for the longest of `rows`."""
    longest = int(problem.rows.lengths[rows].max(initial=0))
    n_secrets, size = problem.pattern_table.shape
    most_local = min(longest, problem.n_symbols)
    n_places = min(max(size, _kernels.SHORT), LONGEST)
    return _trie_kernels.Work(
        codes=np.empty((7, max(longest, most_local) + 1), np.int32),
        following=np.empty((2, (longest + 1) * most_local), np.int32),
        stack=np.empty((problem.max_length + 1, 4), np.int64),
        ways=np.empty((longest + 2, size)),
        through=np.empty(longest),
        local_of=np.full(problem.n_symbols, -1, np.int32),
        possible=np.empty(max(n_secrets, n_forbidden), np.int64),
        local=np.empty((n_secrets + 1, size), np.int32),
        forbidden=np.empty((n_forbidden + 1, longest + 1), np.int32),
        choices=np.empty((n_places + 2, n_places), np.int32),
        hits=np.empty(_choice_kernels.MAX_HITS, np.int64),
    )


def _spread(
    problem: HidingProblem, orders: Orders, rules: HidingRules
) -> tuple[Spread, dict[int, tuple[int, tuple[int, ...]]]]:
    """Number the permutations of each sensitive pattern; orders that give the same one share a number."""
    classes: list[int] = []
    starts = [0]
    patterns: dict[int, tuple[int, tuple[int, ...]]] = {}
    base: dict[int, int] = {}
    for number in range(len(problem.thresholds)):
        secret = tuple(problem.secret(number).tolist())
        size = len(secret)
        first: dict[tuple[int, ...], int] = {}
        if 1 < size < len(orders.starts) - 1:
            places = orders.places[orders.starts[size, 0] : orders.starts[size + 1, 0]].reshape(-1, size)
            for place, order in enumerate(places.tolist()):
                pattern = tuple(secret[each] for each in order)
                patterns.setdefault(starts[-1] + first.setdefault(pattern, place), (number, pattern))
                classes.append(first[pattern])
        if rules.mode == BOUNDED:
            base |= {starts[-1] + place: _support(problem, pattern) for pattern, place in first.items()}
        starts.append(len(classes))
    table = np.zeros((len(classes), 3), np.int64)
    table[:, 0] = classes
    table[list(base), BASE] = list(base.values())
    spread = _choice_kernels.Spread(
        rules.mode,
        rules.wanted,
        rules.least,
        table,
        np.column_stack([np.array(starts, np.int64), np.zeros(len(starts), np.int64)]),
        rules.deletes_last,
    )
    return spread, patterns


def _support(problem: HidingProblem, pattern: tuple[int, ...]) -> int:
    rows = problem.rows
    marked = mark_supporters(rows.items, rows.offsets, np.array(pattern, np.int32))
    return int(rows.weights[marked].sum())


def _rules(method: PH, table: EventTable) -> HidingRules:
    sequences = table.sequences
    book, distinct = sequences.codebooks[sequences.symbol], sequences.distinct(sequences.symbol)
    seen, forbidden = None, []
    if isinstance(method.forbidden, str):
        seen = list_pairs(distinct.items, distinct.offsets, len(book))
    else:
        # A pattern with a label that does not occur cannot come about.
        forbidden = [each for each in method.forbidden if all(label in book.codes for label in each)]
    rules = HidingRules(
        mode=MAXIMUM if method.uncertainty == "maximum" else MINIMUM_HARM,
        forbidden=tuple(tuple(book.encode(each).tolist()) for each in forbidden),
        seen=seen,
        deletes_last=method.prefer == "permutation",
    )
    if isinstance(method.uncertainty, str):
        return rules
    spread = method.uncertainty
    return replace(rules, mode=BOUNDED, wanted=spread.permutations, least=spread.support)


def _demand_spread(problem: HidingProblem, sanitized: Sanitized, wanted: Bounded, table: EventTable) -> None:
    """Refuse unless each pattern that was hidden has enough permutations with enough supporters now."""
    sequences = table.sequences
    labels = sequences.codebooks[sequences.symbol].labels
    weights = problem.rows.weights.copy()
    np.subtract.at(weights, problem.rows.row_of_person[sanitized.persons], 1)

    def count(pattern: tuple[int, ...]) -> int:
        codes = np.array(pattern, np.int32)
        as_before = mark_supporters(problem.rows.items, problem.rows.offsets, codes)
        changed = mark_supporters(sanitized.items, sanitized.offsets, codes)
        return int(weights[as_before].sum() + changed.sum())

    lines = []
    for number in np.flatnonzero(problem.excess).tolist():
        used = [pattern for secret, pattern in sanitized.usage if secret == number]
        n_reached = sum(count(pattern) >= wanted.support for pattern in used)
        if n_reached < wanted.permutations:
            name = " → ".join(labels[code] for code in problem.secret(number))
            lines.append(f"{name} has {n_reached}")
    if lines:
        msg = (
            f"uncertainty asks for {wanted.permutations} permutations of each pattern with {wanted.support} "
            f"supporters each, and {', '.join(lines[:3])}"
        )
        raise UnattainableError(msg)
