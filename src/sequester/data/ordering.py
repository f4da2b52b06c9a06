"""Group events by person, sort them, and derive columns from their order and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from sequester.data.problems import Problem
from sequester.data.text import all_numbers, as_text, encode, is_number, is_plain
from sequester.hierarchies.labels import as_number, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Counts, Mask, Offsets
    from sequester.data.schema import Derivation, Schema


Keys = npt.NDArray[np.int64] | npt.NDArray[np.float64] | npt.NDArray[np.int32]
"""One number per event that says when it was; equal numbers are ties."""

_FIRST = 20_000
_EXACT_DIGITS = 15
"""Decimal numbers of at most so many characters are told apart by a 64-bit float."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Events brought together by person, in order of first appearance."""

    persons: pl.Series
    """The key of each person."""
    offsets: Offsets
    """Person ``i`` has the events ``offsets[i]`` to ``offsets[i + 1]``."""
    order: Counts | None
    """The place of each event in the input; None where the input is grouped already."""


def group_persons(person: pl.Series) -> Grouping:
    """Group the events of each person without changing their order.

    Examples
    --------
    >>> grouping = group_persons(pl.Series(["b", "a", "b"]))
    >>> grouping.persons.to_list(), grouping.offsets.tolist(), grouping.order.tolist()
    (['b', 'a'], [0, 2, 3], [0, 2, 1])
    """
    size = len(person)
    if not size:
        return Grouping(person, np.zeros(1, np.int64), None)
    starts = np.flatnonzero((person != person.shift(1)).fill_null(True).to_numpy()).astype(np.int64)
    persons = person.gather(starts)
    # Where persons are scattered, some of the first come back soon, and the rest need not be compared.
    if persons.head(_FIRST).is_unique().all() and persons.n_unique() == len(starts):
        return Grouping(persons, np.append(starts, size), None)
    frame = pl.DataFrame({"person": person, "row": pl.int_range(size, eager=True)})
    groups = frame.group_by("person", maintain_order=True).agg("row")
    lengths = groups["row"].list.len().to_numpy().astype(np.int64)
    order = groups["row"].explode().to_numpy()
    return Grouping(groups["person"], np.concatenate([[0], np.cumsum(lengths)]), order)


def order_keys(values: pl.Series) -> Keys:
    """Return the keys of a complete order column: its numbers if all are numbers, else ranks of its texts.

    Examples
    --------
    >>> order_keys(pl.Series(["10", "9"])).tolist()
    [10, 9]
    >>> order_keys(pl.Series(["10", "9", "x"])).tolist()
    [1, 2, 3]
    """
    if values.dtype.is_temporal():
        values = values.to_physical()
    if values.dtype.is_float():
        return values.cast(pl.Float64).to_numpy()
    text = values if values.dtype.is_integer() else as_text(values)
    numbers = text.cast(pl.Int64, strict=False)
    if not numbers.null_count():
        return numbers.to_numpy()
    text = as_text(text)
    if not all_numbers(text):
        return text.rank("dense").cast(pl.Int64).to_numpy()
    if (text.str.len_bytes() <= _EXACT_DIGITS).all():
        return text.cast(pl.Float64).to_numpy()
    return _exact_ranks(text)


def odd_orders(values: pl.Series) -> Mask | None:
    """Mark the texts that keep an order column of numbers from being ordered by number; None without any.

    At least nine tenths of the values must be numbers: otherwise the column is one of texts.

    Examples
    --------
    >>> odd_orders(pl.Series(["10", " 7", *"123456789"])).nonzero()[0].tolist()
    [1]
    >>> odd_orders(pl.Series(["a", "b", "3"])) is None, odd_orders(pl.Series(["10", "9"])) is None
    (True, True)
    """
    if values.dtype != pl.String or values.cast(pl.Int64, strict=False).null_count() == values.null_count():
        return None
    odd = (~is_number(values)).fill_null(False).to_numpy()
    n_odd = int(odd.sum())
    return odd if 0 < 10 * n_odd <= len(values) - values.null_count() else None


def _exact_ranks(numbers: pl.Series) -> Keys:
    """Rank numbers that a float cannot tell apart; equal numbers have equal ranks, however written."""
    codes, book = encode(numbers)
    values = [as_number(label) for label in book.labels]
    starts = [place == 0 or value != values[place - 1] for place, value in enumerate(values)]
    return np.cumsum(starts)[codes]


def sort_events(offsets: Offsets, keys: Sequence[Keys]) -> Counts | None:
    """Return the order that sorts each person's events by `keys`, first key first; None if they are sorted.

    Equal events keep their order.
    """
    if is_sorted(offsets, keys):
        return None
    owners = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    frame = pl.DataFrame({"owner": owners, **{f"key {i}": key for i, key in enumerate(keys)}})
    order = frame.select(pl.arg_sort_by(frame.columns, maintain_order=True).cast(pl.Int64))
    return order.to_series().to_numpy()


