"""Other miners find the same patterns, where they are installed."""

from __future__ import annotations

import random

import pytest

from sequester.data.sequences import Sequences
from sequester.mining import frequent


def drawn_rows():
    draw = random.Random(3)
    return [[draw.randrange(1, 9) for _ in range(draw.randrange(1, 12))] for _ in range(120)]


def mined(rows, **how):
    found = frequent(Sequences.from_rows([list(map(str, row)) for row in rows]), **how)
    return {tuple(map(int, pattern)): count for pattern, count in found.items()}


def test_prefixspan_finds_the_same():
    peer = pytest.importorskip("prefixspan")
    rows = drawn_rows()
    every = {tuple(pattern): count for count, pattern in peer.PrefixSpan(rows).frequent(6)}
    assert mined(rows, min_support=6) == every
    closed = {tuple(pattern): count for count, pattern in peer.PrefixSpan(rows).frequent(6, closed=True)}
    assert mined(rows, min_support=6, closed=True) == closed
    top = sorted((count for count, _ in peer.PrefixSpan(rows).topk(40)), reverse=True)
    assert sorted(mined(rows, top=40).values(), reverse=True) == top


def test_seq2pat_finds_the_same_of_two_items_and_more():
    peer = pytest.importorskip("sequential.seq2pat")
    rows = drawn_rows()
    every = peer.Seq2Pat(sequences=rows, max_span=None).get_patterns(min_frequency=6)
    assert mined(rows, min_support=6, min_length=2) == {tuple(found[:-1]): found[-1] for found in every}
