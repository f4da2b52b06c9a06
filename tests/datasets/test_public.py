"""The public data sets have the rows and persons that their list states, and their traps are handled."""

from __future__ import annotations

import gzip
from functools import cache

import polars as pl
import pytest

from sequester.datasets.public import PUBLIC, load
from sequester.errors import InputError

# Rows, and persons (or what stands for them) where a column holds them.
STATED = {
    "msnbc": (4_698_794, 989_818),
    "desynpuf-claims": (102_933, 58_460),
    "desynpuf-beneficiaries": (80_000 + 78_810 + 77_613, 80_000),
    "sepsis": (15_214, 1_050),
    "traffic-fines": (34_724, 10_000),
    "hospital-billing": (49_951, 10_000),
    "diabetes70": (29_330, 70),
    "mimic4demo-patients": (100, 100),
    "mimic4demo-admissions": (275, 100),
    "mimic4demo-diagnoses": (4_506, 100),
    "synthea-patients": (1_000, 1_000),
    "synthea-conditions": (20_512, 986),
    "synthea-medications": (17_922, 974),
    "foursquare-nyc": (44_809 + 22_153, 193),
    "geolife11": (164_531, 11),
    "aruba": (6_440, None),
    "aruba-marks": (12_954, None),
    "hh101": (2_459, None),
    "kasteren-a": (259, None),
    "kasteren-b": (112, None),
    "kasteren-c": (234, None),
    "kasteren-a-sensors": (1_229, None),
    "kasteren-b-sensors": (19_075, None),
    "kasteren-c-sensors": (22_700, None),
    "ordonez-a": (248, None),
    "ordonez-a-sensors": (409, None),
    "mvad": (712, 712),
    "biofam": (2_000, None),
    "fitbit": (22_099, 33),
    "houston-crime": (86_314, None),
    "hk-covid": (15_441, 15_441),
}
# Persons only: how many rows a sequence of itemsets has is the reader's matter.
STATED_SPMF = {
    "spmf-msnbc": 31_790,
    "spmf-bms": 59_601,
    "spmf-sign": 730,
    "spmf-leviathan": 5_834,
    "spmf-bike": 21_078,
}
STATED_XES = {
    "bpic2013-incidents": (65_533, 7_554),
    "receipt": (8_577, 1_434),
    "helpdesk": (21_348, 4_580),
    "running-example": (42, 6),
}

# The column of persons, or of what stands for them, where there is one and each row is not one.
PERSONS = {
    "msnbc": "person",
    "desynpuf-claims": "DESYNPUF_ID",
    "desynpuf-beneficiaries": "DESYNPUF_ID",
    "sepsis": "case_id",
    "bpic2013-incidents": "case:concept:name",
    "receipt": "case:concept:name",
    "helpdesk": "case:concept:name",
    "running-example": "case:concept:name",
    "traffic-fines": "case_id",
    "hospital-billing": "case_id",
    "diabetes70": "patient",
    "mimic4demo-patients": "subject_id",
    "mimic4demo-admissions": "subject_id",
    "mimic4demo-diagnoses": "subject_id",
    "synthea-patients": "ID",
    "synthea-conditions": "PATIENT",
    "synthea-medications": "PATIENT",
    "foursquare-nyc": "label",
    "geolife11": "user",
    "mvad": "id",
    "fitbit": "Id",
    "hk-covid": "Case no.",
    **dict.fromkeys(("spmf-msnbc", "spmf-bms", "spmf-sign", "spmf-leviathan", "spmf-bike"), "person"),
}


@cache
def loaded(name, folder):
    return load(name, folder)


def test_every_data_set_has_a_stated_size():
    assert PUBLIC.keys() == STATED.keys() | STATED_SPMF.keys() | STATED_XES.keys()


@pytest.mark.real
@pytest.mark.parametrize(("name", "stated"), STATED.items())
def test_rows_and_persons(shared_data, name, stated):
    frame = loaded(name, shared_data)
    person = PERSONS.get(name)
    assert (len(frame), frame[person].n_unique() if person else None) == stated
    assert set(frame.dtypes) == {pl.String}
    assert [column.strip() for column in frame.columns] == frame.columns
    if person:
        assert frame[person].null_count() == 0


@pytest.mark.real
@pytest.mark.parametrize(("name", "persons"), STATED_SPMF.items())
def test_sequences_of_spmf(shared_data, name, persons):
    frame = loaded(name, shared_data)
    assert frame[PERSONS[name]].n_unique() == persons
    assert set(frame.dtypes) == {pl.String}


@pytest.mark.real
@pytest.mark.parametrize(("name", "stated"), STATED_XES.items())
def test_event_logs_in_xes(shared_data, name, stated):
    frame = loaded(name, shared_data)
    assert (len(frame), frame[PERSONS[name]].n_unique()) == stated
    assert set(frame.dtypes) == {pl.String}


@pytest.mark.real
@pytest.mark.parametrize("name", ["sepsis", "hospital-billing"])
def test_one_patient_is_called_na(shared_data, name):
    assert loaded(name, shared_data).filter(pl.col("case_id") == "NA").height > 0


@pytest.mark.real
def test_the_categories_of_msnbc_have_names(shared_data):
    clicks = loaded("msnbc", shared_data)
    assert clicks["symbol"].n_unique() == 17
    assert "frontpage" in set(clicks["symbol"].head(10))
    lengths = clicks.group_by("person").len()["len"]
    assert (lengths.max(), int((lengths == 1).sum())) == (14_795, 365_435)


