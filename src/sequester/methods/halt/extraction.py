"""Extract all minimal inference channels of a table, one level signature after the other, coarse first."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.engine import LocalEngine, part, silent
from sequester.errors import UnattainableError
from sequester.methods.halt import _kernels
from sequester.methods.halt import _search_kernels as search
from sequester.methods.halt.signature_rows import SignatureRows, SignatureView, show_histories
from sequester.privacy.model import Channel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.histories import QuasiIdentifiers, Signature, WeightedRows
    from sequester.methods.halt.signature_rows import Thresholds


MOST_OPEN = 1 << 28
"""Open g-sequences that are held at most: some 3 GB."""


class OpenSequences:
    """A set of open g-sequences that grows: what may be extended, and what candidates are held against."""

    def __init__(self, groups: Codes) -> None:
        """Start with nothing but the empty g-sequence; `groups` leads from each item to its group."""
        self.group_of = groups
        self._groups = groups
        self.first_fresh = 0
        self.n_base = 1
        self.n_members: int = 1
        """One more than the highest number in use; 0 is the empty g-sequence."""
        self._n_runs = 0
        self._children: Codes = np.empty(1 << 10, np.int32)
        self._slots: Counts = np.full((1 << 10, 2), -1, np.int64)

    def with_fresh(self, is_fresh: Mask) -> OpenSequences:
        """Return a copy in which nothing with a fresh item is known yet.

        Fresh items have groups of their own, so that what was known of them is not found.
        """
        copy = OpenSequences(self._groups)
        copy.first_fresh = int(self.group_of.max()) + 1
        copy.group_of = np.where(is_fresh, self._groups + copy.first_fresh, self.group_of).astype(np.int32)
        copy.n_base = copy.n_members = self.n_members
        copy._n_runs = self._n_runs
        copy._children = self._children[: self.n_members - 1].copy()
        copy._slots = self._slots.copy()
        return copy

    @property
    def arrays(self) -> search.Known:
        """What kernels read."""
        return search.Known(self._slots, self._children, self.group_of, self.first_fresh, self.n_base)

    def add(self, members: Codes, children: Codes) -> None:
        """Add g-sequences: whom they extend, and by which step. Those of one member stand side by side."""
        groups = self.group_of[children & ((1 << _kernels.ITEM_BITS) - 1)]
        keys = members.astype(np.int64) << _kernels.GROUP_BITS | groups
        if self.first_fresh:
            order = np.argsort(keys, kind="stable")
            keys, children = keys[order], children[order]
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        used = self.n_members - 1
        sizes = np.diff(begins, append=len(keys))
        self._make_room(len(begins), used + len(keys))
        self._children[used : used + len(keys)] = children
        _kernels.add_runs(self._slots, keys[begins], (begins + used) << 32 | sizes)
        self._n_runs += len(begins)
        self.n_members += len(keys)

    def _make_room(self, n_runs: int, n_children: int) -> None:
        if n_children > MOST_OPEN:
            msg = f"more than {MOST_OPEN:,} g-sequences have to be held"
            raise UnattainableError(msg)
        if n_children > len(self._children):
            larger = np.empty(max(n_children, 2 * len(self._children)), np.int32)
            larger[: self.n_members - 1] = self._children[: self.n_members - 1]
            self._children = larger
        n_slots = len(self._slots)
        while 2 * (self._n_runs + n_runs) > n_slots:
            n_slots *= 2
        if n_slots > len(self._slots):
            held = self._slots[self._slots[:, 0] >= 0]
            self._slots = np.full((n_slots, 2), -1, np.int64)
            _kernels.add_runs(self._slots, held[:, 0].copy(), held[:, 1].copy())


_Levels = tuple[tuple[int, int], ...]
"""A level signature by the quasi-identifiers that are not at their root, and their levels."""
PHASE = "searching for inference channels"
SIGNATURE = 30_000
"""What a signature takes besides its cells, in cells that could be looked at in the same time."""
WORTH_SENDING, PER_BYTE = 20_000_000, 1 / 5_000_000
"""Cells to look at from which on a step goes to other machines, and how much that rises with each byte that
it shares. Measured: a second is some 60 million cells, or 75 MB that travel."""


class TooMuchError(Exception):
    """More would have to be counted than is allowed, or than there is room for."""


@dataclass(slots=True)
class WorkBudget:
    """What was done so far, in cells that were looked at, and how much may be done.

    It does not depend on threads, so that the same search always stops at the same place.
    """

    most: float = math.inf
    done: int = 0

    def spend(self, amount: int) -> None:
        """Count work that was done."""
        self.done += amount

    def add(self, amount: int) -> None:
        """Count work, and refuse more than may be done."""
        self.spend(amount)
        if self.done > self.most:
            raise TooMuchError


@dataclass(frozen=True, slots=True)
class Cause:
    """A channel in numbers: what a cell is suppressed for, or what stands in the way of a release."""

    items: tuple[int, ...]
    kinds: int
    """Bit ``j`` says that item ``j`` stands in the same event as the one before."""
    persons: int = field(compare=False)
    """Who showed it when the first cell was suppressed for it."""
    value: int = -1
    """The protected value that it tells; -1 where the persons are too few."""
    with_value: int = field(default=0, compare=False)
    names: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Protected value to its attribute and label."""

    def channel(self, quasi: QuasiIdentifiers) -> Channel:
        """Return the channel in labels."""
        return Channel(
            events=quasi.name_events(self.items, self.kinds),
            persons=self.persons,
            value=None if self.value < 0 else self.names[self.value],
            with_value=self.with_value,
        )


