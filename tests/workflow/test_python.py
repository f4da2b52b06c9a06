"""What a data scientist does in a notebook: propose a schema, protect, look at it."""

from __future__ import annotations

import altair as alt
import pandas as pd
import polars as pl
import pytest

import sequester as sq
from sequester.datasets import hospital, trips
from sequester.errors import InputError, SequesterWarning
from sequester.testing import history_table, symbol_table

VISITS = {
    "patient": ["a", "a", "b", "b", "c", "c"] * 5,
    "day": [f"2024-05-{day:02}" for day in range(1, 31)],
    "ward": ["A", "B", "?"] * 10,
    "diag_1": ["E11.9", "I10", "J45"] * 10,
    "diag_2": ["I10", "B20", "E11.9"] * 10,
}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pl.LazyFrame])
def test_a_schema_is_proposed_for_any_frame(make):
    schema = sq.init(make(VISITS), sensitive=["diag"])
    assert (schema.person, schema.time, schema.missing) == ("patient", "day", ("?",))
    assert schema.sensitive["diag"].columns == ("diag_1", "diag_2")
    table = sq.EventTable(make(VISITS), schema)
    assert table.frame["ward"].null_count() == 10
    assert sq.CBLDA(k=2, c=1.0).apply(table).verdict.holds


def test_nothing_is_sensitive_unless_it_is_named():
    assert sq.init(pl.DataFrame(VISITS)).sensitive == {}
    with pytest.raises(InputError, match="sensitive must be one of"):
        sq.init(pl.DataFrame(VISITS), sensitive=["income"])


def test_doubts_are_warnings():
    frame = pl.DataFrame(
        {"label": [f"k{i // 4}" for i in range(40)], "n": range(40), "page": list("xyzx") * 10}
    )
    with pytest.warns(SequesterWarning, match="nothing in its name says that it is a person"):
        sq.init(frame)
    said = []
    assert sq.init(frame, person="label", warn=said.append).person == "label"
    assert said == []


@pytest.mark.parametrize("data", [hospital, trips])
def test_made_data_goes_through(data):
    frame = data.make(persons=60)
    said = []
    table = sq.EventTable(frame, sq.init(frame, warn=said.append))
    assert table.n_owners == 60


@pytest.mark.full_work
def test_plots_show_what_the_report_shows():
    table = history_table(["ab", "ac", "bc"] * 4)
    release = sq.HALT(k=3, c=1, p=1).apply(table)
    titles = [figure.title for figure in release.plots]
    assert titles[0] == "Events per person"
    assert any(title.startswith("Most frequent values of") for title in titles)
    for figure in release.plots:
        assert isinstance(figure.chart(), alt.LayerChart)
        assert {*figure._repr_mimebundle_()} & {"text/html", "application/vnd.vegalite.v5+json"}
    both = release.plot(original=table).to_dict()
    assert len(both["vconcat"]) >= len(titles) - 1
    assert {"before", "after"} <= {row["series"] for rows in both["datasets"].values() for row in rows}
    alone = release.plot().to_dict()
    assert [each["title"] for each in alone["vconcat"]] == titles


def test_the_plots_of_a_method_are_among_them():
    tree = sq.Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})
    release = sq.TopDown(patterns=[["a", "b"]], window=3).apply(symbol_table(["abcd" * 5], hierarchy=tree))
    assert {each.title for each in release.method_plots} <= {figure.title for figure in release.plots}


def test_utility_prints_a_short_table():
    release = sq.HALT(k=3, c=1, p=1).apply(history_table(["ab", "ac", "bc"] * 4))
    lines = repr(release.utility).splitlines()
    assert lines[0] == f"Utility: {len(release.utility)} measures"
    assert lines[1].split()[0] == "information_loss"
    assert len(lines) <= 14
    assert "information_loss" in release.utility._repr_html_()
