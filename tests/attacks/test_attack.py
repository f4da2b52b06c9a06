"""The main attacks: what a board asks for, chosen by what the promise bounds."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.attacks.attack import attack_tables, main_rounds
from sequester.attacks.background_knowledge import kinds_for
from sequester.attacks.context import AttackContext
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.hierarchies import Hierarchy
from sequester.privacy import KCPPrivacy, KCPrivacy, SequenceKAnonymity
from sequester.testing import symbol_table


@pytest.fixture
def visits():
    """Ten persons with two visits each, and a kept column."""
    tree = Hierarchy.from_tree({"north": ["a", "b"], "south": ["c", "d"]})
    frame = pl.DataFrame(
        {
            "who": [person for person in range(10) for _ in range(2)],
            "n": [1, 2] * 10,
            "zip": list("abcdabcdabcdabcdabcd"),
            "stay": list("xxyyxyxyxxyyxyxyxxyy"),
            "ward": list("pqpqpqpqpqpqpqpqpqpr"),
            "ill": ["HIV", "flu", "flu", "flu"] * 5,
        }
    )
    quasi = {"zip": tree, "stay": Hierarchy.flat()}
    return EventTable(
        frame, Schema(person="who", order="n", quasi=quasi, keep=["ward"], sensitive={"ill": ["HIV"]})
    )


def rounds_of(table, model, known=(1, 2, 3)):
    context = AttackContext(table, table, targets=5)
    return main_rounds(model, kinds_for(table, context.domain), known, context)


def test_the_kinds_and_sizes_of_the_promise_and_the_strongest_beyond(visits):
    table = visits.with_kept(["ward"])
    assert rounds_of(table, KCPPrivacy(k=2, c=0.5, p=2, levels="same")) == [
        ("anywhere", 2),
        ("ordered", 2),
        ("event", 2),
        ("generalized", 2),
        ("generalized", 1),
        ("released", 3),
        ("ordered", 3),
    ]
    found = rounds_of(table, KCPrivacy(k=2, c=0.5))
    assert {kind for kind, size in found if size == 3} == {
        *("anywhere", "ordered", "consecutive", "event", "mixed", "count", "negative", "released")
    }


def test_where_a_promise_bounds_nothing_plain_knowledge_is_tried(visits):
    assert rounds_of(visits, None) == [("ordered", 3), ("event", 3), ("ordered", 1), ("released", 3)]


def test_symbols_are_known_in_order():
    assert rounds_of(symbol_table(["ab", "ab"]), SequenceKAnonymity(k=2)) == [
        ("ordered", 3),
        ("ordered", 1),
        ("count", 3),
    ]


@pytest.mark.parametrize("model", [KCPPrivacy(k=2, c=0.5, p=2), KCPrivacy(k=2, c=0.5), None])
def test_the_main_attacks_are_among_all(visits, model):
    found = {
        thorough: attack_tables(visits, original=visits, model=model, targets=20, thorough=thorough)
        for thorough in (False, True)
    }
    assert all(risk.main for risk in found[False])
    assert len(found[False]) <= 40 < len(found[True])
    main = {(risk.name, risk.kind, risk.known): risk for risk in found[True] if risk.main}
    assert main == {(risk.name, risk.kind, risk.known): risk for risk in found[False]}
    goals = {risk.name.removesuffix("_shown") for risk in found[False]}
    assert {"unique", "prosecutor", "marketer", "confidence", "singled_out"} <= goals


def test_the_number_of_threads_changes_nothing(visits):
    one, many = (
        attack_tables(visits, original=visits, targets=20, engine=LocalEngine(threads=threads))
        for threads in (1, 4)
    )
    assert one == many