def is_sorted(offsets: Offsets, keys: Sequence[Keys]) -> bool:
    """Return whether no event comes before an earlier one of its person."""
    tied = ~first_events(offsets)[1:]
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return False
        tied &= key[1:] == key[:-1]
    return True


def repeats(offsets: Offsets, key: Keys) -> Mask:
    """Mark each event that has the key of the event before it, of the same person; events are sorted."""
    same = np.zeros(len(key), np.bool_)
    same[1:] = key[1:] == key[:-1]
    return same & ~first_events(offsets)


def first_events(offsets: Offsets) -> Mask:
    """Mark the first event of each person who has one."""
    first = np.zeros(int(offsets[-1]), np.bool_)
    first[offsets[:-1][offsets[:-1] < len(first)]] = True
    return first


def derive(kind: Derivation, offsets: Offsets, times: pl.Series | None) -> pl.Series | None:
    """Return the texts of one derived column, None without the times it needs; events are sorted.

    Months are 1 to 12, quarters 1 to 4, weekdays 1 (Monday) to 7. Days are calendar days, in UTC where times
    have offsets. The first event of a person has no previous one: missing.

    Examples
    --------
    >>> import datetime as dt
    >>> times = pl.Series([dt.datetime(2010, 1, 31, 23), dt.datetime(2010, 2, 1, 1), dt.datetime(2011, 5, 1)])
    >>> offsets = np.array([0, 3])
    >>> derive("event_count", np.array([0, 2, 3]), None).to_list()
    ['2', '2', '1']
    >>> derive("quarter", offsets, times).to_list()
    ['1', '1', '2']
    >>> derive("days_since_previous", offsets, times).to_list()
    [None, '1', '454']
    >>> derive("days_since_first_in_year", offsets, times).to_list()
    ['0', '1', '0']
    """
    if kind == "event_count":
        lengths = np.diff(offsets)
        return pl.Series(np.repeat(lengths, lengths)).cast(pl.String)
    if times is None:
        return None
    if kind in ("year", "month", "quarter", "weekday"):
        part: pl.Series = getattr(times.dt, kind)()
        return part.cast(pl.String)
    days = times.dt.date().to_physical().to_numpy().astype(np.int64)
    starts = first_events(offsets)
    if kind == "days_since_previous":
        gaps = pl.Series(np.diff(days, prepend=0))
        return gaps.set(pl.Series(starts), None).cast(pl.String)
    if kind == "days_since_first_in_year":
        years = times.dt.year().to_numpy()
        starts[1:] |= years[1:] != years[:-1]
    return pl.Series(days - _value_at_start(days, starts)).cast(pl.String)


def _value_at_start(values: Counts, starts: Mask) -> Counts:
    """Return, for each event, the value of the event where its run started."""
    places = np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))
    return values[places]


def warn_of_text_order(values: pl.Series) -> list[Problem]:
    """Warn where a few cells turn the order of numbers into an order of texts for everybody."""
    odd = odd_orders(values)
    if odd is None:
        return []
    column, first = values.name, values[int(odd.argmax())]
    what = (
        f"column {quoted(column)}: {quoted(first)} is not a number, so all are ordered as text, 10 before 9"
    )
    return [Problem.at(what, column, odd, severity="warning")]


def find_repeats(source: pl.DataFrame, schema: Schema, keys: pl.DataFrame, offsets: Offsets) -> list[Problem]:
    """Count events of a person at the same time, and rows that are there twice.

    `keys` has the ``row`` of each sorted event, and the ``key`` that orders it, if any.
    """
    if "key" not in keys.columns:
        return []
    rows, key = keys["row"].to_numpy(), keys["key"].to_numpy()
    again = repeats(offsets, key)
    if not again.any():
        return []
    shared = again.copy()
    shared[:-1] |= again[1:]
    name = schema.order or " ".join(schema.time_columns)
    by = f"the order of column {quoted(schema.tie)}, then " if schema.tie else ""
    what = f"column {quoted(name)}: events of a person at the same time stay in {by}file order"
    problems = [Problem.at(what, name, shared, rows, "note")]
    suspects = np.flatnonzero(shared)
    plain = pl.DataFrame({name: source[name] for name, dtype in source.schema.items() if is_plain(dtype)})
    frame = plain[rows[suspects] - 1]
    # Equal rows have equal hashes, and only those are compared in full.
    alike = frame.hash_rows().is_duplicated().to_numpy()
    if alike.any():
        first = frame.filter(alike).select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
        twice = np.zeros(len(key), np.bool_)
        twice[suspects[alike][~first]] = True
        if twice.any():
            what = "rows that repeat an earlier row in every column"
            problems.append(Problem.at(what, None, twice, rows, "warning"))
    return problems


def derive_columns(
    schema: Schema, offsets: Offsets, times: pl.Series | None, *, taken: list[str]
) -> list[pl.Series]:
    """Return the derived columns that the schema asks for."""
    kinds = {name: kind for name, kind in schema.derive.items() if name not in taken}
    made = {name: derive(kind, offsets, times) for name, kind in kinds.items()}
    return [column.alias(name) for name, column in made.items() if column is not None]
