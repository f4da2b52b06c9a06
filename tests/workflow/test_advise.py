"""Advice: every method is recommended for something, what fits is accepted, what fits nothing is said."""

from __future__ import annotations

import functools
import itertools
import json
import tomllib
import warnings
from dataclasses import replace

import polars as pl
import pytest

import sequester as sq
from sequester.data.schema import Purpose
from sequester.errors import ParameterError, SchemaError, SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import METHODS
from sequester.release.purpose import KEEP, QUESTIONS
from sequester.testing import history_table, record_table, symbol_table
from sequester.workflow import advise as advising
from sequester.workflow.advise import advise
from sequester.workflow.build import build_method

TREE = Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})
ROWS = ["ab", "abc", "cda", "dab", "ab", "abc", "ba", "ca"] * 8


def trips():
    frame = pl.DataFrame({"who": ["a", "a", "b"], "n": [1, 2, 1], "trip": [1, 2, 1], "stop": ["x", "x", "x"]})
    return sq.EventTable(frame, sq.Schema(person="who", order="n", trip="trip", symbol="stop"))


TABLES = {
    "symbols": symbol_table(ROWS),
    "symbols with a hierarchy": symbol_table(ROWS, hierarchy=TREE),
    "one person": symbol_table(["abcdab" * 3], hierarchy=TREE),
    "many labels": symbol_table(
        [[str(n) for n in range(600)]], hierarchy=Hierarchy.from_tree({"x": [str(n) for n in range(600)]})
    ),
    "histories": history_table(ROWS),
    "records": record_table(ROWS),
    "trips": trips(),
}
ANSWERS = list(itertools.product(*(question.answers for question in QUESTIONS)))


def by_name(answers):
    return {question.name: answer for question, answer in zip(QUESTIONS, answers, strict=True)}


@pytest.fixture(scope="module")
def all_advice():
    with pytest.MonkeyPatch.context() as patch:
        # What takes a table does not depend on the answers but for k.
        known = functools.cache(lambda name, k: fitting(TABLES[name], k=k))
        names = {id(table): name for name, table in TABLES.items()}
        fitting = advising._fitting
        patch.setattr(advising, "_fitting", lambda table, k: known(names[id(table)], k))
        return [
            (table, answers, advise(table, **by_name(answers), seconds=0))
            for table in TABLES.values()
            for answers in ANSWERS
        ]


def test_every_method_that_serves_something_is_recommended_for_it(all_advice):
    serving = {name for name, method in METHODS.items() if method.serves is not None}
    assert {advice.recommended.method.name for _, _, advice in all_advice if advice} == serving


def test_what_is_recommended_takes_the_data_and_serves_the_answers(all_advice):
    accepted = set()
    for table, _, advice in all_advice:
        if not advice:
            continue
        if (id(table), advice.block) not in accepted:
            accepted.add((id(table), advice.block))
            method = build_method(tomllib.loads(advice.block)["method"])
            method.accept(table)
            assert type(method) is advice.recommended.method
        service = advice.recommended.method.serves
        assert advice.answers["known"] in service.known
        assert advice.answers["keep"] in service.keeps
        assert advice.answers["release"] in service.release
        assert advice.answers["recipient"] in service.recipients or table.n_owners == 1
        assert advice.runner_up is None or advice.runner_up[0] != advice.recommended.method.name
        assert len(advice.recommended.reasons) >= 3


def test_where_nothing_serves_other_answers_or_reasons_are_named(all_advice):
    served_by = {(id(table), answers): bool(advice) for table, answers, advice in all_advice}
    for table, answers, advice in all_advice:
        if advice:
            continue
        assert advice.block == ""
        assert advice.to_json()["recommended"] is None
        assert set(advice.refused) == set(METHODS)
        assert "no method serves these answers for this data" in str(advice)
        served = [note.split()[:2] for note in advice.notes if note.startswith("--")]
        other = [note for note in advice.notes if " would serve these answers, but not this data: " in note]
        assert served or other or "no other answer to a single question is served either" in advice.notes
        assert all(note.endswith(advice.refused[note.split()[0]]) for note in other)
        for option, answer in served:
            changed = {**by_name(answers), option.removeprefix("--"): answer}
            assert served_by[id(table), tuple(changed.values())], (answers, option, answer)


