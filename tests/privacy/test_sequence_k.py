"""Sequence k-anonymity by counting records equals the definition over all subsequences."""

from __future__ import annotations

import dataclasses
import gzip
from collections import Counter

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import sequences as oracles
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.errors import InputError, ParameterError
from sequester.mining import support
from sequester.privacy import SequenceKAnonymity

text = st.text("abc", max_size=4)
# Few different rows, often repeated: otherwise hardly any draw would keep the promise.
rows_of_text = st.lists(text, min_size=1, max_size=3).flatmap(
    lambda base: st.lists(st.sampled_from(base), max_size=9)
) | st.lists(text, max_size=8)
levels = st.integers(2, 4)


@st.composite
def releases(draw):
    """A release, and an original that has most of its records with something around them, and others."""
    released = draw(rows_of_text)
    kept = [row for row in released if draw(st.integers(0, 5))]
    around = st.text("abc", max_size=1)
    return released, [draw(around) + row + draw(around) for row in kept] + draw(st.lists(text, max_size=3))


# Pensa 2008, Fig. 1.
TOY = ["ABCDEF"] * 3 + ["ADEF"] * 3 + ["BKS", "BK", "BK", "DEJF"]
TOY_RELEASED = ["ABCDEF"] * 3 + ["ADEF"] * 4 + ["BK"] * 3
# The hole in Theorem 1: two persons had A then B, one released record has it.
HOLE = ["AB", "ABXYZ", "CXYZ", "CXYZ"]
HOLE_RELEASED = ["AB", "CXYZ", "CXYZ", "CXYZ"]


def check(released, k, *, strict=True, original=None):
    model = SequenceKAnonymity(k=k, strict=strict)
    rows = None if original is None else Sequences.from_rows(original)
    return model.check(Sequences.from_rows(released), original=rows)


def expected_verdict(released, k, *databases):
    """Holds, achieved, violations and witnesses, by enumeration of all subsequences."""
    if not oracles.all_subsequences(released):
        return True, k, 0, ()
    achieved = min(oracles.smallest_support(released, rows) for rows in databases)
    violating = oracles.violating_records(released, k, *databases)
    return achieved >= k, achieved, len(violating), tuple(violating[:5])


def told(verdict):
    return verdict.holds, verdict.achieved["k"], verdict.violations, verdict.witnesses


def test_pensa_2008_fig_1_keeps_the_promise_at_k_2_and_reaches_3():
    verdict = check(TOY_RELEASED, 2, original=TOY)
    assert verdict.holds
    assert verdict.achieved == {"k": 3}
    assert verdict.witnesses == ()
    assert verdict.violations == 0


def test_pensa_2008_fig_1_is_not_private_before():
    verdict = check(TOY, 2)
    assert not verdict
    assert verdict.achieved == {"k": 1}
    assert verdict.witnesses == (("B", "K", "S"), ("D", "E", "J", "F"))


def test_the_hole_in_theorem_1_is_caught_with_its_witness():
    verdict = check(HOLE_RELEASED, 2, original=HOLE)
    assert not verdict.holds
    assert verdict.achieved == {"k": 1}
    assert verdict.witnesses == (("A", "B"),)
    assert verdict.violations == 1


def test_the_hole_in_theorem_1_is_caught_without_the_original():
    assert told(check(HOLE_RELEASED, 2)) == (False, 1, 1, (("A", "B"),))


def test_the_hole_in_theorem_1_passes_definition_1():
    assert oracles.satisfies_definition_1(HOLE_RELEASED, HOLE, 2)
    assert told(check(HOLE_RELEASED, 2, strict=False, original=HOLE)) == (True, 2, 0, ())


@given(rows_of_text, levels)
def test_the_strict_promise_equals_the_definition(released, k):
    assert bool(check(released, k)) is oracles.is_strictly_k_anonymous(released, k)


@given(releases(), levels)
def test_definition_1_equals_the_definition(both, k):
    released, original = both
    verdict = check(released, k, strict=False, original=original)
    assert bool(verdict) is oracles.satisfies_definition_1(released, original, k)


@given(releases(), levels)
def test_with_the_original_both_halves_are_checked(both, k):
    released, original = both
    assert bool(check(released, k, original=original)) is (
        oracles.is_strictly_k_anonymous(released, k) and oracles.satisfies_definition_1(released, original, k)
    )


@given(rows_of_text, levels)
def test_level_violations_and_witnesses_equal_the_definition(released, k):
    assert told(check(released, k)) == expected_verdict(released, k, released)


