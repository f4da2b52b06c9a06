"""Risks, their intervals, and what each adversary says about tables that can be checked by eye."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.tables import some_rows, symbols
from oracles import attacks as oracle
from sequester.attacks import Inference, Linkage, Presence, Proportion, Risk, attack_tables
from sequester.attacks.exposure import sequence_risk
from sequester.attacks.risk import mean_of, median_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy


def visits(rows, **roles):
    """A table of one quasi-identifier and one sensitive value per person."""
    frame = pl.DataFrame(rows, schema=["who", "q", "s"], orient="row").with_columns(n=pl.lit(1))
    schema = Schema("who", "n", quasi={"q": Hierarchy.flat()}, sensitive={"s": "all"}, **roles)
    return EventTable(frame, schema)


@given(st.integers(0, 60), st.integers(1, 60))
def test_the_mean_of_coins_is_within_its_interval_and_wider_than_the_exact_one(heads, tails):
    coins = np.repeat([1.0, 0.0], [heads, tails])
    low, high = mean_of(coins).interval
    exact = Proportion.drawn(heads, heads + tails).interval
    assert low <= exact[0] + 1e-9
    assert exact[1] <= high + 1e-9
    assert low <= heads / (heads + tails) <= high


@pytest.mark.parametrize("end", [0, 1])
def test_intervals_are_exact_at_the_ends(end):
    mean = mean_of(np.full(40, float(end)))
    exact = Proportion.drawn(40 * end, 40)
    assert mean.value == exact.value == end
    assert mean.interval == pytest.approx(exact.interval)
    assert mean.interval[end] == end


def test_nothing_drawn_says_nothing():
    assert mean_of(np.empty(0)).interval == (0, 1)
    assert median_of(np.empty(0, np.int64)).interval == (0, 1)


def test_a_risk_at_its_bound_is_within_it():
    at = Risk(1 / 3, (0.3, 1.0), 0.0, Proportion(0.0, (0.0, 1.0)), bound=1 / 3)
    assert at.is_within
    assert Risk(0.9, (0.3, 1.0), 0.0, at.control).is_within
    assert set(at.to_json()) >= {"name", "known", "raw", "release", "control"}


@given(some_rows, st.integers(1, 3))
def test_mean_risk_equals_that_of_the_location_sequence_attack(rows, known):
    assert sequence_risk(symbols(rows), known=known) == pytest.approx(
        float(oracle.sequence_risk(rows, known))
    )


def test_linkage_by_eye():
    table = symbols(["ab", "ab", "ba", "c"])

    def risk(measure, **more):
        return Linkage(known=2, measure=measure, **more).run(table, original=table, targets=40)

    assert risk("unique").value == 0.5
    assert risk("below_k", k=3).value == 1
    assert risk("prosecutor").value == risk("journalist").value == 1
    assert risk("marketer").value == pytest.approx(0.75)
    assert risk("candidates").value == 1
    assert risk("marketer").baseline == 0.25
    assert risk("unique").baseline == risk("below_k", k=3).baseline == 0


def test_a_journalist_counts_those_who_were_not_released():
    original, released = symbols(["ab", "ab", "ab", "c"]), symbols(["ab", "c"])
    assert Linkage(known=2).run(released, original=original).value == 1
    without = symbols(["ab"])
    assert Linkage(known=2, measure="journalist").run(without, original=original).value == pytest.approx(
        1 / 3
    )


def test_inference_by_eye():
    table = visits([("1", "x", "10"), ("2", "x", "11"), ("3", "x", "90"), ("4", "y", "90")])

    def risk(measure, **more):
        return Inference(measure=measure).run(table, original=table, targets=40, **more)

    assert risk("confidence").value == risk("at_risk").value == 1
    assert risk("confidence").baseline == 0.5
    assert risk("guess").value == pytest.approx((3 * (1 / 3) + 1) / 4)
    assert risk("guess").baseline == pytest.approx((0.25 + 0.25 + 0.5 + 0.5) / 4)
    assert risk("close").value == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    assert risk("group", groups={"10": "low", "90": "low"}).value == pytest.approx(
        (2 / 3 + 1 / 3 + 2 / 3 + 1) / 4
    )


def test_absence_and_membership_by_eye():
    original, released = symbols(["ab", "ab", "cd"]), symbols(["ab", "ab"])
    absence = Presence(known=2).run(released, original=original, targets=30)
    assert absence.value == pytest.approx(1 / 3)
    assert absence.raw.value == 0
    members = Presence(known=2, measure="membership").run(original, original=original, targets=300)
    # A stranger's two letters are in the data in this order in 4 of 16 pairs of places at most.
    assert 0.5 < members.value < 0.9
    low, high = members.interval
    assert low < members.value < high


def test_groups_and_numbers_join_the_attack():
    table = visits([("1", "x", "10"), ("2", "x", "11"), ("3", "y", "90")])
    risks = attack_tables(table, original=table, groups={"10": "1"}, known=(1,), targets=10)
    assert {"close", "group", "guess"} <= {risk.name for risk in risks}
    words = visits([("1", "x", "flu"), ("2", "y", "nan")])
    assert "close" not in {risk.name for risk in attack_tables(words, original=words, known=(1,), targets=10)}


def test_the_seed_repeats_the_attack():
    table = symbols(["abc", "bca", "ab", "c"])

    def names(seed):
        return [
            (risk.name, risk.value) for risk in attack_tables(table, original=table, targets=7, seed=seed)
        ]

    assert names("a") == names("a") != names("b")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda table: Linkage(measure="luck"), "measure must be "),
        (lambda table: Inference(measure="luck"), "measure must be "),
        (lambda table: Presence(measure="luck"), "measure must be "),
        (lambda table: Linkage(known=0).run(table, original=table), "known must be at least 1, got 0"),
        (lambda table: Linkage().run(table, original=table, targets=0), "targets must be at least 1, got 0"),
        (lambda table: Inference().run(table, original=table), "must have protected values"),
        (lambda table: attack_tables(table, original=table, known=[0]), "known must be whole numbers"),
        (lambda table: attack_tables(table, original=table, known=[]), "whole numbers .* got 'none'"),
        (lambda table: attack_tables(table, original=table, known="12"), "whole numbers .* got '12'"),
        (lambda table: attack_tables(table, original=table, known=[True]), "whole numbers .* got True"),
        (lambda table: attack_tables(table, original=table, known=2), "a list of whole numbers, got 2"),
        (lambda table: attack_tables(table, original=table, targets=1.5), "a whole number, got 1.5"),
        (lambda table: attack_tables(table, original=table, targets=True), "a whole number, got True"),
        (lambda table: sequence_risk(table, known=0), "known must be at least 1, got 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ParameterError, match=message):
        call(symbols(["ab"]))


def test_an_original_without_anything_to_know_is_refused():
    frame = pl.DataFrame({"who": ["a"], "n": [1], "s": ["x"]})
    blank = EventTable(frame, Schema("who", "n", sensitive={"s": "all"}))
    with pytest.raises(ParameterError, match="original must have a symbol or quasi-identifiers"):
        attack_tables(blank, original=blank)


def test_an_original_without_events_is_refused():
    frame = pl.DataFrame(schema={"who": pl.String, "n": pl.Int64, "page": pl.String})
    nobody = EventTable(frame, Schema("who", "n", symbol="page"))
    with pytest.raises(ParameterError, match="original must have events"):
        attack_tables(nobody, original=nobody)


def chance_of_at_least(found, of, true):
    return sum(math.comb(of, i) * true**i * (1 - true) ** (of - i) for i in range(found, of + 1))


@given(st.integers(1, 40), st.data())
def test_interval_of_clopper_and_pearson_by_its_definition(of, data):
    found = data.draw(st.integers(0, of))
    low, high = Proportion.drawn(found, of).interval
    assert low <= found / of <= high
    if found:
        assert chance_of_at_least(found, of, low) == pytest.approx(0.025)
    else:
        assert low == 0
    if found < of:
        assert 1 - chance_of_at_least(found + 1, of, high) == pytest.approx(0.025)
    else:
        assert high == 1


@given(st.integers(1, 40), st.data())
def test_undecided_persons_raise_the_upper_end_only(of, data):
    found = data.draw(st.integers(0, of))
    undecided = data.draw(st.integers(0, of - found))
    plain, wide = Proportion.drawn(found, of), Proportion.drawn(found, of, undecided=undecided)
    assert (wide.value, wide.interval[0]) == (plain.value, plain.interval[0])
    assert wide.interval[1] == Proportion.drawn(found + undecided, of).interval[1]
    assert Proportion.counted(found, of, undecided=undecided).interval == (
        found / of,
        (found + undecided) / of,
    )


def test_nobody_to_count():
    assert Proportion.counted(0, 0) == Proportion(0.0, (0.0, 0.0))
    assert Proportion.drawn(0, 0) == Proportion(0.0, (0.0, 1.0))


def test_exact_shares_know_that_they_are():
    assert Proportion.counted(1, 3).is_exact
    assert not Proportion.counted(1, 3, undecided=1).is_exact
    assert not Proportion.drawn(1, 3).is_exact
