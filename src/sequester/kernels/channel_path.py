"""The sequence that a walk over open sequences stands on: its beginnings, and what follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.buffers import ensure_capacity
from sequester.kernels.channels import Alphabet, Book, find_open
from sequester.kernels.compiler import njit
from sequester.kernels.open_sequences import ITEM_BITS, ITEM_MASK, find_run, pack_step

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts


class Path(NamedTuple):
    """The sequence that the walk stands on, and what is known of each of its beginnings."""

    items: Codes
    """Its items."""
    kinds: Codes
    """The kinds of its steps."""
    numbers: Counts
    """The number of the beginning with ``d`` items."""
    have: Counts
    """Bit set of the attributes of which it has an anchor."""
    drops: Counts
    """At ``[d, j]`` the number of the beginning with ``d`` items, but without item ``j``."""
    ups: Counts
    """At ``[d, a]`` its number with attribute ``a`` one level up; where levels are mixed, with item ``a`` so.

    -1 where that says nothing.
    """


@njit
def enter(path: Path, depth: int, kind: int, item: int, number: int, alphabet: Alphabet, book: Book) -> None:
    """Take a step to a sequence of `depth` items; it and so all that is more general is open."""
    name = alphabet.numbers[item]
    path.items[depth - 1] = item
    path.kinds[depth - 1] = kind
    path.numbers[depth] = number
    path.have[depth] = path.have[depth - 1]
    if alphabet.is_anchor[item]:
        path.have[depth] |= 1 << alphabet.attributes[item]
    for j in range(depth - 1):
        # Without the item before, this one stands where that one stood.
        own = path.kinds[j] if kind == 1 and j == depth - 2 else kind
        path.drops[depth, j] = find_open(book, path.drops[depth - 1, j], own, name)
    path.drops[depth, depth - 1] = path.numbers[depth - 1]
    if alphabet.is_mixed:
        for j in range(depth - 1):
            path.ups[depth, j] = -1
            if path.ups[depth - 1, j] >= 0:
                path.ups[depth, j] = find_open(book, path.ups[depth - 1, j], kind, name)
        path.ups[depth, depth - 1] = -1
        if alphabet.ups[item] >= 0:
            path.ups[depth, depth - 1] = find_open(book, path.numbers[depth - 1], kind, alphabet.ups[item])
    else:
        for attribute in range(alphabet.goes_up.size):
            if alphabet.goes_up[attribute]:
                up = alphabet.ups[item] if alphabet.attributes[item] == attribute else name
                path.ups[depth, attribute] = find_open(book, path.ups[depth - 1, attribute], kind, up)


@njit
def _is_alone(path: Path, depth: int, item: int, extra: int, alphabet: Alphabet) -> bool:
    """Tell whether `item` is an anchor, and the only one of its attribute in the path and `extra`."""
    if not alphabet.is_anchor[item]:
        return False
    attribute = alphabet.attributes[item]
    n_anchors = 0
    for j in range(depth):
        other = path.items[j]
        if alphabet.is_anchor[other] and alphabet.attributes[other] == attribute:
            n_anchors += 1
    if alphabet.is_anchor[extra] and alphabet.attributes[extra] == attribute:
        n_anchors += 1
    return n_anchors == 1


@njit
def ask(path: Path, depth: int, kind: int, item: int, alphabet: Alphabet, book: Book, asks: Counts) -> bool:
    """Tell whether the path with one more item is open with any one item a level up, levels being mixed.

    What is so more general can be of the same length and signature, and is then not known yet: the steps to
    it are written to `asks`.
    """
    asks[:] = -1
    for j in range(depth + 1):
        if j < depth:
            member, up, own = path.ups[depth, j], alphabet.numbers[item], path.items[j]
            if member < 0:
                continue
        else:
            member, up, own = path.numbers[depth], alphabet.ups[item], np.int32(item)
            if up < 0:
                continue
        if not _is_alone(path, depth, own, item, alphabet):
            asks[j] = pack_step(member, kind, up)
        elif find_open(book, member, kind, up) < 0:
            return False
    return True


@njit
def list_kids(
    path: Path,
    depth: int,
    missing: int,
    only_missing: bool,
    alphabet: Alphabet,
    book: Book,
    kids: Codes,
    kid_numbers: Counts,
    begin: int,
) -> tuple[Codes, Counts, int]:
    """List the open sequences that are one item longer, behind those that wait."""
    n_items = alphabet.numbers.size
    member = path.numbers[depth]
    n_kids = 0
    for place in range(alphabet.groups.size):
        if only_missing and not (
            alphabet.group_anchors[place] and (missing >> alphabet.group_attributes[place]) & 1
        ):
            continue
        for part in range(2):
            if part == 1 and member >= book.n_base:
                break
            runs = book.fresh if part == 0 else book.base
            low, high = find_run(runs, member, alphabet.groups[place])
            kids = ensure_capacity(kids, begin + n_kids, begin + n_kids + high - low)
            kid_numbers = ensure_capacity(kid_numbers, begin + n_kids, begin + n_kids + high - low)
            for i in range(low, high):
                kind, number = runs.children[i] >> ITEM_BITS, runs.children[i] & ITEM_MASK
                item = alphabet.item_of[number]
                if item >= 0 and not (part == 1 and book.is_fresh[number]):
                    kids[begin + n_kids] = item if kind == 0 else n_items + item
                    kid_numbers[begin + n_kids] = runs.first + i
                    n_kids += 1
    return kids, kid_numbers, n_kids
