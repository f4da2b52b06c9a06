"""A phase's own 0 to 1 lies within the part of the run that it was given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.engine import part, silent

shares = st.floats(0, 1)


@given(shares, shares, shares)
def test_a_part_lies_between_its_ends(start, stop, fraction):
    start, stop = min(start, stop), max(start, stop)
    seen = []
    part(lambda *told: seen.append(told), start, stop)(fraction, "reading")
    ((told, phase),) = seen
    assert told == pytest.approx(start + (stop - start) * fraction)
    assert phase == "reading"


def test_parts_nest():
    seen = []
    outer = part(lambda fraction, phase: seen.append(fraction), 0.5, 1.0)
    part(outer, 0.0, 0.5)(1.0, "")
    assert seen == [0.75]


def test_silence_answers_nothing():
    assert silent(0.5, "reading") is None
