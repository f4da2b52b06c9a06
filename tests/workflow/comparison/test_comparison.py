"""The frontier, the knee and local optima, against their definitions."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sequester.workflow.comparison.comparison import Point, frontier, local_optima, recommend
from sequester.workflow.comparison.trial import TrialResult

tenths = st.integers(0, 6).map(lambda number: number / 10)
widths = st.integers(0, 3).map(lambda number: number / 10)
many = st.lists(st.tuples(tenths, tenths, st.integers(0, 3), widths), max_size=8).map(
    lambda rows: {
        place: Point(risk, loss, risk + width, k, least=max(risk - width, 0.0))
        for place, (risk, loss, k, width) in enumerate(rows)
    }
)


def keys(points):
    """Risk groups by their definition, and within one the larger promise first."""
    groups = []
    for place in sorted(points, key=lambda each: (points[each].risk, points[each].loss, each)):
        if not groups or points[place].least > points[groups[-1][0]].most:
            groups.append([])
        groups[-1].append(place)
    return {place: (points[group[0]].risk, -points[place].k) for group in groups for place in group}


@given(many)
def test_the_frontier_is_what_nobody_beats(points):
    key = keys(points)

    def beats(one, other):
        mine, theirs = (key[one], points[one].loss), (key[other], points[other].loss)
        return mine[0] <= theirs[0] and mine[1] <= theirs[1] and mine != theirs

    unbeaten = {
        (key[each], points[each].loss) for each in points if not any(beats(other, each) for other in points)
    }
    kept = frontier(points)
    assert [(key[place], points[place].loss) for place in kept] == sorted(unbeaten)


def test_risks_that_intervals_cannot_tell_apart_are_not_ranked():
    two = Point(0.001, 0.5, 0.004, 2, least=0.0)
    lower = Point(0.0005, 0.6, 0.003, 2, least=0.0)
    # It looks safer and costs more; nobody knows whether it is safer.
    assert frontier({0: two, 1: lower}) == (0,)
    certain = Point(0.0005, 0.6, 0.0006, 2, least=0.0004)
    assert frontier({0: Point(0.001, 0.5, 0.0011, 2, least=0.0009), 1: certain}) == (1, 0)
    # The promise is known exactly, so a larger k stays, and decides.
    ten = Point(0.0011, 0.6, 0.004, 10, least=0.0)
    assert frontier({0: two, 1: ten}) == (1, 0)
    assert recommend({0: Point(0.001, 0.9, 0.004, 2, least=0.0), 1: replace(ten, loss=0.85)}) == 1


@given(many)
def test_the_knee_is_on_the_frontier_and_nearest_to_the_best(points):
    best = recommend(points)
    kept = frontier(points)
    if not points:
        assert best is None
        return
    assert best in kept
    key = keys(points)
    risks, losses = [key[i][0] for i in kept], [points[i].loss for i in kept]
    if len(set(risks)) == 1:
        risks = [1 / max(points[i].k, 1) for i in kept]

    def distance(place):
        parts = [
            (values[kept.index(place)] - min(values)) / ((max(values) - min(values)) or 1)
            for values in (risks, losses)
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
