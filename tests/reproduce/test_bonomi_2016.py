"""The experiments of Bonomi, Fan and Jin (2016), on short rows, and what the paper says of made results."""

from __future__ import annotations

from collections import Counter
from functools import cache

import polars as pl
import pytest

from oracles import mutual_information as oracle
from sequester.datasets.public import areas
from sequester.errors import InputError
from sequester.reproduce import DataSet, bonomi_2016, find_paper
from sequester.reproduce.bonomi_2016 import (
    ALGORITHMS,
    CLICKS,
    COSTS,
    FREQUENT,
    LOGS,
    LONG,
    ONE,
    WINDOW,
    count_evaluations,
    draw_pairs,
    draw_patterns,
    frequent_patterns,
    hide,
    hide_two,
    logs,
    long_clicks,
    pairs_of_one,
    prepare,
    preserved,
    sanitize,
    tables_by_person,
    with_all_ratios,
)

ROWS = {"ann": "1121314112" * 4 + "55", "bob": "1234512345" * 4, "cy": "12"}
TREE = areas(5, width=2)
PARENTS = {"1": "[1:2]", "2": "[1:2]", "3": "[3:4]", "4": "[3:4]", "5": "*", "[1:2]": "*", "[3:4]": "*"}


def frame_of(rows):
    pairs = [(person, symbol) for person, row in rows.items() for symbol in row]
    return pl.DataFrame(pairs, schema=["who", "what"], orient="row")


def source_of(rows):
    return DataSet(
        name=CLICKS, about="rows", load=cache(lambda: tables_by_person(frame_of(rows), "who", "what", TREE))
    )


SMALL = source_of(ROWS)


@pytest.mark.parametrize("length", [2, 3])
def test_patterns_are_drawn_from_those_that_are_frequent_by_definition(length):
    for person, row in enumerate(ROWS.values()):
        places = oracle.index_tuples(len(row), length, WINDOW)
        counted = Counter(oracle.spelled(row, each) for each in places)
        often = {pattern: count for pattern, count in counted.items() if count >= FREQUENT}
        patterns, counts = frequent_patterns(SMALL.load()[person], length)
        assert dict(zip(patterns, counts.tolist(), strict=True)) == often
        drawn = draw_patterns(SMALL, person, 4, length, 0)
        assert len(drawn) == min(4, len(often))
        assert set(drawn) <= set(often)
        assert draw_patterns(SMALL, person, 2, length, 0) == drawn[:2]
    assert draw_patterns(SMALL, 0, 4, length, 0) != draw_patterns(SMALL, 0, 4, length, 1)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("way", ALGORITHMS)
def test_losses_and_promises_are_those_of_the_definitions(way, cost):
    table, row = SMALL.load()[1], tuple(ROWS["bob"])
    patterns = draw_patterns(SMALL, 1, 3, 2, 0)
    nodes, loss, seconds = sanitize(table, way, patterns, cost=cost, max_leakage=0.4)
    released = tuple(TREE.labels[node] for node in nodes)
    assert oracle.is_private(row, released, patterns, WINDOW, share=0.4)
    mapping = dict(zip(row, released, strict=True))
    price = oracle.cost_functions(PARENTS)[cost]
    assert loss == pytest.approx(float(oracle.utility_loss(row, mapping, price)) / len(row))
    assert seconds > 0


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("person", [0, 1])
def test_the_algorithms_as_printed_end_as_ours_do(person, cost, share, monkeypatch):
    table, patterns = SMALL.load()[person], draw_patterns(SMALL, person, 3, 2, 0)
    asked = {"cost": cost, "max_leakage": share}
    nodes, _, _ = sanitize(table, "Top-Down", patterns, **asked)
    refined = []
    kept = bonomi_2016.refine_as_printed

    def refine(one, is_active):
        refined.append((one, *kept(one, is_active)))
        return refined[-1][1:]

    monkeypatch.setattr(bonomi_2016, "refine_as_printed", refine)
    search = prepare(table, "Top-Down", patterns, **asked)
    assert count_evaluations(search) == sum(n_tried for _, n_tried, _ in refined)
    one, _, depths = refined[-1]
    printed = dict(zip(one.codes.tolist(), one.problem.paths[range(len(depths)), depths], strict=True))
    ours = dict(zip(search.items.tolist(), nodes.tolist(), strict=True))
    assert {code: ours[code] for code in printed} == printed
    merged = count_evaluations(prepare(table, "Bottom-Up", patterns, **asked))
    assert 1 <= merged <= len(patterns) + len(TREE.labels)