@dataclass(frozen=True, eq=False)
class Channels:
    """Channels without a more general one."""

    items: Codes
    """The numbers of the items, one row per channel, -1 behind them."""
    kinds: Codes
    """Bit ``j`` says that item ``j`` stands in the same event as the one before."""
    supports: Codes
    """Persons."""
    values: Codes
    """The protected value that they tell; -1 where they are too few."""
    highs: Codes
    """Persons with that value."""
    names: tuple[tuple[str, str], ...]
    """Protected value to its attribute and label."""

    def __len__(self) -> int:
        return len(self.supports)

    @classmethod
    def join(cls, parts: Iterable[Channels]) -> Channels:
        """Return channels of several lengths in one table, shorter ones first."""
        parts = sorted(parts, key=lambda each: each.items.shape[1])
        starts = np.cumsum([0, *map(len, parts)])
        items = np.full((starts[-1], parts[-1].items.shape[1] if parts else 0), -1, np.int32)
        for start, each in zip(starts, parts, strict=False):
            items[start : start + len(each), : each.items.shape[1]] = each.items
        kinds, supports, values, highs = (
            np.concatenate([np.empty(0, np.int32), *(getattr(each, name) for each in parts)])
            for name in ("kinds", "supports", "values", "highs")
        )
        return cls(items, kinds, supports, values, highs, parts[0].names if parts else ())

    def cause(self, row: int) -> Cause:
        """Return one of the channels."""
        return Cause(
            tuple(self.items[row][self.items[row] >= 0].tolist()),
            int(self.kinds[row]),
            int(self.supports[row]),
            int(self.values[row]),
            int(self.highs[row]),
            self.names,
        )


class _Step(NamedTuple):
    """One length of the search in signatures of one distance from the root."""

    tables: dict[_Levels, SignatureRows]
    known: search.Known
    thresholds: Thresholds
    length: int


def _find_channels(tasks: list[tuple[_Levels, range]], step: _Step) -> list[tuple[Codes, int]]:
    """Return what is found in the items of each signature that a range names, and the cells looked at."""
    return [
        step.tables[levels].find(step.known, step.thresholds, step.length, items) for levels, items in tasks
    ]


class Mined(NamedTuple):
    """What was found to be open so far."""

    open: OpenSequences
    is_open: Mask
    """Item to whether it is open."""