@given(releases(), levels, st.booleans())
def test_level_violations_and_witnesses_against_the_original(both, k, strict):
    released, original = both
    databases = (released, original) if strict else (original,)
    verdict = check(released, k, strict=strict, original=original)
    assert told(verdict) == expected_verdict(released, k, *databases)


@given(st.lists(text.filter(bool), min_size=1, max_size=4, unique=True), levels)
def test_one_person_short_names_the_exact_witness(distinct, k):
    longest = max(distinct, key=len)
    private = [row for row in distinct for _ in range(k)]
    assert check(private, k)
    short = private.copy()
    short.remove(longest)
    verdict = check(short, k)
    assert not verdict
    assert verdict.achieved == {"k": k - 1}
    # A longest record is contained in its own copies only, so it rests on one person too few.
    assert tuple(longest) in verdict.witnesses
    assert told(verdict) == expected_verdict(short, k, short)


@given(st.lists(text.filter(bool), min_size=1, max_size=4, unique=True), levels)
def test_one_person_short_in_the_original_names_the_exact_witness(distinct, k):
    longest = max(distinct, key=len)
    private = [row for row in distinct for _ in range(k)]
    original = private.copy()
    original.remove(longest)
    assert check(private, k, original=private)
    verdict = check(private, k, original=original)
    assert not verdict
    assert verdict.achieved == {"k": k - 1}
    assert tuple(longest) in verdict.witnesses


@given(rows_of_text, levels, st.permutations("abc"))
def test_the_verdict_follows_renaming(released, k, renamed):
    rename = dict(zip("abc", renamed, strict=True))
    again = [[rename[item] for item in row] for row in released]
    verdict, other = check(released, k), check(again, k)
    assert (verdict.holds, verdict.achieved, verdict.violations) == (
        other.holds,
        other.achieved,
        other.violations,
    )
    if verdict.violations <= 5:
        followed = {tuple(rename[item] for item in witness) for witness in verdict.witnesses}
        assert followed == set(other.witnesses)


@given(releases(), levels, st.randoms(use_true_random=False))
def test_the_order_of_persons_does_not_matter(both, k, random):
    released, original = both
    shuffled = random.sample(released, len(released)), random.sample(original, len(original))
    assert told(check(released, k, original=original)) == told(check(shuffled[0], k, original=shuffled[1]))


@given(rows_of_text, levels)
def test_the_promise_holds_up_to_the_level_reached(released, k):
    assume(any(released))
    reached = check(released, k).achieved["k"]
    assert check(released, k).holds is (k <= reached)
    assert reached < 2 or check(released, reached)
    assert not check(released, max(reached + 1, 2))


@given(releases(), text, levels)
def test_one_more_person_in_the_original_never_lowers_the_level(both, row, k):
    released, original = both
    before = check(released, k, strict=False, original=original)
    after = check(released, k, strict=False, original=[*original, row])
    assert after.achieved["k"] >= before.achieved["k"]
    assert after.violations <= before.violations


@given(rows_of_text, st.data(), levels)
def test_one_more_copy_of_a_record_never_lowers_the_level(released, data, k):
    assume(any(released))
    copied = data.draw(st.sampled_from(released))
    assert check([*released, copied], k).achieved["k"] >= check(released, k).achieved["k"]


@given(rows_of_text, levels)
def test_a_person_without_events_is_no_record(released, k):
    assert told(check([*released, "", ""], k)) == told(check(released, k))


@given(releases(), levels)
def test_inputs_come_back_untouched(both, k):
    released, original = both
    sides = Sequences.from_rows(released), Sequences.from_rows(original)
    copies = [(side.person_offsets.copy(), side.columns["symbol"].copy()) for side in sides]
    SequenceKAnonymity(k=k).check(sides[0], original=sides[1])
    for side, (offsets, codes) in zip(sides, copies, strict=True):
        assert side.person_offsets.tolist() == offsets.tolist()
        assert side.columns["symbol"].tolist() == codes.tolist()


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        ([], (True, 2, 0, ())),
        (["", ""], (True, 2, 0, ())),
        (["ab"], (False, 1, 1, (("a", "b"),))),
        (["ab"] * 3, (True, 3, 0, ())),
        (["b", "a", "c"], (False, 1, 3, (("a",), ("b",), ("c",)))),
        (["aa", "aa", "a"], (True, 2, 0, ())),
        (["aab", "aab", "ab"], (True, 2, 0, ())),
        (["aab", "abb"], (False, 1, 2, (("a", "a", "b"), ("a", "b", "b")))),
    ],
    ids=[
        "empty table",
        "nobody released",
        "one person",
        "all alike",
        "all different",
        "an item repeated",
        "contained in a longer record",
        "same items, other counts",
    ],
)
def test_edge_cases_have_a_stated_answer(released, expected):
    assert told(check(released, 2)) == expected


