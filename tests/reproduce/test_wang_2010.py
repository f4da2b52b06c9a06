"""The experiments of Wang et al. (2010), on made days and on the public data sets."""

from __future__ import annotations

import warnings
from functools import cache, partial
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import l_diversity
from sequester.errors import SequesterWarning
from sequester.methods.reposition.method import MergeSnapshots, Reposition, SuppressOnly
from sequester.reproduce import DataSet, find_paper, wang_2010
from sequester.reproduce.wang_2010 import WHOLE, hong_kong, houston, made_days, moves


def test_the_plan_names_its_data_and_every_method():
    plan = find_paper("wang-2010").plan(None, design="quick")
    (line,) = plan.sources
    assert line.endswith("10 values, 90 days from 2024-01-01 to 2024-03-30.")
    assert {cell.table for cell in plan.cells} == {"eligibility", "moves", "optima", "distances", "queries"}
    methods = {cell.parameters["method"] for cell in plan.cells if cell.table == "queries"}
    assert methods == set(wang_2010.METHODS)
    full = find_paper("wang-2010").plan(None, design="whole")
    assert len(full.cells) > 3 * len(plan.cells)


@pytest.fixture(scope="module")
def few():
    return DataSet(name="few", about="records", load=cache(partial(made_days, 600)))


def test_what_cannot_be_avoided_bounds_what_is_suppressed(few):
    for level in (2, 5):
        (alone,) = moves(few, level, "quadratic", "1")
        (window,) = moves(few, level, "quadratic", "4")
        (whole,) = moves(few, level, "quadratic", WHOLE)
        assert alone["unavoidable"] <= whole["suppressed"] <= window["suppressed"] <= alone["suppressed"]
        assert whole["snapshots_in_window"] == 90
        assert window["loss_per_record"] <= alone["loss_per_record"]
        assert window["steps_of_bound"] <= 1


def test_no_window_loses_less_than_the_integer_program(few):
    for level in (2, 3):
        (least,) = wang_2010.optimum(few, level)
        for window in ("1", "8", WHOLE):
            (row,) = moves(few, level, "quadratic", window)
            assert row["loss_per_record"] >= least["least_loss"] - 1e-6


@given(st.lists(st.text("abc", max_size=2), min_size=1, max_size=3), st.sampled_from([2, 3]))
def test_the_integer_program_is_the_least_of_all_arrangements(days, level):
    codes = [np.array(["abc".index(letter) for letter in day], np.int32) for day in days]
    if not any(len(day) for day in days):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wang_2010, "_snapshots", lambda _: [(day, day) for day in codes])
        (found,) = wang_2010.optimum(DataSet(name="few", about="", load=lambda: None), level)
    records = [(home, letter) for home, day in enumerate(days) for letter in day]
    places = [[*range(home, len(days)), None] for home, _ in records]
    costs = []
    for slots in product(*places):
        published = l_diversity.by_place(
            (slot, letter) for slot, (_, letter) in zip(slots, records, strict=True) if slot is not None
        )
        if all(l_diversity.is_eligible(each, level) for each in published.values()):
            costs.append(
                sum(
                    50 if slot is None else (slot - home) ** 2
                    for slot, (home, _) in zip(slots, records, strict=True)
                )
            )
    assert found["least_loss"] * len(records) == pytest.approx(min(costs))


def test_raw_snapshots_are_counted_by_the_definition(few):
    (row,) = wang_2010.eligibility(few, 3)
    table = few.load()
    days = l_diversity.by_place(table.frame.select("date", "diagnosis").iter_rows())
    assert row["snapshots"] == len(days)
    assert row["ineligible"] == np.mean([not l_diversity.is_eligible(each, 3) for each in days.values()])


def test_what_cannot_be_kept_has_no_queries(few):
    assert wang_2010.queries(few, 11, "suppress-only") == []
    assert [row["length"] for row in wang_2010.queries(few, 2, "reposition, anatomy")] == [1, 2, 3, 5, 7, 14]
    assert sum(row["share_of_moved"] for row in wang_2010.distances(few, 3)) == pytest.approx(1)


