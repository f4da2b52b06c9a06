"""The minimal channels that are mined are those of the definition, signature by signature."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from methods.halt.tables import Case, cases, extract
from oracles import halt as oracles
from sequester.engine import LocalEngine

LETTERS = dict.fromkeys("abz", "*")


@given(cases(most_p=3, most_persons=5, most_events=2, most_quasi=2))
def test_channels_are_those_of_the_definition(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.minimal_channels(*case.oracle())


@given(cases(most_p=4, most_persons=3, most_events=2, most_quasi=2))
def test_four_items_are_those_of_the_definition(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.minimal_channels(*case.oracle())


@given(cases())
def test_channels_are_those_of_a_slow_miner(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.mine(*case.oracle())


@given(cases())
def test_each_channel_has_its_signature(case):
    found = extract(case.table(), case.thresholds())
    assert found == {sequence: oracles.coarsest_levels(sequence, case.trees) for sequence in found}


@given(cases(most_p=3))
def test_signatures_come_coarse_first(case):
    order = list(dict.fromkeys(extract(case.table(), case.thresholds()).values()))
    coarseness = [-sum(signature) for signature in order]
    assert coarseness == sorted(coarseness)


@given(cases(most_p=3, most_persons=6))
@settings(max_examples=20)
def test_shards_do_not_matter(case):
    table, thresholds = case.table(), case.thresholds()
    whole = extract(table, thresholds)
    assert extract(table, thresholds, engine=LocalEngine(threads=2, shards=3)) == whole


@pytest.mark.kernel
@given(cases(most_p=3, most_persons=5, most_events=2, most_quasi=2))
@settings(max_examples=15)
def test_kernels_agree_with_a_slow_miner(case):
    assert set(extract(case.table(), case.thresholds())) == oracles.mine(*case.oracle())


def letters(*persons, k, p, c=Fraction(1)):
    """Persons as lists of events, an event as text: a letter of the one column, and one of the other."""
    events = [[dict(zip("QR", event, strict=True)) for event in person] for person in persons]
    return Case(events, {"Q": LETTERS, "R": LETTERS}, [set() for _ in persons], k, c, p, "same")


def one(*persons, k, p):
    """Persons as text, an event per letter."""
    events = [[{"Q": letter} for letter in person] for person in persons]
    return Case(events, {"Q": LETTERS}, [set() for _ in persons], k, Fraction(1), p, "same")


def test_an_item_may_follow_itself_and_one_that_was_handled_before():
    """As printed, Algorithm 4.1 takes X away before it forms the siblings, and misses both."""
    found = extract((case := one("aa", "ab", "ba", "ab", k=2, p=2)).table(), case.thresholds())
    assert set(found) == {((("Q", "a"),), (("Q", "a"),)), ((("Q", "b"),), (("Q", "a"),))}


def test_hole_5_a_channel_within_an_event_does_not_lock_a_later_event():
    """<{a,z}> is a channel, and <{a},{b,z}> is a minimal channel of its own."""
    case = letters(["az"], ["aa", "bz"], ["aa", "zz"], ["aa", "ba"], ["bz"], k=2, p=3)
    found = set(extract(case.table(), case.thresholds()))
    assert found == oracles.minimal_channels(*case.oracle())
    assert ((("Q", "a"), ("R", "z")),) in found
    assert ((("Q", "a"),), (("Q", "b"), ("R", "z"))) in found


def test_nobody_is_a_channel_of_support_zero():
    case = one("a", "a", k=2, p=3)
    assert extract(case.table(), case.thresholds()) == {}


def test_one_person_is_a_channel_by_every_item():
    case = one("ab", k=2, p=2)
    assert set(extract(case.table(), case.thresholds())) == {((("Q", "a"),),), ((("Q", "b"),),)}


def test_an_empty_table_has_no_channels():
    case = one(k=2, p=2)
    assert extract(case.table(), case.thresholds()) == {}
