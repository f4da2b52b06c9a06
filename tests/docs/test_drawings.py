"""Pictures of the pages are what their scripts draw."""

from __future__ import annotations

import runpy
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_the_slides_example_is_drawn_from_a_release():
    drawn = runpy.run_path(str(IMAGES / "gwadera_2013.py"))["draw"]()
    assert (IMAGES / "gwadera-2013.svg").read_text(encoding="utf-8") == drawn
