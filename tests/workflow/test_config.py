"""The configuration: everything the interface describes is understood, and nothing else is."""

from __future__ import annotations

import polars as pl
import pytest

import sequester as sq
from sequester.datasets import hospital
from sequester.errors import InputError
from sequester.workflow.config import Config, read

# The example of the interface, but for what comes later: the method that it names.
FULL = """
[data]
path   = "visits.csv"
format = "csv"
delimiter = ";"
encoding  = "latin-1"
person = "PID"
time = ["date", "clock"]
time_format = "%Y%m%d %H:%M"
tie    = "claim"
drop   = ["name", "ssn"]
keep   = ["ward"]
invalid = "drop"

[data.derive]
AdmYr = "year"
DSFC  = "days_since_first_in_year"

[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.LOS]
hierarchy = { kind = "intervals", width = [7, 28], origin = 0 }
max_level = 2
never_suppress = ["0"]
weight = 2
[data.quasi.AdmYr]
hierarchy = { path = "AdmYr.csv" }
[data.quasi.DSFC]
hierarchy = { kind = "quantiles", bins = [20, 5] }
[data.quasi.Sex]
hierarchy = { kind = "flat" }
[data.quasi.Born]
hierarchy = { kind = "dates", levels = ["month", "quarter", "year"] }
[data.quasi.Drink.hierarchy]
kind = "tree"
[data.quasi.Drink.hierarchy.tree]
Alcohol = ["Beer", "Wine"]
Soft = { Cold = ["Cola"], Hot = ["Tea"] }

[data.sensitive.Disease]
columns = ["D1", "D2"]
protect = { prefix = ["042", "V51"], range = ["634-639"] }
[data.sensitive.Drug]
protect = "all"
[data.sensitive.Ward2]
protect = ["HIV", "Cancer"]
"""


def test_every_key_of_the_interface_finds_its_place(tmp_path):
    (tmp_path / "AdmYr.csv").write_text("2008;*\n2009;*\n")
    (tmp_path / "release.toml").write_text(FULL)
    schema = Config.load(tmp_path / "release.toml").schema
    assert (schema.person, schema.order, schema.time) == ("PID", None, ("date", "clock"))
    assert (schema.time_format, schema.tie, schema.invalid) == ("%Y%m%d %H:%M", "claim", "drop")
    assert (schema.drop, schema.keep) == (("name", "ssn"), ("ward",))
    assert schema.derive == {"AdmYr": "year", "DSFC": "days_since_first_in_year"}
    assert list(schema.quasi) == ["ZIP", "LOS", "AdmYr", "DSFC", "Sex", "Born", "Drink"]
    los = schema.quasi["LOS"]
    assert (los.max_level, los.never_suppress, los.weight) == (2, ("0",), 2)
    assert schema.quasi["ZIP"].hierarchy == sq.Hierarchy.mask([3, 1])
    assert los.hierarchy == sq.Hierarchy.intervals([7, 28], origin=0)
    assert schema.quasi["AdmYr"].hierarchy == sq.Hierarchy.read(tmp_path / "AdmYr.csv", format="arx")
    assert schema.quasi["DSFC"].hierarchy == sq.Hierarchy.quantiles([20, 5])
    assert schema.quasi["Sex"].hierarchy == sq.Hierarchy.flat()
    assert schema.quasi["Born"].hierarchy == sq.Hierarchy.dates(["month", "quarter", "year"])
    drinks = schema.quasi["Drink"].hierarchy.build(["Beer"], column="Drink")
    assert drinks.labels == ("*", "Alcohol", "Beer", "Wine", "Soft", "Cold", "Cola", "Hot", "Tea")
    assert schema.sensitive["Disease"].columns == ("D1", "D2")
    assert schema.sensitive["Disease"].protect == sq.Protect(prefix=("042", "V51"), range=("634-639",))
    assert schema.sensitive["Drug"].protect == "all"
    assert schema.sensitive["Ward2"].columns == ("Ward2",)
    assert schema.sensitive["Ward2"].protect == sq.Protect(values=("HIV", "Cancer"))


