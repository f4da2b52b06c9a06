"""Extract all minimal inference channels of a table, one level signature after the other, coarse first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester import kernels
from sequester.engine import silent
from sequester.errors import UnattainableError
from sequester.methods.halt import _kernels
from sequester.methods.halt import _search_kernels as search
from sequester.privacy.confidence import Channel
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Codes, Counts, Mask
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.histories import Histories
    from sequester.methods.halt.quasi_identifiers import QuasiIdentifiers, Signature

PHASE = "looking for channels"
MOST_OPEN = 1 << 28
"""Open g-sequences that are held at most: some 3 GB."""
PART = 20_000
"""Events at which a search begins that are worth a task of their own."""


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What makes a channel."""

    k: int
    """Persons that have to share what is known."""
    c: float
    """Share of them that may have one protected value."""
    p: int
    """Items that may be known."""
    mixed: bool = False
    """Items of one quasi-identifier may be known at different levels."""


@dataclass(frozen=True, eq=False)
class Channels:
    """Channels of one length, without a more general one."""

    items: Codes
    """The numbers of the items, one row per channel."""
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

    def describe(self, row: int, quasi: QuasiIdentifiers) -> Channel:
        """Write a channel in labels."""
        value = int(self.values[row])
        return Channel(
            events=quasi.name_events(self.items[row].tolist(), int(self.kinds[row])),
            persons=int(self.supports[row]),
            value=None if value < 0 else self.names[value],
            with_value=int(self.highs[row]),
        )


class OpenSequences:
    """A set of open g-sequences that grows: what may be extended, and what candidates are held against."""

    def __init__(self, groups: Codes) -> None:
        """Start with nothing but the empty g-sequence; `groups` leads from each item to its group."""
        self.group_of = groups
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
        n_groups = int(self.group_of.max()) + 1
        copy = OpenSequences(np.where(is_fresh, self.group_of + n_groups, self.group_of).astype(np.int32))
        copy.first_fresh = n_groups
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


