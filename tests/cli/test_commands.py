"""The smaller commands, and what all commands have in common."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import polars as pl
import pytest

import sequester
from refusal_cases import GOOD, TOML
from sequester.cli import main
from sequester.datasets import DATASETS, hospital
from sequester.methods import METHODS

HEAVY = ("polars", "numba", "pydantic", "scipy", "altair", "pandas", "rich", "starlette", "uvicorn")


@pytest.mark.parametrize(
    "argv", [["--help"], ["methods"], ["methods", "--json"], ["datasets"], ["--version"]]
)
def test_a_quick_answer_loads_nothing_heavy(argv):
    code = (
        "import sys; from sequester.cli import main; code = main(sys.argv[2:]); "
        "print([m for m in sys.argv[1].split() if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, " ".join(HEAVY), *argv], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
    assert done.stdout


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sequester", "verify", "nowhere"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "error: nowhere does not exist\n")


def test_version_and_help(run):
    assert run("--version").out == f"sequester {sequester.__version__}\n"
    ran = run("--help")
    assert ran.code == 0
    for command in (
        "demo",
        "init",
        "inspect",
        "methods",
        "advise",
        "hierarchy",
        "protect",
        "verify",
        "attack",
        "compare",
        "stream",
        "reproduce",
        "schema",
        "datasets",
    ):
        assert f"\n  {command} " in ran.out
    for argv in (["protect"], ["verify"], ["hierarchy", "lint"], ["datasets", "make"], ["demo"], ["schema"]):
        assert run(*argv, "--help").code == 0


def test_no_command_shows_help_and_is_wrong_use(run):
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert "Commands:" in ran.err


def test_methods_says_what_to_choose_from(run):
    text = run("methods").out
    listed = run("methods", "--json").document["methods"]
    assert [each["name"] for each in listed] == list(METHODS)
    for each in listed:
        assert f"\n{each['name']}\n" in "\n" + text
        for key in ("promise", "changes", "use_when", "paper"):
            assert each[key]
            assert each[key].split()[0] in text
        assert all(parameter["about"] for parameter in each["parameters"])
    parameters = next(each["parameters"] for each in listed if each["name"] == "p2ka")
    p2ka = {each["name"]: each for each in parameters}
    assert p2ka["k"]["required"]
    assert p2ka["strict"] | {"about": ""} == {
        "name": "strict",
        "must_be": "true or false",
        "required": False,
        "default": True,
        "about": "",
    }


def test_schema_is_json_with_and_without_asking(run):
    schema = run("schema").document
    jsonschema.Draft202012Validator.check_schema(schema)
    assert run("schema", "--json").document == schema


def test_datasets_are_listed(run):
    listed = run("datasets", "--json").document["datasets"]
    assert [each["name"] for each in listed] == list(DATASETS)
    assert all(f"{each['name']} " in run("datasets").out for each in listed)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("c.csv", pl.read_csv),
        ("c.csv.gz", pl.read_csv),
        ("deep/er/c.tsv", lambda path: pl.read_csv(path, separator="\t")),
        ("c.tsv.gz", lambda path: pl.read_csv(path, separator="\t")),
        ("c.parquet", pl.read_parquet),
    ],
)
def test_datasets_make_writes_what_the_name_says(run, tmp_path, name, read):
    ran = run("datasets", "make", "hospital", "--out", name, "--persons", 40, "--seed", "x")
    expected = hospital.make(persons=40, seed="x")
    assert ran.code == 0
    assert ran.out == f"{name}: 40 persons, {len(expected)} events\n"
    made = read(tmp_path / name)
    assert made["Disease"].to_list() == expected["Disease"].to_list()
    assert [path.name for path in (tmp_path / name).parent.iterdir()] == [(tmp_path / name).name]
    first = (tmp_path / name).read_bytes()
    again = run(
        "datasets", "make", "hospital", "--out", name, "--persons", 40, "--seed", "x", "--force", "--json"
    )
    assert again.document == {"dataset": "hospital", "path": name, "persons": 40, "events": len(expected)}
    assert (tmp_path / name).read_bytes() == first


def test_datasets_are_made_where_there_is_a_place(run, tmp_path):
    (tmp_path / "file").write_text("")
    ran = run("datasets", "make", "clicks", "--out", "file/c.csv")
    assert ran.code == 2
    assert ran.errors == ["cannot write file/c.csv: file is not a folder"]


def test_lint_counts_and_names(run, tmp_path):
    (tmp_path / "clicks.csv").write_text(GOOD)
    hierarchy = 'hierarchy = { path = "pages.csv" }'
    text = TOML.replace('column = "page"', f'column = "page"\n{hierarchy}').replace("[method]", "#")
    (tmp_path / "release.toml").write_text(text.replace('name = "p2ka"\nk = 2', ""))
    (tmp_path / "pages.csv").write_text("news;media;*\ntech;media;*\nlocal ;media;*\n")
    ran = run("hierarchy", "lint", "release.toml")
    assert ran.code == 0
    assert ran.out == "page: 2 values, 0 errors, 1 warning\n"
    assert len(ran.warnings) == 1
    assert "trimmed blanks around 1 label (row 3)" in ran.warnings[0]
    document = run("hierarchy", "lint", "release.toml", "--json").document
    assert document["errors"] == 0
    assert document["hierarchies"][0]["attribute"] == "page"
    assert {each["severity"] for each in document["hierarchies"][0]["findings"]} == {"warning", "info"}
    (tmp_path / "pages.csv").write_text("news;media;*\n")
    ran = run("hierarchy", "lint", "release.toml", "--json")
    assert (ran.code, ran.document["errors"]) == (1, 1)


def test_lint_sees_derived_columns(run, tmp_path):
    (tmp_path / "visits.csv").write_text("who,at\na,2008-01-02\na,2009-03-04\nb,2010-05-06\n")
    (tmp_path / "release.toml").write_text(
        """
        [data]
        path = "visits.csv"
        person = "who"
        time = "at"
        derive.year = "year"
        [data.quasi.year]
        hierarchy = { kind = "tree", tree = { early = ["2008", "2009"] } }
        """
    )
    ran = run("hierarchy", "lint", "release.toml")
    assert ran.code == 1
    assert "column 'year'" in ran.errors[0]
    assert "'2010'" in ran.errors[0]


def test_json_may_be_anywhere_after_the_command_and_letters_stay_letters(run, tmp_path):
    (tmp_path / "Größe.toml").write_text("x = 1")
    ran = run("protect", "--json", "Größe.toml")
    assert json.loads(ran.out)["errors"][0].startswith("Größe.toml: ")
    assert "Größe" in ran.out


def test_main_takes_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sequester", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("sequester ")
