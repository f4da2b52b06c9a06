"""Processes side by side: memory bounds them, one that dies takes nobody with it, and none stays behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from sequester.methods import BFP2kA
from sequester.testing import symbol_table
from sequester.workflow.comparison import pool as pools
from sequester.workflow.comparison.grid import Candidate
from sequester.workflow.comparison.pool import RESERVE, run_candidates
from sequester.workflow.comparison.trial import Knowledge, TrialResult, TrialTask
from workflow.comparison import actors

GIB = 2**30
TABLE = symbol_table(["ab", "ab"])


@pytest.fixture
def act(tmp_path, monkeypatch):
    """Run tasks that act as their labels say; gives label to result."""
    for name in ("acts", "began"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name.upper(), str(tmp_path / name))
    done = TrialResult(method="p2ka", label="done")
    monkeypatch.setenv("RESULT", json.dumps(done.to_json()))

    def act(*acts, progress=lambda fraction, phase: None, **keywords):
        tasks = [task(f"<{each} {number}>", str(number)) for number, each in enumerate(acts)]
        with closing(run_candidates(tasks, TABLE, progress, do=actors.act, **keywords)) as answers:
            return {done.key: tried for done, tried in answers}

    return act


def task(label, key):
    candidate = Candidate(name="p2ka", label=label, method=BFP2kA(k=2))
    knowledge = Knowledge(kind="ordered", known=1, targets=1)
    return TrialTask(candidate=candidate, key=key, seed="x", knowledge=knowledge, max_suppressed=None)


def test_as_many_at_once_as_are_asked_for(act, monkeypatch):
    monkeypatch.setenv("COMPANY", "2")
    found = act("ok", "ok", "ok", at_once=2, free=lambda: 64 * GIB)
    assert len(found) == 3
    assert max(each.events for each in found.values()) == 2
    alone = act("ok", "ok", at_once=1, free=lambda: 64 * GIB)
    assert {each.events for each in alone.values()} == {1}


@pytest.mark.parametrize("free", [GIB // 2, None])
def test_where_memory_is_short_or_unknown_one_at_a_time(act, free):
    found = act("ok", "ok", at_once=2, free=lambda: free)
    assert {each.events for each in found.values()} == {1}


def test_what_the_first_took_bounds_the_others(act, monkeypatch):
    monkeypatch.setenv("PEAK", str(3 * GIB))
    began = []

    def free():
        began.append(True)
        return 4 * GIB

    # By the first guess two fit; after one has told its peak, they do not.
    found = act("ok", "ok", "ok", "ok", at_once=2, free=free)
    assert found["3"].events == 1


def test_one_that_dies_in_company_is_tried_again_alone(act, monkeypatch):
    monkeypatch.setenv("COMPANY", "2")
    found = act("crowd", "crowd", at_once=2, free=lambda: 64 * GIB)
    assert all(each.holds for each in found.values())
    assert any(each.events == 1 for each in found.values())


def test_one_that_dies_alone_fails_and_the_others_do_not(act):
    found = act("die", "ok", at_once=1, free=lambda: 64 * GIB)
    assert (found["0"].state, found["0"].is_ours) == ("failed", False)
    assert "its process ended, as happens where memory runs out" in found["0"].reason
    assert found["1"].holds
    assert found["0"].parameters == {"k": 2, "strict": True, "reconstruction": "closest"}


def test_a_fault_of_ours_is_said(act):
    found = act("fault", free=lambda: 64 * GIB)
    assert (found["0"].state, found["0"].is_ours) == ("failed", True)


def test_where_memory_runs_out_the_last_to_begin_waits(act, tmp_path, monkeypatch):
    # Both wait until memory has run out once.
    monkeypatch.setenv("COMPANY", "3")
    told = []

    def free():
        if told:
            (tmp_path / "began" / "nobody").touch()
        elif len(list((tmp_path / "began").iterdir())) == 2:
            told.append(RESERVE - 1)
            return RESERVE - 1
        return 64 * GIB

    found = act("ok", "ok", at_once=2, free=free)
    assert all(each.holds for each in found.values())
    assert found["1"].events == 1


def test_progress_names_who_runs_and_ends_whole(act, tmp_path, monkeypatch):
    # They go on when all three were seen at work.
    monkeypatch.setenv("COMPANY", "4")
    heard = []

    def listen(fraction, phase):
        heard.append((fraction, phase))
        if fraction == 0.5 and phase.endswith("(compiling kernels, first use only)"):
            (tmp_path / "began" / "nobody").touch()

    act("ok", "ok", "ok", at_once=3, free=lambda: 64 * GIB, progress=listen)
    assert heard[-1] == (1.0, "3 of 3 candidates done")
    assert any("0 of 3 candidates done: <ok 0>, <ok 1> and 1 more" in phase for _, phase in heard)


def test_an_interrupt_ends_all_of_them(act, tmp_path, monkeypatch):
    def interrupt(fraction, phase):
        if fraction:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        act("stay", "stay", at_once=2, free=lambda: 64 * GIB, progress=interrupt)
    pids = [int(path.name) for path in (tmp_path / "acts").iterdir()]
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_threads_are_shared_out(act, monkeypatch):
    monkeypatch.setattr(pools, "usable_cores", lambda: 8)
    found = act("ok", "ok", "ok", at_once=3, free=lambda: 64 * GIB)
    assert {each.label for each in found.values()} == {"2"}


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from sequester.methods import PrefixPruning\n"
        "from sequester.testing import symbol_table\n"
        "from sequester.workflow.compare import compare\n"
        "found = compare(symbol_table(['ab', 'ab']), [PrefixPruning(k=9)])\n"
        "print(found.tried[0].state)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "unattainable\n"


def test_results_can_be_kept_and_read_again():

    from sequester.attacks.risk import Proportion
    from sequester.utility.score import Score
    from sequester.workflow.comparison.trial import RiskPair

    score = Score(value=0.1, goal="minimize", bounds=(0, None), means="something")
    risk = RiskPair(release=Proportion(0.1, (0.0, 0.2)), raw=Proportion(0.5, (0.4, 0.6)), bound=0.5)
    tried = TrialResult(
        method="p2ka",
        label="p2ka k=2",
        parameters={"k": 2},
        risks={"found": risk},
        utility={"information_loss": score},
        warnings=("a", "b"),
    )
    assert TrialResult.of(json.loads(json.dumps(tried.to_json()))) == tried
