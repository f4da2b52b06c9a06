"""The page about performance is what the benchmarks said, and nothing else."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAYS = """
import os, json
with open(os.environ["SEQUESTER_LEDGER"], "a") as ledger:
    print(json.dumps({"kind": "seconds", "what": "a|b", "value": 2.0, "bar": 1.0}), file=ledger)
raise SystemExit(CODE)
"""


@pytest.fixture
def run(monkeypatch):
    """The program that runs the benchmarks, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("run")
    for name in ("run", "ledger", "peers"):
        sys.modules.pop(name)


@pytest.fixture
def kept(run):
    """The figures that the page is made of."""
    return json.loads(run.JSON.read_text())


def test_the_page_is_made_of_the_figures(run, kept):
    assert run.PAGE.read_text() == run.page(kept)


def test_every_benchmark_has_figures_and_ended_well(run, kept):
    assert {name for name, one in kept["benchmarks"].items() if one["figures"] and not one["broken"]} == {
        *run.NAMES
    }


def test_no_answer_differs_from_that_of_its_twin(kept):
    figures = [each for one in kept["benchmarks"].values() for each in one["figures"]]
    equal = [each for each in figures if each["kind"] == "equality"]
    assert len(equal) > len(kept["benchmarks"]) / 2
    assert all(each["value"] for each in equal)


def test_what_was_missed_is_marked(run, kept):
    figures = [
        {"kind": "equality", "what": "twins", "value": 1.0, "bar": None},
        {"kind": "lead", "what": "twins", "value": 3.0, "bar": 5.0},
        {"kind": "memory", "what": "a|b", "value": 2e9, "bar": 3e9},
    ]
    name = run.NAMES[0]
    text = run.page({**kept, "benchmarks": {name: {"figures": figures, "broken": True}}})
    assert f"| `{name}`, **did not end as it should** | 1 of 1 | 1 of 2 | 3.0 x |  |  | 2.00 GB |" in text
    assert f"| `{name}` | twins | 3.0 x | at least 5.0 x |" in text
    assert f"`{run.NAMES[1]}`" not in text


def test_all_figures_are_printed_on_request(run, kept, monkeypatch, capsys):
    name = run.NAMES[0]
    monkeypatch.setattr(sys, "argv", ["run.py", "--figures", name])
    assert run.main() == 0
    shown = capsys.readouterr().out
    assert all(each["what"] in shown for each in kept["benchmarks"][name]["figures"])


@pytest.mark.parametrize(("code", "broken"), [(0, False), (1, False), (2, True)])
def test_a_missed_bar_breaks_no_benchmark(run, monkeypatch, tmp_path, code, broken):
    (tmp_path / "bench_some.py").write_text(SAYS.replace("CODE", str(code)))
    monkeypatch.setattr(run, "__file__", str(tmp_path / "run.py"))
    monkeypatch.setattr(run, "LOGS", tmp_path / "logs")
    done = run.run("some")
    assert done["broken"] is broken
    assert [each["what"] for each in done["figures"]] == ["a|b"]
    assert (tmp_path / "logs" / "some.txt").exists()


def test_a_benchmark_that_says_nothing_is_broken(run, monkeypatch, tmp_path):
    (tmp_path / "bench_some.py").write_text("")
    monkeypatch.setattr(run, "__file__", str(tmp_path / "run.py"))
    monkeypatch.setattr(run, "LOGS", tmp_path / "logs")
    assert run.run("some")["broken"]
