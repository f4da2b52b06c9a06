"""Somebody who knows one event precisely and another roughly, beside somebody who knows both alike."""

from __future__ import annotations

import warnings
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.halt.tables import cases
from oracles import kcp as oracle
from sequester.attacks import attack_tables
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT, GloGen
from sequester.privacy import KCPPrivacy

TREE = {"a": "A", "b": "A", "c": "C", "d": "C", "A": "*", "C": "*"}
DEEP = {"u": "a", "v": "a", "w": "b", "x": "c", "y": "d", **TREE}
EIGHT = ["ac+", "ad+", "acd", "acd", "a", "a", "bc", "bc"]
"""Persons by their events; a plus stands for HIV. "a, then something in C" fits four, two with HIV."""
RELATIVES = {
    "eight persons": (EIGHT, TREE, 0.4),
    "the rough value first": (["ca+", "da+", "cda", "cda", "a", "a", "cb", "cb"], TREE, 0.4),
    "two steps coarser": (["ux+", "uy+", "uxy", "uxy", "u", "u", "wx", "wx"], DEEP, 0.4),
    "twice as many": (EIGHT * 2, TREE, 0.4),
    "with persons aside": ([*EIGHT, "b", "b", "b"], TREE, 0.4),
}


def table_of(rows, tree):
    """Write persons of one quasi-identifier; whoever has a plus has HIV in the first event."""
    events = [
        {"who": who, "n": n, "Q": label, "ill": "HIV" if "+" in row and n == 0 else "flu"}
        for who, row in enumerate(rows)
        for n, label in enumerate(row.replace("+", ""))
    ]
    schema = Schema(
        person="who",
        order="n",
        quasi={"Q": Hierarchy.from_edges(list(tree.items()))},
        sensitive={"ill": ["HIV"]},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return EventTable(pl.DataFrame(events), schema)


def as_oracle(rows, tree, levels):
    persons = [
        [
            ({"Q": label}, {"ill": {"HIV"} if "+" in row and n == 0 else set()})
            for n, label in enumerate(row.replace("+", ""))
        ]
        for row in rows
    ]
    return oracle.Table(persons, {"Q": tree}, {"ill": ("HIV",)}, levels)


@pytest.mark.parametrize("name", RELATIVES)
def test_mixed_levels_find_what_the_same_level_does_not(name):
    rows, tree, c = RELATIVES[name]
    table = table_of(rows, tree)
    verdicts = {levels: KCPPrivacy(k=2, c=c, p=2, levels=levels).check(table) for levels in ("same", "mixed")}
    assert verdicts["same"].holds
    assert not verdicts["mixed"].holds
    for levels, verdict in verdicts.items():
        assert verdict.holds == oracle.is_private(as_oracle(rows, tree, levels), 2, Fraction(str(c)), 2)
    assert {each.with_value / each.persons for each in verdicts["mixed"].witnesses} == {0.5}


def test_the_witness_names_the_rough_and_the_precise_value():
    (witness,) = KCPPrivacy(k=2, c=0.4, p=2).check(table_of(EIGHT, TREE)).witnesses
    assert str(witness) == "Q = a → Q = C: ill = HIV for 2 of 4 persons"


def test_three_known_values_can_be_of_three_levels():
    # "u, then something in b, then something in C": two of four; no two values alone do that.
    tree = {"u": "a", "v": "a", "w": "b", "m": "b", "x": "c", "y": "d", **TREE}
    rows = ["uwx+", "umy+", "uwmxy", "uwmxy", *["uw", "um", "ux", "uy"] * 4, *["vwx", "vmy", "wx", "my"] * 4]
    table = table_of(rows, tree)
    assert KCPPrivacy(k=2, c=0.4, p=3, levels="same").check(table).holds
    assert KCPPrivacy(k=2, c=0.4, p=2).check(table).holds
    verdict = KCPPrivacy(k=2, c=0.4, p=3).check(table)
    shown = [tuple(oracle.depth(tree, label) for ((_, label),) in each.events) for each in verdict.witnesses]
    assert (3, 2, 1) in shown


@pytest.mark.parametrize("method", [HALT, GloGen])
def test_methods_cover_mixed_levels_unless_asked_otherwise(method):
    table = table_of(EIGHT, TREE)
    assert method(k=2, c=0.4, p=2).model().levels == KCPPrivacy(k=2, c=0.4, p=2).levels == "mixed"
    same = method(k=2, c=0.4, p=2, levels="same").apply(table)
    mixed = method(k=2, c=0.4, p=2).apply(table)
    harder = KCPPrivacy(k=2, c=0.4, p=2, levels="mixed")
    assert harder.check(mixed.table).holds
    assert not harder.check(same.table).holds
    assert mixed.utility["information_loss"].value > same.utility["information_loss"].value == 0


def test_the_sentence_and_the_limits_say_which_levels_are_covered():
    same, mixed = (
        HALT(k=2, c=0.4, p=2, levels=levels).apply(table_of(EIGHT, TREE)) for levels in ("same", "mixed")
    )
    about = "one level throughout"
    assert about in same.model.in_words()
    assert about not in mixed.model.in_words()
    assert any("more precisely" in limit for limit in same.limits)
    assert not any("more precisely" in limit for limit in mixed.limits)
    # A single value has one level.
    assert KCPPrivacy(k=2, c=1, p=1, levels="same").in_words() == KCPPrivacy(k=2, c=1, p=1).in_words()


def test_the_attack_that_mixes_levels_is_shown_and_bounded_only_where_it_is_covered():
    table = table_of(EIGHT, TREE)

    def tried(levels):
        release = HALT(k=2, c=0.4, p=2, levels=levels).apply(table)
        risks = attack_tables(release.table, original=table, model=release.model, known=[2], targets=200)
        by_name = {(risk.kind, risk.name): risk for risk in risks}
        return by_name["mixed", "confidence_shown"], by_name["generalized", "confidence_shown"]

    mixed, one_level = tried("same")
    assert (mixed.value, mixed.bound) == (0.5, None)
    assert (one_level.bound, one_level.is_within) == (0.4, True)
    mixed, one_level = tried("mixed")
    assert mixed.bound == one_level.bound == 0.4
    assert mixed.is_within
    assert one_level.is_within


SOME = settings(max_examples=settings.default.max_examples // 4)


@SOME
@given(case=cases(most_p=3), method=st.sampled_from([HALT, GloGen]))
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_by_default_no_mixed_knowledge_beats_the_bounds(case, method):
    try:
        release = method(k=case.k, c=float(case.c), p=case.p).apply(case.table())
    except UnattainableError:
        return
    if not any(
        tree.height > 1 for tree in case.table().hierarchies.values()
    ):  # one level above the values is the root
        return
    risks = attack_tables(
        release.table, original=case.table(), model=release.model, kinds=["mixed"], targets=40
    )
    assert any(risk.bound is not None for risk in risks)
    assert [str(risk) for risk in risks if not risk.is_within] == []
