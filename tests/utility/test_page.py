"""The page about measures, the register and what releases really have agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sequester.utility.register import MEASURES
from utility.kinds import KINDS, release_of

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"
DIRECTIONS = {"minimize": "less is better", "maximize": "more is better"}


def entries():
    """The entries of the page: the names in a heading, and what stands below it."""
    parts = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        heading, text = part.split("\n", 1)
        text = text.split("\n## ")[0]
        for name in re.findall(r"`(\w+)`", heading):
            assert name not in found, f"{name} has two entries"
            found[name] = text
    return found


def on_page(name):
    """Levels have one entry, however many there are."""
    return re.sub(r"^level_\d+$", "level_0", name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_is_described_as_it_describes_itself(kind):
    described = entries()
    for name, score in release_of(kind).utility.items():
        text = described[on_page(name)]
        assert score.formula, name
        assert f"`{score.formula}`" in text, name
        assert score.reference, name
        assert score.reference in text, name
        assert DIRECTIONS[score.goal] in text, name
        assert score.means.endswith("."), name


def test_every_entry_is_a_score_of_some_release():
    measured = {on_page(name) for kind in KINDS for name in release_of(kind).utility}
    assert set(entries()) == measured


def test_every_registered_measure_says_on_the_page_when_it_applies():
    described = entries()
    for measure in MEASURES:
        for name in measure.names:
            assert f"- Applies: {measure.when}\n" in described[name], name
