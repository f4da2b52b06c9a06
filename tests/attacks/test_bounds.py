"""No adversary achieves more against a release than it claims, whatever the method made."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.tables import some_rows, symbols
from methods.cblda.tables import examples
from methods.halt.tables import cases
from sequester.attacks import Inference, Linkage, Presence, attack_tables
from sequester.attacks.linkage import bound_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, BFP2kA, CBLDABaseline, GloGen, PrefixPruning
from sequester.privacy import KCPPrivacy, KCPrivacy, PatternHiding, SequenceKAnonymity
from sequester.testing import symbol_table

SEED = "kept in a safe place"
ENGINE = LocalEngine(threads=1, shards=1)


SOME = settings(max_examples=settings.default.max_examples // 8)
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")


def beaten(method, table, *kinds):
    """Say which attacks of these kinds achieve more than the release of the method claims."""
    try:
        release = method.apply(table, seed=SEED, evaluate=False)
    except UnattainableError:
        return []
    kinds = [kind for kind in kinds if kind != "event" or len(table.schema.quasi) > 1]
    risks = attack_tables(
        release.table, original=table, model=release.model, kinds=kinds, targets=40, engine=ENGINE
    )
    assert any(risk.bound is not None for risk in risks)
    return [str(risk) for risk in risks if not risk.is_within]


@pytest.mark.parametrize("method", [BFP2kA, PrefixPruning])
@SOME
@given(rows=some_rows, k=st.integers(2, 3))
def test_prefix_methods_keep_their_bounds(method, rows, k):
    assert beaten(method(k=k), symbols(rows), "ordered", "anywhere") == []


@pytest.mark.parametrize(("method", "stars"), [(HALT, "counted"), (HALT, "ignored"), (GloGen, "counted")])
@SOME
@given(case=cases(most_p=3))
def test_halt_and_glogen_keep_their_bounds(method, stars, case):
    more = {"stars": stars} if method is HALT else {}
    asked = method(k=case.k, c=float(case.c), p=case.p, levels=case.levels, **more)
    assert beaten(asked, case.table(), "ordered", "event", "anywhere", "generalized", "mixed") == []


@pytest.mark.parametrize("method", [CBLDA, CBLDABaseline])
@SOME
@given(example=examples(), reading=st.sampled_from(["any", "each"]))
def test_cblda_and_its_baseline_keep_their_bounds(method, example, reading):
    asked = method(k=2, c=0.5, reading=reading)
    kinds = ("ordered", "event", "anywhere", "generalized", "mixed", "consecutive", "count", "negative")
    assert beaten(asked, example.table(), *kinds) == []


@pytest.mark.parametrize("thorough", [False, True])
def test_one_person_short_is_beaten(thorough):
    table = symbol_table(["ab", "ab", "ab", "c", "c"])
    short = symbol_table(["ab", "ab", "ab", "c"])
    risks = attack_tables(short, original=table, model=SequenceKAnonymity(k=2), targets=50, thorough=thorough)
    found = {(risk.name, risk.kind) for risk in risks if not risk.is_within}
    assert {("prosecutor", "ordered"), ("unique", "ordered")} <= found
    # With one symbol per event, items in no order leave at least as many candidates.
    assert (("unique", "anywhere") in found) == thorough
    assert not any(kind == "count" for _, kind in found)


@pytest.mark.parametrize("thorough", [False, True])
def test_a_class_with_too_many_at_risk_is_beaten(thorough):
    frame = pl.DataFrame(
        {"who": list("abcd"), "n": [1] * 4, "q": ["x", "x", "y", "y"], "ill": ["HIV", "flu", "flu", "flu"]}
    )

    schema = Schema("who", "n", quasi={"q": Hierarchy.flat()}, sensitive={"ill": ["HIV"]})
    table = EventTable(frame, schema)
    for model, name in (
        (KCPrivacy(k=2, c=0.4), "confidence"),
        (KCPPrivacy(k=2, c=0.4, p=1), "confidence_shown"),
    ):
        risks = attack_tables(table, original=table, model=model, known=(1,), targets=20, thorough=thorough)
        assert {risk.name for risk in risks if not risk.is_within} >= {name}
        kept = attack_tables(
            table, original=table, model=type(model)(**{**model.claim(), "c": 0.5}), known=(1,), targets=20
        )
        assert all(risk.is_within for risk in kept)


def test_what_is_claimed_and_what_is_not():
    loose = SequenceKAnonymity(k=2, strict=False)
    assert bound_of(loose, Linkage()) is None
    assert bound_of(PatternHiding(sensitive=frozenset({("a",)}), min_support=2), Linkage()) is None
    assert bound_of(SequenceKAnonymity(k=2), Presence()) is None
    assert bound_of(SequenceKAnonymity(k=2), Linkage(measure="below_k", k=3)) is None
    assert bound_of(SequenceKAnonymity(k=3), Linkage(measure="below_k", k=3)) == 0
    kcp = KCPPrivacy(k=4, c="1/3", p=2)
    assert bound_of(kcp, Linkage(known=3)) is None
    assert bound_of(kcp, Linkage(known=2, measure="marketer")) == 0.25
    assert bound_of(kcp, Linkage(known=2, kind="count")) is None
    assert bound_of(kcp, Inference(known=2)) is None
    assert bound_of(kcp, Inference(known=2, shown=True)) == pytest.approx(1 / 3)
    assert bound_of(KCPPrivacy(k=4, c=1, p=2, stars="ignored"), Linkage(known=2)) is None
    assert bound_of(KCPPrivacy(k=4, c=1, p=2, stars="ignored"), Linkage(known=2, shown=True)) == 0.25
    kc = KCPrivacy(k=4, c=0.5)
    assert bound_of(kc, Linkage(known=9, kind="negative")) == 0.25
    assert bound_of(kc, Linkage(kind="sensitive")) is None
    assert bound_of(kc, Inference(measure="at_risk")) == 0.5
    assert bound_of(KCPrivacy(k=4, c=0.5, reading="each"), Inference(measure="at_risk")) is None
    assert bound_of(kc, Inference(measure="guess")) is None
    assert bound_of(kc, Presence()) is None
