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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError
from sequester.reproduce.plan import Drawing, Statement, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.reproduce.plan import Claim, Design, ExperimentPlan, Tables

__all__ = ["PAPERS", "Paper", "find_paper"]


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
