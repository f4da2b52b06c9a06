"""The thesis' running example of CBLDA: Tables 5.3 to 5.4, and Figures 5.2 to 5.4 with their misprints."""

from __future__ import annotations

import math
import warnings

import polars as pl
import pytest

from oracles import cblda as oracle
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import paper
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA
from sequester.privacy import KCPrivacy


def printed():
    example = paper("sehatkar-5.3")
    schema = Schema(person="PID", order="VID", quasi=example.hierarchies(), sensitive={"Diagnosis": ["HIV"]})
    return EventTable(example.frame(), schema)


def plain(unit=0):
    """The same, for the plain algorithm: persons 1 to 5 are 0 to 4."""
    example = paper("sehatkar-5.3")
    trees = [
        {tree.labels[node]: tree.labels[tree.parent[node]] for node in range(1, len(tree))}
        for tree in example.hierarchies().values()
    ]
    persons = [[] for _ in range(5)]
    for pid, _, year, stay, _ in example.rows:
        persons[pid - 1].append((str(year), str(stay)))
    return oracle.Rules(trees, 2, 0.4, unit=unit), persons


@pytest.fixture(scope="module")
def release():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return CBLDA(k=2, c=0.4).apply(printed(), seed="a sentence that nobody guesses")


def test_table_5_3_becomes_table_5_4(release):
    """Events are numbered anew (hole 1), and the root is called *; the thesis calls it [2005:2012]."""
    who = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    rows = [(who[row[0]], *row[1:]) for row in release.frame.iter_rows()]
    assert sorted(rows) == [
        ("1", 1, "[2009:2010]", "[0:1)", "Hepatitis"),
        ("2", 1, "[2009:2010]", "[0:1)", "Infection"),
        ("3", 1, "*", "[0:1)", "Diabetes"),
        ("3", 2, "[2009:2012]", "[0:1)", "Infection"),
        ("4", 1, "*", "[0:1)", "Infection"),
        ("4", 2, "[2009:2012]", "[0:1)", "ulcer"),
        ("5", 1, "*", "[0:1)", "Hepatitis"),
        ("5", 2, "[2009:2012]", "[0:1)", "HIV"),
    ]
    assert release.verdict.achieved == {"k": 2, "c": 1 / 3}


def test_hole_1_visit_numbers_as_printed_would_tell_person_4(release):
    """With VID 2, 3 for person 4 and 1, 2 for the others, person 4 stands alone, and {3, 5} has HIV 1/2."""
    visits = {"3": [1, 2], "4": [2, 3], "5": [1, 2], "1": [1], "2": [1]}
    who = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    numbers = [
        str(visits[who[name]][order - 1])
        for name, order in release.frame.select("person", "order").iter_rows()
    ]
    frame = release.frame.with_columns(VID=pl.Series(numbers))
    trees = {name: Hierarchy.from_frame(tree) for name, tree in release.hierarchies.items()}
    schema = Schema(
        person="person",
        order="order",
        quasi={**trees, "VID": Hierarchy.flat()},
        sensitive={"Diagnosis": ["HIV"]},
        released=True,
    )
    verdict = KCPrivacy(k=2, c=0.4).check(EventTable(frame, schema))
    assert verdict.achieved == {"k": 1, "c": 0.5}
    assert verdict.violations == 2


def as_printed():
    """The same with 0.003 for a stay in one week, as in the figures: a week as one leaf of 364, cut off."""
    rules, persons = plain(unit=364_000)
    rules.worths[1]["[0:1)"] = 364_000 - 1_092
    return rules, persons


@pytest.mark.parametrize(("made", "cost"), [(as_printed, 4.006), (plain, 4 + 2 * 7 / 364)])
def test_figure_5_2_costs_of_aligning_3_and_4(made, cost):
    """4.006 as the figure counts, 4.038 with seven leaves of a week."""
    rules, persons = made()
    saving, pairs = oracle.align(rules, persons[2], persons[3])
    loss = oracle.kill(rules, persons[2]) + oracle.kill(rules, persons[3]) - 2 * saving
    assert loss / rules.unit == pytest.approx(cost)
    assert len(pairs) == 2


def test_figure_5_3_the_third_event_is_suppressed_beside_the_first():
    """M[1][3] is printed D; its own score (4; 2) is that of H."""
    rules, persons = plain()
    scores = [oracle.align(rules, persons[2][:1], persons[3][:n])[0] for n in (1, 2, 3)]
    assert scores[1] == scores[2]
    diagonal = oracle.saving(rules, persons[2][0], persons[3][2])
    assert diagonal <= scores[2]


@pytest.mark.parametrize(
    ("one", "other", "distance", "with_cut_log"),
    [
        (1, 2, 1.681, 1.687),
        (1, 3, 8.325, 8.353),
        (2, 3, 6.664, 6.687),
        (3, 4, 13.308, 13.353),
        (3, 5, 5.023, 5.04),
        (1, 4, 13.288, 13.333),
        (2, 4, 13.288, 13.333),
        (2, 5, 9.986, 10.02),
    ],
)
def test_figure_5_4_distances(one, other, distance, with_cut_log):
    """Eq. 5.8 with log10; the figure cuts log10(2) to 0.30, prints 13 for 13.33, and 10.2 for 10.02."""
    rules, persons = as_printed()
    pair = oracle.single(one, persons[one - 1]), oracle.single(other, persons[other - 1])
    loss = oracle.extra(rules, *pair) / rules.unit
    assert oracle.distance(rules, *pair) == pytest.approx(loss * rules.unit / math.log(2))
    assert round(loss / math.log10(2), 3) == distance
    assert round(loss / 0.30, 3) == with_cut_log


def test_the_order_of_merges_is_that_of_section_5_4_4():
    rules, persons = plain()
    risks = [[set() for _ in events] for events in persons]
    risks[4][1] = {"HIV"}
    clusters = [oracle.single(m, events) for m, events in enumerate(persons)]
    merges, finished, rest = oracle.agglomerate(rules, risks, clusters, {*range(5)})
    assert merges == [(0, 1), (2, 4), (2, 3)]
    assert [each.members for each in finished] == [[0, 1], [2, 4, 3]]
    assert not rest
