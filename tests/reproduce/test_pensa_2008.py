"""Table 1 and Figure 4 of Pensa et al. (2008): their shapes, on made trips and on the public data sets."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import polars as pl
import pytest

from oracles import trajectories as oracle
from sequester.data.sequences import Sequences
from sequester.reproduce import DataSet, find_paper, pensa_2008
from sequester.reproduce.pensa_2008 import (
    AS_PRINTED,
    METHODS,
    PRUNED,
    STRICT,
    count_short,
    data_sets,
    made_trips,
    shape,
    similarities,
)

MOST = 50_000


def grid(source, ks=None):
    """Run a source through all of its densities, as the tables of its reproduction."""
    rows, table = [], []
    for threshold in source.axes["threshold"]:
        given = {"data": source.name, "threshold": threshold}
        table += [{**given, **row} for row in shape(source, threshold)]
        rows += [
            {**given, "k": k, "method": method, **row}
            for k in ks or source.axes["k"]
            for method in METHODS
            for row in similarities(source, threshold, k, method, MOST)
        ]
    return {"table-1": pl.DataFrame(table), "similarities": pl.DataFrame(rows, infer_schema_length=None)}


def mean(tables, measure, method=STRICT):
    """Threshold to the mean over k."""
    rows = tables["similarities"].filter((pl.col("measure") == measure) & (pl.col("method") == method))
    means = rows.drop_nulls("value").group_by("threshold", maintain_order=True).agg(pl.col("value").mean())
    return dict(means.iter_rows())


def check_shapes(tables):
    """Hold the tables to what the paper reports of its six data sets."""
    one = tables["table-1"]
    kept, regions = one["trajectories"].to_list(), one["regions"].to_list()
    assert all(late <= early for early, late in pairwise(kept))
    assert regions[-1] < regions[0]
    scores = tables["similarities"].drop_nulls("value")
    assert scores["value"].is_between(0, 1).all()
    sim1, sim2 = mean(tables, "SIM1"), list(mean(tables, "SIM2").values())
    assert min(sim1.values()) > 0.6  # quite high in general
    assert sum(sim2[:2]) / 2 < sum(sim2[2:]) / len(sim2[2:])  # lower on sparse data
    ends = (
        scores.filter((pl.col("measure") == "SIM1") & (pl.col("method") == STRICT))
        .group_by("threshold", maintain_order=True)
        .agg(rise=pl.col("value").sort_by("k").last() - pl.col("value").sort_by("k").first())
    )
    assert (ends["rise"] > -1e-9).sum() > len(ends) / 2  # the higher k, the more similar
    # Not monotone: some k is better than its neighbours.
    curves = scores.filter((pl.col("measure") == "SIM2") & (pl.col("method") == STRICT)).sort(
        "threshold", "k"
    )
    found = [mine["value"].to_list() for _, mine in curves.group_by("threshold", maintain_order=True)]
    assert any(
        b > max(a, c) for values in found for a, b, c in zip(values, values[1:], values[2:], strict=False)
    )
    # Strict: slightly lower SIM2, never a violation. As printed: violations.
    short = dict(tables["similarities"].group_by("method").agg(pl.col("short_records").sum()).iter_rows())
    assert short[STRICT] == short[PRUNED] == 0
    assert short[AS_PRINTED] > 0
    strict, printed = (sum(mean(tables, "SIM2", each).values()) for each in (STRICT, AS_PRINTED))
    assert 0 <= printed - strict + 1e-9 < 0.05 * len(sim2)
    assert sum(mean(tables, "SIM2", PRUNED).values()) < strict  # re-attachment saves patterns


@pytest.fixture(scope="module")
def made():
    load = partial(made_trips, 1_500)
    thresholds = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
    axes = {"threshold": thresholds, "k": (10, 20, 50, 100, 200)}
    return grid(DataSet(name="trips", about="", load=load, axes=axes))


def test_six_densities_of_made_trips_have_the_shapes_of_the_paper(made):
    check_shapes(made)


def test_the_claims_say_what_was_measured(made):
    found = find_paper("pensa-2008").claims(made)
    # The separate counts are of other data.
    assert len([each for each in found if each.verdict != "not decided"]) == 9
    assert all(each.says.startswith("A separate count") for each in found if each.verdict == "not decided")
    theorem = next(each for each in found if each.says.startswith("Theorem 1"))
    assert theorem.verdict == "disagrees"
    assert "strict, 0" in theorem.measured
    monotone = next(each for each in found if "not monotone" in each.says)
    assert monotone.verdict == "agrees"


def test_short_sequences_are_those_of_the_definition():
    rows = ["AB", "CXYZ", "CXYZ", "CXYZ", "", "ABC"]
    for k in (1, 2, 3, 4):
        counted = {row: oracle.person_support(row, list(enumerate(rows))) for row in rows if row}
        short = {row for row, support in counted.items() if support < k}
        assert count_short(Sequences.from_rows(rows), k) == (len(short), sum(row in short for row in rows))


def test_a_k_that_releases_nothing_has_no_row(monkeypatch):
    source = DataSet(name="trips", about="", load=partial(made_trips, 30))
    assert similarities(source, 0.2, 31, STRICT, MOST) == []
    assert similarities(source, 0.2, 30, PRUNED, MOST) == []
    (row, _) = similarities(source, 0.2, 2, STRICT, 1)  # more patterns than may be held
    assert row["value"] is None


def test_the_plan_names_what_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(pensa_2008, "made_trips", lambda persons, threshold: made_trips(100, threshold))
    plan = pensa_2008.plan(None, design="quick")
    assert {cell.table for cell in plan.cells} == {"table-1", "similarities"}
    drawn = [
        drawing.name for drawing in find_paper("pensa-2008").drawings if drawing.where["data"] == "trips"
    ]
    assert drawn == ["figure-4-trips", "strict-trips", "short-trips"]
    assert {cell.parameters["k"] for cell in plan.cells if cell.table == "similarities"} >= {10, 1000}


@pytest.mark.real
@pytest.mark.parametrize("name", ["foursquare weeks", "foursquare users", "geolife"])
def test_public_trajectories_have_the_shapes_of_the_paper(shared_data, name):
    (source,) = (each for each in data_sets(shared_data, design="quick") if each.name == name)
    check_shapes(grid(source))


@pytest.mark.real
def test_long_click_sequences_show_the_hole(shared_data):
    (source,) = (each for each in data_sets(shared_data, design="quick") if each.name == "msnbc, long")
    rows = {method: similarities(source, None, 50, method, 1)[0] for method in (STRICT, AS_PRINTED)}
    assert round(rows[AS_PRINTED]["cut"], 3) == 0.986
    assert rows[AS_PRINTED]["short_records"] > 1_000
    assert rows[STRICT]["short_records"] == 0
