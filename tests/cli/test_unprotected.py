"""What the commands say about kept columns and unprotected sensitive values, and how they end."""

from __future__ import annotations

import polars as pl
import pytest

from oracles import singling_out as oracle
from sequester.attacks.singling_out import SinglingOut
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets.public import load as read_public
from sequester.hierarchies.hierarchy import Hierarchy

TOML = """
[data]
path = "visits.csv"
person = "who"
order = "n"
keep = ["ward", "bed"]
[data.quasi.zip]
hierarchy = { kind = "flat" }
[data.sensitive.ill]
protect = ["HIV"]
[method]
name = "halt"
k = 2
c = 0.9
p = 1
[release]
path = "out"
"""
ADMISSIONS = ("admission_type", "admission_location", "discharge_location", "insurance", "language", "race")


@pytest.fixture
def visits(tmp_path):
    frame = pl.DataFrame(
        {
            "who": range(40),
            "n": 1,
            "zip": "1",
            "ill": ["HIV"] + ["flu"] * 39,
            "ward": [who % 6 for who in range(36)] + [0] * 4,
            "bed": [who // 6 for who in range(36)] + [0] * 4,
        }
    )
    frame.write_csv(tmp_path / "visits.csv")
    (tmp_path / "release.toml").write_text(TOML)
    return tmp_path


def accept(folder):
    (folder / "release.toml").write_text(TOML + "accept_unprotected = true\n")


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--quick",)])
def test_kept_columns_without_consent_end_with_2(visits, run, options):
    ran = run("protect", "release.toml", *options)
    assert ran.code == 2
    (line,) = ran.errors
    assert "kept columns alone single out 87.5% of the persons (35 of 40)" in line
    assert "most of it by ward, then bed" in line
    assert "accept_unprotected = true" in line
    assert not (visits / "out").exists()


def test_the_figures_are_on_the_terminal_and_in_the_document(visits, run):
    accept(visits)
    ran = run("protect", "release.toml", "--quick")
    assert ran.code == 0
    assert "beyond the promise: 90.0% of the persons (36 of 40) are singled out by everything" in ran.out
    assert "the kept columns alone single out 87.5%" in ran.out
    assert "unprotected values of ill alone single out 0%" in ran.out
    assert any("kept columns alone" in line for line in ran.warnings)
    document = run("protect", "release.toml", "--quick", "--json", "--force").document["singled_out"]
    assert (document["kept"], document["sensitive"], document["released"]) == (0.875, 0, 0.9)
    assert (
        document == run("protect", "release.toml", "--dry-run", "--json", "--force").document["singled_out"]
    )
    assert document == run("inspect", "release.toml", "--json").document["singled_out"]


def test_consent_changes_no_byte_of_the_tables(visits, run):
    text = TOML.replace('keep = ["ward", "bed"]', 'keep = ["ward"]\ndrop = ["bed"]')
    tables = []
    for more in ("", "accept_unprotected = true\n"):
        (visits / "release.toml").write_text(text + more)
        assert run("protect", "release.toml", "--quick", "--force", "--seed", "a long enough seed").code == 0
        tables.append(
            [(visits / "out/release" / name).read_bytes() for name in ("events.csv", "events.parquet")]
        )
    assert tables[0] == tables[1]


def test_attack_reports_every_released_column(visits, run):
    accept(visits)
    assert run("protect", "release.toml", "--quick").code == 0
    ran = run(
        "attack", "out/release", "--original", "release.toml", "--known", "1-2", "--targets", "80", "--json"
    )
    assert ran.code == 0
    attacks = ran.document["attacks"]
    for kind in ("kept", "released"):
        (alone,) = [
            each for each in attacks if (each["name"], each["kind"], each["known"]) == ("unique", kind, 2)
        ]
        assert alone["bound"] is None
        assert alone["release"]["value"] > 0
    whole = {each["kind"]: each for each in attacks if each["name"] == "singled_out"}
    assert whole["kept_record"]["release"]["value"] == 0.875
    assert whole["whole_record"]["raw"]["value"] == 0.9


def test_compare_and_advise_show_it_and_refuse_nothing(visits, run):
    ran = run("compare", "release.toml", "--methods", "halt", "--targets", "20", "--quiet")
    assert ran.code == 0
    assert "90.0% of the persons are singled out by everything that is released" in ran.out
    assert "singled_out_by_kept" in (visits / "sequester-compare/candidates.csv").read_text()
    ran = run(
        "advise",
        "release.toml",
        "--recipient",
        "public",
        "--known",
        "few",
        "--keep",
        "records",
        "--release",
        "once",
    )
    assert ran.code == 0
    assert "kept columns alone single out 87.5%" in ran.out
    assert "accept_unprotected" in ran.out


@pytest.mark.real
def test_columns_of_hospital_admissions_that_seem_harmless_single_patients_out(run, tmp_path, shared_data):
    frame = read_public("mimic4demo-admissions", shared_data)
    frame.select(
        "subject_id", "admittime", "hospital_expire_flag", "marital_status", *ADMISSIONS
    ).write_parquet(tmp_path / "admissions.parquet")
    text = f"""
        [data]
        path = "admissions.parquet"
        person = "subject_id"
        time = "admittime"
        keep = {list(ADMISSIONS)}
        [data.quasi.marital_status]
        hierarchy = {{ kind = "flat" }}
        [data.sensitive.hospital_expire_flag]
        protect = ["1"]
        [method]
        name = "cblda"
        k = 5
        c = 0.5
        [release]
        path = "out"
        """
    (tmp_path / "release.toml").write_text(text)
    ran = run("protect", "release.toml", "--quick")
    assert ran.code == 2
    assert "alone single out" in ran.errors[0]
    (tmp_path / "release.toml").write_text(text + "accept_unprotected = true")
    document = run("protect", "release.toml", "--quick", "--json").document
    rows = pl.read_csv(tmp_path / "out/release/events.csv", infer_schema=False)
    records = [
        [tuple(row) for row in own.select(ADMISSIONS).rows()]
        for own in rows.partition_by("person", maintain_order=True)
    ]
    assert document["holds"]
    assert document["singled_out"]["kept"] == len(oracle.singled_out(records)) / len(records) > 0.5
    assert document["singled_out"]["kept_one_event"] == len(oracle.by_one_event(records)) / len(records)


@pytest.mark.real
def test_long_histories_of_diabetes_patients(shared_data):
    frame = read_public("diabetes70", shared_data).with_row_index("n")
    schema = Schema(
        person="patient",
        order="n",
        quasi={"code": Hierarchy.flat()},
        keep=["value"],
        drop=["date", "time"],
    )
    found = SinglingOut.of(EventTable(frame, schema))
    # Everybody's whole history of measured values is their own; hardly anybody's is by one of them.
    assert found.by_kept == found.by_all == found.persons == 70
    values = frame.group_by("value").agg(pl.col("patient").unique())
    alone = values.filter(pl.col("patient").list.len() == 1)["patient"].list.first().n_unique()
    assert found.by_kept_event == alone
