"""Data for demonstrations, tests and benchmarks: generators that repeat by a seed, and the papers' tables.

The papers' tables are in ``papers.toml``, with their hierarchies and what is to be hidden in them. The module
loads no library, so that a list of names costs nothing.
"""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from sequester.hierarchies import Hierarchy

    Rows = tuple[tuple[int | str, ...], ...]

__all__ = ["DATASETS", "PAPERS", "SEED", "Dataset", "PrintedTable", "make", "paper"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """A printed table, and what the paper says about it."""

    name: str
    """As in ``sequester datasets make NAME``."""
    about: str
    """What the rows are."""
    reference: str
    """Where it is printed."""
    columns: tuple[str, ...]
    """The person first, then the order."""
    rows: Rows
    """As printed."""
    trees: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Column to its hierarchy, as nested tables below the root."""
    protect: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Column to the highly sensitive values."""
    patterns: tuple[tuple[str, ...], ...] = ()
    """Patterns to hide."""

    @property
    def persons(self) -> int:
        """How many persons the table has."""
        return len({row[0] for row in self.rows})

    def make(self, *, persons: int | None = None, seed: str = "") -> pl.DataFrame:
        """Return the table, which neither a number of persons nor a seed changes."""
        del seed
        if persons not in (None, self.persons):
            msg = f"persons must be {self.persons} for the printed table {self.name}, got {persons}"
            raise ParameterError(msg)
        return self.frame()

    def frame(self) -> pl.DataFrame:
        """Return the table."""
        import polars as pl  # noqa: PLC0415  (a list of names does not need it)

        return pl.DataFrame(self.rows, schema=list(self.columns), orient="row")

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the tree of each column that has one."""
        from sequester.hierarchies import Hierarchy  # noqa: PLC0415  (a list of names does not need it)

        return {column: Hierarchy.from_tree(tree) for column, tree in self.trees.items()}


def paper(name: str) -> PrintedTable:
    """Find a paper's table by its name.

    Examples
    --------
    >>> example = paper("sehatkar-5.3")
    >>> example.frame().shape, example.protect
    ((9, 5), {'Diagnosis': ('HIV',)})
    >>> example.hierarchies()["AdmYr"].generalize("2009", 1)
    '[2009:2010]'
    """
    if name not in PAPERS:
        msg = f"the table must be one of {', '.join(PAPERS)}, got {name!r}"
        raise InputError(msg)
    return PAPERS[name]


def _years() -> dict[str, dict[str, list[str]]]:
    """Return eight years in twos and fours; the thesis calls the root ``[2005:2012]``."""
    return {
        f"[{four}:{four + 3}]": {f"[{two}:{two + 1}]": [str(two), str(two + 1)] for two in (four, four + 2)}
        for four in (2005, 2009)
    }


def _weeks() -> dict[str, object]:
    """Return the 364 days of 52 weeks in weeks, fours and twelves of weeks; groups are named by weeks.

    The text names ``[0:1)``, ``[1:2)``, ``[0:4)``, ``[4:8)`` and ``[0:12)`` (chapter 4 prints ``[0:4]`` for
    the same). Twelve does not divide 52: the last four weeks lie directly under the root.
    """

    def week(number: int) -> tuple[str, list[str]]:
        return f"[{number}:{number + 1})", [str(day) for day in range(7 * number, 7 * number + 7)]

    def four(first: int) -> tuple[str, dict[str, list[str]]]:
        return f"[{first}:{first + 4})", dict(week(number) for number in range(first, first + 4))

    twelves: dict[str, object] = {
        f"[{first}:{first + 12})": dict(four(number) for number in range(first, first + 12, 4))
        for first in range(0, 48, 12)
    }
    return twelves | dict([four(48)])


def _zips(rows: Rows) -> dict[str, dict[str, list[str]]]:
    """Return the ZIP codes of a table under their first three and two digits; the text names ``56***``."""
    codes = sorted({str(row[3]) for row in rows})
    return {
        f"{two}***": {
            f"{three}**": [code for code in codes if code.startswith(three)]
            for three in dict.fromkeys(code[:3] for code in codes)
            if three.startswith(two)
        }
        for two in dict.fromkeys(code[:2] for code in codes)
    }


def _printed(
    *,
    rows: Sequence[Sequence[int | str]] = (),
    sequences: Sequence[str] = (),
    prefix: str = "",
    trees: Mapping[str, Any] | None = None,
    **given: Any,
) -> PrintedTable:
    """Read a table of the file; `sequences` have the symbols of one person each."""
    filled = tuple(map(tuple, rows)) or tuple(
        (f"{prefix}{person}", place, symbol)
        for person, line in enumerate(sequences, start=1)
        for place, symbol in enumerate(line.split(), start=1)
    )
    makers: dict[object, Callable[[], Mapping[str, object]]]
    makers = {"years": _years, "weeks": _weeks, "zips": partial(_zips, filled)}
    return PrintedTable(
        name=given["name"],
        about=given["about"],
        reference=given["reference"],
        columns=tuple(given["columns"]),
        rows=filled,
        trees={
            column: makers[tree]() if isinstance(tree, str) else tree
            for column, tree in (trees or {}).items()
        },
        protect={column: tuple(values) for column, values in given.get("protect", {}).items()},
        patterns=tuple(map(tuple, given.get("patterns", ()))),
    )


_FILE = Path(__file__).with_name("papers.toml")
PAPERS = {
    table["name"]: _printed(**table) for table in tomllib.loads(_FILE.read_text(encoding="utf-8"))["table"]
}
"""Name to printed table."""

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
