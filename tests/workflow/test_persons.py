"""A table of persons in the configuration: read, drafted, inspected, and refused in one line."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sequester as sq
from sequester.errors import InputError
from sequester.workflow.config import Config, config_schema
from sequester.workflow.hierarchy import lint_hierarchies
from sequester.workflow.init import init
from sequester.workflow.inspect import inspect

VISITS = pl.DataFrame(
    {"PID": list("aabbccdd"), "n": [1, 2] * 4, "ward": list("xyxyxyxy"), "ill": ["flu", "gout"] * 4}
)
PATIENTS = pl.DataFrame(
    {"PID": list("abcde"), "Sex": list("ffmmm"), "Born": ["1950", "1951", "1960", "1961", "1961"]}
)
EVENTS = """
[data]
path = "visits.csv"
person = "PID"
order = "n"
[data.quasi.ward]
hierarchy = { kind = "flat" }
[data.sensitive.ill]
protect = ["HIV"]
"""
PERSONS = """
[data.persons]
path = "patients.csv"
[data.persons.quasi.Sex]
hierarchy = { kind = "flat" }
[data.persons.quasi.Born]
hierarchy = { kind = "intervals", width = [10] }
"""
METHOD = '[method]\nname = "halt"\nk = 2\nc = 1\np = 2\n[release]\npath = "out"\n'


@pytest.fixture
def folder(tmp_path):
    VISITS.write_csv(tmp_path / "visits.csv")
    PATIENTS.write_csv(tmp_path / "patients.csv")
    (tmp_path / "release.toml").write_text(EVENTS + PERSONS + METHOD)
    return tmp_path


def refusal(folder, text):
    (folder / "release.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        Config.load(folder / "release.toml").table()
    return list(caught.value.lines)


def test_both_tables_are_read(folder):
    table = sq.read(folder / "release.toml")
    assert (table.n_persons, table.n_events) == (5, 8)
    assert table.demographics.frame.select("Sex", "Born").rows()[:2] == [("f", "1950"), ("f", "1951")]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "tsv"])
def test_the_table_of_persons_may_have_any_format(folder, ending):
    path = folder / f"patients.{ending}"
    if ending == "parquet":
        PATIENTS.write_parquet(path)
    elif ending == "arrow":
        PATIENTS.write_ipc(path)
    else:
        PATIENTS.write_csv(path, separator="\t")
    (folder / "release.toml").write_text((EVENTS + PERSONS).replace("patients.csv", path.name))
    assert sq.read(folder / "release.toml").demographics.n_persons == 5


def test_without_a_path_columns_of_the_events_are_taken(folder):
    VISITS.join(PATIENTS, on="PID").write_csv(folder / "visits.csv")
    (folder / "release.toml").write_text((EVENTS + PERSONS).replace('path = "patients.csv"', ""))
    table = sq.read(folder / "release.toml")
    assert table.demographics.labels["Sex"] == ["f", "m"]
    assert "Sex" not in table.frame.columns


def test_problems_name_table_column_and_rows(folder):
    twice = pl.concat([PATIENTS, PATIENTS.head(1).with_columns(Sex=pl.lit("m"))])
    twice.write_csv(folder / "patients.csv")
    assert refusal(folder, EVENTS + PERSONS) == [
        (
            "persons: column 'PID': a person has several rows, and 'Sex' changes between them; "
            'invalid = "drop" takes the first row of each person (2 rows: 1, 6)'
        )
    ]
    PATIENTS.with_columns(PID=pl.Series([1, 2, 3, 4, 5])).write_parquet(folder / "patients.parquet")
    (line,) = refusal(folder, (EVENTS + PERSONS).replace("patients.csv", "patients.parquet"))
    assert "'00501' and '501' are not the same person" in line


def test_wrong_keys_are_named_in_full(folder):
    assert refusal(folder, EVENTS + PERSONS.replace("width = [10]", 'width = "10"'))[0].startswith(
        "release.toml: data.persons.quasi.Born.hierarchy.width must be"
    )
    assert refusal(folder, EVENTS + PERSONS + "[data.persons.symbol]\n")[0].startswith(
        "release.toml: data.persons.symbol"
    )
    (line,) = refusal(folder, EVENTS + PERSONS.replace("patients.csv", "nobody.csv"))
    assert "nobody.csv" in line


def test_the_schema_describes_the_table(folder):
    properties = config_schema()["$defs"]["DataSettings"]["properties"]
    assert "persons" in properties
    own = config_schema()["$defs"]["PersonsSettings"]["properties"]
    assert set(own) == {
        "path", "query", "table", "format", "delimiter", "encoding", "person",
        "drop", "keep", "quasi", "sensitive"
    }  # fmt: skip


def test_init_drafts_both_tables(folder):
    proposed = init(folder / "visits.csv", folder / "new.toml", persons=folder / "patients.csv")
    proposed.write()
    config = Config.load(folder / "new.toml")
    assert set(config.settings.data.persons.quasi) == {"Sex", "Born"}
    assert config.table().demographics.n_persons == 5
    assert json.loads(json.dumps(proposed.to_json()))["persons"]["person"] == "PID"


def test_init_notices_columns_that_never_change_within_a_person(folder):
    VISITS.join(PATIENTS, on="PID").write_csv(folder / "visits.csv")
    init(folder / "visits.csv", folder / "new.toml").write()
    text = (folder / "new.toml").read_text()
    assert "# Never changes within a person, and so is an attribute of persons: Sex, Born." in text
    assert "#[data.persons.quasi.Born]" in text
    init(folder / "visits.csv", folder / "new.toml", force=True).write()


def test_init_refuses_a_table_without_the_keys(folder):
    PATIENTS.with_columns(PID=pl.Series(list("vwxyz"))).write_csv(folder / "patients.csv")
    with pytest.raises(InputError, match="no column has the keys of persons"):
        init(folder / "visits.csv", folder / "new.toml", persons=folder / "patients.csv")


def test_inspect_counts_attributes_alone_and_with_events(folder):
    found = inspect(sq.read(folder / "release.toml"))
    alone = {each.known: each.unique.value for each in found.exposures if each.kind == "demographics"}
    # a and b are unique by their birth years, c by its own; d and e share both attributes.
    assert alone == {1: 0.6, 2: 0.6, 3: 0.6}
    mixed = {each.known: each.unique.value for each in found.exposures if each.kind == "ordered"}
    assert mixed[2] == 0.8
    assert "quasi of persons" in repr(found)


def test_hierarchies_of_attributes_are_linted(folder):
    assert [each.attribute for each in lint_hierarchies(folder / "release.toml")] == ["Sex", "Born", "ward"]


def test_advice_counts_the_columns_of_persons(folder):
    (folder / "release.toml").write_text(
        EVENTS + PERSONS + '[data.persons.sensitive.Faith]\nprotect = "all"\n' + METHOD
    )
    PATIENTS.with_columns(Faith=pl.Series(list("xyxyx"))).write_csv(folder / "patients.csv")
    advice = sq.advise(folder / "release.toml", recipient="partner", known="few", keep="records", seconds=0)
    assert "2 attributes of persons that may be known" in advice.shape
    assert "sensitive: ill, Faith" in advice.shape
    assert advice.recommended.method.name == "halt"
