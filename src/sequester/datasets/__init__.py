"""Data for demonstrations, tests and benchmarks: generators that repeat by a seed, and the papers' tables."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.datasets.papers import PAPERS, PrintedTable
from sequester.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from sequester.hierarchies import Hierarchy

__all__ = ["DATASETS", "SEED", "Dataset", "make"]

SEED = "sequester"
"""What generators draw from when nobody names a seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A generator, and what a person who chooses one wants to know."""

    name: str
    """As in ``sequester datasets make NAME``."""
    about: str
    """What the events are."""
    columns: tuple[str, ...]
    """What the table has."""
    persons: int
    """How many persons it makes by default."""
    trees: tuple[str, ...] = ()
    """Columns that come with a hierarchy."""

    def make(self, *, persons: int | None = None, seed: str = SEED) -> pl.DataFrame:
        """Make the table."""
        # The generators load polars, which a list of their names does not need.
        module = importlib.import_module(f"sequester.datasets.{self.name}")
        made: pl.DataFrame = module.make(persons=self.persons if persons is None else persons, seed=seed)
        return made

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the trees that come with it, by column."""
        if not self.trees:
            return {}
        module = importlib.import_module(f"sequester.datasets.{self.name}")
        trees: dict[str, Hierarchy] = module.hierarchies()
        return trees


DATASETS: dict[str, Dataset | PrintedTable] = {
    each.name: each
    for each in (
        Dataset(
            name="clicks",
            about="page categories that visitors of a news site looked at in one day, shaped like MSNBC",
            columns=("user", "at", "page"),
            persons=10_000,
            trees=("page",),
        ),
        Dataset(
            name="hospital",
            about="hospital visits: year, ZIP code, days since the first one, length of stay, disease",
            columns=("PID", "VID", "AdmYr", "ZIP", "DSFC", "LOS", "Disease"),
            persons=1_000,
        ),
        Dataset(
            name="quest",
            about="baskets of customers who share patterns of purchases, as IBM Quest makes them",
            columns=("customer", "basket", "item"),
            persons=10_000,
        ),
        Dataset(
            name="trips",
            about="GPS points of drives between home, work and shops on a grid of streets",
            columns=("user", "trip", "lat", "lon", "at"),
            persons=1_000,
        ),
        Dataset(
            name="days",
            about="records of patients that arrive day by day, some days with one diagnosis far too common",
            columns=("patient", "date", "sex", "age", "district", "diagnosis"),
            persons=10_000,
        ),
        Dataset(
            name="activities",
            about="one person's log of daily activities over half a year, with a taxonomy",
            columns=("user", "at", "activity"),
            persons=1,
            trees=("activity",),
        ),
    )
} | PAPERS
"""Name to generator or printed table."""


def make(name: str, *, persons: int | None = None, seed: str = SEED) -> pl.DataFrame:
    """Make a data set by its name.

    Examples
    --------
    >>> make("clicks", persons=3).columns
    ['user', 'at', 'page']
    """
    if name not in DATASETS:
        msg = f"NAME must be one of {', '.join(DATASETS)}, got {name!r}"
        raise InputError(msg)
    return DATASETS[name].make(persons=persons, seed=seed)
