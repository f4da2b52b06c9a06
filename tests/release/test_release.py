"""A release shows what it promises and what is left of the data, and never dumps itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.methods.p2ka.method import BFP2kA

if TYPE_CHECKING:
    from sequester.release.release import Release


@pytest.fixture(scope="module")
def release() -> Release:
    rows = ["ab", "ab", "abc", "<i>"]
    events = [(f"u{n}", place, item) for n, row in enumerate(rows) for place, item in enumerate(row)]
    frame = pl.DataFrame(events, schema=["user", "step", "page"], orient="row")
    table = EventTable(frame, Schema(person="user", order="step", symbol="page"))
    return BFP2kA(k=2).apply(table, seed="a sentence nobody guesses")


def test_text_names_promise_counts_and_limits(release: Release) -> None:
    text = "\n".join(" ".join(line.split()) for line in repr(release).splitlines())
    assert text.splitlines()[0] == "Release by p2ka: SequenceKAnonymity holds"
    assert "asked k = 2, strict = True" in text
    assert "persons 3 of 4" in text
    assert "events 6 of 10" in text
    assert "lost 4 events (40.0%)" in text
    assert "limit: Records are not truthful" in text


def test_the_repr_is_short_and_says_where_the_other_measures_are(release: Release) -> None:
    assert f"{len(release.utility) - 9}, all of them in utility" in repr(release)


def test_neither_seed_nor_input_keys_are_shown(release: Release) -> None:
    for shown in (repr(release), release._repr_html_()):
        assert release.seed not in shown
        assert "u0" not in shown


def test_notebook_shows_the_first_rows_escaped(release: Release) -> None:
    page = release._repr_html_()
    assert release.frame["person"][0] in page
    assert "<i>" not in page
