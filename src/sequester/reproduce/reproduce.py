"""The runner: run the cells of a paper's grid, and write tables, figures and pages."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester._version import __version__
from sequester.engine import part, silent
from sequester.errors import InputError, ParameterError
from sequester.reproduce import find_paper
from sequester.reproduce.report import (
    agreement_table,
    draw_svg,
    html_page,
    markdown_page,
    render_png,
    select_points,
)
from sequester.workflow.output_file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sequester.engine import Engine, Progress
    from sequester.reproduce import Paper
    from sequester.reproduce.plan import Cell, Claim, Drawing, ExperimentPlan, Rows

ABOUT = "reproduction.json"
"""The file that names the paper of a folder, and has its results."""
PAGE, TEXT, CLAIMS = "report.html", "report.md", "agreement.csv"
CELLS, FIGURES = "cells", "figures"
CHECKS = "\n# Checks of claims\n"
"""Below this line a paper's module does not measure anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """Results of the experiments of a paper."""

    paper: Paper
    """The paper."""
    out: Path
    """The folder with the results."""
    quick: bool
    """Only a part of the grid was run."""
    sources: Sequence[str]
    """What the data is."""
    claims: Sequence[Claim]
    """Statements of the paper, beside what was measured."""
    drawn: Sequence[Drawing]
    """The figures."""
    tables: Sequence[str]
    """The tables, by name."""
    n_cells: int
    """Cells of the grid."""
    n_kept: int
    """Cells that an earlier run had finished."""

    @property
    def n_agreed(self) -> int:
        """The number of claims that agree."""
        return sum(claim.agrees for claim in self.claims)

    @property
    def summary(self) -> str:
        """One sentence on the result."""
        part_of = "a part of the grid" if self.quick else "the whole grid"
        return (
            f"{self.n_agreed} of {len(self.claims)} statements agree with what we measure, on {part_of} "
            f"({self.n_cells:,} cells), with sequester {__version__}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``reproduce --json`` prints."""
        return {
            "paper": self.paper.name,
            "out": str(self.out),
            "quick": self.quick,
            "cells": self.n_cells,
            "resumed": self.n_kept,
            "agreed": self.n_agreed,
            "claims": [
                {"says": each.says, "measured": each.measured, "agrees": each.agrees, "why": each.why}
                for each in self.claims
            ],
            "tables": list(self.tables),
            "figures": [each.name for each in self.drawn],
        }


def reproduce(
    name: str,
    *,
    out: str | Path,
    data: str | Path | None = None,
    quick: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Reproduction:
    """Run the experiments of a paper that an earlier run has not finished, and write the results.

    Parameters
    ----------
    name
        The paper, such as ``wang-2010``.
    out
        The folder of the results: new, empty, or of an earlier run of this paper.
    data
        The folder of public data sets; without it, synthetic data is generated.
    quick
        Run only a part of the grid, in less than three minutes.
    engine
        Workers that run whole cells, such as those of `DaskEngine`; they read `data` at the same path.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Reproduction
        The claims, and what was written.

    Raises
    ------
    InputError
        If there is no such paper, `data` is not a folder, or `out` has something else.
    """
    paper = find_paper(name)
    folder = Path(out)
    if data is not None and not Path(data).is_dir():
        msg = f"--data must be a folder, got {data}"
        raise InputError(msg)
    _check_folder(folder, paper)
    progress(0.0, "reading the data")
    asked = (paper.name, None if data is None else Path(data), quick)
    plan = paper.plan(asked[1], quick=quick)
    about = {"paper": paper.name, "format": 1}
    write_file(json.dumps(about).encode(), folder / ABOUT)
    grid = Grid(folder / CELLS, json.dumps([paper.name, plan.fingerprint, experiments_digest(paper)]))
    away = None if engine is None else partial(engine.map, _run_cell, shared=asked)
    tables = grid.run(plan.cells, part(progress, 0.0, 0.9), away=away)
    claims = paper.claims(tables)
    for table, frame in tables.items():
        write_file(frame.write_csv(line_terminator="\n").encode(), folder / f"{table}.csv")
    drawn = []
    for place, drawing in enumerate(paper.drawings):
        progress(0.9 + 0.1 * place / len(paper.drawings), f"drawing {drawing.name}")
        points = select_points(drawing, tables)
        if points.is_empty():
            continue
        svg = draw_svg(drawing, points)
        write_file(svg.encode(), folder / FIGURES / f"{drawing.name}.svg")
        write_file(render_png(svg), folder / FIGURES / f"{drawing.name}.png")
        drawn.append((drawing, svg))
    result = Reproduction(
        paper=paper,
        out=folder,
        quick=quick,
        sources=plan.sources,
        claims=claims,
        drawn=[drawing for drawing, _ in drawn],
        tables=sorted(tables),
        n_cells=len(plan.cells),
        n_kept=grid.n_kept,
    )
    write_file(agreement_table(claims).write_csv(line_terminator="\n").encode(), folder / CLAIMS)
    write_file(markdown_page(result).encode(), folder / TEXT)
    write_file(html_page(result, drawn).encode(), folder / PAGE)
    document = {**about, **result.to_json()}
    write_file((json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode(), folder / ABOUT)
    progress(1.0, "written")
    return result


@dataclass(slots=True)
class Grid:
    """A folder with one file per finished cell, so that a run that was stopped can resume."""

    folder: Path
    """Where the cells are stored."""
    about: str
    """What all cells depend on beside their parameters: the paper, its data and its experiments."""
    n_kept: int = 0
    """Cells that an earlier run had finished."""
    n_run: int = 0
    """Cells that were run."""

    def run(
        self,
        cells: Sequence[Cell],
        progress: Progress,
        *,
        away: Callable[[Sequence[int]], Iterator[Rows]] | None = None,
    ) -> dict[str, pl.DataFrame]:
        """Run the cells that are not stored, and return all tables: parameters beside measurements.

        `away` runs cells elsewhere, by their places, and yields their rows in order.
        """
        tables: dict[str, list[dict[str, object]]] = {}
        total = sum(cell.weight for cell in cells) or 1.0
        done = 0.0
        paths = [self._path(cell) for cell in cells]
        stored = [_read_rows(path) for path in paths]
        for place, cell in enumerate(cells):
            if paths[place] in paths[:place]:
                msg = f"two cells of {cell.table} have the same parameters: {dict(cell.parameters)}"
                raise ParameterError(msg)
        missing = [place for place, rows in enumerate(stored) if rows is None]
        measured = (cells[place].run() for place in missing) if away is None else away(missing)
        for cell, path, known in zip(cells, paths, stored, strict=True):
            label = ", ".join(f"{name} = {value}" for name, value in cell.parameters.items())
            progress(done / total, f"{cell.table}: {label}")
            rows = known
            if rows is None:
                rows = [dict(row) for row in next(measured)]
                write_file(json.dumps(rows, allow_nan=False).encode(), path)
                self.n_run += 1
            else:
                self.n_kept += 1
            done += cell.weight
            tables.setdefault(cell.table, []).extend({**cell.parameters, **row} for row in rows)
        return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}

    def _path(self, cell: Cell) -> Path:
        key = {
            "version": __version__,
            "about": self.about,
            "table": cell.table,
            "parameters": dict(cell.parameters),
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{cell.table}-{digest[:24]}.json"


@lru_cache(maxsize=1)
def _plan(name: str, data: Path | None, quick: bool) -> ExperimentPlan:
    """Return the plan of a paper; a worker, which runs many of its cells, makes it once."""
    return find_paper(name).plan(data, quick=quick)


def _run_cell(place: int, asked: tuple[str, Path | None, bool]) -> Rows:
    """Measure one cell of a plan."""
    return [dict(row) for row in _plan(*asked).cells[place].run()]


def _read_rows(path: Path) -> Rows | None:
    try:
        rows: Rows = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        msg = f"cannot read the finished cell {path}; delete it to run it again"
        raise InputError(msg) from None
    return rows


def experiments_digest(paper: Paper) -> str:
    """Return a digest of the code that measures, so that cells of older code are not reused.

    Examples
    --------
    >>> len(experiments_digest(find_paper("wang-2010")))
    64
    """
    path = Path(__file__).with_name(f"{paper.name.replace('-', '_')}.py")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    # How results are judged does not change them.
    return hashlib.sha256(text.partition(CHECKS)[0].encode()).hexdigest()


def _check_folder(folder: Path, paper: Paper) -> None:
    """Raise where a folder has anything but results of this paper."""
    if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        known = about.get("paper") == paper.name
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        msg = f"{folder} exists, and has no results of {paper.name}; choose another folder with --out"
        raise InputError(msg)
