"""The papers' tables say what the papers say about them."""

from __future__ import annotations

import polars as pl
import pytest

from oracles import sequences
from sequester.datasets import PAPERS, paper
from sequester.errors import InputError


def records(table):
    """Person to events; an event is a dict of column to label."""
    out = {}
    for row in table.frame().iter_rows(named=True):
        person, _, *_ = row.values()
        out.setdefault(person, []).append({column: str(value) for column, value in row.items()})
    return list(out.values())


def contains(record, sequence, trees):
    """Itemsets in order, each in a later event than the one before; a value may be written at any level."""
    wanted = iter(sequence)
    itemset = next(wanted)
    for event in record:
        if all(value in lifted(event[column], trees[column]) for column, value in itemset.items()):
            itemset = next(wanted, None)
            if itemset is None:
                return True
    return False


def lifted(label, tree):
    return {tree.labels[node] for node in tree.ancestors(tree.node(label))}


def support(table, *sequence):
    trees = table.hierarchies()
    return [record for record in records(table) if contains(record, sequence, trees)]


def share_with(matched, disease):
    return sum(any(event["Disease"] == disease for event in record) for record in matched) / len(matched)


@pytest.mark.parametrize("name", list(PAPERS))
def test_every_table_is_whole(name):
    table = paper(name)
    frame = table.frame()
    assert frame.columns == list(table.columns)
    assert frame.null_count().sum_horizontal().item() == 0
    assert frame[table.columns[0]].n_unique() == table.persons
    for _, own in frame.group_by(table.columns[0]):
        assert own[table.columns[1]].to_list() == list(range(1, len(own) + 1))
    for column, tree in table.hierarchies().items():
        leaves = {tree.labels[node] for node in tree.leaf_nodes}
        assert set(frame[column].cast(pl.String)) <= leaves
    for column, values in table.protect.items():
        assert set(values) <= set(frame[column])
    symbols = set(frame[frame.columns[-1]].to_list())
    assert {item for pattern in table.patterns for item in pattern} <= symbols


def test_sehatkar_2014_support_of_a_generalized_itemset():
    assert len(support(paper("sehatkar-4.1"), {"AdmYr": "2009", "LOS": "[0:4)"})) == 7


def test_sehatkar_2014_figures_4_2_and_4_3():
    table = paper("sehatkar-4.1")
    assert len(support(table, {"AdmYr": "2009"}, {"ZIP": "56103"})) == 1  # S-step
    assert len(support(table, {"AdmYr": "2009", "ZIP": "56103"})) == 2  # I-step


@pytest.mark.parametrize(("stay", "n", "cancer"), [("30", 2, 1 / 2), ("35", 2, 1 / 2), ("[4:8)", 3, 2 / 3)])
def test_sehatkar_2014_example_4_1(stay, n, cancer):
    # The thesis cuts 2/3 off to 0.6.
    matched = support(paper("sehatkar-4.1"), {"AdmYr": "2009"}, {"LOS": stay})
    assert len(matched) == n
    assert share_with(matched, "Cancer") == pytest.approx(cancer)
    assert share_with(matched, "HIV") == 0


@pytest.mark.parametrize("name", ["sehatkar-4.1", "sehatkar-5.1"])
def test_sehatkar_2014_attribute_disclosure(name):
    matched = support(paper(name), {"AdmYr": "2007"}, {"AdmYr": "2011", "LOS": "3"})
    assert [record[0]["PID"] for record in matched] == ["8", "9"]
    assert share_with(matched, "HIV") == 1


@pytest.mark.parametrize(("name", "year"), [("sehatkar-4.1", "2008"), ("sehatkar-5.1", "2009")])
def test_sehatkar_2014_identity_disclosure(name, year):
    matched = support(paper(name), {"AdmYr": year}, {"ZIP": "56230"})
    assert [record[0]["PID"] for record in matched] == ["6"]


def test_sehatkar_2014_hierarchies():
    trees = paper("sehatkar-4.1").hierarchies()
    assert {name: tree.height for name, tree in trees.items()} == {"AdmYr": 3, "ZIP": 3, "DSFC": 4, "LOS": 4}
    years, stay = trees["AdmYr"], trees["LOS"]
    assert years.leaves[0] == 8
    assert years.loss[years.node("[2005:2008]")] == 4 / 8
    assert stay.leaves[0] == 364
    assert stay.leaves[stay.node("[0:12)")] == 84  # Example 6.1
    assert stay.loss[stay.node("[0:1)")] == 7 / 364  # printed as 0.003, which is 1/364
    assert stay.generalize("30", 2) == stay.generalize("35", 2) == "[4:8)"
    assert stay.generalize("8", 1) == "[1:2)"
    assert stay.labels[stay.lca(stay.node("1"), stay.node("30"))] == "[0:12)"
    assert trees["ZIP"].labels[trees["ZIP"].lca(*trees["ZIP"].nodes(["56103", "56072"]))] == "56***"


def test_sehatkar_2014_example_6_1():
    table = paper("sehatkar-5.1").frame().filter(pl.col("Disease") == "Diabetes", pl.col("LOS") <= 6)
    assert len(table) == 3
    stay = paper("sehatkar-5.1").hierarchies()["LOS"]
    likely = 7 / stay.leaves[stay.node("[0:12)")]
    assert 2 * likely + 1 == pytest.approx(1.1667, abs=1e-4)


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [("2010", "2009", "[2009:2010]"), ("2008", "2007", "[2007:2008]"), ("2010", "2011", "[2009:2012]")],
)
def test_sehatkar_2014_section_5_4_4_common_years(a, b, common):
    years = paper("sehatkar-5.3").hierarchies()["AdmYr"]
    assert years.labels[years.lca(years.node(a), years.node(b))] == common


@pytest.mark.parametrize(("pattern", "expected"), [("ace", 3), ("dfg", 4), ("dhb", 3)])
def test_gwadera_2013_motivation_support(pattern, expected):
    table = paper("gwadera-insurance")
    assert tuple(pattern) in table.patterns
    rows = ["".join(event["insurance"] for event in record) for record in records(table)]
    assert sequences.support(pattern, rows) == expected
    assert len(rows) == 9


def test_pensa_2008_figure_1():
    table = paper("pensa-figure-1")
    rows = ["".join(event["item"] for event in record) for record in records(table)]
    assert len(rows) == 10
    prefixes = {end: sum(row.startswith("BKS"[:end]) for row in rows) for end in (1, 2, 3)}
    assert prefixes == {1: 3, 2: 3, 3: 1}
    assert sum(row.startswith("A") for row in rows) == 6
    assert sorted({row for row in rows if rows.count(row) == 1}) == ["BKS", "DEJF"]


def test_bonomi_2016_taxonomy():
    table = paper("bonomi-groceries")
    tree = table.hierarchies()["item"]
    lca = {
        pair: tree.labels[tree.lca(*tree.nodes(pair))]
        for pair in [("Beer", "Wine"), ("Chips", "Cookies"), ("Beer", "Milk")]
    }
    assert lca == {("Beer", "Wine"): "Alcohol", ("Chips", "Cookies"): "Snack", ("Beer", "Milk"): "*"}
    costs = {
        kind: tree.cost(kind)[tree.node("Snack")] for kind in ("linear", "exponential", "information-loss")
    }
    assert costs == pytest.approx({"linear": 0.5, "exponential": 0.5, "information-loss": 1 / 3})
    items = "".join(event["item"] + " " for event in records(table)[0])
    assert all(" ".join(pattern) in items for pattern in table.patterns)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"one of sehatkar-4.1, .*, got 'table-1'"):
        paper("table-1")
