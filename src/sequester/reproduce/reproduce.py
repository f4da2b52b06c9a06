"""The runner: run the cells of a paper's grid, and write tables, figures and pages."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from collections import Counter
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from sequester._version import __version__
from sequester.engine import part, silent
from sequester.errors import InputError, ParameterError
from sequester.release.plot import INK
from sequester.release.staging import write_file
from sequester.report.page import template
from sequester.report.plot import COLORS, as_png, styled
from sequester.reproduce import find_paper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sequester.engine import Engine, Progress
    from sequester.reproduce import Agreement, Cell, Claim, Design, Drawing, ExperimentPlan, Paper, Rows

    Record = dict[str, Any]
    """A finished cell: its rows, the processor seconds, and the machine."""


ABOUT = "reproduction.json"
"""The file that names the paper of a folder, and has its results."""
PAGE, TEXT, CLAIMS = "report.html", "report.md", "agreement"
CELLS, FIGURES = "cells", "figures"
CHECKS = "\n# Checks of claims\n"
"""Below this line a paper's module does not measure anything."""
_PARTS = {"quick": "a small part of the grid", "sampled": "a sample of the grid", "whole": "the whole grid"}
_OPTIONS = {"quick": " --quick", "sampled": " --sampled", "whole": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """Results of the experiments of a paper."""

    paper: Paper
    """The paper."""
    out: Path
    """The folder with the results."""
    design: Design
    """How much of the grid was run."""
    has_data: bool
    """It was run on public data."""
    sources: Sequence[str]
    """What the data is."""
    claims: Sequence[Claim]
    """Statements of the paper, beside what was measured."""
    drawn: Sequence[Drawing]
    """The figures."""
    tables: Sequence[str]
    """The tables, by name."""
    n_cells: int
    """Cells of the design."""
    n_done: int
    """Cells that are finished: all, unless no more were to be run."""
    n_kept: int
    """Cells that an earlier run had finished."""
    seconds: Mapping[str, float]
    """Machine to the processor seconds of the cells that it ran."""

    @property
    def n_agreed(self) -> int:
        """The number of claims that agree."""
        return sum(claim.verdict == "agrees" for claim in self.claims)

    @property
    def summary(self) -> str:
        """One sentence on the result."""
        counts = Counter(claim.verdict for claim in self.claims)
        others: dict[Agreement, str] = {
            "agrees in part": "{} in part",
            "disagrees": "{} do not",
            "not decided": "{} not decided",
        }
        rest = "".join(
            f", {text.format(counts[verdict])}" for verdict, text in others.items() if counts[verdict]
        )
        return (
            f"{self.n_agreed} of {len(self.claims)} statements agree with what we measure{rest}, on "
            f"{_PARTS[self.design]} ({self._cells}), with sequester {__version__}."
        )

    @property
    def _cells(self) -> str:
        part_of = "" if self.n_done == self.n_cells else f"{self.n_done:,} of "
        return f"{part_of}{self.n_cells:,} cells"

    @property
    def command(self) -> str:
        """The command that makes the page."""
        options = (" --data DIR" if self.has_data else "") + _OPTIONS[self.design]
        options += " --finished" * (self.n_done < self.n_cells)
        return f"sequester reproduce {self.paper.name}{options}"

    @property
    def run_notes(self) -> Iterator[str]:
        """How it was run: the command, the design, machines and times, the data, and the paper's notes."""
        yield f"`{self.command}`"
        if about := self.paper.designs.get(self.design):
            whole = self.command.removesuffix(" --finished").replace(_OPTIONS[self.design], "")
            yield f"{_PARTS[self.design].capitalize()}: {about}" + f" `{whole}` runs all of it." * (
                self.design != "whole"
            )
        if self.n_done < self.n_cells:
            rest = self.command.removesuffix(" --finished")
            yield f"{self.n_cells - self.n_done:,} cells of this design are not run yet: `{rest}` runs them."
        for machine, seconds in self.seconds.items():
            yield f"{seconds / 60:,.1f} minutes of processor time on {machine}."
        yield from (*self.sources, *self.paper.notes)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``reproduce --json`` prints."""
        return {
            "paper": self.paper.name,
            "out": str(self.out),
            "design": self.design,
            "cells": self.n_cells,
            "resumed": self.n_kept,
            "agreed": self.n_agreed,
            "claims": [asdict(each) for each in self.claims],
            "tables": list(self.tables),
            "figures": [each.name for each in self.drawn],
        }


def reproduce(
    name: str,
    *,
    out: str | Path,
    data: str | Path | None = None,
    design: Design = "whole",
    finished: bool = False,
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
    design
        How much of the grid is run: ``"quick"`` takes less than three minutes, ``"sampled"`` the better part
        of an hour, and ``"whole"`` up to days.
    finished
        Run nothing: write the results of the cells that earlier runs have finished.
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
    asked = (paper.name, None if data is None else Path(data), design)
    plan = paper.plan(asked[1], design=design)
    write_file(json.dumps(_about(paper)).encode(), folder / ABOUT)
    grid = CellStore(folder / CELLS, json.dumps([paper.name, plan.fingerprint, experiments_digest(paper)]))
    away = None if engine is None else partial(engine.map, _run_cell, shared=asked)
    cells = [cell for cell in plan.cells if grid.has(cell)] if finished else plan.cells
    if not cells:
        msg = f"{folder} has no finished cell of this design; run it without --finished"
        raise InputError(msg)
    tables = grid.run(cells, part(progress, 0.0, 0.9), away=away)
    drawn = _draw(paper, tables, folder, part(progress, 0.9, 1.0))
    result = Reproduction(
        paper=paper,
        out=folder,
        design=design,
        has_data=data is not None,
        sources=plan.sources,
        claims=paper.claims(tables),
        drawn=[drawing for drawing, _ in drawn],
        tables=sorted(tables),
        n_cells=len(plan.cells),
        n_done=len(cells),
        n_kept=grid.n_kept,
        seconds=grid.seconds,
    )
    for file, frame in {**tables, CLAIMS: agreement_table(result.claims)}.items():
        write_file(frame.write_csv(line_terminator="\n").encode(), folder / f"{file}.csv")
    write_file(markdown_page(result).encode(), folder / TEXT)
    write_file(html_page(result, drawn).encode(), folder / PAGE)
    document = json.dumps({**_about(paper), **result.to_json()}, indent=1, ensure_ascii=False)
    write_file(f"{document}\n".encode(), folder / ABOUT)
    progress(1.0, "written")
    return result


def _about(paper: Paper) -> dict[str, Any]:
    """Return what tells a folder of results from others."""
    return {"paper": paper.name, "format": 2}


def _draw(
    paper: Paper, tables: Mapping[str, pl.DataFrame], folder: Path, progress: Progress
) -> list[tuple[Drawing, str]]:
    """Write the figures for which there are points, and return them as SVG."""
    drawn = []
    for place, drawing in enumerate(paper.drawings):
        progress(place / len(paper.drawings), f"drawing {drawing.name}")
        points = select_points(drawing, tables)
        if not points.is_empty():
            svg = draw_svg(drawing, points)
            write_file(svg.encode(), folder / FIGURES / f"{drawing.name}.svg")
            write_file(as_png(svg), folder / FIGURES / f"{drawing.name}.png")
            drawn.append((drawing, svg))
    return drawn


@dataclass(slots=True)
class CellStore:
    """A folder with one file per finished cell, so that a run that was stopped can resume."""

    folder: Path
    """Where the cells are stored."""
    about: str
    """What all cells depend on beside their parameters: the paper, its data and its experiments."""
    n_kept: int = 0
    """Cells that an earlier run had finished."""
    n_run: int = 0
    """Cells that were run."""
    seconds: Counter[str] = field(default_factory=Counter)
    """Machine to the processor seconds of the cells that it ran, now or earlier."""

    def run(
        self,
        cells: Sequence[Cell],
        progress: Progress,
        *,
        away: Callable[[Sequence[int]], Iterator[Record]] | None = None,
    ) -> dict[str, pl.DataFrame]:
        """Run the cells that are not stored, and return all tables: parameters beside measurements.

        `away` runs cells elsewhere, by their places, and yields what it finds in order.
        """
        tables: dict[str, list[dict[str, object]]] = {}
        total = sum(cell.weight for cell in cells) or 1.0
        done = 0.0
        paths = [self._path(cell) for cell in cells]
        stored = [_read_record(path) for path in paths]
        for place, cell in enumerate(cells):
            if paths[place] in paths[:place]:
                msg = f"two cells of {cell.table} have the same parameters: {dict(cell.parameters)}"
                raise ParameterError(msg)
        missing = [place for place, record in enumerate(stored) if record is None]
        measured = (_run(cells[place]) for place in missing) if away is None else away(missing)
        for cell, path, known in zip(cells, paths, stored, strict=True):
            label = ", ".join(f"{name} = {value}" for name, value in cell.parameters.items())
            progress(done / total, f"{cell.table}: {label}")
            record = known
            if record is None:
                record = next(measured)
                write_file(json.dumps(record, allow_nan=False).encode(), path)
                self.n_run += 1
            else:
                self.n_kept += 1
            done += cell.weight
            self.seconds[record["machine"]] += record["seconds"]
            tables.setdefault(cell.table, []).extend({**cell.parameters, **row} for row in record["rows"])
        return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}

    def has(self, cell: Cell) -> bool:
        """Return whether a cell is finished."""
        return self._path(cell).exists()

    def _path(self, cell: Cell) -> Path:
        key = {
            "version": __version__,
            "format": 2,
            "about": self.about,
            "table": cell.table,
            "parameters": dict(cell.parameters),
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{cell.table}-{digest[:24]}.json"


@lru_cache(maxsize=1)
def _plan(name: str, data: Path | None, design: Design) -> ExperimentPlan:
    """Return the plan of a paper; a worker, which runs many of its cells, makes it once."""
    return find_paper(name).plan(data, design=design)


def _run_cell(place: int, asked: tuple[str, Path | None, Design]) -> Record:
    """Measure one cell of a plan."""
    return _run(_plan(*asked).cells[place])


def _run(cell: Cell) -> Record:
    """Measure a cell, with the processor time that it takes and where."""
    start = time.process_time()
    rows: Rows = [dict(row) for row in cell.run()]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return {
        "rows": rows,
        "seconds": time.process_time() - start,
        "machine": f"{machine}, Python {platform.python_version()}",
    }


def _read_record(path: Path) -> Record | None:
    try:
        record: Record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        msg = f"cannot read the finished cell {path}; delete it to run it again"
        raise InputError(msg) from None
    return record


def experiments_digest(paper: Paper) -> str:
    """Return a digest of the code that measures, so that cells of older code are not reused.

    Examples
    --------
    >>> len(experiments_digest(find_paper("wang-2010")))
    64
    """
    path = Path(__file__).parent / f"{paper.name.replace('-', '_')}.py"
    text = path.read_text(encoding="utf-8")
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


AGREEMENT = ("the paper says", "we measure", "verdict", "why")
"""Columns of the table of claims."""
_XML_HEAD = re.compile(r"^\s*(<\?xml[^>]*>)?\s*(<!DOCTYPE[^>]*>)?")
_WIDTH, _HEIGHT, _ACROSS = 300, 210, 3
_FEW = 10
"""Up to so many whole numbers, each has its own tick."""


def agreement_table(claims: Sequence[Claim]) -> pl.DataFrame:
    """Return the claims as a table."""
    return pl.DataFrame(
        [astuple(each) for each in claims], schema=dict.fromkeys(AGREEMENT, pl.String), orient="row"
    )


def markdown_page(result: Reproduction) -> str:
    """Return the page as Markdown, with links to the figures."""
    header, *rows = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        for row in (AGREEMENT, *agreement_table(result.claims).iter_rows())
    )
    lines = [f"# {result.paper.title}", "", f"{result.paper.reference}. {result.summary}", ""]
    lines += [header, "|---|---|---|---|", *rows, "", "## How it was run", ""]
    lines += [f"- {line}" for line in result.run_notes]
    for drawing in result.drawn:
        if drawing.shown:
            lines += ["", f"## {drawing.title}", "", f"![{drawing.title}](figures/{drawing.name}.svg)"]
    return "\n".join(lines) + "\n"


def html_page(result: Reproduction, drawn: Sequence[tuple[Drawing, str]]) -> str:
    """Return the page as HTML that needs no network and runs no script."""
    # The renderer has escaped the labels.
    inline = [(drawing, Markup(_XML_HEAD.sub("", svg))) for drawing, svg in drawn]  # noqa: S704
    return template("reproduction.html").render(result=result, header=AGREEMENT, drawn=inline)


def select_points(drawing: Drawing, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the points of a drawing, the means of rows that coincide; empty where there are no such rows."""
    table = tables.get(drawing.table, pl.DataFrame())
    columns = [each for each in (drawing.x, drawing.y, drawing.series, drawing.panel) if each is not None]
    if not {*columns, *drawing.where} <= set(table.columns):
        return pl.DataFrame()
    for name, value in drawing.where.items():
        table = table.filter(pl.col(name).eq_missing(pl.lit(value)))
    points = table.select(list(dict.fromkeys(columns))).drop_nulls([drawing.x, drawing.y])
    places = [name for name in points.columns if name != drawing.y]
    means = points.group_by(places, maintain_order=True).agg(pl.col(drawing.y).mean())
    return means.select(points.columns)


def draw_svg(drawing: Drawing, points: pl.DataFrame) -> str:
    """Return a drawing as SVG; sizes are fixed, so that the fonts of the machine do not matter."""
    # Altair takes most of a second to load, and only figures need it.
    import altair as alt  # noqa: PLC0415
    import vl_convert  # noqa: PLC0415

    # Labels are data and never part of the specification: renderers evaluate expressions there.
    renamed = points.select(
        pl.col(drawing.x).alias("x"),
        pl.col(drawing.y).alias("y"),
        _text(drawing.series, "series"),
        _text(drawing.panel, "panel"),
    )
    kind = "Q" if points[drawing.x].dtype.is_numeric() else "O"
    labels = renamed["series"].unique(maintain_order=True).to_list()
    axis = alt.Axis(grid=False, labelAngle=0)
    if kind == "Q":
        scale = alt.Scale(type="log" if drawing.log_x else "linear", zero=False, nice=False)
        if points[drawing.x].dtype.is_integer():
            axis = alt.Axis(grid=False, labelAngle=0, tickMinStep=1, format=",d")
            numbers = points[drawing.x].unique().sort().to_list()
            if len(numbers) <= _FEW:
                # Renderers put ticks between neighbouring numbers, and round their labels.
                axis.values = numbers
        x = alt.X("x:Q", title=drawing.x_title, axis=axis, scale=scale)
    else:
        x = alt.X("x:O", title=drawing.x_title, axis=axis, sort=None)
    y = alt.Y("y:Q", title=drawing.y_title, scale=alt.Scale(type="log" if drawing.log_y else "linear"))
    one = len(labels) == 1
    legend = alt.Legend(title=drawing.series, orient="bottom", columns=_ACROSS, symbolType="stroke")
    # Series and panels keep the order of their rows.
    shown = renamed.with_columns(_rank("series"), _rank("panel"))
    base = alt.Chart(alt.InlineData(values=shown.to_dicts()))
    color = alt.Color(
        "series:N",
        sort=alt.EncodingSortField(field="series rank", op="min", order="ascending"),
        scale=alt.Scale(range=COLORS),
        legend=None if one else legend,
    )
    chart = (
        base.mark_line(point=alt.OverlayMarkDef(filled=True, size=36), strokeWidth=2)
        .encode(x=x, y=y, color=color)
        .properties(width=_WIDTH, height=_HEIGHT)
    )
    panels = renamed["panel"].n_unique()
    if panels > 1:
        chart = chart.facet(
            facet=alt.Facet(
                "panel:N",
                title=None,
                sort=alt.EncodingSortField(field="panel rank", op="min", order="ascending"),
            ),
            columns=min(panels, _ACROSS),
        ).resolve_scale(x="independent", y="independent" if drawing.own_y else "shared")
    chart = styled(
        chart,
        background="white",
        padding=8,
        header=alt.HeaderConfig(labelColor=INK, labelFontWeight="bold", labelFontSize=12),
        legend=alt.LegendConfig(labelColor=INK, labelLimit=260, titleColor=INK, titleFontWeight="normal"),
    )
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def _rank(column: str) -> pl.Expr:
    """Enumerate the values of a column in the order of their first row."""
    first = pl.int_range(pl.len()).first().over(column)
    return first.alias(f"{column} rank")


def _text(column: str | None, name: str) -> pl.Expr:
    return (pl.lit("") if column is None else pl.col(column).cast(pl.String)).alias(name)