@pytest.mark.real
@pytest.mark.full_work
@pytest.mark.parametrize(("load", "level"), [(houston, 2), (houston, 4), (hong_kong, 2), (hong_kong, 3)])
def test_releases_of_public_data_keep_their_promise_and_reposition_loses_least(shared_data, load, level):
    table = load(shared_data)
    lost, errors = {}, {}
    for method in (
        Reposition(l=level, then="none"),
        SuppressOnly(l=level, then="none"),
        MergeSnapshots(l=level, then="none"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SequesterWarning)
            release = method.apply(table, seed="a sentence that nobody guesses")
        attribute = next(iter(table.schema.sensitive))
        published = l_diversity.by_place(release.frame.select("time", attribute).iter_rows())
        assert not l_diversity.too_frequent(published, level)
        lost[method.name] = release.n_lost_events
        errors[method.name] = release.utility["window_query_error"].value
    assert lost["reposition"] < lost["suppress-only"]
    assert errors["reposition"] < errors["merge-snapshots"]
    assert errors["reposition"] < errors["suppress-only"]


@pytest.mark.real
@pytest.mark.parametrize("load", [houston, hong_kong])
def test_groups_of_public_data_are_diverse(shared_data, load):
    table = load(shared_data)
    attribute = next(iter(table.schema.sensitive))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        apart = Reposition(l=3).apply(table, seed="a sentence that nobody guesses")
        coarse = Reposition(l=3, then="generalize").apply(table, seed="a sentence that nobody guesses")
    values = apart.tables["values"].iter_rows()
    groups = l_diversity.by_place((group, value) for group, value, n in values for _ in range(n))
    assert not l_diversity.too_frequent(groups, 3)
    assert not l_diversity.too_frequent(
        l_diversity.by_place(coarse.frame.select("group", attribute).iter_rows()), 3
    )
    assert apart.frame.height == coarse.frame.height


def tables_of(*, good):
    """Small tables in which every statement holds, or none."""
    pairs = [("days", 2), ("days", 3)]
    suppressed = (
        {"1": 0.4, "4": 0.12, "8": 0.1, WHOLE: 0.1} if good else {"1": 0.4, "4": 0.4, "8": 0.38, WHOLE: 0.1}
    )
    loss = {window: 50 * share for window, share in suppressed.items()}
    return {
        "eligibility": pl.DataFrame(
            [{"data": data, "l": level, "ineligible": 0.9 if good else 0.2} for data, level in pairs]
        ),
        "distances": pl.DataFrame(
            [
                {"data": data, "l": level, "distance": distance, "share_of_moved": share}
                for data, level in pairs
                for distance, share in enumerate([0.7, 0.2, 0.1] if good else [0.1, 0.1, 0.8], start=1)
            ]
        ),
        "moves": pl.DataFrame(
            [
                {
                    "data": data,
                    "l": level,
                    "cost": "quadratic",
                    "window": window,
                    "suppressed": share,
                    "unavoidable": 0.05,
                    "loss_per_record": loss[window],
                    "steps_of_bound": 0.1 if good else 1.5,
                }
                for data, level in pairs
                for window, share in suppressed.items()
            ]
        ),
        "optima": pl.DataFrame(
            [{"data": data, "l": level, "least_loss": loss[WHOLE], "proven": good} for data, level in pairs]
        ),
        "queries": pl.DataFrame(
            [
                {"data": data, "l": level, "method": method, "length": length, "error": error, "lost": 0.1}
                for data, level in pairs
                for method, error in (("reposition", 0.02 if good else 0.5), ("merge-snapshots", 0.3))
                for length in (1, 3)
            ]
        ),
    }


@pytest.mark.parametrize("good", [True, False])
def test_statements_follow_the_tables(good):
    found = find_paper("wang-2010").claims(tables_of(good=good))
    assert len(found) == 8
    assert {claim.verdict for claim in found} == {"agrees" if good else "disagrees"}
    assert all(bool(claim.why) != good for claim in found)
    assert found[3].measured.startswith(
        "of the suppression that can be avoided, a window of 8 avoids " + ("85.7%" if good else "5.7%")
    )
