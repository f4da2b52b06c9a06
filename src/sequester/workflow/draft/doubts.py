"""What a steward should look at first in a draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.alike import Vocabulary, settle
from sequester.hierarchies.labels import counted, quoted
from sequester.workflow.draft.infer_time import always_rises
from sequester.workflow.draft.names import names_code
from sequester.workflow.draft.roles import families

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
