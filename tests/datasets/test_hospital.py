"""Visits keep the promises that methods and benchmarks lean on."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.datasets import hospital
from sequester.errors import ParameterError


@given(st.integers(1, 60), st.floats(1, 6), st.floats(0, 1), st.text(max_size=5))
def test_every_table_is_consistent(persons, mean_events, protected_share, seed):
    visits = hospital.make(
        persons=persons, seed=seed, mean_events=mean_events, protected_share=protected_share
    )
    assert visits.columns == ["PID", "VID", "AdmYr", "ZIP", "DSFC", "LOS", "Disease"]
    assert visits["PID"].n_unique() == persons
    assert visits["AdmYr"].is_in(hospital.YEARS).all()
    assert visits["LOS"].is_between(0, 60).all()
    assert visits["ZIP"].str.contains(r"^\d{5}$").all()
    has_protected = visits.filter(pl.col("Disease").is_in(hospital.PROTECTED))["PID"].n_unique()
    assert has_protected == round(protected_share * persons)
    for _, own in visits.group_by("PID"):
        assert own["VID"].to_list() == list(range(1, len(own) + 1))
        assert own["AdmYr"].is_sorted()
        for _, of_year in own.group_by("AdmYr"):
            assert of_year["DSFC"][0] == 0
            assert of_year["DSFC"].is_sorted()
            assert of_year["DSFC"].is_between(0, 364).all()


def test_shape():
    visits = hospital.make(persons=5_000, mean_events=3, seed="shape")
    assert 2.9 < len(visits) / 5_000 < 3.1
    homes = visits.group_by("PID").agg(pl.col("ZIP").n_unique())["ZIP"]
    assert 0.9 < (homes == 1).mean() < 1
    assert homes.max() == 2
    assert set(visits["Disease"]) == {*hospital.PROTECTED, *hospital.ORDINARY}


def test_the_seed_repeats_the_table():
    assert hospital.make(persons=50, seed="a").equals(hospital.make(persons=50, seed="a"))
    assert not hospital.make(persons=50, seed="a").equals(hospital.make(persons=50, seed="b"))


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"persons": 0}, "persons must be between 1 and 10,000,000, got 0"),
        ({"mean_events": 0.5}, "mean_events must be at least 1, got 0.5"),
        ({"protected_share": 1.5}, "protected_share must be between 0 and 1, got 1.5"),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, line):
    with pytest.raises(ParameterError) as refused:
        hospital.make(**wrong)
    assert refused.value.lines == (line,)
