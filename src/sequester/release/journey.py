"""The way of the data from the rows that were read to the events that are released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.release.release import Release


@dataclass(frozen=True, slots=True)
class Station:
    """One number on the way."""

    what: str
    """What is counted."""
    count: int
    """How many there are."""
    of: int | None = None
    """Of how many, where that says something."""


def journey(release: Release) -> Iterator[Station]:
    """List what was read, what was left out and why, what the method got, and what became of it."""
    reading = release.reading
    if reading is not None:
        yield Station("rows read", reading.rows)
        for rule, count in reading.reasons.items():
            yield Station(f"left out: {rule}", count, reading.rows)
        if reading.outside:
            yield Station("left out: point in no region", reading.outside, reading.rows)
        if reading.left_out:
            yield Station("left out, all reasons together", reading.left_out, reading.rows)
        if reading.folded:
            yield Station("folded: points of one visit that are no event of their own", reading.folded)
        if reading.crossed:
            yield Station("added: visits of regions between two points", reading.crossed)
        if reading.events != release.n_input_events:
            yield Station("events made of the rows, of which a sample was taken", reading.events)
    n_released = release.frame.height
    yield Station("events that the method got", release.n_input_events)
    yield Station("lost: no longer shown", release.n_lost_events, release.n_input_events)
    yield Station("released" if release.n_persons is not None else "released as records", n_released)
    if release.n_moved_items:
        yield Station("of these moved: elsewhere in the person's order", release.n_moved_items, n_released)
    if release.n_invented_items:
        yield Station("of these invented: the person never had them", release.n_invented_items, n_released)


def journey_counts(release: Release) -> dict[str, Any]:
    """Give the same numbers under the names that they have in JSON documents."""
    return {
        "reading": None if release.reading is None else release.reading.to_json(),
        "method": {
            "events": release.n_input_events,
            "lost": release.n_lost_events,
            "released": release.frame.height,
            "moved": release.n_moved_items,
            "invented": release.n_invented_items,
        },
        "unseen_share": release.unseen_share,
    }
