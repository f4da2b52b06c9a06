"""The demonstration tells the truth about what it did, and runs again in its own folder."""

from __future__ import annotations

import doctest
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

from sequester.cli.start import _after, _before
from sequester.datasets.hospital import PROTECTED, make_persons
from sequester.errors import InputError
from sequester.workflow import demo as module
from sequester.workflow.config import Config
from sequester.workflow.demo import PERSONS, C, K, P, RawRisk, demo, make_dataset
from sequester.workflow.inspect import inspect

QUASI = ("Sex", "BirthYear", "AdmYr", "ZIP", "DSFC", "LOS")


@pytest.fixture(scope="module", autouse=True)
def _short_audit():
    """Try no weaker settings, and let the method run only a few times again: most of the time goes there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sequester.workflow.protect.LEAST_SECONDS", 0)
        patch.setattr("sequester.workflow.protect.MOST_SECONDS", 0)
        patch.setattr("sequester.attacks.minimality.MOST_WORLDS", 3)
        yield


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    return demo(tmp_path_factory.mktemp("demo") / "deep" / "er")


def read(folder, name, persons, key):
    """The events with the attributes of their persons."""
    events, attributes = (pl.read_csv(folder / each, infer_schema_length=0) for each in (name, persons))
    return events.join(attributes, on=key, how="full", coalesce=True)


def raw_rows(shown):
    return read(shown.folder, "visits.csv", "patients.csv", "PID")


def released_rows(shown):
    return read(shown.folder / "release", "events.csv", "persons.csv", "person")


def fitting(frame, person, values):
    """The persons with an event of these values."""
    for name, value in values.items():
        frame = frame.filter(pl.col(name) == value)
    return set(frame[person])


def test_the_numbers_of_the_story_are_those_of_the_files(shown):
    raw, released = raw_rows(shown), released_rows(shown)
    assert raw["PID"].n_unique() == released["person"].n_unique() == PERSONS
    alone = set()
    for pair in combinations(QUASI, P):
        candidate_sets = raw.group_by(pair).agg(pl.col("PID").unique())
        alone.update(candidate_sets.filter(pl.col("PID").list.len() == 1)["PID"].explode())
    assert shown.raw.alone == len(alone)
    for column in shown.columns:
        values = released[column.name]
        assert column.before == raw[column.name].n_unique()
        assert column.after == len(set(values) - {"*"})
        cells = shown.protected.release.persons if column.name in ("Sex", "BirthYear") else released
        assert column.suppressed == (cells[column.name] == "*").mean()
    assert tuple(column.name for column in shown.columns) == QUASI


def test_the_example_is_hidden(shown):
    raw = raw_rows(shown)
    example = shown.raw.example
    assert fitting(raw, "PID", example.values) == {example.person}
    assert example.disease in PROTECTED
    assert example.disease in set(raw.filter(pl.col("PID") == example.person)["Disease"])
    candidate_set = fitting(released_rows(shown), "person", shown.after)
    assert len(candidate_set) == shown.alike >= K
    names = dict(shown.protected.release.pseudonyms.select("person", "pseudonym").iter_rows())
    assert names[example.person] in candidate_set


def test_the_promise_is_verified_and_the_run_interesting(shown):
    assert shown.verification
    assert shown.verification.achieved["k"] >= K
    assert shown.verification.achieved["c"] <= C
    (warning,) = shown.protected.warnings
    assert "unprotected values of Disease alone single out" in warning
    assert PERSONS / 10 < shown.raw.alone < 3 * PERSONS / 4
    assert shown.protected.release.utility["information_loss"].value < 0.3


def test_where_nobody_stands_out_there_is_no_example(shown):
    table = shown.protected.release.table
    renamed = table.frame.rename({"person": "PID"}).with_columns(pl.lit("2008").alias("AdmYr"))
    same = renamed.with_columns(pl.lit("*").alias(name) for name in table.schema.quasi)
    schema = replace(table.schema, person="PID")
    found = RawRisk.of(type(table)(same, schema))
    assert (found.persons, found.alone, found.example) == (PERSONS, 0, None)


def test_the_raw_risk_is_what_inspect_finds_and_comes_before_the_release(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PERSONS", 300)
    told = []
    monkeypatch.setattr(module, "protect", lambda *_, **__: told.append("protect"))
    with pytest.raises(AttributeError):
        demo(tmp_path / "demo", show=told.append)
    raw, then = told
    assert then == "protect"
    assert not (tmp_path / "demo").exists()
    make_dataset("hospital", tmp_path / "visits.csv", persons=300)
    make_persons(persons=300).write_csv(tmp_path / "patients.csv")
    (tmp_path / "release.toml").write_text(module._TOML)
    table = Config.load(tmp_path / "release.toml").table()
    assert raw == RawRisk.of(table)
    # With the attributes of its patient, a visit is an event of more values.
    found = inspect(table.with_attributes)
    (event,) = (each for each in found.exposures if (each.kind, each.known) == ("event", P))
    assert raw.alone == round(event.unique.value * 300)


def test_the_adversaries_of_the_story_are_those_of_the_report(shown):
    document = json.loads((shown.folder / "internal" / "report.json").read_text())
    assert len(document["attacks"]) == shown.protected.summary.n_attacks
    for told in (shown.found, shown.learned):
        assert told.to_json() in document["attacks"]
        assert told.raw.value > 10 * told.value or told.raw.value == 1
        assert told.is_within
    assert (shown.found.kind, shown.found.known) == ("event", P)
    assert shown.learned.bound == C
    inferred = [each for each in document["attacks"] if each["name"] == "confidence_shown"]
    largest = max(each["release"]["value"] for each in inferred if each["bound"] is not None)
    assert shown.learned.value == largest
    assert 0 < shown.protected.summary.n_claimed < shown.protected.summary.n_attacks


def test_the_readme_shows_what_the_demo_prints(shown):
    """But for the folder, and how many adversaries there are."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```text\n(A hospital wants.*?)^```$", text, re.DOTALL | re.MULTILINE)[1]
    told = "\n".join([*_before(shown.raw), *_after(shown)]) + "\n"
    assert doctest.OutputChecker().check_output(block, told, doctest.ELLIPSIS), told


def test_it_runs_again_in_its_own_folder_and_in_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PERSONS", 300)
    first = demo(tmp_path / "demo", seed="the same text for both of the runs")
    before = (first.protected.written.path / "events.csv").read_bytes()
    again = demo(tmp_path / "demo", seed="the same text for both of the runs")
    assert (again.protected.written.path / "events.csv").read_bytes() == before
    (tmp_path / "demo" / "release.toml").write_text("my own\n")
    with pytest.raises(InputError, match="was not made by a demo"):
        demo(tmp_path / "demo")
    (tmp_path / "empty").mkdir()
    module._refuse_what_is_not_ours(tmp_path / "empty")
