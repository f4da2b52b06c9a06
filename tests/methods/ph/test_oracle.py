"""Ranks, who passes, and the harm of one change, beside a slow twin."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles import ph as oracles
from oracles.sequences import is_subsequence
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine, silent
from sequester.methods.ph.algorithm import choose_rows, rank_rows
from sequester.methods.ph.method import PH
from sequester.methods.ph.problem import HidingProblem, track_patterns
from sequester.testing import symbol_table

rows = st.lists(st.text("abc", min_size=1, max_size=5), min_size=2, max_size=8)
secrets = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=2, unique=True)


@settings(max_examples=40)
@given(rows, secrets, st.integers(1, 3))
def test_ranks_and_who_passes(rows, words, min_support):
    words = [word for word in words if set(word) <= set("".join(rows))]
    assume(words)
    sequences = Sequences.from_rows(rows)
    problem = HidingProblem.of(
        sequences,
        [tuple(word) for word in words],
        [min_support] * len(words),
        min_support=min_support,
        max_length=4,
    )
    trie = track_patterns(sequences, problem, engine=LocalEngine(), progress=silent)
    supporting = np.flatnonzero(problem.marks.any(axis=1))
    distinct = sorted(set(rows))
    found = dict(
        zip([distinct[row] for row in supporting], rank_rows(problem, trie, supporting).tolist(), strict=True)
    )
    assert found == oracles.ranks(rows, words, min_support, 4)
    targets, persons = choose_rows(problem, trie, np.random.default_rng(0))
    assert Counter(distinct[row] for row in targets) == oracles.changed(rows, words, min_support, 4)
    assert [rows[person] for person in persons] == [distinct[row] for row in targets]


@pytest.mark.parametrize("prefer", ["least-harm", "permutation"])
@settings(max_examples=60)
@given(rows=rows, words=secrets, min_support=st.integers(2, 3))
def test_one_change_does_no_more_harm_than_any_permutation_or_deletion(prefer, rows, words, min_support):
    assume(any(is_subsequence(word, row) for word in words for row in rows))
    to_change = oracles.changed(rows, words, min_support, 4)
    assume(sum(to_change.values()) == 1)
    (row,) = to_change
    if not all(any(is_subsequence(word, each) for each in rows) for word in words):
        return
    table = symbol_table(rows)
    patterns = [list(word) for word in words]
    method = PH(patterns=patterns, min_support=min_support, max_length=4, prefer=prefer)
    release = method.apply(table, seed="a sentence that nobody guesses")
    effects = release.utility["lost_patterns"].value + release.utility["ghost_patterns"].value

    def ranked(effects, deletions, swaps):
        """The harm of a change, worst first."""
        return (effects, deletions, swaps) if prefer == "least-harm" else (deletions, effects, swaps)

    deletions = release.utility["deletions"].value
    ours = ranked(effects, deletions, release.utility["cayley_distance"].value)
    number = rows.index(row)
    others = {
        after
        for word in words
        for after in oracles.permuted(row, word)
        if not any(is_subsequence(each, after) for each in words)
    }
    for after in others | oracles.deleted(row, words):
        theirs = ranked(*oracles.harm(rows, number, after, words, min_support, 4))
        if "." in after:
            assert ours[:2] <= theirs[:2], after
        elif oracles.embeddings(max(words, key=len), row) == 1 and len(words) == 1:
            # One embedding: there is nothing else to permute.
            assert ours <= theirs, after
