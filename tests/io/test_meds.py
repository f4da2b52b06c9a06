"""MEDS folders: events, attributes of persons, the hierarchy of codes, and what is refused."""

from __future__ import annotations

import datetime as dt
import json

import polars as pl
import pytest

from sequester.datasets.hospital import make, make_meds, make_persons
from sequester.errors import InputError
from sequester.io.clinical import Meds, open_clinical, recognize

DAY = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - MEDS has no time zones
LATER = dt.datetime(2020, 1, 2, 8, 30)  # noqa: DTZ001
BORN = dt.datetime(1950, 5, 5)  # noqa: DTZ001
SCHEMA = {
    "subject_id": pl.Int64,
    "time": pl.Datetime("us"),
    "code": pl.String,
    "numeric_value": pl.Float32,
    "text_value": pl.String,
}
ROWS = [
    (1, None, "GENDER//F", None, None),
    (1, None, "HEIGHT", 1.5, None),
    (1, None, "DONOR", None, None),
    (1, BORN, "MEDS_BIRTH", None, None),
    (1, DAY, "LAB//glucose//mg", 98.6, None),
    (1, LATER, "DX//flu", None, None),
    (2, None, "GENDER//M", None, None),
    (2, None, "GENDER//X", None, None),
    (2, DAY, "DX//cold", None, None),
]
CODES = {"DX//flu": ["viral", "lung"], "DX//cold": ["viral"], "DX//asthma": ["lung"], "viral": ["ill"]}


def put(folder, rows=ROWS, codes=CODES, version="0.4.1", name="data/train/0.parquet"):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "metadata").mkdir(exist_ok=True)
    pl.DataFrame(rows, SCHEMA, orient="row").write_parquet(folder / name)
    pl.DataFrame(
        {"code": [*codes], "parent_codes": [*codes.values()]},
        schema={"code": pl.String, "parent_codes": pl.List(pl.String)},
    ).write_parquet(folder / "metadata/codes.parquet")
    (folder / "metadata/dataset.json").write_text(json.dumps({"meds_version": version}))
    return folder


def test_events_have_a_time(tmp_path):
    put(tmp_path, ROWS[6:], name="data/held_out/0.parquet")
    put(tmp_path, ROWS[:6])
    assert recognize(tmp_path) == "meds"
    events = Meds(tmp_path).events()
    assert events.columns == ["subject_id", "time", "code", "numeric_value"]
    assert events.select("subject_id", "time", "code").rows() == [
        (1, DAY, "LAB//glucose//mg"),
        (1, LATER, "DX//flu"),
        (2, DAY, "DX//cold"),
    ]


def test_what_has_no_time_is_an_attribute_of_the_person(tmp_path):
    persons = Meds(put(tmp_path)).persons()
    assert persons.columns == ["subject_id", "GENDER", "HEIGHT", "DONOR", "year_of_birth"]
    assert persons.rows() == [
        (1, "F", "1.5", "yes", "1950"),
        # Two values of one attribute are two rows, about which `invalid` decides.
        (2, "M", None, None, None),
        (2, "X", None, None, None),
    ]


def test_persons_without_attributes_are_only_keys(tmp_path):
    assert Meds(put(tmp_path, ROWS[4:6])).persons().rows() == [(1,)]


def test_the_hierarchy_is_a_tree_of_parent_codes(tmp_path):
    opened = Meds(put(tmp_path))
    assert opened.has_hierarchy()
    tree = opened.hierarchy().build(["DX//flu", "DX//cold", "DX//asthma", "LAB"], column="code")
    # Both parents of flu have two codes below them: the first by name is taken.
    assert str(tree) == ("* (4 leaves)\n  DX//cold\n  LAB\n  lung (2 leaves)\n    DX//asthma\n    DX//flu")


