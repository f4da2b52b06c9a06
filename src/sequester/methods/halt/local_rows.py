"""Rows of a lattice node in which cells are suppressed until nothing is shown by too few persons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester.engine import LocalEngine
from sequester.methods.halt import _local_kernels as kernel
from sequester.methods.halt import _match_kernels
from sequester.methods.halt.elimination import Obstacle
from sequester.methods.halt.extraction import Cause, TooMuchError, WorkBudget
from sequester.methods.halt.histories import HIDDEN, WeightedRows
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.engine import Engine
    from sequester.methods.halt.histories import QuasiIdentifiers, RowOwners, Signature

    Amounts = npt.NDArray[np.float64]


MOST_ENTRIES = 1 << 26
"""Different g-sequences that are counted at one time: some 2 GB."""
PART = 2_000_000
"""Choices of cells that are worth a part of their own."""
WORTH_SENDING = 20_000_000
"""Choices of cells from which on parts go to other machines: estimated, so that sending them gains."""
FEWEST_ENTRIES, FEWEST_CHOICES = 1 << 12, 1 << 12


def count_choices(n_cells: int, length: int) -> int:
    """Return how many choices of up to so many of its cells a row has at most."""
    return sum(math.comb(n_cells, size) for size in range(1, length + 1))


def choices_of_rows(offsets: Offsets, length: int) -> Counts:
    """Return for each row how many choices of up to so many of its cells it has at most."""
    sizes, which = np.unique(np.diff(offsets), return_inverse=True)
    most = np.iinfo(np.int64).max // max(len(offsets), 1)
    choices = [min(count_choices(size, length), most) for size in sizes.tolist()]
    return np.array(choices, np.int64)[which.reshape(-1)]


def cut_rows(n_choices: Counts) -> list[range]:
    """Cut rows into parts of nearly equally many choices."""
    ends = np.cumsum(n_choices)
    total = int(n_choices.sum())
    bounds = np.searchsorted(ends, np.linspace(0, total, max(total // PART, 1) + 1)[1:-1])
    return [range(a, b) for a, b in pairwise([0, *bounds.tolist(), len(ends)]) if a < b]


def engine_for(engine: Engine, n_choices: int) -> Engine | None:
    """Return what runs the parts: this process where sending gains nothing, None where nothing does."""
    engine = engine if isinstance(engine, LocalEngine) or n_choices >= WORTH_SENDING else LocalEngine()
    return None if isinstance(engine, LocalEngine) and engine.n_threads == 1 else engine


def empty_table(shown: kernel.CountedRows) -> kernel.CountedRows:
    """Return rows with an empty table of entries of its own."""
    state = np.zeros(kernel.N_STATE, np.int64)
    state[[kernel.ENTRIES, kernel.LINKS]] = 1
    return shown._replace(
        slots=np.zeros(2 * FEWEST_ENTRIES, np.int64),
        entries=np.zeros((FEWEST_ENTRIES, kernel.N_FIELDS), np.int64),
        choices=np.empty((FEWEST_CHOICES, kernel.N_CHOICE_FIELDS), np.int64),
        state=state,
    )


def with_entries(shown: kernel.CountedRows, n_entries: int) -> kernel.CountedRows:
    """Return the table with room for so many entries."""
    n_used = int(shown.state[kernel.ENTRIES])
    entries = np.zeros((n_entries, kernel.N_FIELDS), np.int64)
    entries[:n_used] = shown.entries[:n_used]
    slots = np.zeros(1 << (2 * n_entries - 1).bit_length(), np.int64)
    kernel.index_entries(slots, entries, n_used)
    return shown._replace(slots=slots, entries=entries)


def with_room(shown: kernel.CountedRows, row: int) -> kernel.CountedRows:
    """Return the table with room for what a row shows before and after a change.

    Raises
    ------
    TooMuchError
        Where there is no room.
    """
    n_cells = int(shown.rows[row + 1, kernel.FIRST] - shown.rows[row, kernel.FIRST])
    total = 1 + count_choices(n_cells, shown.length)
    needed = int(shown.state[kernel.ENTRIES]) + 2 * total + 1
    if max(needed, total) > MOST_ENTRIES:
        raise TooMuchError
    if total > len(shown.choices):
        shown = shown._replace(choices=np.empty((2 * total, kernel.N_CHOICE_FIELDS), np.int64))
    if needed > len(shown.entries):
        shown = with_entries(shown, min(max(needed, 2 * len(shown.entries)), MOST_ENTRIES))
    return shown


def count_rows(
    shown: kernel.CountedRows, past: kernel.Past | None, rows: range, work: WorkBudget
) -> kernel.CountedRows:
    """Count rows, one after the other, in a table of their own, and the choices of cells that are listed."""
    table, row = empty_table(shown), rows.start
    while row < rows.stop:
        table = with_room(table, row)
        row = kernel.count_rows(table, past, row, rows.stop, 1)
        count_work(table, work)
    return table


def count_work(shown: kernel.CountedRows, work: WorkBudget) -> None:
    """Count the choices of cells that were listed since the last time."""
    n_listed, shown.state[kernel.LISTED] = int(shown.state[kernel.LISTED]), 0
    work.add(n_listed)


def count_in_parts(
    shown: kernel.CountedRows, parts: list[range], engine: Engine, work: WorkBudget
) -> kernel.CountedRows | None:
    """Count all rows side by side; return None where there is no room.

    Entries have the numbers that they get by counting one row after the other.
    """
    # What a part does not read need not be sent.
    asked = empty_table(shown)._replace(links=np.empty((0, 2), np.int32))
    table, n_listed = empty_table(shown), 0
    for answer in engine.map(_count_part, parts, shared=asked):
        if answer is None:
            return None
        found, n_choices = answer
        n_listed += n_choices
        n_needed = int(table.state[kernel.ENTRIES]) + len(found)
        if n_needed > len(table.entries):
            table = with_entries(table, 2 * n_needed)
        kernel.merge_entries(table, found, np.zeros(len(found), np.int64))
    if table.state[kernel.ENTRIES] > MOST_ENTRIES:
        return None
    table.state[kernel.CLOCK] = 1
    work.add(n_listed)
    return table


def _count_part(rows: range, asked: kernel.CountedRows) -> tuple[Counts, int] | None:
    """Return the keys and persons of the entries of some rows, and the choices listed; None for no room."""
    work = WorkBudget()
    try:
        shown = count_rows(asked, None, rows, work)
    except TooMuchError:
        return None
    entries = shown.entries[: shown.state[kernel.ENTRIES]]
    return entries[:, [kernel.KEY, kernel.COUNT]], work.done


def link_in_parts(shown: kernel.CountedRows, parts: list[range], engine: Engine) -> None:
    """Find the rows in which nothing is rare, and link what few persons show to them."""
    counts, n_entries = shown.entries[:, kernel.COUNT], int(shown.state[kernel.ENTRIES])
    asked = shown._replace(
        entries=shown.entries[:n_entries],
        links=np.empty((0, 2), np.int32),
        choices=np.empty((0, kernel.N_CHOICE_FIELDS), np.int64),
    )
    shown.entries[counts >= kernel.MOST_LINKED * shown.k, kernel.LINK] = kernel.UNLINKED
    is_fine = np.zeros(len(shown.rows), np.bool_)
    for rows, (are_fine, found) in zip(parts, engine.map(_find_links, parts, shared=asked), strict=True):
        is_fine[rows.start : rows.stop] = are_fine
        kernel.link_found(shown, found)
    shown.rows[is_fine, kernel.LINKED_AT] = shown.state[kernel.CLOCK]


def _find_links(rows: range, asked: kernel.CountedRows) -> tuple[Mask, Codes]:
    """Mark the rows in which nothing is rare; return pairs of a row and an entry, one after the other."""
    sizes = np.diff(asked.rows[rows.start : rows.stop + 1, kernel.FIRST])
    n_choices = 1 + count_choices(int(sizes.max(initial=0)), asked.length)
    shown = asked._replace(
        choices=np.empty((n_choices, kernel.N_CHOICE_FIELDS), np.int64), state=asked.state.copy()
    )
    is_fine = np.zeros(len(rows), np.bool_)
    found, n_found = kernel.find_links(shown, rows.start, rows.stop, is_fine, np.empty(1 << 12, np.int32))
    return is_fine, found[:n_found].copy()


MOST_LINKS = 1 << 24
"""Links of g-sequences to the rows that show them: at most 128 MB."""
MOST_RARE = 4_096
"""Rare choices of cells of one row that are broken at one time."""
CHOICE = 20
"""Company is chosen among so many times the persons who are needed."""
MOST_STARRED = 300
"""G-sequences up to which rows that may join are looked for beside what is released as a value."""
MOST_PRICED = 2_000_000
"""And rows times g-sequences."""


@dataclass(eq=False)
class LocalRows:
    """Rows of a node, what they show, and why each suppressed cell is suppressed."""

    quasi: QuasiIdentifiers
    items: Codes
    """The item of each cell before anything is suppressed; -1 where nothing is known."""
    offsets: Offsets
    """Row ``r`` has the cells from ``offsets[r]`` to ``offsets[r + 1]``."""
    weights: Counts
    """Persons of each row."""
    is_locked: Mask
    """Cell to whether it may not be suppressed."""
    prices: Amounts
    """Item to the cost of its suppression in one cell."""
    stars: bool
    """A suppressed cell is an item of its own."""
    k: int
    p: int
    work: WorkBudget
    """Counts choices of cells that are gone through."""
    columns: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    """The quasi-identifiers of which each event has a cell, ascending; by default all of them."""
    engine: Engine = field(default_factory=LocalEngine)
    """Counts rows side by side."""
    cells: Codes = field(init=False)
    """The item of each cell as it is released."""
    cause_of: Codes = field(init=False)
    """Cell to the place of what it was suppressed for among the causes; -1 where it is not suppressed."""
    causes: dict[Cause, int] = field(default_factory=dict)
    past: kernel.Past | None = field(init=False, default=None)
    """What was released before, if anything was."""

    def __post_init__(self) -> None:
        self.cells = self.items.copy()
        self.cause_of = np.full(len(self.items), -1, np.int32)
        quasi = self.quasi
        if not len(self.columns):
            self.columns = np.arange(len(quasi))
        stars = quasi.stars[quasi.owners] if self.stars else np.full(quasi.n_items, -1, np.int32)
        is_secret = np.concatenate([column.is_secret for column in quasi.columns])
        self._star_of = stars.astype(np.int32)
        self._is_item: Mask = ~is_secret & ~quasi.is_root
        most_cells = int(np.diff(self.offsets).max(initial=0))
        self._picks = np.empty((most_cells + 4096, kernel.N_PICK_FIELDS), np.int64)
        self._unbreakable = np.empty(4096, np.int64)
        self._scores = np.zeros(most_cells, np.int64)

    @property
    def n_free(self) -> int:
        """Rows in which anything can be suppressed; they come first."""
        return len(self.weights)

    @property
    def first_new(self) -> Counts:
        """Row to its first cell that was not released before."""
        return self.offsets[:-1]

    @property
    def is_suppressed(self) -> Mask:
        """Cell to whether it is suppressed."""
        return np.asarray(self.cause_of >= 0)

    @property
    def cost(self) -> float:
        """What all suppressed cells add to the loss."""
        places = np.flatnonzero(self.cause_of >= 0)
        rows = np.searchsorted(self.offsets, places, side="right") - 1
        return float(self.prices[self.items[places]] @ self.weights[rows])

    def histories(
        self, node: Signature, persons: RowOwners, has_secrets: Sequence[bool]
    ) -> tuple[WeightedRows, Signature]:
        """Return what is released as histories of `persons`, and the finest levels at which it can be seen.

        Stars can be seen below the root. A column of nothing but stars shows nothing, unless it has secrets.
        """
        n_columns, seen = len(self.columns), list(node)
        cells = np.full((len(self.cells) // n_columns, len(self.quasi)), HIDDEN, np.int32)
        cells[:, self.columns] = self.cells.reshape(-1, n_columns)
        for q in self.columns.tolist():
            column, own = self.quasi.columns[q], cells[:, q]
            is_star = own == column.first + column.star
            if is_star.any() and not has_secrets[q] and (is_star | (own < 0)).all():
                own[:] = HIDDEN
            elif is_star.any():
                seen[q] = min(seen[q], column.height - 1)
            own[own >= 0] -= column.first
        return WeightedRows(cells, self.offsets // n_columns, persons), tuple(seen)

    def settle(self, enough: float, *, power: float = 1.0) -> Obstacle | None:
        """Suppress cells until everything that is shown is shown by at least k persons.

        Shorter g-sequences come first: a rare value has to go, whatever it stands beside. What holds a star
        is left for last, when other stars may have joined it. Given up as soon as the cost is above `enough`.
        """
        for length in range(1, self.p + 1):
            self.count_up_to(length)
            obstacle = self.resettle(enough, power=power)
            if obstacle is not None:
                return obstacle
        return None

    def resettle(self, enough: float, *, power: float = 1.0) -> Obstacle | None:
        """Do as `settle` where everything is counted and something may have become rare since."""
        shown, is_done = self._shown, False
        while not is_done:
            while self._sweep(power, enough, with_stars=False):
                if shown.spent[0] > enough:
                    return Obstacle()
                if shown.state[kernel.INFEASIBLE]:
                    break
            if shown.state[kernel.INFEASIBLE]:
                return Obstacle(self._cause(int(shown.state[kernel.INFEASIBLE])))
            n_joined = self._join_stars()
            if isinstance(n_joined, Obstacle):
                return n_joined
            is_done = not self._sweep(power, enough, with_stars=True) and not n_joined
            if shown.spent[0] > enough:
                return Obstacle()
        return None

    def restore_cells(self) -> None:
        """Show suppressed cells again where nothing becomes rare by that, the dearest first."""
        for _ in range(2):
            places = np.flatnonzero(self.cause_of >= 0)
            places = places[np.argsort(-self.prices[self.items[places]], kind="stable")]
            rows = np.searchsorted(self.offsets, places, side="right") - 1
            is_restored, done = np.zeros(len(places), np.bool_), 0
            self._shown.state[kernel.TIMED_ROW] = -1
            while done < len(places):
                self._make_room(int(rows[done]))
                done = _match_kernels.restore_cells(
                    self._shown, self.past, rows, places, self.items[places], is_restored, done
                )
            count_work(self._shown, self.work)
            self.cause_of[places[is_restored]] = -1

    def break_channel(self, cause: Cause, rows: Counts, needed: int) -> int:
        """Break a channel in the cheapest of some rows until so many persons less show it; -1 if none can.

        Returns the persons who show it no more.
        """
        number, pattern = self._number(cause), self.pattern(cause)
        n_broken, n_infeasible = 0, 0
        for row in rows.tolist():
            if n_broken >= needed:
                break
            if self._break_row(row, pattern, number):
                n_broken += int(self.weights[row])
            else:
                n_infeasible += 1
        return -1 if n_infeasible and n_broken < needed else n_broken

    def _break_row(self, row: int, pattern: Counts, number: int) -> bool:
        """Suppress the cheapest cell of each match of a pattern in a row; return whether none is left."""
        while len(places := self._match(pattern, np.array([row]))[2]):
            items = self.cells[places[0]]
            is_free = (self._star_of[items] != items) & ~self.is_locked[places[0]]
            if not is_free.any():
                return False
            best = np.argmin(np.where(is_free, self.prices[items], np.inf))
            self._suppress(row, places[0, best : best + 1], number)
        return True

    def _suppress(self, row: int, places: Counts, number: int) -> None:
        """Suppress cells of a row for a cause, and count the row anew."""
        items = self.cells[places]
        stars = self._star_of[items]
        for price in self.prices[items].tolist():
            self._shown.spent[0] += price * self.weights[row]
        # What it shows no more is taken away last: only that can become rare.
        for codes, change in ((stars, 1), (items, -1)):
            self.cells[places] = codes
            self._make_room(row)
            kernel.count_rows(self._shown, self.past, row, row + 1, change)
        self.cells[places] = stars
        self._shown.rows[row, kernel.LOOKED_AT :] = kernel.NEVER
        self.cause_of[places] = number

    def shows(self, cause: Cause) -> Mask:
        """Mark the rows that show a channel."""
        mask = np.zeros(len(self.weights), np.bool_)
        self.work.add(len(self.cells))
        mask[self._match(self.pattern(cause), np.arange(len(self.weights)))[0]] = True
        return mask

    def _price(self, cause: Cause, most: int) -> tuple[Counts, Amounts, Counts]:
        """Return the rows that show a channel only by further stars, the costs, and the cells.

        No more are looked for once these are so many persons.
        """
        self.work.add(len(self.cells))
        return self._match(self.pattern(cause), np.arange(len(self.weights)), may_star=True, most=most)

    def _match(
        self,
        pattern: Counts,
        rows: Counts,
        stops: Counts | None = None,
        *,
        may_star: bool = False,
        most: int = np.iinfo(np.int64).max,
    ) -> tuple[Counts, Amounts, Counts]:
        """Return which rows show a pattern before some cells, at what cost, and the cells of each match."""
        stops = self.offsets[rows + 1] if stops is None else stops
        rows, costs, places = rows.copy(), np.empty(len(rows)), np.empty((len(rows), len(pattern)), np.int64)
        n_rows = _match_kernels.price_rows(
            self._shown, pattern, may_star, most, np.zeros(len(pattern) + 1), rows, stops, costs, places
        )
        return rows[:n_rows].copy(), costs[:n_rows].copy(), places[:n_rows].copy()

    def join(self, cause: Cause, needed: int, rows: Mask | None = None) -> Obstacle | int:
        """Let the cheapest rows show the stars of a channel, until so many persons more do."""
        most = CHOICE * needed if rows is None else np.iinfo(np.int64).max
        candidates, costs, places = self._price(cause, most)
        chosen = np.lexsort((self.weights[candidates], costs))
        if rows is not None:
            chosen = chosen[rows[candidates[chosen]]]
        n_joined_persons = np.cumsum(self.weights[candidates[chosen]])
        if not len(n_joined_persons) or n_joined_persons[-1] < needed:
            return Obstacle(cause)
        chosen = chosen[: int(np.searchsorted(n_joined_persons, needed)) + 1]
        number, items = self._number(cause), np.array(cause.items)
        for row, own in zip(candidates[chosen].tolist(), places[chosen], strict=True):
            shows = (items <= self.cells[own]) & (self.cells[own] < self.quasi.ends[items])
            self._suppress(row, own[~shows], number)
        return len(chosen)

    def pattern(self, cause: Cause) -> Counts:
        """Write a channel as kernels read it."""
        items = np.array(cause.items)
        pattern = np.zeros((len(items), kernel.N_PATTERN_FIELDS), np.int64)
        pattern[:, kernel.LOW], pattern[:, kernel.HIGH] = items, self.quasi.ends[items]
        pattern[:, kernel.IS_SAME] = [cause.kinds >> place & 1 for place in range(len(items))]
        return pattern

    def count_up_to(self, length: int) -> None:
        """Count all g-sequences of up to so many items that are shown now, and were not before."""
        rows = np.full((len(self.offsets), kernel.N_ROW_FIELDS), kernel.NEVER)
        rows[:, kernel.FIRST] = self.offsets
        rows[:-1, kernel.FIRST_NEW], rows[:-1, kernel.WEIGHT] = self.first_new, self.weights
        items = np.zeros((self.quasi.n_items, kernel.N_ITEM_FIELDS), np.int64)
        items[:, kernel.IS_COUNTED], items[:, kernel.STAR] = self._is_item, self._star_of
        # Twice as many as there are choices of cells, because rows change.
        n_links = int(min(2 * choices_of_rows(self.offsets, length).sum() + 1, MOST_LINKS))
        shown = kernel.CountedRows(
            self.cells,
            self.is_locked,
            rows,
            items,
            self.prices,
            np.empty(0, np.int64),
            np.empty((0, kernel.N_FIELDS), np.int64),
            np.empty((n_links if self.past is None else 0, 2), np.int32),
            np.empty((0, kernel.N_CHOICE_FIELDS), np.int64),
            np.array([self.cost]),
            np.empty(0, np.int64),
            len(self.columns),
            length,
            self.k,
        )
        n_choices = choices_of_rows(self.offsets, length)
        parts, engine = cut_rows(n_choices), engine_for(self.engine, int(n_choices.sum()))
        if self.past is None and engine is not None and len(parts) > 1:
            counted = count_in_parts(shown, parts, engine, self.work)
            if counted is not None:
                self._shown = counted
                link_in_parts(counted, parts, engine)
                return
        self._shown = count_rows(shown, self.past, range(self.n_free), self.work)

    def _make_room(self, row: int) -> None:
        """Make room for what a row shows before and after a change."""
        self._shown = with_room(self._shown, row)

    def _sweep(self, power: float, enough: float, *, with_stars: bool) -> bool:
        """Go through all rows once, or until the cost is above `enough`; return whether any changed."""
        rare = np.empty((MOST_RARE, self._shown.length + 1), np.int64)
        row, found = 0, []
        while row < self.n_free and self._shown.spent[0] <= enough:
            rows = np.array([row, self.n_free])
            row = kernel.sweep(
                self._shown,
                self.past,
                rows,
                with_stars,
                power,
                enough,
                rare,
                self._unbreakable,
                self._scores,
                self._picks,
            )
            found.append(self._picks[: self._shown.state[kernel.PICKS]].copy())
            self._shown.state[kernel.PICKS] = 0
            count_work(self._shown, self.work)
            if row < self.n_free:
                self._make_room(row)
        return self._note_picks(np.concatenate(found)) if found else False

    def _join_stars(self) -> Obstacle | int:
        """Suppress cells of others where what holds a star is rare, if that is cheaper or the only way.

        Returns how many rows have joined.
        """
        state = self._shown.state
        unbreakable = set(self._unbreakable[: state[kernel.UNBREAKABLE]].tolist())
        state[kernel.UNBREAKABLE] = 0
        n_joined = 0
        for entry in self._list_starred(unbreakable):
            persons = int(self._shown.entries[entry, kernel.COUNT])
            cause = self._cause(entry)
            values = [item for item in cause.items if self._star_of[item] != item]
            needed = self.k - persons
            if not 0 < persons < self.k:
                continue
            if values and entry not in unbreakable:
                _, costs, _ = self._price(cause, CHOICE * needed)
                if (
                    len(costs) < needed
                    or np.sort(costs)[:needed].sum() >= persons * self.prices[values].min()
                ):
                    continue
            joined = self.join(cause, needed)
            if isinstance(joined, Obstacle):
                return joined
            n_joined += joined
        return n_joined

    def _list_starred(self, unbreakable: set[int]) -> list[int]:
        """List the rare entries with a star that other rows may join: all of them where they are few."""
        if not self.stars:
            return []
        entries = self._shown.entries[: self._shown.state[kernel.ENTRIES]]
        items = entries[:, kernel.KEY] & ((1 << kernel.ITEM_BITS) - 1)
        above = entries[:, kernel.KEY] >> (kernel.ITEM_BITS + 1)
        is_star = self._star_of[items] == items
        has_star, is_pure = is_star.copy(), is_star.copy()
        has_star[0], is_pure[0] = False, True
        for _ in range(self._shown.length):
            has_star, is_pure = is_star | has_star[above], is_star & is_pure[above]
            has_star[0], is_pure[0] = False, True
        is_rare = (entries[:, kernel.COUNT] > 0) & (entries[:, kernel.COUNT] < self.k)
        found = np.flatnonzero(is_rare & has_star)
        if len(found) > MOST_STARRED or len(found) * len(self.weights) > MOST_PRICED:
            is_unbreakable = np.zeros(len(entries), np.bool_)
            is_unbreakable[list(unbreakable)] = True
            found = np.flatnonzero(is_rare & has_star & (is_pure | is_unbreakable))
        return [int(entry) for entry in found]

    def _cause(self, entry: int) -> Cause:
        """Return what an entry stands for, as it is counted now."""
        persons, items, kinds = int(self._shown.entries[entry, kernel.COUNT]), [], 0
        while entry:
            key = int(self._shown.entries[entry, kernel.KEY])
            items.append(key & ((1 << kernel.ITEM_BITS) - 1))
            kinds = kinds << 1 | (key >> kernel.ITEM_BITS & 1)
            entry = key >> (kernel.ITEM_BITS + 1)
        # The kinds were read from the last item to the first, which is the lowest bit.
        return Cause(tuple(reversed(items)), kinds, persons)

    def _number(self, cause: Cause) -> int:
        return self.causes.setdefault(cause, len(self.causes))

    def _note_picks(self, picks: Counts) -> bool:
        """Write down why cells were suppressed; return whether there were any."""
        # The largest number of persons comes first, and is the one that is kept.
        causes = picks[:, [kernel.CAUSE, kernel.PERSONS]] * [1, -1]
        found, which = np.unique(causes, axis=0, return_inverse=True)
        numbers = []
        for entry, negated in found.tolist():
            cause = self._cause(entry)
            numbers.append(self._number(Cause(cause.items, cause.kinds, -negated)))
        self.cause_of[picks[:, kernel.PICKED]] = np.array(numbers, np.int32)[which.reshape(-1)]
        return len(picks) > 0


def split_rows(weights: Counts, sizes: Counts) -> tuple[Offsets, Counts]:
    """Cut rows into pieces of the given sizes, the last of each up to twice as large.

    Returns the offsets of the pieces of each row, and their weights.

    Examples
    --------
    >>> offsets, weights = split_rows(np.array([7, 1]), np.array([3, 3]))
    >>> offsets.tolist(), weights.tolist()
    ([0, 2, 3], [3, 4, 1])
    """
    n_pieces = np.maximum(weights // sizes, 1)
    offsets = offsets_of(n_pieces)
    pieces = np.repeat(sizes, n_pieces)
    pieces[offsets[1:] - 1] = weights - sizes * (n_pieces - 1)
    return offsets, pieces
