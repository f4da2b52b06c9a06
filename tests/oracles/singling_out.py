"""Who can be singled out by columns that no promise covers, person by person and straight from the words."""

from __future__ import annotations

from itertools import groupby


def alone(records: list[list[tuple[str, ...]]]) -> list[int]:
    """Number the persons whose whole record, event by event in order, nobody else has."""
    return [
        number
        for number, record in enumerate(records)
        if not any(record == other for place, other in enumerate(records) if place != number)
    ]


def singled_out(records: list[list[tuple[str, ...]]]) -> list[int]:
    """Number the persons who are alone by their values.

    Whom the number of events singles out already counts only if the values still do once repeated events
    are told once.
    """
    lengths = [len(record) for record in records]
    told_once = alone([[row for row, _ in groupby(record)] for record in records])
    return [number for number in alone(records) if lengths.count(lengths[number]) > 1 or number in told_once]


def by_one_event(records: list[list[tuple[str, ...]]]) -> list[int]:
    """Number the persons who have an event whose values no event of anybody else has."""
    return [
        number
        for number, record in enumerate(records)
        if any(
            all(row not in other for place, other in enumerate(records) if place != number) for row in record
        )
    ]
