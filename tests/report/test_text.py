"""What is shown is short, readable and apart."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester._repr import LABEL_WIDTH, display_width, number, percent, short_labels, shown
from sequester.report.text import parameter_text


@given(st.text(), st.integers(1, 30))
def test_shown_fits_and_is_printable(text, width):
    short = shown(text, width)
    assert display_width(short) <= width
    assert short.isprintable()


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=10))
def test_ordinary_text_that_fits_is_left_alone(text):
    assert shown(text, 20) == text


@given(st.lists(st.text(max_size=30), unique=True))
def test_short_labels_stay_apart(labels):
    short = short_labels(labels)
    assert len(set(short)) == len(labels)
    assert all(0 < display_width(each) <= LABEL_WIDTH for each in short)


def test_labels_that_differ_only_at_the_end_are_numbered():
    long = "the same beginning of a long label, "
    assert short_labels([long + "a", long + "b", long + "c"]) == [
        "the same beginning…",
        "the same begin… (2)",
        "the same begin… (3)",
    ]


def test_labels_without_a_letter_are_named():
    assert short_labels(["", " ", "  "]) == ["(empty)", "(blank)", "  … (2)"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a\x00b", "a�b"), ("a\x0bb", "a�b"), ("\u202etxt.exe", "�txt.exe"), ("\ufffe", "�"), ("a\nb", "a�b")],
)
def test_letters_that_break_the_renderer_or_the_line_are_marked(text, expected):
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (0.1 + 0.2, "0.3"), (1234.5678, "1,234.6"), (1e-7, "1e-07"), (-3.0, "-3"), (12345, "12,345")],
)
def test_number(value, expected):
    assert number(value) == expected


def test_percent_never_rounds_a_little_to_nothing():
    assert percent(1e-6) == "below 0.01%"
    assert percent(1 - 1e-6) == "above 99.9%"
    assert (percent(0), percent(1)) == ("0%", "100%")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "none"),
        (frozenset({"b", "a"}), "a, b"),
        ({"Disease": ["HIV", "Flu"], "Drug": []}, "Disease: HIV, Flu; Drug: none"),
        (Fraction(1, 3), "1/3"),
        (0.25, "0.25"),
    ],
)
def test_setting(value, expected):
    assert parameter_text(value) == expected
