"""Examples that were computed by hand, those of the thesis among them, and what is refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA
from sequester.testing import history_table, symbol_table
from sequester.utility import (
    Query,
    QueryError,
    classification_metric,
    discernibility,
    draw_queries,
    expected_edits,
    iloss,
    kl_values,
    loss_metric,
    loss_per_privacy_gain,
    ncp,
    precision,
    suppression,
    transitions,
)
from sequester.utility.queries import RecordView, draw_window_queries
from utility.cases import TREES, sequences, table


def test_the_loss_metric_of_the_thesis():
    """A day of ten years released as its month of 31 days: (31 - 1) / (3650 - 1), section 2.3."""
    days = {f"month {month}": [f"{month}.{day}" for day in range(31)] for month in range(117)}
    days["month 117"] = [f"117.{day}" for day in range(3650 - 31 * 117)]
    tree = Hierarchy.from_tree(days)
    original = symbol_table([["0.3"]], hierarchy=tree)
    score = loss_metric(Sequences.from_rows([["month 0"]]), original=original)
    assert score.value == pytest.approx(30 / 3649)
    assert round(score.value, 4) == 0.0082


def test_four_losses_of_one_release():
    """Q: a, b below x, c apart; R: two pairs. Weights 3 and 1."""
    original = table([[("a", "d", "no"), ("c", "f", "no")]], weights=(3.0, 1.0))
    released = sequences(original, [[("x", "d", "no")]])
    # x stands for 2 of 3 leaves; the second event is absent.
    assert loss_metric(released, original=original).value == pytest.approx(
        (3 * (1 / 2 + 1) + 1 * (0 + 1)) / 8
    )
    assert ncp(released, original=original).value == pytest.approx(3 * (2 / 3 + 1) + 1)
    assert iloss(released, original=original).value == pytest.approx(
        (3 * (1 / 3 + 2 / 3) + 1 * (0 + 3 / 4)) / 2
    )
    assert precision(released, original=original).value == pytest.approx(
        1 - (3 * (1 / 2 + 1) + 1 * (0 + 1)) / 8
    )
    for measure in (loss_metric, ncp, iloss, precision):
        assert "weighed by Q 3, R 1" in measure(released, original=original).means


def test_attributes_without_weight_tell_nobody_apart():
    persons = [[("a", "d", "no")], [("b", "d", "yes")]]
    both, only_r = table(persons), table(persons, weights=(0.0, 1.0))
    assert discernibility(both.sequences, original=both).value == 1
    assert discernibility(only_r.sequences, original=only_r).value == 2
    assert classification_metric(both.sequences, original=both).value == 0
    assert classification_metric(only_r.sequences, original=only_r).value == 0.5
    for query in draw_queries(only_r, 20):
        assert all(set(event) == {"R"} for event in query.events)


def test_more_weight_is_asked_for_more_often():
    persons = [[("a", "d", "no")]]
    asked = [
        name
        for query in draw_queries(table(persons, weights=(9.0, 1.0)), 200, most_items=1)
        for event in query.events
        for name in event
    ]
    assert asked.count("Q") > 4 * asked.count("R") > 0


def test_an_attribute_of_one_value_has_nothing_to_lose():
    tree = Hierarchy.from_tree({"a": {}})
    original = symbol_table(["a"], hierarchy=tree)
    assert loss_metric(Sequences.from_rows([["*"]]), original=original).value == 0


def test_classes_grow_and_the_loss_is_paid_for():
    original = symbol_table(["ab", "ab", "ac"])
    merged = Sequences.from_rows(["a", "a", "a"])
    measure = partial(loss_per_privacy_gain, information_loss=0.6)
    assert measure(merged, original=original).value == pytest.approx(0.2)  # classes of 1, then of 3
    nothing = Sequences.from_rows(["", "", ""])
    assert measure(nothing, original=original).value == 0.6
    split = Sequences.from_rows(["ab", "b", "c"])
    assert measure(split, original=symbol_table(["ab", "ab", "ab"])).value == 0.6
    with pytest.raises(ParameterError, match="information_loss must be from 0 to 1, got 2"):
        loss_per_privacy_gain(merged, original=original, information_loss=2)


def test_empty_tables():
    empty = symbol_table([])
    assert discernibility(empty, original=empty).value == 1
    assert kl_values(empty, original=empty).value == 0
    assert expected_edits(empty, original=empty).value == 0
    assert transitions(empty, original=empty)["transition_distance"].value == 0
    assert {each.value for each in suppression(empty, original=empty).values()} == {0}
    nobody = history_table([])
    assert classification_metric(nobody, original=nobody).value == 0
    assert iloss(nobody, original=nobody).value == 0


def test_leaves_without_a_name_are_one_value():
    """[0:6] stands for seven numbers, of which two are named."""
    original = symbol_table([["0", "1"]], hierarchy=Hierarchy.intervals([7], origin=0))
    tree = original.hierarchies["symbol"]
    assert int(tree.leaves[tree.node("[0:6]")]) == 7
    coarse = Sequences.from_rows([["[0:6]", "[0:6]"]])
    p, q = np.array([2, 2, 1]) / 5, np.array([1 + 2 / 7, 1 + 2 / 7, 1 + 10 / 7]) / 5
    expected = float((p * np.log2(p / q)).sum())
    assert kl_values(coarse, original=original).value == pytest.approx(expected)


def test_lost_events_that_a_method_counted():
    original = symbol_table(["ab", "ab"])
    scores = suppression(original, original=original, n_lost_events=1)
    assert scores["suppressed_events"].value == 0.25


def test_queries_ask_for_symbols_with_and_without_a_hierarchy():
    tree = Hierarchy.from_tree({"A": ["a", "b"], "c": {}})
    plain, coarse = symbol_table(["ab", "c"]), symbol_table(["ab", "c"], hierarchy=tree)
    asked = QueryError(queries=[Query(({"symbol": ("a",)},)), Query(({"symbol": ("c",)},))])
    assert asked.expected(plain, original=plain).tolist() == [1, 1]
    released = Sequences.from_rows([["A", "A"], ["c"]])
    assert asked.expected(released, original=coarse).tolist() == [0.75, 1]
    drawn = {
        label for query in draw_queries(coarse, 50) for event in query.events for label in event["symbol"]
    }
    assert "A" in drawn
    assert {str(query) for query in draw_queries(symbol_table(["a"]), 5)} == {"symbol in a"}


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (
            lambda: classification_metric(symbol_table(["a"]), original=symbol_table(["a"])),
            "needs a sensitive attribute, and there is none",
        ),
        (
            lambda: expected_edits(Sequences.from_rows(["a", "b"]), original=symbol_table(["a"])),
            "must have the same persons, there are 2 and 1",
        ),
        (
            lambda: expected_edits(*_weightless()[:1], original=_weightless()[1]),
            "edits need a symbol or a quasi-identifier with a weight",
        ),
        (lambda: draw_queries(_weightless()[1], 1), "quasi-identifiers with a weight, and there are none"),
        (
            lambda: loss_metric(
                Sequences.from_rows(["aa"]),
                original=symbol_table(["a"], hierarchy=Hierarchy.from_tree({"a": {}, "b": {}})),
            ),
            "must not have more events than original, there are 2 and 1",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(attempt, message):
    with pytest.raises(ParameterError, match=message):
        attempt()


def _weightless():
    original = table([[("a", "d", "no")]], weights=(0.0, 0.0))
    return original.sequences, original


@pytest.mark.parametrize("weights", [(3.0, 1.0), (0.0, 0.0)])
def test_shares_of_changed_cells_go_by_weight(weights):
    """Q of everybody becomes x, R stays; without weights there is nothing to lose and nothing to ask."""
    persons = [[("a", "d", "no")], [("b", "d", "no")]]
    release = CBLDA(k=2, c=1).apply(table(persons, weights=weights), seed="a sentence nobody guesses")
    assert release.frame["Q"].to_list() == ["x", "x"]
    assert release.utility["generalized_cells"].value == (0.75 if any(weights) else 0)
    assert ("query_error" in release.utility) == any(weights)


@pytest.mark.parametrize(
    ("weights", "asked"), [((2.0, 1.0), (0.5, 0.25)), ((0.0, 1.0), (0, 0.5)), ((0, 0), (0, 0))]
)
def test_window_queries_ask_by_weight(weights, asked):
    trees = {name: Hierarchy.from_edges(list(TREES[name].items())) for name in TREES}
    one = np.zeros(1, np.int64)
    view = RecordView(
        first=one, last=one, nodes=dict.fromkeys(trees, one), groups=one, shares=np.ones((1, 1))
    )
    queries = draw_window_queries(
        view, trees, weights=dict(zip(trees, weights, strict=True)), length=1, count=2000, seed=0
    )
    for name, share in zip(trees, asked, strict=True):
        assert sum(name in query.below for query in queries) / 2000 == pytest.approx(share, abs=0.05)
