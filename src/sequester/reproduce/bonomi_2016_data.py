"""Bonomi, Fan, Jin (2016): long sequences of clicks and of activities, public or made.

Reality Mining is not at hand. In its place stand logs of daily activities, over a taxonomy that is made as
the paper made its own: numbered labels in bins of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.datasets import activities, clicks, public
from sequester.datasets.taxonomies import areas, msnbc
from sequester.reproduce.bonomi_2016_claims import CLICKS, LOGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sequester.hierarchies.hierarchy import Hierarchy

LONG = 500
"""Clicks that make a user one of those in the experiments."""
_MADE_USERS, _VISITS = 36, 200
_MADE_LOGS, _DAYS = 8, 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Long sequences of some persons, each of which is sanitized alone."""

    role: str
    """Which of the paper's data sets it stands for."""
    about: str
    """What it is, for the page."""
    load: Callable[[], Sequence[EventTable]]
    """Reads or makes it: one table per person."""


def one_by_one(frame: pl.DataFrame, person: str, symbol: str, tree: Hierarchy) -> tuple[EventTable, ...]:
    """Give every person a table, events in the order of the frame."""
    schema = Schema(person="person", order="n", symbol=Symbol("symbol", tree))
    rows = frame.select(person=person, n=pl.int_range(pl.len()), symbol=symbol)
    return tuple(EventTable(each, schema) for each in rows.partition_by("person", maintain_order=True))


def long_clicks(data: Path | None) -> tuple[EventTable, ...]:
    """Read the users of MSNBC with 500 or more clicks, or make some by putting visits of one day together."""
    if data is None:
        made = clicks.make(persons=_MADE_USERS * _VISITS)
        number = pl.col("user").str.slice(1).cast(pl.Int64) - 1
        frame = made.select(person=(number // _VISITS).cast(pl.String), symbol="page")
    else:
        frame = public.load("msnbc", data).select("person", "symbol")
    frame = frame.filter(pl.len().over("person") >= LONG)
    return one_by_one(frame, "person", "symbol", msnbc())


def logs(data: Path | None) -> tuple[EventTable, ...]:
    """Read logs of activities in six homes, or make some; all labels are numbered, and put in bins of ten."""
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
    return one_by_one(numbered, "person", "symbol", areas(frame["symbol"].n_unique()))


def sources_of(data: Path | None) -> list[Source]:
    """List the data: public sets where they are given."""
    made = data is None
    about_clicks = "of the generator, visits put together" if made else "of msnbc.com with 500 or more clicks"
    return [
        Source(role=CLICKS, about=f"users {about_clicks}", load=cache(partial(long_clicks, data))),
        Source(
            role=LOGS,
            about=f"logs of daily activities {'of the generator' if made else 'in homes'}",
            load=cache(partial(logs, data)),
        ),
    ]
