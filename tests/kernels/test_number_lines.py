"""Lines of numbers are read as the standard library splits them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.number_lines import LARGEST, parse_number_lines

pytestmark = pytest.mark.kernel


def parsed(text):
    numbers, offsets, faulty = parse_number_lines(np.frombuffer(text.encode(), np.uint8))
    rows = [numbers[a:b].tolist() for a, b in pairwise(offsets)]
    return rows, faulty


@given(
    st.lists(st.lists(st.integers(0, LARGEST), max_size=4), max_size=6),
    st.sampled_from([" ", "\t", "  "]),
    st.sampled_from(["\n", " \r\n"]),
    st.booleans(),
)
def test_numbers_come_back(rows, blank, end, is_ended):
    text = end.join(blank.join(map(str, row)) for row in rows) + (end if is_ended else "")
    assert parsed(text) == ([row for row in rows if row], -1)


@pytest.mark.parametrize(
    ("text", "line"),
    [("1 2\n3 x\n", 1), ("-1\n", 0), ("1\n\n2.5", 2), (f"{LARGEST}\n{LARGEST + 1}\n", 1), ("9" * 40, 0)],
)
def test_the_first_faulty_line_is_named(text, line):
    assert parsed(text)[1] == line