def test_a_cell_averages_over_draws_and_then_over_persons_who_have_patterns():
    (row,) = hide(SMALL, method="Top-Down", cost="linear", draws=3)
    means = [
        sum(
            sanitize(
                SMALL.load()[person], "Top-Down", draw_patterns(SMALL, person, 4, 2, turn), cost="linear"
            )[1]
            for turn in range(3)
        )
        / 3
        for person in (0, 1)
    ]
    assert row["loss"] == pytest.approx(sum(means) / 2)
    assert (row["persons_drawn"], row["runs"], row["series"]) == (2, 6, "Top-Down, linear")
    assert hide(source_of({"cy": "12"}), method="Bottom-Up", cost="linear", draws=2) == []


@pytest.mark.parametrize("alpha", [2, 4])
def test_two_patterns_differ_by_their_ratio(alpha):
    row = ROWS["ann"]
    pairs = draw_pairs(SMALL, 0, alpha, 5)
    assert len(pairs) == 5
    for often, seldom in pairs:
        counts = [oracle.frequency(row, pattern, WINDOW) for pattern in (often, seldom)]
        assert counts[0] >= alpha * counts[1] >= alpha * FREQUENT
    assert draw_pairs(SMALL, 2, alpha, 5) == []


def test_one_person_or_all_who_have_such_patterns(monkeypatch):
    with pytest.raises(InputError, match="nobody has a pattern that is 32 times as frequent as another"):
        with_all_ratios(SMALL)
    monkeypatch.setattr(bonomi_2016, "ALPHAS", (2,))
    both = source_of({"ann": ROWS["ann"], "cy": ROWS["cy"], "dan": ROWS["ann"][::-1]})
    assert sorted(with_all_ratios(both)) == [0, 2]
    (one,) = hide_two(both, ONE, "Top-Down", "linear", 2, 3)
    (everybody,) = hide_two(both, "all persons", "Top-Down", "linear", 2, 3)
    assert (one["persons_drawn"], everybody["persons_drawn"]) == (1, 2)


def test_side_effects_are_counted_before_and_after(monkeypatch):
    monkeypatch.setattr(bonomi_2016, "ALPHAS", (2,))
    alone = source_of({"ann": ROWS["ann"]})
    listed = pl.DataFrame(pairs_of_one(alone))
    before = listed.filter(sequence="original")
    places = oracle.index_tuples(len(ROWS["ann"]), 2, WINDOW)
    counted = Counter(" → ".join(oracle.spelled(ROWS["ann"], each)) for each in places)
    assert before["occurrences"].to_list() == [count for _, count in counted.most_common(10)]
    after = set(listed.filter(sequence="sanitized")["pattern"])
    assert before.filter(pl.col("in_both"))["pattern"].to_list() == [
        pattern for pattern in before["pattern"] if pattern in after
    ]
    (row,) = preserved(alone, "Top-Down", 1)
    assert row["kept"] == before["in_both"].mean()
    nodes, _, _ = sanitize(alone.load()[0], "Top-Down", draw_patterns(alone, 0, 4, 2, 0), max_leakage=0.5)
    became = dict(zip(ROWS["ann"], [TREE.labels[node] for node in nodes], strict=True))
    images = [" → ".join(became[each] for each in pattern.split(" → ")) for pattern in before["pattern"]]
    gone = before.filter(~pl.col("in_both"))["pattern"].str.split(" → ").to_list()
    assert row["generalized"] == sum(any(became[label] != label for label in each) for each in gone) / 10
    assert row["kept_coarser"] == sum(image in after and "*" not in image for image in images) / 10
    assert 0 <= row["distance"] <= 1
    monkeypatch.setattr(bonomi_2016, "SHARE", 0.0)
    (nothing,) = pl.DataFrame(pairs_of_one(alone)).filter(sequence="sanitized").rows(named=True)
    assert (nothing["pattern"], nothing["occurrences"]) == ("* → *", len(places))
    (row,) = preserved(alone, "Top-Down", 1)
    assert (row["kept"], row["kept_coarser"]) == (0, 0)


