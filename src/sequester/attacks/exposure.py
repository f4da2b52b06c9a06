"""Exposure of the persons of a table: candidate sets and confidence, in the worst case over known items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from sequester._repr import Document
from sequester._validation import at_least
from sequester.attacks.exposure_search import CandidateSearch, ItemKind, Items, SearchRows
from sequester.attacks.risk import Proportion
from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.engine import part, silent
from sequester.kernels.shares import exceeds_share
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sequester._typing import Codes, Counts
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Items that an adversary could know, and the candidate set that they leave; no person is named."""

    items: tuple[str, ...]
    """Labels, in order where order counts."""
    persons: int
    """Persons who match them."""
    value: str = ""
    """A protected value that some of them have."""
    confidence: float = 0.0
    """The share of them who have it."""

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document that ``inspect --json`` prints."""
        document: dict[str, Any] = {"items": list(self.items), "persons": self.persons}
        return document | ({"value": self.value, "confidence": self.confidence} if self.value else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceConfidence(Document):
    """How confident an adversary can become of a protected value of a person who has it."""

    targets: int
    """Targets with a protected value; the shares are shares of them."""
    base_rate: float
    """The largest share of all persons with one protected value: the confidence without any knowledge."""
    largest: float
    """The largest confidence in a value of a target's own."""
    above_half: Proportion
    """Of the persons with a protected value, those whose confidence rises above one half."""
    above_80: Proportion
    """Of the persons with a protected value, those whose confidence rises above 80 %."""
    worst: tuple[Pattern, ...]
    """Some of the items, exactly so many, that tell more than fewer do; the largest confidence first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure(Document):
    """What an adversary who knows up to `known` items of one kind finds; the worst case over which items."""

    known: int
    """How many items."""
    kind: ItemKind
    """Of which events."""
    unique: Proportion
    """Persons with such items that nobody else matches."""
    below_5: Proportion
    """Persons with such items that fewer than 5 persons match, themselves included."""
    below_10: Proportion
    """Persons with such items that fewer than 10 persons match, themselves included."""
    confidence: InferenceConfidence | None
    """None where nobody has a protected value."""
    worst: tuple[Pattern, ...]
    """Some sets of exactly so many items that leave fewer candidates than smaller sets do; fewest first."""
    targets: int
    """Persons who were looked at: everybody, or as many as were drawn."""
    cut: int
    """Targets with so many items that only the rarest were combined, and who may be in smaller sets yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeExposure(Document):
    """How many persons are singled out by items of one attribute alone; the worst case over which items."""

    attribute: str
    """Its name."""
    known: int
    """How many items of different events are known at most, in their order."""
    unique: Proportion
    """Persons with such items that nobody else matches."""


BOUNDS = (2, 5, 10)
"""A candidate set of fewer persons than these is small."""
SURE = (0.5, 0.8)
"""A confidence above these is high."""
EXACT = 100_000
"""Up to so many persons, everybody is a target."""
TARGETS = 10_000
"""Of more persons, so many are drawn as targets; their candidate sets are counted among everybody."""
SHOWN = 5
"""Patterns that are shown of each kind."""


def kinds_of(table: EventTable) -> tuple[ItemKind, ...]:
    """Return the kinds of knowledge that a table allows; of one event where events have several items."""
    allowed = {
        "event": len(table.schema.quasi) > 1,
        "demographics": any(name in table.of_persons for name in table.schema.quasi),
    }
    return tuple(kind for kind in get_args(ItemKind) if allowed.get(kind, True))


