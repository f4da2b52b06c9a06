"""A column that is a quasi-identifier and sensitive: what is above a protected value is known.

Releases are read as the definition says, with the values that persons really have: what a suppressed or
generalized cell no longer shows counts, too.
"""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import kc, kcp
from sequester.data.schema import Schema, Sensitive
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, CBLDABaseline, GloGen

ENGINE = LocalEngine(threads=1, shards=1)
SEED = "a sentence that nobody guesses"
TREES = {
    "a sibling": {"h": "X", "a": "X", "b": "Y", "c": "Y", "X": "*", "Y": "*"},
    "alone under its parent": {"h": "X", "a": "Y", "b": "Y", "c": "*", "X": "*", "Y": "*"},
    "deep": {"h": "x", "a": "x", "b": "X", "x": "X", "X": "*", "c": "*"},
    "alone and deep": {"h": "x", "x": "X", "a": "X", "X": "*", "b": "Y", "c": "Y", "Y": "*"},
    "two protected": {"h": "x", "i": "x", "a": "X", "x": "X", "X": "*", "b": "*", "c": "*"},
    "flat": {"h": "*", "a": "*", "b": "*"},
}
OTHER = {"r": "R", "s": "R", "t": "*", "R": "*"}
"""The tree of a column that is a quasi-identifier alone."""


def leaves(tree):
    return sorted(set(tree) - set(tree.values()))


@st.composite
def cases(draw, *, most_persons=9):
    """Persons as lists of events, the tree, what is protected, and whether there is an attribute more."""
    tree = TREES[draw(st.sampled_from(sorted(TREES)))]
    protect = {each for each in ("h", "i") if each in tree and (each == "h" or draw(st.booleans()))}
    event = st.tuples(st.sampled_from(leaves(tree)), st.sampled_from("rst"), st.sampled_from("vw"))
    persons = draw(st.lists(st.lists(event, min_size=1, max_size=2), min_size=3, max_size=most_persons))
    # Few different histories, or everything is suppressed.
    persons += [draw(st.sampled_from(persons)) for _ in range(draw(st.integers(0, 6)))]
    return persons, tree, protect, draw(st.booleans())


