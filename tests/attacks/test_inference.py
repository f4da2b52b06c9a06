"""Groups of similar protected values, by hierarchy and by rule, and what is found out about them."""

from __future__ import annotations

import polars as pl
import pytest

import sequester as sq
from sequester.attacks import Inference, Linkage, attack_tables
from sequester.attacks.inference import similar_values
from sequester.data.schema import Protect, Sensitive
from sequester.hierarchies import Hierarchy


def ills(rows, sensitive, **quasi):
    frame = pl.DataFrame(rows, schema=["who", "q", "ill"], orient="row").with_columns(n=pl.lit(1))
    trees = {"q": Hierarchy.flat(), **quasi}
    return sq.EventTable(frame, sq.Schema("who", "n", quasi=trees, sensitive=sensitive))


ROWS = [("1", "x", "flu"), ("2", "x", "cold"), ("3", "y", "gout"), ("4", "y", "none")]


def test_values_below_one_node_are_similar():
    tree = Hierarchy.from_tree({"infection": ["flu", "cold"], "gout": {}, "none": {}})
    table = ills(ROWS, {"ill": ["flu", "cold", "gout"]}, ill=tree)
    assert similar_values(table) == {"cold": "infection", "flu": "infection"}
    risks = {risk.name: risk for risk in attack_tables(table, original=table, known=(1,), kinds=["event"])}
    # Of x one in two has flu, and everybody an infection.
    assert risks["group"].value > risks["guess"].value


def test_values_of_one_rule_are_similar():
    rows = [("1", "x", "0421"), ("2", "x", "0429"), ("3", "y", "63491"), ("4", "y", "7")]
    protect = Sensitive(("ill",), Protect(values=("7",), prefix=("042",), range=("634-639",)))
    assert similar_values(ills(rows, {"ill": protect})) == {"0421": "prefix '042'", "0429": "prefix '042'"}
    assert similar_values(ills(rows, {"ill": ["0421", "0429"]})) == {}
    assert similar_values(ills(rows, {"ill": "all"})) == {}


def test_numbers_in_groups_stay_in_order():
    rows = [("1", "x", "9"), ("2", "x", "10"), ("3", "y", "90"), ("4", "y", "91")]
    table = ills(rows, {"ill": "all"}, ill=Hierarchy.intervals(50))
    names = {risk.name for risk in attack_tables(table, original=table, known=(1,), targets=8)}
    assert {"group", "close"} <= names


def test_what_is_known_is_not_found_out():
    frame = pl.DataFrame(
        {
            "who": list("abcd"),
            "n": [1] * 4,
            "q": ["x"] * 4,
            "ill": ["HIV", "HIV", "none", "none"],
            "drug": ["gin", "tea", "gin", "tea"],
        }
    )
    roles = {"quasi": {"q": Hierarchy.flat()}, "sensitive": {"ill": ["HIV"], "drug": ["gin"]}}
    table = sq.EventTable(frame, sq.Schema("who", "n", **roles))

    def risk(measure):
        return Inference(kind="protected", measure=measure).run(table, original=table, targets=60)

    # Whoever has HIV drinks gin in one of two cases, and the other way round.
    assert risk("confidence").value == risk("at_risk").value == 0.5
    assert risk("guess").value == 0.5
    link = Linkage(kind="protected", measure="candidates").run(table, original=table, targets=60)
    assert link.value == 0.5
    assert link.targets == 60


def test_with_one_protected_value_there_is_nothing_left_to_find_out():
    table = ills(ROWS, {"ill": ["gout"]})
    risks = attack_tables(table, original=table, known=(1,), kinds=["protected"], targets=10)
    assert {risk.name for risk in risks} >= {"prosecutor", "absence"}
    assert not {risk.name for risk in risks} & {"confidence", "guess"}


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_what_nobody_has_is_not_known():
    table = ills(ROWS, {"ill": ["plague"]})
    risks = attack_tables(table, original=table, known=(1,), targets=4)
    assert "protected" not in {risk.kind for risk in risks}
    assert {risk.value for risk in risks if risk.name == "confidence"} == {0}


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_nobody_has_a_protected_value_outside():
    table = ills(ROWS, {"ill": ["gout", "flu"]})
    others = table.take((table.frame["who"] == "4").to_numpy())
    risk = Linkage(kind="protected").run(table, original=table, held_out=others, targets=10)
    assert risk.control.value == 0
    assert risk.value == 1
