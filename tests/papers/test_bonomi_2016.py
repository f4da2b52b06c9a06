"""The paper's examples as corrected in its specification, its lemma and theorem, and the holes in it."""

from __future__ import annotations

import warnings
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from methods.mutual_information.cases import FOOD, TREES, Case, cases, released_rows, table_of, taxonomy
from oracles import mutual_information as oracles
from sequester.data.sequences import Sequences
from sequester.errors import SequesterWarning
from sequester.methods.mutual_information._kernels import generalize_alike
from sequester.methods.mutual_information.algorithm import costs_by_depth
from sequester.methods.mutual_information.method import BottomUp, TopDown
from sequester.privacy import MutualInformationPrivacy
from sequester.privacy.mutual_information import measure_leakage

FOOD_TREE = taxonomy(FOOD)


def leakage(original, released, patterns, window, measure="paper"):
    found = measure_leakage(
        Sequences.from_rows([released]), Sequences.from_rows([original]), patterns, window=window
    )
    return float(found.by_length(measure)[1].sum())


# the printed examples


def test_the_example_of_definition_1_counts_two_occurrences():
    found = measure_leakage(
        Sequences.from_rows(["aab"]), Sequences.from_rows(["aab"]), [("a", "b")], window=2
    )
    assert found.occurrences.tolist() == [[2]]


def test_example_1_two_patterns_look_like_alcohol_and_anything():
    row = ("Beer", "Chips", "Wine", "Cheese", "Cookies", "Milk")
    released = ("Alcohol", "*", "Alcohol", "*", "*", "*")
    patterns = [("Beer", "Chips"), ("Wine", "Cheese"), ("Cookies", "Milk")]
    found = measure_leakage(Sequences.from_rows([released]), Sequences.from_rows([row]), patterns, window=1)
    # Of the two (Alcohol, *) one is each; of the two (*, *) one is the third.
    assert dict(zip(found.patterns, found.posterior[:, 0].tolist(), strict=True)) == dict.fromkeys(
        patterns, 0.5
    )


@pytest.mark.parametrize(
    ("cost", "snack"), [("linear", 0.5), ("exponential", 0.5), ("information-loss", pytest.approx(1 / 3))]
)
def test_example_2_the_root_costs_1_and_snack_less(cost, snack):
    """Printed as 0.8, which is a cost set by the user."""
    assert costs_by_depth(FOOD_TREE, ["Cookies"], cost)[0].tolist() == [1.0, snack, 0.0]


def test_example_2_as_printed_is_a_table_of_the_user():
    table = {leaf: {FOOD[leaf]: 0.8 if leaf == "Cookies" else 0.5, "*": 1.0} for leaf in oracles.leaves(FOOD)}
    assert costs_by_depth(FOOD_TREE, ["Cookies"], table)[0].tolist() == [1.0, 0.8, 0.0]


def test_example_3_cookies_and_chips_are_refined_together():
    """Below the root one block per child; refining Cookies takes Chips along and nobody else."""
    row = ["Cookies", "Chips", "Milk", "Wine", "Beer", "Cheese"] * 4
    rows = released_rows(
        TopDown(patterns=[["Cookies", "Chips"]], window=1, max_leakage=0.2, search="greedy"),
        table_of([row], FOOD),
    )
    nodes = dict(zip(row, rows[0], strict=True))
    assert nodes["Cookies"] == nodes["Chips"]


def lcgp(tree, left, right):
    """Two patterns of labels, as Algorithm 2 generalizes them."""
    target = np.full(len(tree), -1, np.int32)
    codes = [tree.nodes(side) for side in (left, right)]
    generalize_alike(*codes, len(left), tree.parent, tree.depth, target)
    answers = [tuple(tree.labels[target[node]] for node in side) for side in codes]
    assert answers[0] == answers[1]
    return answers[0]


def test_example_4_least_common_generalized_patterns():
    """Printed once as h1(Cereal); Cookies is meant."""
    assert lcgp(FOOD_TREE, ("Beer", "Chips"), ("Milk", "Cookies")) == ("*", "Snack")
    assert lcgp(FOOD_TREE, ("Beer", "Chips"), ("Wine", "Beer")) == ("*", "*")


# Lemma 1 and Theorem 2