def test_documents_are_json(all_advice):
    for _, _, advice in all_advice[:: len(ANSWERS) // 3]:
        assert json.loads(json.dumps(advice.to_json()))["answers"] == dict(advice.answers)


@pytest.mark.parametrize(
    "name", ["symbols", "symbols with a hierarchy", "one person", "histories", "records"]
)
def test_parameters_to_begin_with_work(all_advice, name):
    tried = set()
    for table, _, advice in all_advice:
        if table is not TABLES[name] or not advice or advice.recommended.method in tried:
            continue
        tried.add(advice.recommended.method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SequesterWarning)
            assert build_method(tomllib.loads(advice.block)["method"]).apply(table, seed="x" * 16).verdict
    assert tried


def test_care_grows_with_the_recipient():
    table = symbol_table(ROWS * 4)
    ks = [
        advise(table, recipient=who, known="few", keep="patterns").recommended.parameters["k"]
        for who in ("public", "partner", "colleague")
    ]
    assert ks == [10, 5, 3]


def test_c_lies_above_the_share_at_risk():
    table = history_table(["a"] * 2)
    advice = advise(table, recipient="partner", known="all", keep="records")
    assert advice.recommended.parameters == {"k": 2, "c": 0.6}


def test_one_person_is_told_so():
    advice = advise(TABLES["one person"], recipient="public", known="patterns", keep="complete")
    assert advice.recommended.method.name == "top-down"
    assert advice.notes[0].startswith("there is one person")
    assert not advise(TABLES["one person"], recipient="public", known="few", keep="records")


def test_what_the_data_lacks_for_a_method_that_serves_is_named():
    advice = advise(symbol_table(["abcabc"]), recipient="service", known="patterns", keep="complete")
    assert not advice
    assert any(
        note.startswith("top-down would serve these answers, but not this data: ") and "no hierarchy" in note
        for note in advice.notes
    )


def test_many_labels_speak_for_bottom_up():
    advice = advise(TABLES["many labels"], recipient="service", known="patterns", keep="records")
    assert advice.recommended.method.name == "bottom-up"
    assert advice.runner_up[0] == "top-down"


def test_repeated_records_carry_their_caution():
    advice = advise(TABLES["records"], recipient="public", known="time", keep="counts", release="repeated")
    assert advice.recommended.method.name == "reposition"
    assert any("Persons with records in several snapshots" in note for note in advice.notes)
    assert any("sequester attack" in note for note in advice.notes)


def test_trips_leave_methods_that_count_trips():
    advice = advise(TABLES["trips"], recipient="public", known="patterns", keep="patterns")
    assert not advice
    assert advice.refused["ph"] == "it needs one sequence per person, and trip makes several"
    assert "3 trips" in advice.shape


def test_a_method_that_says_nothing_is_never_recommended(monkeypatch):
    monkeypatch.setattr(METHODS["p2ka"], "serves", None)
    advice = advise(TABLES["symbols"], recipient="public", known="few", keep="patterns")
    assert advice.recommended.method.name == "prefix-pruning"
    assert advice.refused["p2ka"] == "its purpose is not declared"


def test_an_empty_table_is_refused_by_every_method():
    advice = advise(symbol_table([]), recipient="public", known="patterns", keep="patterns")
    assert not advice
    assert "none of them occurs" in advice.refused["ph"]


def test_unknown_answers_are_refused():
    words = ", ".join(KEEP.answers)
    with pytest.raises(ParameterError, match=f"keep must be one of {words}, got 'everything'"):
        advise(TABLES["symbols"], recipient="public", known="few", keep="everything")


def histories(n=60):
    rows = [f"{'abcd'[i % 4]}{'bcd'[i % 3]}{'ad'[i // 7 % 2]}" for i in range(n)]
    return history_table(rows)


def test_candidates_are_tried_and_what_keeps_most_is_recommended():
    advice = advise(histories(), recipient="partner", known="few", keep="records")
    kept = {each.method.name: each.information_kept for each in advice.trials}
    assert {"halt", "cblda"} <= {*kept}
    best = max(each for each in kept.values() if each is not None)
    assert kept[advice.recommended.method.name] >= best - advising.CLOSE
    document = advice.to_json()
    assert [each["method"] for each in document["trials"]] == [each.method.name for each in advice.trials]
    lines = advice.lines()
    start = lines.index(f"tried on {advice.sample}:")
    assert lines[start + 1].split() == ["method", "setting", "events", "information", "kept"]
    assert len(lines[start + 2 :]) >= len(advice.trials)


def test_a_purpose_leaves_methods_that_can_be_told_it():
    table = histories()

    def told(name):
        return table.replace(schema=replace(table.schema, purpose=Purpose((name,))))

    found = advise(told(next(iter(table.schema.quasi))), recipient="partner", known="all", keep="yardstick")
    assert found.refused["cblda-baseline"] == "it does not support a purpose"
    with pytest.raises(SchemaError, match="purpose predicts 'none', which is not a column of the release"):
        advise(told("none"), recipient="partner", known="few", keep="records")


def test_what_a_method_keeps_is_what_its_release_keeps():
    table = histories()
    advice = advise(table, recipient="partner", known="few", keep="records")
    for trial in advice.trials:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SequesterWarning)
            release = trial.method(**trial.parameters).apply(table, seed="x" * 16)
        assert trial.information_kept == pytest.approx(1 - release.utility["information_loss"].value)
        assert trial.events_kept == pytest.approx(1 - release.lost_share)


