"""Data and promise decide which measures apply; what is known stays, samples say so, nothing is published."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from sequester.data.sequences import Sequences
from sequester.errors import SequesterWarning
from sequester.privacy import SequenceKAnonymity
from sequester.testing import symbol_table
from sequester.utility import Score
from sequester.utility import register as register_module
from sequester.utility.register import MEASURES, applicable, measure_all
from sequester.utility.score import ReleasePair, sample_persons
from sequester.workflow.write import write
from utility.cases import table
from utility.kinds import KINDS, release_of

CELLS = {"loss_metric", "ncp", "iloss", "precision"}
HISTORIES = {
    "suppressed_persons",
    "discernibility",
    "loss_per_privacy_gain",
    "query_error",
    "query_error_spread",
    "query_bias",
    "transition_distance",
    "next_event_accuracy",
    "length_distance",
    "edit_distance",
    "time_to_event_distance",
}
SYMBOLS = {
    "sim1",
    "sim2",
    "lost_patterns",
    "ghost_patterns",
    "lost_itemsets",
    "kl_items",
    "kl_itemsets",
    "return_distance",
    "invented_items",
}
ALWAYS = {"suppressed_events", "kl_values"}
EXPECTED = {
    "quasi-identifiers": ALWAYS | CELLS | HISTORIES | {"classification_metric"},
    "classes": ALWAYS | CELLS | HISTORIES | {"classification_metric"},
    "quasi-identifiers that tell time": ALWAYS
    | CELLS
    | HISTORIES
    | {"classification_metric", "gap_distance"},
    "symbols that are moved": ALWAYS | HISTORIES | SYMBOLS,
    "paths": ALWAYS | HISTORIES | SYMBOLS,
    "trips": ALWAYS | HISTORIES | SYMBOLS,
    "symbols that are made coarser": ALWAYS | CELLS | HISTORIES,
    "records apart from their values": ALWAYS | CELLS,
    "records made coarser": ALWAYS | CELLS | {"classification_metric"},
}
REGISTERED = {name for each in MEASURES for name in each.names}


@pytest.mark.parametrize("kind", KINDS)
def test_data_and_promise_decide(kind):
    utility = release_of(kind).utility
    assert utility.keys() & REGISTERED == EXPECTED[kind]
    for name, score in utility.items():
        low, high = score.bounds
        assert np.isfinite(score.value), name
        assert low <= score.value, name
        assert high is None or score.value <= high + 1e-9, name


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_a_rounded_information_loss_leaves_the_house(kind, tmp_path):
    release = release_of(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        write(release, tmp_path / "out", original=KINDS[kind][1]())
    certificate = json.loads((tmp_path / "out/release/certificate.json").read_text(encoding="utf-8"))
    assert set(certificate["utility"]) <= {"information_loss"}
    assert bool(certificate["utility"]) == ("information_loss" in release.utility)
    for path in (tmp_path / "out/release").rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            text = path.read_text(encoding="utf-8")
            assert not [
                name
                for name, score in release.utility.items()
                if name != "information_loss" and (name in text or score.means in text)
            ], path.name


def pair(rows, released=None, **more):
    original = symbol_table(rows)
    after = original.sequences if released is None else Sequences.from_rows(released)
    return ReleasePair(released=after, original=original, model=SequenceKAnonymity(k=2), **more)


def test_trips_are_called_trips():
    utility = release_of("trips").utility
    for name in ("suppressed_persons", "discernibility", "query_error", "length_distance", "return_distance"):
        assert "trip" in utility[name].means
        assert "person" not in utility[name].means


@pytest.mark.parametrize("kind", ["paths", "trips", "symbols that are made coarser", "classes"])
def test_the_original_itself_is_as_good_as_can_be(kind):
    """Whatever is measured: nothing lost is best, trips included."""
    original = KINDS[kind][1]()
    release = release_of(kind)
    pair = ReleasePair(
        released=original.sequences, original=original, model=release.model, information_loss=0.0
    )
    for name, score in measure_all(pair).items():
        low, high = score.bounds
        if name in ("discernibility", "classification_metric", "next_event_accuracy"):
            continue  # as good as the data allow, which the definitions are held to
        assert score.value == pytest.approx(max(low, 0) if score.goal == "minimize" else high, abs=1e-12), (
            name
        )


def test_what_is_known_stays():
    known = {"sim1": Score(value=0.5, goal="maximize", bounds=(0, 1), means="Known.")}
    found = measure_all(pair(["ab", "ab"]), known=known)
    assert "sim1" not in found
    assert "sim2" in found


def test_progress_rises_to_its_end():
    seen = []
    measure_all(pair(["ab", "ab"]), progress=lambda fraction, phase: seen.append((fraction, phase)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert seen[-1] == (1.0, "measured")
    assert {"comparing frequent patterns", "counting edits"} <= {phase for _, phase in seen}


def test_without_an_information_loss_there_is_no_loss_per_gain():
    assert "loss_per_privacy_gain" not in measure_all(pair(["ab", "ab"]))
    assert measure_all(pair(["ab", "ab"], information_loss=0.5))["loss_per_privacy_gain"].value == 0.5


def test_long_histories_are_not_laid_side_by_side(monkeypatch):
    """Fewer persons have to do; where one alone is too long, there is no such score."""
    rows = ["ab", "ab", "ab", "ab"]
    assert "sample" not in measure_all(pair(rows))["edit_distance"].means
    monkeypatch.setattr(register_module, "MOST_EDITS", 8)
    told = measure_all(pair(rows))["edit_distance"].means
    assert told.endswith("Measured on a random sample of 2 persons.")
    monkeypatch.setattr(register_module, "MOST_EDITS", 3)
    assert "edit_distance" not in measure_all(pair(rows))


def test_only_shorter_patterns_are_compared_where_there_are_too_many(monkeypatch):
    rows = ["abcd", "abcd", "dcba", "dcba"]
    assert "at most 3 items" in measure_all(pair(rows))["lost_patterns"].means
    monkeypatch.setattr(register_module, "MAX_PATTERNS", 12)
    assert "at most 1 items" in measure_all(pair(rows))["lost_patterns"].means
    monkeypatch.setattr(register_module, "MAX_PATTERNS", 1)
    assert not {"sim1", "lost_patterns", "lost_itemsets"} & measure_all(pair(rows)).keys()


def test_samples_are_told(monkeypatch):
    """Large data are looked at in part, and scores that did so say it."""
    chance = np.random.default_rng(3)
    rows = ["".join(chance.choice(list("abc"), chance.integers(1, 5))) for _ in range(40)]
    small = [each for each in MEASURES if each.most_events is not None]
    whole = pair(rows, information_loss=0.2)
    exact = measure_all(whole)
    monkeypatch.setattr(
        "sequester.utility.register.MEASURES",
        [_limited(each, 30) if each in small else each for each in MEASURES],
    )
    found = measure_all(whole)
    assert found.keys() == exact.keys()
    for name, score in found.items():
        is_part = any(name in each.names for each in small)
        assert ("Measured on a random sample of" in score.means) == is_part, name
        if not is_part:
            assert score == exact[name]
    assert measure_all(whole) == found


def _limited(measure, most_events):
    return replace(measure, most_events=most_events)


def test_a_sample_has_the_same_persons_on_both_sides():
    persons = [[("a", "d", "no")] * (1 + number % 3) for number in range(12)]
    original = table(persons)
    part, whole = sample_persons(original.sequences, original, most_events=10)
    assert 1 <= whole.n_events <= 10
    assert whole.n_events == whole.frame.height == len(whole.rows) == part.n_events
    assert whole.sequences.person_offsets.tolist() == part.person_offsets.tolist()
    for name in ("Q", "R", "ill"):
        assert part.to_rows(name) == whole.sequences.to_rows(name)
    again = original.frame["who"].is_in(whole.persons.implode()).sum()
    assert again == whole.n_events
    same = sample_persons(original.sequences, original, most_events=1000)
    assert same[1] is original
    alone = table([[("a", "d", "no")] * 5])
    assert sample_persons(alone.sequences, alone, most_events=1)[1] is alone


def test_a_sample_of_trips_keeps_whose_they_are():
    original = KINDS["trips"][1]()
    part, whole = sample_persons(original.sequences, original, most_events=8)
    assert whole.n_persons < original.n_persons
    assert whole.owners.tolist() == part.owners.tolist()
    assert whole.n_owners == whole.persons.n_unique()
    assert whole.times.len() == whole.n_events
    names = dict(zip(whole.owners.tolist(), whole.persons.to_list(), strict=True))
    assert [names[owner] for owner in whole.owners.tolist()] == whole.persons.to_list()


def test_records_are_never_sampled():
    whole = pair(["ab", "ab"], has_persons=False)
    assert whole.sampled(1) is whole


def test_quasi_identifiers_without_weight_leave_little_to_measure():
    original = table([[("a", "d", "no")]], weights=(0.0, 0.0))
    bare = ReleasePair(released=original.sequences, original=original, model=SequenceKAnonymity(k=2))
    names = {name for each in applicable(bare) for name in each.names}
    assert names == {"suppressed_events", "suppressed_persons", "length_distance", "time_to_event_distance"}
    assert measure_all(bare)["length_distance"].value == 0
