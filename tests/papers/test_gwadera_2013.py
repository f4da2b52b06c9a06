"""The slides of Gwadera, Gkoulalas-Divanis, Loukides (2013), with what can be computed from them."""

from __future__ import annotations

import pytest

from oracles import pattern_hiding as oracles
from oracles.sequences import frequent, support
from sequester import datasets
from sequester.methods.ph.method import PH, SBSH, Abul
from sequester.methods.ph.problem import orders_of
from sequester.mining.support import support as count
from sequester.testing import symbol_table
from sequester.utility.patterns import innocent_patterns, itemset_supports

INSURANCE = ["abcdef", "abce", "acehb", "fgceab", "dfghb", "dhbfg", "fhgb", "cdfge", "dhfgb"]
SENSITIVE = ("ace", "dfg", "dhb")
PATTERNS = [list(each) for each in SENSITIVE]
PRINTED_SBSH = ["abcdef", "bce", "acehb", "fgceab", "dfghb", "hbfg", "fhgb", "cfge", "dhfgb"]
PRINTED_PH = ["abcdef", "abec", "aechb", "fgceab", "dgfbh", "dbhgf", "fhgb", "cdgfe", "dhfgb"]
SEEDS = [f"a sentence that nobody guesses, number {number}" for number in range(6)]


@pytest.fixture(scope="module")
def insurance():
    return symbol_table(INSURANCE)


def effects(released):
    sensitive = frozenset(map(tuple, SENSITIVE))
    now, then = (innocent_patterns(symbol_table(side), sensitive, 3) for side in (released, INSURANCE))
    lost, ghosts = (
        tuple(sorted(each, key=lambda pattern: (len(pattern), pattern))) for each in (then - now, now - then)
    )
    return lost, ghosts


def rows_of(release):
    """The released rows in the order of the original."""
    names = dict(release.pseudonyms.iter_rows())
    rows = dict(release.frame.group_by("person").agg("symbol").iter_rows())
    return ["".join(rows.get(names.get(f"person {number}"), [])) for number in range(1, 10)]


def test_motivation_2_the_generator_has_the_printed_data():
    paper = datasets.PAPERS["gwadera-insurance"]
    assert paper.patterns == tuple(tuple(each) for each in SENSITIVE)
    rows = {}
    for customer, _, symbol in paper.rows:
        rows.setdefault(customer, []).append(symbol)
    assert ["".join(row) for row in rows.values()] == INSURANCE


@pytest.mark.parametrize(("pattern", "expected"), [("ace", 3), ("dfg", 4), ("dhb", 3), ("fgb", 4)])
def test_motivation_2_supports(insurance, pattern, expected):
    assert count(pattern, insurance) == support(pattern, INSURANCE) == expected


def test_motivation_3_side_effects_and_lost_itemsets_of_the_printed_deletion():
    lost, ghosts = effects(PRINTED_SBSH)
    assert ["".join(each) for each in lost] == ["ac", "ae", "db", "dg", "dh"]
    assert ghosts == ()
    scores = itemset_supports(symbol_table(PRINTED_SBSH), original=symbol_table(INSURANCE), min_support=3)
    assert scores["lost_itemsets"].value == 12
    assert scores["lost_itemsets"].bounds == (0, 48)  # 8 of them are single items


def test_contributions_2_a_lost_and_a_ghost():
    original, released = ["abcdef", "abce", "acehb", "fgceab"], ["abcdef", "cbea", "acehb", "fgceab"]
    lost, ghosts = oracles.side_effects([tuple("ace")], released, original, 3)
    assert ("a", "c") in lost
    assert ("c", "b") in ghosts


def test_contributions_3_the_printed_release_has_ghosts_and_hides_too_much():
    # The slide says "no side-effects"; computed, two patterns that nobody had are frequent (hole 6).
    lost, ghosts = effects(PRINTED_PH)
    assert lost == ()
    assert ["".join(each) for each in ghosts] == ["gf", "dgf"]
    assert [support(each, PRINTED_PH) for each in SENSITIVE] == [1, 1, 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_contributions_3_ours_has_no_lost_and_no_ghost_pattern(insurance, seed):
    release = PH(patterns=PATTERNS, min_support=3).apply(insurance, seed=seed)
    rows = rows_of(release)
    assert oracles.side_effects([*map(tuple, SENSITIVE)], rows, INSURANCE, 3) == (set(), set())
    assert [support(each, rows) for each in SENSITIVE] == [2, 2, 2]  # and not fewer (hole 6)
    assert {name: release.utility[name].value for name in ("lost_patterns", "ghost_patterns")} == {
        "lost_patterns": 0,
        "ghost_patterns": 0,
    }
    assert release.utility["deletions"].value == 0
    assert release.utility["lost_itemsets"].value == 0
    assert release.utility["kl_items"].value == 0


def test_contributions_3_a_nearer_permutation_is_preferred():
    # "PDPG minimizes Cayley distance [a, e, c] vs. [e, a, c]"
    assert oracles.cayley("ace", "aec") == 1
    assert oracles.cayley("ace", "eac") == 2


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_motivation_3_sbsh_has_three_deletions_and_five_lost(insurance, seed):
    release = SBSH(patterns=PATTERNS, min_support=3).apply(insurance, seed=seed)
    assert release.utility["deletions"].value == 3
    assert release.utility["lost_patterns"].value == 5
    assert release.utility["ghost_patterns"].value == 0
    assert release.utility["lost_itemsets"].value == 12


def test_abul_looks_at_one_pattern_after_the_other(insurance):
    release = Abul(patterns=PATTERNS, min_support=3).apply(insurance, seed=SEEDS[0])
    rows = rows_of(release)
    # The deletions for dfg also take dhb from somebody, which nobody looked for.
    assert [support(each, rows) for each in SENSITIVE] == [2, 2, 1]
    assert release.utility["deletions"].value == 3


def test_background_2_and_3_cayley_distance():
    places, distances = orders_of(3, None)
    known = {tuple(order): distance for order, distance in zip(places.tolist(), distances, strict=True)}
    assert known[1, 2, 0] == 2  # one cycle of three
    assert known[1, 0, 2] == 1
    assert (0, 1, 2) not in known


def test_methodology_3_a_pattern_constrained_permutation():
    # t = 01234, s = 123: the permutation 312 keeps 012 and avoids 214.
    assert support("012", ["03124"]) == 1
    assert support("214", ["03124"]) == 0
    assert support("214", ["02134"]) == 1


def test_background_1_positions_are_strictly_increasing():
    # Printed with <=, which would find aa in a.
    assert count("aa", symbol_table(["a"])) == 0
    assert len(frequent(INSURANCE, 3)) == 25
