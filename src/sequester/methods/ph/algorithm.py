"""Phases II and III: who passes untouched, and how the others are changed, row by row."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import UnattainableError
from sequester.methods.ph import _kernels, _row_kernels
from sequester.methods.ph._kernels import (
    BASE,
    BOUNDED,
    DELETE_ONLY,
    MAXIMUM,
    MINIMUM_HARM,
    USAGE,
    HidingRules,
)
from sequester.methods.ph.problem import LONGEST, as_table, order_tables, widen
from sequester.mining.support import list_pairs, mark_supporters
from sequester.ragged import gather_rows, offsets_of, owners_of, places_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.ph._kernels import Orders, Spread
    from sequester.methods.ph._row_kernels import RowScratch, Trie
    from sequester.methods.ph.method import PH, Bounded
    from sequester.methods.ph.problem import HidingProblem, HidingTask

    Row = tuple[int, ...]


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
    used: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Sensitive pattern, and permutation of it that a sequence got."""


def permute(method: PH, task: HidingTask) -> Sanitized:
    """Let those pass whose change would do most harm, and permute the items of the others, as PH does."""
    rules = _rules(method, task.table)
    sanitized = _change_the_rest(task, rules)
    if method.search == "improve" and rules.mode == MINIMUM_HARM:
        sanitized = refine(task.problem, sanitized, rules, task.rng)
    if not isinstance(method.uncertainty, str):
        _demand_spread(task.problem, sanitized, method.uncertainty, task.table)
    return sanitized


def delete_by_side_effects(task: HidingTask) -> Sanitized:
    """Change those with the fewest candidates, and delete what is in most embeddings, as SBSH does."""
    return _change_the_rest(task, HidingRules(mode=DELETE_ONLY))


def _change_the_rest(task: HidingTask, rules: HidingRules) -> Sanitized:
    """Let those pass whose change would do most harm, and change the others by the rules."""
    task.progress(0.0, "choosing records to change")
    rows, persons = choose_rows(task.problem, task.trie, task.rng)
    return sanitize(task.problem, task.trie, rows, persons, rules, task.rng, progress=task.progress)


def delete_by_matchings(task: HidingTask) -> Sanitized:
    """Change, pattern by pattern, those with the fewest matchings, as Abul does."""
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
    return Sanitized(persons=persons, items=changed, offsets=changed_offsets)


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
        _row_kernels.SensitivePatterns(problem.pattern_table, problem.excess),
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
    changes = _kernels.Changes(rows, rng.random(len(rows)), np.empty(offsets[-1], np.int32), offsets)
    different, counts = np.unique(rows, return_counts=True)
    _scan_rows(problem, trie, different, counts.astype(np.int64), np.empty(len(different), np.int64))
    work = _work(problem, rows, len(rules.forbidden))
    sensitive = _row_kernels.SensitivePatterns(problem.pattern_table, problem.excess)
    answers = _kernels.Answers(
        np.empty((_kernels.MAX_ANSWERS, work.codes.shape[1]), np.int32),
        np.empty((_kernels.MAX_ANSWERS, 10), np.int64),
        np.empty(_kernels.MAX_HITS, np.int64),
    )
    left = _kernels.DistinctRows(distinct.items, distinct.offsets, distinct.weights.copy())
    search = _kernels.Search(trie, sensitive, orders, rules, spread, answers, work)
    done = 0
    while done < len(rows):
        progress(done / len(rows), "hiding patterns")
        last = min(done + BLOCK, len(rows))
        reached = _kernels.hide_rows(search, left, changes, problem.min_support, done, last)
        if reached < last:
            search = search._replace(trie=widen(search.trie))
        done = reached
    return Sanitized(
        persons=persons,
        items=changes.items,
        offsets=offsets,
        used=tuple(patterns[place] for place in np.flatnonzero(spread.classes[:, USAGE]).tolist()),
    )


