"""What an adversary who knows a few items of a person finds in a table as it stands.

The adversary knows that a person is in the table, and at most so many of their items: of different events in
their order (`ordered`), of one event (`event`), or of any events in no order (`anywhere`). Everything said
here is the worst case over what could be known: a person is unique if *some* such items of theirs fit nobody
else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from sequester.attacks.exposure import Confidence, Exposure, Pattern
from sequester.attacks.items import Items, Kind
from sequester.attacks.search import Search
from sequester.attacks.share import Share
from sequester.attacks.units import Units
from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.engine import LocalEngine, part, silent
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress

BOUNDS = (2, 5, 10)
"""A crowd of fewer persons than these is small."""
SURE = (0.5, 0.8)
"""A confidence above these is high."""
EXACT = 100_000
"""Up to so many persons, everybody is a target."""
TARGETS = 10_000
"""Of more persons, so many are drawn as targets; their crowds are counted among everybody."""
SHOWN = 5
"""Patterns that are shown of each kind."""
_SLACK = 1e-9


def kinds_of(table: EventTable) -> tuple[Kind, ...]:
    """Name the kinds of knowledge that a table allows: of one event only where events have several items."""
    return tuple(kind for kind in get_args(Kind) if kind != "event" or len(table.schema.quasi) > 1)


def expose(
    table: EventTable,
    *,
    known: int = 3,
    kinds: Sequence[Kind] | None = None,
    exact: int = EXACT,
    targets: int = TARGETS,
    seed: str = SEED,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> tuple[Exposure, ...]:
    """Find what somebody who knows 1, 2, ... `known` items of a person can do, for every kind of knowledge.

    Up to `exact` persons everybody is a target, and shares are exact. Of more persons `targets` are drawn by
    the seed; what could be known of each is counted among everybody, and shares come with an interval. As
    many persons with the rarest items and protected values are looked at beside them: they are in no share,
    and in what is worst.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> for each in expose(table, known=2):
    ...     print(each.kind, each.known, round(each.unique.value, 2))
    ordered 1 0.0
    ordered 2 0.33
    anywhere 1 0.0
    anywhere 2 0.0
    """
    for name, value in (("known", known), ("exact", exact), ("targets", targets)):
        if value < 1:
            msg = f"{name} must be at least 1, got {value}"
            raise ParameterError(msg)
    kinds = kinds_of(table) if kinds is None else tuple(kinds)
    items = Items.of(table)
    persons = _draw(table.n_persons, exact, targets, seed)
    others = _with_the_rarest(items, targets) if len(persons) < table.n_persons else None
    engine = engine or LocalEngine()
    found: list[Exposure] = []
    for place, kind in enumerate(kinds):
        within = part(progress, place / len(kinds), (place + 1) / len(kinds))
        within(0.0, f"counting crowds ({kind})")
        search = Search(Units.of(items, kind), persons, known=known, bounds=BOUNDS, others=others)
        for size in range(1, known + 1):
            search.run(
                size,
                engine=engine,
                progress=part(within, (size - 1) / known, size / known),
                phase=f"counting crowds ({kind}, {size} of {known} items)",
            )
            is_drawn = len(persons) < table.n_persons
            found.append(_sum_up(search, items, kind, size, Share.drawn if is_drawn else Share.counted))
    return tuple(found)


def _draw(n_persons: int, exact: int, targets: int, seed: str) -> Counts:
    if n_persons <= max(exact, targets):
        return np.arange(n_persons)
    return np.sort(generator("inspect", seed).choice(n_persons, targets, replace=False))


def _with_the_rarest(items: Items, targets: int) -> Counts:
    """List persons with the rarest items, and with the rarest protected values, at most about so many."""
    found = []
    for codes, offsets in ((items.codes, items.offsets), (items.values, items.value_offsets)):
        often = np.bincount(codes)
        order = np.argsort(often, kind="stable")
        is_rare = np.zeros(len(often), np.bool_)
        is_rare[order[np.cumsum(often[order]) <= targets // 2]] = True
        before = np.concatenate([[0], np.cumsum(is_rare[codes])])
        found.append(np.flatnonzero(np.diff(before[offsets])))
    return np.unique(np.concatenate(found))


def _sum_up(search: Search, items: Items, kind: Kind, size: int, share: Callable[..., Share]) -> Exposure:
    found, n_drawn = search.found, search.n_drawn
    targets = int(n_drawn.sum())

    def count(mask: Mask) -> int:
        return int(n_drawn[mask].sum())

    small, maybe = [], []
    for bound in BOUNDS:
        small.append(found.fewest < bound)
        maybe.append(search.is_cut & ~small[-1] & (search.weights < bound))
    unique, below_5, below_10 = (
        share(count(yes), targets, undecided=count(open_)) for yes, open_ in zip(small, maybe, strict=True)
    )
    return Exposure(
        known=size,
        kind=kind,
        unique=unique,
        below_5=below_5,
        below_10=below_10,
        confidence=_confidence(search, items, size, count, share) if search.has_value.any() else None,
        worst=_rarest(search, items, size),
        targets=targets,
        cut=count(search.is_cut & search.is_open),
    )


def _confidence(
    search: Search, items: Items, size: int, count: Callable[[Mask], int], share: Callable[..., Share]
) -> Confidence:
    has, surest = search.has_value, search.found.surest
    concerned = count(has)
    above = [has & (surest > bound + _SLACK) for bound in SURE]
    above_half, above_80 = (
        share(count(mask), concerned, undecided=count(has & search.is_cut & ~mask)) for mask in above
    )
    return Confidence(
        targets=concerned,
        base_rate=search.base_rate,
        largest=float(surest[has].max()),
        above_half=above_half,
        above_80=above_80,
        worst=_most_telling(search, items, size),
    )


def _rarest(search: Search, items: Items, size: int) -> tuple[Pattern, ...]:
    """Take the smallest crowds that `size` items lead to and fewer do not, then the rarest items first."""
    found = search.found
    where = np.flatnonzero((found.fewest < BOUNDS[-1]) & _has(found.rare, size))
    codes, persons = found.rare[where], found.fewest[where]
    order = np.lexsort((*codes.T[::-1], persons))
    return tuple(
        Pattern(items=_labels(codes[place], items), persons=int(persons[place]))
        for place in _first_different(codes[order], order)
    )


def _most_telling(search: Search, items: Items, size: int) -> tuple[Pattern, ...]:
    """Take the largest confidences that `size` items lead to and fewer do not, then the largest crowds."""
    found = search.found
    where = np.flatnonzero(search.has_value & _has(found.telling, size))
    codes = np.column_stack([found.told[where], found.telling[where]])
    order = np.lexsort((*codes.T[::-1], -found.among[where], -found.surest[where]))
    return tuple(
        Pattern(
            items=_labels(codes[place, 1:], items),
            persons=int(found.among[where[place]]),
            value="=".join(items.value_names[codes[place, 0]]),
            confidence=float(found.surest[where[place]]),
        )
        for place in _first_different(codes[order], order)
    )


def _has(codes: Codes, size: int) -> Mask:
    """Mark the rows of so many items."""
    mask: Mask = (codes >= 0).sum(axis=1) == size
    return mask


def _first_different(codes: Codes, order: Counts) -> list[int]:
    """Give the places of the first few rows, without those that were there already."""
    taken: dict[tuple[int, ...], int] = {}
    for row, place in zip(codes, order.tolist(), strict=True):
        taken.setdefault(tuple(row.tolist()), place)
        if len(taken) == SHOWN:
            break
    return list(taken.values())


def _labels(codes: Codes, items: Items) -> tuple[str, ...]:
    return tuple(items.label(code) for code in codes.tolist() if code >= 0)
