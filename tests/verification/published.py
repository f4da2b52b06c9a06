"""A release of every method, written, with all that its publisher knows about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

import sequester as sq
from release.samples import Pages
from sequester.data.places import GridRegions, Place
from sequester.data.schema import Sensitive
from sequester.errors import SequesterWarning
from sequester.testing import record_table, symbol_table
from sequester.verification.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.table import EventTable
    from sequester.methods.method import Method
    from sequester.verification.claim import Verification

LETTERS = sq.Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})
ROWS = ["abab", "abab", "abb", "ab", "abba", "abab", "aab", "bab", "ccdc", "ccd", "cddc", "dcdc", "dcd"]
RECORDS = ["abca", "bcab", "cabc", "abcb", "bcaa", "cabb", "aacc"]


def histories() -> EventTable:
    """Persons with two quasi-identifiers, two diagnoses of one sensitive attribute and a kept ward."""
    events = [
        {
            "user": f"person {number}",
            "step": place,
            "letter": letter,
            "stay": "1" if number % 2 else "30",
            "D1": "HIV" if number % 5 == 1 and place == 1 else "flu",
            "D2": "gout" if number % 3 else "cold",
            "ward": "east" if place % 2 else "west",
            "name": f"Ann {number}",
        }
        for number, row in enumerate(ROWS, start=1)
        for place, letter in enumerate(row, start=1)
    ]
    schema = sq.Schema(
        person="user",
        order="step",
        quasi={"letter": LETTERS, "stay": sq.Hierarchy.from_tree({"short": ["1"], "long": ["30"]})},
        sensitive={"ill": Sensitive(columns=("D1", "D2"), protect=["HIV", "gout"])},
        keep=["ward"],
        drop=["name"],
    )
    return sq.EventTable(pl.DataFrame(events), schema)


def trajectories() -> EventTable:
    """Persons who go through the cells of a grid."""
    places = {"a": 0.001, "b": 0.011, "c": 0.021, "d": 0.031}
    events = [
        {"user": f"person {number}", "at": place, "lat": 50.0 + places[letter], "lon": 10.0 + places[letter]}
        for number, row in enumerate(ROWS, start=1)
        for place, letter in enumerate(row, start=1)
    ]
    schema = sq.Schema(person="user", order="at", place=Place("lat", "lon", GridRegions(500)))
    return sq.EventTable(pl.DataFrame(events), schema)


def symbols() -> EventTable:
    """Persons with one letter per event, which has a hierarchy."""
    return symbol_table([*ROWS, "aab"], hierarchy=LETTERS)


PATTERNS: dict[str, Any] = {"patterns": [["a", "b"]], "min_support": 2}
CASES: dict[str, tuple[Method, Any]] = {
    "halt": (sq.HALT(k=2, c=1, p=2), histories),
    "glogen": (sq.GloGen(k=2, c=1, p=2), histories),
    "cblda": (sq.CBLDA(k=2, c=1), histories),
    "cblda-baseline": (sq.CBLDABaseline(k=2, c=1), histories),
    "ph": (sq.PH(**PATTERNS), symbols),
    "sbsh": (sq.SBSH(**PATTERNS), symbols),
    "abul": (sq.Abul(**PATTERNS), symbols),
    "p2ka": (sq.BFP2kA(k=2), symbols),
    "regions": (sq.BFP2kA(k=2), trajectories),
    "log": (sq.BFP2kA(k=2), symbols),
    "prefix-pruning": (sq.PrefixPruning(k=2), symbols),
    "top-down": (sq.TopDown(patterns=[["a", "b"]], window=2), symbols),
    "bottom-up": (sq.BottomUp(patterns=[["a", "b"]], window=2), symbols),
    "anatomy": (sq.Reposition(l=2, window=2, snapshot="order"), lambda: record_table(RECORDS)),
    "generalize": (
        sq.Reposition(l=2, window=2, snapshot="order", then="generalize"),
        lambda: record_table(RECORDS),
    ),
    "reposition": (
        sq.Reposition(l=2, window=2, snapshot="order", then="none"),
        lambda: record_table(RECORDS),
    ),
    "suppress-only": (sq.SuppressOnly(l=2, snapshot="order"), lambda: record_table(RECORDS)),
    "merge-snapshots": (
        sq.MergeSnapshots(l=2, window=2, snapshot="order"),
        lambda: record_table(RECORDS),
    ),
}
"""What is released: method and table."""


@dataclass(frozen=True)
class Published:
    """A release on disk, and what its publisher knows."""

    folder: Path
    table: EventTable
    method: Method
    model: Any

    def verify(self, *, original: bool = True) -> Verification:
        """Check the folder, with what the publisher knows or as a recipient."""
        if not original:
            return verify(self.folder)
        parameters = {
            name: value
            for name, value in self.method.parameters().items()
            if name not in self.method.unpublished()
        }
        return verify(
            self.folder, original=self.table, model=self.model, method=(self.method.name, parameters)
        )


def publish(name: str, folder: Path) -> Published:
    """Write the release of a case."""
    method, make = CASES[name]
    table = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        release = method.apply(table, seed="a sentence that nobody guesses")
        if name == "log":
            release = replace(release, event_log="xes")
        written = sq.write(release, folder / name, original=table, pseudonyms=True, report=Pages())
    return Published(written.path, table, method, method.model().about(table))
