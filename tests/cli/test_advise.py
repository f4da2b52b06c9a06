"""``sequester advise``: four flags, or four questions on a terminal."""

from __future__ import annotations

import sys
import tomllib

import pytest

from refusal_cases import TOML as GOOD_TOML

ANSWERS = ("--recipient", "public", "--known", "few", "--keep", "patterns", "--release", "once")
TOML = GOOD_TOML.split("[method]")[0]


@pytest.fixture
def clicks(put_clicks):
    return put_clicks(*["news tech"] * 60, config=TOML)


def test_flags_are_enough(run, clicks):
    ran = run("advise", "release.toml", *ANSWERS)
    assert ran.code == 0
    assert "recommended: p2ka" in ran.out
    assert "runner-up: prefix-pruning, but" in ran.out
    block = tomllib.loads(ran.out[ran.out.index("[method]") :])
    assert block == {"method": {"name": "p2ka", "k": 3}}


def test_the_block_can_be_pasted(run, clicks):
    block = run("advise", "release.toml", *ANSWERS, "--json").document["recommended"]["block"]
    (clicks / "release.toml").write_text(f'{TOML}\n{block}\n[release]\npath = "out"\n', encoding="utf-8")
    assert run("protect", "release.toml", "--quiet", "--dry-run").code == 0


def test_json(run, clicks):
    document = run("advise", "release.toml", *ANSWERS, "--json").document
    assert document["recommended"]["method"] == "p2ka"
    assert document["runner_up"]["method"] == "prefix-pruning"
    assert set(document) == {"answers", "data", "recommended", "runner_up", "refused", "notes"} | {
        "trials",
        "sample",
    }


def test_nothing_serves(run, clicks):
    ran = run("advise", "release.toml", *ANSWERS[:-1], "repeated")
    assert ran.code == 1
    assert "no method serves these answers for this data" in ran.out
    assert "--release once would be served: p2ka, prefix-pruning" in ran.out
    assert run("advise", "release.toml", *ANSWERS[:-1], "repeated", "--json").document["recommended"] is None


def test_missing_and_wrong_answers_are_refused_where_nobody_can_be_asked(run, clicks):
    ran = run("advise", "release.toml", "--known", "little")
    assert ran.code == 2
    assert ran.errors == [
        "--recipient is missing; it must be one of public, partner, colleague, service",
        "--known must be one of few, all, time, patterns, got 'little'",
        "--keep is missing; it must be one of records, complete, patterns, counts, times, yardstick",
        "--release is missing; it must be one of once, repeated",
    ]


def test_a_configuration_at_fault_is_named(run, clicks):
    assert run("advise", "nowhere.toml", *ANSWERS).errors == [
        "cannot read nowhere.toml: No such file or directory"
    ]


def test_questions_are_asked_on_a_terminal(run, clicks, monkeypatch):
    said = iter(["9", "1", "few", "3", "once"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(said))
    ran = run("advise", "release.toml")
    assert ran.code == 0
    assert "recommended: p2ka" in ran.out
    assert "Who receives the data?" in ran.err
    assert "  2  partner: a few organizations that have signed an agreement" in ran.err
    assert "'9' is none of them" in ran.err
