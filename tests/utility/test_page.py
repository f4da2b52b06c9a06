"""The page about measures, the register and what releases really have agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sequester.utility.register import MEASURES
from utility.kinds import KINDS, release_of

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"
DIRECTIONS = {"minimize": "less", "maximize": "more"}


def entries():
    """The measures of the page: each name with what its row says of range, direction and data."""
    text = PAGE.read_text(encoding="utf-8")
    legend = dict(re.findall(r"^- ([A-Z]): (.*)$", text, re.MULTILINE))
    found = {}
    for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in row.split(" | ")]
        if len(cells) == 4:
            cells[3] = legend.get(cells[3], cells[3])
            for name in re.findall(r"`(\w+)`", cells[0].split(" (")[0]):
                assert name not in found, f"{name} has two entries"
                found[name] = cells
    return found


def on_page(name):
    """Levels above the leaves have one entry, however many there are."""
    return re.sub(r"^level_[1-9]\d*$", "level_1", name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_is_described_as_it_describes_itself(kind):
    described = entries()
    for name, score in release_of(kind).utility.items():
        assert score.formula, name
        assert score.reference, name
        assert described[on_page(name)][2].endswith(f", {DIRECTIONS[score.goal]}"), name
        assert score.means.endswith("."), name


def test_every_entry_is_a_score_of_some_release():
    measured = {on_page(name) for kind in KINDS for name in release_of(kind).utility}
    assert set(entries()) == measured


def test_every_registered_measure_says_on_the_page_when_it_applies():
    described = entries()
    for measure in MEASURES:
        for name in measure.names:
            assert described[name][3] == measure.when.text, name
