"""The experiments of Gwadera et al. (2013), on small tables, and what the slides say of made results."""

from __future__ import annotations

from functools import partial

import polars as pl
import pytest

from oracles import pattern_hiding
from oracles.sequences import is_subsequence, support
from sequester.reproduce import DataSet, find_paper, gwadera_2013
from sequester.reproduce.gwadera_2013 import (
    BASKETS,
    CLICKS,
    KINDS,
    LONG,
    METHODS,
    PRINTED,
    choose_patterns,
    draw_forbidden,
    hide,
    made_baskets,
)
from sequester.testing import symbol_table

ROWS = ["abcd", "abcd", "abc", "acbd", "bcda", "dabc", "cab", "abd", "bd", "abcde"] * 3
PAPER = find_paper("gwadera-2013")
SMALL = DataSet(name=CLICKS, about="rows", load=partial(symbol_table, ROWS))


def test_patterns_are_chosen_over_all_ranks_of_each_length():
    table = symbol_table(ROWS)
    chosen = choose_patterns(table, 8, 5, (2, 3))
    assert sorted(map(len, chosen)) == [2, 2, 2, 3, 3]
    supports = [support(pattern, ROWS) for pattern in chosen]
    assert min(supports) >= 8
    assert supports[0] == max(supports)
    assert choose_patterns(table, 31, 5, (2, 3)) == []
    twice = symbol_table(["aab", "aab", "ab"])
    assert choose_patterns(twice, 2, 9, (2,)) == [("a", "b"), ("a", "a")]
    assert choose_patterns(twice, 2, 9, (2,), repeats=False) == [("a", "b")]


def test_a_cell_counts_patterns_that_no_permutation_hides():
    rows = DataSet(name=CLICKS, about="rows", load=partial(symbol_table, ["aba", "bab", "aab", "bba"] * 3))
    assert choose_patterns(rows.load(), 3, 6, (2, 3, 4)) == [*map(tuple, ("ab", "bb", "aab", "bba"))]
    (row,) = hide(rows, 3, 6, 0, "SBSH")
    assert (row["hidden"], row["with_repeats"], row["reversals"]) == (4, 3, 0)
    (row,) = hide(rows, 3, 6, 0, "SBSH", "no item twice")
    assert (row["hidden"], row["with_repeats"], row["reversals"]) == (2, 0, 2)


def test_forbidden_are_orders_that_nobody_has():
    table = symbol_table(["ab", "ac"])
    all_of_them = draw_forbidden(table, [("a", "b", "c")], 100)
    assert all_of_them
    assert all(not is_subsequence(order, row) for row in ("ab", "ac") for order in all_of_them)
    assert len(draw_forbidden(table, [("a", "b", "c")], 50)) == round(len(all_of_them) / 2)
    assert draw_forbidden(table, [("a", "b", "c")], 0) == []


@pytest.mark.parametrize("name", METHODS)
def test_a_cell_counts_side_effects_as_the_definition_does(name, monkeypatch):
    seen = {}
    kept = METHODS[name].evaluate

    def evaluate(self, outcome, table, **how):
        seen["rows"] = ["".join(row) for row in outcome.sequences.to_rows()]
        return kept(self, outcome, table, **how)

    monkeypatch.setattr(METHODS[name], "evaluate", evaluate)
    (row,) = hide(SMALL, 8, 3, 0, name)
    secrets = choose_patterns(symbol_table(ROWS), 8, 3, (2, 3, 4))
    lost, ghosts = pattern_hiding.side_effects(secrets, seen["rows"], ROWS, 8, 5)
    assert (row["lost"], row["ghosts"], row["hidden"]) == (len(lost), len(ghosts), len(secrets))
    assert row["seconds"] >= 0


def test_the_plan_has_every_method_once_where_nothing_is_forbidden(monkeypatch):
    tables = {"clicks": ROWS, "baskets": ROWS[:10]}
    monkeypatch.setattr(gwadera_2013, "made_clicks", lambda _: symbol_table(tables["clicks"]))
    monkeypatch.setattr(gwadera_2013, "made_baskets", lambda *_: symbol_table(tables["baskets"]))
    plan = gwadera_2013.plan(None, design="quick")
    long_rows = [cell.parameters for cell in plan.cells if cell.parameters["data"] == LONG]
    assert [(each["method"], each["forbidden"]) for each in long_rows] == [
        ("PH", 0),
        (PRINTED, 0),
        ("SBSH", 0),
        ("Abul", 0),
        ("PH", 30),
    ]
    assert len(plan.sources) == 3
    assert len(plan.cells) == 2 * 2 * 4 + 4 + 5


def test_baskets_are_rows_of_items():
    table = made_baskets(50, 3.0, 40)
    assert table.n_persons == 50
    assert table.symbol == "item"


def results(better):
    """A table in which PH is `better` than SBSH, or worse."""
    rows = []
    for data, forbidden, kind in (
        (CLICKS, 0, KINDS[0]),
        (CLICKS, 0, KINDS[1]),
        (BASKETS, 0, KINDS[0]),
        (LONG, 0, KINDS[0]),
        (LONG, 30, KINDS[0]),
    ):
        for method in METHODS:
            if method != "PH" and forbidden:
                continue
            good = (METHODS[method] is METHODS["PH"]) == better
            rows.append(
                {
                    "data": data,
                    "min_support": 10,
                    "patterns": 10,
                    "forbidden": forbidden,
                    "kind": kind,
                    "hidden": 10,
                    "with_repeats": 0,
                    "reversals": 2,
                    "deletions": 0.0,
                    "method": method,
                    "side_effects": 10.0 if good else 20.0,
                    "ghost_share": 0.0 if good else 0.1,
                    "lost_itemset_share": 0.0 if good else 0.1,
                    "kl_items": 0.1 if good else 1.0,
                    "kl_itemsets": 0.1 if good else 1.0,
                    "seconds": (2.0 if method == "PH" else 1.0)
                    if better
                    else (9.0 if method == "PH" else 1.0),
                }
            )
    return {"hidden": pl.DataFrame(rows)}


def test_claims_agree_where_permutation_wins():
    found = PAPER.claims(results(better=True))
    assert len(found) == 8
    assert all(claim.verdict == "agrees" for claim in found)
    assert "10 side effects beside 20 of SBSH, 50% fewer" in found[0].measured


def test_claims_say_why_where_it_does_not():
    found = PAPER.claims(results(better=False))
    assert not any(claim.verdict == "agrees" for claim in found)
    assert all(claim.why for claim in found)


def test_every_figure_is_of_the_one_table():
    assert {drawing.table for drawing in PAPER.drawings} == {"hidden"}
    assert len({drawing.name for drawing in PAPER.drawings}) == len(PAPER.drawings) == 8
