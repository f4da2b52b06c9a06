"""Methods on two tables keep their promise by the oracle's count, and leave the two tables matched."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import persons as oracle
from oracles.kcp import Table
from oracles.persons import Tables
from sequester.attacks import attack_tables
from sequester.data.persons import Persons
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, CBLDABaseline, GloGen
from sequester.privacy.kcp import KCPPrivacy

LETTERS = Hierarchy.from_tree({"early": ["a", "b"], "late": ["c"]})
EDGES = {"early": "*", "late": "*", "a": "early", "b": "early", "c": "late"}
SEED = "a seed of enough letters"


def hospital(people, histories, **rules):
    """Persons of a letter and a secret, and their events, each a letter and an illness."""
    visits = [
        {"PID": str(number), "n": place, "ward": ward, "ill": ill}
        for number, events in enumerate(histories)
        for place, (ward, ill) in enumerate(events)
    ]
    types = {"PID": pl.String, "n": pl.Int64, "ward": pl.String, "ill": pl.String}
    persons = [
        {"PID": str(number), "born": born, "faith": faith} for number, (born, faith) in enumerate(people)
    ]
    schema = Schema("PID", "n", quasi={"ward": LETTERS}, sensitive={"ill": ["HIV"]})
    own = Persons(
        pl.DataFrame(persons), quasi={"born": Quasi(LETTERS, **rules)}, sensitive={"faith": ["rare"]}
    )
    return EventTable(pl.DataFrame(visits, schema=types), schema, own)


def read_back(release) -> Tables:
    """The released frames as the oracle has them."""
    events = {name: [] for name in release.persons["person"]}
    for name, ward, ill in release.frame.select("person", "ward", "ill").rows():
        events[name].append(({"ward": ward}, {"ill": {ill}}))
    people = [
        [({"born": born}, {"faith": {faith}})]
        for born, faith in release.persons.select("born", "faith").rows()
    ]
    levels = getattr(release.model, "levels", "mixed")
    return Tables(
        Table(people, {"born": EDGES}, {"faith": ("rare",)}, levels, "counted"),
        Table([*events.values()], {"ward": EDGES}, {"ill": ("HIV",)}, levels, "counted"),
    )


def apply(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, seed=SEED)


letters, ills = st.sampled_from("abc"), st.sampled_from(["flu", "flu", "HIV"])
peoples = st.lists(st.tuples(letters, st.sampled_from(["some", "some", "rare"])), min_size=4, max_size=8)


@st.composite
def hospitals(draw):
    people = draw(peoples)
    history = st.lists(st.tuples(letters, ills), max_size=3)
    return people, [draw(history) for _ in people]


@settings(max_examples=40)
@given(hospitals(), st.integers(2, 3), st.integers(1, 3), st.sampled_from(["same", "mixed"]))
def test_kcp_methods_keep_the_promise_by_definition(tables, k, p, levels):
    table = hospital(*tables)
    for method in (HALT(k=k, c=0.7, p=p, levels=levels), GloGen(k=k, c=0.7, p=p, levels=levels)):
        try:
            release = apply(method, table)
        except UnattainableError:
            continue
        assert release.persons["person"].is_sorted()
        assert release.persons.height == table.n_persons
        assert not oracle.channels(read_back(release), k, 0.7, p)


@settings(max_examples=40)
@given(hospitals(), st.integers(2, 3), st.sampled_from(["any", "each"]))
def test_classes_agree_in_attributes_by_definition(tables, k, reading):
    table = hospital(*tables)
    for method in (CBLDA(k=k, c=0.7, reading=reading), CBLDABaseline(k=k, c=0.7, reading=reading)):
        try:
            release = apply(method, table)
        except UnattainableError:
            continue
        assert release.persons.height == table.n_persons
        assert not oracle.broken_classes(read_back(release), k, 0.7, reading)


def test_attributes_are_aligned_with_attributes_whatever_is_left_of_them():
    """Nothing is alike in the attributes: they become stars, and no event is paired with them."""
    people = [("a", "some"), ("c", "some")]
    table = hospital(people, [[("a", "flu"), ("b", "flu")], [("b", "flu")]])
    for method in (CBLDA(k=2, c=1), CBLDABaseline(k=2, c=1)):
        release = apply(method, table)
        assert release.persons["born"].to_list() == ["*", "*"]
        assert release.frame.height == 2


def test_attributes_that_must_not_become_coarse_keep_persons_apart():
    table = hospital([("a", "some"), ("b", "some")], [[("a", "flu")], [("a", "flu")]], max_level=0)
    with pytest.raises(UnattainableError, match="would lose all their attributes, because max_level of born"):
        apply(CBLDA(k=2, c=1), table)


def test_two_tables_that_are_private_alone_are_made_private_together():
    """Birth year and one week single out; the method must not publish both as they are."""
    people = [("a", "some"), ("a", "some"), ("b", "some"), ("b", "some"), ("a", "some")]
    weeks = ["a", "b", "a", "a", "b"]
    table = hospital(people, [[(week, "flu")] for week in weeks])
    assert KCPPrivacy(k=2, c=1, p=2).check(table.events)
    assert not KCPPrivacy(k=2, c=1, p=2).check(table)
    release = apply(HALT(k=2, c=1, p=2), table)
    assert release.verdict
    assert set(release.changes["table"].cast(pl.String)) <= {"events", "persons"}
    # Alone, nothing would have been changed.
    assert apply(HALT(k=2, c=1, p=2), table.events).changes.is_empty()


def test_rules_of_attributes_are_kept():
    people = [("a", "some"), ("a", "some"), ("c", "some"), ("c", "some")]
    table = hospital(people, [[("a", "flu")], [("b", "flu")], [("a", "flu")], [("c", "flu")]], max_level=0)
    release = apply(HALT(k=2, c=1, p=2), table)
    assert sorted(release.persons["born"]) == ["a", "a", "c", "c"]


def test_the_loss_counts_cells_of_both_tables_and_no_others():
    people = [("a", "some"), ("b", "some"), ("c", "some"), ("c", "some")]
    table = hospital(people, [[("a", "flu")], [("a", "flu")], [("a", "flu")], []])
    release = apply(GloGen(k=2, c=1, p=1), table)
    assert sorted(release.persons["born"]) == ["early", "early", "late", "late"]
    # Two leaves of three for two persons, one leaf for two more; wards are as they were.
    assert release.utility["information_loss"].value == pytest.approx((2 * 2 / 3 + 2 * 1 / 3) / 7)
    assert (release.n_input_events, release.n_lost_events) == (3, 0)


def test_adversaries_who_know_attributes_stay_within_the_bound():
    people = [("abc"[place % 3], "some" if place % 5 else "rare") for place in range(30)]
    histories = [[("abc"[place % 2], "flu")] * (place % 3) for place in range(29)] + [[("c", "flu")]]
    table = hospital(people, histories)
    release = apply(HALT(k=3, c=0.7, p=2), table)
    risks = attack_tables(release.table, original=table, model=release.model, known=(1, 2), targets=500)
    kinds = {risk.kind for risk in risks if risk.bound is not None}
    assert {"demographics", "demographics_events"} <= kinds
    assert all(risk.value <= risk.bound + 1e-9 for risk in risks if risk.bound is not None)
    raw = attack_tables(table, original=table, known=(2,), kinds=["demographics_events"], targets=500)
    assert next(risk for risk in raw if risk.name == "prosecutor").value == 1
