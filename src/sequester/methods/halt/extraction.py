"""All minimal inference channels of a table, one level signature after the other, coarse first, on demand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.engine import silent
from sequester.methods.halt.open_book import OpenBook
from sequester.methods.halt.signature_rows import SignatureRows
from sequester.privacy.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Mask
    from sequester.engine import Engine, Progress
    from sequester.kernels.channels import Candidates, Channels
    from sequester.methods.halt.axes import Axes, Signature
    from sequester.methods.halt.histories import Histories

PHASE = "looking for channels"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What makes a channel."""

    k: int
    """Persons that have to share what is known."""
    c: float
    """Share of them that may have one protected value."""
    p: int
    """Items that may be known."""
    mixed: bool = False
    """Items of one quasi-identifier may be known at different levels."""


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
        axes: Axes,
        demand: Demand,
        engine: Engine,
        *,
        below: Extraction | None = None,
        is_fresh: Mask | None = None,
    ) -> None:
        """Start with nothing mined.

        On top of the extraction `below`, which has mined what will be asked for, only g-sequences with a
        fresh item are looked at; the others are taken to be as they are there.
        """
        self.axes = axes
        self.demand = demand
        self._histories = histories.without_harmless(demand.k, demand.c)
        self._engine = engine
        self.book: OpenBook = OpenBook(
            axes.groups, below=None if below is None else below.book, is_fresh=is_fresh
        )
        """The open g-sequences so far."""
        self.is_open: Mask = np.zeros(axes.n_items, np.bool_)
        """Which items are open."""
        if below is not None and is_fresh is not None:
            self.is_open = below.is_open & ~is_fresh
        self._found: dict[Signature, tuple[Channels, ...]] = {}

    def channels(self, signature: Signature) -> tuple[Channels, ...]:
        """Give the minimal channels of one signature, by length from 1 to p; mine what is needed."""
        for _ in self.deepen(signature):
            pass
        return self._found.get(signature, ())

    def known(self, node: Signature) -> list[Channels]:
        """Give the minimal channels found so far that can be seen in the release of a node."""
        return [
            channels
            for signature, by_length in self._found.items()
            if _covers(signature, node)
            for channels in by_length
            if len(channels.supports)
        ]

    def deepen(self, node: Signature, *, progress: Progress = silent) -> Iterator[list[Channels]]:
        """Mine all signatures that show in the release of a node, one distance from the root at a time.

        Gives the new channels of each distance; whoever has heard enough may stop listening.
        """
        layers: defaultdict[int, list[Signature]] = defaultdict(list)
        for signature in signatures_above(node, self.axes.root, self.demand.p):
            if signature not in self._found:
                layers[self._distance(signature)].append(signature)
        for done, distance in enumerate(sorted(layers)):
            progress(done / len(layers), PHASE)
            yield self._mine(layers[distance])

    def __iter__(self) -> Iterator[tuple[Signature, tuple[Channels, ...]]]:
        """Mine everything, signature by signature, coarse first; channels are not kept."""
        bottom = (0,) * len(self.axes)
        layers: defaultdict[int, list[Signature]] = defaultdict(list)
        for signature in signatures_above(bottom, self.axes.root, self.demand.p):
            layers[self._distance(signature)].append(signature)
        for distance in sorted(layers):
            self._mine([each for each in layers[distance] if each not in self._found])
            for signature in layers[distance]:
                yield signature, self._found.pop(signature)

    def describe(self, channels: Channels, row: int) -> Channel:
        """Write a channel in labels."""
        events: list[tuple[tuple[str, str], ...]] = []
        for place, item in enumerate(channels.items[row].tolist()):
            known = (self.axes.name_item(item),)
            if channels.kinds[row] >> place & 1:
                events[-1] += known
            else:
                events.append(known)
        value = int(channels.values[row])
        return Channel(
            events=tuple(events),
            persons=int(channels.supports[row]),
            value=None if value < 0 else self._histories.values.names[value],
            with_value=int(channels.highs[row]),
        )

    def _distance(self, signature: Signature) -> int:
        return sum(top - level for top, level in zip(self.axes.root, signature, strict=True))

    def _mine(self, signatures: list[Signature]) -> list[Channels]:
        """Mine signatures of one distance from the root, length by length."""
        demand = self.demand
        limits = kernels.channels.Limits(demand.k, demand.c)
        found: dict[Signature, list[Channels]] = {signature: [] for signature in signatures}
        tables: dict[Signature, SignatureRows] = {}
        for length in range(1, demand.p + 1):
            units: list[tuple[Signature, SignatureRows, range]] = []
            for signature in signatures:
                n_known = sum(a < b for a, b in zip(signature, self.axes.root, strict=True))
                if n_known > length:
                    continue
                if length <= 2 or signature not in tables:
                    tables[signature] = SignatureRows.of(
                        self._histories,
                        self.axes,
                        signature,
                        length=length,
                        is_open=self.is_open,
                        mixed=demand.mixed,
                    )
                units += [(signature, tables[signature], part) for part in tables[signature].parts(length)]
            book = self.book.arrays

            def search(
                shard: range,
                units: list[tuple[Signature, SignatureRows, range]] = units,
                book: object = book,
                length: int = length,
            ) -> list[Candidates]:
                return [
                    kernels.channel_search.search_channels(
                        table.rows, table.alphabet, book, limits, length, part.start, part.stop
                    )
                    for _, table, part in units[shard.start : shard.stop]
                ]

            answers = [
                each for batch in self._engine.map(search, self._engine.split(len(units))) for each in batch
            ]
            per_signature: dict[Signature, list[Candidates]] = {}
            for (signature, _, _), answer in zip(units, answers, strict=True):
                per_signature.setdefault(signature, []).append(answer)
            for signature, candidates in per_signature.items():
                found[signature] += self._settle(candidates)
        for signature, channels in found.items():
            self._found[signature] = tuple(channels)
        return [each for channels in found.values() for each in channels if len(each.supports)]

    def _settle(self, candidates: list[Candidates]) -> list[Channels]:
        """Take the open ones into the book, and give the channels that are minimal."""
        if self.demand.mixed:
            candidates = _settled(candidates)
        for each in candidates:
            self.book.add(each.members, each.groups, each.sizes, each.children)
            if not each.channels.items.shape[1] - 1:
                self.is_open[each.children] = True
        return [each.channels for each in candidates]


