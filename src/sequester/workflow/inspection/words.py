"""How numbers and patterns of an inspection are spelled, on a terminal as on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.attacks.share import percent as percent  # noqa: PLC0414
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.attacks import Exposure, Pattern, Share
    from sequester.attacks.singling_out import SinglingOut
    from sequester.workflow.inspection.channels import ChannelCounts
    from sequester.workflow.inspection.shape import Shape, Spread

KINDS = {
    "ordered": "items of different events, in their order, with gaps",
    "event": "items of one event",
    "anywhere": "items of any events, in no order",
}
"""What somebody knows, in words."""
WORST_CASE = (
    "The worst case over what could be known: a person counts if some of their own items, at most as many as "
    "stated, fit so few persons, themselves included."
)

_TOGETHER = "The trips of a person are looked at together, one after the other."


def counts(shape: Shape) -> str:
    """Write how many persons, trips, events and items there are."""
    trips = "" if shape.trips is None else f"{counted(shape.trips, 'trip', 'trips')}, "
    persons, events = counted(shape.persons, "person", "persons"), counted(shape.events, "event", "events")
    return f"{persons}, {trips}{events}, {counted(shape.alphabet, 'different item', 'different items')}"


def worst_case(shape: Shape) -> str:
    """Say what is counted about crowds."""
    return WORST_CASE if shape.trips is None else f"{WORST_CASE} {_TOGETHER}"


def sure_case(base_rate: float) -> str:
    """Say what is counted about protected values."""
    return (
        "Confidence: of the persons with a protected value, those of whom some of their own items fit a "
        "crowd in which a value of theirs is more common than stated. Without any knowledge the most common "
        f"protected value has a confidence of {percent(base_rate)}, its share of everybody."
    )


def by_kind(exposures: Sequence[Exposure]) -> list[tuple[str, list[Exposure]]]:
    """Bring together what is known in the same way."""
    kinds = dict.fromkeys(each.kind for each in exposures)
    return [(kind, [each for each in exposures if each.kind == kind]) for kind in kinds]


def items(number: int) -> str:
    """Write how many items are known."""
    return counted(number, "item", "items")


def channels(counts: ChannelCounts) -> str:
    """Say what a channel is, and how far they were counted."""
    text = (
        f"A channel is what somebody may know of a person, as it stands or coarser, that fits fewer than "
        f"{persons(counts.k)}, or more than {percent(counts.c)} of those whom it fits have one protected "
        "value. It is minimal if nothing more general is one. These are what halt has to break."
    )
    if not counts.counts:
        return f"{text} They were not counted, because there is too much to count."
    return f"{text} Counted up to {items(len(counts.counts))}."


def singled_out(found: SinglingOut) -> list[str]:
    """Say who is singled out by columns that no promise covers, as the data stands."""
    return [f"{line}." for line in found.lines(raw=True)]


def with_interval(share: Share) -> str:
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
    """Say how many events persons have, and trips where there are any."""
    per_trip = [] if shape.trips is None else [("events per trip", _events(shape.per_trip, "every trip"))]
    return [("events per person", _events(shape.per_person, "everybody")), *per_trip]


def _events(spread: Spread | None, whoever: str) -> str:
    if spread is None:
        return "nobody has any"
    if spread.least == spread.most:
        return f"{whoever} has {spread.least:,.0f}"
    return (
        f"{spread.least:,.0f} to {spread.most:,.0f}; half have at most {spread.median:,.0f}, "
        f"nine in ten at most {spread.nine_tenths:,.0f}"
    )


def between_events(spread: Spread) -> str:
    """Say how much time lies between events."""
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
    """Say whether everybody was looked at; empty where they were."""
    targets = exposures[0].targets if exposures else n_persons
    if targets == n_persons:
        return ""
    return (
        f"{targets:,} persons were drawn at random, and their items compared with those of everybody; in "
        f"parentheses, where the share of all {n_persons:,} lies with a confidence of 95%."
    )


def cut(exposures: tuple[Exposure, ...]) -> str:
    """Say whether some items were left out; empty where none were."""
    most = max((each.cut for each in exposures), default=0)
    if not most:
        return ""
    return (
        f"{counted(most, 'person has', 'persons have')} too many items to combine all of them: only the "
        "rarest were combined, and the shares may be larger, up to the upper end in parentheses."
    )
