"""A series on the command line: three years, each in its own folder, checked together."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import polars as pl
import pytest

from cli.test_stops import WAITING
from sequester.cli import main

TOML = """
[data]
path = "{year}.csv"
person = "who"
order = "day"
[data.quasi.ward]
hierarchy = {{ kind = "flat" }}
[data.sensitive.ill]
protect = ["HIV"]
[method]
name = "{method}"
k = 2
c = 0.5
p = 2
[release]
path = "out/{year}"
seed = "a sentence that nobody guesses"
{more}
"""
YEARS = {
    "2023": "a,1,x,flu b,1,x,flu c,1,y,flu d,1,y,HIV",
    "2024": "a,2,x,flu b,2,x,flu e,2,y,flu f,2,y,flu c,2,z,flu",
    "2025": "a,3,x,flu b,3,x,flu",
}


def begin(folder, year, more="", method="halt"):
    rows = "\n".join(YEARS[year].split())
    (folder / f"{year}.csv").write_text(f"who,day,ward,ill\n{rows}\n")
    (folder / f"{year}.toml").write_text(TOML.format(year=year, more=more, method=method))
    return f"{folder}/{year}.toml"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assert main(["protect", begin(folder, "2023", "series = true"), "--quick", "--quiet"]) == 0
    assert main(["protect", begin(folder, "2024", 'continues = "out/2023"'), "--quick", "--quiet"]) == 0
    return folder


@pytest.fixture
def here(made, tmp_path, run):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_third_year_continues_the_second_and_all_are_checked_together(here, run):
    ran = run("protect", begin(here, "2025"), "--continues", "out/2024", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["holds"] is True
    ran = run("verify", "out/2025", "--with", "out/2023", "--with", "out/2024")
    assert ran.code == 0, ran.err
    assert "and the 2 before it are as certified and keep the promise together: KCPPrivacy" in ran.out
    assert "--with" not in ran.out
    settings = (here / "out/2025/internal/release.toml").read_text()
    assert f'continues = "{here}/out/2024"' in settings


def test_a_part_alone_is_as_certified_and_says_what_was_not_checked(here, run):
    ran = run("verify", "out/2024/release")
    assert ran.code == 0
    assert "is as certified; its promise was not checked" in ran.out
    assert "Not checked without --with: this is part 2 of a series" in ran.out
    document = run("verify", "out/2024/release", "--json").document
    assert document["achieved"] == {}
    assert document["not_checked"][0].startswith("Not checked without --with")


def test_wrong_parts_are_refused_with_the_reason(here, run):
    begin(here, "2025")
    assert run("protect", "2025.toml", "--continues", "out/2024", "--quick").code == 0
    ran = run("verify", "out/2025", "--with", "out/2023")
    assert ran.code == 2
    assert "part 2 of the series missing" in ran.errors[0]
    ran = run("verify", "out/2025", "--with", "out/2024", "--with", "out/2023")
    assert ran.code == 2
    assert "from the first to the last" in ran.errors[0]
    path = here / "out/2023/release/events.csv"
    path.write_text(path.read_text().replace("flu", "HIV", 1))
    ran = run("verify", "out/2024", "--with", "out/2023")
    assert ran.code == 1
    assert "is not the certified file" in ran.errors[0]


def test_the_original_is_compared_with_what_is_new(here, run):
    ran = run("verify", "out/2024", "--with", "out/2023", "--original", "2024.toml")
    assert ran.code == 0, ran.err
    begin(here, "2024", 'continues = "out/2023"')
    text = (here / "2024.csv").read_text().replace("x,flu", "x,HIV")
    (here / "2024.csv").write_text(text)
    ran = run("verify", "out/2024", "--with", "out/2023", "--original", "2024.toml")
    assert ran.code == 1
    assert any("the original has" in line for line in ran.errors)


@pytest.mark.parametrize(
    ("more", "option", "reason"),
    [
        ("", "out/2022", "out/2022/release does not exist"),
        ("series = true", "out/2024", "only one of them"),
        ("", "out/2025", "cannot continue itself"),
    ],
)
def test_wrong_use_is_refused_in_one_line(here, run, more, option, reason):
    ran = run("protect", begin(here, "2025", more), "--continues", option)
    assert ran.code == 2
    assert len(ran.errors) == 1
    assert reason in ran.errors[0]
    assert not (here / "out/2025").exists()


def test_other_methods_refuse_in_one_line(here, run):
    config = begin(here, "2025", method="halt").removeprefix(f"{here}/")
    text = (here / config).read_text().replace('name = "halt"', 'name = "cblda"').replace("p = 2", "")
    (here / config).write_text(text)
    ran = run("protect", config, "--continues", "out/2024")
    assert ran.code == 2
    assert len(ran.errors) == 1
    assert "cblda cannot make a series of releases: " in ran.errors[0]


def test_old_events_that_differ_are_refused_with_their_rows(here, run):
    begin(here, "2025")
    (here / "2025.csv").write_text("who,day,ward,ill\na,1,x,flu\nb,1,y,flu\na,3,x,flu\nb,3,x,flu\n")
    ran = run("protect", "2025.toml", "--continues", "out/2024")
    assert ran.code == 2
    assert "rows 2" in ran.errors[0]
    assert "'ward'" in ran.errors[0]


def test_where_nothing_new_can_be_released_nothing_is_written(here, run):
    begin(here, "2025")
    (here / "2025.csv").write_text("who,day,ward,ill\nn,3,z,flu\n")
    ran = run("protect", "2025.toml", "--continues", "out/2024")
    assert ran.code == 1
    assert "the series stays as it was" in ran.errors[0]
    assert not (here / "out/2025").exists()


def test_what_was_held_back_comes_when_it_fits(here, run):
    begin(here, "2025")
    (here / "2025.csv").write_text("who,day,ward,ill\nc,2,z,flu\nd,2,z,flu\n")
    assert run("protect", "2025.toml", "--continues", "out/2024", "--quick").code == 0
    part = pl.read_csv(here / "out/2025/release/events.csv")
    assert part["ward"].to_list() == ["z", "z"]
    history = json.loads((here / "out/2025/internal/series.json").read_text())["history"]
    assert [row["held_back"] for row in history] == [0, 1, 0]


@pytest.mark.parametrize(
    "place",
    [
        "sequester.workflow.write._verify",
        pytest.param("sequester.methods.halt.publish.publish", marks=pytest.mark.thorough),
    ],
)
def test_a_killed_run_leaves_the_series_as_it_was(here, run, listing, place):
    begin(here, "2025")
    before = listing()
    argv = [
        sys.executable,
        "-c",
        WAITING,
        place,
        "protect",
        "2025.toml",
        "--continues",
        "out/2024",
        "--quick",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    left = {name: each for name, each in listing().items() if not name.startswith("out/2025")}
    assert left == before
    assert run("protect", "2025.toml", "--continues", "out/2024", "--quick").code == 0
    assert run("verify", "out/2025", "--with", "out/2023", "--with", "out/2024").code == 0


def test_parts_of_a_series_are_attacked_as_one_release(here, run):
    rows = [row for year in ("2023", "2024") for row in YEARS[year].split()]
    text = "\n".join(["who,day,ward,ill", *rows])
    (here / "2024.csv").write_text(f"{text}\n")
    ran = run(
        "attack", "out/2024", "--also", "out/2023", "--original", "2024.toml", "--known", "1-2", "--json"
    )
    assert ran.code == 0, ran.err
    bounded = [each for each in ran.document["attacks"] if each["bound"] is not None]
    assert bounded
    assert not any("side_by_side" in each["name"] for each in ran.document["attacks"])


def test_independent_releases_are_laid_side_by_side(here, run):
    config = begin(here, "2023", "pseudonyms = true")
    assert run("protect", config, "--out", "out/a", "--quick").code == 0
    assert (
        run("protect", config, "--out", "out/b", "--seed", "another sentence of some length", "--quick").code
        == 0
    )
    ran = run("attack", "out/a", "--also", "out/b", "--original", "2023.toml", "--known", "1", "--json")
    assert ran.code == 0, ran.err
    found = [each for each in ran.document["attacks"] if each["name"].endswith("_side_by_side")]
    assert {each["control_of"] for each in found} == {"one release"}
    (here / "out/b/internal/pseudonyms.parquet").unlink()
    ran = run("attack", "out/a", "--also", "out/b", "--original", "2023.toml")
    assert ran.code == 2
    assert "pseudonyms = true" in ran.errors[0]


def test_the_report_and_the_answer_know_parts(here, run):
    begin(here, "2025")
    ran = run("protect", "2025.toml", "--continues", "out/2024")
    assert ran.code == 0, ran.err
    assert "part 3 of a series: the promise is about all parts together" in ran.out
    page = (here / "out/2025/internal/report.html").read_text()
    assert "Parts of the series, and what they cost" in page
    assert "fresh series of the whole input would lose" in page
    assert "pays for its past: 0 values are suppressed and 0 new events are held back" in page
    assert "Loss of a fresh series" in page
    document = json.loads((here / "out/2025/internal/report.json").read_text())
    assert [row["held_back"] for row in document["series"]] == [0, 1, 0]
    # The second part was made with --quick, and nothing else was tried.
    fresh = [row["fresh_loss"] for row in document["series"]]
    assert fresh[0] == document["series"][0]["information_loss"]
    assert fresh[1] is None
    assert fresh[2] is not None
    assert "This is part 3 of a series" in (here / "out/2025/release/report.html").read_text()
    assert "held back" not in (here / "out/2025/release/report.html").read_text()


def test_compare_tries_a_part_beside_a_fresh_series(here, run):
    config = begin(here, "2025", 'continues = "out/2024"').removeprefix(f"{here}/")
    ran = run("compare", config, "--out", "compared", "--json")
    assert ran.code == 0, ran.err
    continued, fresh = ran.document["candidates"]
    assert continued["label"] == "halt continued"
    assert fresh["label"] == "halt fresh series"
    assert [row["part"] for row in continued["parts"]] == [1, 2, 3]
    assert [row["held_back"] for row in continued["parts"]] == [0, 1, 0]
    assert not fresh["parts"]
    assert any("could not be joined with what was published" in line for line in ran.document["warnings"])
    assert "Parts of the series, halt continued" in (here / "compared/report.html").read_text()
    # Kept results are of this part of the series alone.
    assert run("compare", config, "--out", "compared", "--json").document["candidates"][0] == continued


@pytest.mark.parametrize("vary", [("--set", "k=2,3"), ("--methods", "halt,cblda")])
def test_compare_cannot_vary_what_a_series_keeps(here, run, vary):
    config = begin(here, "2025", 'continues = "out/2024"')
    ran = run("compare", config, "--out", "compared", *vary)
    assert ran.code == 2
    assert len(ran.errors) == 1
    assert "a series keeps its method and its parameters" in ran.errors[0]
    assert not (here / "compared").exists()


def test_compare_refuses_a_method_without_series_and_a_part_that_is_not_there(here, run):
    config = begin(here, "2025", 'continues = "out/2022"').removeprefix(f"{here}/")
    ran = run("compare", config, "--out", "compared")
    assert ran.code == 2
    assert "out/2022/release does not exist" in ran.errors[0]
    text = (here / config).read_text().replace('name = "halt"', 'name = "cblda"').replace("p = 2", "")
    (here / config).write_text(text)
    ran = run("compare", config, "--out", "compared")
    assert ran.code == 2
    assert "cblda: cannot make a series of releases: " in ran.errors[0]