def test_a_record_longer_than_every_original_has_no_supporter():
    assert told(check(["abc", "abc"], 2, original=["ab", "bc"])) == (False, 0, 1, (("a", "b", "c"),))


def test_a_label_that_the_original_lacks_has_no_supporter():
    verdict = check(["az", "az"], 2, strict=False, original=["ab", "ab", "ab"])
    assert told(verdict) == (False, 0, 1, (("a", "z"),))


def test_tables_are_checked_by_their_symbols():
    released = EventTable(
        pl.DataFrame({"who": list("ppqqr"), "order": [1, 2, 1, 2, 1], "page": list("abaca")}),
        Schema(person="who", order="order", symbol="page"),
    )
    original = EventTable(
        pl.DataFrame({"user": [1, 1, 2, 3], "at": [5, 3, 1, 1], "url": list("baac")}),
        Schema(person="user", order="at", symbol="url"),
    )
    model = SequenceKAnonymity(k=2)
    assert told(model.check(released)) == (False, 1, 2, (("a", "b"), ("a", "c")))
    assert told(model.check(released, original=original)) == (False, 0, 2, (("a", "b"), ("a", "c")))


def test_codebooks_may_differ():
    # Alone, 9 and 10 are numbers and 9 comes first; beside x they are text and 10 comes first.
    released = [["9", "10"], ["9", "10"]]
    assert told(check(released, 2, original=[["9", "10", "x"]] * 2)) == (True, 2, 0, ())
    assert told(check(released, 2, original=[["10", "9", "x"]] * 2)) == (False, 0, 1, (("9", "10"),))


def test_witnesses_are_five_shortest_first_then_in_label_order():
    verdict = check(["cc", "b", "ab", "a", "ba", "c", "bb", "abc"], 9)
    assert verdict.witnesses == (("a",), ("b",), ("c",), ("a", "b"), ("b", "a"))
    assert verdict.violations == 8


def test_witnesses_are_in_the_order_of_numbers():
    verdict = check([["10"], ["9"], ["2", "1"]], 2)
    assert verdict.witnesses == (("9",), ("10",), ("2", "1"))


def test_without_strict_the_original_is_needed():
    assert SequenceKAnonymity(k=2, strict=False).needs_original
    assert not SequenceKAnonymity(k=2).needs_original
    with pytest.raises(InputError, match="strict = false compares with the original, and none was given"):
        check(["ab", "ab"], 2, strict=False)


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two_is_refused(k):
    with pytest.raises(ParameterError, match=f"^k must be at least 2, got {k}$"):
        SequenceKAnonymity(k=k)


@pytest.mark.parametrize("k", [2.5, "2", None])
def test_k_is_a_whole_number(k):
    with pytest.raises(ParameterError, match="k must be a whole number, got"):
        SequenceKAnonymity(k=k)


def test_the_claim_makes_the_same_model_again():
    model = SequenceKAnonymity(k=7, strict=False)
    assert model.claim() == {"k": 7, "strict": False}
    assert SequenceKAnonymity(**model.claim()) == model
    of_trips = SequenceKAnonymity(k=7, trips=True)
    assert SequenceKAnonymity(**of_trips.claim()) == of_trips
    assert of_trips.claim().keys() == {each.name for each in dataclasses.fields(model)}


def test_the_promise_in_words_names_k_and_what_is_not_promised():
    strict, loose = SequenceKAnonymity(k=31).in_words(), SequenceKAnonymity(k=31, strict=False).in_words()
    assert Counter(strict.split())["31"] == 2
    assert "31" in loose
    assert "not promised" in loose
    assert "not promised" not in strict


@pytest.mark.real
@pytest.mark.thorough
def test_the_raw_clicks_of_a_million_persons_get_a_verdict(shared_data):
    with gzip.open(shared_data / "msnbc" / "msnbc990928.seq.gz", "rt") as file:
        text = file.read().split("% Sequences:", 1)[1]
    lines = [line.split() for line in text.splitlines() if line.strip()]
    sequences = Sequences.from_rows(lines)
    verdict = SequenceKAnonymity(k=50).check(sequences)
    assert not verdict
    assert verdict.achieved == {"k": 1}
    assert len(verdict.witnesses) == 5
    assert all(support(witness, sequences) < 50 for witness in verdict.witnesses)
