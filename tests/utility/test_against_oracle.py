"""Every measure of a table with weights equals its definition, on small tables of all kinds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import utility as oracle
from oracles.hierarchy import depth_first
from sequester.data.sequences import Sequences
from sequester.hierarchies import Hierarchy
from sequester.testing import symbol_table
from sequester.utility import (
    CertaintyPenalty,
    ClassificationMetric,
    Discernibility,
    ExpectedEdits,
    ILoss,
    LengthDistribution,
    LossMetric,
    LossPerGain,
    Precision,
    ReturnGaps,
    Suppression,
    TimeToEvent,
    Transitions,
    ValueDivergence,
)
from utility.cases import TREES, attributes, global_releases, releases, sequences, table

rows = st.lists(st.text("abc", max_size=5), min_size=1, max_size=5)


def sides(case):
    before, after, weights = case
    original = table(before, weights=weights)
    return original, sequences(original, after), attributes(before, after, weights)


@given(releases())
def test_losses_of_cells(case):
    original, released, told = sides(case)
    for measure, definition in (
        (LossMetric(), oracle.loss_metric),
        (CertaintyPenalty(), oracle.certainty_penalty),
        (ILoss(), oracle.iloss),
        (Precision(), oracle.precision),
    ):
        score = measure.score(released, original=original)
        assert score.value == pytest.approx(float(definition(told)))
        assert score.bounds[0] <= score.value <= score.bounds[1] + 1e-9


@given(releases())
def test_classes(case):
    before, after, weights = case
    original, released, _ = sides(case)
    kept = [place for place, weight in enumerate(weights) if weight]
    histories = [
        [tuple(tuple(event[place] for place in kept) for event in person) for person in side]
        for side in (before, after)
    ]
    score = Discernibility().score(released, original=original)
    assert score.value == pytest.approx(float(oracle.discernibility(histories[1], len(before))))
    assert score.bounds[0] <= score.value <= score.bounds[1]
    events = [(tuple(event[place] for place in kept), event[2]) for person in after for event in person]
    metric = ClassificationMetric().score(released, original=original)
    assert metric.value == pytest.approx(float(oracle.classification(events, sum(map(len, before)))))
    gain = LossPerGain(information_loss=0.5).score(released, original=original)
    assert gain.value == pytest.approx(oracle.loss_per_gain(0.5, *histories))


@pytest.mark.kernel
@given(releases())
def test_values_transitions_and_edits(case):
    before = case[0]
    original, released, told = sides(case)
    divergence = ValueDivergence().score(released, original=original)
    assert divergence.value == pytest.approx(oracle.value_divergence(told), abs=1e-9)
    assert divergence.value >= 0
    order = [*depth_first(TREES["Q"]), *depth_first(TREES["R"])]
    distance, accuracy = oracle.transitions(told, order)
    scores = Transitions().score(released, original=original)
    assert scores["transition_distance"].value == pytest.approx(float(distance), abs=1e-9)
    assert scores["next_event_accuracy"].value == pytest.approx(float(accuracy), abs=1e-9)
    costs = sum(oracle.edits(told, person) for person in range(len(before)))
    edits = ExpectedEdits().score(released, original=original)
    assert edits.value == pytest.approx(float(costs / len(before)))
    lengths = LengthDistribution().score(released, original=original)
    assert lengths.value == pytest.approx(float(oracle.transport(*[[*map(len, side)] for side in case[:2]])))


@given(releases())
def test_suppression(case):
    before, after, _ = case
    original, released, _ = sides(case)
    shown = sum(event[:2] != ("*", "*") for person in after for event in person)
    scores = Suppression().score(released, original=original)
    assert scores["suppressed_events"].value == pytest.approx(1 - shown / sum(map(len, before)))
    assert scores["suppressed_persons"].value == pytest.approx(sum(not each for each in after) / len(before))


@given(releases())
def test_time_to_the_first_protected_value(case):
    before, after, _ = case
    original, released, _ = sides(case)
    histories = [
        [[(place, Fraction(event[2] == "yes")) for place, event in enumerate(person)] for person in side]
        for side in (before, after)
    ]
    score = TimeToEvent().score(released, original=original)
    assert score.value == pytest.approx(float(oracle.curve_distance(*histories)))


def below(label):
    return oracle.below(TREES["Q"], label)


@pytest.mark.kernel
@given(releases())
def test_time_to_symbols_that_may_be_coarse(case):
    """A node is an outcome with the probability of its leaves."""
    before, after = ([[event[0] for event in person] for person in side] for side in case[:2])
    tree = Hierarchy.from_edges(list(TREES["Q"].items()))
    original = symbol_table(before, hierarchy=tree)
    expected = []
    for leaf in sorted({label for row in before for label in row}):
        histories = [
            [
                [
                    (place, Fraction(below(label).count(leaf), len(below(label))))
                    for place, label in enumerate(row)
                ]
                for row in side
            ]
            for side in (before, after)
        ]
        expected.append(oracle.curve_distance(*histories))
    score = TimeToEvent().score(Sequences.from_rows(after), original=original)
    assert score.value == pytest.approx(float(sum(expected) / len(expected)))


@pytest.mark.kernel
@given(
    st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=5), st.text("abcd", max_size=5)), min_size=1, max_size=5
    )
)
def test_symbols_without_a_hierarchy(pairs):
    before, after = ([row for row, _ in pairs], [row for _, row in pairs])
    original, released = symbol_table(before), Sequences.from_rows(after)
    told = [(1, None, before, after)]
    scores = Transitions().score(released, original=original)
    distance, accuracy = oracle.transitions(told, list("abcd"))
    assert scores["transition_distance"].value == pytest.approx(float(distance), abs=1e-9)
    assert scores["next_event_accuracy"].value == pytest.approx(float(accuracy), abs=1e-9)
    divergence = ValueDivergence().score(released, original=original)
    assert divergence.value == pytest.approx(oracle.value_divergence(told), abs=1e-9)
    gaps = ReturnGaps().score(released, original=original)
    assert gaps.value == pytest.approx(float(oracle.transport(oracle.returns(after), oracle.returns(before))))
    edits = ExpectedEdits().score(released, original=original)
    assert edits.value == pytest.approx(
        float(sum(oracle.edits(told, p) for p in range(len(before))) / len(before))
    )


@given(global_releases())
def test_coarser_is_never_better(case):
    """Laws between two releases: what is coarser everywhere loses as much or more."""
    before, fine, coarse = case
    original = table(before)
    for measure in (
        LossMetric(),
        CertaintyPenalty(),
        ILoss(),
        Precision(),
        Discernibility(),
        ClassificationMetric(),
    ):
        first, second = (
            measure.score(sequences(original, side), original=original) for side in (fine, coarse)
        )
        if first.goal == "minimize":
            assert first.value <= second.value + 1e-12
        else:
            assert first.value >= second.value - 1e-12


@given(releases())
def test_nothing_beats_the_original_itself(case):
    before, after, weights = case
    original = table(before, weights=weights)
    released = sequences(original, after)
    same = sequences(original, before)
    for measure, best in (
        (LossMetric(), 0),
        (CertaintyPenalty(), 0),
        (ILoss(), 0),
        (Precision(), 1),
        (ValueDivergence(), 0),
        (ExpectedEdits(), 0),
        (LengthDistribution(), 0),
        (TimeToEvent(), 0),
        (LossPerGain(information_loss=0.0), 0),
    ):
        assert measure.score(same, original=original).value == pytest.approx(best, abs=1e-12)
    scores = [Transitions().score(side, original=original) for side in (same, released)]
    assert scores[0]["transition_distance"].value == pytest.approx(0, abs=1e-12)
    assert scores[0]["next_event_accuracy"].value >= scores[1]["next_event_accuracy"].value - 1e-12
    gone = Suppression().score(same, original=original)
    assert gone["suppressed_events"].value == gone["suppressed_persons"].value == 0
