"""Threads, one worker, several workers: every method gives the same release, byte for byte."""

from __future__ import annotations

import pytest

from contracts.test_laws import CASES
from sequester.attacks import attack_tables
from sequester.engine import LocalEngine
from sequester.engine.address import open_engine
from sequester.methods import HALT
from sequester.privacy.model import RecordModel
from sequester.testing import history_table
from sequester.testing.checks import _run, _run_bytes

ROWS = ["abca", "abc", "bca", "abd", "dabc", "cab", "acb", "bac", "cba", "abab", "aabb", "bd", "abcd"] * 2


@pytest.fixture(autouse=True)
def _send_short_steps(monkeypatch):
    """Send also those steps of a search that are too short to gain by it."""
    monkeypatch.setattr("sequester.methods.halt.extraction.WORTH_SENDING", 0)
    monkeypatch.setattr("sequester.methods.halt.local_rows.WORTH_SENDING", 0)
    monkeypatch.setattr("sequester.methods.halt.local_rows.PART", 50)


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_workers_give_the_release_of_threads(method, judge, make, workers):
    table = make(ROWS)
    here = _run(method, table, engine=LocalEngine(threads=1, shards=1))
    away = _run(method, table, engine=workers)
    assert _run_bytes(away) == _run_bytes(here)
    model = getattr(here, "model", None)
    if model is None or isinstance(model, RecordModel):
        return
    original = table if model.needs_original else None
    assert model.check(here.table, original=original, engine=workers) == model.check(
        here.table, original=original
    )


def test_workers_give_the_risks_of_threads(workers):
    table = history_table(ROWS)
    release = HALT(k=2, c=1, p=2).apply(table, seed="a sentence that nobody guesses", evaluate=False)
    asked = {"original": table, "model": release.model, "thorough": True, "known": (1, 2)}
    assert attack_tables(release.table, **asked, engine=workers) == attack_tables(release.table, **asked)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
@pytest.mark.parametrize("n_workers", [1, 3])
def test_the_number_of_workers_does_not_matter(n_workers):
    """For every method: one cluster serves them all, since its start takes longer than they do."""
    with open_engine(f"local:{n_workers}") as engine:
        different = [
            case.id
            for case in CASES
            for method, _, make in [case.values]
            if _run_bytes(_run(method, make(ROWS), engine=engine)) != _run_bytes(_run(method, make(ROWS)))
        ]
    assert different == []
