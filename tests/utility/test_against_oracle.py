"""Every measure of a table with weights equals its definition, on small tables of all kinds."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import utility as oracle
from oracles.hierarchy import depth_first
from sequester.data.sequences import Sequences
from sequester.hierarchies import Hierarchy
from sequester.testing import symbol_table
from sequester.utility import (
    classification_metric,
    discernibility,
    expected_edits,
    iloss,
    kl_values,
    length_distance,
    loss_metric,
    loss_per_privacy_gain,
    ncp,
    precision,
    return_distance,
    suppression,
    time_to_event_distance,
    transitions,
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
        (loss_metric, oracle.loss_metric),
        (ncp, oracle.certainty_penalty),
        (iloss, oracle.iloss),
        (precision, oracle.precision),
    ):
        score = measure(released, original=original)
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
    score = discernibility(released, original=original)
    assert score.value == pytest.approx(float(oracle.discernibility(histories[1], len(before))))
    assert score.bounds[0] <= score.value <= score.bounds[1]
    events = [(tuple(event[place] for place in kept), event[2]) for person in after for event in person]
    metric = classification_metric(released, original=original)
    assert metric.value == pytest.approx(float(oracle.classification(events, sum(map(len, before)))))
    gain = loss_per_privacy_gain(released, original=original, information_loss=0.5)
    assert gain.value == pytest.approx(oracle.loss_per_gain(0.5, *histories))


@pytest.mark.kernel
@given(releases())
def test_values_transitions_and_edits(case):
    before = case[0]
    original, released, told = sides(case)
    divergence = kl_values(released, original=original)
    assert divergence.value == pytest.approx(oracle.value_divergence(told), abs=1e-9)
    assert divergence.value >= 0
    order = [*depth_first(TREES["Q"]), *depth_first(TREES["R"])]
    distance, accuracy = oracle.transitions(told, order)
    scores = transitions(released, original=original)
    assert scores["transition_distance"].value == pytest.approx(float(distance), abs=1e-9)
    assert scores["next_event_accuracy"].value == pytest.approx(float(accuracy), abs=1e-9)
    costs = sum(oracle.edits(told, person) for person in range(len(before)))
    edits = expected_edits(released, original=original)
    assert edits.value == pytest.approx(float(costs / len(before)))
    lengths = length_distance(released, original=original)
    assert lengths.value == pytest.approx(float(oracle.transport(*[[*map(len, side)] for side in case[:2]])))


@given(releases())
def test_suppression(case):
    before, after, _ = case
    original, released, _ = sides(case)
    shown = sum(event[:2] != ("*", "*") for person in after for event in person)
    scores = suppression(released, original=original)
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
    score = time_to_event_distance(released, original=original)
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
    score = time_to_event_distance(Sequences.from_rows(after), original=original)
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
    scores = transitions(released, original=original)
    distance, accuracy = oracle.transitions(told, list("abcd"))
    assert scores["transition_distance"].value == pytest.approx(float(distance), abs=1e-9)
    assert scores["next_event_accuracy"].value == pytest.approx(float(accuracy), abs=1e-9)
    divergence = kl_values(released, original=original)
    assert divergence.value == pytest.approx(oracle.value_divergence(told), abs=1e-9)
    gaps = return_distance(released, original=original)
    assert gaps.value == pytest.approx(float(oracle.transport(oracle.returns(after), oracle.returns(before))))
    edits = expected_edits(released, original=original)
    assert edits.value == pytest.approx(
        float(sum(oracle.edits(told, p) for p in range(len(before))) / len(before))
    )


@given(global_releases())
def test_coarser_is_never_better(case):
    """Laws between two releases: what is coarser everywhere loses as much or more."""
    before, fine, coarse = case
    original = table(before)
    for measure in (
        loss_metric,
        ncp,
        iloss,
        precision,
        discernibility,
        classification_metric,
    ):
        first, second = (measure(sequences(original, side), original=original) for side in (fine, coarse))
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
        (loss_metric, 0),
        (ncp, 0),
        (iloss, 0),
        (precision, 1),
        (kl_values, 0),
        (expected_edits, 0),
        (length_distance, 0),
        (time_to_event_distance, 0),
        (partial(loss_per_privacy_gain, information_loss=0.0), 0),
    ):
        assert measure(same, original=original).value == pytest.approx(best, abs=1e-12)
    scores = [transitions(side, original=original) for side in (same, released)]
    assert scores[0]["transition_distance"].value == pytest.approx(0, abs=1e-12)
    assert scores[0]["next_event_accuracy"].value >= scores[1]["next_event_accuracy"].value - 1e-12
    gone = suppression(same, original=original)
    assert gone["suppressed_events"].value == gone["suppressed_persons"].value == 0