@given(cases(weighted=False), st.sampled_from(["paper", "exact"]), st.data())
def test_lemma_1_refining_a_block_never_leaks_less(case, measure, data):
    """For blocks as Top-Down moves them: all symbols on a node and below one child, from a cut downwards."""
    tree = case.tree
    h = dict.fromkeys(oracles.leaves(tree), "*")
    before = leakage(case.row, oracles.generalize(case.row, h), case.patterns, case.window, measure)
    for _ in range(4):
        movable = [a for a in h if h[a] != a]
        if not movable:
            break
        a = data.draw(st.sampled_from(movable))
        above = oracles.path(tree, a)
        child = above[above.index(h[a]) - 1]
        h |= {b: child for b in h if h[b] == h[a] and child in oracles.path(tree, b)}
        after = leakage(case.row, oracles.generalize(case.row, h), case.patterns, case.window, measure)
        assert after >= before - 1e-12
        before = after


@st.composite
def pairs(draw):
    tree = TREES[draw(st.sampled_from(sorted(TREES)))]
    symbols = oracles.leaves(tree)
    length = draw(st.integers(1, 3))
    sides = [tuple(draw(st.sampled_from(symbols)) for _ in range(length)) for _ in range(2)]
    return tree, *sides, {a: draw(st.integers(0, 4)) for a in symbols}


@given(pairs(), st.sampled_from(["information-loss", "linear", "exponential"]))
def test_theorem_2_no_common_generalization_is_cheaper(pair, cost):
    tree, left, right, counts = pair
    generalized = lcgp(taxonomy(tree), left, right)
    price = oracles.cost_functions(tree)[cost]
    chosen = {a: node for side in (left, right) for a, node in zip(side, generalized, strict=True)}
    assert generalized == tuple(oracles.lcgp(tree, left, right)[a] for a in left)
    assert sum(price(a, node) * counts[a] for a, node in chosen.items()) == oracles.cheapest_common(
        tree, left, right, price, counts
    )


# the holes


def test_hole_1_what_looks_perfect_tells_everything():
    """a and b on the root: only sensitive pairs look like (*, *), so the release tells all it did."""
    row, patterns = "abxyxyabxyyxabyxxyab", [("a", "b"), ("b", "a")]
    released = row.replace("a", "*").replace("b", "*")
    entropy = leakage(row, row, patterns, 3)
    assert entropy == pytest.approx(0.278, abs=5e-4)
    assert leakage(row, released, patterns, 3) == pytest.approx(entropy)
    found = measure_leakage(
        Sequences.from_rows([released]), Sequences.from_rows([row]), [("a", "b")], window=3
    )
    places = oracles.index_tuples(len(row), 2, 3)
    assert sum(oracles.spelled(row, each) == ("a", "b") for each in places) / len(places) == pytest.approx(
        0.07, abs=0.01
    )
    assert found.posterior.tolist() == [[1.0]]
    assert not MutualInformationPrivacy(sensitive=frozenset(patterns), window=3).check(
        Sequences.from_rows([released]), original=Sequences.from_rows([row])
    )
    tree = {**dict.fromkeys("ab", "A"), **dict.fromkeys("xy", "X"), "A": "*", "X": "*"}
    case = Case(row, patterns, tree, 3, "linear", {"share": 0.5})
    assert case.is_private(case.release(TopDown))


RARE = {**dict.fromkeys("ab", "A"), **dict.fromkeys("xy", "X"), "A": "*", "X": "*"}


def test_hole_2_an_average_lets_a_rare_pattern_pass_and_says_so():
    row, patterns = "ab" * 12 + "xy" + "ab" * 12, [("a", "b"), ("x", "y")]
    case = Case(row, patterns, RARE, 3, "linear", {"share": 0.5})
    for more in ({}, {"search": "optimal"}):
        released = case.release(TopDown, **more)
        assert released == tuple(row.replace("a", "A").replace("b", "A"))
    with pytest.warns(SequesterWarning, match="x → y is released as it is"):
        release = TopDown(**case.parameters()).apply(case.table())
    assert any("an average" in line for line in release.limits)


