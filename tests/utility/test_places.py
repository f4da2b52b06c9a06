"""What traffic planners ask, by definition and at the edges."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.places import Regions, box
from sequester.data.sequences import Sequences
from sequester.errors import ParameterError
from sequester.utility import places
from sequester.utility.places import mobility

rows = st.lists(st.text("abc", max_size=4), max_size=6)


def values(released, original, **settings):
    scores = mobility(Sequences.from_rows(released), original=Sequences.from_rows(original), **settings)
    return {name: score.value for name, score in scores.items()}


@given(rows, rows)
def test_measures_equal_their_definitions(released, original):
    found = values(released, original)
    ends = [Counter((row[0], row[-1]) for row in side if row) for side in (released, original)]
    shares = [{pair: Fraction(n, side.total()) for pair, n in side.items()} for side in ends]
    if all(ends):
        pairs = {*shares[0], *shares[1]}
        apart = sum(abs(shares[0].get(pair, 0) - shares[1].get(pair, 0)) for pair in pairs) / 2
    else:
        apart = int(bool(ends[0]) != bool(ends[1]))
    assert found["od_error"] == pytest.approx(float(apart))
    visits = [Counter("".join(side)) for side in (released, original)]
    differences = sum(abs(visits[0][region] - visits[1][region]) for region in "abc")
    assert found["visit_error"] == pytest.approx(differences / max(visits[1].total(), 1))
    lengths = [[len(row) for row in side if row] for side in (released, original)]
    means = [sum(each) / max(len(each), 1) for each in lengths]
    assert found["trip_length_error"] == pytest.approx(abs(means[0] - means[1]))


@given(rows)
def test_the_same_data_has_no_error(original):
    assert values(original, original) == {
        "od_error": 0,
        "visit_error": 0,
        "trip_length_error": 0,
        "hotspot_overlap": 1,
    }


def test_hotspots_are_the_most_visited():
    assert values(["aab"], ["aabbbc"], hotspots=1)["hotspot_overlap"] == 0
    assert values(["aab"], ["aabbbc"], hotspots=2)["hotspot_overlap"] == 1
    assert values(["", ""], ["ab", "c"])["hotspot_overlap"] == 0


def test_displacement_of_too_many_symbols_is_refused(monkeypatch):
    monkeypatch.setattr(places, "MOST_SYMBOLS", 1)
    regions = Regions({"a": box(0, 0, 1, 1), "b": box(0, 1, 1, 2)}, {"a": (), "b": ()})
    both = Sequences.from_rows(["ab"])
    with pytest.raises(ParameterError, match="displacement needs at most 1 symbols, there are 2"):
        places.displacement(both, original=both, regions=regions)
