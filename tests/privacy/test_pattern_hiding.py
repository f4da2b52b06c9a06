"""Pattern hiding against its definition, and a checker that names who is one person too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from oracles.sequences import support
from sequester.data.sequences import Sequences
from sequester.errors import InputError, ParameterError
from sequester.privacy.pattern_hiding import PatternHiding, persons

INSURANCE = ["abcdef", "abce", "acehb", "fgceab", "dfghb", "dhbfg", "fhgb", "cdfge", "dhfgb"]
SENSITIVE = frozenset({tuple("ace"), tuple("dfg"), tuple("dhb")})
PRINTED = ["abcdef", "abec", "aechb", "fgceab", "dgfbh", "dbhgf", "fhgb", "cdgfe", "dhfgb"]

rows = st.lists(st.text("abc", max_size=5), min_size=1, max_size=6)
patterns = st.frozensets(st.text("abc", min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)


@given(rows, rows, patterns, st.integers(1, 4), st.one_of(st.just("unseen"), patterns))
def test_the_verdict_is_that_of_the_definition(released, original, sensitive, min_support, forbidden):
    size = min(len(released), len(original))
    released, original = released[:size], original[:size]
    model = PatternHiding(sensitive=sensitive, min_support=min_support, forbidden=forbidden)
    verdict = model.check(Sequences.from_rows(released), original=Sequences.from_rows(original))
    thresholds = dict.fromkeys(sensitive, min_support)
    assert verdict.holds == oracles.is_hidden(thresholds, released, original, forbidden)
    assert verdict.achieved == {"min_support": 1 + max(support(each, released) for each in sensitive)}
    broken = [each for each in sensitive if support(each, released) >= min_support]
    assert verdict.violations == len(broken) + len(oracles.new_forbidden(forbidden, released, original))
    assert set(broken[:5]) <= set(verdict.witnesses) or verdict.violations > 5


def test_one_person_too_many_is_named():
    model = PatternHiding(sensitive=SENSITIVE, min_support=3)
    hidden = ["abcdef", "aceb", *INSURANCE[6:7], "dfghb", "dhbfg"]
    assert model.check(Sequences.from_rows(hidden)).holds
    verdict = model.check(Sequences.from_rows([*hidden, "xdxhxb"]))
    assert not verdict
    assert verdict.witnesses == (("d", "h", "b"),)
    assert verdict.achieved == {"min_support": 4}


def test_the_printed_release_hides_more_than_asked_for():
    verdict = PatternHiding(sensitive=SENSITIVE, min_support=3).check(Sequences.from_rows(PRINTED))
    assert verdict.holds
    assert verdict.achieved == {"min_support": 2}


def test_patterns_may_have_a_number_of_their_own():
    data = Sequences.from_rows(["ab", "ab", "ab", "bc", "bc"])
    own = PatternHiding(
        sensitive=frozenset({("a", "b"), ("b", "c")}), min_support=3, thresholds={("a", "b"): 4}
    )
    assert own.check(data)
    assert own.check(data).achieved == {"min_support": 3}
    assert "of their own" in own.in_words()
    short = PatternHiding(sensitive=frozenset({("a", "b")}), min_support=9, thresholds={("a", "b"): 3})
    assert short.check(data).witnesses == (("a", "b"),)
    assert short.check(data).achieved == {"min_support": 4}


def test_a_share_counts_the_persons_of_the_original():
    model = PatternHiding(sensitive=frozenset({("a",)}), min_support=0.5, thresholds={("a",): 0.75})
    original = Sequences.from_rows(["a", "b", "b", "b"])
    assert model.about(original).min_support == 2
    assert model.about(original).thresholds == {("a",): 3}
    assert model.check(Sequences.from_rows(["a"]), original=original)
    assert [persons(0.3, 10), persons(0.1, 1), persons(0.001, 0), persons(7, 1)] == [3, 1, 1, 7]


def test_a_forbidden_pattern_may_stay_where_it_was():
    model = PatternHiding(sensitive=frozenset({("x",)}), min_support=1, forbidden=frozenset({("b", "a")}))
    original = Sequences.from_rows(["ba", "ab"])
    assert model.check(original, original=original)
    verdict = model.check(Sequences.from_rows(["ba", "ba"]), original=original)
    assert verdict.witnesses == (("b", "a"),)
    with pytest.raises(InputError, match="same persons in the same order, there are 1 and 2"):
        model.check(Sequences.from_rows(["ba"]), original=original)
    with pytest.raises(InputError, match="compares with the original, and none was given"):
        model.check(original)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"sensitive": frozenset()}, "sensitive must have at least one pattern"),
        ({"sensitive": {()}}, "sensitive must have at least one pattern"),
        ({"min_support": 0}, "min_support must be at least 1, got 0"),
        ({"min_support": 1.5}, "min_support must be a whole number of persons or a share below 1, got 1.5"),
        ({"min_support": True}, "min_support must be a whole number of persons or a share below 1, got True"),
        ({"thresholds": {("a",): 0}}, "the min_support of a must be at least 1, got 0"),
        ({"thresholds": {("b", "c"): 2}}, "min_support of b → c is given, but the pattern is not sensitive"),
        ({"forbidden": "all"}, "forbidden must be a list of patterns or \"unseen\", got 'all'"),
    ],
)
def test_wrong_parameters_are_refused(wrong, line):
    given = {"sensitive": {("a",)}, "min_support": 2, **wrong}
    with pytest.raises(ParameterError) as refused:
        PatternHiding(**given)
    assert line in str(refused.value)


def test_patterns_are_no_part_of_the_claim():
    model = PatternHiding(sensitive=SENSITIVE, min_support=3, forbidden="unseen")
    assert model.claim() == {"min_support": 3}
    assert model.needs_original
    assert "implausible" in model.in_words()
    assert model.check(Sequences.from_rows([]), original=Sequences.from_rows([])).holds
