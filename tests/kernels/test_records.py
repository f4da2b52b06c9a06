"""Text that is written by the rules is sound, faults have a row, and blank lines go without a trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sequester.kernels import records

pytestmark = pytest.mark.kernel

cells = st.text(st.sampled_from('a,;"\n\r 1'), max_size=4)


def scanned(text, n_cells=2, delimiter=","):
    data = np.frombuffer(text.encode(), np.uint8)
    n_records, n_blank, fault, n_ragged, ragged = records.scan_records(data, ord(delimiter), n_cells, 2)
    return n_records, n_blank, fault, n_ragged, ragged[: min(n_ragged, 2)].tolist()


def written(row, all_quoted=False):
    """The record of a row; an empty cell that is alone is quoted, for an empty line is no row."""
    needs_quotes = [all_quoted or any(sign in cell for sign in ',"\n\r') or row == [""] for cell in row]
    quoted = [cell.replace('"', '""').join('""') for cell in row]
    return ",".join(q if needed else cell for cell, q, needed in zip(row, quoted, needs_quotes, strict=True))


def without_blank_lines(text):
    return records.drop_blank_lines(np.frombuffer(text.encode(), np.uint8)).tobytes().decode()


@given(
    st.lists(st.lists(cells, min_size=1, max_size=3), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@example([["a", 'x"y\r\n\r\n']], "\r\n", False)
def test_what_is_written_by_the_rules_is_sound(rows, end, all_quoted):
    text = "".join(written(row, all_quoted) + end for row in rows)
    ragged = [[place, len(row)] for place, row in enumerate(rows, start=1) if len(row) != 2]
    assert scanned(text) == (len(rows), 0, records.SOUND, len(ragged), ragged[:2])
    assert without_blank_lines(text) == text


@given(
    st.lists(st.lists(cells, min_size=2, max_size=2), max_size=5),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_blank_lines_are_counted_and_dropped(rows, blanks):
    sound = ""
    spread = "\n" * blanks[5]
    for row, n_blank in zip(rows, blanks, strict=False):
        sound += written(row) + "\r\n"
        spread += written(row) + "\r\n" + "\r\n" * n_blank
    n_blank = blanks[5] + sum(blanks[: len(rows)])
    assert scanned(spread) == (len(rows), n_blank, records.SOUND, 0, [])
    assert without_blank_lines(spread) == sound


@pytest.mark.parametrize(
    ("text", "fault", "row"),
    [
        ('a,b\n1,5" pipe\n', records.STRAY_QUOTE, 2),
        ('a,b\n"x"y,2\n', records.STRAY_QUOTE, 2),
        ('a,b\n"x,2\n3,4\n', records.OPEN_QUOTE, 2),
        ('a,"', records.OPEN_QUOTE, 1),
        ('a,"x""', records.OPEN_QUOTE, 1),
        ("a,b\rc,d\n", records.BARE_RETURN, 1),
        ("a,b\r", records.BARE_RETURN, 1),
        ('a,"b"\rc\n', records.BARE_RETURN, 1),
    ],
)
def test_faults_are_found_in_their_row(text, fault, row):
    n_records, _, found, _, _ = scanned(text)
    assert (found, n_records) == (fault, row)


def test_every_ragged_row_is_counted_and_the_first_are_shown():
    assert scanned("1\n1,2\n1,2,3\n,,,\n") == (4, 0, records.SOUND, 3, [[1, 1], [3, 3]])
    assert scanned("", n_cells=1) == (0, 0, records.SOUND, 0, [])
    assert scanned("1;2", delimiter=";") == (1, 0, records.SOUND, 0, [])