def test_a_cycle_names_its_codes(tmp_path):
    opened = Meds(put(tmp_path, codes={"DX//flu": ["a"], "a": ["b"], "b": ["a"]}))
    with pytest.raises(InputError, match=r"codes.parquet has a cycle: '[ab]' under '[ab]' under '[ab]'"):
        opened.hierarchy().build(["DX//flu"], column="code")


@pytest.mark.parametrize(
    ("version", "is_read"), [("0.3.3", True), ("0.4", True), ("0.2.1", False), ("1.0", False)]
)
def test_versions(tmp_path, version, is_read):
    put(tmp_path, version=version)
    if is_read:
        assert Meds(tmp_path).events().height == 3
    else:
        with pytest.raises(InputError, match=rf"meds_version is '{version}'; 0\.3 and 0\.4 can be read"):
            Meds(tmp_path)


def test_an_earlier_version_without_metadata(tmp_path):
    put(tmp_path)
    (tmp_path / "metadata/dataset.json").unlink()
    path = tmp_path / "data/train/0.parquet"
    pl.read_parquet(path).rename({"subject_id": "patient_id"}).write_parquet(path)
    with pytest.raises(
        InputError, match=r"has no column 'subject_id', .*patient_id is of an earlier version"
    ):
        Meds(tmp_path).events()


def test_what_is_refused(tmp_path):
    put(tmp_path, codes={})
    with pytest.raises(InputError, match=r"codes\.parquet has no parent_codes; use hierarchy"):
        Meds(tmp_path).hierarchy()
    (tmp_path / "metadata/dataset.json").write_text("{")
    with pytest.raises(InputError, match=r"dataset\.json: is no JSON"):
        Meds(tmp_path)
    put(tmp_path, ROWS[:4])
    with pytest.raises(InputError, match="no event has a time"):
        Meds(tmp_path).events()
    path = tmp_path / "data/train/0.parquet"
    pl.read_parquet(path).cast({"time": pl.String}).write_parquet(path)
    with pytest.raises(InputError, match="column 'time' must be timestamps, it is String"):
        Meds(tmp_path).events()
    path.unlink()
    with pytest.raises(InputError, match="is no MEDS folder, it has no Parquet file under data"):
        open_clinical(tmp_path, "meds")


def test_other_columns_are_named_and_not_read(tmp_path):
    path = put(tmp_path) / "data/train/0.parquet"
    pl.read_parquet(path).with_columns(hadm_id=1).write_parquet(path)
    opened = Meds(tmp_path)
    assert opened.notes == (f"{tmp_path}: 1 column beyond those of MEDS not read: 'hadm_id'",)
    assert "hadm_id" not in opened.events().columns


def test_what_is_made_is_read_back(tmp_path):
    for name, content in make_meds(persons=40, seed="forty persons").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    opened = Meds(tmp_path)
    events = opened.events()
    visits = make(persons=40, seed="forty persons")
    found = events.filter(pl.col("code").str.starts_with("DIAGNOSIS//"))
    number = visits["PID"].str.extract(r"(\d+)$").cast(pl.Int64)
    assert sorted(zip(found["subject_id"], found["code"].str.slice(11), strict=True)) == sorted(
        zip(number, visits["Disease"], strict=True)
    )
    stays = events.filter(pl.col("code") == "ADMISSION")["numeric_value"].cast(pl.Int64)
    assert sorted(stays) == sorted(visits["LOS"])
    patients = make_persons(persons=40, seed="forty persons")
    assert opened.persons()["GENDER"].to_list() == patients["Sex"].to_list()
    assert opened.persons()["year_of_birth"].cast(pl.Int64).to_list() == patients["BirthYear"].to_list()
    assert "GROUP//Infection" in opened.hierarchy().build(events["code"], column="code").labels


@pytest.mark.real
def test_mimic(shared_data):
    opened = Meds(shared_data / "meds_mimic4demo")
    assert opened.events().height == 112_134
    assert opened.persons().columns == ["subject_id", "GENDER", "year_of_birth"]
    assert opened.persons().height == 20
    assert opened.has_hierarchy()