def _work(problem: HidingProblem, rows: Counts, n_forbidden: int) -> RowScratch:
    """Make room for the longest of `rows`."""
    longest = int(problem.rows.lengths[rows].max(initial=0))
    n_secrets, size = problem.pattern_table.shape
    most_local = min(longest, problem.n_symbols)
    n_places = min(max(size, _kernels.SHORT), LONGEST)
    return _row_kernels.RowScratch(
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
        hits=np.empty(_kernels.MAX_HITS, np.int64),
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
            weights = problem.rows.weights
            base |= {
                starts[-1] + place: _support(problem, weights, pattern) for pattern, place in first.items()
            }
        starts.append(len(classes))
    table = np.zeros((len(classes), 3), np.int64)
    table[:, 0] = classes
    table[list(base), BASE] = list(base.values())
    starts_and_reached = np.column_stack([np.array(starts, np.int64), np.zeros(len(starts), np.int64)])
    return _kernels.Spread(table, starts_and_reached), patterns


def _support(problem: HidingProblem, weights: Counts, pattern: tuple[int, ...]) -> int:
    marked = mark_supporters(problem.rows.items, problem.rows.offsets, np.array(pattern, np.int32))
    return int(weights[marked].sum())


def _rules(method: PH, table: EventTable) -> HidingRules:
    sequences = table.sequences
    book, distinct = sequences.codebooks[sequences.symbol], sequences.distinct(sequences.symbol)
    mode = MAXIMUM if method.uncertainty == "maximum" else MINIMUM_HARM
    rules = HidingRules(mode, deletes_last=method.prefer == "permutation")
    if isinstance(method.forbidden, str):
        rules = rules._replace(seen=list_pairs(distinct.items, distinct.offsets, len(book)))
    else:
        # A pattern with a label that does not occur cannot come about.
        known = [each for each in method.forbidden if all(label in book.codes for label in each)]
        rules = rules._replace(forbidden=as_table([book.encode(each).tolist() for each in known]))
    if isinstance(method.uncertainty, str):
        return rules
    spread = method.uncertainty
    return rules._replace(mode=BOUNDED, wanted=spread.permutations, least=spread.support)


def _demand_spread(problem: HidingProblem, sanitized: Sanitized, wanted: Bounded, table: EventTable) -> None:
    """Refuse unless each pattern that was hidden has enough permutations with enough supporters now."""
    sequences = table.sequences
    labels = sequences.codebooks[sequences.symbol].labels
    weights = problem.rows.weights.copy()
    np.subtract.at(weights, problem.rows.row_of_person[sanitized.persons], 1)

    def count(pattern: tuple[int, ...]) -> int:
        changed = mark_supporters(sanitized.items, sanitized.offsets, np.array(pattern, np.int32))
        return _support(problem, weights, pattern) + int(changed.sum())

    lines = []
    for number in np.flatnonzero(problem.excess).tolist():
        used = [pattern for secret, pattern in sanitized.used if secret == number]
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


MOST_PARTS = 300_000
"""Subsequences of all distinct sequences up to which they are counted; with more, nothing is done."""
MOST_TRIALS = 60_000
"""Changes that are tried."""
MOST_CANDIDATES = 120
"""Ways to change a sequence that are looked at."""
DELETED = -1


def refine(
    problem: HidingProblem, sanitized: Sanitized, rules: HidingRules, rng: np.random.Generator
) -> Sanitized:
    """Return the changed sequences with fewer side effects; as they were where the data is large.

    Each change is chosen again given all others: for one person, then for two together, which may also let
    one pass and change another. The thresholds are kept, and nothing forbidden comes about. Among persons
    with the same sequence, who is changed is left to chance.
    """
    counted = {*range(1, problem.max_length + 1), *np.diff(problem.secret_offsets).tolist()}
    sizes = Counter(problem.rows.lengths.tolist())
    if sum(count * math.comb(size, n) for size, count in sizes.items() for n in counted) > MOST_PARTS:
        return sanitized
    search = Refinement(problem, sanitized, rules, rng)
    while search.improve_one() or search.improve_two():
        pass
    persons = sorted(search.changed)
    changed = [search.changed[person] for person in persons]
    return replace(
        sanitized,
        persons=np.array(persons, np.int64),
        items=np.array([code for row in changed for code in row], np.int32),
        offsets=offsets_of(np.array([len(row) for row in changed], np.int64)),
    )


class Refinement:
    """The sequences as they are released, with the supports of all their subsequences."""

    def __init__(
        self, problem: HidingProblem, sanitized: Sanitized, rules: HidingRules, rng: np.random.Generator
    ) -> None:
        self.problem, self.rules = problem, rules
        rows = problem.rows
        self.rows: list[Row] = [
            tuple(rows.items[start:end].tolist())
            for start, end in zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True)
        ]
        self.row_of: list[int] = rows.row_of_person.tolist()
        self.secrets: list[Row] = [
            tuple(problem.secret(number).tolist()) for number in range(len(problem.thresholds))
        ]
        self.seen = {pair for row in self.rows for pair in combinations(row, 2)} if rules.seen.size else None
        self.forbidden: list[Row] = [tuple(row[row >= 0].tolist()) for row in rules.forbidden]
        self.n_trials = 0
        self._parts: dict[Row, frozenset[Row]] = {}
        self._candidates: dict[Row, list[Row]] = {}
        self._is_owed: dict[Row, bool] = {}
        self.counts: Counter[Row] = Counter()
        for row, weight in zip(self.rows, rows.weights.tolist(), strict=True):
            for part in self.parts(row):
                self.counts[part] += weight
        self.frequent = {part for part, count in self.counts.items() if count >= problem.min_support}
        self.supports: list[int] = problem.supports.tolist()
        # Chance decides which of several persons with the same sequence comes first.
        self.waiting: dict[int, list[int]] = {}
        holders = np.flatnonzero(np.any(problem.marks[rows.row_of_person], axis=1))
        for person in rng.permutation(holders).tolist():
            self.waiting.setdefault(self.row_of[person], []).append(person)
        self.changed: dict[int, Row] = {}
        ends = sanitized.offsets.tolist()
        for place, person in enumerate(sanitized.persons.tolist()):
            self.put(person, tuple(sanitized.items[ends[place] : ends[place + 1]].tolist()))

    def original(self, person: int) -> Row:
        """Return the sequence of a person as it was."""
        return self.rows[self.row_of[person]]

    def current(self, person: int) -> Row:
        """Return the sequence of a person as it is released."""
        return self.changed.get(person, self.original(person))

    def parts(self, row: Row) -> frozenset[Row]:
        """Return all subsequences whose side effects count."""
        if row not in self._parts:
            found: set[Row] = {()}
            for code in row:
                if code != DELETED:
                    longest = self.problem.max_length
                    found |= {(*part, code) for part in found if len(part) < longest}
            self._parts[row] = frozenset(found - {()})
        return self._parts[row]

    def put(self, person: int, row: Row) -> None:
        """Release a sequence in the place of a person's."""
        before = self.current(person)
        self.counts.subtract(self.parts(before) - self.parts(row))
        self.counts.update(self.parts(row) - self.parts(before))
        for number, secret in enumerate(self.secrets):
            self.supports[number] += _is_in(secret, row) - _is_in(secret, before)
        waiting = self.waiting[self.row_of[person]]
        if person in self.changed:
            del self.changed[person]
            waiting.append(person)
        if row != self.original(person):
            self.changed[person] = row
            waiting.remove(person)

    def pool(self) -> list[int]:
        """List the persons who are changed, and of others one for each sequence with a sensitive pattern."""
        return [
            *sorted(self.changed),
            *(persons[0] for _, persons in sorted(self.waiting.items()) if persons),
        ]

    def gain(self, person: int, row: Row) -> int:
        """Return by how much the side effects rise when a person's sequence is replaced."""
        self.n_trials += 1
        least, total = self.problem.min_support, 0
        old, new = self.parts(self.current(person)), self.parts(row)
        for parts, at, sign in ((old - new, least, 1), (new - old, least - 1, -1)):
            for part in parts:
                if self.counts[part] == at and not self.is_owed(part):
                    total += sign if part in self.frequent else -sign
        return total

    def is_owed(self, part: Row) -> bool:
        """Return whether a pattern contains a sensitive one, and may be lost."""
        if part not in self._is_owed:
            self._is_owed[part] = any(_is_in(secret, part) for secret in self.secrets)
        return self._is_owed[part]

    def is_hidden(self, person: int, row: Row) -> bool:
        """Return whether all thresholds are kept when a person's sequence is replaced."""
        before = self.current(person)
        return all(
            support + _is_in(secret, row) - _is_in(secret, before) < threshold
            for secret, support, threshold in zip(
                self.secrets, self.supports, self.problem.thresholds.tolist(), strict=True
            )
        )

    def candidates(self, person: int) -> list[Row]:
        """List the sequences that a person's may become: as it was, permuted, or with items deleted."""
        row = self.original(person)
        if row not in self._candidates:
            found = {row: None}
            for each in _changes(row, self.secrets):
                if len(found) == MOST_CANDIDATES:
                    break
                if self._is_allowed(row, each):
                    found[each] = None
            self._candidates[row] = list(found)
        return self._candidates[row]

    def _is_allowed(self, before: Row, after: Row) -> bool:
        if self.seen is not None:
            left = [code for code in after if code != DELETED]
            return all(pair in self.seen for pair in combinations(left, 2))
        return not any(_is_in(each, after) and not _is_in(each, before) for each in self.forbidden)

    def best_change(self, person: int, rise: int, n_deleted: int) -> tuple[int, int, Row] | None:
        """Return the change of a person with the fewest side effects, and then deletions; None for none.

        What another change adds is counted in, and both together must lower the side effects.
        """
        best: tuple[int, int, Row] | None = None
        before = self.current(person).count(DELETED)
        for row in self.candidates(person):
            if self.n_trials >= MOST_TRIALS:
                break
            total = rise + self.gain(person, row)
            deleted = n_deleted + row.count(DELETED) - before
            if total >= 0 or (self.rules.deletes_last and deleted > 0):
                continue
            if (best is None or (total, deleted) < best[:2]) and self.is_hidden(person, row):
                best = total, deleted, row
        return best

    def improve_one(self) -> bool:
        """Make the best change of one person; return whether there is any."""
        found = [(change, person) for person in self.pool() if (change := self.best_change(person, 0, 0))]
        if not found:
            return False
        change, person = min(found, key=lambda each: each[0][:2])
        self.put(person, change[2])
        return True

    def improve_two(self) -> bool:
        """Make the best change of the first two persons who can be changed; return whether there are any."""
        for one, other in combinations(self.pool(), 2):
            before, best = self.current(one), None
            chosen = before
            for row in self.candidates(one):
                rise, n_deleted = self.gain(one, row), row.count(DELETED) - before.count(DELETED)
                self.put(one, row)
                change = self.best_change(other, rise, n_deleted)
                self.put(one, before)
                if change and (best is None or change[:2] < best[:2]):
                    best, chosen = change, row
            if best is not None:
                self.put(one, chosen)
                self.put(other, best[2])
                return True
        return False


def _is_in(pattern: Row, row: Row) -> bool:
    """Return whether a sequence contains a pattern, with any gaps."""
    rest = iter(row)
    return all(code in rest for code in pattern)


def _changes(row: Row, secrets: list[Row]) -> Iterator[Row]:
    """Yield sequences that permute the places of a sensitive pattern, or delete one or two of them."""
    held = [secret for secret in secrets if _is_in(secret, row)]
    found = [
        places
        for secret in held
        for places in combinations(range(len(row)), len(secret))
        if tuple(row[place] for place in places) == secret
    ]
    for places in found:
        for order in permutations(places):
            items = list(row)
            for place, source in zip(places, order, strict=True):
                items[place] = row[source]
            yield tuple(items)
    touched = sorted({place for places in found for place in places})
    for size in (1, 2):
        for places in combinations(touched, size):
            if size < len(row):
                yield tuple(DELETED if place in places else code for place, code in enumerate(row))
