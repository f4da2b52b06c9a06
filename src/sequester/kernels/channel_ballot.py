"""Which ways to go on from an open sequence are worth counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.open_sequences import ITEM_BITS, ITEM_MASK, Runs, find_run, pack_child

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.kernels.channel_path import Path
    from sequester.kernels.channels import Alphabet, Book


class Ballot(NamedTuple):
    """Which ways to go on are worth counting: with them, everything that is more general has to be open.

    More general are the sequences without item ``j``, in place ``j``, and those with attribute ``a`` a level
    up, in place ``depth + a``. Each has children, those by fresh items apart from the others.
    """

    members: Counts
    """The number of each more general beginning; -1 where there is nothing to ask."""
    lows: Counts
    """At ``[0, g]`` where its children by fresh items begin, at ``[1, g]`` by others; of one group."""
    highs: Counts
    """Where they end."""
    chosen: Codes
    """The ways that are left."""


@njit
def _has_child(runs: Runs, low: int, high: int, child: int) -> bool:
    """Tell whether a child stands in a run."""
    stop = high
    while low < high:
        middle = (low + high) >> 1
        if runs.children[middle] < child:
            low = middle + 1
        else:
            high = middle
    return low < stop and runs.children[low] == child


@njit
def _passes(
    way: int,
    seed: int,
    n_general: int,
    depth: int,
    last_kind: int,
    alphabet: Alphabet,
    book: Book,
    ballot: Ballot,
) -> bool:
    """Tell whether everything more general than the path and a way to go on is open, but for the seed."""
    n_items = alphabet.numbers.size
    kind, item = (0, way) if way < n_items else (1, way - n_items)
    attribute = alphabet.attributes[item]
    for general in range(n_general):
        if general == seed or ballot.members[general] < 0:
            continue
        number = alphabet.ups[item] if general == depth + attribute else alphabet.numbers[item]
        # Without the item before, this one stands where that one stood.
        own = last_kind if general == depth - 1 and kind == 1 else kind
        part = 0 if ballot.members[general] >= book.n_base or book.is_fresh[number] else 1
        if not _has_child(
            book.fresh if part == 0 else book.base,
            ballot.lows[part, general],
            ballot.highs[part, general],
            pack_child(own, number),
        ):
            return False
    return True


@njit
def _find_seed(
    n_general: int, depth: int, place: int, only_fresh: bool, alphabet: Alphabet, book: Book, ballot: Ballot
) -> int:
    """Look up the children of all that is more general, by items of a group; give who has fewest.

    -1 where somebody has none. Children of a coarser level stand for several items, and count more.
    """
    seed, fewest = -1, np.int64(1 << 62)
    for general in range(n_general):
        member = ballot.members[general]
        if member < 0:
            continue
        is_up = general == depth + alphabet.group_attributes[place]
        group = alphabet.up_groups[place] if is_up else alphabet.groups[place]
        ballot.lows[0, general], ballot.highs[0, general] = find_run(book.fresh, member, group)
        ballot.lows[1, general], ballot.highs[1, general] = 0, 0
        if member < book.n_base and not only_fresh:
            ballot.lows[1, general], ballot.highs[1, general] = find_run(book.base, member, group)
        size = ballot.highs[0, general] - ballot.lows[0, general]
        size += ballot.highs[1, general] - ballot.lows[1, general]
        if size == 0:
            return -1
        if is_up:
            size *= 8
        if size < fewest:
            seed, fewest = general, size
    return seed


@njit
def choose(
    path: Path,
    depth: int,
    missing: int,
    only_missing: bool,
    only_fresh: bool,
    alphabet: Alphabet,
    book: Book,
    ballot: Ballot,
) -> int:
    """Choose the ways to go on that leave nothing but open sequences when any one item is left out.

    Where levels are not mixed, also when any one attribute goes a level up. With `only_missing`, the next
    item has to be an anchor of an attribute in the bit set `missing`; with `only_fresh` it has to be fresh.
    Gives their number.
    """
    n_items = alphabet.numbers.size
    n_chosen = 0
    if depth == 0:
        for item in range(n_items):
            if alphabet.is_anchor[item] and book.is_fresh[alphabet.numbers[item]]:
                ballot.chosen[n_chosen] = item
                n_chosen += 1
        return n_chosen
    last, last_kind = alphabet.attributes[path.items[depth - 1]], path.kinds[depth - 1]
    n_general = depth if alphabet.is_mixed else depth + alphabet.goes_up.size
    for general in range(n_general):
        ballot.members[general] = -1
        if general < depth:
            ballot.members[general] = path.drops[depth, general]
        elif alphabet.goes_up[general - depth]:
            ballot.members[general] = path.ups[depth, general - depth]
            if ballot.members[general] < 0:
                return 0
    for place in range(alphabet.groups.size):
        attribute = alphabet.group_attributes[place]
        if only_missing and not (alphabet.group_anchors[place] and (missing >> attribute) & 1):
            continue
        seed = _find_seed(n_general, depth, place, only_fresh, alphabet, book, ballot)
        if seed < 0:
            continue
        for part in range(2):
            runs = book.fresh if part == 0 else book.base
            for i in range(ballot.lows[part, seed], ballot.highs[part, seed]):
                kind, number = runs.children[i] >> ITEM_BITS, runs.children[i] & ITEM_MASK
                if part == 1 and book.is_fresh[number]:
                    continue
                start, stop = alphabet.item_of[number], alphabet.item_of[number] + 1
                if seed == depth + attribute:
                    start, stop = alphabet.below_starts[number], alphabet.below_stops[number]
                elif start < 0:
                    continue
                for item in range(start, stop):
                    if only_fresh and not book.is_fresh[alphabet.numbers[item]]:
                        continue
                    goes_same = kind == last_kind if seed == depth - 1 else kind == 1
                    if kind == 0 and _passes(item, seed, n_general, depth, last_kind, alphabet, book, ballot):
                        ballot.chosen[n_chosen] = item
                        n_chosen += 1
                    if (
                        goes_same
                        and attribute > last
                        and _passes(n_items + item, seed, n_general, depth, last_kind, alphabet, book, ballot)
                    ):
                        ballot.chosen[n_chosen] = n_items + item
                        n_chosen += 1
    return n_chosen
