"""What a steward should look at first in a draft, and cells that may stand for a missing value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.alike import Vocabulary, settle
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.columns import names_code, names_key, names_person, word_set
from sequester.workflow.draft.infer_time import always_rises
from sequester.workflow.draft.roles import families

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sequester.data.problems import Problem
    from sequester.workflow.draft.columns import Column
    from sequester.workflow.draft.infer_time import EventOrder
    from sequester.workflow.draft.roles import Guess

_ALIKE = 6
"""Columns with the same values that look like one attribute at several times."""
_CATEGORIES = 20


def tied_rows(n_tied: int, when: EventOrder | None) -> str:
    """Count the rows of a person that have the time or place of another one, in words."""
    what = "time" if when is not None and when.is_time else "place"
    return f"{counted(n_tied, 'row has', 'rows have')} the {what} of another row of the person"


def order_doubts(who: Guess, when: EventOrder | None, tie: str | None, n_tied: int) -> list[str]:
    """List what is doubtful about who and when."""
    doubts = [f"person: {who.doubt}"] if who.doubt else []
    if when is not None:
        doubts += [f"{'time' if when.is_time else 'order'}: {doubt}" for doubt in when.doubts]
        if n_tied and tie is None and not (when.doubts and not when.is_time):
            doubts.append(
                f"{'time' if when.is_time else 'order'}: {tied_rows(n_tied, when)}; they stay in file order"
            )
    return doubts


@dataclass(frozen=True, slots=True)
class AlikeLabels:
    """Labels of one column, or of a family of columns, that look alike."""

    text: str
    """The labels with their counts and rows."""
    are_codes: bool
    """They are codes, and differ by zeros."""


def find_twins(columns: Sequence[Column], owner: Column | None) -> Iterator[AlikeLabels]:
    """Name the labels of released columns, and the persons, that look alike; a family in one line."""
    compared = [
        column for column in columns if column.time_form is None and not column.series.dtype.is_integer()
    ]
    for members in families(compared).values():
        first, *others = members
        name = f"column {quoted(first.name)}" + (f" and {len(others)} more of its name" if others else "")
        vocabulary = Vocabulary(
            name=name,
            texts={column.name: column.text for column in members},
            occurring=pl.concat([column.counts["value"] for column in members]).unique(maintain_order=True),
            noun="person" if first is owner else "label",
        )
        problems: list[Problem] = []
        found = settle(vocabulary, None, np.arange(1, first.n_rows + 1), problems)
        are_codes = names_code(first.name) and all(each.are_numbers for each in found)
        for problem in problems:
            yield AlikeLabels(str(problem), are_codes)


def find_sorted_away(owner: Column | None, symbol: Column | None) -> Iterator[str]:
    """Find symbols that rise for everybody, as if a file had been sorted by them."""
    if owner is not None and symbol is not None and always_rises(symbol, owner):
        yield "symbol: everybody's symbols rise and never repeat: the file has probably lost their own order"


def find_spread(known: Sequence[Column]) -> Iterator[str]:
    """Find columns that look like one attribute at several times, which is no table of events."""
    alike: list[tuple[set[str], list[str]]] = []
    for column in known:
        if 2 < column.n_distinct <= _CATEGORIES:
            values = set(column.counted_values)
            for others, names in alike:
                if len(values & others) >= 0.75 * len(values | others):
                    others.update(values)
                    names.append(column.name)
                    break
            else:
                alike.append((values, [column.name]))
    for _, names in alike:
        if len(names) >= _ALIKE:
            yield (
                f"columns: {len(names)} of them, {quoted(names[0])} to {quoted(names[-1])}, have the same "
                "values. If they are one thing at several times, write one row per time instead"
            )


_SIGNS = word_set("? - -- . <na> #n/a")
_WORDS = word_set("na n/a n.a. nan null unknown missing") | {"not available", "not known"}
_LARGE = word_set("99 999 9999 99999 999999 9998 8888 9999.0 999.0")
_SMALL = word_set("-1 -9 -99 -999 -9999 -1.0 -9.0 -99.0 -999.0 -9999.0")
_FAR = 3.0
"""How many times larger than all others a number is that may stand for a missing value."""


def find_gaps(frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the markers of missing values that occur in each column of texts, as they are written.

    Keys may be called NA; ``-`` beside ``+`` is a result; NA among codes of a few letters is one of them.

    Examples
    --------
    >>> frame = pl.DataFrame({"weight": ["?", "70"], "test": ["+", "-"], "case_id": ["MA", "NA"]})
    >>> find_gaps(frame)
    {'weight': ('?',)}
    """
    found = {}
    for column, dtype in frame.schema.items():
        if dtype != pl.String:
            continue
        values = frame[column].str.strip_chars().unique().drop_nulls()
        folded = values.str.to_lowercase()
        is_key = names_person(column) > 1 or names_key(column)
        known = _SIGNS if is_key else _SIGNS | _WORDS
        known = known - {"-"} if "+" in values else known
        others = values.filter(~folded.is_in(known))
        if len(others) and others.str.contains(r"^[A-Z]{1,3}$").all():
            known = known - {"na"}
        markers = values.filter(folded.is_in(known)).sort().to_list()
        if markers and len(others):
            found[column] = tuple(markers)
    return found


def as_setting(
    gaps: Mapping[str, tuple[str, ...]], frame: pl.DataFrame
) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Return one list for all columns, or a list by column where another column has a marker as a value."""
    markers = tuple(dict.fromkeys(marker for each in gaps.values() for marker in each))
    for column, dtype in frame.schema.items():
        others = [marker for marker in markers if marker not in gaps.get(column, ())]
        if others and dtype == pl.String and frame[column].str.strip_chars().is_in(others).any():
            return dict(gaps)
    return markers


def ask_about_sentinels(columns: Iterable[Column]) -> Iterator[str]:
    """Ask about numbers far from all others that are often written for a missing value."""
    for column in columns:
        if column.numbers is None or column.n_distinct < 3:
            continue
        values = sorted(column.counted_values, key=float)
        for value, others, known in ((values[-1], values[:-1], _LARGE), (values[0], values[1:], _SMALL)):
            ends = float(others[0]), float(others[-1])
            is_far = float(value) > _FAR * max(abs(ends[1]), 1) if known is _LARGE else ends[0] >= 0
            if value in known and is_far:
                rows = counted(column.counted_values[value], "row", "rows")
                others_are = f"the others are {others[0]} to {others[-1]}"
                yield (
                    f"missing: does {value} in {quoted(column.name)} ({rows}; {others_are}) stand for a "
                    f'missing value? Then: missing = {{ {column.name} = ["{value}"] }}'
                )
