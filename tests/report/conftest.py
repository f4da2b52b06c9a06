"""A release made by hand, so that pages are tested apart from every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl
import pytest

from sequester.data.schema import Schema
from sequester.privacy.model import Verdict
from sequester.release.release import Release
from sequester.utility.score import Score


@dataclass(frozen=True)
class Crowd:
    """A promise that needs no counting."""

    k: int = 3
    needs_original: bool = False
    level_meanings: ClassVar[dict[str, str]] = {"k": "fewest persons who match"}

    def check(self, released, *, original=None, engine=None):
        return Verdict(holds=True, achieved={"k": self.k})

    def claim(self):
        return {"k": self.k}

    def in_words(self):
        return f"Every released record has at least {self.k} owners."


def events(rows, column="page"):
    """One row per event of `rows`, as a release has them."""
    return pl.DataFrame(
        {
            "person": [f"p{i:016x}" for i, row in enumerate(rows) for _ in row],
            "order": [place + 1 for row in rows for place in range(len(row))],
            column: [label for row in rows for label in row],
        },
        schema={"person": pl.String, "order": pl.Int64, column: pl.String},
    )


@pytest.fixture(scope="session")
def crowd():
    """The class of that promise."""
    return Crowd


@pytest.fixture(scope="session")
def make_release():
    """Make a release of `rows`, with any other field given by name."""

    return by_hand


def by_hand(rows=(("home", "news"), ("home", "news"), ("home",)), **fields):
    given = {
        "tables": {"events": events(rows)},
        "schema": Schema(person="person", order="order", symbol="page"),
        "hierarchies": {},
        "method": "by-hand",
        "parameters": {"k": 3, "strict": True},
        "model": Crowd(),
        "verdict": Verdict(holds=True, achieved={"k": 4}),
        "limits": ("A second release of the same people is not covered.",),
        "warnings": ("WARNING-FOR-THE-HOUSE",),
        "utility": {
            "information_loss": Score(
                value=0.123456, goal="minimize", bounds=(0, 1), means="share of lost events"
            ),
            "edit_distance": Score(
                value=7.7753, goal="minimize", bounds=(0, None), means="MEANING-OF-THE-DISTANCE"
            ),
        },
        "changes": pl.DataFrame(
            {"row": [1, 2, 3], "what": ["cut", "cut", "dropped"], "before": ["SECRET-PAGE"] * 3}
        ),
        "pseudonyms": pl.DataFrame({"person": ["ALICE"], "pseudonym": ["p0000000000000000"]}),
        "seed": "SEED-KEPT-IN-A-SAFE",
        "n_input_persons": 87654,
        "n_input_events": 98765,
        "n_lost_events": 76543,
    }
    given |= fields
    change_list = given.pop("changes").lazy()
    return Release(**given, change_list=change_list)