def test_the_plan_has_every_figure_of_the_paper():
    paper = find_paper("bonomi-2016")
    plan = paper.plan(None, design="quick")
    assert {cell.table for cell in plan.cells} == {
        "bounds",
        "lengths",
        "numbers",
        "frequencies",
        "kept",
        "top",
    }
    assert {drawing.table for drawing in paper.drawings} <= {cell.table for cell in plan.cells}
    assert {drawing.name.removeprefix("figure-")[0] for drawing in paper.drawings} == set("456789")
    assert all(table.n_events >= LONG for table in long_clicks(None))
    whole = find_paper("bonomi-2016").plan(None, design="whole")
    assert {cell.parameters["draws"] for cell in whole.cells if "draws" in cell.parameters} == {25}
    ratios = [cell.parameters["alpha"] for cell in whole.cells if cell.table == "frequencies"]
    assert set(ratios) == {2, 4, 8, 16, 32}
    assert [line.split(":")[0] for line in plan.sources] == [CLICKS, LOGS]


@pytest.mark.real
def test_the_paper_s_users_are_found(shared_data):
    assert len(long_clicks(shared_data)) == 36
    homes = logs(shared_data)
    assert [table.n_events for table in homes] == [6_440, 2_459, 259, 112, 234, 248]


def curve(xs, x, good, rising, **more):
    """Rows of one curve that rises, or falls; by itself where `good`, else the other way round."""
    goes_up = rising == good
    return [{**more, x: each, "value": at if goes_up else -at} for at, each in enumerate(xs)]


def results(*, good):
    """Small tables in which every statement holds, or none."""
    bounds, lengths, numbers, ratios = [], [], [], []
    cheap = {"information-loss": 0.0, "linear": 0.1, "exponential": 0.1}
    dear = {"information-loss": 0.3, "linear": 0.0, "exponential": 0.2}
    for data in (CLICKS, LOGS):
        for way in ALGORITHMS:
            for cost in COSTS:
                told = {"data": data, "method": way, "cost": cost}
                rising = (way, data) == ("Top-Down", CLICKS)
                for row in curve((0.1, 0.5, 0.9), "share", good, rising, **told):
                    at = row.pop("value")
                    slow = (way == "Top-Down") == good
                    loss = (cheap if good else dear)[cost]
                    step = {0.1: 0.4, 0.5: 0.2, 0.9: 0.1} if good else {0.1: 0.1, 0.5: 0.2, 0.9: 0.4}
                    seconds = (60.0 if slow else 3.0) * (1 + 0.2 * at)
                    worse = 0.2 if (way == "Bottom-Up") == good else 0.0
                    bounds.append(
                        {
                            **row,
                            "seconds": seconds,
                            "evaluations": seconds,
                            "loss": loss + worse + step[row["share"]],
                        }
                    )
                for row in curve((2, 3, 4), "length", good, rising=True, **told):
                    at = row.pop("value")
                    lengths.append(
                        {
                            **row,
                            "seconds": 5.0 + at,
                            "evaluations": 9.0 + 4 * at,
                            "loss": 0.3 if good else 0.5 + 0.2 * at,
                        }
                    )
                for row in curve((2, 4, 8), "number", good, rising=True, **told):
                    at = row.pop("value")
                    pace = 0.5 if good else 2.0
                    spent = {"seconds": 5.0 + pace * at, "evaluations": 5.0 + pace * at}
                    numbers.append({**row, **spent, "loss": 0.5 + 0.1 * at})
                for row in curve((2, 32), "alpha", good, rising=True, persons=ONE, method=way, cost=cost):
                    at = row.pop("value")
                    ratios.append(
                        {**row, "seconds": 5.0 + at, "evaluations": 5.0 + at, "loss": 0.5 + 0.1 * at}
                    )
    share = 0.8 if good else 0.2
    return {
        "bounds": pl.DataFrame(bounds),
        "lengths": pl.DataFrame(lengths),
        "numbers": pl.DataFrame(numbers),
        "frequencies": pl.DataFrame(ratios).unique(maintain_order=True),
        "kept": pl.DataFrame(
            {
                "method": "Top-Down",
                "kept": [share],
                "generalized": 0.1,
                "kept_coarser": share,
                "distance": 0.9 - share,
            }
        ),
        "top": pl.DataFrame({"sequence": ["original", "sanitized"], "in_both": good, "occurrences": 3}),
    }


@pytest.mark.parametrize("good", [True, False])
def test_statements_follow_the_tables(good):
    found = find_paper("bonomi-2016").claims(results(good=good))
    assert len(found) == 19
    assert {claim.says: claim.verdict for claim in found} == {
        claim.says: "agrees" if good else "disagrees" for claim in found
    }
    assert all(bool(claim.why) != good for claim in found)
