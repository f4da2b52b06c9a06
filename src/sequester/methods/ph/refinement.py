"""Choose again how sequences are changed, one or two together, as long as that lowers the side effects."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.methods.ph.algorithm import HidingRules, Sanitized
    from sequester.methods.ph.problem import HidingProblem

    Row = tuple[int, ...]

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
        distances=np.zeros(len(persons), np.int64),
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
        self.seen = (
            None if rules.seen is None else {pair for row in self.rows for pair in combinations(row, 2)}
        )
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
        return not any(_is_in(each, after) and not _is_in(each, before) for each in self.rules.forbidden)

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
