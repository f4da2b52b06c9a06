"""The frontier, the knee and local optima, against their definitions."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from sequester.workflow.comparison.comparison import Point, frontier, local_optima, recommend
from sequester.workflow.comparison.trial import TrialResult

tenths = st.integers(0, 6).map(lambda number: number / 10)
many = st.lists(st.tuples(tenths, tenths, st.integers(0, 3)), max_size=8).map(
    lambda rows: {
        place: Point(risk, loss, risk + 0.05, crowd) for place, (risk, loss, crowd) in enumerate(rows)
    }
)


def beats(one, other):
    return (
        one.risk <= other.risk and one.loss <= other.loss and (one.risk, one.loss) != (other.risk, other.loss)
    )


@given(many)
def test_the_frontier_is_what_nobody_beats(points):
    unbeaten = {
        (each.risk, each.loss) for each in points.values() if not any(beats(o, each) for o in points.values())
    }
    kept = frontier(points)
    assert {(points[place].risk, points[place].loss) for place in kept} == unbeaten
    assert len(kept) == len(unbeaten)
    risks = [points[place].risk for place in kept]
    assert risks == sorted(risks)
    for place in kept:
        alike = [
            each.crowd
            for each in points.values()
            if (each.risk, each.loss) == (points[place].risk, points[place].loss)
        ]
        assert points[place].crowd == max(alike)


@given(many)
def test_the_knee_is_on_the_frontier_and_nearest_to_the_best(points):
    best = recommend(points)
    kept = frontier(points)
    if not points:
        assert best is None
        return
    assert best in kept
    risks, losses = [points[i].risk for i in kept], [points[i].loss for i in kept]

    def distance(place):
        parts = [
            (value - min(values)) / ((max(values) - min(values)) or 1)
            for value, values in ((points[place].risk, risks), (points[place].loss, losses))
        ]
        return math.hypot(*parts)

    assert distance(best) <= min(map(distance, kept)) + 1e-9


@given(many, tenths)
def test_within_a_risk_the_least_loss_is_recommended(points, most):
    best = recommend(points, max_risk=most)
    within = [each for each in points.values() if each.most <= most]
    if best is None:
        assert not within
    else:
        assert points[best].most <= most
        assert points[best].loss == min(each.loss for each in within)


@given(many)
def test_neither_depends_on_the_order_in_which_results_came(points):
    turned = dict(reversed(points.items()))
    assert frontier(turned) == frontier(points)
    assert recommend(turned) == recommend(points)


def tried(method="p2ka", **parameters):
    return TrialResult(method=method, label="", parameters=parameters)


def test_a_larger_k_that_loses_less_than_both_neighbours():
    rows = [tried(k=k) for k in (10, 2, 5, 20)]
    losses = {0: 0.3, 1: 0.4, 2: 0.5, 3: 0.6}
    assert local_optima(rows, losses) == (0,)


def test_the_smallest_and_the_largest_are_never_listed():
    assert local_optima([tried(k=2), tried(k=3)], {0: 0.1, 1: 0.2}) == ()
    assert local_optima([tried(k=2), tried(k=3), tried(k=4)], {0: 0.1, 1: 0.2, 2: 0.0}) == ()


def test_as_good_as_a_neighbour_is_not_better():
    assert local_optima([tried(k=2), tried(k=3), tried(k=4)], {0: 0.2, 1: 0.1, 2: 0.1}) == ()


def test_neighbours_differ_in_k_only():
    rows = [tried(k=2, c=0.5), tried(k=3, c=0.9), tried(k=4, c=0.5), tried("halt", k=3, c=0.5)]
    assert local_optima(rows, {0: 0.5, 1: 0.1, 2: 0.5, 3: 0.1}) == ()


def test_l_is_as_good_as_k_and_what_is_no_number_has_no_neighbours():
    rows = [tried("reposition", l=each) for each in (2, 2.5, 3)]
    assert local_optima(rows, {0: 0.5, 1: 0.1, 2: 0.5}) == (1,)
    rows = [tried("reposition", l=each) for each in (2, "5/2", 3)]
    assert local_optima(rows, {0: 0.5, 1: 0.1, 2: 0.5}) == ()


def test_who_has_no_release_is_no_neighbour():
    rows = [tried(k=k) for k in (2, 3, 4, 5)]
    assert local_optima(rows, {0: 0.5, 1: 0.1, 3: 0.5}) == (1,)
