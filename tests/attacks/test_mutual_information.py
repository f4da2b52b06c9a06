"""Who points at places of secret patterns is right as often as the definition says, and as is claimed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.mutual_information.cases import Case as Example
from methods.mutual_information.cases import cases, released_rows, table_of
from oracles import positions as oracles
from sequester.attacks.context import Case
from sequester.attacks.mutual_information import PatternPositions, attack_positions, position_risks
from sequester.data.sequences import Sequences
from sequester.methods import BottomUp, TopDown
from sequester.privacy import MutualInformationPrivacy
from sequester.privacy.mutual_information import count_fitting
from sequester.testing import symbol_table

SEED = "kept in a safe place"
SOME = settings(max_examples=settings.default.max_examples // 4)


def position_risk(places, *, kind="mapping", measure="position"):
    (found,) = (risk for risk in position_risks(places) if (risk.kind, risk.name) == (kind, measure))
    return found


GUESSES = (
    partial(position_risk, kind="taxonomy"),
    position_risk,
    partial(position_risk, measure="surest_position"),
    partial(position_risk, measure="leakage"),
)


def places_of(example, released, *, targets=100):
    model = MutualInformationPrivacy(
        sensitive=frozenset(example.patterns),
        window=example.window,
        max_leakage=example.bound.get("share"),
        max_leakage_bits=example.bound.get("bits"),
        worst_case=example.bound.get("worst_case", False),
        measure=example.bound.get("measure", "exact"),
    )
    return PatternPositions.of(
        model, Sequences.from_rows([released]), example.table(), targets=targets, seed=SEED
    )


@st.composite
def generalized(draw):
    """An example, and any generalization of each of its places by itself."""
    example = draw(cases(weighted=False))
    released = tuple(draw(st.sampled_from(oracles.above(example.tree, label))) for label in example.row)
    return example, released


@SOME
@given(generalized())
def test_chances_equal_definition(given):
    example, released = given
    row, tree, window = tuple(example.row), example.tree, example.window
    there = [
        pattern
        for pattern in sorted(set(example.patterns))
        if oracles.by_taxonomy(row, released, pattern, tree, window) is not None
    ]
    taxonomy, mapping, surest, leakage = (guess(places_of(example, released)) for guess in GUESSES)
    assert taxonomy.targets == len(there)
    if not there:
        assert (taxonomy.value, mapping.value, surest.value, leakage.value) == (0, 0, 0, 0)
        return
    pointed, prior = zip(
        *(oracles.by_taxonomy(row, released, each, tree, window) for each in there), strict=True
    )
    mean, most = zip(*(oracles.by_mapping(row, released, each, window) for each in there), strict=True)
    assert taxonomy.value == pytest.approx(sum(pointed) / len(there))
    assert taxonomy.baseline == pytest.approx(sum(prior) / len(there))
    assert mapping.value == pytest.approx(sum(mean) / len(there))
    assert surest.value == pytest.approx(max(most))
    assert taxonomy.raw.value == 1
    # Knowing more never makes a guess worse.
    assert taxonomy.value <= mapping.value + 1e-9
    assert mapping.value <= surest.value + 1e-9


@SOME
@given(generalized(), st.sampled_from(["exact", "paper"]))
def test_leakage_is_what_an_adversary_gains(given, claimed):
    """`leakage` is the mutual information for both promises; what is claimed is bounded, and only that."""
    example, released = given
    bound = {"share": 0.5, "worst_case": True, "measure": claimed}
    places = places_of(Example(**{**vars(example), "bound": bound}), released)
    row = tuple(example.row)
    for measure, name in (("exact", "leakage"), ("paper", "paper_leakage")):
        count = {"exact": oracles.informed, "paper": oracles.leaked}[measure]
        shares = []
        for pattern in set(example.patterns):
            if oracles.by_taxonomy(row, released, pattern, example.tree, example.window) is None:
                continue
            bits, most = count(row, released, pattern, example.window)
            if most > 0:
                shares.append(bits / most)
        risk = position_risk(places, measure=name)
        assert risk.value == pytest.approx(max(shares, default=0), abs=1e-9)
        if measure == claimed:
            assert risk.is_within == (max(shares, default=0) <= 0.5 + 1e-9)
        else:
            assert risk.bound is None


def test_an_attack_tells_the_mutual_information_of_a_release_by_the_papers_measure():
    table = table_of(["a" * 90 + "b" * 10], {"a": "A", "b": "A", "c": "*", "A": "*"})
    model = MutualInformationPrivacy(
        sensitive=frozenset({("a",)}), window=1, max_leakage_bits=0.15, measure="paper"
    )
    known = Case(tables={}, released=table, original=table, histories=table.sequences)
    found = {risk.name: risk for risk in attack_positions(model, known)}
    assert found["leakage"].value == pytest.approx(1)
    assert found["leakage"].bound is None
    assert found["paper_leakage"].is_within
    assert "paper_leakage" not in {
        risk.name for risk in attack_positions(replace(model, measure="exact"), known)
    }


@pytest.mark.parametrize("method", [TopDown, BottomUp])
@SOME
@given(example=cases(weighted=False))
def test_releases_keep_what_they_claim(method, example):
    released = example.release(method)
    guesses = [*GUESSES, partial(position_risk, measure="paper_leakage")]
    risks = [guess(places_of(example, released)) for guess in guesses]
    assert [str(risk) for risk in risks if not risk.is_within] == []
    if risks[0].targets:
        is_exact = example.bound["measure"] == "exact"
        assert [risk.bound is not None for risk in risks] == [True, True, False, is_exact, not is_exact]


def test_a_pattern_that_is_shown_beats_the_claim():
    example = Example(
        "aabxab", [("a", "b")], {"a": "A", "b": "A", "x": "*", "A": "*"}, 2, "linear", {"share": 0.6}
    )
    assert position_risk(places_of(example, "AAAxAA"), measure="leakage").is_within
    risk = position_risk(places_of(example, tuple(example.row)), measure="leakage")
    assert (risk.value, risk.bound, risk.is_within) == (1.0, 0.6, False)
    tighter = Example(**{**vars(example), "bound": {"share": 0.3}})
    assert not position_risk(places_of(tighter, tuple(example.row))).is_within


def test_hole_1_of_the_wrong_reading_is_seen():
    # With a and b at the root and all others as they were, (*, *) is ab or ba for certain.
    row = "abxyxyabxyyxabyxxyab"
    tree = dict.fromkeys("abxy", "*")
    example = Example(row, [("a", "b"), ("b", "a")], tree, 3, "linear", {"share": 0.5})
    released = tuple("*" if label in "ab" else label for label in row)
    leakage = position_risk(places_of(example, released), measure="leakage")
    assert leakage.value == pytest.approx(1.0)
    assert not leakage.is_within


def test_some_persons_stand_for_many():
    rows = ["aabxab", "abab", "xxab", "ab"] * 5
    tree = {"a": "A", "b": "A", "x": "*", "A": "*"}
    table = table_of(rows, tree)
    method = TopDown(patterns=[["a", "b"]], window=2, max_leakage=0.5)
    released = Sequences.from_rows(released_rows(method, table))
    everybody, some = (
        [
            guess(PatternPositions.of(method.model(), released, table, targets=targets, seed=SEED))
            for guess in GUESSES
        ]
        for targets in (20, 10)
    )
    for all_of, drawn in zip(everybody, some, strict=True):
        assert drawn.targets == 10 < all_of.targets == 20
        assert drawn.interval[0] <= all_of.value <= drawn.interval[1]
        assert all_of.interval == (all_of.value, all_of.value)


def test_a_release_brings_its_adversaries():
    table = table_of(["aabxab", "abxab"], {"a": "A", "b": "A", "x": "*", "A": "*"})
    release = TopDown(patterns=[["a", "b"]], window=2, max_leakage=0.5).apply(table, seed=SEED)
    case = Case(tables=release.tables, released=release.table, original=table)
    assert attack_positions(release.model, case) == []
    histories = Sequences.from_rows(
        released_rows(TopDown(patterns=[["a", "b"]], window=2, max_leakage=0.5), table)
    )
    known = Case(tables=release.tables, released=release.table, original=table, histories=histories)
    risks = attack_positions(release.model, known)
    assert [risk.name for risk in risks] == ["position", "position", "surest_position", "leakage"]
    assert all(risk.is_within for risk in risks)


def test_without_a_taxonomy_only_a_star_may_be_anything():
    table = symbol_table(["ab"])
    assert not table.hierarchies
    bare = PatternPositions.of(
        MutualInformationPrivacy(sensitive=frozenset({("a",)}), window=1),
        Sequences.from_rows(["**"]),
        table,
        targets=9,
        seed=SEED,
    )
    assert position_risk(bare, kind="taxonomy").value == 0.5


@pytest.mark.kernel
def test_possible_tuples_are_counted():
    before = np.array([0, 1, 0, 1], np.int32)
    after = np.array([2, 2, 0, 1], np.int32)
    offsets = np.array([0, 4, 4], np.int64)
    may_be = np.array([[True, False, True], [False, True, True]])
    anything, asked = np.ones((2, 2), np.bool_), np.array([True, True])
    spelled = np.eye(2, dtype=np.bool_)
    # Pairs of places within two steps: (0,1), (0,2), (1,2), (1,3), (2,3); (0,2) and (1,2) end on code 0.
    assert count_fitting((before, after), offsets, (anything, may_be), 2, asked).tolist() == [3, 0]
    assert count_fitting((before, after), offsets, (spelled, may_be), 2, asked).tolist() == [2, 0]
    assert count_fitting((before, after), offsets, (spelled, may_be), 2, ~asked).tolist() == [0, 0]
