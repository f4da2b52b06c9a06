"""(K,C)-privacy counted in classes equals the definition, and who breaks it is named."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import kc as oracle
from oracles.kcp import Table
from privacy.releases import event_table, tables
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.errors import InputError, ParameterError, SchemaError
from sequester.hierarchies import Hierarchy
from sequester.privacy import MODELS, EquivalenceClass, KCPrivacy

TWO_COLUMNS = {"D": ("D1", "D2")}
shares = st.sampled_from(["1/3", 0.5, "2/3", 0.9, 1])
levels_of_k = st.integers(2, 4)
readings = st.sampled_from(["any", "each"])


def check(table, k, c, reading):
    columns = TWO_COLUMNS if "D" in table.protect else {}
    model = KCPrivacy(k=k, c=c, reading=reading, protect=table.protect)
    return model.check(event_table(table, columns=columns))


def told(verdict):
    return (
        verdict.holds,
        dict(verdict.achieved),
        verdict.violations,
        [(each.events, (each.persons, each.at_risk, each.value)) for each in verdict.witnesses],
    )


def by_definition(table, k, c, reading):
    found = oracle.violations(table, k, c, reading)
    smallest, largest = oracle.reached(table, reading)
    return not found, {"k": smallest, "c": float(largest)}, len(found), found[:5]


def simple(rows, *, protect=("HIV",)):
    """Persons of one quasi-identifier: a letter per event, and what they have in the first."""
    persons = [
        [({"Q": label}, {"D": {ill} if place == 0 and ill else set()}) for place, label in enumerate(labels)]
        for labels, ill in rows
    ]
    return Table(persons, {"Q": dict.fromkeys("abc", "*")}, {"D": tuple(protect)})


@given(tables(), levels_of_k, shares, readings)
def test_level_violations_and_witnesses_equal_the_definition(table, k, c, reading):
    # Labels of one letter stand in label order, which is the order of the oracle.
    assert told(check(table, k, c, reading)) == by_definition(table, k, c, reading)


@given(tables(), levels_of_k, shares)
def test_any_implies_each(table, k, c):
    assert not check(table, k, c, "any") or check(table, k, c, "each")


@given(tables(), levels_of_k, shares, readings)
def test_one_person_short_names_the_exact_witness(table, k, c, reading):
    """Take a person away from a smallest class of a table that holds, and ask for its size."""
    smallest, _ = oracle.reached(table, reading)
    assume(smallest >= 2)
    shown, persons = min(oracle.classes(table).items(), key=lambda each: len(each[1]))
    short = Table(
        [person for person in table.persons if person is not persons[0]],
        table.trees,
        table.protect,
        both=table.both,
    )
    verdict = check(short, smallest, 1, reading)
    assert not verdict.holds
    assert shown in [each.events for each in verdict.witnesses] or verdict.violations > 5
    assert verdict.achieved["k"] == smallest - 1


def test_one_person_short_of_k_is_named():
    verdict = check(simple([("ab", None)] * 3 + [("b", None)] * 2), 3, 1, "any")
    assert [str(each) for each in verdict.witnesses] == ["Q = b: 2 persons"]
    assert verdict.witnesses == (EquivalenceClass(events=((("Q", "b"),),), persons=2),)


def test_one_person_too_many_at_risk_is_named():
    safe = simple([("a", "HIV"), ("a", None), ("a", None)])
    assert check(safe, 2, "1/3", "any")
    verdict = check(simple([("a", "HIV"), ("a", "HIV"), ("a", None)]), 2, "1/3", "any")
    assert [str(each) for each in verdict.witnesses] == ["Q = a: a protected value for 2 of 3 persons"]
    verdict = check(simple([("a", "HIV"), ("a", "HIV"), ("a", None)]), 2, "1/3", "each")
    assert [str(each) for each in verdict.witnesses] == ["Q = a: D = HIV for 2 of 3 persons"]


def test_hole_2_two_readings():
    table = simple([("a", "HIV"), ("a", "Abortion"), ("a", "Flu")], protect=("Abortion", "HIV"))
    assert check(table, 3, 0.4, "each").achieved == {"k": 3, "c": 1 / 3}
    assert check(table, 3, 0.4, "any").achieved == {"k": 3, "c": 2 / 3}
    assert check(table, 3, 0.4, "each")
    assert not check(table, 3, 0.4, "any")


def test_the_number_of_events_tells_persons_apart():
    verdict = check(simple([("a", None), ("aa", None)]), 2, 1, "any")
    assert verdict.violations == 2
    assert [len(each.events) for each in verdict.witnesses] == [1, 2]


def test_without_quasi_identifiers_only_the_number_of_events_is_seen():
    frame = pl.DataFrame({"p": list("aabbcd"), "n": [1, 2, 1, 2, 1, 1], "D": ["x"] * 6})
    table = EventTable(frame, Schema(person="p", order="n", sensitive={"D": ["x"]}))
    assert KCPrivacy(k=2, c=1).check(table).achieved == {"k": 2, "c": 1.0}


def test_many_broken_classes_show_the_shortest_five():
    rows = [(label * size, None) for size in (3, 2, 1) for label in "abc"]
    verdict = check(simple(rows), 2, 1, "any")
    assert verdict.violations == 9
    shown = ["".join(label for ((_, label),) in each.events) for each in verdict.witnesses]
    assert shown == ["a", "b", "c", "aa", "bb"]


def test_a_table_without_persons_reaches_what_is_asked_for():
    assert check(simple([]), 3, 0.5, "any").achieved == {"k": 3, "c": 0.0}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 1}, "k must be at least 2, got 1"),
        ({"k": "2"}, "k must be a whole number, got '2'"),
        ({"k": True}, "k must be a whole number, got True"),
        ({"c": 0}, "c must be above 0 and at most 1, got 0"),
        ({"c": "third"}, "c must be a number or a fraction such as \"1/3\", got 'third'"),
        ({"reading": "some"}, 'reading must be "any" or "each", got \'some\''),
        ({"protect": ["HIV"]}, "protect must lead from attributes to lists of text, got ['HIV']"),
        ({"columns": {"D": "D1"}}, "columns must lead from attributes to lists of text, got {'D': 'D1'}"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong, message):
    with pytest.raises(ParameterError) as error:
        KCPrivacy(**{"k": 2, "c": 0.5, **wrong})
    assert str(error.value) == message


def test_what_is_no_table_of_quasi_identifiers_is_refused():
    model = KCPrivacy(k=2, c=0.5)
    with pytest.raises(InputError, match="needs a table with a schema"):
        model.check(Sequences.from_rows(["a"]))
    frame = pl.DataFrame({"p": ["a"], "n": [1], "s": ["x"]})
    with pytest.raises(InputError, match="a symbol instead"):
        model.check(EventTable(frame, Schema(person="p", order="n", symbol="s")))
    table = EventTable(frame, Schema(person="p", order="n", quasi={"s": Hierarchy.flat()}))
    with pytest.raises(SchemaError, match="protected, and the table has no column 'D'"):
        KCPrivacy(k=2, c=0.5, protect={"D": ["HIV"]}).check(table)


def test_the_claim_makes_the_model_again():
    model = KCPrivacy(k=2, c="1/3", reading="each", protect={"D": ["b", "a"]}, columns={"D": ["D1", "D2"]})
    assert MODELS["KCPrivacy"](**json.loads(json.dumps(model.claim()))) == model
    assert not model.needs_original
    assert "columns" not in KCPrivacy(k=2, c=1).claim()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KCPrivacy(k=2, c=0.5), "or none."),
        (
            KCPrivacy(k=2, c=0.5, protect={"D": ["a"]}),
            "at most 50% of those who are alike show one or more protected values.",
        ),
        (
            KCPrivacy(k=2, c="1/3", reading="each", protect={"D": ["a"]}),
            "no protected value is shown for more than 1/3 of those who are alike.",
        ),
    ],
)
def test_the_promise_is_said_in_words(model, words):
    assert model.in_words().endswith(words)