@pytest.mark.real
def test_the_mimic_demo_has_its_centuries_back(shared_data):
    stays = loaded("mimic4demo-admissions", shared_data).join(
        loaded("mimic4demo-patients", shared_data), on="subject_id"
    )
    times = stays.select(
        pl.col("admittime", "dischtime").str.to_datetime("%Y-%m-%d %H:%M"),
        year=pl.col("anchor_year").cast(pl.Int32),
        died=pl.col("dod").str.to_date("%Y-%m-%d"),
    )
    assert (times["admittime"] <= times["dischtime"]).all()
    assert (times["admittime"].dt.year() - times["year"]).abs().max() < 20
    assert (times["died"] >= times["admittime"].dt.date()).all()


@pytest.mark.real
def test_numbers_of_activities_have_labels(shared_data):
    for name in ("kasteren-a", "kasteren-b", "kasteren-c"):
        labels = loaded(name, shared_data)["label"]
        assert labels.null_count() == 0
        assert not labels.str.contains("'").any()
    assert loaded("ordonez-a", shared_data).columns == ["Start time", "End time", "Activity"]
    assert loaded("diabetes70", shared_data)["code"].n_unique() == 24
    assert loaded("houston-crime", shared_data)["offense"].n_unique() == 7
    assert loaded("hh101", shared_data)["label"].n_unique() == 30


def put(folder, path, contents):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(gzip.compress(contents) if path.endswith(".gz") else contents)


def test_bare_carriage_returns_quotes_and_padded_headers(tmp_path):
    put(tmp_path, "kasteren/KA_as.csv.gz", b"Start time \tEnd time \tID\n1\t2\t6\n3\t4\t10\n")
    put(tmp_path, "kasteren/KA_activity_labels.csv.gz", b"ID\tlabel\r6\t' brush teeth'\r7\t''\r10\t'bed'\r\n")
    assert load("kasteren-a", tmp_path).to_dicts() == [
        {"Start time": "1", "End time": "2", "ID": "6", "label": "brush teeth"},
        {"Start time": "3", "End time": "4", "ID": "10", "label": "bed"},
    ]


def test_runs_of_tabs_and_a_line_of_dashes(tmp_path):
    text = b"Start time  \tEnd time\tActivity\t\r\n-----\t-----\t---\r\n1 2\t\t3 4\t\tSpare_Time\t\t\r\n"
    put(tmp_path, "uci_adl/OrdonezA_ADLs.txt.gz", text)
    assert load("ordonez-a", tmp_path).to_dicts() == [
        {"Start time": "1 2", "End time": "3 4", "Activity": "Spare_Time"}
    ]


def test_a_row_without_its_last_cell(tmp_path):
    put(
        tmp_path,
        "uci_diabetes70/diabetes70.tsv.gz",
        b"patient\tdate\ttime\tcode\tvalue\n01\td\tt\t0\n02\td\tt\t33\t009\n",
    )
    assert load("diabetes70", tmp_path).select("patient", "value").rows() == [("01", None), ("02", "009")]


@pytest.mark.parametrize(
    ("anchor", "written", "meant"),
    [("2196", "2/4/96", "2196-02-04"), ("2199", "12/31/01", "2201-12-31"), ("2101", "7/1/99", "2099-07-01")],
)
def test_two_digits_of_a_year_are_near_the_anchor(tmp_path, anchor, written, meant):
    put(
        tmp_path,
        "mimic4demo/patients.csv.gz",
        f"subject_id,anchor_year,dod\n1,{anchor},{written}\n2,2150,\n".encode(),
    )
    assert load("mimic4demo-patients", tmp_path)["dod"].to_list() == [meant, None]


def test_files_of_several_samples_are_stacked_in_order(tmp_path):
    for sample in (10, 2):
        name = f"desynpuf/DE1_0_2008_to_2010_Inpatient_Claims_Sample_{sample}.csv"
        put(tmp_path, name, f"DESYNPUF_ID\nP{sample}\n".encode())
    assert load("desynpuf-claims", tmp_path).rows() == [("2", "P2"), ("10", "P10")]


def test_an_unpacked_file_is_found_too(tmp_path):
    put(tmp_path, "sepsis/Sepsis.csv", b"case_id,activity\nNA,ER\n")
    assert load("sepsis", tmp_path).rows() == [("NA", "ER")]


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"Sepsis\.csv\.gz: no such file"):
        load("sepsis", tmp_path)
    (tmp_path / "desynpuf").mkdir()
    with pytest.raises(InputError, match="has no file called DE1_0"):
        load("desynpuf-claims", tmp_path)
    with pytest.raises(InputError, match=r"must be one of msnbc, .*, got 'mnist'"):
        load("mnist", tmp_path)


def test_a_file_is_read_wherever_it_lies(tmp_path):
    (tmp_path / "downloaded.csv").write_text("case_id,activity\na,x\n")
    assert load("sepsis", tmp_path / "downloaded.csv").rows() == [("a", "x")]
    sample = tmp_path / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_7.csv"
    sample.write_text("DESYNPUF_ID\np\n")
    assert load("desynpuf-claims", sample).rows() == [("7", "p")]
    (tmp_path / "diabetes.tsv").write_text("patient\tcode\tvalue\n1\t33\n")
    assert load("diabetes70", tmp_path / "diabetes.tsv").rows() == [("1", "33", None)]


def test_a_file_that_is_not_enough_or_not_the_one_is_refused(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    for name in ("kasteren-a", "mimic4demo-patients"):
        with pytest.raises(InputError, match=r"other\.csv: this data set has several files; name the folder"):
            load(name, other)
    with pytest.raises(InputError, match=r"other\.csv: is no file called DE1_0"):
        load("desynpuf-claims", other)
