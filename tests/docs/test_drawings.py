"""Pictures of the pages are what their scripts draw."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_the_slides_example_is_drawn_from_a_release():
    drawn = runpy.run_path(str(IMAGES / "gwadera_2013.py"))["draw"]()
    assert (IMAGES / "gwadera-2013.svg").read_text(encoding="utf-8") == drawn


def test_the_frontier_shows_every_candidate_of_its_script():
    k_values = runpy.run_path(str(IMAGES / "compare.py"), run_name="drawn")["K_VALUES"]
    root = ElementTree.parse(IMAGES / "compare.svg").getroot()
    assert f"{2 * len(k_values)} candidates" in root.get("aria-label")
    names = [each.text.partition(" ")[0] for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"halt", "cblda", *(f"k={k}" for k in k_values)} <= {*names}


@pytest.mark.thorough
def test_the_frontier_is_drawn_from_a_comparison():
    drawn = runpy.run_path(str(IMAGES / "compare.py"))["draw"]()
    assert (IMAGES / "compare.svg").read_text(encoding="utf-8") == drawn
