"""A release of MEDS input is a MEDS dataset again, made of the tables and of nothing else."""

from __future__ import annotations

import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from meds import CodeMetadataSchema, DataSchema, DatasetMetadataSchema

from sequester.datasets.hospital import make_meds
from sequester.errors import InputError
from sequester.io.clinical import Meds
from sequester.verification.verify import open_parts as open_release
from sequester.verification.verify import verify
from sequester.workflow.protect import protect
from verification.doctoring import rehash

CONFIG = """
[data]
path = "hospital"
format = "meds"
person = "subject_id"
time = "time"
[data.quasi.code]
hierarchy = { path = "hospital", format = "meds" }
[data.quasi.numeric_value]
hierarchy = { kind = "quantiles", bins = [4, 2] }
[data.sensitive.code]
protect = ["DIAGNOSIS//HIV", "DIAGNOSIS//Cancer"]
[data.persons.quasi.GENDER]
hierarchy = { kind = "flat" }
[data.persons.quasi.year_of_birth]
hierarchy = { kind = "intervals", width = [20, 40] }
[method]
name = "halt"
k = 3
c = 0.8
p = 1
[release]
title = "Visits"
"""
DATA, CODES = "meds/data/0.parquet", "meds/metadata/codes.parquet"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("meds")
    for name, content in make_meds(persons=60, seed="sixty persons").items():
        (place / "hospital" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "hospital" / name).write_bytes(content)
    (place / "release.toml").write_text(CONFIG)
    protect(place / "release.toml", out=place / "out", seed="a sentence nobody guesses", quick=True)
    return place


@pytest.fixture
def folder(made, tmp_path):
    for path in (made / "out/release").rglob("*"):
        if path.is_file():
            to = tmp_path / path.relative_to(made / "out/release")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    return tmp_path


def test_it_is_valid_by_the_schemas_of_meds(made):
    release = made / "out/release"
    data, codes = pq.read_table(release / DATA), pq.read_table(release / CODES)
    DataSchema.validate(data)
    CodeMetadataSchema.validate(codes)
    about = json.loads((release / "meds/metadata/dataset.json").read_text())
    DatasetMetadataSchema.validate(about)
    assert about["dataset_name"] == "Visits"
    data = pl.DataFrame(data)
    # Subjects stand together, attributes before events, and events by time.
    assert data.equals(data.sort("subject_id", "time", nulls_last=False, maintain_order=True))
    assert set(data["code"]) <= set(pl.DataFrame(codes)["code"])


def test_it_says_what_the_tables_say(made):
    opened = open_release(made / "out/release")
    events, persons = opened.frame, opened.persons
    events = events.select("person", "order", "code", "numeric_value")
    data = pl.read_parquet(made / "out/release" / DATA)
    subjects = dict(zip(persons["person"], range(1, 61), strict=True))
    expected = sorted(
        (subjects[person], order, code, number) for person, order, code, number in events.iter_rows()
    )
    timed = data.filter(pl.col("time").is_not_null())
    order = timed["time"].dt.epoch("s") + 1
    found = zip(timed["subject_id"], order, timed["code"], timed["numeric_value_range"], strict=True)
    assert sorted(found) == expected
    assert timed["artificial_time"].all()
    static = data.filter(pl.col("time").is_null())
    assert static.group_by("subject_id").agg("code").sort("subject_id").rows() == [
        (subject, [f"GENDER//{sex}", f"year_of_birth//{born}"])
        for subject, (sex, born) in enumerate(persons.select("GENDER", "year_of_birth").iter_rows(), start=1)
    ]
    # Only nodes that are released are named, and no descriptions.
    codes = pl.read_parquet(made / "out/release" / CODES)
    nodes = {*opened.hierarchies["code"]["node"]}
    assert {code for code in codes["code"] if not code.startswith(("GENDER//", "year_of_birth//"))} <= nodes
    assert codes["description"].null_count() == codes.height
    parents = dict(opened.hierarchies["code"].select("node", "parent").iter_rows())
    for code, above in codes.select("code", "parent_codes").iter_rows():
        if code in parents and parents[code] not in ("*", ""):
            assert above == [parents[code]]


def test_it_can_be_read_again(made):
    again = Meds(made / "out/release/meds")
    assert again.events().height == open_release(made / "out/release").frame.height
    assert again.persons().height == 60


def test_it_is_verified(made):
    assert verify(made / "out/release")


def change_a_code(data):
    codes = data["code"].to_pylist()
    codes[-1] = "DIAGNOSIS//HIV"
    return data.set_column(data.schema.get_field_index("code"), "code", pa.array(codes))


def add_a_column(data):
    return data.append_column("hadm_id", pa.array(range(data.num_rows)))


def add_metadata(data):
    return data.replace_schema_metadata({"name": "Ann"})


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        (
            DATA,
            change_a_code,
            "data/0.parquet and the tables differ: 1 values of 'code', the first in event",
        ),
        (DATA, add_a_column, "differ: attributes"),
        (DATA, add_metadata, "is not written as a release is: it carries something else"),
        (DATA, lambda data: data.slice(1), "events"),
        (CODES, lambda codes: pa.concat_tables([codes, codes.slice(0, 1)]), "codes.parquet"),
        (CODES, add_metadata, "is not written as a release is"),
    ],
)
def test_a_doctored_file_is_caught(folder, name, change, line):
    pq.write_table(change(pq.read_table(folder / name)), folder / name)
    rehash(folder)
    verified = verify(folder)
    assert not verified
    assert line in verified.lines[0]


def test_a_description_that_says_more(folder):
    path = folder / "meds/metadata/dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"site": "St. Anne"}))
    rehash(folder)
    assert verify(folder).lines == (
        "meds/metadata/dataset.json: is not written as a release is: it carries something else",
    )


def test_a_file_beyond_and_one_that_is_missing(folder):
    (folder / "meds/metadata/subject_splits.parquet").write_bytes(b"x")
    rehash(folder)
    assert "is no file that a release of this kind has" in verify(folder).lines[0]
    (folder / "meds/metadata/subject_splits.parquet").unlink()
    (folder / CODES).unlink()
    rehash(folder)
    with pytest.raises(InputError, match=f"the certificate lists no {CODES}"):
        verify(folder)
    (folder / CODES).write_bytes(b"PAR1")
    rehash(folder)
    with pytest.raises(InputError, match=f"{CODES} is not readable as Parquet"):
        verify(folder)
