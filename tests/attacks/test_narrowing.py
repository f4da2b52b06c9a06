"""What dependent quasi-identifiers give back, against trying all values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sequester as sq
from oracles import narrowing as oracle
from sequester.attacks import Inference, Linkage, attack_tables
from sequester.attacks.context import AttackContext
from sequester.attacks.domain import Domain
from sequester.attacks.linkage import bound_of
from sequester.attacks.narrowing import Narrowing, spans_of
from sequester.hierarchies import Hierarchy
from sequester.mining.dependence import parse_labels
from sequester.privacy import KCPPrivacy, KCPrivacy

NUMBERS = {
    "sorted": {"0": "low", "1": "low", "2": "high", "3": "high", "4": "high", "low": "*", "high": "*"},
    "mixed up": {"0": "u", "3": "u", "1": "v", "4": "v", "2": "*", "u": "*", "v": "*"},
    "flat": dict.fromkeys("01234", "*"),
    "with a gap": {"0": "low", "1": "low", "low": "*", "2": "*", "3": "*", "4": "*", "(missing)": "*"},
}


def stays(rows):
    """Admissions, lengths of stay and discharges, of one person each."""
    frame = pl.DataFrame(rows, schema=["came", "stayed", "left"], orient="row").cast(pl.String)
    return frame.with_columns(who=pl.Series([str(n) for n in range(len(rows))], dtype=pl.String), n=pl.lit(1))


def table_of(frame, trees, **more):
    quasi = {name: Hierarchy.from_edges(tree.items()) for name, tree in trees.items()}
    return sq.EventTable(frame, sq.Schema("who", "n", quasi=quasi, **more))


def coarser(tree, label, steps):
    for _ in range(steps):
        label = tree.get(label, label)
    return label


@st.composite
def sums(draw):
    """Trees of three columns, and rows of which the first two add up to the third."""
    names = ("came", "stayed", "left")
    trees = {name: NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))] for name in names}
    pairs = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4))
    rows = [(a, b, a + b) for a, b in [(0, 1), (1, 2), (2, 1), (0, 0), *pairs]]
    steps = draw(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=len(rows), max_size=len(rows)))
    return trees, rows, steps


@given(sums())
@pytest.mark.kernel
def test_a_sum_leaves_what_trying_all_values_leaves(case):
    trees, rows, steps = case
    names = list(trees)
    table = table_of(stays(rows), trees)
    domain = Domain.of(table)
    narrowing = Narrowing.of(table, domain)
    coarse = [
        [coarser(trees[name], str(value), up) for name, value, up in zip(names, row, ups, strict=True)]
        for row, ups in zip(rows, steps, strict=True)
    ]
    starts = domain.starts.tolist()
    nodes = np.array(
        [[start + tree.node(cell) for start, tree, cell in zip(starts, domain.trees, event, strict=False)]
         for event in coarse],
        np.int32,
    )  # fmt: skip
    narrowed = narrowing.apply(nodes)

    def add_up(a, b, c):
        return "(missing)" in (a, b, c) or int(a) + int(b) == int(c)

    for place, (row, cells) in enumerate(zip(rows, coarse, strict=True)):
        left = oracle.left_over(cells, list(trees.values()), add_up)
        for column, name in enumerate(names):
            found = domain.trees[column].labels[int(narrowed[place, column]) - starts[column]]
            below = oracle.leaves_below(trees[name], found)
            # Never more than the truth leaves, and never coarser than what was released.
            assert left[column] <= below <= oracle.leaves_below(trees[name], cells[column])
            assert str(row[column]) in below
            others = [cell for other, cell in enumerate(cells) if other != column]
            if all(cell.isdigit() for cell in others):
                assert found == oracle.lowest_above(trees[name], left[column])


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2), st.integers(0, 2)), max_size=8))
@pytest.mark.kernel
def test_a_function_leaves_what_trying_all_values_leaves(drawn):
    trees = {
        "zip": {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y", "x": "*", "y": "*"},
        "city": {"A": "north", "B": "north", "C": "south", "north": "*", "south": "*"},
    }
    city = {"a": "A", "b": "B", "c": "C", "d": "A"}
    events = [(place, up, over) for place, up, over in [("a", 0, 1), ("b", 1, 0), ("c", 2, 1), *drawn]]
    frame = pl.DataFrame(
        {
            "who": [str(number) for number in range(len(events) + 4)],
            "n": [1] * (len(events) + 4),
            "zip": [*(place for place, *_ in events), *"abcd"],
            "city": [*(city[place] for place, *_ in events), *(city[place] for place in "abcd")],
        }
    )
    table = table_of(frame, trees)
    domain = Domain.of(table)
    narrowing = Narrowing.of(table, domain)
    assert [columns for columns, _ in narrowing.rules] == [(0, 1)]
    coarse = [
        (coarser(trees["zip"], place, up), coarser(trees["city"], city[place], over))
        for place, up, over in events
    ]
    one, other = domain.trees
    nodes = np.array([(one.node(a), len(one) + other.node(b)) for a, b in coarse], np.int32)

    def belong(place, town):
        # Nobody has ever come from e, so nobody knows where it is.
        return place == "e" or city[place] == town

    for cells, found in zip(coarse, narrowing.apply(nodes), strict=True):
        left = oracle.left_over(cells, list(trees.values()), belong)
        labels = one.labels[found[0]], other.labels[found[1] - len(one)]
        assert labels[0] == oracle.lowest_above(trees["zip"], left[0])
        if "e" not in oracle.leaves_below(trees["zip"], cells[0]):
            assert labels[1] == oracle.lowest_above(trees["city"], left[1])
        else:
            assert labels[1] == cells[1]


DAYS = ["2010-01-01", "2010-01-02", "2010-01-03", "2010-01-04", "2010-01-05", "2010-01-06"]


def hospital():
    """Dates of admission and discharge that show the length of stay, which is hidden."""
    frame = pl.DataFrame(
        {
            "who": list("abcd"),
            "n": [1] * 4,
            "came": [DAYS[0], DAYS[0], DAYS[1], DAYS[1]],
            "stayed": ["1", "4", "2", "3"],
            "left": [DAYS[1], DAYS[4], DAYS[3], DAYS[4]],
            "ill": ["HIV", "flu", "flu", "flu"],
        }
    )
    month = Hierarchy.dates(["month"])
    quasi = {"came": month, "stayed": Hierarchy.intervals(7), "left": month}
    schema = sq.Schema("who", "n", quasi=quasi, sensitive={"ill": ["HIV"]})
    table = sq.EventTable(frame, schema)
    trees = {name: table.hierarchies[name] for name in quasi}
    hidden = frame.with_columns(stayed=pl.lit("[0:6]"))
    released = sq.EventTable(
        hidden, sq.Schema("who", "n", quasi=trees, sensitive={"ill": ["HIV"]}, released=True)
    )
    return table, released


def test_fine_dates_undo_a_coarse_length_of_stay():
    table, released = hospital()
    risks = attack_tables(released, original=table, known=[1], kinds=["event"], targets=400)
    value = {risk.name: risk.value for risk in risks}
    # Of one item: the stay fits everybody, until it is worked out from the dates.
    assert value["unique_narrowed"] > value["unique"]
    assert value["marketer_narrowed"] > value["marketer"]
    back = risks[-1]
    assert (back.name, back.kind, back.value, back.interval) == ("refinement", "dependent", 1.0, (1.0, 1.0))
    assert (back.targets, back.raw.value, back.baseline) == (4, 0, 0)
    assert {risk.name for risk in risks} >= {"prosecutor_narrowed", "confidence_narrowed"}
    exact = Linkage(kind="event", known=1, narrowed=True, measure="unique").run(
        released, original=table, targets=400
    )
    raw = Linkage(kind="event", known=1, measure="unique").run(table, original=table, targets=400)
    assert exact.value == raw.value


def test_values_dealt_out_anew_give_little_back():
    table, released = hospital()
    context = AttackContext(released, table)
    assert context.narrowing is not None
    permuted = context.evidence("shuffled", narrowed=True)
    assert permuted.n_persons == 4
    # Where neighbours contradict a value it stays as it is.
    domain = context.domain
    strange = domain.cells(released.sequences)[:1].copy()
    # Who comes on the second day does not leave on the first of a stay of a week, and not in the week before.
    strange[0, 1] = domain.starts[1] + domain.trees[1].node("4")
    assert context.narrowing.apply(strange).tolist() == strange.tolist()


def test_nothing_depends_on_a_symbol():
    table = sq.EventTable(
        pl.DataFrame({"who": ["a"], "n": [1], "page": ["x"]}), sq.Schema("who", "n", symbol="page")
    )
    assert AttackContext(table, table).narrowing is None
    assert not any("narrowed" in risk.name for risk in attack_tables(table, original=table, targets=1))


def test_classes_stay_whole_and_shown_items_do_not():
    adversary = Linkage(known=1, narrowed=True)
    assert bound_of(KCPrivacy(k=4, c=0.5), adversary) == 0.25
    assert bound_of(KCPrivacy(k=4, c=0.5), Inference(known=1, narrowed=True)) == 0.5
    assert bound_of(KCPPrivacy(k=4, c=0.5, p=2), adversary) is None


def test_what_nobody_has_is_possible_all_the_same():
    frame = stays([(1, 2, 3), (8, 2, 10), (1, 9, 10), (8, 9, 17)])
    weeks = {name: Hierarchy.intervals(7) for name in ("came", "stayed", "left")}
    table = sq.EventTable(frame, sq.Schema("who", "n", quasi=weeks))
    domain = Domain.of(table)
    narrowing = Narrowing.of(table, domain)

    def narrowed(*labels):
        nodes = [
            start + tree.node(label)
            for start, tree, label in zip(domain.starts.tolist(), domain.trees, labels, strict=False)
        ]
        found = narrowing.apply(np.array([nodes], np.int32))[0].tolist()
        return tuple(domain.label(node).split("=")[1] for node in found)

    assert narrowed("1", "[0:6]", "3") == ("1", "2", "3")
    # Stays of 0 to 6 days fit the week of departure, and 2 is only the one that occurs.
    assert narrowed("8", "[0:6]", "[7:13]") == ("8", "[0:6]", "[7:13]")
    # From 0 to 12 days fit.
    assert narrowed("1", "*", "[7:13]") == ("1", "*", "[7:13]")
    assert narrowed("8", "2", "*") == ("8", "2", "10")
    assert narrowed("[7:13]", "[0:6]", "*") == ("[7:13]", "[0:6]", "*")
    assert narrowed("8", "[7:13]", "*") == ("8", "[7:13]", "*")
    assert narrowed("*", "*", "*") == ("*", "*", "*")


def test_a_range_of_which_nobody_knows_the_numbers_covers_none():
    frame = stays([(1, 2, 3), (8, 2, 10), (1, 9, 10), (8, 9, 17)])
    trees = {
        "came": Hierarchy.flat(),
        "stayed": Hierarchy.from_edges([("2", "short"), ("soon", "short"), ("9", "long")]),
        "left": Hierarchy.intervals(7),
    }
    table = sq.EventTable(frame, sq.Schema("who", "n", quasi=trees))
    domain = Domain.of(table)
    came, _, left = domain.trees
    a, b, c = domain.starts.tolist()[:3]
    event = [a + came.node("1"), b, c + left.node("[0:6]")]
    narrowed = Narrowing.of(table, domain).apply(np.array([event], np.int32))[0].tolist()
    # "soon" may be any number, and so may what is behind the star.
    assert [domain.label(node) for node in narrowed] == ["came=1", "stayed=*", "left=[0:6]"]


def test_a_star_becomes_the_range_that_its_neighbours_leave():
    frame = stays([(0, 2, 2), (1, 2, 3), (7, 1, 8), (8, 2, 10)])
    widths = {"came": 7, "stayed": [2, 14], "left": 2}
    quasi = {name: Hierarchy.intervals(width) for name, width in widths.items()}
    table = sq.EventTable(frame, sq.Schema("who", "n", quasi=quasi))
    domain = Domain.of(table)
    came, _, left = domain.trees
    a, b, c = domain.starts.tolist()[:3]
    event = [a + came.node("0"), b, c + left.node("[2:3]")]
    narrowed = Narrowing.of(table, domain).apply(np.array([event], np.int32))[0].tolist()
    assert [domain.label(node) for node in narrowed] == ["came=0", "stayed=[2:3]", "left=[2:3]"]


@pytest.mark.parametrize(
    ("labels", "reading", "spans"),
    [
        (["<20", "[20:39]", ">=40"], "number", [(-np.inf, 20), (20, 39), (40, np.inf)]),
        (["[0.5:1)", "[a:b]", "old"], "number", [(0.5, 1), (-np.inf, np.inf), (-np.inf, np.inf)]),
        (["1970-01", "1970-Q1", "1970", "1970-13"], "date", [(0, 30), (0, 89), (0, 364), (-np.inf, np.inf)]),
        (["1970-01-02"], "date", [(1, 1)]),
    ],
)
def test_what_labels_say_they_stand_for(labels, reading, spans):
    tree = Hierarchy.from_edges([(f"below {label}", label) for label in labels])
    _, lows, highs, _ = spans_of(tree, reading)
    nodes = [tree.node(label) for label in labels]
    assert [(lows[node], highs[node]) for node in nodes] == spans


def test_labels_that_are_read_one_by_one():
    assert parse_labels(["2010-01-02", "20100103", "2010-01", "soon"], "date").tolist() == pytest.approx(
        [14611, 14612, np.nan, np.nan], nan_ok=True
    )
    assert parse_labels([], "date").size == 0
