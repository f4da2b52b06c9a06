"""Mutual information privacy by another road than any method takes, held against the definition's count."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mutual_information as oracles
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine
from sequester.errors import InputError, ParameterError
from sequester.privacy.mutual_information import (
    Leak,
    MutualInformationPrivacy,
    count_tuples,
    measure_leakage,
    tuple_counts,
)
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


@given(releases(), patterns, windows)
def test_exact_leakage_is_the_mutual_information_of_all_outcomes(case, sensitive, window):
    originals, released = case
    found = measure_leakage(
        Sequences.from_rows(released), Sequences.from_rows(originals), sensitive, window=window
    )
    lengths, *by_length = found.by_length("exact")
    by_pattern = found.by_pattern("exact")
    for person, (before, after) in enumerate(zip(originals, released, strict=True)):
        # The unchanged sequence tells the entropy.
        for row, told in ((after, 0), (before, 1)):
            expected = oracles.exact_by_length(before, row, sensitive, window)
            assert by_length[told][:, person] == pytest.approx([expected[m] for m in lengths], abs=1e-12)
            expected = oracles.exact_by_pattern(before, row, sensitive, window)
            assert by_pattern[told][:, person] == pytest.approx(
                [expected[each] for each in found.patterns], abs=1e-12
            )


@given(releases(), patterns, windows)
def test_one_shard_equals_many(case, sensitive, window):
    originals, released = (Sequences.from_rows(each) for each in case)
    one, many = (
        measure_leakage(released, originals, sensitive, window=window, engine=LocalEngine(shards=shards))
        for shards in (1, 3)
    )
    assert one.patterns == many.patterns
    for each in fields(one):
        if each.name != "patterns":
            np.testing.assert_array_equal(getattr(one, each.name), getattr(many, each.name))


def told(released, originals, sensitive, window):
    """Everything that counts as told by any measure."""
    found = measure_leakage(
        Sequences.from_rows(released), Sequences.from_rows(originals), sensitive, window=window
    )
    return {
        (measure, name): bits
        for measure in ("exact", "paper")
        for name, bits in (
            ("length", found.by_length(measure)[1]),
            ("pattern", found.by_pattern(measure)[0]),
        )
    }


@given(releases(), patterns, windows, st.sampled_from(["A*", "a*", "aA", "bc", "abc"]))
def test_merging_what_is_released_never_tells_more(case, sensitive, window, merged):
    """The data-processing inequality, on which the searches rely: no measure rises."""
    originals, released = case
    coarser = [tuple("Z" if node in merged else node for node in row) for row in released]
    before, after = (told(rows, originals, sensitive, window) for rows in (released, coarser))
    for name, bits in after.items():
        assert (bits <= before[name] + 1e-12).all()


@given(releases(), patterns, windows)
def test_the_papers_measure_is_never_more_than_the_mutual_information(case, sensitive, window):
    originals, released = case
    bits = told(released, originals, sensitive, window)
    for name in ("length", "pattern"):
        assert (bits["paper", name] <= bits["exact", name] + 1e-12).all()


def bits_of(row, sensitive, *, released=None, **asked):
    """The level that a release of one person achieves; the row itself unless another is given."""
    model = MutualInformationPrivacy(sensitive=frozenset(sensitive), max_leakage_bits=9, **asked)
    same = Sequences.from_rows([row])
    verdict = model.check(Sequences.from_rows([released or row]), original=same)
    return verdict.achieved["max_leakage_bits"]


def test_ninety_a_and_ten_b_tell_half_a_bit_and_not_a_seventh():
    row = "a" * 90 + "b" * 10
    assert bits_of(row, [("a",)]) == 0.469
    assert bits_of(row, [("a",)], worst_case=True) == 0.469
    assert bits_of(row, [("a",)], measure="paper") == 0.1369
    asked = {"sensitive": {("a",)}, "max_leakage_bits": 0.15}
    same = Sequences.from_rows([row])
    assert not MutualInformationPrivacy(**asked).check(same, original=same).holds
    assert MutualInformationPrivacy(**asked, measure="paper").check(same, original=same).holds


def test_relatives_of_the_ninety_a():
    # Everywhere: whoever knows that it is, learns nothing; and nothing is left for the outcome none.
    assert bits_of("a" * 9, [("a",)]) == bits_of("a" * 9, [("a",)], measure="paper") == 0
    # None nowhere: all outcomes are patterns, and both measures are the entropy.
    assert bits_of("ab" * 8, [("a",), ("b",)]) == bits_of("ab" * 8, [("a",), ("b",)], measure="paper") == 1
    # In the worst case "is it a?" is one bit, of which the paper's term is half.
    assert bits_of("ab" * 8, [("a",), ("b",)], worst_case=True) == 1
    assert bits_of("ab" * 8, [("a",), ("b",)], worst_case=True, measure="paper") == 0.5
    # What is certainly not a pattern tells as much as what certainly is: a hole in an otherwise plain row.
    row, holes = "a" * 90 + "b" * 10, "*" * 90 + "b" * 10
    assert bits_of(row, [("a",)], released=holes) == 0.469
    # The window decides what there is to tell: two steps away a b follows every a.
    assert bits_of("aabb" * 25, [("a", "b")], window=1) < bits_of("aabb" * 25, [("a", "b")], window=3)
    # Each length by itself: the pairs tell more than the single symbols, and the largest is told.
    both = bits_of("aab" * 30, [("a",), ("a", "b")], window=1)
    assert both == max(bits_of("aab" * 30, [each], window=1) for each in [("a",), ("a", "b")])


def test_digits_are_kept_where_a_pattern_is_rare():
    """One of a hundred million tuples: rounding must not pass for leakage, nor hide it."""
    original = Sequences.from_rows(["x" * 9_999 + "ab" + "x" * 9_999])
    model = MutualInformationPrivacy(sensitive={("a", "b")}, window=20_000, max_leakage=0.0)
    assert model.check(Sequences.from_rows(["*" * 20_000]), original=original).holds
    verdict = model.check(original, original=original)
    assert verdict.achieved == {"max_leakage": 1.0}


@given(
    releases(),
    patterns,
    windows,
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.booleans(),
    st.fixed_dictionaries({"worst_case": st.booleans(), "measure": st.sampled_from(["exact", "paper"])}),
)
def test_the_verdict_is_that_of_the_definition(case, sensitive, window, level, in_bits, how):
    originals, released = case
    asked = {"max_leakage_bits" if in_bits else "max_leakage": level}
    model = MutualInformationPrivacy(sensitive=frozenset(sensitive), window=window, **how, **asked)
    verdict = model.check(Sequences.from_rows(released), original=Sequences.from_rows(originals))
    bound = {"bits" if in_bits else "share": level, **how}
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
    assert str(verdict.witnesses[0]) == "a → b (person 1): 1.5305 bits leak, 0.7652 may"


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
        model.leakage(Sequences.from_rows(["ab"]), Sequences.from_rows(["abc"]))


def test_more_tuples_than_can_be_counted_are_refused():
    with pytest.raises(ParameterError, match="window must be shorter: patterns of length 12"):
        tuple_counts(np.array([10**6]), 12, 1000)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"window": 0}, "window must be from 1 to 2147483647, got 0"),
        ({"window": 2.5}, "window must be a whole number, got 2.5"),
        ({"window": True}, "window must be a whole number, got True"),
        ({"max_leakage": 1.5}, "max_leakage must be 0 to 1, got 1.5"),
        ({"max_leakage": "half"}, "max_leakage must be a number, got 'half'"),
        ({"max_leakage_bits": -1}, "max_leakage_bits must be 0 or more, got -1"),
        ({"max_leakage_bits": float("nan")}, "max_leakage_bits must be a number, got nan"),
        (
            {"max_leakage": 0.5, "max_leakage_bits": 1},
            "max_leakage_bits must not be given together with max_leakage: one of them is the bound",
        ),
        ({"worst_case": "yes"}, "worst_case must be true or false, got 'yes'"),
        ({"measure": "mutual"}, 'measure must be "exact" or "paper", got \'mutual\''),
        ({"measure": ["exact"]}, 'measure must be "exact" or "paper", got [\'exact\']'),
        ({"sensitive": "ab"}, "sensitive must be a list of lists of texts, got 'ab'"),
        ({"sensitive": ["ab"]}, "sensitive[0] must be a list of texts, got 'ab'"),
        ({"sensitive": [[1, 2]]}, "sensitive[0] must be a list of texts, got [1, 2]"),
        ({"sensitive": [[]]}, "sensitive[0] must have at least one item, got an empty list"),
    ],
)
def test_parameters_are_refused_by_name(asked, message):
    with pytest.raises(ParameterError) as refused:
        MutualInformationPrivacy(**asked)
    assert str(refused.value) == message


def test_the_claim_tells_everything_but_the_patterns():
    model = MutualInformationPrivacy(sensitive={("a", "b")}, window=np.int64(3))
    assert model.claim() == {
        "window": 3,
        "max_leakage": 0.5,
        "worst_case": False,
        "measure": "exact",
    }
    assert model.in_words() == MutualInformationPrivacy(sensitive={("x", "y")}, window=3).in_words()
    assert "50% of what" in model.in_words()
    assert model.needs_original
    assert model.about(symbol_table(["ab"])) == model
    bits = MutualInformationPrivacy(max_leakage_bits=0.25, worst_case=True, measure="paper")
    assert bits.claim() == {"window": 10, "max_leakage_bits": 0.25, "worst_case": True, "measure": "paper"}
    assert "each secret pattern" in bits.in_words()
    assert "0.25 bits" in bits.in_words()


def test_only_the_exact_measure_is_called_mutual_information():
    exact, paper = (MutualInformationPrivacy(measure=each).in_words() for each in ("exact", "paper"))
    assert "(mutual information; on average" in exact
    assert "the paper's leakage measure" in paper
    assert "the mutual information may be larger" in paper
    assert all("who knows how often each secret pattern occurs" in words for words in (exact, paper))
    # The bits are those of one choice of places, not of the whole sequence.
    assert all("released at some places" in words for words in (exact, paper))


def test_nothing_is_called_by_the_letter_of_another_promise():
    words = " ".join([MutualInformationPrivacy().in_words(), *MutualInformationPrivacy.__slots__])
    assert "epsilon" not in words.lower()
    assert "differential" not in words.lower()
    assert Leak(pattern=("a",), person="x", bits=1.0, bound=0.5).bits == 1.0
