"""``sequester compare``: the table, the drawing, the pages; killed, interrupted and resumed."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sequester as sq
from refusal_cases import TOML
from sequester.workflow.compare import CompareOptions, compare_config

ROWS = ["news tech", "news tech", "news tech", "tech news", "tech news", "news", "local tech", "news local"]
PARTS = ("candidates.csv", "candidates.json", "frontier.svg", "frontier.png", "report.html")


@pytest.fixture
def clicks(put_clicks):
    """Clicks and a configuration that names no folder of a release; gives their folder."""
    return put_clicks(*ROWS, config=TOML.split("[release]")[0])


def test_a_table_a_drawing_and_pages(run, clicks):
    argv = ("compare", "release.toml", "--methods", "p2ka,prefix-pruning", "--targets", "50", "--quiet")
    found = run(*argv, "--set", "k=2", "--write-releases", "--out", "out", "--json")
    assert found.code == 0
    assert any(line.startswith("Hand out one of these releases only.") for line in found.warnings)
    document = found.document
    assert [each["method"] for each in document["candidates"]] == ["p2ka", "prefix-pruning"]
    for each in document["candidates"]:
        assert each["holds"] is True
        assert 0 <= each["risk"] <= 1
        assert each["utility"]["information_loss"]["goal"] == "minimize"
        assert each["parameters"]["k"] == 2
        assert each["seconds"] > 0
        assert each["peak_memory"] > 10_000_000
        assert "Internal report" in (clicks / "out" / each["report"]).read_text()
        assert sq.verify(clicks / "out" / each["release"] / "release").holds
    assert document["recommended"] in (0, 1)
    assert json.loads((clicks / "out" / "candidates.json").read_text()) == document
    with (clicks / "out" / "candidates.csv").open() as file:
        assert [line["candidate"] for line in csv.DictReader(file)] == ["p2ka k=2", "prefix-pruning k=2"]
    assert ElementTree.parse(clicks / "out" / "frontier.svg").getroot().tag.endswith("svg")
    assert (clicks / "out" / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE((clicks / "out").stat().st_mode) == 0o700
    page = (clicks / "out" / "report.html").read_text()
    assert "One release only" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in page
    # Everything is there: another question about the same results computes nothing.
    kept = {path: path.stat().st_mtime_ns for path in (clicks / "out" / "results").iterdir()}
    other = run(
        *argv, "--set", "k=2", "--out", "out", "--measure", "lost_events", "--adversary", "prosecutor"
    )
    assert {path: path.stat().st_mtime_ns for path in (clicks / "out" / "results").iterdir()} == kept
    assert other.code == 0
    assert "largest chance to re-identify a person" in other.out
    assert other.out.splitlines()[-2] == "to read          out/report.html (internal: do not share)"
    # No candidate is so safe.
    none = run(*argv, "--set", "k=2", "--out", "out", "--max-risk", "0.0001")
    assert none.code == 1
    assert none.errors == [
        "no candidate keeps its promise with a risk of at most 0.0001; out/report.html says why"
    ]
    wrong = run(*argv, "--set", "k=2", "--out", "out", "--measure", "charm")
    assert wrong.code == 2
    assert wrong.errors[0].startswith(
        "measure 'charm' is not among those of these releases: information_loss"
    )


def test_what_cannot_be_kept_is_a_row_and_exit_1(run, clicks):
    found = run("compare", "release.toml", "--methods", "p2ka", "--set", "k=99", "--json", "--quiet")
    assert found.code == 1
    (candidate,) = found.document["candidates"]
    assert (candidate["holds"], candidate["state"], candidate["risk"]) == (False, "unattainable", None)
    assert "99" in candidate["reason"]
    assert found.document["recommended"] is None
    assert all((clicks / "sequester-compare" / name).exists() for name in PARTS)


def test_an_adversary_who_beats_a_promise_is_exit_1_and_a_fault_of_ours_3(run, clicks, monkeypatch):
    asked = CompareOptions(targets=20)
    made = compare_config(
        "release.toml", out=clicks / "once", methods=["p2ka"], settings={"k": [2]}, asked=asked
    )
    (tried,) = made.tried
    (name, risk), *_ = tried.risks.items()
    beaten = {**tried.risks, name: replace(risk, bound=0.0, is_within=False)}
    for other, code in (
        (tried, 0),
        (replace(tried, risks=beaten), 1),
        (replace(tried, state="failed", is_ours=True), 3),
    ):
        found = replace(made, tried=(other,))
        monkeypatch.setattr("sequester.workflow.compare.compare_config", lambda *_, found=found, **__: found)
        assert run("compare", "release.toml", "--quiet").code == code


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--methods", "p2kb"], "--methods: there is no method 'p2kb'; the nearest is 'p2ka'"),
        (["--set", "k"], "--set must be a parameter and its values, such as k=2,5,10, got 'k'"),
        (["--set", "kk=2"], "--set kk: none of the methods has this parameter"),
        (["--set", "k=1"], "--set k: k must be at least 2, got 1"),
        (["--set", "k=x"], "--set k: k must be a whole number"),
        (["--methods", "halt"], "halt k=2: c and p are missing; --set gives them values"),
        (["--methods", "ph"], "ph: patterns must have at least one pattern"),
        (["--methods", "cblda", "--set", "c=0.5"], "cblda: cblda needs quasi-identifiers"),
        (["--adversary", "mallory"], "adversary must be one of found, marketer"),
        (["--max-risk", "2"], "must be a number from 0 to 1, got '2'"),
        (["--max-risk", "low"], "must be a number from 0 to 1, got 'low'"),
        (["--known", "0"], "must be at least 1, got 0"),
        (["--at-once", "none"], "must be a whole number, got 'none'"),
        (["--out", "."], " would replace "),
        (["--out", "clicks.csv"], " would replace the data"),
        (["--out", "there"], "there exists and is not a comparison; name another folder"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(run, clicks, listing, argv, line):
    (clicks / "there").mkdir()
    (clicks / "there" / "mine.txt").write_text("notes")
    before = listing()
    found = run("compare", "release.toml", *argv, "--quiet")
    assert found.code == 2
    assert line in found.errors[0]
    assert listing() == before


def test_a_configuration_that_is_not_there(run, clicks):
    assert run("compare", "nowhere.toml").code == 2


def start(clicks):
    argv = ["compare", "release.toml", "--methods", "p2ka", "--set", "k=2,3", "--at-once", "1"]
    argv += ["--targets", "50", "--seed", "kept in a safe place", "--out", "out", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "sequester", *argv],
        cwd=clicks,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(results, folder, process):
    """Wait until so many results are kept and the next candidate is at work; gives its process."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(12_000):
        kept = len(list((folder / "results").glob("*.json"))) if folder.exists() else 0
        at_work = [int(pid) for pid in children.read_text().split()]
        if kept >= results and at_work:
            return at_work
        time.sleep(0.05)
    pytest.fail("the comparison does not come to its results")


