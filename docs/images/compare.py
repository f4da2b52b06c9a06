"""Draw the frontier of the page about comparisons: ``python docs/images/compare.py``."""

from __future__ import annotations

from pathlib import Path

import sequester as sq
from sequester.datasets import hospital

SEED = "kept in a safe place"
K_VALUES = (2, 3, 5, 8, 12, 20)


def visits() -> sq.EventTable:
    """Invent visits to a hospital."""
    quasi = {
        "AdmYr": sq.Hierarchy.flat(),
        "ZIP": sq.Hierarchy.mask([3, 1]),
        "LOS": sq.Hierarchy.intervals([7, 28], origin=0),
    }
    schema = sq.Schema(
        person="PID", order="VID", quasi=quasi, sensitive={"Disease": ["HIV", "Cancer"]}, drop=["DSFC"]
    )
    return sq.EventTable(hospital.make(persons=500, seed=SEED), schema)


def draw() -> str:
    """Compare two methods, and draw the frontier."""
    methods = [sq.HALT(k=k, c=0.7, p=2) for k in K_VALUES] + [sq.CBLDA(k=k, c=0.7) for k in K_VALUES]
    found = sq.compare(visits(), methods, seed=SEED)
    return str(found.drawing(standalone=True)) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("compare.svg").write_text(draw(), encoding="utf-8")