def _settled(candidates: list[Candidates]) -> list[Candidates]:
    """Leave out what is not open or not minimal because of others among the candidates."""
    bits = kernels.open_sequences.ITEM_BITS + 1
    steps, asks, levels, is_channel = [], [], [], []
    for each in candidates:
        n_channels = len(each.channel_levels)
        steps += [np.repeat(each.members, each.sizes) << bits | each.children, np.zeros(n_channels, np.int64)]
        asks += [each.asks, each.channel_asks]
        levels += [each.levels, each.channel_levels]
        is_channel.append(np.repeat([False, True], [len(each.children), n_channels]))
    # What is more general has levels that add up to more.
    order = np.argsort(-np.concatenate(levels), kind="stable")
    is_kept = kernels.open_sequences.settle_steps(
        np.concatenate(steps), np.concatenate(asks), np.concatenate(is_channel), order
    )
    settled, start = [], 0
    for each in candidates:
        middle = start + len(each.children)
        stop = middle + len(each.channel_levels)
        kept, kept_channels = is_kept[start:middle], is_kept[middle:stop]
        run_of_child = np.repeat(np.arange(len(each.sizes)), each.sizes)
        settled.append(
            each._replace(
                sizes=np.bincount(run_of_child[kept], minlength=len(each.sizes)).astype(np.int32),
                children=each.children[kept],
                channels=type(each.channels)(*(array[kept_channels] for array in each.channels)),
            )
        )
        start = stop
    return settled


def signatures_above(node: Signature, root: Signature, p: int) -> Iterator[Signature]:
    """List the signatures at least as coarse as a node, of one to `p` quasi-identifiers."""
    for size in range(1, min(p, len(root)) + 1):
        for chosen in combinations(range(len(root)), size):
            for levels in product(*(range(root[q] - 1, node[q] - 1, -1) for q in chosen)):
                signature = list(root)
                for q, level in zip(chosen, levels, strict=True):
                    signature[q] = level
                yield tuple(signature)


def _covers(signature: Signature, node: Signature) -> bool:
    return all(level >= at for level, at in zip(signature, node, strict=True))
