"""The measures say what the definition counts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from oracles.sequences import sim1, sim2
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.methods.p2ka import publish
from sequester.testing import symbol_table

FIG_1A = ["ABCDEF", "ABCDEF", "ABCDEF", "ADEF", "ADEF", "ADEF", "BKS", "BK", "BK", "DEJF"]

FIG_1B = ["ABCDEF", "ABCDEF", "ABCDEF", "ADEF", "ADEF", "ADEF", "BK", "BK", "BK", "ADEF"]


def values(method, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return {name: score.value for name, score in method.apply(symbol_table(rows)).utility.items()}


def test_fig_1():
    expected = {
        "information_loss": pytest.approx(2 / 41),  # the S of BKS and the J of DEJF
        "cut_sequences": 0.2,
        "shortened_sequences": 0.1,
        "reattached_sequences": 0.1,
        "dropped_sequences": 0,
        "edit_distance": 0.3,  # BKS: 1, DEJF: 2
        "invented_items": 1,
        "sim1": pytest.approx(float(sim1(FIG_1B, FIG_1A, 2, 5))),
        "sim2": float(sim2(FIG_1B, FIG_1A, 2, 5)),
    }
    scores = values(BFP2kA(k=2), FIG_1A)
    assert {name: scores[name] for name in expected} == expected


def test_fig_1_without_reconstruction():
    scores = values(PrefixPruning(k=2), FIG_1A)
    assert scores["dropped_sequences"] == scores["cut_sequences"] == 0.2
    assert scores["information_loss"] == pytest.approx(7 / 41)
    assert scores["invented_items"] == scores["reattached_sequences"] == scores["shortened_sequences"] == 0


@given(st.lists(st.text("abc", min_size=1, max_size=5), min_size=2, max_size=12), st.integers(2, 3))
def test_shares_equal_the_definition(rows, k):
    expected = oracles.release(rows, k)
    try:
        scores = values(BFP2kA(k=k), rows)
    except UnattainableError:
        return
    pairs = [(tuple(row), out) for row, out in zip(rows, expected, strict=True)]
    shown = sum(oracles.lcs_length(row, out) for row, out in pairs)
    dropped = sum(not out for _, out in pairs)
    moved = sum(oracles.lcs_length(row, out) < len(out) for row, out in pairs)
    cut = sum(row != out for row, out in pairs)
    assert scores["information_loss"] == pytest.approx(1 - shown / sum(map(len, rows)))
    assert scores["cut_sequences"] == pytest.approx(cut / len(rows))
    assert scores["dropped_sequences"] == pytest.approx(dropped / len(rows))
    assert scores["reattached_sequences"] == pytest.approx(moved / len(rows))
    assert scores["shortened_sequences"] == pytest.approx((cut - moved - dropped) / len(rows))
    assert scores["invented_items"] == sum(not set(out) <= set(row) for row, out in pairs)


def test_only_shorter_patterns_are_compared_where_there_are_too_many(monkeypatch):
    rows = ["".join(np.random.default_rng(seed).permutation(list("abcdefgh"))) for seed in range(3)] * 2
    assert "at most 5 items" in scores_of(rows)["sim2"].means
    monkeypatch.setattr(publish, "MAX_PATTERNS", 60)
    assert "at most 2 items" in scores_of(rows)["sim2"].means
    monkeypatch.setattr(publish, "MAX_PATTERNS", 1)
    assert "at most 3 items" in scores_of(rows)["sim2"].means  # what any release is held to, then


def scores_of(rows):
    return BFP2kA(k=2).apply(symbol_table(rows)).utility
