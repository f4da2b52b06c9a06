"""Examples 1 to 3 of Wang, Xu, Wong, Fu (2010), with snapshots counted from 0."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sequester.methods.reposition.method import Costs
from sequester.methods.reposition.window import Window

pytestmark = pytest.mark.kernel


def held(window, home):
    return window.lists.held_counts[home % window.size].tolist()


def slot(window, number):
    """Value to the homes of its records in a slot."""
    counts = window.lists.counts[number % window.size]
    return {
        value: [number - distance for distance in range(window.size) for _ in range(counts[distance, value])]
        for value in range(window.n_values)
    }


def test_example_1_the_cost_of_figure_1():
    """D[6] = r0, r1, r2; D[7] = r3, r4, r5; D[8] = r6: one record is suppressed, one is a day late."""
    costs = Costs.of([0, 5, 11], window=3, suppression=100)
    window = Window(size=3, level=Fraction(2), costs=costs, seed=1)
    for day in ([0, 0, 1], [0, 1, 0], [1]):
        window.feed(np.array(day, np.int32))
    assert slot(window, 0) == {0: [0], 1: [0]}
    assert held(window, 0) == [1, 0]
    assert slot(window, 1) == {0: [1], 1: [1]}
    assert held(window, 1) == [0, 0]
    assert slot(window, 2) == {0: [1], 1: [2]}
    assert window.loss() == 100 + 5  # beta + mu(1)


@pytest.fixture
def figures_2_and_3():
    """The window before its last snapshot, with the gains of Figure 2.

    mu(d) = 3 d; a value's suppression cost makes its gains those of the figure: +3 at home for s1 and s2,
    -2 for r7, +1 for r8 (one day) and -3 for r9 (two days). r6, r7 and r9 are one person's, which keeps them
    from being published before.
    """
    costs = Costs.of([0, 3, 6], window=3, suppression={"s1": 3, "s2": 3, "s3": 1, "s4": 4, "s5": 3})
    window = Window(size=3, level=Fraction(4), costs=costs, seed=1)
    window.labels = ["s1", "s2", "s3", "s4", "s5"]
    window.feed(np.array([1, 4], np.int32), np.array([900, 900]))  # r6, r9
    window.feed(np.array([2, 3], np.int32), np.array([900, 901]))  # r7, r8
    assert [held(window, 0), held(window, 1)] == [[0, 1, 0, 0, 1], [0, 0, 1, 1, 0]]
    newest = [0] * 6 + [1] * 3 + [2] * 2 + [3, 4]
    window.feed(np.array(newest, np.int32), np.arange(len(newest)))
    return window


def test_example_2_level_preserving_reposition_takes_r8(figures_2_and_3):
    window = figures_2_and_3
    # Without the last snapshot's own records beyond the level: two of each, and one of s4 and s5.
    assert slot(window, 2)[3] == [2, 1]  # r8, of the day before, joins s4
    assert held(window, 1)[3] == 0


def test_example_3_level_lifting_reposition_takes_r1_r5_and_r7(figures_2_and_3):
    window = figures_2_and_3
    published = slot(window, 2)
    assert {value: len(homes) for value, homes in published.items()} == {0: 3, 1: 3, 2: 3, 3: 2, 4: 1}
    assert published[2] == [2, 2, 1]  # r7 joins s3
    assert held(window, 2) == [3, 0, 0, 0, 0]  # r2, r3, r4 stay; r1 and r5 came back
    assert held(window, 1) == [0, 0, 0, 0, 0]
    assert held(window, 0) == [0, 1, 0, 0, 1]  # r6 and r9 stay
    assert Counter(map(len, published.values())).total() == 5
    assert sum(map(len, published.values())) == 12  # 4 x 3
