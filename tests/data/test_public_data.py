"""The public data sets come in whole, with their traps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.data.schema import Protect, Quasi, Schema, Sensitive
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.io import read_frame

pytestmark = pytest.mark.real


def symbols(frame, person, symbol, **roles):
    named = {person, symbol, *[value for value in roles.values() if isinstance(value, str)]}
    drop = [column for column in frame.columns if column not in named]
    return EventTable(frame, Schema(person=person, symbol=symbol, drop=drop, **roles))


def test_sepsis_has_a_patient_called_na(shared_data):
    frame = read_frame(shared_data / "sepsis" / "Sepsis.csv.gz")
    table = symbols(frame, "case_id", "activity", time="timestamp")
    assert (table.n_persons, table.n_events) == (1050, 15214)
    assert "NA" in table.persons
    assert len(table.sequences.codebooks["activity"]) == 16
    place = table.persons.to_list().index("NA")
    theirs = frame.filter(pl.col("case_id") == "NA").sort("timestamp", maintain_order=True)["activity"]
    assert table.sequences.to_rows()[place] == tuple(theirs)
    assert [problem.severity for problem in table.problems].count("note") == 1


def test_msnbc_as_its_readme_says(shared_data):
    table = EventTable(
        read_frame(shared_data / "msnbc" / "msnbc990928.seq.gz"),
        Schema(person="person", order="order", symbol="symbol"),
    )
    lengths = np.diff(table.person_offsets)
    assert (table.n_persons, table.n_events) == (989_818, 4_698_794)
    assert (lengths.max(), (lengths == 1).sum()) == (14_795, 365_435)
    assert len(table.labels["symbol"]) == 17
    assert table.sequences.distinct().n_rows == 169_714
    rows = [table.frame["symbol"][: lengths[0]].to_list(), table.frame["symbol"][2:3].to_list()]
    assert rows == [["frontpage", "frontpage"], ["news"]]
    assert table.problems == ()


def test_hospital_billing_has_a_case_called_na(shared_data):
    frame = read_frame(shared_data / "eventlogs" / "hospital_billing.csv.gz")
    table = symbols(frame, "case_id", "activity", time="timestamp", tie=".order")
    assert (table.n_persons, table.n_events) == (10_000, 49_951)
    assert "NA" in table.persons


def test_claims_with_ten_diagnoses_are_one_sensitive_attribute(shared_data):
    frame = read_frame(shared_data / "desynpuf" / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz")
    codes = [f"ICD9_DGNS_CD_{i}" for i in range(1, 11)]
    named = ["DESYNPUF_ID", "CLM_FROM_DT", "CLM_ID", "CLM_DRG_CD", *codes]
    schema = Schema(
        person="DESYNPUF_ID",
        time="CLM_FROM_DT",
        time_format="%Y%m%d",
        tie="CLM_ID",
        quasi={
            "CLM_DRG_CD": Hierarchy.mask([2, 1]),
            "CLM_FROM_DT": Hierarchy.dates(["month", "year"]),
            "AdmYr": Quasi(Hierarchy.flat(), weight=2.0),
            "DSFC": Quasi(Hierarchy.intervals([7, 28]), max_level=2, never_suppress=["0"]),
            "gap": Hierarchy.intervals([30]),
            "claims": Hierarchy.intervals([2]),
        },
        sensitive={
            "diagnosis": Sensitive(tuple(codes), Protect(prefix=("042",), range=("634-639", "V51-V51")))
        },
        drop=[column for column in frame.columns if column not in named],
        derive={
            "AdmYr": "year",
            "DSFC": "days_since_first_in_year",
            "gap": "days_since_previous",
            "claims": "event_count",
        },
        invalid="drop",
    )
    table = EventTable(frame, schema)
    dropped = sum(problem.count for problem in table.problems if problem.what.endswith("dropped"))
    assert table.n_events == frame.height - dropped
    assert set(table.frame["AdmYr"]) <= {"2007", "2008", "2009", "2010"}
    assert "(missing)" in table.hierarchies["gap"]
    found = table.protected["diagnosis"]
    assert found
    assert all(code.startswith(("042", "634", "635", "636", "637", "638", "639", "V51")) for code in found)
    assert table.frame["gap"].null_count() == table.n_persons


def test_old_line_ends_and_two_column_times(shared_data):
    labels = read_frame(shared_data / "kasteren" / "KA_activity_labels.csv.gz")
    assert labels.columns == ["ID", "label"]
    assert labels.row(0) == ("1", "'leave house'")
    steps = read_frame(shared_data / "fitbit" / "hourlySteps_merged.csv.gz")
    schema = Schema(
        person="Id",
        time=["ActivityDate", "ActivityTime"],
        time_format="%d/%m/%Y %H:%M:%S",
        symbol="StepTotal",
    )
    table = EventTable(steps, schema)
    assert (table.n_persons, table.n_events) == (33, 22_099)
    assert table.times.dt.month().is_in([4, 5]).all()


def test_dirty_rows_are_named(shared_data):
    with pytest.raises(InputError) as caught:
        read_frame(shared_data / "uci_diabetes70" / "diabetes70.tsv.gz")
    assert caught.value.lines[0].endswith("diabetes70.tsv.gz: row 9,961 has 4 cells, the header has 5")


def test_every_table_is_read_or_refused_in_words(shared_data):
    n_read, said = 0, []
    for path in sorted(shared_data.rglob("*.csv.gz")):
        n_read += read_frame(path, warn=said.append).height > 0
    assert n_read > 50
    padded = {line.split("/")[-2] for line in said if "blanks around names of columns" in line}
    assert padded == {"casas_hh101", "kasteren"}
