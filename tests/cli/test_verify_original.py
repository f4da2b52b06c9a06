"""``verify --original``: a certificate that says other than the configuration asks for is named."""

from __future__ import annotations

import hashlib
import json
import shutil

import polars as pl
import pytest

from sequester.cli import main

TOML = """
[data]
path = "visits.csv"
person = "PID"
order = "n"
keep = ["ward"]
[data.quasi.stay]
hierarchy = { kind = "tree", tree = { short = ["1", "2"], long = ["30"] } }
[data.quasi.sex]
hierarchy = { kind = "flat" }
[data.sensitive.ill]
protect = { prefix = ["04"], range = ["634-639"] }
[method]
name = "halt"
k = 3
c = 0.9
p = 2
[release]
path = "out"
seed = "a sentence that nobody guesses"
"""


def visits():
    rows = ["PID,n,stay,sex,ill,ward"]
    for number in range(24):
        ill = {0: "042", 5: "043", 10: "635"}.get(number, "100")
        rows.append(f"{number},1,{1 + number % 2},{'fm'[number % 2]},{ill},{'we'[number % 2]}")
        rows.append(f"{number},2,30,{'fm'[number % 2]},100,w")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    (folder / "visits.csv").write_text(visits())
    (folder / "release.toml").write_text(TOML)
    assert main(["protect", str(folder / "release.toml"), "--quick", "--quiet"]) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, run):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def verified(run):
    return run("verify", "out/release", "--original", "release.toml", "--quiet")


def test_an_honest_release_is_as_asked_for(folder, run):
    ran = verified(run)
    assert (ran.code, ran.errors) == (0, [])
    assert "Not checked without --original" not in ran.out
    assert "Not checked by any means" in ran.out
    assert (
        len(run("verify", "out/release", "--original", "release.toml", "--json").document["not_checked"]) == 1
    )
    assert len(run("verify", "out/release", "--json").document["not_checked"]) == 2


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("k = 3", "k = 5", ["claim: says k = 3, but the configuration says 5", "method: says k = 3, but"]),
        ("p = 2", "p = 3", ["claim: says p = 2, but the configuration says 3"]),
        (
            '["04"]',
            '["04", "100"]',
            ["claim: protect: ill is without '100', but the configuration asks for it"],
        ),
        ('"634-639"', '"636-639"', ["claim: protect: ill has '635', but the configuration does not"]),
        (
            'keep = ["ward"]',
            'drop = ["ward"]',
            ["column 'ward' is keep, but the configuration releases no such"],
        ),
        (
            'name = "halt"',
            'name = "glogen"',
            ["names the method 'halt', but the configuration says 'glogen'"],
        ),
        ('[data.quasi.sex]\nhierarchy = { kind = "flat" }\n', "", ["column 'sex' is quasi"]),
        (
            'short = ["1", "2"], long = ["30"]',
            'short = ["1"], long = ["2", "30"]',
            ["hierarchies/stay.csv: node "],
        ),
    ],
)
def test_what_was_asked_otherwise_is_named_value_by_value(folder, run, old, new, lines):
    text = (folder / "release.toml").read_text()
    assert old in text
    text = text.replace(old, new)
    if "quasi.sex" in old:
        text = text.replace('keep = ["ward"]', 'keep = ["ward", "sex"]')
    (folder / "release.toml").write_text(text)
    ran = verified(run)
    assert ran.code == 1
    for line in lines:
        assert any(line in error for error in ran.errors), ran.errors


def test_a_quasi_identifier_that_was_moved_to_the_kept_columns_is_named(folder, run):
    release = folder / "out" / "release"
    (release / "hierarchies" / "sex.csv").unlink()
    frame = pl.read_parquet(release / "events.parquet")
    frame = frame.select(*(name for name in frame.columns if name != "sex"), "sex")
    frame.write_parquet(release / "events.parquet")
    frame.write_csv(release / "events.csv")
    document = json.loads((release / "certificate.json").read_text())
    document["claim"]["columns"]["events"].pop("sex")
    document["claim"]["columns"]["events"]["sex"] = "keep"
    document["files"] = {
        path.relative_to(release).as_posix(): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in release.rglob("*")
        if path.is_file() and path.name != "certificate.json"
    }
    (release / "certificate.json").write_text(json.dumps(document))
    ran = verified(run)
    assert ran.code == 1
    assert any("column 'sex' is keep, but the configuration says quasi" in line for line in ran.errors)