def event_table(persons, tree, protect, two):
    rows = [
        {"who": f"p{number}", "n": place, "Q": q, "R": r, "E": e}
        for number, person in enumerate(persons)
        for place, (q, r, e) in enumerate(person)
    ]
    quasi = {"Q": Hierarchy.from_edges(tree.items()), "R": Hierarchy.from_edges(OTHER.items())}
    sensitive = {"Q": sorted(protect)} | ({"E": Sensitive(("E",), ["v"])} if two else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return EventTable(
            pl.DataFrame(rows).drop(() if two else "E"),
            Schema(person="who", order="n", quasi=quasi, sensitive=sensitive),
        )


def run(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, seed=SEED, engine=ENGINE)


def as_oracle(release, persons, tree, protect, *, two, truly, **how):
    """The release with the values that it shows, or with those that persons truly have."""
    number_of = {new: int(old[1:]) for old, new in release.pseudonyms.select("person", "pseudonym").rows()}
    shown = []
    for (name,), events in release.frame.group_by("person", maintain_order=True):
        own = {
            "Q": {q for q, _, _ in persons[number_of[name]]},
            "E": {e for _, _, e in persons[number_of[name]]},
        }
        shown.append(
            [
                ({"Q": row["Q"], "R": row["R"]}, own if truly else {"Q": {row["Q"]}, "E": {row.get("E")}})
                for row in events.sort("order").iter_rows(named=True)
            ]
        )
    secret = {"Q": kcp.with_nodes(tree, protect)} | ({"E": {"v"}} if two else {})
    return kcp.Table(shown, {"Q": tree, "R": OTHER}, secret, both={"Q": "Q"}, **how)


@pytest.mark.parametrize("kind", ["halt", "global", "full", "ignored", "glogen"])
@given(
    case=cases(),
    k=st.integers(2, 3),
    c=st.sampled_from(["1/2", "1/3", "3/4"]),
    p=st.integers(1, 2),
    levels=st.sampled_from(["same", "mixed"]),
)
@settings(max_examples=max(settings.default.max_examples // 5, 10))
def test_what_halt_and_glogen_release_keeps_the_promise_by_definition(kind, case, k, c, p, levels):
    persons, tree, protect, two = case
    stars = "ignored" if kind == "ignored" else "counted"
    method = (
        GloGen(k=k, c=c, p=p, levels=levels)
        if kind == "glogen"
        else HALT(
            k=k,
            c=c,
            p=p,
            levels=levels,
            search="full" if kind == "full" else "greedy",
            stars=stars,
            suppression="global" if kind == "global" else "local",
        )
    )
    try:
        release = run(method, event_table(persons, tree, protect, two))
    except UnattainableError:
        return
    how = {"two": two, "levels": levels, "stars": release.model.stars}
    for truly in (True, False):
        table = as_oracle(release, persons, tree, protect, truly=truly, **how)
        assert kcp.channels(table, k, Fraction(c), p) == []
    assert release.verdict.achieved["k"] == kcp.reached(table, p)[0]
    assert release.verdict.achieved["c"] == pytest.approx(float(kcp.reached(table, p)[1]))


@given(
    case=cases(),
    k=st.integers(2, 3),
    c=st.sampled_from(["1/2", "3/4"]),
    reading=st.sampled_from(["any", "each"]),
)
@settings(max_examples=max(settings.default.max_examples // 5, 10))
def test_what_cblda_releases_keeps_the_promise_by_definition(case, k, c, reading):
    persons, tree, protect, two = case
    try:
        release = run(CBLDA(k=k, c=c, reading=reading), event_table(persons, tree, protect, two))
    except UnattainableError:
        return
    # With an event that is left out its values are: what persons truly have is what all of their events have.
    is_whole = all(len(person) == 1 for person in persons)
    for truly in (True, False)[not is_whole :]:
        table = as_oracle(release, persons, tree, protect, two=two, truly=truly)
        assert kc.violations(table, k, Fraction(c), reading) == []


# by hand

INFECTIOUS = {"infectious": ["HIV", "flu"], "other": ["gout", "cold"]}


def diagnoses(counts, tree=INFECTIOUS, protect=("HIV",)):
    labels = [label for label, n_persons in counts.items() for _ in range(n_persons)]
    frame = pl.DataFrame({"who": range(len(labels)), "n": 1, "ill": labels})
    roles = {"quasi": {"ill": Hierarchy.from_tree(tree)}, "sensitive": {"ill": list(protect)}}
    return EventTable(frame, Schema(person="who", order="n", **roles))


@pytest.mark.parametrize("n_others", [300, 30_000])
@pytest.mark.parametrize("method", [HALT(k=5, c=0.5, p=1), GloGen(k=5, c=0.5, p=1), CBLDA(k=5, c=0.5)])
def test_few_with_hiv_among_few_infectious_are_not_told(method, n_others):
    """Whoever knows "infectious" would fit 25 persons, 20 of them with HIV."""
    table = diagnoses({"flu": 5, "HIV": 20, "gout": n_others, "cold": n_others})
    release = run(method, table)
    shown = Counter(release.frame["ill"])
    n_infectious = shown["HIV"] + shown["flu"] + shown["infectious"]
    assert 2 * shown["HIV"] <= n_infectious
    assert release.verdict


def test_protected_values_stay_where_enough_others_are_beside_them():
    release = run(HALT(k=5, c=0.5, p=1), diagnoses({"flu": 20, "HIV": 20, "gout": 50, "cold": 50}))
    assert Counter(release.frame["ill"]) == {"flu": 20, "HIV": 20, "gout": 50, "cold": 50}


def test_a_protected_value_that_is_alone_below_its_parent_stays():
    tree = {"STD": ["HIV"], "other": ["gout", "cold"]}
    release = run(HALT(k=5, c=0.5, p=1), diagnoses({"HIV": 20, "gout": 50, "cold": 50}, tree))
    assert Counter(release.frame["ill"]) == {"HIV": 20, "gout": 50, "cold": 50}
    assert release.model.protect == {"ill": ("HIV", "STD")}


def test_a_node_whose_leaves_are_all_protected_is_protected_and_what_is_above_is_not():
    tree = {"infectious": {"STD": ["HIV", "syphilis"], "flu": {}}, "other": ["gout", "cold"]}
    counts = {"HIV": 20, "syphilis": 20, "flu": 5, "gout": 50, "cold": 50}
    release = run(HALT(k=5, c=0.5, p=1), diagnoses(counts, tree, ("HIV", "syphilis")))
    assert Counter(release.frame["ill"]) == counts
    assert release.model.protect == {"ill": ("HIV", "STD", "syphilis")}
    # 20 of 45 who are infectious have one of them: that is too much.
    release = run(HALT(k=5, c=0.4, p=1), diagnoses(counts, tree, ("HIV", "syphilis")))
    assert Counter(release.frame["ill"])["HIV"] == 0


def test_protected_values_become_as_coarse_as_the_others():
    """HIV would be all that is left below STD, and those without it would stand apart as "infectious"."""
    tree = {"infectious": {"STD": ["HIV", "syphilis"], "lung": ["flu", "TB"]}, "other": ["gout", "cold"]}
    counts = {"HIV": 2, "syphilis": 1, "flu": 1, "TB": 4, "gout": 3, "cold": 3}
    release = run(GloGen(k=4, c=0.5, p=1), diagnoses(counts, tree))
    assert Counter(release.frame["ill"]) == {"infectious": 8, "other": 6}


@pytest.mark.parametrize("rows", ["abcccc", "abcd", "aabbccdd", "ababcdcdcdcd"])
@pytest.mark.parametrize("method", [CBLDA, CBLDABaseline])
@pytest.mark.parametrize("reading", ["any", "each"])
def test_a_class_that_shows_a_node_with_protected_leaves_alone_counts_it(rows, method, reading):
    """Each protected value is below c, and the node above both would not be."""
    tree = Hierarchy.from_tree({"A": ["a", "b"], "C": ["c", "d"]})
    frame = pl.DataFrame({"who": range(len(rows)), "n": 1, "ill": list(rows)})
    table = EventTable(frame, Schema("who", "n", quasi={"ill": tree}, sensitive={"ill": ["a", "b"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        release = method(k=2, c=0.5, reading=reading).apply(table, seed=SEED, engine=ENGINE)
    assert release.verdict
    assert not {"a", "b", "A"} & set(release.frame["ill"])
