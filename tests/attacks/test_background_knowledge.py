"""The rarest items are tried whoever is drawn, and estimates rest on the random draw alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.tables import some_persons, table_of
from sequester.attacks.attack import attack_tables
from sequester.attacks.background_knowledge import TargetPool, kinds_for
from sequester.attacks.candidate_sets import Evidence, find_candidates
from sequester.attacks.context import AttackContext
from sequester.attacks.domain import Domain
from sequester.attacks.inference import Inference
from sequester.attacks.linkage import Linkage
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.hierarchies import Hierarchy
from sequester.privacy import KCPPrivacy

ENGINE = LocalEngine(threads=1, shards=1)
INFECTIOUS = {"infectious": ["HIV", "flu"], "other": ["gout", "cold"]}


def diagnoses(counts, *, released=False, tree=INFECTIOUS, **columns):
    labels = [label for label, n_persons in counts.items() for _ in range(n_persons)]
    frame = pl.DataFrame({"who": range(len(labels)), "n": 1, "ill": labels, **columns})
    quasi = {"ill": Hierarchy.from_tree(tree)} | dict.fromkeys(columns, Hierarchy.flat())
    if released:
        quasi = {name: Hierarchy.from_edges((label, "*") for label in set(frame[name])) for name in columns}
        quasi = {"ill": Hierarchy.from_tree(tree)} | quasi
    schema = Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]}, released=released)
    return EventTable(frame, schema)


MANY = {"flu": 5, "HIV": 20, "gout": 30_000, "cold": 30_000}


def above_bounds(counts, model, *, targets, **others):
    original, released = (diagnoses(counts, released=each) for each in (False, True))
    risks = attack_tables(released, original=original, model=model, targets=targets, engine=ENGINE, **others)
    return {(risk.name, risk.kind): risk.value for risk in risks if not risk.is_within}


@pytest.mark.parametrize("seed", ["one", "two", "three"])
@pytest.mark.parametrize(("targets", "thorough"), [(50, True), (10_000, True), (50, False)])
def test_a_release_that_tells_of_few_among_many_is_caught(seed, targets, thorough):
    """20 of the 25 who are infectious have HIV; the release shows the values as they are."""
    model = KCPPrivacy(k=5, c=0.5, p=1)
    found = above_bounds(MANY, model, known=[1], targets=targets, seed=seed, thorough=thorough)
    # Of one item, both kinds are the same.
    kinds = ("generalized", "mixed") if thorough else ("mixed",)
    assert found == {("confidence_shown", kind): 0.8 for kind in kinds}


def test_the_random_draw_alone_misses_it():
    original, released = (diagnoses(MANY, released=each) for each in (False, True))
    context = AttackContext(released, original, targets=50, engine=ENGINE)
    drawn = context.find("generalized", 1, shown=True).release.candidates
    assert drawn.share(drawn.most).max() < 0.01
    rarest = context.find("generalized", 1, shown=True, rarest=True).release.candidates
    assert rarest.share(rarest.most).max() == 0.8


def test_a_person_alone_among_many_is_found():
    counts = {"flu": 1, "HIV": 20, "gout": 30_000, "cold": 30_000}
    found = above_bounds(counts, KCPPrivacy(k=5, c=1, p=1), known=[1], targets=50)
    assert found["prosecutor", "ordered"] == 1.0
    assert found["prosecutor", "generalized"] == 1.0


def test_two_items_of_a_rare_person_are_tried_together():
    """Only the two with flu are at the seaside, and only one of them in May."""
    counts = {"flu": 2, "HIV": 20, "gout": 3_000, "cold": 3_000}
    ward = ["sea", "sea", *["city", "hill"] * 3_010]
    month = ["May", "June", *["May", "May", "June", "June"] * 1_505]
    tables = [diagnoses(counts, released=each, ward=ward, month=month) for each in (False, True)]
    for kind in ("ordered", "event", "anywhere", "generalized", "consecutive"):
        risk = Linkage(kind=kind, known=2).run(tables[1], original=tables[0], targets=60, engine=ENGINE)
        assert risk.value == (1.0 if kind in ("event", "anywhere") else 0.5)


def test_estimates_rest_on_the_random_draw_alone():
    counts = {"flu": 1, "HIV": 20, "gout": 3_000, "cold": 3_000}
    original, released = (diagnoses(counts, released=each) for each in (False, True))
    context = AttackContext(released, original, targets=40, engine=ENGINE)
    for measure in ("candidates", "unique", "below_k", "marketer"):
        risk = Linkage(measure=measure).judge(context)
        assert (risk.targets, risk.value < 0.01) == (40, True)
    assert Inference(measure="guess").judge(context).targets == 40
    risk = Linkage(measure="prosecutor").judge(context)
    # 40 drawn at random, and each of three values that are no protected one.
    assert (risk.targets, risk.value, risk.interval) == (43, 1.0, (1.0, 1.0))


# of everything that there is

some_values = st.lists(st.lists(st.sampled_from("HCx"), min_size=6, max_size=6), min_size=12, max_size=12)


def worlds(persons, values):
    table = table_of(persons, [own[: len(person)] for own, person in zip(values, persons, strict=False)])
    domain = Domain.of(table, table)
    return table, domain, TargetPool.of(table, domain)


@given(some_persons, some_values)
def test_every_single_item_is_tried_where_there_is_room(persons, values):
    _, domain, source = worlds(persons, values)
    knowledge = source.draw_rarest("ordered", 1, 100, rng=np.random.default_rng(1))
    labels = [domain.label(node).split("=")[-1] for node in knowledge.nodes[:, 0]]
    assert sorted(labels) == sorted({label for person in persons for event in person for label in event})
    holders = [sum(any(label in event for event in person) for person in persons) for label in labels]
    assert holders == sorted(holders)
    # And the rarest where there is not.
    few = source.draw_rarest("ordered", 1, 2, rng=np.random.default_rng(1))
    assert [holders[labels.index(domain.label(n).split("=")[-1])] for n in few.nodes[:, 0]] == holders[:2]


@given(some_persons, some_values, st.integers(1, 3), st.integers(1, 12))
def test_everybody_fits_what_is_tried_of_them(persons, values, known, targets):
    table, domain, source = worlds(persons, values)
    evidence = Evidence.of(table, domain)
    for kind in kinds_for(table, domain):
        knowledge = source.draw_rarest(kind, known, targets, rng=np.random.default_rng(1))
        assert len(knowledge) <= targets
        assert (knowledge.nodes >= 0).sum(axis=1).max(initial=0) <= known
        candidates = find_candidates(knowledge, evidence, domain, windows=source.windows(knowledge))
        assert (candidates.sizes > 0).all()
        # What they have themselves is among what those have whom it fits.
        has_value = np.diff(source.windows(knowledge).offsets) > 0
        assert (candidates.own[has_value] > 0).all()


def test_what_is_above_a_protected_value_is_tried_and_the_value_itself_is_not():
    tree = {"infectious": {"STD": ["HIV"], "lung": ["flu"]}, "other": ["gout", "cold"]}
    table = diagnoses({"HIV": 2, "flu": 3, "gout": 4, "cold": 5}, tree=tree)
    domain = Domain.of(table, table)
    source = TargetPool.of(table, domain)
    drawn = source.draw("generalized", 1, 400, rng=np.random.default_rng(1))
    rarest = source.draw_rarest("generalized", 1, 100, rng=np.random.default_rng(1))
    for knowledge in (drawn, rarest):
        nodes = {domain.label(node) for node in knowledge.nodes[:, 0] if node >= 0}
        # STD has no leaf but HIV.
        assert nodes == {"infectious", "lung", "flu", "other", "gout", "cold"}
    plain = source.draw_rarest("ordered", 1, 100, rng=np.random.default_rng(1))
    assert [domain.label(node) for node in plain.nodes[:, 0]] == ["flu", "gout", "cold"]
