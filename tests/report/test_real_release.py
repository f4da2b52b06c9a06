"""The pages of releases that methods made."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import SequesterWarning
from sequester.methods import METHODS
from sequester.report import external_page, internal_page
from sequester.report.findings import measure_title

COMMON = ["home", "<b>news</b>", "sports & more"]
RARE = ["RARE-PAGE-OF-ONE", "RARE-PAGE-OF-TWO"]
SEED = "a sentence nobody guesses"


@pytest.fixture(scope="module")
def table():
    rows = [COMMON] * 4 + [COMMON[:2]] * 3 + [[*COMMON[:2], RARE[0]], [RARE[1]]]
    events = [(f"person-{i}", place, label) for i, row in enumerate(rows) for place, label in enumerate(row)]
    frame = pl.DataFrame(events, schema=["user", "step", "page"], orient="row")
    return EventTable(frame, Schema(person="user", order="step", symbol="page"))


@pytest.fixture(scope="module", params=["p2ka", "prefix-pruning"])
def release(request, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return METHODS[request.param](k=3).apply(table, seed=SEED)


def test_the_outer_page_names_no_person_and_no_value_that_was_not_released(release, table):
    page = external_page(release)
    for label in RARE:
        assert label not in page
    for person in (*table.persons, *release.pseudonyms["pseudonym"]):
        assert person not in page
    assert SEED not in page


def test_the_outer_page_says_the_promise_and_every_limit(release):
    page = external_page(release)
    assert "at least 3 persons" in page
    assert release.limits
    for limit in release.limits:
        assert limit in page
    assert "&lt;b&gt;news&lt;/b&gt;" in page
    assert "<b>" not in page


def test_the_inner_page_shows_what_was_removed_and_every_measure(release, table):
    page = internal_page(release, original=table)
    for label in RARE:
        assert label in page
    for name, score in release.utility.items():
        assert measure_title(name) in page
        assert score.means.split(";")[0] in page
    for kind in release.changes["what"].unique():
        assert f"<bdi>{kind}</bdi>" in page
    assert "Before and after" in page