def test_no_time_leaves_nothing_tried():
    advice = advise(histories(), recipient="partner", known="few", keep="records", seconds=1e-9)
    assert {each.reason for each in advice.trials} == {"not done in its share of the time"}
    assert (
        advice.recommended.method.name
        == advise(
            histories(), recipient="partner", known="few", keep="records", seconds=0
        ).recommended.method.name
    )
    assert any("no figure on the sample" in reason for reason in advice.recommended.reasons)


def feed(per_day, days=60):
    n = per_day * days
    frame = pl.DataFrame(
        {
            "day": [f"2024-{1 + i // per_day // 28:02}-{1 + i // per_day % 28:02}" for i in range(n)],
            "ill": ["abcdefgh"[i * 5 % 8] for i in range(n)],
        }
    )
    return sq.EventTable(frame, sq.Schema(person="row", time="day", sensitive={"ill": "all"}))


def test_snapshots_come_from_the_data():
    few = METHODS["reposition"].suggest(feed(3), k=10)
    many = METHODS["reposition"].suggest(feed(60), k=10)
    assert (few["snapshot"], many["snapshot"]) == ("month", "day")
    assert METHODS["reposition"].suggest(feed(6), k=10)["snapshot"] == "week"
    advice = advise(feed(3), recipient="public", known="time", keep="counts", release="repeated")
    tried = [each for each in advice.trials if each.method is advice.recommended.method]
    chosen = next(each for each in tried if each.parameters == advice.recommended.parameters)
    assert chosen.events_kept >= 0.8
    weekly = advise(feed(6), recipient="public", known="time", keep="counts", release="repeated")
    tried = [each for each in weekly.trials if each.method is weekly.recommended.method]
    assert [each.parameters["snapshot"] for each in tried] == ["week", "month"]


def test_one_log_gets_the_loss_of_several_bounds():
    advice = advise(
        TABLES["one person"], recipient="service", known="patterns", keep="complete", release="repeated"
    )
    tried = [each for each in advice.trials if each.method.name == "top-down"]
    assert [each.parameters["max_leakage"] for each in tried] == [0.1, 0.25, 0.5, 0.75]
    assert [each.bits for each in tried] == sorted(each.bits for each in tried)
    kept = [each.information_kept for each in tried]
    assert kept == sorted(kept)
    assert advice.recommended.parameters["max_leakage_bits"] == float(f"{tried[2].bits:.2g}")
    rare = symbol_table(["abcd" * 30 + "aabbccdd" * 3], hierarchy=TREE)
    strict = advise(rare, recipient="service", known="patterns", keep="complete")
    assert strict.recommended.parameters["max_leakage"] == 0.5
    once = advise(TABLES["one person"], recipient="service", known="patterns", keep="complete")
    assert once.recommended.parameters["max_leakage"] == 0.5
