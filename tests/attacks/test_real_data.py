"""On real data the candidate sets are those that a plain group-by or counter finds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import polars as pl
import pytest

import sequester as sq
from sequester.attacks import attack_tables, expose
from sequester.attacks.background_knowledge import kinds_for
from sequester.attacks.context import AttackContext
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf
from sequester.datasets.public import load
from sequester.hierarchies.hierarchy import Hierarchy

pytestmark = pytest.mark.real


def shares(exposure):
    return [exposure.unique.value, exposure.below_5.value, exposure.below_10.value]


@pytest.fixture(scope="module")
def sepsis(shared_data):
    frame = load("sepsis", shared_data)
    drop = [name for name in frame.columns if name not in ("case_id", "timestamp", "activity")]
    return EventTable(frame, Schema("case_id", time="timestamp", symbol="activity", drop=drop))


def counted(pieces_of_persons):
    """The shares of persons with a piece that fewer than 2, 5 and 10 persons have."""
    candidates = Counter(piece for knowledge in pieces_of_persons for piece in knowledge)
    fewest = [min(candidates[piece] for piece in knowledge) for knowledge in pieces_of_persons]
    return [pytest.approx(sum(size < bound for size in fewest) / len(fewest)) for bound in (2, 5, 10)]


def test_patients_of_a_hospital_by_the_sets_and_sequences_of_their_activities(sepsis):
    found = {(each.kind, each.known): each for each in expose(sepsis)}
    rows = sepsis.sequences.to_rows()
    for known in (1, 2, 3):
        sets = [
            {piece for size in range(1, known + 1) for piece in combinations(sorted({*row}), size)}
            for row in rows
        ]
        assert shares(found["anywhere", known]) == counted(sets)
    for known in (1, 2):
        ordered = [
            {piece for size in range(1, known + 1) for piece in combinations(row, size)} for row in rows
        ]
        assert shares(found["ordered", known]) == counted(ordered)


def test_claims_of_medicare_by_the_values_of_one_event(shared_data):
    frame = desynpuf.table([shared_data / "desynpuf" / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"])
    quasi = {name: Hierarchy.flat() for name in desynpuf.QUASI}
    schema = Schema(
        "PID",
        time="admission",
        quasi=quasi,
        sensitive={"diagnosis": desynpuf.PROTECTED},
        drop=["claim", "sample"],
    )
    table = EventTable(frame, schema)
    found = {each.known: each for each in expose(table, kinds=["event"])}
    events = table.frame.select("PID", *quasi)
    fewest = None
    for known in (1, 2, 3):
        for columns in combinations(quasi, known):
            candidate_set = events.select(
                pl.col("PID").n_unique().over(columns).alias("candidate_set"), "PID"
            )
            smallest = candidate_set.group_by("PID").agg(pl.col("candidate_set").min())
            fewest = smallest if fewest is None else pl.concat([fewest, smallest])
        per_person = fewest.group_by("PID").agg(pl.col("candidate_set").min())["candidate_set"]
        expected = [(per_person < bound).mean() for bound in (2, 5, 10)]
        assert shares(found[known]) == pytest.approx(expected)
    assert found[1].confidence.targets == table.frame.filter(_is_protected(table))["PID"].n_unique()


def _is_protected(table):
    return pl.col("diagnosis").is_in(list(table.protected["diagnosis"]))


@pytest.mark.thorough
def test_a_million_visitors_are_drawn_from_and_counted_among(shared_data):
    table = EventTable(load("msnbc", shared_data), Schema("person", "order", symbol="symbol"))
    found = {(each.kind, each.known): each for each in expose(table)}
    assert {each.targets for each in found.values()} == {10_000}
    rows = table.sequences.to_rows()
    sets = [{piece for size in (1, 2, 3) for piece in combinations(sorted({*row}), size)} for row in rows]
    exact = counted(sets)
    shown = found["anywhere", 3]
    for share, value in zip((shown.unique, shown.below_5, shown.below_10), exact, strict=True):
        low, high = share.interval
        assert low <= value.expected <= high


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
def context(table):
    return AttackContext(table, table, targets=300)


def pieces_of(context, kind, known):
    """Each piece, as labels by column, with the size of its candidate set in the original."""
    found = context.find(kind, known).raw
    for place, (nodes, size) in enumerate(zip(found.knowledge.nodes, found.candidates.sizes, strict=True)):
        yield (
            place,
            [tuple(context.domain.label(node).split("=", 1)) for node in nodes if node >= 0],
            int(size),
        )


def test_all_kinds_are_there_and_true_of_somebody(table, context):
    kinds = kinds_for(table, context.domain)
    assert len(kinds) == 13
    for kind in kinds:
        for known in (1, 3):
            found = context.find(kind, known)
            assert len(found.raw.knowledge) == 300
            assert (found.raw.candidates.sizes > 0).all(), kind


def test_number_of_events(frame, table, context):
    lengths = frame.group_by("PID").len()["len"].value_counts().sort("len")
    expected = dict(lengths.iter_rows())
    knowledge = context.find("count", 1).raw
    assert knowledge.candidates.sizes.tolist() == [expected[n] for n in knowledge.knowledge.n_events.tolist()]


def test_never(frame, context):
    found = context.find("negative", 1).raw
    n_persons = frame["PID"].n_unique()
    for place, never in enumerate(found.knowledge.never.tolist()[:60]):
        column, label = context.domain.label(never).split("=", 1)
        tree = context.domain.trees[context.domain.columns.index(column)]
        node = tree.node(label)
        leaves = [tree.labels[each] for each in range(node, int(tree.subtree_end[node]))]
        with_it = frame.filter(pl.col(column).cast(pl.String).is_in(leaves))["PID"].n_unique()
        assert found.candidates.sizes[place] == n_persons - with_it


@pytest.mark.parametrize("kind", ["sensitive", "protected"])
def test_sensitive_values(frame, table, context, kind):
    protected = {name: table.protected[name] for name in ("diagnosis", "payment")}
    seen = set()
    for _, items, size in pieces_of(context, kind, 1):
        ((column, label),) = items
        seen.add(column)
        assert (label in protected[column]) == (kind == "protected")
        assert size == frame.filter(pl.col(column).cast(pl.String) == label)["PID"].n_unique()
    assert seen == {"diagnosis", "payment"}


def test_values_of_one_event_and_of_any(frame, context):
    texts = frame.with_columns(pl.all().cast(pl.String))
    for _, items, size in pieces_of(context, "event", 2):
        here = pl.all_horizontal(pl.col(column) == label for column, label in items)
        assert size == texts.filter(here)["PID"].n_unique()
    for _, items, size in pieces_of(context, "anywhere", 2):
        persons = [set(texts.filter(pl.col(column) == label)["PID"]) for column, label in items]
        assert size == len(set.intersection(*persons))


def test_order_and_days_between(frame, context):
    """Ordered, directly after each other, coarser, and so many days later, on some pieces by a loop."""
    histories = [
        [{**row, "day": row["admission"].toordinal()} for row in person.iter_rows(named=True)]
        for _, person in frame.sort("PID", "admission", maintain_order=True).group_by(
            "PID", maintain_order=True
        )
    ]
    parents = {
        column: {label: tree.ancestors(tree.node(label)) for label in tree.labels}
        for column, tree in zip(context.domain.columns[:4], context.domain.trees, strict=False)
    }

    def fits(event, item):
        column, label = item
        tree = context.domain.trees[context.domain.columns.index(column)]
        own = str(event[column])
        return own == label or tree.node(label) in parents[column][own]

    def holds(history, items, is_apart):
        return any(
            fits(first, items[0]) and fits(second, items[1]) and is_apart(i, j, first, second)
            for i, first in enumerate(history)
            for j, second in enumerate(history[i + 1 :], start=i + 1)
        )

    for kind in ("ordered", "consecutive", "generalized", "mixed", "gaps"):
        days = context.find(kind, 2).raw.knowledge.days
        two = [(place, items, size) for place, items, size in pieces_of(context, kind, 2) if len(items) == 2]
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
    assert found["refinement"].value == 1
    assert found["marketer_narrowed"].value == pytest.approx(found["marketer"].raw.value)
    assert found["marketer"].value < found["marketer"].raw.value
