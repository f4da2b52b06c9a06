"""Data of the experiments of Bonomi, Fan, Jin (2016), a table per person, and the patterns that are drawn.

Reality Mining is not public. In its place stand logs of daily activities, over a taxonomy that is made as
the paper made its own: numbered labels in bins of ten.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.datasets import activities, clicks, public
from sequester.datasets.clicks import msnbc
from sequester.datasets.public import areas
from sequester.errors import InputError
from sequester.methods.mutual_information.problem import count_index_tuples
from sequester.reproduce.plan import DataSet

if TYPE_CHECKING:
    from pathlib import Path

    from sequester._typing import Counts
    from sequester.hierarchies.hierarchy import Hierarchy

    Pattern = tuple[str, ...]

WINDOW, FREQUENT = 10, 10
"""Table 1: window and least frequency of a pattern."""
ALPHAS = (2, 4, 8, 16, 32)
"""How many times more frequent one of two patterns is than the other, at least."""
LENGTH = 2
"""Table 1: length of patterns."""
LONG = 500
"""Least number of clicks of a user in the experiments."""
LONG_USERS = "users of msnbc.com with 500 or more clicks"
CLICKS, LOGS = "clicks", "logs"
"""What stands for MSNBC, and what stands for Reality Mining."""
_MADE_USERS, _VISITS = 36, 200
_MADE_LOGS, _DAYS = 8, 180


def tables_by_person(
    frame: pl.DataFrame, person: str, symbol: str, tree: Hierarchy
) -> tuple[EventTable, ...]:
    """Return a table per person, events in the order of the frame."""
    schema = Schema(person="person", order="n", symbol=Symbol("symbol", tree))
    rows = frame.select(person=person, n=pl.int_range(pl.len()), symbol=symbol)
    return tuple(EventTable(each, schema) for each in rows.partition_by("person", maintain_order=True))


def long_clicks(data: Path | None) -> tuple[EventTable, ...]:
    """Return the users of MSNBC with 500 or more clicks, or synthetic ones with many visits each."""
    if data is None:
        made = clicks.make(persons=_MADE_USERS * _VISITS)
        number = pl.col("user").str.slice(1).cast(pl.Int64) - 1
        frame = made.select(person=(number // _VISITS).cast(pl.String), symbol="page")
    else:
        frame = public.load("msnbc", data).select("person", "symbol")
    frame = frame.filter(pl.len().over("person") >= LONG)
    return tables_by_person(frame, "person", "symbol", msnbc())


def logs(data: Path | None) -> tuple[EventTable, ...]:
    """Return logs of activities in six homes, or synthetic ones; labels are numbered, in bins of ten."""
    if data is None:
        frame = activities.make(persons=_MADE_LOGS, days=_DAYS).select(person="user", symbol="activity")
    else:
        parts = (
            ("aruba", "label"),
            ("hh101", "label"),
            ("kasteren-a", "label"),
            ("kasteren-b", "label"),
            ("kasteren-c", "label"),
            ("ordonez-a", "Activity"),
        )
        said = pl.col("symbol").str.to_lowercase().str.replace_all("_", " ")
        frame = pl.concat(
            public.load(name, data).select(person=pl.lit(name), symbol=column) for name, column in parts
        ).with_columns(said)
    numbered = frame.with_columns(pl.col("symbol").rank("dense").cast(pl.String))
    return tables_by_person(numbered, "person", "symbol", areas(frame["symbol"].n_unique()))


def data_sets(data: Path | None) -> list[DataSet]:
    """List the data: public sets where they are given."""
    made = data is None
    users = "users of the generator, visits put together" if made else LONG_USERS
    homes = f"logs of daily activities {'of the generator' if made else 'in homes'}"
    return [
        DataSet(name=CLICKS, about=users, load=cache(partial(long_clicks, data))),
        DataSet(name=LOGS, about=homes, load=cache(partial(logs, data))),
    ]


@cache
def frequent_of(dataset: DataSet, person: int, length: int) -> tuple[list[Pattern], Counts]:
    """Return the frequent patterns of a person, and how often each occurs; counted once."""
    return frequent_patterns(dataset.load()[person], length)


def frequent_patterns(table: EventTable, length: int) -> tuple[list[Pattern], Counts]:
    """Return the patterns of a person that occur often enough to be drawn, with their frequencies.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> patterns, counts = frequent_patterns(symbol_table(["abababab"]), 2)
    >>> patterns, counts.tolist()
    ([('a', 'b')], [10])
    """
    sequences = table.sequences
    book = sequences.codebooks[sequences.symbol]
    symbols = sequences.columns[sequences.symbol]
    tuples, counts = count_index_tuples(symbols, len(book), length, WINDOW)
    often = counts >= FREQUENT
    return [tuple(book.labels[code] for code in each) for each in tuples[often].tolist()], counts[often]


def draw_patterns(dataset: DataSet, person: int, number: int, length: int, turn: int) -> list[Pattern]:
    """Return random patterns of a person; in the same turn, fewer patterns are the first of more."""
    pool, _ = frequent_of(dataset, person, length)
    places = np.random.default_rng([person, length, turn]).permutation(len(pool))
    return [pool[place] for place in places[:number].tolist()]


def draw_pairs(dataset: DataSet, person: int, alpha: int, draws: int) -> list[list[Pattern]]:
    """Return random pairs of patterns, one at least `alpha` times as frequent as the other, if there are."""
    pool, counts = frequent_of(dataset, person, LENGTH)
    often, seldom = np.nonzero(counts[:, None] >= alpha * counts[None, :])
    random = np.random.default_rng([person, alpha])
    places = random.integers(often.size, size=draws).tolist() if often.size else []
    return [[pool[often[place]], pool[seldom[place]]] for place in places]


def with_all_ratios(dataset: DataSet) -> list[int]:
    """Return the persons who have patterns of all ratios, in a random order."""
    order = np.random.default_rng(2016).permutation(len(dataset.load())).tolist()
    found = [person for person in order if draw_pairs(dataset, person, ALPHAS[-1], 1)]
    if not found:
        msg = f"{dataset.name}: nobody has a pattern that is {ALPHAS[-1]} times as frequent as another"
        raise InputError(msg)
    return found
