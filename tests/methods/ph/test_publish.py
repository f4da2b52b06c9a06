"""What PH says about a release, where there is much to look at."""

from __future__ import annotations

from sequester.methods.ph import publish
from sequester.methods.ph.method import PH
from sequester.testing import symbol_table
from sequester.utility import register

SEED = "a sentence that nobody guesses"


def test_too_many_itemsets_are_compared_up_to_a_size(monkeypatch):
    monkeypatch.setattr(publish, "MAX_ITEMSETS", 40)
    table = symbol_table(["abcdefgh"] * 4)
    release = PH(patterns=[["a", "h"]], min_support=4, max_length=2).apply(table, seed=SEED)
    assert "36 itemsets" in release.utility["lost_itemsets"].means
    assert "at most 2 items" in release.utility["lost_itemsets"].means


def test_itemsets_without_number_are_left_out(monkeypatch):
    monkeypatch.setattr(publish, "MAX_ITEMSETS", 1)
    monkeypatch.setattr(register, "MAX_PATTERNS", 1)
    release = PH(patterns=[["a", "b"]], min_support=2).apply(symbol_table(["ab", "ab"]), seed=SEED)
    assert "lost_itemsets" not in release.utility
    assert "lost_patterns" in release.utility
