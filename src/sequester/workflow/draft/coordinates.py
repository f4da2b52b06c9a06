"""Which two columns say where: latitude and longitude, by their names and their range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.workflow.draft.words import word_set, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.workflow.draft.column import Column

_LATITUDE = word_set("lat latitude latitud breite")
_LONGITUDE = word_set("lon lng long longitude longitud laenge")


def find_coordinates(columns: Iterable[Column]) -> tuple[str, str] | None:
    """Give the column of latitudes and that of longitudes; None unless there is one of each.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.workflow.draft.column import Column
    >>> values = {"user": ["a", "b"], "start_lat": [45.1, 45.2], "start_lon": [9.0, 9.1]}
    >>> find_coordinates(Column(name, pl.Series(given)) for name, given in values.items())
    ('start_lat', 'start_lon')
    """
    columns = list(columns)
    found = [
        [column.name for column in columns if {*words(column.name)} & named and _is_within(column, most)]
        for named, most in ((_LATITUDE, 90.0), (_LONGITUDE, 180.0))
    ]
    if [len(each) for each in found] != [1, 1]:
        return None
    return found[0][0], found[1][0]


def _is_within(column: Column, most: float) -> bool:
    numbers = column.numbers
    return numbers is not None and -most <= numbers.low and numbers.high <= most and not numbers.is_whole
