"""Processes side by side: memory bounds them, one that dies takes nobody with it, and none stays behind."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

import pytest

from sequester.methods import BFP2kA
from sequester.testing import symbol_table
from sequester.workflow.comparison import pool as pools
from sequester.workflow.comparison.grid import Candidate
from sequester.workflow.comparison.pool import RESERVE, Pool
from sequester.workflow.comparison.trial import Knowledge, Task, TrialResult

GIB = 2**30
# Does what the label of its task says, which it finds in the bytes it is sent; loads nothing.
ACTOR = """
import json, os, re, sys, time
sent = b""
while b"<" not in sent or b">" not in sent:
    sent += os.read(0, 65536)
act, number = re.search(rb"<([a-z]+) (\\d+)>", sent)[1].decode(), 0
folder = os.environ["ACTS"]
here = os.path.join(folder, str(os.getpid()))
open(here, "w").close()
open(os.path.join(os.environ["BEGAN"], str(os.getpid())), "w").close()
def is_there(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True
def count():
    return sum(map(is_there, os.listdir(folder)))
together = count()
def tell(**document):
    print(json.dumps(document), flush=True)
tell(progress=0.5)
tell(compiling=True)
while len(os.listdir(os.environ["BEGAN"])) < int(os.environ.get("COMPANY", "1")):
    time.sleep(0.01)
together = max(together, count())
if act == "die" or (act == "crowd" and together > 1):
    os.remove(here)
    os.abort()
if act == "stay":
    time.sleep(600)
result = json.load(open(os.environ["RESULT"]))
result |= {"events": together, "peak_memory": int(os.environ.get("PEAK", "1"))}
os.remove(here)
if act == "fault":
    tell(failed="internal error: ValueError at nowhere", is_ours=True)
else:
    tell(result=result)
print("cut", end="", flush=True)
"""
TABLE = symbol_table(["ab", "ab"])


@pytest.fixture
def act(tmp_path, monkeypatch):
    """Run tasks that act as their labels say; gives label to result."""

    for name in ("acts", "began"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name.upper(), str(tmp_path / name))
    (tmp_path / "result.json").write_text(json.dumps(TrialResult(method="p2ka", label="done").to_json()))
    monkeypatch.setenv("RESULT", str(tmp_path / "result.json"))

    def act(*acts, progress=lambda fraction, phase: None, **keywords):
        tasks = [task(f"<{each} {number}>", str(number)) for number, each in enumerate(acts)]
        program = (sys.executable, "-S", "-c", ACTOR)
        with Pool(TABLE, program=program, **keywords) as pool:
            return {done.key: tried for done, tried in pool.run(tasks, progress)}

    return act


def task(label, key):
    candidate = Candidate(name="p2ka", label=label, method=BFP2kA(k=2))
    knowledge = Knowledge(kind="ordered", known=1, targets=1)
    return Task(candidate=candidate, key=key, seed="x", knowledge=knowledge, max_suppressed=None)


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
    assert "was ended by signal 6, as happens where memory runs out" in found["0"].reason
    assert found["1"].holds
    assert found["0"].parameters == {"k": 2, "strict": True}


def test_a_fault_of_ours_is_said(act):
    found = act("fault", free=lambda: 64 * GIB)
    assert (found["0"].state, found["0"].is_ours) == ("failed", True)


def test_where_memory_runs_out_the_last_to_begin_waits(act, tmp_path, monkeypatch):
    told = iter([64 * GIB, 64 * GIB, RESERVE - 1])
    monkeypatch.setenv("COMPANY", "3")

    def free():
        left = next(told, None)
        if left is None:
            (tmp_path / "began" / "nobody").touch()
        return left or 64 * GIB

    found = act("ok", "ok", at_once=2, free=free)
    assert all(each.holds for each in found.values())
    assert found["1"].events == 1


def test_progress_names_who_runs_and_ends_whole(act):
    heard = []
    act(
        "ok",
        "ok",
        "ok",
        at_once=3,
        free=lambda: 64 * GIB,
        progress=lambda fraction, phase: heard.append((fraction, phase)),
    )
    assert heard[-1] == (1.0, "3 of 3 candidates done")
    assert any("0 of 3 candidates done: <ok 0>, <ok 1> and 1 more" in phase for _, phase in heard)
    assert any(phase.endswith("(compiling kernels, first use only)") for _, phase in heard)


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


def test_threads_are_shared_out(monkeypatch):
    monkeypatch.setattr(pools, "usable_cores", lambda: 8)
    seen = []

    class Silent:
        pid, stdin, stdout = 1, None, None

        def wait(self):
            return 0

        def kill(self):
            pass

    def popen(program, env, **keywords):
        seen.append(env["POLARS_MAX_THREADS"])
        return Silent()

    monkeypatch.setattr(pools.subprocess, "Popen", popen)
    with Pool(TABLE) as pool:
        pool._start(replace(task("a", "a")), 3)
    assert seen == ["2"]


def test_results_can_be_kept_and_read_again():

    from sequester.attacks.risk import Proportion
    from sequester.utility.score import Score
    from sequester.workflow.comparison.trial import Risks

    score = Score(value=0.1, goal="minimize", bounds=(0, None), means="something")
    risk = Risks(release=Proportion(0.1, (0.0, 0.2)), raw=Proportion(0.5, (0.4, 0.6)), bound=0.5)
    tried = TrialResult(
        method="p2ka",
        label="p2ka k=2",
        parameters={"k": 2},
        risks={"found": risk},
        utility={"information_loss": score},
        warnings=("a", "b"),
    )
    assert TrialResult.of(json.loads(json.dumps(tried.to_json()))) == tried
