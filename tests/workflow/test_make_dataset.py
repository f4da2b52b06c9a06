"""A data set on disk has its hierarchies beside it, and what exists is not replaced unasked."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.errors import InputError
from sequester.hierarchies import Hierarchy
from sequester.workflow.demo import make_dataset


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_hierarchies_are_put_beside(tmp_path, ending):
    made = make_dataset("sehatkar-5.3", tmp_path / f"visits{ending}")
    assert (made.persons, made.events) == (5, 9)
    assert [path.name for path in made.hierarchies] == ["visits.AdmYr.csv", "visits.LOS.csv"]
    tree = Hierarchy.read(tmp_path / "visits.AdmYr.csv").build(["2009", "2010"], column="AdmYr")
    assert tree.generalize("2009", 1) == "[2009:2010]"


def test_a_log_of_activities_comes_with_its_taxonomy(tmp_path):
    made = make_dataset("activities", tmp_path / "log.csv")
    activities = pl.read_csv(tmp_path / "log.csv")["activity"].unique().to_list()
    tree = Hierarchy.read(made.hierarchies[0]).build(activities, column="activity")
    assert tree.generalize("therapy", 2) == "away"


def test_what_has_no_hierarchy_stands_alone(tmp_path):
    assert make_dataset("days", tmp_path / "days.csv", persons=20).hierarchies == ()
    assert [path.name for path in tmp_path.iterdir()] == ["days.csv"]


def test_a_hierarchy_that_exists_is_not_replaced_unasked(tmp_path):
    (tmp_path / "log.activity.csv").write_text("mine")
    with pytest.raises(InputError, match=r"log\.activity\.csv exists already"):
        make_dataset("activities", tmp_path / "log.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["log.activity.csv"]
    make_dataset("activities", tmp_path / "log.csv", force=True)
    assert (tmp_path / "log.activity.csv").read_text() != "mine"
