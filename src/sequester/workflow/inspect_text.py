"""An inspection as text: sentences shared with the page, and the lines of the terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from sequester.attacks.risk import percent
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester.attacks import AttributeExposure, Exposure, Pattern, Proportion
    from sequester.attacks.singling_out import SinglingOut
    from sequester.workflow.inspect import ChannelCounts, Inspection, Quartiles, Shape

KINDS = {
    "ordered": "items of different events, in their order, with gaps",
    "event": "items of one event",
    "anywhere": "items of any events, in no order",
    "demographics": "attributes of the person alone; in the other kinds they are an event before all others",
}
"""Kinds of background knowledge, in words."""
BY_ATTRIBUTE = (
    "The share of persons of whom some values of the attribute, of different events and in their order, fit "
    "nobody else. Together: values of all attributes, in the worst kind of knowledge."
)
"""What is counted of one attribute alone."""
WORST_CASE = (
    "The worst case over all background knowledge: a person counts if some of their own items, at most as "
    "many as stated, match so few persons, themselves included."
)

_TOGETHER = "The trips of a person are looked at together, one after the other."


def counts(shape: Shape) -> str:
    """Write how many persons, trips, events and items there are."""
    trips = "" if shape.trips is None else f"{counted(shape.trips, 'trip', 'trips')}, "
    persons, events = counted(shape.persons, "person", "persons"), counted(shape.events, "event", "events")
    return f"{persons}, {trips}{events}, {counted(shape.alphabet, 'different item', 'different items')}"


ONE_PERSON = (
    "There is one person, who cannot be hidden among others. What can be hidden are patterns that you name, "
    "with top-down or bottom-up."
)
"""What is said instead of risks among persons."""


def worst_case(shape: Shape) -> str:
    """Describe what is counted about candidate sets."""
    return WORST_CASE if shape.trips is None else f"{WORST_CASE} {_TOGETHER}"


def sure_case(base_rate: float) -> str:
    """Describe what is counted about protected values."""
    return (
        "Confidence: of the persons with a protected value, those for whom some of their own items match a "
        "candidate set in which a value of theirs is more common than stated. Without background knowledge "
        f"the most common protected value has a confidence of {percent(base_rate)}, its share of everybody."
    )


def by_kind(exposures: Sequence[Exposure]) -> list[tuple[str, list[Exposure]]]:
    """Bring together what is known in the same way."""
    kinds = dict.fromkeys(each.kind for each in exposures)
    return [(kind, [each for each in exposures if each.kind == kind]) for kind in kinds]


def by_attribute(found: Sequence[AttributeExposure]) -> dict[str, list[Proportion]]:
    """Bring together the shares of each attribute, of 1, 2, ... items."""
    shares: dict[str, list[Proportion]] = {}
    for each in found:
        shares.setdefault(each.attribute, []).append(each.unique)
    return shares


def together(exposures: Sequence[Exposure]) -> list[Proportion]:
    """Return the shares whom 1, 2, ... items of any attributes single out, in the worst kind of knowledge."""
    sizes = dict.fromkeys(each.known for each in exposures)
    return [
        max((each.unique for each in exposures if each.known == size), key=lambda share: share.value)
        for size in sizes
    ]


def items(number: int) -> str:
    """Write how many items are known."""
    return counted(number, "item", "items")


def channels(counts: ChannelCounts) -> str:
    """Describe what a channel is, and how far they were counted."""
    confidence = f", or shows a protected value with a confidence above {percent(counts.c)}"
    text = (
        "A channel is background knowledge of a person, recorded or coarser, that matches fewer than "
        f"{persons(counts.k)}{confidence if counts.c < 1 else ''}. It is minimal if nothing more general is "
        "one. These are what halt has to break."
    )
    if not counts.counts:
        return f"{text} They were not counted, because there is too much to count."
    return f"{text} Counted up to {items(len(counts.counts))}."


def singled_out(found: SinglingOut) -> list[str]:
    """Describe who is singled out by columns that no promise covers, as the data stands."""
    return [f"{line}." for line in found.lines(raw=True)]


def with_interval(share: Proportion) -> str:
    """Write a share with its interval, where it has one."""
    if share.is_exact:
        return percent(share.value)
    low, high = share.interval
    return f"{percent(share.value)} ({percent(low)} to {percent(high)})"


def span(days: float) -> str:
    """Write a time in the unit that suits it.

    Examples
    --------
    >>> span(0), span(25 / 86400), span(0.5), span(1), span(454.0)
    ('0 s', '25 s', '12 h', '1 day', '454 days')
    """
    if days >= 1:
        return counted(round(days), "day", "days")
    for unit, per_day in (("h", 24), ("min", 1_440)):
        if days * per_day >= 1:
            return f"{days * per_day:.0f} {unit}"
    return f"{days * 86_400:.0f} s"


def events_of(shape: Shape) -> list[tuple[str, str]]:
    """Describe how many events persons have, and trips where there are any."""
    per_trip = [] if shape.trips is None else [("events per trip", _events(shape.per_trip, "every trip"))]
    return [("events per person", _events(shape.per_person, "everybody")), *per_trip]


def _events(spread: Quartiles | None, unit: str) -> str:
    if spread is None:
        return "nobody has any"
    if spread.least == spread.most:
        return f"{unit} has {spread.least:,.0f}"
    return (
        f"{spread.least:,.0f} to {spread.most:,.0f}; half have at most {spread.median:,.0f}, "
        f"nine in ten at most {spread.nine_tenths:,.0f}"
    )


def between_events(spread: Quartiles) -> str:
    """Describe how much time lies between events."""
    if spread.least == spread.most:
        return f"always {span(spread.least)}"
    return (
        f"{span(spread.least)} to {span(spread.most)}; half are at most {span(spread.median)}, "
        f"nine in ten at most {span(spread.nine_tenths)}"
    )


def persons(number: int) -> str:
    """Write how many persons."""
    return counted(number, "person", "persons")


def knowledge(pattern: Pattern, kind: str) -> str:
    """Write what is known: items in order, or side by side."""
    return (" > " if kind == "ordered" else " + ").join(pattern.items) or "nothing"


def drawn(exposures: tuple[Exposure, ...], n_persons: int) -> str:
    """Report whether everybody was looked at; empty where they were."""
    targets = exposures[0].targets if exposures else n_persons
    if targets == n_persons:
        return ""
    return (
        f"{targets:,} persons were drawn at random, and their items compared with those of everybody; in "
        f"parentheses, where the share of all {n_persons:,} lies with a confidence of 95%."
    )


def cut(exposures: tuple[Exposure, ...]) -> str:
    """Report whether some items were left out; empty where none were."""
    most = max((each.cut for each in exposures), default=0)
    if not most:
        return ""
    return (
        f"{counted(most, 'person has', 'persons have')} too many items to combine all of them: only the "
        "rarest were combined, and the shares may be larger, up to the upper end in parentheses."
    )


_WIDTH = 100
_BAR = 10
_SHOWN_DEPENDENT = 20
_SHOWN_PATTERNS = 2
_SHOWN_ATTRIBUTES = 20


def lines(inspection: Inspection, *, bar: str = "█") -> Iterator[str]:
    """Yield everything, section by section; `bar` is what bars are made of."""
    shape = inspection.shape
    yield counts(shape)
    if inspection.reading is not None:
        yield from inspection.reading.lines()
    yield ""
    yield "Shape"
    yield from _facts(_shape(inspection))
    yield ""
    yield "Problems"
    yield from (f"  {each.severity}: {each}" for each in inspection.problems)
    if not inspection.problems:
        yield "  none"
    if inspection.dependent:
        yield ""
        yield "Quasi-identifiers that follow from others, so that a coarse one is undone by a fine one"
        yield from (f"  {each}" for each in inspection.dependent[:_SHOWN_DEPENDENT])
        if len(inspection.dependent) > _SHOWN_DEPENDENT:
            yield f"  and {len(inspection.dependent) - _SHOWN_DEPENDENT:,} more"
    yield ""
    yield "Re-identification risk from an adversary who knows a few items of a person"
    yield from _wrapped(worst_case(shape) if inspection.exposures else ONE_PERSON)
    yield from _wrapped(drawn(inspection.exposures, shape.persons))
    yield from _wrapped(cut(inspection.exposures))
    guesses = [each.confidence for each in inspection.exposures if each.confidence is not None]
    if guesses:
        yield from _wrapped(sure_case(guesses[0].base_rate))
    for kind, rows in by_kind(inspection.exposures):
        yield ""
        yield from _crowds(kind, rows, bar)
        if rows[-1].confidence is not None:
            yield from _guesses(rows, bar)
    if inspection.by_attribute:
        yield ""
        yield from _attributes(inspection)
    if inspection.singled_out is not None:
        yield ""
        yield "Kept columns and unprotected sensitive values, which no promise covers"
        for each in singled_out(inspection.singled_out):
            yield from _wrapped(each)
    if inspection.channels is not None:
        yield ""
        yield "Minimal inference channels"
        yield from _wrapped(channels(inspection.channels))
        for length, count in enumerate(inspection.channels.counts, start=1):
            yield f"    {items(length):<9}{count:,}"
    if inspection.frequent is not None:
        yield ""
        yield f"Frequent patterns, each of at least {inspection.frequent.min_support:,} persons"
        for pattern, support in inspection.frequent.patterns:
            yield f"  {support:>11,}  {' > '.join(pattern)}"
        left = inspection.frequent.total - len(inspection.frequent.patterns)
        if left or not inspection.frequent.total:
            yield f"  and {left:,} more" if left else "  none"


def _shape(inspection: Inspection) -> Iterator[tuple[str, str]]:
    shape = inspection.shape
    yield from events_of(shape)
    if shape.gaps is not None:
        yield "between events", between_events(shape.gaps)
    for column in shape.columns:
        labels = "" if column.labels is None else f", {column.labels:,} labels"
        missing = f", {column.missing:,} missing" if column.missing else ""
        yield column.name, f"{column.role}{labels}{missing}"


def _facts(facts: Iterator[tuple[str, str]]) -> Iterator[str]:
    pairs = list(facts)
    width = min(max(len(name) for name, _ in pairs), 30)
    yield from (f"  {name:<{width}}  {value}" for name, value in pairs)


def _wrapped(text: str, *, indent: int = 2) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)


def _crowds(kind: str, rows: list[Exposure], bar: str) -> Iterator[str]:
    yield f"  {kind}: {KINDS[kind]}"
    header = ("fits nobody else", "fewer than 5", "fewer than 10")
    yield from _table(header, {each.known: (each.unique, each.below_5, each.below_10) for each in rows}, bar)
    for each in rows:
        for pattern in each.worst[:_SHOWN_PATTERNS]:
            yield f"    {persons(pattern.persons)}: {knowledge(pattern, kind)}"


def _guesses(rows: list[Exposure], bar: str) -> Iterator[str]:
    found = {each.known: each.confidence for each in rows if each.confidence is not None}
    shares = {known: (each.above_half, each.above_80) for known, each in found.items()}
    yield from _table(("confidence above 50%", "above 80%"), shares, bar)
    for each in found.values():
        for pattern in each.worst[:_SHOWN_PATTERNS]:
            yield (
                f"    {persons(pattern.persons)}, {percent(pattern.confidence)} with "
                f"{pattern.value}: {knowledge(pattern, rows[0].kind)}"
            )


def _attributes(inspection: Inspection) -> Iterator[str]:
    yield "Persons singled out by one attribute alone, and by all together"
    yield from _wrapped(BY_ATTRIBUTE)
    found = by_attribute(inspection.by_attribute)
    shown = dict(list(found.items())[:_SHOWN_ATTRIBUTES]) | {"together": together(inspection.exposures)}
    width = min(max(map(len, shown)), 30)
    header = "  ".join(f"{items(known):>8}" for known in range(1, len(shown["together"]) + 1))
    yield f"    {'':<{width}}  {header}"
    for name, shares in shown.items():
        yield f"    {name:<{width}}  {'  '.join(f'{percent(each.value):>8}' for each in shares)}"
    if len(found) > _SHOWN_ATTRIBUTES:
        yield f"    and {counted(len(found) - _SHOWN_ATTRIBUTES, 'attribute', 'attributes')} more"


def _table(header: tuple[str, ...], shares: Mapping[int, tuple[Proportion, ...]], bar: str) -> Iterator[str]:
    cells = {known: [with_interval(each) for each in row] for known, row in shares.items()}
    numbers = [max(len(row[place]) for row in cells.values()) for place in range(len(header))]
    widths = [max(len(title), number + 1 + _BAR) for title, number in zip(header, numbers, strict=True)]
    titles = [f"{title:<{width}}" for title, width in zip(header, widths, strict=True)]
    yield f"    {'knows':<9}{'  '.join(titles)}".rstrip()
    for known, row in cells.items():
        parts = [
            f"{f'{cell:>{number}} {bar * round(_BAR * share.value)}':<{width}}"
            for cell, number, width, share in zip(row, numbers, widths, shares[known], strict=True)
        ]
        yield f"    {items(known):<9}{'  '.join(parts)}".rstrip()
