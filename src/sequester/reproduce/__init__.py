"""Experiments of papers: a grid, figures and claims per paper as data, and one runner for all.

A paper is a module and a file of one name. ``author_year.toml`` has its title, notes, figures and claims;
``author_year.py`` has a function ``plan(data, *, design)`` that returns the grid, the functions that run one
point of it, and below the comment ``Checks of claims`` a function ``_name`` for each check that a claim
names. Editing the checks or the file does not make finished cells run again. `data` is the folder of public
data sets, or None where generators stand in for them.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sequester.errors import InputError, ParameterError

Design = Literal["quick", "sampled", "whole"]
"""How much of a grid is run: a part within minutes, a sample by a stated design, or all of it."""
Agreement = Literal["agrees", "agrees in part", "disagrees", "not decided"]
"""What was measured, beside a statement."""

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    Tables = Mapping[str, pl.DataFrame]
    Check = Callable[..., tuple[str, bool | Agreement] | tuple[str, bool | Agreement, str | bool] | None]

Value = str | int | float | bool | None
"""What stands in a table."""
Rows = Sequence[Mapping[str, Value]]
"""Measured values by name; the parameters of the cell are added to each row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataSet:
    """A data set of an experiment."""

    name: str
    """As in the tables."""
    about: str
    """What it is, for the page."""
    load: Callable[..., Any]
    """Reads or generates it."""
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Parameter to the values that it takes on this data."""


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
    shown: bool = False
    """The Markdown page has it; the other page has all figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of a paper, beside what was measured.

    Examples
    --------
    >>> Claim(says="falls", measured="rises", verdict="disagrees")
    Traceback (most recent call last):
    sequester.errors.ParameterError: a claim that does not agree needs a reason: 'falls'
    """

    says: str
    """The statement of the paper, or what its algorithm leads one to expect."""
    measured: str
    """What came out here, with numbers."""
    verdict: Agreement
    """Whether the measurement supports the statement."""
    why: str = ""
    """The reason where it does not; also what qualifies an agreement."""

    def __post_init__(self) -> None:
        if self.verdict != "agrees" and not self.why:
            msg = f"a claim that does not agree needs a reason: {self.says!r}"
            raise ParameterError(msg)


class Statement(NamedTuple):
    """A statement of a paper, and how to check it on the finished tables."""

    says: str
    """The statement."""
    check: str
    """Name of the function that checks it.

    It takes the tables and returns what was measured, whether that agrees, and optionally what fills the gap
    ``{}`` in the remark; where that is empty or false, there is no remark. None where there is no such data.
    """
    given: Mapping[str, Any] = {}
    """Further arguments of the check."""
    variants: Mapping[str, Mapping[str, Any]] = {"": {}}
    """Setups that are measured side by side, ours and what the paper's may have been: name to arguments. What
    only some of them support agrees in part."""
    though: str = ""
    """The remark where it agrees."""
    unless: str = ""
    """The reason where it does not agree."""
    each: bool = False
    """Whether it is checked on every part of the tables by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentPlan:
    """All that is run for a paper."""

    sources: Sequence[str]
    """What the data is, a sentence each."""
    fingerprint: str
    """Identifies the data: stored cells are reused for the same data only."""
    cells: Sequence[Cell]
    """The grid, in the order of the tables' rows."""


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


_NO_DATA = "this run has no data for it"


def judge(
    statements: Sequence[Statement],
    tables: Tables,
    checks: Mapping[str, Check],
    parts: Mapping[str, Tables] | None = None,
) -> list[Claim]:
    """Return each statement as a claim, beside what the tables say.

    Examples
    --------
    >>> says = Statement(says="rises", check="trend", unless="noise")
    >>> judge([says], {}, {"trend": lambda tables: ("it falls", False)})
    [Claim(says='rises', measured='it falls', verdict='disagrees', why='noise')]
    """
    jobs = [
        (f"{name}: ", part, one) for name, part in (parts or {}).items() for one in statements if one.each
    ]
    claims = []
    for prefix, part, one in [*jobs, *(("", tables, one) for one in statements if not one.each)]:
        found = {
            name: checked
            for name, more in one.variants.items()
            if (checked := checks[one.check](part, **one.given, **more)) is not None
        }
        if not found:
            claims.append(
                Claim(says=one.says, measured=f"{prefix}not run", verdict="not decided", why=_NO_DATA)
            )
            continue
        verdict = _combine([checked[1] for checked in found.values()])
        why = one.though if verdict == "agrees" else one.unless
        remarks = [checked[2] for checked in found.values() if len(checked) > 2]
        if remarks:
            listed = "; ".join(dict.fromkeys(str(remark) for remark in remarks if remark))
            why = why.replace("{}", listed) if listed or verdict != "agrees" else ""
        measured = "; ".join(
            f"{name}: {checked[0]}" if name else checked[0] for name, checked in found.items()
        )
        claims.append(Claim(says=one.says, measured=prefix + measured, verdict=verdict, why=why))
    return claims