class Extraction:
    """Mines signatures on demand and keeps what it found.

    A g-sequence is *open* if neither it nor anything more general is a channel; a minimal channel is a
    channel of which all next more general g-sequences are open (one item less, or one quasi-identifier a
    level up; the rest follows by induction). Only those are looked at whose next more general ones are all
    open, and each of them is an open one with an item more at its end. So signatures come coarse first, and
    lengths from 1 up; those of one distance from the root do not touch each other and run side by side.
    """

    def __init__(
        self,
        histories: WeightedRows,
        quasi: QuasiIdentifiers,
        thresholds: Thresholds,
        engine: Engine,
        *,
        work: WorkBudget | None = None,
        below: Mined | None = None,
        is_fresh: Mask | None = None,
    ) -> None:
        """Start with nothing mined; `work` says how much may be done.

        On top of `below`, where all that will be asked for was mined, only g-sequences with a fresh item are
        looked at; the others are taken to be as they are there.
        """
        self.quasi = quasi
        self.thresholds = thresholds
        persons = histories.persons.without_harmless(thresholds.k, thresholds.c)
        self._histories = replace(histories, persons=persons)
        self._engine = engine
        self._here = engine if isinstance(engine, LocalEngine) else LocalEngine()
        self._looks: dict[int, float] = {}
        self._found: dict[_Levels, tuple[Channels, ...]] = {}
        self._open = OpenSequences(quasi.groups)
        self._is_open: Mask = np.zeros(quasi.n_items, np.bool_)
        self._is_fresh: Mask = np.ones(quasi.n_items, np.bool_)
        self.work = WorkBudget() if work is None else work
        if below is not None and is_fresh is not None:
            self._open = below.open.with_fresh(is_fresh)
            self._is_open = below.is_open & ~is_fresh
            self._is_fresh = is_fresh

    @property
    def mined(self) -> Mined:
        """What another extraction can be put on top of."""
        return Mined(self._open, self._is_open)

    def known(self, node: Signature) -> list[Channels]:
        """Return the minimal channels found so far that can be seen in the release of a node."""
        root = self.quasi.root
        seen = {(q, level) for q, finest in enumerate(node) for level in range(finest, root[q])}
        return [
            channels
            for levels, by_length in self._found.items()
            if by_length and seen.issuperset(levels)
            for channels in by_length
        ]

    def mine(self, node: Signature, *, progress: Progress = silent) -> list[Channels]:
        """Return all minimal channels that can be seen in the release of a node."""
        for _ in self.deepen(node, progress=progress):
            pass
        return self.known(node)

    def deepen(self, node: Signature, *, progress: Progress = silent) -> Iterator[list[Channels]]:
        """Mine all signatures that show in the release of a node, one distance from the root at a time.

        Yields the new channels of each distance; what is not asked for is not mined.

        Raises
        ------
        TooMuchError
            Where there is more to do than there is work allowed.
        """
        layers = self._layers(node)
        ends = np.cumsum([0, *map(len, layers)]) / max(sum(map(len, layers)), 1)
        for signatures, start, stop in zip(layers, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            progress(start, PHASE)
            mined = self._mine(signatures, part(progress, start, stop))
            yield [each for found in mined for each in found]

    def __iter__(self) -> Iterator[tuple[Signature, tuple[Channels, ...]]]:
        """Mine everything, signature by signature, coarse first; channels are not kept."""
        for signatures in self._layers((0,) * len(self.quasi)):
            found = self._mine(signatures)
            for levels, channels in zip(signatures, found, strict=True):
                self._found[levels] = ()
                yield self._signature(levels), channels

    def _layers(self, node: Signature) -> list[list[_Levels]]:
        """List the signatures that are not mined yet, by their distance from the root."""
        root = self.quasi.root
        coarsest_fresh = np.full(len(root), -1)
        np.maximum.at(coarsest_fresh, self.quasi.owners[self._is_fresh], self.quasi.reach[self._is_fresh])
        layers: defaultdict[int, list[_Levels]] = defaultdict(list)
        for levels in signatures_above(node, root, self.thresholds.p):
            if levels in self._found:
                continue
            if not any(coarsest_fresh[q] >= level for q, level in levels):
                self._found[levels] = ()
            else:
                layers[sum(root[q] - level for q, level in levels)].append(levels)
        return [layers[distance] for distance in sorted(layers)]

    def _signature(self, levels: _Levels) -> Signature:
        """Return a signature with the roots of all other quasi-identifiers."""
        signature = list(self.quasi.root)
        for q, level in levels:
            signature[q] = level
        return tuple(signature)

    def _mine(self, signatures: list[_Levels], progress: Progress = silent) -> list[tuple[Channels, ...]]:
        """Mine signatures of one distance from the root, length by length; return what each has."""
        found: dict[_Levels, list[Channels]] = {levels: [] for levels in signatures}
        tables: dict[_Levels, SignatureRows] = {}
        for length in range(1, self.thresholds.p + 1):
            those = [levels for levels in signatures if len(levels) <= length]
            tables |= self._show([each for each in those if length <= 2 or each not in tables], length)
            tasks = [(levels, items) for levels in those for items in tables[levels].parts(length)]
            shown = {levels: tables[levels] for levels, _ in tasks}
            n_shown = sum(len(each.rows.records) for each in shown.values())
            known = self._open.arrays
            n_bytes = known.slots.nbytes + known.children.nbytes
            n_bytes += sum(each.rows.records.nbytes + each.alphabet.events.nbytes for each in shown.values())
            least = WORTH_SENDING * (1 + PER_BYTE * n_bytes)
            is_much = self._looks.get(length, 0.0) * n_shown >= least
            engine = self._engine if is_much else self._here
            batches = engine.map(
                _find_channels,
                [tasks[shard.start : shard.stop] for shard in engine.split(len(tasks))],
                shared=_Step(shown, known, self.thresholds, length),
                progress=part(progress, (length - 1) / self.thresholds.p, length / self.thresholds.p),
                phase=PHASE,
            )
            by_signature: dict[_Levels, list[Codes]] = {}
            n_looked = 0
            for (levels, _), (answer, n_cells) in zip(tasks, chain.from_iterable(batches), strict=True):
                self.work.add(n_cells)
                n_looked += n_cells
                by_signature.setdefault(levels, []).append(answer)
            self._looks[length] = n_looked / max(n_shown, 1)
            for levels, parts in by_signature.items():
                found[levels].append(self._settle(np.concatenate(parts), length))
        for levels, channels in found.items():
            self._found[levels] = tuple(each for each in channels if len(each))
        return [self._found[levels] for levels in signatures]

    def _show(self, signatures: list[_Levels], length: int) -> dict[_Levels, SignatureRows]:
        """Show the histories in the items of each signature, for a search of at least `length` items."""
        for levels in signatures:
            self.work.add(len(self._histories.cells) * len(levels) + SIGNATURE)
        # What is shown may be as large as the data, so it is made where they are.
        engine = self._here
        view = SignatureView(
            self._histories, self.quasi, self.thresholds, length, self._is_open, self._is_fresh
        )
        batches = engine.map(
            show_histories,
            [
                [self._signature(levels) for levels in signatures[shard.start : shard.stop]]
                for shard in engine.split(len(signatures))
            ],
            shared=view,
        )
        return dict(zip(signatures, chain.from_iterable(batches), strict=True))

    def _settle(self, found: Codes, length: int) -> Channels:
        """Add what is open to the open g-sequences, and return the channels that are minimal."""
        is_open = found[:, search.F_VALUE] == search.OPEN
        if self.thresholds.mixed:
            is_kept = self._is_settled(found, ~is_open, length)
            found, is_open = found[is_kept], is_open[is_kept]
        members, children = found[is_open, search.F_MEMBER], found[is_open, search.F_CHILD]
        self._open.add(members, children)
        if length == 1:
            self._is_open[children] = True
        channels = found[~is_open]
        return Channels(
            channels[:, search.F_ITEMS : search.F_ITEMS + length].copy(),
            channels[:, search.F_KINDS].copy(),
            channels[:, search.F_SUPPORT].copy(),
            channels[:, search.F_VALUE].copy(),
            channels[:, search.F_HIGH].copy(),
            self._histories.persons.names,
        )

    def _is_settled(self, found: Codes, is_channel: Mask, length: int) -> Mask:
        """Mark what has nothing above it, among what was found with it, that is a channel or not open."""
        stop = search.F_ITEMS + length
        steps, needs = (
            found[:, members].astype(np.int64) << (_kernels.ITEM_BITS + 1) | found[:, children]
            for members, children in (
                (search.F_MEMBER, search.F_CHILD),
                (slice(stop, None, 2), slice(stop + 1, None, 2)),
            )
        )
        # What is more general has levels that add up to more.
        levels = self.quasi.reach[found[:, search.F_ITEMS : stop]].sum(axis=1)
        is_kept = np.zeros(len(found), np.bool_)
        _kernels.settle_steps(
            steps,
            needs,
            is_channel,
            np.argsort(-levels, kind="stable"),
            np.full(1 << max(2 * len(found) - 1, 15).bit_length(), -1, np.int64),
            is_kept,
        )
        return is_kept


def signatures_above(node: Signature, root: Signature, p: int) -> Iterator[_Levels]:
    """List the signatures at least as coarse as a node, of one to `p` quasi-identifiers."""
    shown = [[(q, level) for level in range(top - 1, node[q] - 1, -1)] for q, top in enumerate(root)]
    for size in range(1, min(p, len(root)) + 1):
        for chosen in combinations([levels for levels in shown if levels], size):
            yield from product(*chosen)
