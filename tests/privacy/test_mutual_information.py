"""Mutual information privacy by another road than any method takes, held against the definition's count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mutual_information as oracles
from sequester.data.sequences import Sequences
from sequester.errors import InputError, ParameterError
from sequester.privacy.leakage import count_tuples, measure_leakage, tuple_counts
from sequester.privacy.mutual_information import Leak, MutualInformationPrivacy
from sequester.testing import symbol_table

rows = st.text("abc", max_size=9)
patterns = st.lists(st.text("abc", min_size=1, max_size=3).map(tuple), min_size=1, max_size=4)
windows = st.integers(1, 5)
NAMES = {"a": "aA*", "b": "bA*", "c": "c*"}


@st.composite
def releases(draw):
    """Rows, and nodes for them, place by place: also ones that no generalization of symbols gives."""
    originals = draw(st.lists(rows, min_size=1, max_size=4))
    released = [tuple(draw(st.sampled_from(NAMES[a])) for a in row) for row in originals]
    return originals, released


@given(releases(), patterns, windows)
def test_leakage_is_that_of_the_definition(case, sensitive, window):
    originals, released = case
    found = measure_leakage(
        Sequences.from_rows(released), Sequences.from_rows(originals), sensitive, window=window
    )
    assert set(found.patterns) == set(sensitive)
    for person, (before, after) in enumerate(zip(originals, released, strict=True)):
        leaks = oracles.terms(before, after, sensitive, window)
        entropy = oracles.terms(before, before, sensitive, window)
        for number, pattern in enumerate(found.patterns):
            assert found.occurrences[number, person] == oracles.frequency(before, pattern, window)
            assert found.leakage[number, person] == pytest.approx(leaks[pattern], abs=1e-12)
            assert found.entropy[number, person] == pytest.approx(entropy[pattern], abs=1e-12)
            places = oracles.index_tuples(len(before), len(pattern), window)
            images = {
                oracles.spelled(after, each) for each in places if oracles.spelled(before, each) == pattern
            }
            assert found.is_shown[number, person] == (pattern in images)


@given(releases(), patterns, windows, st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.booleans(), st.booleans())
def test_the_verdict_is_that_of_the_definition(case, sensitive, window, level, in_bits, worst_case):
    originals, released = case
    asked = {"max_leakage_bits" if in_bits else "max_leakage": level}
    model = MutualInformationPrivacy(
        sensitive=frozenset(sensitive), window=window, worst_case=worst_case, **asked
    )
    verdict = model.check(Sequences.from_rows(released), original=Sequences.from_rows(originals))
    bound = {"bits" if in_bits else "share": level, "worst_case": worst_case}
    judged = [
        oracles.is_private(before, after, sensitive, window, **bound)
        for before, after in zip(originals, released, strict=True)
    ]
    assert verdict.holds == all(judged)
    assert verdict.holds == (not verdict.witnesses) == (verdict.violations == 0)
    broken = {f"person {number}" for number, fine in enumerate(judged, start=1) if not fine}
    assert {leak.person for leak in verdict.witnesses} <= broken
    (told,) = verdict.achieved.values()
    if verdict.holds:
        assert told <= level


@given(st.integers(0, 9), st.integers(1, 4), windows)
def test_index_tuples_are_counted_in_closed_form(n, m, window):
    assert count_tuples(n, m, window) == len(oracles.index_tuples(n, m, window))


def test_a_release_that_forgets_one_symbol_is_caught_by_its_pattern():
    original = symbol_table(["abxyabxyab", "xyxyxyxy"])
    model = MutualInformationPrivacy(sensitive={("a", "b"), ("x", "y")}, window=1, max_leakage=0.5)
    kept = Sequences.from_rows(["**********", "********"])
    assert model.check(kept, original=original).holds
    broken = Sequences.from_rows(["ab**ab**ab", "********"])
    verdict = model.check(broken, original=original)
    assert verdict.violations == 1
    assert verdict.witnesses[0].pattern == ("a", "b")
    assert verdict.witnesses[0].person == "person 1"
    assert str(verdict.witnesses[0]) == "a → b (person 1): 1.0105 bits leak, 0.5053 may"


def test_the_worst_case_names_every_pattern_that_is_above_its_own_share():
    original = Sequences.from_rows(["ab" * 12 + "xy" + "ab" * 12])
    released = Sequences.from_rows(["AA" * 12 + "xy" + "AA" * 12])
    asked = {"sensitive": frozenset({("a", "b"), ("x", "y")}), "window": 3, "max_leakage": 0.5}
    assert MutualInformationPrivacy(**asked).check(released, original=original).holds
    verdict = MutualInformationPrivacy(**asked, worst_case=True).check(released, original=original)
    assert [leak.pattern for leak in verdict.witnesses] == [("x", "y")]
    assert verdict.achieved == {"max_leakage": 1.0}


def test_many_violations_show_the_five_that_are_worst():
    original = Sequences.from_rows(["ab" * n + "c" * 9 for n in range(1, 9)])
    model = MutualInformationPrivacy(sensitive={("a", "b")}, window=2, max_leakage_bits=0.0)
    verdict = model.check(original, original=original)
    assert verdict.violations == 8
    excess = [leak.bits for leak in verdict.witnesses]
    assert len(excess) == 5
    assert excess == sorted(excess, reverse=True)


def test_nobody_and_nothing_to_hide_leak_nothing():
    model = MutualInformationPrivacy(sensitive={("a", "b")}, max_leakage=0.0)
    for rows_of in ([], ["", "a"], ["ccc"]):
        same = Sequences.from_rows(rows_of)
        assert model.check(same, original=same).achieved == {"max_leakage": 0.0}
    same = Sequences.from_rows(["abab"])
    assert MutualInformationPrivacy().check(same, original=same).holds


def test_the_original_is_needed_and_must_have_the_same_places():
    model = MutualInformationPrivacy(sensitive={("a", "b")})
    with pytest.raises(InputError, match="compares with the original"):
        model.check(Sequences.from_rows(["ab"]))
    verdict = model.check(Sequences.from_rows(["ab"]), original=Sequences.from_rows(["abc"]))
    assert verdict.witnesses == ("person 1: 2 events are released, the original has 3",)
    verdict = model.check(Sequences.from_rows(["ab"]), original=Sequences.from_rows(["ab", "c"]))
    assert verdict.witnesses == ("1 persons are released, the original has 2",)
    with pytest.raises(InputError, match="the same number of events"):
        model.measure(Sequences.from_rows(["ab"]), Sequences.from_rows(["abc"]))


def test_more_tuples_than_can_be_counted_are_refused():
    with pytest.raises(ParameterError, match="window must be shorter: patterns of length 12"):
        tuple_counts(np.array([10**6]), 12, 1000)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"window": 0}, "window must be 1 to 2^31 - 1, got 0"),
        ({"window": 2.5}, "window must be a whole number, got 2.5"),
        ({"window": True}, "window must be a whole number, got True"),
        ({"max_leakage": 1.5}, "max_leakage must be 0 to 1, got 1.5"),
        ({"max_leakage": "half"}, "max_leakage must be a number, got 'half'"),
        ({"max_leakage_bits": -1}, "max_leakage_bits must be 0 or more, got -1"),
        ({"max_leakage_bits": float("nan")}, "max_leakage_bits must be 0 or more, got nan"),
        (
            {"max_leakage": 0.5, "max_leakage_bits": 1},
            "max_leakage_bits must not be given together with max_leakage: one of them is the bound",
        ),
        ({"worst_case": "yes"}, "worst_case must be true or false, got 'yes'"),
        ({"sensitive": "ab"}, "sensitive must be a list of lists of texts, got 'ab'"),
        ({"sensitive": ["ab"]}, "sensitive must be a list of lists of texts, got 'ab' in it"),
        ({"sensitive": [[1, 2]]}, "sensitive must be a list of lists of texts, got 1 in a pattern"),
        ({"sensitive": [[]]}, "sensitive must have at least one symbol in each pattern, got an empty one"),
    ],
)
def test_parameters_are_refused_by_name(asked, message):
    with pytest.raises(ParameterError) as refused:
        MutualInformationPrivacy(**asked)
    assert str(refused.value) == message


def test_the_claim_tells_everything_but_the_patterns():
    model = MutualInformationPrivacy(sensitive={("a", "b")}, window=np.int64(3))
    assert model.claim() == {"window": 3, "max_leakage": 0.5, "worst_case": False}
    assert model.in_words() == MutualInformationPrivacy(sensitive={("x", "y")}, window=3).in_words()
    assert "50% of what" in model.in_words()
    assert model.needs_original
    assert model.about(symbol_table(["ab"])) == model
    bits = MutualInformationPrivacy(max_leakage_bits=0.25, worst_case=True)
    assert bits.claim() == {"window": 10, "max_leakage_bits": 0.25, "worst_case": True}
    assert "each secret pattern" in bits.in_words()
    assert "0.25 bits" in bits.in_words()


def test_nothing_is_called_by_the_letter_of_another_promise():
    words = " ".join([MutualInformationPrivacy().in_words(), *MutualInformationPrivacy.__slots__])
    assert "epsilon" not in words.lower()
    assert "differential" not in words.lower()
    assert Leak(pattern=("a",), person="x", bits=1.0, bound=0.5).bits == 1.0
