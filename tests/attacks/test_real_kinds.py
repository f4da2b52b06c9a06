"""Every kind of knowledge on claims of Medicare: whom it fits is what a plain group-by or loop finds."""

from __future__ import annotations

import polars as pl
import pytest

import sequester as sq
from sequester.attacks import attack_tables
from sequester.attacks.pieces import kinds_for
from sequester.attacks.world import World
from sequester.datasets import desynpuf
from sequester.hierarchies import Hierarchy

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def frame(shared_data):
    claims = desynpuf.table(
        [shared_data / "desynpuf" / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"]
    )
    return claims.drop("claim", "sample")


@pytest.fixture(scope="module")
def table(frame):
    quasi = {
        "admission": Hierarchy.dates(["month", "year"]),
        "discharge": Hierarchy.dates(["month", "year"]),
        "LOS": Hierarchy.intervals([7, 28]),
        "DSFC": Hierarchy.intervals([30]),
    }
    sensitive = {"diagnosis": desynpuf.PROTECTED, "payment": ["26000", "57000", "0"]}
    return sq.EventTable(frame, sq.Schema("PID", time="admission", quasi=quasi, sensitive=sensitive))


@pytest.fixture(scope="module")
def world(table):
    return World.of(table, table, targets=300)


def pieces_of(world, kind, known):
    """Each piece, as labels by column, with the size of its crowd in the original."""
    found = world.find(kind, known).raw
    for place, (nodes, size) in enumerate(zip(found.pieces.nodes, found.crowds.sizes, strict=True)):
        yield place, [tuple(world.ground.label(node).split("=", 1)) for node in nodes if node >= 0], int(size)


def test_all_kinds_are_there_and_true_of_somebody(table, world):
    kinds = kinds_for(table, world.ground)
    assert len(kinds) == 12
    for kind in kinds:
        for known in (1, 3):
            found = world.find(kind, known)
            assert len(found.raw.pieces) == 300
            assert (found.raw.crowds.sizes > 0).all(), kind


def test_number_of_events(frame, table, world):
    lengths = frame.group_by("PID").len()["len"].value_counts().sort("len")
    expected = dict(lengths.iter_rows())
    pieces = world.find("count", 1).raw
    assert pieces.crowds.sizes.tolist() == [expected[n] for n in pieces.pieces.n_events.tolist()]


def test_never(frame, world):
    found = world.find("negative", 1).raw
    n_persons = frame["PID"].n_unique()
    for place, never in enumerate(found.pieces.never.tolist()[:60]):
        column, label = world.ground.label(never).split("=", 1)
        tree = world.ground.trees[world.ground.columns.index(column)]
        node = tree.node(label)
        leaves = [tree.labels[each] for each in range(node, int(tree.subtree_end[node]))]
        with_it = frame.filter(pl.col(column).cast(pl.String).is_in(leaves))["PID"].n_unique()
        assert found.crowds.sizes[place] == n_persons - with_it


@pytest.mark.parametrize("kind", ["sensitive", "protected"])
def test_sensitive_values(frame, table, world, kind):
    protected = {name: table.protected[name] for name in ("diagnosis", "payment")}
    seen = set()
    for _, items, size in pieces_of(world, kind, 1):
        ((column, label),) = items
        seen.add(column)
        assert (label in protected[column]) == (kind == "protected")
        assert size == frame.filter(pl.col(column).cast(pl.String) == label)["PID"].n_unique()
    assert seen == {"diagnosis", "payment"}


def test_values_of_one_event_and_of_any(frame, world):
    texts = frame.with_columns(pl.all().cast(pl.String))
    for _, items, size in pieces_of(world, "event", 2):
        here = pl.all_horizontal(pl.col(column) == label for column, label in items)
        assert size == texts.filter(here)["PID"].n_unique()
    for _, items, size in pieces_of(world, "anywhere", 2):
        persons = [set(texts.filter(pl.col(column) == label)["PID"]) for column, label in items]
        assert size == len(set.intersection(*persons))


def test_order_and_days_between(frame, world):
    """Ordered, directly after each other, coarser, and so many days later, on some pieces by a loop."""
    histories = [
        [{**row, "day": row["admission"].toordinal()} for row in person.iter_rows(named=True)]
        for _, person in frame.sort("PID", "admission", maintain_order=True).group_by(
            "PID", maintain_order=True
        )
    ]
    parents = {
        column: {label: tree.ancestors(tree.node(label)) for label in tree.labels}
        for column, tree in zip(world.ground.columns[:4], world.ground.trees, strict=False)
    }

    def fits(event, item):
        column, label = item
        tree = world.ground.trees[world.ground.columns.index(column)]
        own = str(event[column])
        return own == label or tree.node(label) in parents[column][own]

    def holds(history, items, is_apart):
        return any(
            fits(first, items[0]) and fits(second, items[1]) and is_apart(i, j, first, second)
            for i, first in enumerate(history)
            for j, second in enumerate(history[i + 1 :], start=i + 1)
        )

    for kind in ("ordered", "consecutive", "generalized", "mixed", "gaps"):
        days = world.find(kind, 2).raw.pieces.days
        two = [(place, items, size) for place, items, size in pieces_of(world, kind, 2) if len(items) == 2]
        for place, items, size in two[:12]:
            gap = int(days[place, 1] - days[place, 0])

            def is_apart(i, j, first, second, kind=kind, gap=gap):
                if kind == "consecutive":
                    return j == i + 1
                return kind != "gaps" or second["day"] - first["day"] == gap

            assert size == sum(holds(history, items, is_apart) for history in histories), kind


def test_dates_give_lengths_of_stay_back(frame, table):
    """A release that hides the length of stay by the week, beside exact dates, hides nothing."""
    # Days that were paid for are others in some claims, so the stay is counted here.
    days = (pl.col("discharge") - pl.col("admission")).dt.total_days()
    table = sq.EventTable(frame.with_columns(LOS=days), table.schema)
    weeks = table.hierarchies["LOS"]
    labels = [weeks.generalize(label, 1) for label in table.frame["LOS"]]
    coarse = table.frame.with_columns(LOS=pl.Series(labels), payment=pl.col("payment").cast(pl.String))
    schema = sq.Schema(
        "PID",
        time="admission",
        quasi=dict(table.hierarchies),
        sensitive={name: sorted(table.protected[name]) for name in table.protected},
        released=True,
    )
    released = sq.EventTable(coarse, schema)
    risks = attack_tables(released, original=table, kinds=["event"], known=[1], targets=300)
    found = {risk.name: risk for risk in risks}
    assert found["given_back"].value == 1
    assert found["marketer_narrowed"].value == pytest.approx(found["marketer"].raw.value)
    assert found["marketer"].value < found["marketer"].raw.value
