"""Run the experiments of a paper, and write what came of them."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester._version import __version__
from sequester.engine import part, silent
from sequester.errors import InputError
from sequester.reproduce import find_paper
from sequester.reproduce.drawings import png_of, points_of, svg_of
from sequester.reproduce.grid import Grid
from sequester.reproduce.pages import agreement_table, html_page, markdown_page
from sequester.workflow.output_file import put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.engine import Progress
    from sequester.reproduce import Paper
    from sequester.reproduce.plan import Claim, Drawing

ABOUT = "reproduction.json"
"""The file that says what a folder reproduces, and what came of it."""
PAGE, TEXT, CLAIMS = "report.html", "report.md", "agreement.csv"
CELLS, FIGURES = "cells", "figures"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What came of the experiments of a paper."""

    paper: Paper
    """Whose experiments they are."""
    out: Path
    """Where everything is."""
    quick: bool
    """Only a part of the grid was run."""
    sources: Sequence[str]
    """What the data is."""
    notes: Sequence[str]
    """What a reader must know."""
    claims: Sequence[Claim]
    """What the paper says, beside what was measured."""
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
        """Claims that agree."""
        return sum(claim.agrees for claim in self.claims)

    @property
    def summary(self) -> str:
        """One sentence on how it ended."""
        part_of = "a part of the grid" if self.quick else "the whole grid"
        return (
            f"{self.n_agreed} of {len(self.claims)} statements agree with what we measure, on {part_of} "
            f"({self.n_cells:,} cells), with sequester {__version__}."
        )

    def to_json(self) -> dict[str, Any]:
        """Give the document that ``reproduce --json`` prints."""
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
    progress: Progress = silent,
) -> Reproduction:
    """Run the experiments of a paper, those that an earlier run has not finished, and write the results.

    Parameters
    ----------
    name
        The paper, such as ``wang-2010``.
    out
        The folder of the results; one of another paper, or of something else, is refused.
    data
        The folder of public data sets; without it, generators stand in for them.
    quick
        Run only a part of the grid, in less than three minutes.
    progress
        Called with the share of the work that is done.
    """
    paper = find_paper(name)
    folder = Path(out)
    if data is not None and not Path(data).is_dir():
        msg = f"--data {data} is no folder"
        raise InputError(msg)
    _refuse_others(folder, paper)
    progress(0.0, "reading the data")
    plan = paper.plan(None if data is None else Path(data), quick=quick)
    about = {"paper": paper.name, "format": 1}
    put(json.dumps(about).encode(), folder / ABOUT)
    grid = Grid(folder / CELLS, json.dumps([paper.name, plan.fingerprint, experiments_digest(paper)]))
    tables = grid.run(plan.cells, part(progress, 0.0, 0.9))
    claims = plan.claims(tables)
    for table, frame in tables.items():
        put(frame.write_csv(line_terminator="\n").encode(), folder / f"{table}.csv")
    drawn = []
    for place, drawing in enumerate(plan.drawings):
        progress(0.9 + 0.1 * place / len(plan.drawings), f"drawing {drawing.name}")
        points = points_of(drawing, tables)
        if points.is_empty():
            continue
        svg = svg_of(drawing, points)
        put(svg.encode(), folder / FIGURES / f"{drawing.name}.svg")
        put(png_of(svg), folder / FIGURES / f"{drawing.name}.png")
        drawn.append((drawing, svg))
    found = Reproduction(
        paper=paper,
        out=folder,
        quick=quick,
        sources=plan.sources,
        notes=plan.notes,
        claims=claims,
        drawn=[drawing for drawing, _ in drawn],
        tables=sorted(tables),
        n_cells=len(plan.cells),
        n_kept=grid.n_kept,
    )
    put(agreement_table(claims).write_csv(line_terminator="\n").encode(), folder / CLAIMS)
    put(markdown_page(found).encode(), folder / TEXT)
    put(html_page(found, drawn).encode(), folder / PAGE)
    document = {**about, **found.to_json()}
    put((json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode(), folder / ABOUT)
    progress(1.0, "written")
    return found


def experiments_digest(paper: Paper) -> str:
    """Tell one version of a paper's experiments from another, so that results of older ones are not taken.

    Examples
    --------
    >>> len(experiments_digest(find_paper("wang-2010")))
    64
    """
    name = paper.name.replace("-", "_")
    # How results are drawn and judged does not change them.
    sources = [f"{name}.py", f"{name}_data.py"]
    texts = [path.read_bytes() for each in sources if (path := Path(__file__).with_name(each)).exists()]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def _refuse_others(folder: Path, paper: Paper) -> None:
    """Refuse a folder that is not one of this paper's."""
    if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        known = about.get("paper") == paper.name
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        msg = f"{folder} is there, and has no results of {paper.name}; name another folder with --out"
        raise InputError(msg)