def test_hole_2_the_worst_case_bound_hides_the_rare_pattern_too():
    row, patterns = "ab" * 12 + "xy" + "ab" * 12, [("a", "b"), ("x", "y")]
    case = Case(row, patterns, RARE, 3, "linear", {"share": 0.5, "worst_case": True})
    released = case.release(TopDown)
    assert "xy" not in "".join(released)
    assert case.is_private(released)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SequesterWarning)
        release = TopDown(**case.parameters()).apply(case.table())
    assert not any("an average" in line for line in release.limits)


def test_hole_8_places_without_a_secret_pattern_tell_as_well():
    """Equation 2 has no term for them: 90 a and 10 b pass a bound of 0.15 bits, and tell 0.47."""
    row, tree = "a" * 90 + "b" * 10, {"a": "A", "b": "A", "c": "*", "A": "*"}
    for method in (TopDown, BottomUp):
        for more in ({}, {"search": "greedy"}, {"search": "optimal"}, {"scope": "local"}):
            for worst_case in (False, True):
                bound = {"bits": 0.15, "worst_case": worst_case}
                exact = Case(row, [("a",)], tree, 1, "linear", {**bound, "measure": "exact"})
                released = exact.release(method, **more)
                assert released != tuple(row)
                assert exact.is_private(released)
                paper = Case(row, [("a",)], tree, 1, "linear", {**bound, "measure": "paper"})
                assert paper.release(method, **more) == tuple(row)


def test_hole_3_patterns_of_different_lengths_end_and_keep_a_bound_each():
    case = Case("abcabdabcd", [("a", "b"), ("a", "b", "c")], TREES["two levels"], 3, "linear", {"share": 0.3})
    for method in (TopDown, BottomUp):
        assert case.is_private(case.release(method))


def test_hole_3_a_sum_over_lengths_is_no_entropy():
    row = "abc" * 5
    terms = oracles.terms(row, row, [("a", "b"), ("b", "c"), ("a", "b", "c"), ("b", "c", "a")], 4)
    assert sum(terms.values()) > log2(4) * max(oracles.by_length(terms).values()) / 2
    assert set(oracles.by_length(terms)) == {2, 3}


@pytest.mark.parametrize("method", [TopDown, BottomUp])
def test_hole_4_another_name_for_one_symbol_hides_nothing(method):
    """a lies alone below A: a search for "ab" finds nothing in "AbcAb", and everything leaks."""
    tree, row = TREES["alone below its node"], "abcab"
    renamed = "AbcAb"
    assert leakage(row, renamed, [("a", "b")], 1) == leakage(row, row, [("a", "b")], 1)
    case = Case(row, [("a", "b")], tree, 1, "linear", {"share": 0.5})
    assert not case.is_private(tuple(renamed))
    assert case.is_private(case.release(method))


def test_hole_5_the_distance_of_a_generalized_pattern_to_itself_is_not_zero():
    price = oracles.cost_functions(FOOD)["linear"]
    merged = oracles.lcgp(FOOD, ("Alcohol",), ("Alcohol",))
    assert sum(price(a, merged["Alcohol"]) for a in ("Beer", "Wine")) > 0


def test_hole_6_top_down_may_release_a_node_beside_the_root_above_it():
    """It is not restricted to cuts: A and the root stand in one release, and C below it is not used."""
    groups = {**dict.fromkeys("ab", "A"), **dict.fromkeys("cd", "B"), **dict.fromkeys("ef", "C")}
    tree = {**groups, **dict.fromkeys("ABC", "*")}
    bound = {"share": 0.5, "measure": "paper"}
    case = Case("ccafefaeb", [("a", "a"), ("e", "b")], tree, 2, "linear", bound)
    assert case.release(TopDown, search="greedy") == tuple("**A***A*A")


@pytest.mark.parametrize("method", [TopDown, BottomUp])
def test_hole_7_limits_name_what_the_attacker_may_not_know(method):
    case = Case("abcdabcd", [("a", "b")], TREES["two levels"], 2, "linear", {"share": 0.9})
    said = " ".join(method(**case.parameters()).apply(case.table()).limits)
    assert "run lengths, times of day" in said
    assert "shows where secret patterns may be" in said
    assert "occurs, and how often, is not hidden" in said
    assert "what many places tell together" in said
    assert ("by the paper's measure" in said) == (case.bound.get("measure") == "paper")
