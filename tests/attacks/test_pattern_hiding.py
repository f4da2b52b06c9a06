"""Who looks just below the threshold, and who excludes orders, does as well as the definition says."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.tables import some_rows
from oracles import hidden_patterns as oracles
from sequester.attacks.attack import model_attacks
from sequester.attacks.context import Case
from sequester.attacks.pattern_hiding import (
    MOST_ORDERS,
    Secrets,
    attack_hidden,
    distinct_orders,
    n_orders,
    order_risk,
    recognition_risks,
    suspicion_risks,
)
from sequester.errors import InputError, ParameterError, UnattainableError
from sequester.methods import PH, SBSH, Abul
from sequester.privacy import PatternHiding
from sequester.testing import symbol_table

SEED = "kept in a safe place"
SOME = settings(max_examples=settings.default.max_examples // 4)
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")

patterns = st.sets(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3
).map(sorted)


def secrets_of(original, released, sensitive, threshold, **more):
    model = PatternHiding(sensitive=frozenset(sensitive), min_support=threshold, **more)
    return model, Secrets.of(model, symbol_table(released), symbol_table(original), seed=SEED)


@SOME
@given(
    original=some_rows,
    released=some_rows,
    sensitive=patterns,
    threshold=st.integers(1, 25),
    kind=st.sampled_from(["at_threshold", "near_threshold"]),
)
def test_suspects_equal_definition(original, released, sensitive, threshold, kind):
    _, secrets = secrets_of(original, released, sensitive, threshold)
    width = 1 if kind == "at_threshold" else max(1, threshold // 10)
    expected = oracles.suspicion(original, released, sensitive, threshold, width)
    risks = {(risk.kind, risk.name): risk for risk in suspicion_risks(secrets)}
    for measure, (now, then) in expected.items():
        risk = risks[kind, measure]
        assert (risk.value, risk.raw.value) == pytest.approx((float(now), float(then)))
        assert risk.bound is None


@SOME
@given(
    original=some_rows,
    released=some_rows,
    sensitive=patterns,
    threshold=st.integers(1, 12),
    kind=st.sampled_from(["orders", "plausible_orders", "near_orders", "used_orders"]),
    implausible=st.sampled_from([(), (("a", "b"),), (("c", "a"), ("b",))]),
    least=st.integers(1, 4),
)
def test_order_guesses_equal_definition(original, released, sensitive, threshold, kind, implausible, least):
    _, secrets = secrets_of(original, released, sensitive, threshold, forbidden=frozenset(implausible))
    risk = order_risk(secrets, seed=SEED, kind=kind, permutations=1, support=least)
    expected = oracles.order_chance(original, released, sensitive, threshold, kind, implausible, least)
    assert (risk.value, risk.raw.value, risk.baseline) == pytest.approx([float(each) for each in expected])
    assert risk.bound == (0.5 if kind == "used_orders" else None)


@SOME
@given(rows=some_rows, sensitive=patterns, threshold=st.integers(1, 4), wanted=st.integers(1, 3))
def test_bounded_uncertainty_keeps_what_it_says(rows, sensitive, threshold, wanted):
    table = symbol_table(rows)
    bounded = {"permutations": wanted, "support": 1}
    try:
        release = PH(patterns=sensitive, min_support=threshold, uncertainty=bounded).apply(table, seed=SEED)
    except (InputError, UnattainableError):
        return
    risks = attack_hidden(
        release.model,
        Case(tables=release.tables, released=release.table, original=table, parameters=release.parameters),
    )
    (used,) = (risk for risk in risks if risk.kind == "used_orders")
    assert used.bound == 1 / (wanted + 1)
    assert used.is_within


@SOME
@given(original=some_rows, released=some_rows)
def test_recognized_records_equal_definition(original, released):
    model, secrets = secrets_of(original, released, [("a",)], 2, forbidden="unseen")
    (risk,) = recognition_risks(secrets, model)
    assert risk.value == pytest.approx(float(oracles.recognized(original, released)))
    assert risk.bound == 0
    assert risk.is_within == (risk.value == 0)


@pytest.mark.parametrize("method", [PH, SBSH, Abul])
@SOME
@given(rows=some_rows, sensitive=patterns, threshold=st.integers(1, 4))
def test_what_hiding_claims_holds_against_its_adversaries(method, rows, sensitive, threshold):
    table = symbol_table(rows)
    more = {"forbidden": "unseen"} if method is PH else {}
    try:
        release = method(patterns=sensitive, min_support=threshold, **more).apply(table, seed=SEED)
    except (InputError, UnattainableError):
        return
    risks = model_attacks(
        release.model, Case(tables=release.tables, released=release.table, original=table, seed=SEED)
    )
    assert all(risk.is_within for risk in risks)
    assert {risk.name for risk in risks if risk.bound is not None} == ({"recognized"} if more else set())
    # A hidden pattern is below the threshold, so that nobody who keeps to what is true excludes it.
    named = [risk for risk in risks if risk.name == "order" and risk.kind == "orders"]
    assert all(risk.value >= risk.baseline - 1e-12 for risk in named)


def test_the_slides_example_is_named_by_its_threshold():
    rows = ["abcdef", "abce", "acehb", "fgceab", "dfghb", "dhbfg", "fhgb", "cdfge", "dhfgb"]
    sensitive = [tuple("ace"), tuple("dfg"), tuple("dhb")]
    table = symbol_table(rows)
    release = PH(patterns=sensitive, min_support=3).apply(table, seed=SEED)
    risks = {
        (risk.name, risk.kind): risk
        for risk in attack_hidden(
            release.model, Case(tables=release.tables, released=release.table, original=table)
        )
    }
    # All three stand at two supporters, one short of three, where few others are.
    assert risks["exposed", "at_threshold"].value == 1
    assert risks["suspects", "at_threshold"].value > 5 * risks["suspects", "at_threshold"].baseline
    assert risks["order", "near_orders"].value >= risks["order", "orders"].value


def orders_of(**more):
    # Each order has ten supporters, and the secret one thirty more.
    rows = ["".join(order) for order in permutations("abc") for _ in range(10)] + ["abc"] * 30
    table = symbol_table(rows)
    release = PH(patterns=[list("abc")], min_support=20, **more).apply(table, seed=SEED)
    risks = attack_hidden(
        release.model,
        Case(tables=release.tables, released=release.table, original=table, parameters=release.parameters),
    )
    return {risk.kind: risk.value for risk in risks if risk.name in ("order", "exposed")}


def test_each_uncertainty_mode_leaves_its_own_risk():
    harmless = orders_of(uncertainty="minimum-harm")
    spread = orders_of(uncertainty="maximum")
    bounded = orders_of(uncertainty={"permutations": 2, "support": 17})
    for mode in (harmless, spread, bounded):
        # Whatever the mode, what is hidden ends one supporter short, and its items alone tell nothing.
        assert mode["at_threshold"] == 1
        assert mode["orders"] == pytest.approx(1 / 6)
    # Spread over many orders, none of them comes near the threshold: only the secret one is there.
    assert spread["near_orders"] == 1
    assert harmless["near_orders"] < 1
    assert bounded["used_orders"] <= 1 / 3


def test_a_pattern_that_has_one_order_is_not_guessed_at():
    _, secrets = secrets_of(["aa", "aa"], ["a", "a"], [("a", "a")], 2)
    risk = order_risk(secrets, seed=SEED)
    assert (risk.value, risk.targets, risk.baseline) == (0, 0, 0)


def test_nobody_goes_through_more_orders_than_there_is_time_for():
    long = tuple("abcdefghi")
    assert n_orders(long) > MOST_ORDERS
    _, secrets = secrets_of(["abcdefghi"] * 2, ["abcdefghi"], [long, ("a", "b")], 2)
    risk = order_risk(secrets, seed=SEED)
    assert risk.targets <= 1
    assert risk.interval[1] > risk.value or risk.interval == (0.0, 1.0)


def test_more_patterns_than_anybody_mines_leave_the_risk_open(monkeypatch):
    monkeypatch.setattr("sequester.attacks.pattern_hiding.MOST_PATTERNS", 2)
    _, secrets = secrets_of(["abc"] * 4, ["abc"] * 3, [("a", "b")], 4)
    risk = suspicion_risks(secrets)[0]
    assert (risk.value, risk.interval) == (0.0, (0.0, 1.0))


def test_listed_orders_that_nobody_had_are_recognized():
    model, secrets = secrets_of(["ab", "ab"], ["ab", "ba"], [("a",)], 3, forbidden=frozenset({("b", "a")}))
    _, risk = recognition_risks(secrets, model)
    assert (risk.value, risk.bound, risk.is_within) == (0.5, 0.0, False)
    model, secrets = secrets_of(["ab", "ba"], ["ab", "ba"], [("a",)], 3, forbidden=frozenset({("b", "a")}))
    assert recognition_risks(secrets, model)[1].bound is None


def test_senseless_choices_are_refused():
    with pytest.raises(ParameterError, match=r"kind must be .*, got 'x'"):
        order_risk(None, seed=SEED, kind="x")


def test_a_promise_without_attacks_of_its_own_has_none():
    case = Case(tables={}, released=None, original=symbol_table(["a"]))
    assert model_attacks(SimpleNamespace(attacks=""), case) == []
    assert model_attacks(PatternHiding(sensitive=frozenset({("a",)}), min_support=1), case) == []


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(tuple))
def test_orders_are_all_and_each_once(pattern):
    assert distinct_orders(pattern) == sorted(set(permutations(pattern)))
    assert n_orders(pattern) == len(set(permutations(pattern)))
