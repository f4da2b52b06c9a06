"""Comparisons from Python: the same results in any order, kept and found again, with their reasons."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

import sequester as sq
from sequester.attacks.risk import Proportion
from sequester.errors import InputError, ParameterError, SchemaError, SequesterWarning
from sequester.testing import record_table, symbol_table
from sequester.utility.score import Score
from sequester.workflow import compare as module
from sequester.workflow.compare import compare
from sequester.workflow.comparison.comparison import Comparison, candidates_csv, page
from sequester.workflow.comparison.trial import Knowledge, RiskPair, TrialResult

ROWS = ["abc", "abc", "abd", "ab", "ab", "cab", "cab", "b", "b"]
SEED = "kept in a safe place"


def told(found):
    """Leave out what is different every time."""
    return [replace(each, seconds=0, peak_memory=0) for each in found.tried]


@pytest.mark.second_process
def test_the_same_results_whatever_order_they_come_in(tmp_path):
    table = symbol_table(ROWS)
    methods = [sq.BFP2kA(k=2), sq.BFP2kA(k=99)]
    one = compare(table, methods, seed=SEED, at_once=1, targets=50)
    other = compare(table, methods[::-1], seed=SEED, at_once=2, targets=50, out=tmp_path / "out")
    assert told(one) == [replace(each, report="") for each in told(other)[::-1]]
    assert [each.state for each in one.tried] == ["made", "unattainable"]
    assert "99" in one.tried[1].reason
    assert 0 <= one.risk(0).value <= 1
    assert one.risk(1) is None
    assert one.recommended == 0
    # The same call again finds everything, and runs nothing.
    assert told(_without_running(table, methods[::-1], tmp_path / "out")) == told(other)


def _without_running(table, methods, out):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_candidates", None)
        return compare(table, methods, seed=SEED, targets=50, out=out)


def test_records_without_persons_have_an_adversary_of_their_own(tmp_path):
    table = record_table(["ab", "ba", "aa", "bb", "ab", "ba"])
    methods = [sq.Reposition(l=2, snapshot="order"), sq.BFP2kA(k=2)]
    with pytest.warns(SequesterWarning, match="6 persons have records in several published snapshots"):
        found = compare(table, methods, seed=SEED, out=tmp_path / "out", write_releases=True)
    made, unfit = found.tried
    assert found.adversary == "record_guess"
    assert found.risk(0).value <= 0.5
    assert unfit.state == "unfit"
    assert "symbol" in unfit.reason
    assert sq.verify(tmp_path / "out" / made.release / "release").holds
    assert "<title>Comparison</title>" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"known": 0}, "known must be at least 1, got 0"),
        ({"targets": True}, "targets must be a whole number, got True"),
        ({"at_once": 1.5}, r"at_once must be a whole number, got 1\.5"),
        ({"max_risk": 2}, "max_risk must be between 0 and 1, got 2"),
        ({"adversary": "mallory"}, "adversary must be one of found, marketer, .*, got 'mallory'"),
        ({"write_releases": True}, "write_releases needs out"),
    ],
)
def test_wrong_parameters(keywords, message):
    with pytest.raises(ParameterError, match=message):
        compare(symbol_table(ROWS), [sq.BFP2kA(k=2)], **keywords)


def test_wrong_tables_and_methods():
    with pytest.raises(SchemaError, match="table must be an EventTable, got list"):
        compare([], [sq.BFP2kA(k=2)])
    with pytest.raises(ParameterError, match="methods must be a list"):
        compare(symbol_table(ROWS), [])
    with pytest.raises(ParameterError, match=r"methods must be methods with their parameters.*got 'p2ka'"):
        compare(symbol_table(ROWS), ["p2ka"])


def score(value, *, goal="minimize", means="loss"):
    return Score(value=value, goal=goal, bounds=(0, 1), means=means)


def made(method, k, risk, **utility):
    share = Proportion(risk, (risk / 2, min(2 * risk, 1)))
    return TrialResult(
        method=method,
        label=f"{method} k={k}",
        parameters={"k": k},
        model="SequenceKAnonymity",
        risks={"found": RiskPair(release=share, raw=Proportion(0.5, (0.4, 0.6)))},
        utility=utility,
        report=f"reports/{method}-{k}.html",
    )


KNOWLEDGE = Knowledge(kind="ordered", known=2, targets=10)


def test_the_measure_is_one_that_says_the_same_of_all():
    one = made("p2ka", 2, 0.2, information_loss=score(0.1), lost_events=score(0.3))
    other = made("ph", 2, 0.1, information_loss=score(0.1, means="other"), lost_events=score(0.4))
    assert Comparison.of([one, other], knowledge=KNOWLEDGE).measure == "lost_events"
    assert Comparison.of([one], knowledge=KNOWLEDGE).measure == "information_loss"
    named = Comparison.of([one, other], knowledge=KNOWLEDGE, measure="information_loss")
    assert named.incomparable
    with pytest.raises(InputError, match="measure 'charm' is not among those of these releases: information"):
        Comparison.of([one], knowledge=KNOWLEDGE, measure="charm")
    with pytest.raises(
        InputError, match="adversary 'guess' cannot try any of these releases; there are found"
    ):
        Comparison.of([one], knowledge=KNOWLEDGE, adversary="guess")


def test_where_more_is_better_the_frontier_turns_round():
    rows = [
        made("p2ka", k, risk, sim1=score(value, goal="maximize"))
        for k, risk, value in ((2, 0.3, 0.9), (3, 0.2, 0.5), (4, 0.1, 0.6))
    ]
    found = Comparison.of(rows, knowledge=KNOWLEDGE, measure="sim1")
    assert found.frontier == (2, 0)
    assert found.local_optima == ()


def test_nothing_made_is_said_and_drawn_empty():
    rows = [TrialResult(method="p2ka", label="p2ka k=9", state="unattainable", reason="no <b>luck</b>")]
    found = Comparison.of(rows, knowledge=KNOWLEDGE)
    assert found.recommended is None
    assert found.to_json()["candidates"][0]["risk"] is None
    text = page(found)
    assert "No candidate keeps its promise." in text
    assert "&lt;b&gt;luck&lt;/b&gt;" in text
    assert "<b>luck" not in text
    assert "p2ka k=9: no <b>luck</b>" in repr(found)
    assert "<svg" not in found._repr_html_()


def test_the_table_and_the_notebook_say_the_same():
    rows = [
        made("p2ka", 2, 0.2, information_loss=score(0.1)),
        made("p2ka", 3, 0.1, information_loss=score(0.05)),
        made("p2ka", 4, 0.05, information_loss=score(0.3)),
        TrialResult(method="ph", label="ph", state="unfit", reason="no patterns"),
    ]
    found = Comparison.of(rows, knowledge=KNOWLEDGE)
    assert found.local_optima == (1,)
    lines = list(csv.DictReader(io.StringIO(candidates_csv(found))))
    assert [line["holds"] for line in lines] == ["true", "true", "true", "false"]
    assert [line["local_optimum"] for line in lines] == ["false", "true", "false", "false"]
    assert lines[0]["set_k"] == "2"
    assert float(lines[1]["risk"]) == 0.1
    assert lines[3]["reason"] == "no patterns"
    document = json.loads(json.dumps(found.to_json()))
    assert document["recommended"] == found.recommended
    assert document["candidates"][1]["risk_interval"] == [0.05, 0.2]
    assert "recommended" in found._repr_html_()
    assert "better than both neighbours" in page(found)


def test_what_must_be_known_is_said_once():
    rows = [
        replace(made("p2ka", 2, 0.2, information_loss=score(0.1)), warnings=("a short seed", "only here")),
        replace(made("p2ka", 3, 0.1, information_loss=score(0.2)), warnings=("a short seed",), release="x"),
        replace(made("ph", 2, 0.1, lost_events=score(0.2)), warnings=("a short seed",), release="y"),
        TrialResult(method="ph", label="ph k=3", state="failed", reason="internal error", is_ours=True),
    ]
    beaten = RiskPair(
        release=Proportion(0.9, (0.9, 0.9)), raw=Proportion(1, (1, 1)), bound=0.5, is_within=False
    )
    rows[0] = replace(rows[0], risks={**rows[0].risks, "prosecutor": beaten})
    found = Comparison.of(rows, knowledge=KNOWLEDGE, measure="information_loss")
    lines = list(module._remarks(found))
    assert lines[0] == "a short seed"
    assert lines[1] == "ph k=3 failed: internal error (please report it)"
    assert "p2ka k=2: an adversary (prosecutor) achieves more than SequenceKAnonymity claims" in lines
    assert "not in the drawing, without information_loss: ph k=2" in lines
    assert lines[-1].startswith("Hand out one of these releases only.")
    assert "only here" not in lines


def test_the_measure_is_chosen_among_those_in_the_drawing():
    persons = made("halt", 2, 0.2, information_loss=score(0.1), lost_events=score(0.3))
    records = TrialResult(method="reposition", label="reposition l=2", utility={"lost_events": score(0.0)})
    found = Comparison.of([persons, records], knowledge=KNOWLEDGE)
    assert (found.measure, found.recommended) == ("information_loss", 0)
    assert list(module._remarks(found)) == ["not in the drawing, with nobody to look for: reposition l=2"]