def expose(
    table: EventTable,
    *,
    known: int = 3,
    kinds: Sequence[ItemKind] | None = None,
    exact: int = EXACT,
    targets: int = TARGETS,
    seed: str = SEED,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> tuple[Exposure, ...]:
    """Find what an adversary who knows 1, 2, ... `known` items of a person can do, by kind of knowledge.

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
        at_least(name, value, 1)
    kinds = kinds_of(table) if kinds is None else tuple(kinds)
    items = Items.of(table)
    persons, share = _draw(table.n_persons, exact, targets, seed)
    others = _with_the_rarest(items, targets) if len(persons) < table.n_persons else None
    found: list[Exposure] = []
    for place, kind in enumerate(kinds):
        within = part(progress, place / len(kinds), (place + 1) / len(kinds))
        within(0.0, f"counting candidate sets ({kind})")
        search = CandidateSearch(
            SearchRows.of(items, kind), persons, known=known, bounds=BOUNDS, others=others
        )
        found += [
            _sum_up(search, items, kind, size, share)
            for size in search.run(engine=engine, progress=within, of=f"{kind}, ")
        ]
    return tuple(found)


def expose_attributes(
    table: EventTable,
    *,
    known: int = 3,
    exact: int = EXACT,
    targets: int = TARGETS,
    seed: str = SEED,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> tuple[AttributeExposure, ...]:
    """Count who is singled out by 1, 2, ... `known` items of each attribute alone, from the worst one on.

    Items are of different events, in their order. Targets are drawn as by `expose`. A table with a single
    attribute has none: `expose` counts the same.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> frame = pl.DataFrame({"who": list("aabb"), "n": [1, 2] * 2, "zip": list("1221"), "sex": list("ffff")})
    >>> quasi = {"sex": Hierarchy.flat(), "zip": Hierarchy.flat()}
    >>> table = EventTable(frame, Schema(person="who", order="n", quasi=quasi))
    >>> for each in expose_attributes(table, known=2):
    ...     print(each.attribute, each.known, each.unique.value)
    zip 1 0.0
    zip 2 1.0
    sex 1 0.0
    sex 2 0.0
    """
    attributes = list(table.schema.quasi)
    if table.symbol is not None or len(attributes) < 2:
        return ()
    items = Items.of(table)
    persons, share = _draw(table.n_persons, exact, targets, seed)
    found = []
    for place, attribute in enumerate(attributes):
        within = part(progress, place / len(attributes), (place + 1) / len(attributes))
        rows = SearchRows.of(items.of_attribute(attribute), "ordered")
        search = CandidateSearch(rows, persons, known=known, bounds=BOUNDS[:1])
        for size in search.run(engine=engine, progress=within, of="one attribute, "):
            undecided = search.count(search.is_cut & search.is_open)
            unique = share(search.count(search.fewest < BOUNDS[0]), len(persons), undecided=undecided)
            found.append(AttributeExposure(attribute=attribute, known=size, unique=unique))
    last = {each.attribute: each.unique.value for each in found}
    return tuple(sorted(found, key=lambda each: -last[each.attribute]))


def _draw(n_persons: int, exact: int, targets: int, seed: str) -> tuple[Counts, Callable[..., Proportion]]:
    """Return everybody, or some who are drawn, and how a share of them is written."""
    if n_persons <= max(exact, targets):
        return np.arange(n_persons), Proportion.counted
    return np.sort(generator("inspect", seed).choice(n_persons, targets, replace=False)), Proportion.drawn


def _with_the_rarest(items: Items, targets: int) -> Counts:
    """List persons with the rarest items, and with the rarest protected values, at most about so many."""
    found = []
    for codes, offsets in ((items.codes, items.offsets), (items.values, items.value_offsets)):
        often = np.bincount(codes)
        order = np.argsort(often, kind="stable")
        is_rare = np.zeros(len(often), np.bool_)
        is_rare[order[np.cumsum(often[order]) <= targets // 2]] = True
        found.append(np.flatnonzero(np.diff(offsets_of(is_rare[codes])[offsets])))
    return np.unique(np.concatenate(found))


def _sum_up(
    search: CandidateSearch, items: Items, kind: ItemKind, size: int, share: Callable[..., Proportion]
) -> Exposure:
    targets = int(search.n_drawn.sum())

    def below(bound: int) -> Proportion:
        is_small = search.fewest < bound
        undecided = search.count(search.is_cut & ~is_small & (search.weights < bound))
        return share(search.count(is_small), targets, undecided=undecided)

    unique, below_5, below_10 = map(below, BOUNDS)
    return Exposure(
        known=size,
        kind=kind,
        unique=unique,
        below_5=below_5,
        below_10=below_10,
        confidence=_confidence(search, items, size, share) if search.has_value.any() else None,
        worst=_rarest(search, items, size),
        targets=targets,
        cut=search.count(search.is_cut & search.is_open),
    )


def _confidence(
    search: CandidateSearch, items: Items, size: int, share: Callable[..., Proportion]
) -> InferenceConfidence:
    has, surest = search.has_value, search.surest
    concerned = search.count(has)
    above = [has & (exceeds_share(surest, bound, 1)) for bound in SURE]
    above_half, above_80 = (
        share(search.count(mask), concerned, undecided=search.count(has & search.is_cut & ~mask))
        for mask in above
    )
    return InferenceConfidence(
        targets=concerned,
        base_rate=search.base_rate,
        largest=float(surest[has].max()),
        above_half=above_half,
        above_80=above_80,
        worst=_most_telling(search, items, size),
    )


def _rarest(search: CandidateSearch, items: Items, size: int) -> tuple[Pattern, ...]:
    """Return the smallest candidate sets that `size` items leave and fewer do not, the rarest items first."""
    where = np.flatnonzero((search.fewest < BOUNDS[-1]) & ((search.rare >= 0).sum(axis=1) == size))
    return tuple(
        Pattern(items=_labels(search.rare[target], items), persons=int(search.fewest[target]))
        for target in _first_different(search.rare[where], where, search.fewest[where])
    )


def _most_telling(search: CandidateSearch, items: Items, size: int) -> tuple[Pattern, ...]:
    """Return the largest confidences that `size` items give and fewer do not, the largest sets first."""
    where = np.flatnonzero(search.has_value & ((search.telling >= 0).sum(axis=1) == size))
    codes = np.column_stack([search.value_code, search.telling])[where]
    return tuple(
        Pattern(
            items=_labels(search.telling[target], items),
            persons=int(search.among[target]),
            value="=".join(items.value_names[search.value_code[target]]),
            confidence=float(search.surest[target]),
        )
        for target in _first_different(codes, where, -search.among[where], -search.surest[where])
    )


def _first_different(codes: Codes, targets: Counts, *keys: Any) -> list[int]:
    """Sort targets by the last key, then by those before it and by codes; list a few with different codes."""
    taken: dict[tuple[int, ...], int] = {}
    for place in np.lexsort((*codes.T[::-1], *keys)).tolist():
        taken.setdefault(tuple(codes[place].tolist()), int(targets[place]))
        if len(taken) == SHOWN:
            break
    return list(taken.values())


def _labels(codes: Codes, items: Items) -> tuple[str, ...]:
    return tuple(items.label(code) for code in codes.tolist() if code >= 0)


def sequence_risk(
    table: EventTable,
    *,
    known: int = 2,
    kind: ItemKind = "ordered",
    engine: Engine | None = None,
    progress: Progress = silent,
) -> float:
    """Return the mean over persons of one over the fewest persons who match any `known` of their items.

    Everything that could be known of everybody is looked at. A person with fewer items is known completely.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> sequence_risk(table, known=1) == 1 / 3, sequence_risk(table) == (1 / 2 + 1 / 2 + 1) / 3
    (True, True)

    References
    ----------
    Pellungrini, Pappalardo, Pratesi, Monreale (2018), A Data Mining Approach to Assess Privacy Risk in Human
    Mobility Data; the location sequence attack of scikit-mobility.
    """
    at_least("known", known, 1)
    units = SearchRows.of(Items.of(table), kind)
    # With every number as a bound, a target is done with only when no smaller candidate set is possible.
    bounds = range(1, table.n_persons + 2)
    search = CandidateSearch(units, np.arange(table.n_persons), known=known, bounds=bounds)
    for _ in search.run(engine=engine, progress=progress):
        pass
    return float((search.n_drawn / search.fewest).sum() / max(table.n_persons, 1))
