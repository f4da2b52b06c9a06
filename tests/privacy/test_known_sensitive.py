"""Values of other sensitive attributes as background knowledge: the check equals the definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import kcp
from oracles import known_sensitive as oracle
from oracles.kcp import ROOT, Table
from privacy.releases import event_table, leaves_at, trees
from sequester.privacy import KCPPrivacy

EDGES = {"a": ROOT, "b": ROOT}


def check(table, k, c, p, **others):
    model = KCPPrivacy(
        k=k,
        c=c,
        p=p,
        levels=table.levels,
        stars=table.stars,
        protect=table.protect,
        **{"sensitive_known": True, **others},
    )
    return model.check(event_table(table))


def persons_of(*rows):
    """Persons of one event each: a letter, a drug and an illness."""
    return [[({"Q": letter}, {"drug": {drug}, "ill": {ill}})] for letter, drug, ill in rows]


def test_what_is_safe_attribute_by_attribute_is_not_safe_together():
    """Everybody with the drug has the illness; one attribute at a time, neither can be learned."""
    rows = [("a", "AZT", "HIV"), ("a", "AZT", "HIV"), ("a", "none", "flu"), ("a", "none", "flu")]
    table = Table(persons_of(*rows), {"Q": EDGES}, {"drug": ("AZT",), "ill": ("HIV",)})
    assert not oracle.one_by_one(table, 2, 0.5, 2)
    assert check(table, 2, 0.5, 2, sensitive_known=False)
    verdict = check(table, 2, 0.5, 1)
    assert not verdict
    assert verdict.achieved == {"k": 2, "c": 1.0}
    assert list(map(str, verdict.witnesses)) == [
        "ill = HIV: drug = AZT for 2 of 2 persons",
        "drug = AZT: ill = HIV for 2 of 2 persons",
    ]


def test_values_combine_with_quasi_identifiers():
    """Neither the drug nor the letter says anything, and both together tell the illness of one person."""
    rows = [("a", "x", "HIV"), ("a", "y", "flu"), ("b", "x", "flu"), ("b", "y", "HIV")] * 2
    table = Table(persons_of(*rows), {"Q": EDGES}, {"drug": (), "ill": ("HIV",)})
    assert check(table, 2, 0.5, 1)
    verdict = check(table, 2, 0.5, 2)
    assert str(verdict.witnesses[0]) == "Q = a, drug = x: ill = HIV for 2 of 2 persons"


def test_a_rare_value_singles_out():
    rows = [("a", "x", "flu")] * 3 + [("a", "y", "flu")]
    table = Table(persons_of(*rows), {"Q": EDGES}, {"drug": (), "ill": ("HIV",)})
    assert check(table, 2, 0.5, 2, sensitive_known=False)
    assert list(map(str, check(table, 2, 0.5, 1).witnesses)) == ["drug = y: 1 person"]
    # Nobody wants to learn anything but the illness: its own values are not known to them.
    rows = [("a", "x", "flu")] * 3 + [("a", "x", "gout")]
    table = Table(persons_of(*rows), {"Q": EDGES}, {"drug": (), "ill": ("HIV",)})
    assert check(table, 2, 0.5, 2)


def test_one_attribute_has_no_others():
    persons = [[({"Q": "a"}, {"ill": {ill}})] for ill in ("HIV", "flu", "gout", "flu")]
    table = Table(persons, {"Q": EDGES}, {"ill": ("HIV",)})
    assert check(table, 2, 0.5, 2) == check(table, 2, 0.5, 2, sensitive_known=False)


@st.composite
def tables(draw):
    forest = {name: draw(trees()) for name in ("Q", "R")[: draw(st.integers(1, 2))]}
    pools = {name: [*leaves_at(tree, draw(st.integers(0, 2))), ROOT] for name, tree in forest.items()}
    cells = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    value = {name: st.sampled_from(["s", "s", "t", ROOT]).map(lambda each: {each}) for name in "DEF"}
    events = st.tuples(cells, st.fixed_dictionaries(value))
    persons = draw(st.lists(st.lists(events, min_size=1, max_size=2), min_size=1, max_size=5))
    persons += draw(st.lists(st.sampled_from(persons), max_size=5))
    protect = {"D": ("t",), "E": draw(st.sampled_from([(), ("s",), ("s", "t")])), "F": ()}
    levels, stars = draw(st.sampled_from(["same", "mixed"])), draw(st.sampled_from(["counted", "ignored"]))
    return Table(persons, forest, protect, levels, stars)


@settings(max_examples=60)
@given(tables(), st.integers(2, 3), st.sampled_from(["1/3", 0.5, 0.9]), st.integers(1, 3))
def test_the_check_equals_the_definition(table, k, c, p):
    verdict, channels = check(table, k, c, p), oracle.channels(table, k, c, p)
    smallest, largest = oracle.reached(table, p)
    assert verdict.achieved == {"k": smallest, "c": float(largest)}
    assert verdict.violations == len(channels)
    assert verdict.holds == (not channels)
    expected = {(sequence, *how) for _, sequence, how in channels}
    found = [(each.events, each.persons, each.value, each.with_value) for each in verdict.witnesses]
    assert set(found) <= expected
    assert len(found) == min(5, len(expected))
    lengths = sorted(kcp.length(sequence) for sequence, *_ in expected)
    assert [each.length for each in verdict.witnesses] == lengths[: len(found)]


@settings(max_examples=30)
@given(tables(), st.integers(2, 3), st.integers(1, 3))
def test_to_know_more_is_never_safer(table, k, p):
    if check(table, k, 0.5, p):
        assert check(table, k, 0.5, p, sensitive_known=False)
