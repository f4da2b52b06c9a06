"""What an experiment consists of: sources, cells, drawings, statements and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    Tables = Mapping[str, pl.DataFrame]
    Check = Callable[[Tables], tuple[str, bool] | tuple[str, bool, str]]

Value = str | int | float | bool | None
"""What stands in a table."""
Rows = Sequence[Mapping[str, Value]]
"""Measured values by name; the parameters of the cell are added to each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A data set of an experiment."""

    name: str
    """As in the tables."""
    about: str
    """What it is, for the page."""
    load: Callable[..., Any]
    """Reads or generates it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of a grid: run once, then stored."""

    table: str
    """The table that its rows go to."""
    parameters: Mapping[str, Value]
    """Everything that its rows depend on; no two cells of a table have the same."""
    run: Callable[[], Rows]
    """Measures it."""
    weight: float = 1.0
    """Expected duration, relative to other cells."""


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
    """The column on the horizontal axis."""
    y: str
    """The column on the vertical axis."""
    x_title: str
    """Title of the horizontal axis."""
    y_title: str
    """Title of the vertical axis."""
    series: str | None = None
    """The column with one line per value."""
    panel: str | None = None
    """The column with one plot per value."""
    where: Mapping[str, Value] = field(default_factory=dict)
    """Only rows with these values."""
    log_x: bool = False
    """The horizontal axis is logarithmic, if numeric."""
    log_y: bool = False
    """The vertical axis is logarithmic."""
    own_y: bool = False
    """Every panel has its own vertical scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of a paper, beside what was measured.

    Examples
    --------
    >>> Claim(says="falls", measured="rises", agrees=False)
    Traceback (most recent call last):
    sequester.errors.ParameterError: a claim that does not agree needs a reason: 'falls'
    """

    says: str
    """The statement of the paper, or what its algorithm leads one to expect."""
    measured: str
    """What came out here, with numbers."""
    agrees: bool
    """Whether the measurement supports the statement."""
    why: str = ""
    """The reason where it does not; also what qualifies an agreement."""

    def __post_init__(self) -> None:
        if not self.agrees and not self.why:
            msg = f"a claim that does not agree needs a reason: {self.says!r}"
            raise ParameterError(msg)


class Statement(NamedTuple):
    """A statement of a paper, and how to check it on the finished tables."""

    says: str
    """The statement."""
    check: Check
    """Returns what was measured, whether it agrees, and a reason where that depends on the numbers."""
    unless: str = ""
    """The reason where it does not agree and the check returns none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is run for a paper."""

    sources: Sequence[str]
    """What the data is, a sentence each."""
    fingerprint: str
    """Identifies the data: stored cells are reused for the same data only."""
    cells: Sequence[Cell]
    """The grid, in the order of the tables' rows."""
    drawings: Sequence[Drawing]
    """The figures."""
    claims: Callable[[Tables], Sequence[Claim]]
    """From finished tables to the claims of the paper."""
    notes: Sequence[str] = ()
    """What a reader must know: how things are measured, where we depart from the paper."""


def grid(
    table: str,
    run: Callable[..., Rows],
    given: Mapping[str, Value],
    *,
    weight: float = 1.0,
    **axes: Iterable[Any],
) -> list[Cell]:
    """Return a cell for every combination of the values of some axes, the last axis fastest.

    Examples
    --------
    >>> cells = grid("sums", lambda a, b: [{"sum": a + b}], {"data": "numbers"}, a=[1, 2], b=[3])
    >>> [(cell.parameters, cell.run()) for cell in cells][1]
    ({'data': 'numbers', 'a': 2, 'b': 3}, [{'sum': 5}])
    """
    combined = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return [
        Cell(table=table, parameters={**given, **point}, run=partial(run, **point), weight=weight)
        for point in combined
    ]


def judge(statements: Iterable[Statement], tables: Tables) -> list[Claim]:
    """Return each statement as a claim, beside what the tables say.

    Examples
    --------
    >>> judge([Statement("rises", lambda tables: ("it falls", False), "of noise")], {})
    [Claim(says='rises', measured='it falls', agrees=False, why='of noise')]
    """
    claims = []
    for says, check, unless in statements:
        measured, agrees, *reason = check(tables)
        why = reason[0] if reason else "" if agrees else unless
        claims.append(Claim(says=says, measured=measured, agrees=agrees, why=why))
    return claims