def test_a_table_with_quasi_identifiers_is_read(tmp_path):
    hospital.make(persons=50).write_csv(tmp_path / "visits.csv")
    (tmp_path / "release.toml").write_text(
        """
        [data]
        path = "visits.csv"
        person = "PID"
        order = "VID"
        [data.quasi]
        AdmYr = { hierarchy = { kind = "flat" } }
        ZIP = { hierarchy = { kind = "mask", levels = [3, 1] } }
        DSFC = { hierarchy = { kind = "intervals", width = [7, 28] } }
        LOS = { hierarchy = { kind = "intervals", width = [7] } }
        [data.sensitive.Disease]
        protect = ["HIV"]
        """
    )
    table = read(tmp_path / "release.toml")
    assert table.n_persons == 50
    assert set(table.hierarchies) == {"AdmYr", "ZIP", "DSFC", "LOS"}
    assert table.protected == {"Disease": frozenset({"HIV"})}
    assert sq.read(str(tmp_path / "release.toml")).frame.equals(table.frame)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("c.seq", ""),
        ("c.txt", 'format = "seq"'),
        ("c.seq", 'person = "row"'),
        ("c.seq", 'person = "person"\norder = "order"\n[data.symbol]\ncolumn = "symbol"'),
    ],
)
def test_sequence_files_imply_their_roles(tmp_path, name, more):
    (tmp_path / name).write_text("% Sequences:\n\n1 2 \n2 \n")
    (tmp_path / "release.toml").write_text(f'[data]\npath = "{name}"\n{more}\n')
    table = read(tmp_path / "release.toml")
    assert table.sequences.to_rows() == [("1", "2"), ("2",)]


def test_a_folder_of_parquet_and_rows_as_persons(tmp_path):
    (tmp_path / "parts").mkdir()
    for part in range(2):
        pl.DataFrame({"page": ["x", "y"]}).write_parquet(tmp_path / "parts" / f"{part}.parquet")
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "parts"\nperson = "row"\n[data.symbol]\ncolumn = "page"\n'
    )
    assert read(tmp_path / "release.toml").sequences.to_rows() == [("x",), ("y",), ("x",), ("y",)]


def test_a_byte_order_mark_is_no_problem(tmp_path):
    (tmp_path / "release.toml").write_text('[data]\npath = "c.seq"\n', encoding="utf-8-sig")
    assert Config.load(tmp_path / "release.toml").settings.data.path == "c.seq"


def test_all_problems_of_roles_come_at_once_under_their_keys(tmp_path):
    (tmp_path / "release.toml").write_text(
        """
        [data]
        path = "visits.csv"
        person = "PID"
        order = "VID"
        [data.quasi."date of birth"]
        hierarchy = { kind = "mask", levels = [1, 3] }
        [data.quasi.LOS]
        hierarchy = { kind = "intervals", width = [7, 10] }
        [data.sensitive.Disease]
        protect = { range = ["639-634"] }
        """
    )
    with pytest.raises(InputError) as refused:
        _ = Config.load(tmp_path / "release.toml").schema
    keys = [line.split(" must ")[0].split(", got")[0] for line in refused.value.lines]
    assert len(refused.value.lines) == 3
    assert keys[0] == 'release.toml: data.quasi."date of birth".hierarchy.levels'
    assert keys[1].startswith("release.toml: data.quasi.LOS.hierarchy.width")
    assert keys[2].startswith("release.toml: data.sensitive.Disease")


def test_a_very_large_file_is_no_configuration(tmp_path):
    with (tmp_path / "release.toml").open("wb") as file:
        file.truncate(11_000_000)
    with pytest.raises(InputError, match="is larger than 10 MB: give the configuration"):
        Config.load(tmp_path / "release.toml")


def test_deeply_nested_toml_is_refused(tmp_path):
    (tmp_path / "release.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(InputError, match="is not valid TOML"):
        Config.load(tmp_path / "release.toml")


def test_markers_names_and_mixed_protection_of_a_configuration(tmp_path):
    (tmp_path / "visits.csv").write_text("pid,n,group,icd\na,1,?,250\nb,1,x,V51\n")
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "visits.csv"\nperson = "pid"\norder = "n"\n'
        'missing = { team = ["?"] }\nrename = { group = "team" }\n'
        '[data.quasi.team]\nhierarchy = { kind = "flat" }\n'
        '[data.sensitive.icd]\nprotect = { values = ["250"], prefix = ["V"] }\n'
    )
    table = Config.load(tmp_path / "release.toml").table()
    assert table.frame["team"].to_list() == [None, "x"]
    assert table.protected == {"icd": frozenset({"250", "V51"})}