def is_gone(pid):
    for _ in range(12_000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_killed_then_interrupted_then_resumed_to_the_same(clicks):
    with start(clicks) as process:
        workers = wait_for(1, clicks / "out", process)
        process.kill()
        process.communicate()
    assert all(map(is_gone, workers))
    kept = {path.name: path.read_bytes() for path in (clicks / "out" / "results").iterdir()}
    assert not any((clicks / "out" / name).exists() for name in PARTS)
    with start(clicks) as process:
        workers = wait_for(1, clicks / "out", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "the results so far are kept in out; the same command goes on from there" in err
    assert "Traceback" not in err
    assert all(map(is_gone, workers))
    with start(clicks) as process:
        out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    # What was there is as it was, byte for byte.
    for name, content in kept.items():
        assert (clicks / "out" / "results" / name).read_bytes() == content
    resumed = json.loads(out)["candidates"]
    assert [each["parameters"]["k"] for each in resumed] == [2, 3]
    assert not list((clicks / "out").rglob("*.partial"))
    straight = sq.compare(
        sq.read(clicks / "release.toml"), [sq.BFP2kA(k=3)], targets=50, seed="kept in a safe place"
    )
    assert resumed[1]["risk"] == straight.risk(0).value
    assert resumed[1]["achieved"] == straight.tried[0].achieved