@dataclass(frozen=True, eq=False)
class SignatureRows:
    """The histories in the items of one signature, equal ones folded: what a search walks over."""

    rows: search.Rows
    alphabet: search.Alphabet

    @classmethod
    def of(
        cls,
        histories: Histories,
        quasi: QuasiIdentifiers,
        signature: Signature,
        thresholds: Thresholds,
        *,
        length: int,
        is_open: Mask,
    ) -> SignatureRows:
        """Show the histories in the items of a signature, for a search of at least `length` items.

        Of one item, all that belong to the signature are shown whose next more general one is open; otherwise
        all that are open, those of coarser levels included where levels are mixed or a branch is short.
        """
        mixed = thresholds.mixed
        columns, shown = _shown_items(quasi, signature, mixed=mixed, length=length)
        # Of one item, the next more general one decides whether it is looked at.
        allowed = (quasi.parents < 0) | is_open[quasi.parents] if length == 1 else is_open
        shown = np.where((shown >= 0) & allowed[shown], shown, -1)
        numbers = np.unique(shown[shown >= 0]).astype(np.int32)
        item_of_cell = np.searchsorted(numbers, shown).astype(np.int32)
        item_of_cell[shown < 0] = -1
        items = np.empty((len(histories.cells), len(columns)), np.int32)
        offsets = np.zeros(histories.n_rows + 1, np.int64)
        kept = np.empty(histories.n_rows, np.int64)
        n_kept = _kernels.project_rows(
            histories.cells,
            histories.offsets,
            columns[:, :2].copy(),
            item_of_cell,
            length,
            items,
            offsets,
            kept,
        )
        kept, offsets = kept[:n_kept], offsets[: n_kept + 1]
        group_of_row, firsts = kernels.rows.fold_rows(
            items[: offsets[-1]].reshape(-1), offsets * len(columns)
        )
        n_rows = len(firsts)
        persons = histories.persons.take(kept).fold(group_of_row, n_rows)
        # For a single item, what comes before everything is an event, too; all others follow it.
        sizes = np.diff(offsets)[firsts] + (length == 1)
        stops = offsets_of(sizes)
        records = np.empty((stops[-1], search.HEAD + len(columns)), np.int32)
        heads = np.column_stack([persons.weights, persons.risks, np.arange(n_rows)]).astype(np.int32)
        _kernels.write_records(items, offsets, firsts, heads, stops, records)
        if length == 1:
            starts, events = np.array([0, n_rows]), stops[:-1].astype(np.int32)
        else:
            starts = np.zeros(len(numbers) + 2, np.int64)
            events = np.empty(np.count_nonzero(records[:, search.HEAD :] >= 0), np.int32)
            _kernels.index_items(records, search.HEAD, starts, events)
            starts = starts[:-1]
        traits, units = _item_traits(quasi, signature, numbers, thresholds)
        return cls(
            search.Rows(
                records.reshape(-1),
                records.shape[1],
                persons.offsets,
                np.column_stack([persons.values, persons.counts]).astype(np.int32),
                len(persons.names),
                int(histories.persons.totals.max(initial=0)),
            ),
            search.Alphabet(traits, columns[:, 2:].copy(), starts, events, units),
        )

    def parts(self, length: int) -> list[range]:
        """Cut the items that a search begins with into tasks."""
        n_items, n_events = len(self.alphabet.items), len(self.alphabet.events)
        if length == 1 or not n_items:
            return [range(1)] * bool(n_items)
        n_parts = min(max(n_events // PART, 1), n_items)
        bounds = np.searchsorted(self.alphabet.starts, np.linspace(0, n_events, n_parts + 1)[1:-1])
        return [range(a, b) for a, b in pairwise([0, *bounds.tolist(), n_items]) if a < b]

    def find(self, known: search.Known, thresholds: Thresholds, length: int, part: range) -> Codes:
        """Find what is open, and the channels, among the g-sequences of so many items; one row each."""
        items, columns, units = self.alphabet.items, self.alphabet.columns, self.alphabet.units
        path = np.zeros((length + 1, search.DROPS + length + len(units)), np.int64)
        path[0, search.P_MISSING] = np.bitwise_or.reduce(columns[:, 1])
        path[0, search.DROPS + length :] = units
        ways = np.zeros((2 * len(items), search.N_WAY_FIELDS), np.int64)
        ways[:, [search.W_STAMP, search.W_SLOT, search.W_VALUE]] = -1
        n_values = self.rows.n_values
        scratch = search.Scratch(
            path,
            ways,
            np.empty(len(ways), np.int64),
            np.empty((2, len(columns) + 1), np.int32),
            np.empty((max(length - 1, 1) * len(ways), search.N_CHILD_FIELDS), np.int64),
            np.zeros(max(min(search.MOST_CELLS, len(ways) * n_values), n_values), np.int64),
        )
        found, n_found = search.search_channels(
            self.rows, self.alphabet, known, scratch, thresholds.k, thresholds.c, part.start, part.stop
        )
        width = search.F_ITEMS + length + (2 * length if thresholds.mixed else 0)
        rows: Codes = found[: n_found * width].reshape(-1, width).copy()
        return rows


class _Step(NamedTuple):
    """One length of the search in signatures of one distance from the root."""

    tables: dict[Signature, SignatureRows]
    known: search.Known
    thresholds: Thresholds
    length: int


def _find_channels(tasks: list[tuple[Signature, range]], step: _Step) -> list[Codes]:
    """Return what is found in the items of each signature that a range names."""
    return [
        step.tables[signature].find(step.known, step.thresholds, step.length, part)
        for signature, part in tasks
    ]


def _shown_items(
    quasi: QuasiIdentifiers, signature: Signature, *, mixed: bool, length: int
) -> tuple[Codes, Counts]:
    """Return the columns that show a signature, and of each the item that each cell is, -1 for none.

    A column is a quasi-identifier at a level. Its row has the quasi-identifier, where its items begin in the
    second answer, its place among the quasi-identifiers of the signature, and the bit of that where the level
    is the signature's own.
    """
    rows, shown, start = [], [], 0
    quasi_in = [q for q, level in enumerate(signature) if level < quasi.columns[q].height]
    for place, q in enumerate(quasi_in):
        column = quasi.columns[q]
        for level in range(signature[q], column.height if mixed else signature[q] + 1):
            nodes = column.cuts[level]
            is_shown = column.reach[nodes] == level if mixed or length == 1 else np.ones(len(nodes), np.bool_)
            shown.append(np.where(is_shown & ~column.is_secret[nodes], column.first + nodes, -1))
            rows.append((q, start, place, 1 << place if level == signature[q] else 0))
            start += len(nodes)
    return np.array(rows, np.int32), np.concatenate(shown)


def _item_traits(
    quasi: QuasiIdentifiers, signature: Signature, numbers: Codes, thresholds: Thresholds
) -> tuple[Codes, Counts]:
    """Return the fields of the items of a signature, and which units may go a level up."""
    owners = quasi.owners[numbers]
    is_in = np.array([level < top for level, top in zip(signature, quasi.root, strict=True)])
    attributes = (np.cumsum(is_in) - 1)[owners]
    is_anchor = quasi.reach[numbers] == np.array(signature)[owners]
    traits = np.empty((len(numbers), search.N_TRAITS), np.int32)
    traits[:, search.NUMBER] = numbers
    traits[:, search.ATTRIBUTE] = attributes
    traits[:, search.ANCHOR] = np.where(is_anchor, 1 << attributes, 0)
    traits[:, search.ORDER] = quasi.groups[numbers]
    if thresholds.mixed:
        traits[:, search.UP] = quasi.parents[numbers]
        traits[:, search.UNIT] = -1
        return traits, np.zeros(thresholds.p, np.int64)
    traits[:, search.UP] = -1
    traits[:, search.UNIT] = attributes
    units = []
    for q in np.flatnonzero(is_in).tolist():
        column, above = quasi.columns[q], signature[q] + 1
        units.append(0 if above < column.height else -1)
        if above < column.height:
            own = owners == q
            # The next more general item; itself where its branch is short.
            traits[own, search.UP] = column.first + column.cuts[above][numbers[own] - column.first]
    return traits, np.array(units, np.int64)


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
        histories: Histories,
        quasi: QuasiIdentifiers,
        thresholds: Thresholds,
        engine: Engine,
        *,
        below: Extraction | None = None,
        is_fresh: Mask | None = None,
    ) -> None:
        """Start with nothing mined.

        On top of the extraction `below`, which has mined what will be asked for, only g-sequences with a
        fresh item are looked at; the others are taken to be as they are there.
        """
        self.quasi = quasi
        self.thresholds = thresholds
        persons = histories.persons.without_harmless(thresholds.k, thresholds.c)
        self._histories = replace(histories, persons=persons)
        self._engine = engine
        self._found: dict[Signature, tuple[Channels, ...]] = {}
        self._open = OpenSequences(quasi.groups)
        self._is_open: Mask = np.zeros(quasi.n_items, np.bool_)
        if below is not None and is_fresh is not None:
            self._open = below._open.with_fresh(is_fresh)  # noqa: SLF001
            self._is_open = below._is_open & ~is_fresh  # noqa: SLF001

    @property
    def n_mined(self) -> int:
        """Signatures that were mined so far."""
        return len(self._found)

    def known(self, node: Signature) -> list[Channels]:
        """Return the minimal channels found so far that can be seen in the release of a node."""
        return [
            channels
            for signature, by_length in self._found.items()
            if all(level >= at for level, at in zip(signature, node, strict=True))
            for channels in by_length
            if len(channels)
        ]

    def deepen(self, node: Signature, *, progress: Progress = silent) -> Iterator[list[Channels]]:
        """Mine all signatures that show in the release of a node, one distance from the root at a time.

        Gives the new channels of each distance; whoever has heard enough may stop listening.
        """
        layers = self._layers(node)
        for done, signatures in enumerate(layers):
            progress(done / len(layers), PHASE)
            yield self._mine(signatures)

    def __iter__(self) -> Iterator[tuple[Signature, tuple[Channels, ...]]]:
        """Mine everything, signature by signature, coarse first; channels are not kept."""
        for signatures in self._layers((0,) * len(self.quasi)):
            self._mine(signatures)
            for signature in signatures:
                yield signature, self._found.pop(signature)

    def _layers(self, node: Signature) -> list[list[Signature]]:
        """List the signatures that are not mined yet, by their distance from the root."""
        root = self.quasi.root
        layers: defaultdict[int, list[Signature]] = defaultdict(list)
        for signature in signatures_above(node, root, self.thresholds.p):
            if signature not in self._found:
                layers[sum(root) - sum(signature)].append(signature)
        return [layers[distance] for distance in sorted(layers)]

    def _mine(self, signatures: list[Signature]) -> list[Channels]:
        """Mine signatures of one distance from the root, length by length."""
        thresholds = self.thresholds
        found: dict[Signature, list[Channels]] = {signature: [] for signature in signatures}
        tables: dict[Signature, SignatureRows] = {}
        for length in range(1, thresholds.p + 1):
            tasks: list[tuple[Signature, range]] = []
            for signature in signatures:
                n_known = sum(a < b for a, b in zip(signature, self.quasi.root, strict=True))
                if n_known > length:
                    continue
                if length <= 2 or signature not in tables:
                    tables[signature] = SignatureRows.of(
                        self._histories,
                        self.quasi,
                        signature,
                        thresholds,
                        length=length,
                        is_open=self._is_open,
                    )
                tasks += [(signature, part) for part in tables[signature].parts(length)]
            batches = self._engine.map(
                _find_channels,
                [tasks[shard.start : shard.stop] for shard in self._engine.split(len(tasks))],
                shared=_Step(
                    {signature: tables[signature] for signature, _ in tasks},
                    self._open.arrays,
                    thresholds,
                    length,
                ),
            )
            answers = [each for batch in batches for each in batch]
            by_signature: dict[Signature, list[Codes]] = {}
            for (signature, _), answer in zip(tasks, answers, strict=True):
                by_signature.setdefault(signature, []).append(answer)
            for signature, parts in by_signature.items():
                found[signature].append(self._settle(np.concatenate(parts), length))
        self._found |= {signature: tuple(channels) for signature, channels in found.items()}
        return [each for channels in found.values() for each in channels if len(each)]

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


def signatures_above(node: Signature, root: Signature, p: int) -> Iterator[Signature]:
    """List the signatures at least as coarse as a node, of one to `p` quasi-identifiers."""
    for size in range(1, min(p, len(root)) + 1):
        for chosen in combinations(range(len(root)), size):
            for levels in product(*(range(root[q] - 1, node[q] - 1, -1) for q in chosen)):
                signature = list(root)
                for q, level in zip(chosen, levels, strict=True):
                    signature[q] = level
                yield tuple(signature)
