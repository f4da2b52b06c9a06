"""Grids that are resumed, drawings, pages, and the folder they go to."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from sequester import reproduce as package
from sequester.errors import InputError, ParameterError
from sequester.reproduce import Cell, Claim, Drawing, ExperimentPlan, Paper, Statement, judge
from sequester.reproduce import reproduce as module
from sequester.reproduce.reproduce import CellStore, draw_svg, reproduce, select_points

DRAWING = Drawing(
    name="figure-1",
    title="Squares <of numbers>",
    table="squares",
    x="x",
    y="square",
    x_title="x",
    y_title="x times x",
    series="sign",
)


class Counting:
    """Cells that count how often they are run; number `fails` stops the run."""

    def __init__(self, numbers, fails=None):
        self.runs = []
        self.numbers = numbers
        self.fails = fails

    def cells(self):
        return [
            Cell(table="squares", parameters={"x": number}, run=lambda number=number: self.run(number))
            for number in self.numbers
        ]

    def run(self, number):
        if number == self.fails:
            raise KeyboardInterrupt
        self.runs.append(number)
        return [{"square": number**2, "sign": sign} for sign in ("<plus>", "minus | one")]

    def plan(self, data, *, design):
        del data
        return ExperimentPlan(
            sources=["numbers"],
            fingerprint="numbers",
            cells=self.cells()[: 2 if design == "quick" else None],
        )


@pytest.fixture
def paper(monkeypatch):
    def make(plan):
        claim = Claim(says="they | grow", measured="they do", verdict="agrees")
        other = Claim(says="they <shrink>", measured="no", verdict="disagrees", why="they grow")
        empty = Drawing(
            name="figure-2", title="none", table="nothing", x="x", y="y", x_title="x", y_title="y"
        )
        made = Paper(
            name="euclid-300",
            title="Elements",
            reference="Euclid, 300 BC",
            notes=["nothing is rounded"],
            drawings=[DRAWING, empty],
        )
        monkeypatch.setitem(package.PAPERS, "euclid-300", made)
        monkeypatch.setattr(module, "experiments_digest", lambda paper: "as they are")
        monkeypatch.setattr(
            Paper, "claims", lambda self, tables: [claim, other] if tables["squares"].height else []
        )
        monkeypatch.setattr(Paper, "plan", lambda self, data, design: plan(data, design=design))

    return make


def test_a_grid_that_was_stopped_goes_on_where_it_ended(tmp_path):
    seen = []
    stopped = Counting([1, 2, 3, 4], fails=3)
    with pytest.raises(KeyboardInterrupt):
        CellStore(tmp_path, "about").run(
            stopped.cells(), lambda fraction, phase: seen.append((fraction, phase))
        )
    assert seen == [(0.0, "squares: x = 1"), (0.25, "squares: x = 2"), (0.5, "squares: x = 3")]
    later = Counting([1, 2, 3, 4])
    grid = CellStore(tmp_path, "about")
    table = grid.run(later.cells(), lambda *_: None)["squares"]
    assert (later.runs, grid.n_kept, grid.n_run) == ([3, 4], 2, 2)
    assert table.columns == ["x", "square", "sign"]
    assert table["square"].to_list() == [1, 1, 4, 4, 9, 9, 16, 16]
    other = Counting([1])
    CellStore(tmp_path, "other data").run(other.cells(), lambda *_: None)
    assert other.runs == [1]


def test_cells_must_differ_and_kept_ones_must_be_readable(tmp_path):
    with pytest.raises(ParameterError, match=r"two cells of squares have the same parameters: \{'x': 1\}"):
        CellStore(tmp_path, "about").run(Counting([1, 1]).cells(), lambda *_: None)
    assert not any(tmp_path.iterdir()), "before anything runs"
    CellStore(tmp_path, "about").run(Counting([1]).cells(), lambda *_: None)
    (kept,) = tmp_path.iterdir()
    kept.write_text("{")
    with pytest.raises(InputError, match="cannot read the finished cell"):
        CellStore(tmp_path, "about").run(Counting([1]).cells(), lambda *_: None)


def test_tables_figures_and_pages_are_written(tmp_path, paper):
    grid = Counting([1, 2, 3])
    paper(grid.plan)
    found = reproduce("euclid-300", out=tmp_path / "out")
    assert (found.n_cells, found.n_kept, found.n_agreed) == (3, 0, 1)
    names = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert {name for name in names if not name.startswith("cells")} == {
        "agreement.csv",
        "figures/figure-1.png",
        "figures/figure-1.svg",
        "report.html",
        "report.md",
        "reproduction.json",
        "squares.csv",
    }
    assert pl.read_csv(tmp_path / "out" / "squares.csv").height == 6
    assert pl.read_csv(tmp_path / "out" / "agreement.csv")["verdict"].to_list() == ["agrees", "disagrees"]
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| they \\| grow | they do | agrees |  |" in text
    assert "1 of 2 statements agree with what we measure, 1 do not, on the whole grid (3 cells)" in text
    assert "\n- `sequester reproduce euclid-300`\n" in text
    assert re.search(r"- \d+\.\d minutes of processor time on \w+ \w+, \d+ processors, Python 3", text)
    assert "figure-1" not in text, "only figures that are marked"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "they &lt;shrink&gt;" in page
    assert "<shrink>" not in page
    assert "<plus>" not in page
    assert page.count("<svg") == 1
    assert (tmp_path / "out" / "figures" / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert document["paper"] == "euclid-300"
    assert [claim["verdict"] for claim in document["claims"]] == ["agrees", "disagrees"]


def test_results_of_other_experiments_are_not_taken(tmp_path, paper, monkeypatch):
    grid = Counting([1])
    paper(grid.plan)
    reproduce("euclid-300", out=tmp_path / "out")
    reproduce("euclid-300", out=tmp_path / "out")
    assert grid.runs == [1]
    monkeypatch.setattr(module, "experiments_digest", lambda paper: "edited since")
    reproduce("euclid-300", out=tmp_path / "out")
    assert grid.runs == [1, 1]


@pytest.mark.parametrize("name", package.PAPERS)
def test_code_that_only_draws_and_judges_is_not_in_the_digest(name):
    path = Path(package.__file__).with_name(f"{name.replace('-', '_')}.py")
    measuring, marker, _ = path.read_text(encoding="utf-8").partition(module.CHECKS)
    assert marker
    assert "tables: Tables" not in measuring
    assert module.experiments_digest(package.find_paper(name)) == sha256(measuring.encode()).hexdigest()


def test_a_quick_run_is_a_part_of_the_whole_one(tmp_path, paper):
    grid = Counting([1, 2, 3])
    paper(grid.plan)
    assert reproduce("euclid-300", out=tmp_path / "out", design="quick").n_cells == 2
    whole = reproduce("euclid-300", out=tmp_path / "out")
    assert (whole.n_kept, grid.runs) == (2, [1, 2, 3])


def test_folders_of_others_are_refused(tmp_path, paper):
    paper(Counting([1]).plan)
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(InputError, match="has no results of euclid-300"):
        reproduce("euclid-300", out=tmp_path)
    (tmp_path / module.ABOUT).write_text("[]")
    with pytest.raises(InputError, match="has no results of euclid-300"):
        reproduce("euclid-300", out=tmp_path)
    with pytest.raises(InputError, match=r"--data must be a folder, got .*nowhere"):
        reproduce("euclid-300", out=tmp_path / "out", data=tmp_path / "nowhere")
    with pytest.raises(InputError, match="PAPER must be one of"):
        reproduce("nobody-1999", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("log", [False, True])
def test_points_are_those_of_the_drawing(log):
    table = pl.DataFrame({"x": [1, 2, 1], "y": [1.0, None, 3.0], "kind": ["a", "a", None], "part": "<p>"})
    both = {"table": "t", "title": "t", "x": "x", "y": "y", "x_title": "x", "y_title": "y", "name": "n"}
    drawing = Drawing(**both, where={"kind": "a"}, panel="part", log_x=log, log_y=log)
    assert select_points(drawing, {"t": table}).rows() == [(1, 1.0, "<p>")]
    assert select_points(Drawing(**both, where={"kind": None}), {"t": table}).rows() == [(1, 3.0)]
    assert select_points(Drawing(**both, series="no such column"), {"t": table}).is_empty()
    assert draw_svg(drawing, select_points(drawing, {"t": table})).startswith("<svg")


def test_rows_that_fall_together_are_one_point_at_their_mean():
    table = pl.DataFrame({"x": [2, 1, 2], "y": [1.0, 5.0, 4.0], "kind": ["a", "a", "a"]})
    drawing = Drawing(name="n", title="t", table="t", x="x", y="y", x_title="x", y_title="y", series="kind")
    assert select_points(drawing, {"t": table}).rows() == [(2, 2.5, "a"), (1, 5.0, "a")]


def test_words_and_panels_are_drawn_as_they_come():
    table = pl.DataFrame({"w": ["9", "10", "all"] * 2, "y": [1.0, 2, 3, 2, 3, 4], "p": ["b"] * 3 + ["a"] * 3})
    drawing = Drawing(
        name="n", title="t", table="t", x="w", y="y", x_title="w", y_title="y", series="p", panel="p"
    )
    svg = draw_svg(drawing, select_points(drawing, {"t": table}))
    assert svg.index(">9<") < svg.index(">10<") < svg.index(">all<")
    assert svg.index(">b<") < svg.index(">a<")


def test_few_whole_numbers_are_marked_once_each():
    table = pl.DataFrame({"x": [2, 3, 4], "y": [0.1, 0.2, 0.3]})
    drawing = Drawing(name="n", title="t", table="t", x="x", y="y", x_title="x", y_title="y")
    svg = draw_svg(drawing, select_points(drawing, {"t": table}))
    assert [svg.count(f">{number}<") for number in (2, 3, 4)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ({"a": True, "b": True}, "agrees"),
        ({"a": True, "b": False}, "agrees in part"),
        ({"a": False, "b": False}, "disagrees"),
        ({"a": "not decided", "b": "not decided"}, "not decided"),
        ({"a": True, "b": None}, "agrees"),
        ({"a": None, "b": None}, "not decided"),
    ],
)
def test_setups_side_by_side_make_one_verdict(found, verdict):
    def check(tables, setup):
        return None if found[setup] is None else (f"{setup} was run", found[setup])

    statement = Statement(
        says="rises",
        check="trend",
        variants={"ours": {"setup": "a"}, "theirs": {"setup": "b"}},
        unless="not known",
    )
    claims = judge([statement], {}, {"trend": check})
    (claim,) = claims
    assert claim.verdict == verdict
    shown = [
        f"{setup}: {part} was run"
        for setup, part in (("ours", "a"), ("theirs", "b"))
        if found[part] is not None
    ]
    assert claim.measured == ("; ".join(shown) or "not run")
    assert bool(claim.why) == (verdict != "agrees")


def test_a_page_can_be_written_of_what_is_finished(tmp_path, paper):
    stopped = Counting([1, 2, 3], fails=3)
    paper(stopped.plan)
    with pytest.raises(InputError, match="has no finished cell of this design; run it without --finished"):
        reproduce("euclid-300", out=tmp_path / "out", finished=True)
    with pytest.raises(KeyboardInterrupt):
        reproduce("euclid-300", out=tmp_path / "out")
    found = reproduce("euclid-300", out=tmp_path / "out", finished=True)
    assert (found.n_cells, found.n_done, stopped.runs) == (3, 2, [1, 2])
    text = (tmp_path / "out" / "report.md").read_text()
    assert "on the whole grid (2 of 3 cells)" in text
    assert "- `sequester reproduce euclid-300 --finished`\n" in text
    assert "- 1 cells of this design are not run yet: `sequester reproduce euclid-300` runs them.\n" in text


def test_a_part_of_the_grid_states_its_design_and_the_command_for_all_of_it(tmp_path, paper):
    paper(Counting([1, 2, 3]).plan)
    made = replace(package.PAPERS["euclid-300"], designs={"sampled": "every other number."})
    package.PAPERS["euclid-300"] = made
    reproduce("euclid-300", out=tmp_path / "out", design="sampled", data=tmp_path)
    text = (tmp_path / "out" / "report.md").read_text()
    assert "- `sequester reproduce euclid-300 --data DIR --sampled`\n" in text
    assert (
        "- A sample of the grid: every other number. `sequester reproduce euclid-300 --data DIR` runs all "
        "of it.\n"
    ) in text


@pytest.mark.parametrize("name", package.PAPERS)
def test_every_paper_states_what_a_part_of_its_grid_is(name):
    assert set(package.PAPERS[name].designs) == {"quick", "sampled"}
    assert any(drawing.shown for drawing in package.PAPERS[name].drawings)
