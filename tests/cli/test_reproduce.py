"""``sequester reproduce`` as a command."""

from __future__ import annotations

import pytest

from sequester import reproduce as package
from sequester.reproduce import Cell, Claim, ExperimentPlan, Paper
from sequester.reproduce import reproduce as module


@pytest.fixture
def euclid(monkeypatch, tmp_path):
    def plan(self, data, *, design):
        del self, data, design
        cell = Cell(table="numbers", parameters={"x": 1}, run=lambda: [{"y": 1}])
        return ExperimentPlan(sources=["one"], fingerprint="one", cells=[cell])

    claims = (
        Claim(says="one is one", measured="1", verdict="agrees"),
        Claim(says="one is two", measured="1", verdict="disagrees", why="it is one"),
    )
    made = Paper(name="euclid-300", title="Elements", reference="Euclid, 300 BC")
    monkeypatch.setitem(package.PAPERS, "euclid-300", made)
    monkeypatch.setattr(module, "experiments_digest", lambda paper: "as they are")
    monkeypatch.setattr(Paper, "plan", plan)
    monkeypatch.setattr(Paper, "claims", lambda self, tables: claims)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_go_to_a_folder_of_the_paper_and_are_told(run, euclid):
    ran = run("reproduce", "euclid-300")
    assert ran.code == 0
    assert "agrees: one is one\n" in ran.out
    assert "disagrees: one is two\n         1\n         it is one\n" in ran.out
    assert (euclid / "out" / "reproduce" / "euclid-300" / "numbers.csv").read_text() == "x,y\n1,1\n"


def test_json_and_wrong_use(run, euclid):
    ran = run("reproduce", "euclid-300", "--out", str(euclid / "here"), "--quick", "--json")
    assert ran.document["agreed"] == 1
    assert ran.document["design"] == "quick"
    assert ran.document["claims"][1]["why"] == "it is one"
    assert run("reproduce", "nobody").code == 2
    both = run("reproduce", "euclid-300", "--quick", "--sampled")
    assert (both.code, both.err) == (2, "error: --quick and --sampled are different designs: choose one\n")
    assert run("reproduce", "euclid-300", "--data", "nowhere").code == 2


def test_an_interrupt_says_what_is_kept(run, euclid, monkeypatch):
    def interrupt(self, tables):
        raise KeyboardInterrupt

    judged = Paper.claims
    monkeypatch.setattr(Paper, "claims", interrupt)
    ran = run("reproduce", "euclid-300", "--out", str(euclid / "here"))
    assert ran.code == 130
    assert f"the results so far are kept in {euclid / 'here'}; the same command goes on" in ran.err
    monkeypatch.setattr(Paper, "claims", judged)
    assert run("reproduce", "euclid-300", "--out", str(euclid / "here"), "--json").document["resumed"] == 1
