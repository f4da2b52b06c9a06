"""Whose sequences are compared: persons, or their trips."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


class Units(NamedTuple):
    """What has a sequence of its own, in words."""

    one: str
    """person or trip"""
    many: str
    """persons or trips"""


def units_of(data: EventTable | Sequences) -> Units:
    """Say what has a sequence of its own.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> units_of(Sequences.from_rows(["ab"])).many
    'persons'
    """
    return Units("person", "persons") if sequences_of(data).owners is None else Units("trip", "trips")
