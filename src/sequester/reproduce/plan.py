"""What an experiment consists of: cells, drawings and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

Value = str | int | float | bool | None
"""What stands in a table."""
Rows = Sequence[Mapping[str, Value]]
"""Measured values by name; the parameters of the cell are put beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of a grid: run once, and kept."""

    table: str
    """The table that its rows go to."""
    parameters: Mapping[str, Value]
    """What tells it from the other cells of its table; everything that its rows depend on."""
    run: Callable[[], Rows]
    """Measures it."""
    weight: float = 1.0
    """About how long it takes, relative to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Lines through the points of a table."""

    name: str
    """The name of its files, such as ``figure-6-1``."""
    title: str
    """What it shows."""
    table: str
    """The table that the points come from."""
    x: str
    """The column from left to right."""
    y: str
    """The column from bottom to top."""
    x_title: str
    """What `x` is, in words."""
    y_title: str
    """What `y` is, in words."""
    series: str | None = None
    """The column with a line for each of its values."""
    panel: str | None = None
    """The column with a plot for each of its values."""
    where: Mapping[str, Value] = field(default_factory=dict)
    """Only rows with these values."""
    log_x: bool = False
    """Numbers of `x` are spaced by their logarithms."""
    log_y: bool = False
    """The same of `y`."""
    own_y: bool = False
    """Every panel has its own scale from bottom to top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a paper says, beside what was measured.

    Examples
    --------
    >>> Claim(says="falls", measured="rises", agrees=False)
    Traceback (most recent call last):
    sequester.errors.ParameterError: a claim that does not agree says why: 'falls'
    """

    says: str
    """The statement of the paper, or of what it leads one to expect."""
    measured: str
    """What came out here, with numbers."""
    agrees: bool
    """Whether that is what the paper says."""
    why: str = ""
    """The reason where it is not; also what qualifies an agreement."""

    def __post_init__(self) -> None:
        if not self.agrees and not self.why:
            msg = f"a claim that does not agree says why: {self.says!r}"
            raise ParameterError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is run for a paper."""

    sources: Sequence[str]
    """What the data is, a sentence each."""
    fingerprint: str
    """Tells this data from any other: results of cells are kept for it alone."""
    cells: Sequence[Cell]
    """The grid, in the order of the tables' rows."""
    drawings: Sequence[Drawing]
    """The figures."""
    claims: Callable[[Mapping[str, pl.DataFrame]], Sequence[Claim]]
    """From finished tables to the statements of the paper."""
    notes: Sequence[str] = ()
    """What a reader must know: how things are measured, where the paper is left."""
