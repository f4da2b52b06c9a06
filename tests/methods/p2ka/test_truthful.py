"""Truthful reconstruction: parts of the persons' own sequences, as many as the definition keeps."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from oracles.sequences import is_strictly_k_anonymous, is_subsequence, satisfies_definition_1
from sequester.errors import ParameterError, SequesterWarning, UnattainableError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.methods.p2ka import algorithm
from sequester.testing import symbol_table

rows_of_three = st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=15)


def released(method, rows):
    """What each person is released as, and the release; nothing where it was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            release = method.apply(symbol_table(rows), seed="a sentence that nobody guesses")
        except UnattainableError as refused:
            return [()] * len(rows), refused
    names = dict(release.pseudonyms.iter_rows())
    found = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
    return [tuple(found.get(names.get(f"person {n}"), ())) for n in range(1, len(rows) + 1)], release


@given(rows_of_three, st.integers(2, 4), st.booleans())
def test_every_record_is_the_part_of_the_definition(rows, k, strict):
    after, release = released(BFP2kA(k=k, strict=strict, reconstruction="truthful"), rows)
    assert after == oracles.truthful(rows, k, strict=strict)
    assert all(is_subsequence(part, row) for part, row in zip(after, rows, strict=True))
    records = [record for record in after if record]
    assert satisfies_definition_1(records, rows, k)
    if strict:
        assert is_strictly_k_anonymous(records, k)
    if isinstance(release, UnattainableError):
        # Something is released exactly if k persons share an item.
        most = max(sum(item in row for row in rows) for item in "abc")
        assert most < k
        assert release.achieved["k"] == most
    else:
        assert release.utility["invented_items"].value == 0
        assert set(release.changes["what"].unique()) <= {"shortened", "dropped"}


@given(rows_of_three, st.integers(2, 4))
def test_nobody_loses_a_sequence_that_pruning_keeps(rows, k):
    after, _ = released(BFP2kA(k=k, reconstruction="truthful"), rows)
    pruned, _ = released(PrefixPruning(k=k), rows)
    assert all(part in ((), whole) for part, whole in zip(pruned, after, strict=True))


@given(rows_of_three, st.integers(2, 3))
def test_with_fewer_candidates_the_promise_is_the_same(rows, k):
    limits = pytest.MonkeyPatch()
    limits.setattr(algorithm, "MAX_CANDIDATES", 4)
    try:
        after, _ = released(BFP2kA(k=k, reconstruction="truthful"), rows)
    finally:
        limits.undo()
    assert all(is_subsequence(part, row) for part, row in zip(after, rows, strict=True))
    assert is_strictly_k_anonymous([record for record in after if record], k)


def test_what_is_said_about_it():
    rows = ["ABCDEF", "ABCDEF", "ABCDEF", "ADEF", "ADEF", "ADEF", "BKS", "BK", "BK", "DEJF", "Q"]
    method = BFP2kA(k=2, reconstruction="truthful")
    after, release = released(method, rows)
    assert ["".join(part) for part in after[6:]] == ["BK", "BK", "BK", "DEF", ""]
    texts = [reason.text for reason in method.reasons(release, symbol_table(rows))]
    why = "fewer than k = 2 persons contain all of it"
    assert texts == [
        f"2 sequences were cut back to the longest part that enough persons share: {why}.",
        f"1 sequence was left out, because enough persons share no part of them: {why}.",
    ]
    assert release.limits[0].startswith("Records are not complete")
    assert not any("not truthful" in limit for limit in release.limits)


def test_it_moves_nothing_to_near_regions():
    with pytest.raises(ParameterError, match="nearness moves visits to other regions"):
        BFP2kA(k=2, nearness=500, reconstruction="truthful")
    with pytest.raises(ParameterError, match='reconstruction must be "closest" or "truthful", got 3'):
        BFP2kA(k=2, reconstruction=3)
