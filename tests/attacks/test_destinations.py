"""Who knows whole sequences and the method finds what the definition says, from the release alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.tables import some_rows
from oracles import minimality as oracles
from oracles import p2ka
from sequester.attacks.context import Case
from sequester.attacks.minimality import Destinations, attack_destinations, destination_risks
from sequester.data.sequences import Sequences
from sequester.errors import UnattainableError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.privacy import SequenceKAnonymity
from sequester.testing import symbol_table
from sequester.workflow.attack import background_knowledge

SEED = "kept in a safe place"
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")


def mean(values):
    return float(sum(values) / len(values))


@settings(max_examples=settings.default.max_examples // 2)
@given(rows=some_rows, k=st.integers(2, 3))
def test_destinations_follow_from_the_release_alone(rows, k):
    released = p2ka.release(rows, k)
    if not any(released):
        return
    found = Destinations.of(
        Sequences.from_rows(released), symbol_table(rows).sequences, targets=99, seed=SEED
    )
    expected = oracles.destinations([tuple(row) for row in rows], released)
    assert found.reasoned.tolist() == pytest.approx([float(each) for each in expected])
    plain = [oracles.containing(tuple(row), released) for row in rows]
    assert found.fitting.tolist() == pytest.approx([float(each) for each in plain])
    assert found.raw.tolist() == pytest.approx([1 / rows.count(row) for row in rows])
    risk, surest = destination_risks(found)
    assert (risk.value, risk.control.value) == pytest.approx((mean(expected), mean(plain)))
    assert surest.value == pytest.approx(max(expected))
    assert risk.bound is None


@pytest.mark.parametrize("method", [BFP2kA(k=2), PrefixPruning(k=2)])
@settings(max_examples=settings.default.max_examples // 8)
@given(rows=some_rows)
def test_who_is_who_and_doing_it_again_give_the_same(method, rows):
    table = symbol_table(rows)
    try:
        release = method.apply(table, seed=SEED)
    except UnattainableError:
        return
    noted, again = (
        attack_destinations(
            release.model,
            Case(
                tables=release.tables,
                released=release.table,
                original=table,
                **background_knowledge(method, release.table, table, pseudonyms),
            ),
        )
        for pseudonyms in (release.pseudonyms, None)
    )
    assert noted == again
    assert len(noted) == 2


def test_a_whole_sequence_stands_apart_from_what_contains_it():
    # Both prefixes have two persons, and one person stops after a: whoever knows that finds one record.
    rows = ["a", "ab", "ab"]
    found = Destinations.of(symbol_table(rows).sequences, symbol_table(rows).sequences, targets=9, seed=SEED)
    _, risk = destination_risks(found)
    assert SequenceKAnonymity(k=2).check(symbol_table(rows)).holds
    assert (risk.value, risk.control.value) == (1.0, 0.5)


def test_some_persons_stand_for_many():
    rows = ["ab", "ab", "c", "cd", "cd", "ab"] * 4
    sequences = symbol_table(rows).sequences
    everybody, _ = destination_risks(Destinations.of(sequences, sequences, targets=24, seed=SEED))
    some, largest = destination_risks(Destinations.of(sequences, sequences, targets=10, seed=SEED))
    assert (everybody.targets, some.targets) == (24, 10)
    assert some.interval[0] <= everybody.value <= some.interval[1]
    assert largest.interval[1] == 1


def test_nothing_is_known_without_the_method():
    table = symbol_table(["ab", "ab"])
    model = SequenceKAnonymity(k=2)
    assert attack_destinations(model, Case(tables={}, released=table, original=table)) == []
    # A method that refuses the original made no release of it.
    known = background_knowledge(BFP2kA(k=9), table, table, None)
    assert attack_destinations(model, Case(tables={}, released=table, original=table, **known)) == []
