"""Folders of clinical data from the command line: drafted, inspected, protected, verified, refused."""

from __future__ import annotations

import tomllib

import pytest

SENSITIVE = '[data.sensitive.concept]\nprotect = ["HIV", "Cancer"]\n'
METHOD = '[method]\nname = "halt"\nk = 2\nc = 0.9\np = 1\n'


@pytest.fixture
def omop(run, tmp_path):
    assert (
        run("datasets", "make", "hospital", "--format", "omop", "--persons", "60", "--out", "cdm").code == 0
    )
    return tmp_path / "cdm"


def test_omop_from_folder_to_release(run, omop, tmp_path):
    assert run("init", "cdm").code == 0
    text = (tmp_path / "release.toml").read_text()
    drafted = tomllib.loads(text)["data"]
    assert drafted["format"] == "omop"
    assert drafted["tables"] == ["visit_occurrence", "condition_occurrence"]
    assert drafted["quasi"]["concept"]["hierarchy"] == {"path": "cdm", "format": "omop"}
    assert set(drafted["persons"]["quasi"]) == {"year_of_birth", "gender"}
    (tmp_path / "release.toml").write_text(text.replace("#[data.sensitive.concept]", f"{SENSITIVE}{METHOD}#"))
    assert run("inspect", "release.toml").code == 0
    assert run("protect", "release.toml", "--seed", "a sentence nobody guesses").code == 0
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    assert (tmp_path / "out/release/persons.csv").read_text().startswith("person,year_of_birth,gender\n")


@pytest.mark.parametrize("command", [("init", "cdm", "--out", "new.toml"), ("protect", "made.toml")])
def test_omop_without_persons(run, omop, tmp_path, command):
    text = '[data]\npath = "cdm"\nformat = "omop"\nperson = "person_id"\ntime = "date"\ndrop = ["table"]\n'
    (tmp_path / "made.toml").write_text(f'{text}{SENSITIVE}{METHOD}[release]\npath = "out"\n')
    (omop / "person.parquet").unlink()
    ran = run(*command)
    assert ran.code == 2
    assert ran.errors == ["cdm: is no OMOP folder, it has no table person"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cdm", "made.toml"]


def test_tables_are_of_omop(run, tmp_path):
    (tmp_path / "made.toml").write_text(
        '[data]\npath = "v.csv"\nperson = "p"\norder = "n"\ntables = ["death"]\n'
    )
    ran = run("inspect", "made.toml")
    assert ran.code == 2
    assert "data.tables chooses tables of an OMOP folder" in ran.errors[0]


def test_a_folder_is_never_replaced(run, omop):
    ran = run("datasets", "make", "hospital", "--format", "omop", "--out", "cdm", "--force")
    assert ran.code == 2
    assert ran.errors == ["cdm exists already; name another folder"]
    assert run("datasets", "make", "clicks", "--format", "omop", "--out", "other").code == 2


@pytest.fixture
def fhir(run, tmp_path):
    made = run("datasets", "make", "hospital", "--format", "fhir", "--persons", "60", "--out", "bulk")
    assert made.code == 0
    return tmp_path / "bulk"


def test_fhir_is_drafted_and_inspected(run, fhir, tmp_path):
    assert run("init", "bulk").code == 0
    text = (tmp_path / "release.toml").read_text()
    drafted = tomllib.loads(text)["data"]
    assert drafted["format"] == "fhir"
    assert set(drafted["persons"]["quasi"]) == {"year_of_birth", "gender"}
    (tmp_path / "release.toml").write_text(text.replace("#[data.sensitive.concept]", f"{SENSITIVE}#"))
    assert run("inspect", "release.toml").code == 0


def test_fhir_is_converted_to_two_tables(run, fhir, tmp_path):
    ran = run("convert", "bulk", "events.csv")
    assert ran.code == 0
    assert ran.out.splitlines()[1] == "events.persons.csv: the persons"
    assert (tmp_path / "events.csv").read_text().startswith("person_id,date,table,concept\n")
    assert (tmp_path / "events.persons.csv").read_text().startswith("person_id,year_of_birth,gender\n1,")
    assert run("convert", "bulk", "events.csv").code == 2
    assert run("init", "events.csv", "--persons", "events.persons.csv").code == 0


@pytest.mark.parametrize("command", [("init", "bulk"), ("convert", "bulk", "events.csv")])
def test_fhir_with_a_broken_line(run, fhir, tmp_path, command):
    with (fhir / "Patient.ndjson").open("a") as file:
        file.write('{"resourceType":')
    ran = run(*command)
    assert ran.code == 2
    assert ran.errors == ["bulk/Patient.ndjson: line 61 is no JSON (Expecting value)"]
    assert [path.name for path in tmp_path.iterdir()] == ["bulk"]


@pytest.fixture
def meds(run, tmp_path):
    made = run("datasets", "make", "hospital", "--format", "meds", "--persons", "60", "--out", "events")
    assert made.code == 0
    return tmp_path / "events"


def test_meds_from_folder_to_a_meds_release(run, meds, tmp_path):
    assert run("init", "events").code == 0
    text = (tmp_path / "release.toml").read_text()
    drafted = tomllib.loads(text)["data"]
    assert drafted["format"] == "meds"
    assert drafted["quasi"]["code"]["hierarchy"] == {"path": "events", "format": "meds"}
    assert set(drafted["persons"]["quasi"]) == {"GENDER", "year_of_birth"}
    sensitive = '[data.sensitive.code]\nprotect = ["DIAGNOSIS//HIV"]\n'
    (tmp_path / "release.toml").write_text(text.replace("#[data.sensitive.code]", f"{sensitive}{METHOD}#"))
    assert run("protect", "release.toml", "--seed", "a sentence nobody guesses", "--quick").code == 0
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    files = sorted(path.name for path in (tmp_path / "out/release/meds").rglob("*") if path.is_file())
    assert files == ["0.parquet", "codes.parquet", "dataset.json"]
    # A recipient can begin with the released dataset as with any other.
    assert run("init", "out/release/meds", "--out", "again.toml").code == 0


@pytest.mark.parametrize("command", [("init", "events"), ("convert", "events", "events.csv")])
def test_meds_of_another_version(run, meds, tmp_path, command):
    (meds / "metadata/dataset.json").write_text('{"meds_version": "0.1.0"}')
    ran = run(*command)
    assert ran.code == 2
    assert ran.errors == ["events/metadata/dataset.json: meds_version is '0.1.0'; 0.3 and 0.4 can be read"]
    assert [path.name for path in tmp_path.iterdir()] == ["events"]


def test_meds_without_the_column_of_codes(run, meds, tmp_path):
    config = """
        [data]
        path = "events"
        format = "meds"
        person = "subject_id"
        time = "time"
        drop = ["code"]
        [data.quasi.numeric_value]
        hierarchy = { kind = "quantiles", bins = [4, 2] }
        [data.persons]
        drop = ["GENDER"]
        [data.persons.sensitive.year_of_birth]
        protect = ["1950"]
    """
    (tmp_path / "made.toml").write_text(f'{config}\n{METHOD}[release]\npath = "out"\n')
    ran = run("protect", "made.toml", "--quick", "--seed", "a sentence nobody guesses")
    assert ran.code == 0
    assert "meds is not written: MEDS needs a column code" in ran.warnings
    assert not (tmp_path / "out/release/meds").exists()
