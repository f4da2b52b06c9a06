"""Pages of reproductions are what the command writes that they name, for the statements of today."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from sequester.reproduce import PAPERS, Agreement

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "reproductions"
MADE = sorted(path.stem for path in PAGES.glob("*.md"))


def test_every_paper_has_a_page():
    assert set(MADE) == set(PAPERS)


def rows_of(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in re.findall(r"^\| .* \|$", text, re.MULTILINE)]
    assert rows[0] == ["the paper says", "we measure", "verdict", "why"]
    return text, rows[1:]


@pytest.mark.parametrize("name", MADE)
def test_a_page_has_every_statement_with_a_verdict_and_a_reason(name):
    text, rows = rows_of(name)
    paper = PAPERS[name]
    assert text.startswith(f"# {paper.title}\n\n{paper.reference}. ")
    assert {says.replace("\\|", "|") for says, *_ in rows} <= {each.says for each in paper.statements}
    missing = {each.says for each in paper.statements} - {says.replace("\\|", "|") for says, *_ in rows}
    assert not missing
    for _, measured, verdict, why in rows:
        assert measured
        assert verdict in get_args(Agreement)
        assert why.strip() or verdict == "agrees"


@pytest.mark.parametrize("name", MADE)
def test_a_page_names_its_command_its_machine_and_its_time(name):
    text, _ = rows_of(name)
    (design,) = re.findall(
        rf"^- `sequester reproduce {name} --data DIR(?: --(quick|sampled))?(?: --finished)?`$",
        text,
        re.MULTILINE,
    )
    assert not design or f": {PAPERS[name].designs[design]} " in text
    assert re.search(r"^- [\d,.]+ minutes of processor time on .+, \d+ processors, ", text, re.MULTILINE)
    for note in PAPERS[name].notes:
        assert f"- {note}\n" in text


@pytest.mark.parametrize("name", MADE)
def test_figures_of_a_page_are_those_that_are_shown(name):
    text, _ = rows_of(name)
    names = re.findall(r"\]\(figures/([\w-]+)\.svg\)", text)
    assert names
    assert set(names) <= {each.name for each in PAPERS[name].drawings if each.shown}
    assert all((PAGES / "figures" / f"{each}.svg").exists() for each in names)


def test_no_figure_is_left_over():
    linked = {each for name in MADE for each in re.findall(r"figures/([\w-]+)\.svg", rows_of(name)[0])}
    assert {path.stem for path in (PAGES / "figures").iterdir()} == linked
