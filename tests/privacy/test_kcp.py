"""(K,C)^P-privacy by counting what occurs in each person equals the definition by enumeration."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles import kcp as oracle
from oracles.kcp import Table
from privacy.releases import event_table, tables
from sequester.data.schema import Protect, Schema, Sensitive
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.datasets import paper
from sequester.errors import InputError, ParameterError, SchemaError
from sequester.hierarchies import Hierarchy
from sequester.privacy import MODELS, Channel, KCPPrivacy, g_sequences

TWO_COLUMNS = {"D": ("D1", "D2")}
shares = st.sampled_from(["1/3", 0.5, "2/3", 0.9, 1])
levels_of_k = st.integers(2, 4)


def model_of(table, k, c, p, **others):
    return KCPPrivacy(k=k, c=c, p=p, levels=table.levels, stars=table.stars, protect=table.protect, **others)


def check(table, k, c, p):
    columns = TWO_COLUMNS if "D" in table.protect else {}
    return model_of(table, k, c, p).check(event_table(table, columns=columns))


def told(verdict):
    return (
        verdict.holds,
        dict(verdict.achieved),
        verdict.violations,
        [(each.events, each.persons, each.value, each.with_value) for each in verdict.witnesses],
    )


def by_definition(table, k, c, p):
    channels = oracle.channels(table, k, c, p)
    smallest, largest = oracle.reached(table, p)
    return (
        not channels,
        {"k": smallest, "c": float(largest)},
        len(channels),
        [(sequence, *how) for sequence, how in channels[:5]],
    )


def simple(rows, tree, *, protect=("Cancer",), levels="same", stars="counted"):
    """Persons of one quasi-identifier: a list of labels, and a disease that the first event has."""
    persons = [
        [({"Q": label}, {"D": {ill} if place == 0 and ill else set()}) for place, label in enumerate(labels)]
        for labels, ill in rows
    ]
    return Table(persons, {"Q": tree}, {"D": tuple(protect)}, levels, stars)


# against the definition


@given(tables(), levels_of_k, shares, st.integers(1, 3))
def test_level_violations_and_witnesses_equal_the_definition(table, k, c, p):
    assert told(check(table, k, c, p)) == by_definition(table, k, c, p)


@settings(max_examples=25)
@given(tables(most_quasi=2, most_persons=4), levels_of_k, shares)
def test_four_items_equal_the_definition(table, k, c):
    assert told(check(table, k, c, 4)) == by_definition(table, k, c, 4)


@pytest.mark.thorough
@given(tables(), levels_of_k, shares, st.integers(3, 4))
def test_more_items_equal_the_definition(table, k, c, p):
    assert told(check(table, k, c, p)) == by_definition(table, k, c, p)


@given(tables(), levels_of_k, shares, st.integers(1, 3))
def test_counting_in_parts_changes_nothing(table, k, c, p):
    whole = told(check(table, k, c, p))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(g_sequences, "ROOM", 3)
        assert told(check(table, k, c, p)) == whole


def test_the_table_of_the_thesis_equals_the_definition():
    printed = paper("sehatkar-4.1")
    trees = {
        name: {tree.labels[node]: tree.labels[tree.parent[node]] for node in range(1, len(tree))}
        for name, tree in printed.hierarchies().items()
    }
    names, persons = list(printed.columns), {}
    for row in printed.rows:
        cells = {name: str(row[names.index(name)]) for name in trees}
        persons.setdefault(row[0], []).append((cells, {"Disease": {row[-1]}}))
    # Only the branches that occur, or the oracle would look at every day of a year.
    used = {
        name: {
            label: tree[label]
            for person in persons.values()
            for cells, _ in person
            for label in oracle.above(tree, cells[name])
        }
        for name, tree in trees.items()
    }
    table = Table(list(persons.values()), used, {"Disease": ("Cancer", "HIV")})
    thesis = EventTable(
        printed.frame(),
        Schema(
            person="PID",
            order="VID",
            quasi=printed.hierarchies(),
            sensitive={"Disease": ["Cancer", "HIV"]},
        ),
    )
    verdict = KCPPrivacy(k=2, c=0.5, p=2, levels="same").check(thesis)
    expected = by_definition(table, 2, 0.5, 2)
    assert told(verdict)[:3] == expected[:3]
    assert {each.length for each in verdict.witnesses} == {1}
    # Example 4.1: two safe sequences under one that is not; the print cuts 2/3 to 0.6.
    unsafe = ((("AdmYr", "2009"),), (("LOS", "[4:8)"),))
    assert oracle.confidence(table, unsafe, "Disease", "Cancer") == Fraction(2, 3)
    for stay in ("30", "35"):
        safe = ((("AdmYr", "2009"),), (("LOS", stay),))
        assert oracle.support(table, safe) == 2
        assert oracle.confidence(table, safe, "Disease", "Cancer") == Fraction(1, 2)
    assert oracle.support(table, ((("AdmYr", "2009"), ("LOS", "[0:4)")),)) == 7


# the holes of the thesis

STAYS = {"Long": "*", "L30": "Long", "L35": "Long", "L40": "Long", "S1": "*"}
BEFORE = [
    (["L30"], "Cancer"),
    (["L35"], "Cancer"),
    (["L30", "L35"], ""),
    (["L40"], ""),
    (["S1"], ""),
    (["S1"], ""),
]


def test_hole_1_before_suppression_only_one_value_is_rare():
    assert told(check(simple(BEFORE, STAYS), 2, 0.5, 1)) == (
        False,
        {"k": 1, "c": 0.5},
        1,
        [(((("Q", "L40"),),), 1, None, 0)],
    )


def test_hole_1_suppression_makes_the_value_above_tell():
    after = [(["*" if label == "L40" else label for label in labels], ill) for labels, ill in BEFORE]
    verdict = check(simple(after, STAYS, stars="ignored"), 2, 0.5, 1)
    assert told(verdict) == (
        False,
        {"k": 2, "c": 2 / 3},
        1,
        [(((("Q", "Long"),),), 3, ("D", "Cancer"), 2)],
    )
    assert str(verdict.witnesses[0]) == "Q = Long: D = Cancer for 2 of 3 persons"


def test_hole_2_a_star_singles_its_person_out():
    rows = [(["a", "b"], ""), (["a", "b"], ""), (["a", "*"], "")]
    counted = check(simple(rows, {"a": "*", "b": "*"}), 2, 1, 1)
    assert told(counted)[3] == [(((("Q", "*"),),), 1, None, 0)]
    assert check(simple(rows, {"a": "*", "b": "*"}, stars="ignored"), 2, 1, 1).achieved["k"] == 2


def test_hole_2_a_star_is_known_beside_values_of_any_level():
    tree = {"A": "*", "a": "A", "b": "A"}
    rows = [(["a", "*"], ""), (["b", "*"], ""), (["*"], "")]
    witnesses = told(check(simple(rows, tree), 2, 1, 2))[3]
    assert witnesses == [
        (((("Q", "a"),),), 1, None, 0),
        (((("Q", "b"),),), 1, None, 0),
        (((("Q", "a"),), (("Q", "*"),)), 1, None, 0),
        (((("Q", "b"),), (("Q", "*"),)), 1, None, 0),
    ]
    assert oracle.support(simple(rows, tree), ((("Q", "A"),), (("Q", "*"),))) == 2


def test_hole_2_a_column_of_nothing_but_stars_says_nothing():
    rows = [(["*"], ""), (["*", "*"], ""), (["*", "*", "*"], "")]
    assert told(check(simple(rows, {"a": "*"}), 2, 1, 3)) == (True, {"k": 3, "c": 0.0}, 0, [])


def test_hole_3_a_base_rate_above_c_breaks_the_promise_at_the_root():
    rows = [(["*"], "Cancer"), (["*"], "Cancer"), (["*"], "")]
    verdict = check(simple(rows, {"a": "*"}), 2, 0.5, 1)
    assert told(verdict) == (False, {"k": 3, "c": 2 / 3}, 1, [((), 3, ("D", "Cancer"), 2)])
    assert str(verdict.witnesses[0]) == "nothing known: D = Cancer for 2 of 3 persons"


def test_hole_3_the_number_of_events_is_knowledge_where_it_is_a_quasi_identifier():
    one, three = {"a": "*", "n": "1"}, {"a": "*", "n": "3"}
    persons = [[(one, {})], [(one, {})], [(three, {})] * 3]
    trees = {"a": {"x": "*"}, "n": {"1": "*", "3": "*"}}
    verdict = check(Table(persons, trees), 2, 1, 1)
    assert told(verdict)[3] == [(((("n", "3"),),), 1, None, 0)]
    assert check(Table(persons, {"a": trees["a"]}), 2, 1, 3).holds


# what is and what is not an item


def test_items_of_one_attribute_are_at_one_level_unless_they_may_be_mixed():
    tree = {"A": "*", "B": "*", "a1": "A", "a2": "A", "b1": "B", "b2": "B"}
    rows = [(labels, "") for labels in (["a1", "b1"], ["a2", "b2"], ["a1", "b2"], ["a2", "b1"])] * 2
    assert check(simple(rows, tree), 2, 1, 2).achieved == {"k": 2, "c": 0.0}
    rows = [(["a1", "b1"], "Cancer"), (["a1", "b2"], "Cancer"), (["a2", "b1"], ""), (["a2", "b2"], "")] * 2
    same, mixed = (check(simple(rows, tree, levels=levels), 2, 0.9, 2) for levels in ("same", "mixed"))
    assert same.violations == 3
    # A coarse value beside a fine one: <a1, B> is knowledge only where levels may be mixed.
    assert mixed.violations == 4
    assert mixed.witnesses[1].events == ((("Q", "a1"),), (("Q", "B"),))


def test_a_short_branch_stands_beside_every_finer_level():
    tree = {"short": "*", "A": "*", "a1": "A"}
    rows = [(["short", "a1"], ""), (["short", "a1"], ""), (["a1"], "")]
    table = simple(rows, tree)
    assert ((("Q", "short"),), (("Q", "a1"),)) in oracle.knowledge(table, 2)
    assert check(table, 2, 1, 2).achieved == {"k": 2, "c": 0.0}
    assert check(table, 3, 1, 2).violations == 3


DEEP = {"A": "*", "B": "*", "a1": "A", "b1": "B", "short": "*"}


@pytest.mark.parametrize("levels", ["same", "mixed"])
@pytest.mark.parametrize("rare", ["*", "short", "A"], ids=["a star", "a short branch", "a coarse cell"])
def test_a_rare_cell_is_found_at_whatever_level_it_stands(rare, levels):
    # Nobody is ill, and everything else is common: only supports at the level of the cell itself tell.
    rows = [(["a1", "b1"], ""), (["a1", "b1"], ""), (["a1", "b1", rare], "")]
    table = simple(rows, DEEP, protect=(), levels=levels)
    verdict = check(table, 2, 1, 1)
    assert verdict.achieved["k"] == (1 if rare != "A" else 3)
    more = check(table, 2, 1, 3)
    assert told(more) == by_definition(table, 2, 1, 3)
    assert more.achieved["k"] == 1


def test_a_protected_value_of_a_quasi_identifier_is_not_known():
    tree = {"infection": "*", "HIV": "infection", "flu": "infection", "injury": "*"}
    cells = ["HIV", "flu", "flu", "injury", "injury"]
    persons = [[({"ill": label}, {"ill": {label}})] for label in cells]
    table = Table(persons, {"ill": tree}, {"ill": ("HIV",)}, both={"ill": "ill"})
    assert told(check(table, 2, 0.5, 1)) == (True, {"k": 2, "c": 1 / 3}, 0, [])
    known = Table(persons, {"ill": tree})
    assert check(known, 2, 1, 1).achieved["k"] == 1


def test_what_is_above_a_protected_value_is_known():
    # The infectious are three, and one of them has HIV.
    tree = {"infection": "*", "HIV": "infection", "flu": "infection", "injury": "*"}
    cells = ["HIV", "flu", "flu", "injury", "injury"]
    persons = [[({"ill": label}, {"ill": {label}})] for label in cells]
    table = Table(persons, {"ill": tree}, {"ill": ("HIV",)}, both={"ill": "ill"})
    infection = ((("ill", "infection"),),)
    assert told(check(table, 2, 0.3, 1)) == (
        False,
        {"k": 2, "c": 1 / 3},
        1,
        [(infection, 3, ("ill", "HIV"), 1)],
    )


DIAGNOSES = {"infectious": {"STD": ["HIV", "syphilis"], "flu": {}}, "other": ["gout", "cold"]}


def diagnoses(counts, protect, tree=DIAGNOSES, **others):
    """So many persons with each diagnosis, which is a quasi-identifier and sensitive."""
    labels = [label for label, n_persons in counts.items() for _ in range(n_persons)]
    frame = pl.DataFrame({"who": range(len(labels)), "n": 1, "ill": labels})
    roles = {"quasi": {"ill": Hierarchy.from_tree(tree)}, "sensitive": {"ill": protect}}
    return EventTable(frame, Schema(person="who", order="n", **roles, **others))


def test_a_rare_protected_value_below_a_coarse_node_is_found_among_many():
    tree = {"infectious": ["HIV", "flu"], "other": ["gout", "cold"]}
    table = diagnoses({"flu": 5, "HIV": 20, "gout": 30_000, "cold": 30_000}, ["HIV"], tree)
    verdict = KCPPrivacy(k=5, c=0.5, p=1).check(table)
    assert not verdict
    assert list(map(str, verdict.witnesses)) == ["ill = infectious: ill = HIV for 20 of 25 persons"]


@pytest.mark.parametrize(
    ("protect", "achieved", "known"),
    [
        # Every leaf of other is protected.
        (["gout", "cold"], {"k": 1, "c": 4 / 15}, {"flu", "HIV", "syphilis", "STD", "infectious"}),
        # Every leaf of STD is protected, and not every one of infectious.
        (["HIV", "syphilis"], {"k": 3, "c": 3 / 8}, {"flu", "infectious", "gout", "cold", "other"}),
        # One of them is not.
        (["HIV"], {"k": 1, "c": 3 / 4}, {"flu", "syphilis", "STD", "infectious", "gout", "cold", "other"}),
        # Every leaf of infectious is, at whatever depth.
        (["HIV", "syphilis", "flu"], {"k": 3, "c": 4 / 15}, {"gout", "cold", "other"}),
    ],
)
def test_a_node_is_knowledge_unless_every_leaf_below_it_is_protected(protect, achieved, known):
    table = diagnoses({"HIV": 3, "syphilis": 1, "flu": 4, "gout": 4, "cold": 3}, protect)
    found = KCPPrivacy(k=2, c=1, p=1).check(table).achieved
    every = KCPPrivacy(k=100, c=1, p=1).check(table)
    shown = {item for each in every.witnesses for event in each.events for _, item in event}
    assert shown <= known
    assert (found, every.violations) == (achieved, len(known) + 1)


def test_a_leaf_that_nobody_has_counts_among_what_is_below_a_node():
    tree = {"infectious": ["HIV", "flu"], "other": ["gout", "cold"]}
    table = diagnoses({"HIV": 3, "gout": 7}, ["HIV"], tree)
    assert KCPPrivacy(k=2, c=0.9, p=1).check(table).achieved == {"k": 3, "c": 1.0}
    # All values that begin so are protected, those included that do not occur; then nothing is known.
    tree = {"infectious": ["042", "0421"], "other": ["gout", "cold"]}
    table = diagnoses({"042": 3, "gout": 7}, Protect(prefix=("042",)), tree)
    assert KCPPrivacy(k=2, c=0.9, p=1).check(table).achieved == {"k": 7, "c": 0.3}
    assert table.protected_nodes == {"ill": {"042", "infectious"}}
    assert diagnoses({"042": 3, "gout": 7}, "all", tree).protected_nodes["ill"] == {
        "042",
        "infectious",
        "gout",
        "other",
    }


def test_a_release_does_not_show_which_leaves_there_were():
    # Those with flu are suppressed: what lies below infectious is HIV alone, and it is known all the same.
    frame = pl.DataFrame({"person": range(10), "order": 1, "ill": ["HIV"] * 3 + ["*"] * 3 + ["gout"] * 4})
    tree = Hierarchy.from_tree({"infectious": ["HIV"], "other": ["gout"]})
    schema = Schema(
        person="person", order="order", quasi={"ill": tree}, sensitive={"ill": ["HIV"]}, released=True
    )
    table = EventTable(frame, schema)
    assert KCPPrivacy(k=2, c=0.5, p=1, protect={"ill": ["HIV"]}).check(table).achieved == {"k": 3, "c": 1.0}
    both = {"ill": ["HIV", "infectious"]}
    assert KCPPrivacy(k=2, c=0.5, p=1, protect=both).check(table).achieved == {"k": 3, "c": 0.3}


def test_several_attributes_are_protected_each_on_its_own():
    cells = {"Q": "a"}
    persons = [[(cells, {"D": {"s"}, "E": set()})], [(cells, {"D": set(), "E": {"v"}})], [(cells, {})]]
    table = Table(persons, {"Q": {"a": "*"}}, {"D": ("s",), "E": ("v",)})
    assert check(table, 2, "1/3", 1).achieved == {"k": 3, "c": 1 / 3}


def test_a_value_in_any_column_of_an_attribute_counts_once():
    frame = pl.DataFrame(
        {
            "person": ["a", "a", "b"],
            "order": [1, 2, 1],
            "Q": ["x", "x", "x"],
            "D1": ["s", "t", "t"],
            "D2": ["s", "s", "t"],
        }
    )
    schema = Schema(
        person="person",
        order="order",
        quasi={"Q": Hierarchy.flat()},
        sensitive={"ill": Sensitive(columns=("D1", "D2"), protect="all")},
    )
    table = EventTable(frame, schema)
    assert KCPPrivacy(k=2, c=0.5, p=1, protect={"ill": ["s"]}).check(table).achieved["c"] == 0.5
    # The table's own protected values where the model names none.
    found = KCPPrivacy(k=2, c=0.5, p=1).check(table)
    assert found.achieved["c"] == 1.0
    assert found.witnesses[0].value == ("ill", "t")
    assert KCPPrivacy(k=2, c=1, p=1).about(table).columns == {"ill": ("D1", "D2")}


# exactness at the edge


@given(tables(), shares, st.integers(1, 3))
def test_one_person_short_names_the_exact_witness(table, c, p):
    """Everybody k times keeps the K part; without one of them, what only they had is named."""
    k = 3
    doubled = dataclasses.replace(table, persons=table.persons * k, protect={})
    assert check(doubled, k, c, p).achieved["k"] >= k
    rarest = min(
        range(len(table.persons)),
        key=lambda number: min(
            (oracle.support(table, each) for each in oracle.known_of(table, table.persons[number], p)),
            default=len(table.persons),
        ),
    )
    persons = list(doubled.persons)
    persons.remove(table.persons[rarest])
    short = dataclasses.replace(doubled, persons=persons)
    assert told(check(short, k, c, p)) == by_definition(short, k, c, p)


def test_one_person_short_of_k():
    tree = {"A": "*", "a1": "A", "a2": "A", "b": "*"}
    private = [(["a1", "b"], ""), (["a2", "b"], "")] * 2
    assert check(simple(private, tree), 2, 1, 3).holds
    verdict = check(simple(private[:-1], tree), 2, 1, 3)
    assert told(verdict) == (
        False,
        {"k": 1, "c": 0.0},
        2,
        [(((("Q", "a2"),),), 1, None, 0), (((("Q", "a2"),), (("Q", "b"),)), 1, None, 0)],
    )


def test_one_person_short_of_c():
    private = [(["a"], "Cancer"), (["a"], ""), (["a"], "")]
    assert check(simple(private, {"a": "*"}), 2, "1/3", 1).holds
    verdict = check(simple(private[:-1], {"a": "*"}), 2, "1/3", 1)
    assert told(verdict)[2:] == (2, [((), 2, ("D", "Cancer"), 1), (((("Q", "a"),),), 2, ("D", "Cancer"), 1)])


@pytest.mark.parametrize(("c", "holds"), [("1/3", True), (1 / 3, True), (0.3333, False), ("0.34", True)])
def test_a_share_of_exactly_c_is_allowed(c, holds):
    rows = [(["a"], "Cancer"), (["a"], ""), (["a"], "")] * 3
    assert check(simple(rows, {"a": "*"}), 2, c, 1).holds is holds


@given(tables(), levels_of_k, shares, st.integers(1, 3))
def test_the_promise_holds_up_to_the_level_reached(table, k, c, p):
    reached = check(table, k, c, p).achieved
    assume(reached["k"] >= 2)
    assert check(table, reached["k"], reached["c"] or 0.1, p).holds
    assert not check(table, reached["k"] + 1, reached["c"] or 0.1, p).holds
    if reached["c"]:
        assert not check(table, reached["k"], reached["c"] * 0.99, p).holds


# laws between two runs


@given(tables(), levels_of_k, shares, st.integers(1, 2))
def test_who_knows_more_never_finds_less(table, k, c, p):
    less, more = check(table, k, c, p), check(table, k, c, p + 1)
    assert more.achieved["k"] <= less.achieved["k"]
    assert more.achieved["c"] >= less.achieved["c"]
    assert more.violations >= less.violations


@given(tables(), levels_of_k, shares, st.integers(1, 3))
def test_mixed_levels_and_stars_only_add_knowledge(table, k, c, p):
    plain = check(dataclasses.replace(table, levels="same", stars="ignored"), k, c, p)
    for changed in ({"levels": "mixed", "stars": "ignored"}, {"levels": "same", "stars": "counted"}):
        more = check(dataclasses.replace(table, **changed), k, c, p)
        assert more.violations >= plain.violations
        assert more.achieved["k"] <= plain.achieved["k"]


@given(tables(), levels_of_k, shares, st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_order_of_persons_does_not_matter(table, k, c, p, random):
    shuffled = dataclasses.replace(table, persons=random.sample(table.persons, len(table.persons)))
    assert told(check(shuffled, k, c, p)) == told(check(table, k, c, p))


@given(tables(), levels_of_k, shares, st.integers(1, 3))
def test_the_released_part_of_a_tree_is_enough(table, k, c, p):
    full = event_table(table, columns=TWO_COLUMNS)
    parts = {
        name: Hierarchy.from_frame(tree.above(full.labels[name])) for name, tree in full.hierarchies.items()
    }
    part = event_table(table, columns=TWO_COLUMNS, trees=parts)
    model = model_of(table, k, c, p)
    assert told(model.check(part)) == told(model.check(full))


@given(tables(), levels_of_k, shares)
def test_inputs_come_back_untouched(table, k, c):
    released = event_table(table, columns=TWO_COLUMNS)
    before = (
        released.frame.clone(),
        {name: codes.copy() for name, codes in released.sequences.columns.items()},
    )
    model_of(table, k, c, 2).check(released, original=released)
    assert released.frame.equals(before[0])
    assert all((released.sequences.columns[name] == codes).all() for name, codes in before[1].items())


# edges


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(["a"], "")], (False, {"k": 1, "c": 0.0}, 2)),
        ([(["a"], "Cancer")], (False, {"k": 1, "c": 1.0}, 2)),
        ([(["a", "b", "a"], "")] * 3, (True, {"k": 3, "c": 0.0}, 0)),
        ([(["a"], ""), (["b"], ""), (["c"], "")], (False, {"k": 1, "c": 0.0}, 3)),
        ([(["a", "a"], ""), (["a", "a"], ""), (["a"], "")], (True, {"k": 2, "c": 0.0}, 0)),
        ([(["*"], "")] * 2, (True, {"k": 2, "c": 0.0}, 0)),
    ],
    ids=["one person", "one ill person", "all alike", "all different", "an item repeated", "all suppressed"],
)
def test_edge_cases_have_a_stated_answer(rows, expected):
    tree = dict.fromkeys("abc", "*")
    assert told(check(simple(rows, tree), 2, 1, 9))[:3] == expected


def test_a_table_without_persons_has_nobody_to_find():
    verdict = check(simple([], {"a": "*"}), 5, 0.5, 3)
    assert told(verdict) == (True, {"k": 5, "c": 0.0}, 0, [])


def test_a_table_without_quasi_identifiers_has_a_base_rate():
    frame = pl.DataFrame({"person": ["a", "b"], "order": [1, 1], "ill": ["HIV", "flu"]})
    table = EventTable(frame, Schema(person="person", order="order", sensitive={"ill": ["HIV"]}))
    assert KCPPrivacy(k=2, c=0.4, p=3).check(table).achieved == {"k": 2, "c": 0.5}


def test_numbers_are_in_the_order_of_numbers():
    tree = {"10": "*", "9": "*", "8": "*"}
    witnesses = check(simple([(["10"], ""), (["9"], ""), (["8"], "")], tree), 2, 1, 1).witnesses
    assert [each.events[0][0][1] for each in witnesses] == ["8", "9", "10"]


def test_missing_values_are_a_value():
    frame = pl.DataFrame({"person": ["a", "b", "c"], "order": [1, 1, 1], "Q": ["x", "x", None]})
    table = EventTable(frame, Schema(person="person", order="order", quasi={"Q": Hierarchy.flat()}))
    verdict = KCPPrivacy(k=2, c=1, p=1).check(table)
    assert verdict.witnesses == (Channel(events=((("Q", "(missing)"),),), persons=1),)


def test_a_long_history_of_few_values_is_walked_through_once():
    # Each way to choose three of its events, looked at by itself, would take days.
    labels = [*"abcd"] * 2500
    table = simple([(labels, "Cancer"), (labels[1:], "")], dict.fromkeys("abcd", "*"))
    assert check(table, 2, 0.5, 3).holds


def test_what_cannot_be_counted_is_refused_with_what_can(monkeypatch):
    rows = [(["a", "b", "c"] * 8, ""), (["b"], "")]
    table = simple(rows, dict.fromkeys("abc", "*"))
    monkeypatch.setattr(g_sequences, "LIMIT", 2500)
    with pytest.raises(
        InputError, match=r"too much to be counted.* the largest p that can be checked here is 3"
    ):
        check(table, 2, 1, 10)
    assert check(table, 2, 1, 3).achieved["k"] == 1


def test_more_combinations_of_columns_than_can_be_gone_through_are_refused(monkeypatch):
    cells = {"P": "a", "Q": "a", "R": "a"}
    tree = {"A": "*", "a": "A"}
    table = Table([[(cells, {})]] * 2, dict.fromkeys(cells, tree), levels="same")
    monkeypatch.setattr(g_sequences, "MOST_SIGNATURES", 6 + 12)
    assert check(table, 2, 1, 2).holds
    with pytest.raises(InputError, match="the largest p that can be checked here is 2"):
        check(table, 2, 1, 3)
    with pytest.raises(InputError, match="the largest p that can be checked here is 1"):
        check(dataclasses.replace(table, levels="mixed"), 2, 1, 2)


@given(tables(), st.integers(1, 4))
def test_the_estimate_is_never_too_small(table, p):
    released = event_table(table, columns=TWO_COLUMNS)
    counted = g_sequences.GSequences.of(
        released,
        protect={},
        columns={},
        mixed=table.levels == "mixed",
        stars=table.stars == "counted",
    )
    table = dataclasses.replace(table, protect={}, both={})
    known = [len(oracle.known_of(table, person, p)) for person in table.persons]
    assert counted.count_signatures(p) == len(list(counted.signatures(p)))
    assert counted.estimate(p) >= max(known)


# the value itself


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "k must be at least 2, got 1"),
        ({"k": "2"}, "k must be a whole number, got '2'"),
        ({"k": True}, "k must be a whole number, got True"),
        ({"p": 0}, "p must be at least 1, got 0"),
        ({"p": 1.0}, "p must be a whole number, got 1.0"),
        ({"c": 0}, "c must be above 0 and at most 1, got 0"),
        ({"c": "4/3"}, "c must be above 0 and at most 1, got '4/3'"),
        ({"c": "1/0"}, "c must be a number or a fraction such as \"1/3\", got '1/0'"),
        ({"c": "1e999999999"}, "c must be a number or a fraction such as \"1/3\", got '1e999999999'"),
        ({"c": float("nan")}, 'c must be a number or a fraction such as "1/3", got nan'),
        ({"c": None}, 'c must be a number or a fraction such as "1/3", got None'),
        ({"levels": "any"}, 'levels must be "same" or "mixed", got \'any\''),
        ({"stars": True}, 'stars must be "counted" or "ignored", got True'),
        ({"protect": ["HIV"]}, "protect must lead from attributes to lists of text, got ['HIV']"),
        ({"protect": {"D": "HIV"}}, "protect must lead from attributes to lists of text, got {'D': 'HIV'}"),
        ({"columns": {"D": [1]}}, "columns must lead from attributes to lists of text, got {'D': [1]}"),
    ],
)
def test_senseless_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError) as refusal:
        KCPPrivacy(**{"k": 2, "c": 0.5, "p": 2, **parameters})
    assert str(refusal.value) == message


def test_numbers_of_any_kind_are_taken_as_they_are_meant():
    model = KCPPrivacy(k=np.int32(2), c=np.float32(0.5), p=np.uint8(3))
    assert model == KCPPrivacy(k=2, c=0.5, p=3)
    assert json.loads(json.dumps(model.claim()))["k"] == 2
    assert KCPPrivacy(k=2, c=Fraction(1, 3), p=1).c == "1/3"
    assert KCPPrivacy(k=2, c=1, p=1).c == 1


def test_it_is_about_tables_with_quasi_identifiers():
    with pytest.raises(InputError, match="needs a table with a schema"):
        KCPPrivacy(k=2, c=1, p=1).check(Sequences.from_rows(["ab"]))
    frame = pl.DataFrame({"person": ["a"], "order": [1], "page": ["x"]})
    table = EventTable(frame, Schema(person="person", order="order", symbol="page"))
    with pytest.raises(InputError, match="has a symbol instead"):
        KCPPrivacy(k=2, c=1, p=1).check(table)
    table = EventTable(
        frame, Schema(person="person", order="order", quasi={"page": Hierarchy.flat()}, released=True)
    )
    with pytest.raises(SchemaError, match="'page' has no hierarchy"):
        KCPPrivacy(k=2, c=1, p=1).check(table)
    table = EventTable(frame, Schema(person="person", order="order", quasi={"page": Hierarchy.flat()}))
    with pytest.raises(SchemaError, match="values of 'ill' are protected, and the table has no column 'ill'"):
        KCPPrivacy(k=2, c=1, p=1, protect={"ill": ["HIV"]}).check(table)


def test_the_claim_rebuilds_the_model():
    model = KCPPrivacy(k=5, c="1/3", p=3, protect={"Disease": ["HIV", "Cancer"]})
    assert model.claim() == {
        "k": 5,
        "c": "1/3",
        "p": 3,
        "levels": "mixed",
        "stars": "counted",
        "protect": {"Disease": ("Cancer", "HIV")},
    }
    assert MODELS["KCPPrivacy"](**model.claim()) == model
    several = dataclasses.replace(model, columns={"Disease": ("D1", "D2")})
    assert MODELS["KCPPrivacy"](**several.claim()) == several
    assert not model.needs_original


def test_the_promise_in_words():
    words = KCPPrivacy(k=5, c=0.7, p=3, protect={"D": ["HIV"]}).in_words()
    assert "knows up to 3 values" in words
    assert "each as it is released or coarser, matches at least 5 persons" in words
    assert "no protected value is shown for more than 70% of the persons matched" in words
    one = KCPPrivacy(k=2, c="1/3", p=1, protect={"D": ["HIV"]}).in_words()
    assert "knows one value" in one
    assert "for more than 1/3 of the persons matched" in one
    assert "protected" not in KCPPrivacy(k=2, c=1, p=1).in_words()
