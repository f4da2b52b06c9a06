"""The reposition window: snapshots go in one by one, and come out once nothing in them can change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import InternalError, ParameterError
from sequester.methods.reposition import _kernels
from sequester.methods.reposition._kernels import END, SlotLists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.methods.reposition.integer_program import Named
    from sequester.methods.reposition.method import Costs

_SMALLEST_SET = 64
_BY_VALUE = {"heads": END, "counts": 0, "totals": 0, "held_heads": END, "held_counts": 0}
_BY_ROW = {"links": END, "people": 0, "slots": 0}
"""Arrays whose last dimension is values, or rows, and what they hold where there is nothing."""
_DUMPED = ("links", "sizes", "heads", "held_heads", "counts", "held_counts")
"""Arrays from which, with the persons, all others follow."""
MOST_VARIABLES = 5_000
"""Snapshots of the window, squared, times values, up to which it is planned again; with them, records of
persons who have several, times snapshots."""
MOST_NODES = 200
"""Nodes of the search for one plan."""


@dataclass(frozen=True, slots=True)
class Published:
    """A snapshot that has left the window: what is published in it, and what was lost with it."""

    number: int
    """Which snapshot, counted from 0."""
    homes: Counts
    """The number of the snapshot that each published record came with."""
    rows: Codes
    """The place of each published record in that snapshot."""
    expired: Counts
    """Records of this snapshot that are never published, per value. Internal."""


@dataclass(kw_only=True, eq=False, repr=False)
class Window:
    """The last `size` snapshots, each record published in one of them or suppressed until it finds a place.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sequester.methods.reposition.method import Costs
    >>> window = Window(size=2, level=Fraction(2), costs=Costs.of("linear", window=2), seed=7)
    >>> window.feed(np.array([0, 0, 1], np.int32))
    []
    >>> window.feed(np.array([1], np.int32))
    []
    >>> [(each.number, len(each.rows), each.expired.tolist()) for each in window.flush()]
    [(0, 2, [0, 0]), (1, 2, [0, 0])]
    """

    size: int
    level: Fraction
    costs: Costs
    seed: int
    randomize: bool = False
    first_window: str = "grow"
    search: str = "greedy"
    labels: list[str] = field(default_factory=list)
    """What the codes of values mean; only suppression costs per value need it."""
    n_fed: int = field(default=0, init=False)
    """Snapshots that have come."""
    n_published: int = field(default=0, init=False)
    """Snapshots that have left."""
    n_relays: int = field(default=0, init=False)
    """Suppressed records that were relayed into the newest snapshot, those taken back included."""
    n_steps: int = field(default=0, init=False)
    """Steps of all relays, from slot to slot."""
    n_unplanned: int = field(default=0, init=False)
    """Times that the window was to be planned again, and was not, because the program was too large."""

    def __post_init__(self) -> None:
        self.lists = self._empty(n_values=1, capacity=1, places=_SMALLEST_SET)

    @property
    def n_values(self) -> int:
        """Sensitive values that there is room for."""
        return int(self.lists.heads.shape[2])

    def feed(self, values: Codes, persons: Counts | None = None) -> list[Published]:
        """Take the records of the next snapshot; the oldest comes back where the window is full.

        Parameters
        ----------
        values
            The sensitive value of each record, as a code from 0.
        persons
            Whose record it is, as any number; without it every record is another person's.

        Returns
        -------
        list of Published
            The snapshot that leaves, if any.
        """
        values, persons = self._checked(values, persons)
        done = [self._publish()] if self.n_fed - self.n_published == self.size else []
        self._make_room(values)
        number = self.n_fed
        self._seed(number)
        parts = (self.level.numerator, self.level.denominator)
        _kernels.add_snapshot(number, values, persons, parts, self.lists)
        # Every relay may bring somebody new into every slot.
        busiest = int(self.lists.used.max()) + int(self.lists.held_counts.sum())
        self.lists = self._with_larger_sets(self.lists, busiest)
        self.n_fed += 1
        if self.first_window == "ilp" and self.n_fed <= self.size:
            # Nothing leaves before the window is full, so all of it is settled at once then.
            if self.n_fed == self.size:
                self._settle_first()
            return done
        mu = np.array(self.costs.mu)
        relays, steps = _kernels.relay_all(number, parts, mu, self._betas(), self.randomize, self.lists)
        if self.randomize:
            _kernels.perturb(number, parts, self.lists)
        if self.search == "improve" and self.lists.held_counts.any():
            self._plan_again()
        self.n_relays += int(relays)
        self.n_steps += int(steps)
        return done

    def _settle_first(self) -> None:
        """Arrange all that came until the window was full."""
        present = self.lists.counts[: self.n_fed, 0] + self.lists.held_counts[: self.n_fed]
        self._plan(present, np.zeros_like(present), self._betas(), most_nodes=None)

    def _plan_again(self, *, ends: bool = False) -> None:
        """Arrange the records of the window anew, because some are suppressed as it is.

        Records of snapshots that have left stay where they are. One that is suppressed is lost for certain
        where the stream `ends`; otherwise half of its cost is that of going into the next snapshot.
        """
        lists, betas = self.lists, self._betas()
        numbers = np.arange(self.n_published, self.n_fed)
        present, fixed = lists.held_counts[numbers % self.size], lists.totals[numbers % self.size]
        for slot, number in enumerate(numbers % self.size):
            # Distance 0 is the slot's own home; what came before the window is fixed.
            there = lists.counts[number, slot::-1]
            present[: slot + 1] += there
            fixed[slot] -= there.sum(axis=0)
        held = np.broadcast_to(betas, present.shape)
        if not ends:
            following = np.append(self.costs.mu, np.inf)[self.n_fed - numbers, np.newaxis]
            held = (held + np.minimum(following, held)) / 2
        if len(numbers) ** 2 * self.n_values > MOST_VARIABLES or not self._plan(
            present, fixed, held, most_nodes=MOST_NODES
        ):
            self.n_unplanned += 1

    def _plan(
        self, present: Counts, fixed: Counts, betas: npt.NDArray[np.float64], *, most_nodes: int | None
    ) -> bool:
        """Arrange the records of the window by the integer program; return whether it has found a plan.

        A plan is about counts, and about single records of persons who have several. Where these are too many
        and there must be a plan (no `most_nodes`), it is about counts alone, and carried out as far as
        persons allow. Without a plan, all stays as it was.
        """
        # Only the integer program needs scipy, which loads slowly.
        from sequester.methods.reposition.integer_program import best_arrangement  # noqa: PLC0415

        first, n_homes = self.n_published, len(present)
        rows, named = self._named()
        is_whole = (n_homes**2 * self.n_values + len(rows) * n_homes) <= MOST_VARIABLES
        if not is_whole:
            if most_nodes is not None:
                return False
            rows, named = rows[:0], None
        targets = np.full((n_homes, self.lists.links.shape[1]), _kernels.ANY, np.int64)
        if named is not None:
            np.subtract.at(present, (named.homes, named.values), 1)
        mu = np.array(self.costs.mu)
        found = best_arrangement(
            present, level=self.level, mu=mu, betas=betas, fixed=fixed, named=named, most_nodes=most_nodes
        )
        if found is None:
            return False
        if named is not None:
            places = found[n_homes:].sum(axis=2)
            targets[named.homes, rows] = np.where(places.any(axis=1), places.argmax(axis=1), _kernels.HELD)
        room = int(self.lists.used.max()) + int(present.sum()) + len(rows)
        self.lists = self._with_larger_sets(self.lists, room)
        parts = (self.level.numerator, self.level.denominator)
        is_done = _kernels.rearrange(found[:n_homes], targets, first, parts, self.lists)
        if is_whole and not is_done:
            msg = f"the plan of the window from snapshot {first} on could not be carried out"
            raise InternalError(msg)
        return True

    def _named(self) -> tuple[Counts, Named | None]:
        """Return the rows of records whose persons have others in the window, and what is to know of them."""
        from sequester.methods.reposition.integer_program import Named  # noqa: PLC0415  (as above)

        first, size, lists = self.n_published, self.size, self.lists
        # Of snapshots that have left, those records count that are in the window still.
        before = range(max(first - size + 1, 0), first)
        rows_of = {
            home: np.flatnonzero(lists.slots[home % (2 * size), : lists.sizes[home % (2 * size)]])
            for home in before
        }
        rows_of |= {home: np.arange(lists.sizes[home % (2 * size)]) for home in range(first, self.n_fed)}
        rows = np.concatenate([*rows_of.values()])
        homes = np.repeat([*rows_of], [len(each) for each in rows_of.values()])
        codes = _kernels.code_persons(lists.people[homes % (2 * size), rows])
        _, persons, counts = np.unique(codes, return_inverse=True, return_counts=True)
        is_shared = counts[persons] > 1
        if not (is_shared & (homes >= first)).any():
            return rows[:0], None
        rows, homes = rows[is_shared], homes[is_shared]
        _, persons = np.unique(persons[is_shared], return_inverse=True)
        slots = lists.slots[homes % (2 * size), rows].astype(np.int64) - 1
        is_ours = homes >= first
        taken = np.zeros((int(persons.max()) + 1, self.n_fed - first), np.bool_)
        taken[persons[~is_ours], (slots[~is_ours] - first) % size] = True
        homes, rows = homes[is_ours], rows[is_ours]
        values = np.empty(len(rows), np.int64)
        for home in np.unique(homes):
            values[homes == home] = _kernels.read_values(home, self.n_fed - 1, lists)[rows[homes == home]]
        return rows, Named(homes - first, values, persons[is_ours], taken)

    def flush(self) -> list[Published]:
        """Let all snapshots leave that are still in the window: there will be no more."""
        if self.first_window == "ilp" and 0 < self.n_fed < self.size and not self.n_published:
            self._settle_first()
        elif self.search == "improve" and self.lists.held_counts.any():
            self._plan_again(ends=True)
        return [self._publish() for _ in range(self.n_fed - self.n_published)]

    def suppressed(self) -> Counts:
        """Count the records of the window that are published nowhere yet, per value."""
        counts: Counts = self.lists.held_counts.sum(axis=0)
        return counts

    def loss(self) -> float:
        """Add up what the records of the window cost as they are now (Equation 2)."""
        moved = self.lists.counts.sum(axis=(0, 2)) @ np.array(self.costs.mu)
        return float(moved + self.suppressed() @ self._betas())

    def _betas(self) -> npt.NDArray[np.float64]:
        betas = np.full(self.n_values, self.costs.beta)
        if self.costs.beta_of:
            known = self.costs.betas(self.labels[: self.n_values])
            betas[: len(known)] = known
        return betas

    def dump(self) -> dict[str, bytes]:
        """Return the content of the window, without the persons of its records; `load` restores it."""
        counters = (self.n_fed, self.n_published, self.n_relays, self.n_steps)
        shape = np.array((*counters, self.n_values, self.lists.links.shape[1]), np.int64)
        return {"shape": shape.tobytes(), **{name: getattr(self.lists, name).tobytes() for name in _DUMPED}}

    def load(self, content: Mapping[str, bytes], persons: Mapping[int, Counts]) -> None:
        """Restore a window from its content; `persons` are those of the snapshots it holds."""
        shape = np.frombuffer(content["shape"], np.int64).tolist()
        self.n_fed, self.n_published, self.n_relays, self.n_steps, n_values, capacity = shape
        lists = self._empty(n_values=n_values, capacity=capacity, places=_SMALLEST_SET)
        for name in _DUMPED:
            array = getattr(lists, name)
            array[:] = np.frombuffer(content[name], array.dtype).reshape(array.shape)
        lists.totals[:] = lists.counts.sum(axis=1)
        for number, people in persons.items():
            lists.people[number % (2 * self.size), : len(people)] = people
        self.lists = self._with_larger_sets(lists, int(lists.totals.sum(axis=1).max(initial=0)))
        for number in range(self.n_published, self.n_fed):
            _kernels.enter_all(number, self.lists)

    def persons_of(self, published: Published) -> Counts:
        """Return whose the records of a snapshot are that has left last, before another one comes."""
        persons: Counts = self.lists.people[published.homes % (2 * self.size), published.rows]
        return persons

    def _publish(self) -> Published:
        number = self.n_published
        homes, rows = self._empty_slot(number)
        expired = self.lists.held_counts[number % self.size].copy()
        self._clear(number % self.size)
        self.n_published += 1
        return Published(number, homes, rows, expired)

    def _empty_slot(self, number: int) -> tuple[Counts, Codes]:
        """List the records of a slot by home and row, and forget that they are there."""
        lists, here = self.lists, number % self.size + 1
        homes: list[Counts] = []
        rows: list[Counts] = []
        for home in range(max(number - self.size + 1, 0), number + 1):
            slots = lists.slots[home % (2 * self.size), : lists.sizes[home % (2 * self.size)]]
            rows.append(np.flatnonzero(slots == here))
            homes.append(np.full(len(rows[-1]), home, np.int64))
            # Rows of the next slot at this place must not be taken for rows of this one.
            slots[rows[-1]] = 0
        return np.concatenate(homes), np.concatenate(rows).astype(np.int32)

    def _clear(self, slot: int) -> None:
        """Empty the lists of a slot and of the home of its number, and the set of its persons."""
        for name in (*_BY_VALUE, "cells", "used"):
            getattr(self.lists, name)[slot] = _BY_VALUE.get(name, 0)

    def _checked(self, values: Codes, persons: Counts | None) -> tuple[Codes, Counts]:
        values = np.ascontiguousarray(values)
        if values.ndim != 1 or not (values.dtype.kind in "iu" or not values.size):
            msg = f"values must be one code per record, got {values.ndim} dimensions of {values.dtype}"
            raise ParameterError(msg)
        if values.size and (values.min() < 0 or values.max() >= 2**31):
            msg = f"values must be codes from 0, got {values.min()} to {values.max()}"
            raise ParameterError(msg)
        if persons is None:
            # Numbers that no other snapshot of the window has.
            persons = np.arange(values.size) + self.n_fed * (1 << 32)
        persons = np.ascontiguousarray(persons, np.int64)
        if persons.shape != values.shape:
            msg = f"persons must be one per record, got {persons.size} for {values.size} records"
            raise ParameterError(msg)
        return values.astype(np.int32, copy=False), persons

    def _seed(self, number: int) -> None:
        """Begin to draw from the seed and the snapshot only, so that a stream may stop and go on anywhere."""
        state = _kernels.xorshift(np.uint64((self.seed ^ (number * 0x9E3779B97F4A7C15)) % 2**64))
        self.lists.state[0] = state if state else np.uint64(1)

    def _empty(self, *, n_values: int, capacity: int, places: int) -> SlotLists:
        size = self.size
        return SlotLists(
            links=np.full((2 * size, capacity), END, np.int32),
            people=np.zeros((2 * size, capacity), np.int64),
            heads=np.full((size, size, n_values), END, np.int32),
            counts=np.zeros((size, size, n_values), np.int64),
            totals=np.zeros((size, n_values), np.int64),
            held_heads=np.full((size, n_values), END, np.int32),
            held_counts=np.zeros((size, n_values), np.int64),
            slots=np.zeros((2 * size, capacity), np.uint16),
            sizes=np.zeros(2 * size, np.int64),
            cells=np.zeros((size, places), np.uint64),
            used=np.zeros(size, np.int64),
            state=np.ones(1, np.uint64),
        )

    def _make_room(self, values: Codes) -> None:
        """Grow what is too small for the next snapshot: values, rows, and sets of persons."""
        lists = self.lists
        n_values = max(self.n_values, int(values.max()) + 1 if values.size else 1)
        if n_values > self.n_values:
            lists = _widened(lists, n_values, _BY_VALUE)
        if values.size > lists.links.shape[1]:
            capacity = max(values.size, min(2 * lists.links.shape[1], values.size + 1024))
            lists = _widened(lists, capacity, _BY_ROW)
        self.lists = self._with_larger_sets(lists, values.size)

    def _with_larger_sets(self, lists: SlotLists, n_persons: int) -> SlotLists:
        """Make room for so many persons in every set, which is never more than half full."""
        places = lists.cells.shape[1]
        if 2 * n_persons <= places:
            return lists
        while places < 2 * n_persons:
            places *= 2
        cells = np.zeros((self.size, places), np.uint64)
        moved = [_kernels.move_over(lists.cells[slot], cells[slot]) for slot in range(self.size)]
        return lists._replace(cells=cells, used=np.array(moved, np.int64))


def _widened(lists: SlotLists, width: int, fillings: Mapping[str, int]) -> SlotLists:
    """Return lists with more room in the last dimension of some arrays."""
    wider = {}
    for name, filling in fillings.items():
        array = getattr(lists, name)
        wider[name] = np.full((*array.shape[:-1], width), filling, array.dtype)
        wider[name][..., : array.shape[-1]] = array
    return lists._replace(**wider)


def label_codes(labels: Sequence[str], known: list[str]) -> list[int]:
    """Return the codes of labels, and add those that are new to the `known` ones.

    Examples
    --------
    >>> known = ["flu"]
    >>> label_codes(["cold", "flu"], known), known
    ([1, 0], ['flu', 'cold'])
    """
    codes = {label: code for code, label in enumerate(known)}
    for label in labels:
        if label not in codes:
            codes[label] = len(known)
            known.append(label)
    return [codes[label] for label in labels]