def all_or_some(holds: Sequence[bool]) -> bool | Agreement:
    """Return whether something always holds; in part where only sometimes.

    Examples
    --------
    >>> all_or_some([True, True]), all_or_some([True, False]), all_or_some([False])
    (True, 'agrees in part', False)
    """
    return all(holds) or ("agrees in part" if any(holds) else False)


def _combine(found: Sequence[bool | Agreement]) -> Agreement:
    """Return the verdict on which all setups agree, or that they do in part."""
    verdicts: set[Agreement] = {
        each if isinstance(each, str) else ("agrees" if each else "disagrees") for each in found
    }
    return verdicts.pop() if len(verdicts) == 1 else "agrees in part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper whose experiments can be run."""

    name: str
    """As in ``sequester reproduce PAPER``."""
    title: str
    """Its title."""
    reference: str
    """Authors, venue and year."""
    notes: Sequence[str] = ()
    """What a reader must know: how things are measured, where we depart from the paper."""
    designs: Mapping[Design, str] = field(default_factory=dict)
    """What is run of the grid where that is not the whole, and how long the whole takes."""
    drawings: Sequence[Drawing] = ()
    """The figures."""
    statements: Sequence[Statement] = ()
    """What the paper says, and how it is checked."""

    @classmethod
    def read(cls, path: Path) -> Paper:
        """Return the paper that a file describes."""
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        axes, reasons = text["axes"], text.get("reasons", {})

        def fill(claim: dict[str, Any]) -> Statement:
            for name, reason in reversed(reasons.items()):
                for key in {"though", "unless"} & claim.keys():
                    claim[key] = claim[key].replace(f"{{{name}}}", reason)
            return Statement(**claim)

        return cls(
            name=path.stem.replace("_", "-"),
            title=text["title"],
            reference=text["reference"],
            notes=text["notes"],
            designs=text["designs"],
            drawings=[
                Drawing(**{"x_title": axes[each["x"]], "y_title": axes[each["y"]], **each})
                for each in text["figures"]
            ],
            statements=[fill(each) for each in text["claims"]],
        )

    def plan(self, data: Path | None, *, design: Design) -> ExperimentPlan:
        """Return what to run: on public data where it is given, and as much of the grid as `design` says."""
        plan: ExperimentPlan = self._module().plan(data, design=design)
        return plan

    def claims(self, tables: Tables) -> list[Claim]:
        """Compare the finished tables with what the paper says."""
        module = self._module()
        return judge(
            self.statements,
            tables,
            {each.check: getattr(module, f"_{each.check}") for each in self.statements},
            module.parts(tables) if hasattr(module, "parts") else {},
        )

    def _module(self) -> Any:
        # A list of papers does not need polars and the methods, which the experiments load.
        return importlib.import_module(f"sequester.reproduce.{self.name.replace('-', '_')}")


PAPERS = {paper.name: paper for paper in map(Paper.read, sorted(Path(__file__).parent.glob("*.toml")))}
"""Papers by name."""


def find_paper(name: str) -> Paper:
    """Return the paper of that name.

    Examples
    --------
    >>> find_paper("wang-2010").title
    'Anonymizing Temporal Data'
    >>> find_paper("wang")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sequester.errors.InputError: PAPER must be one of bonomi-2016, ..., wang-2010, got 'wang'
    """
    if name not in PAPERS:
        msg = f"PAPER must be one of {', '.join(PAPERS)}, got {name!r}"
        raise InputError(msg)
    return PAPERS[name]
