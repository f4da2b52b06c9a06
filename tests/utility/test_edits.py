"""Edit distances, invented items and pairs of sequences equal their definitions, person by person."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import sequences as oracles
from oracles.losses import count_losses as by_the_oracle
from sequester.data.sequences import Sequences
from sequester.data.text import Codebook
from sequester.errors import ParameterError
from sequester.hierarchies import Hierarchy
from sequester.testing import history_table, symbol_table
from sequester.utility import edit_distance, edits, invented_items
from sequester.utility.edits import Losses, count_losses, pair_sequences, suppression

persons = st.lists(st.tuples(st.text("abc", max_size=6), st.text("abc", max_size=6)), max_size=8)


def distance(released, original):
    return edit_distance(Sequences.from_rows(released), original=Sequences.from_rows(original)).value


@given(persons)
def test_the_mean_equals_the_table(pairs):
    released, original = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    total = sum(oracles.levenshtein(*pair) for pair in pairs)
    assert distance(released, original) == pytest.approx(total / max(len(pairs), 1))


@given(persons)
def test_both_directions_are_equally_far(pairs):
    released, original = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert distance(released, original) == distance(original, released)


@given(persons, st.permutations("abc"))
def test_renaming_changes_nothing(pairs, renamed):
    rename = str.maketrans("abc", "".join(renamed))
    released, original = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert distance(
        [row.translate(rename) for row in released], [row.translate(rename) for row in original]
    ) == distance(released, original)


@given(persons)
def test_many_symbols_are_compared_as_numbers(pairs):
    released, original = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    expected = distance(released, original)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "MAX_CHARACTERS", 0)
        assert distance(released, original) == expected


@pytest.mark.parametrize(
    ("released", "original", "expected"),
    [
        ([], [], 0.0),
        ([""], ["abc"], 3.0),
        (["abc"], ["abc"], 0.0),
        (["ADEF"], ["DEJF"], 2.0),
        (["", "b"], ["", "a"], 0.5),
        (["abab"], ["baba"], 2.0),
        (["xy", "xy"], ["ab", "ab"], 2.0),
    ],
    ids=[
        "empty table",
        "not released",
        "unchanged",
        "the paper's DEJF",
        "a person without events",
        "an item repeated",
        "other symbols",
    ],
)
def test_edge_cases_have_a_stated_answer(released, original, expected):
    assert distance(released, original) == expected


def test_codes_beyond_the_surrogates_are_characters_too():
    labels = [f"{number:05}" for number in range(0xD800 + 0x900)]
    released = [labels, labels[:-1], ["57343"]]
    original = [labels, labels[1:], ["55296"]]
    assert distance(released, original) == pytest.approx((0 + 2 + 1) / 3)


def test_other_persons_are_refused():
    with pytest.raises(ParameterError, match="must have the same persons, there are 1 and 2"):
        distance(["a"], ["a", "b"])


def test_the_score_says_what_it_means():
    both = Sequences.from_rows(["ab"])
    score = edit_distance(both, original=both)
    assert (score.goal, score.bounds) == ("minimize", (0, None))
    assert "inserted, deleted or substituted" in score.means


owners = st.lists(st.tuples(st.text("abc", max_size=4), st.text("abc", max_size=4)), max_size=8)


def invented(released, original):
    return invented_items(Sequences.from_rows(released), original=Sequences.from_rows(original)).value


@given(owners)
def test_the_count_equals_the_definition(pairs):
    released, original = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert invented(released, original) == sum(1 for after, before in pairs if set(after) - set(before))


@given(owners)
def test_a_part_of_the_original_invents_nothing(pairs):
    original = [before for _, before in pairs]
    assert invented([before[1::2] for before in original], original) == 0


@pytest.mark.parametrize(
    ("released", "original", "expected"),
    [
        ([], [], 0),
        ([""], ["abc"], 0),
        (["ADEF"], ["DEJF"], 1),
        (["aab"], ["ab"], 0),
        (["ba"], ["ab"], 0),
        (["xy", "xy"], ["ab", "ab"], 2),
    ],
    ids=["empty table", "not released", "the paper's DEJF", "an item repeated", "order", "other symbols"],
)
def test_invented_items_of_edge_cases(released, original, expected):
    assert invented(released, original) == expected


def test_the_score_of_invented_items_says_what_it_means():
    both = Sequences.from_rows(["ab", "a", "b"])
    score = invented_items(both, original=both)
    assert (score.goal, score.bounds) == ("minimize", (0, 3))
    assert "of the 3 persons" in score.means


few_persons = st.lists(st.tuples(st.text("abc", max_size=3), st.text("bcd", max_size=3)), max_size=8)


def row(rows, number, book):
    return "".join(book.decode(rows.items[rows.offsets[number] : rows.offsets[number + 1]]))


@given(few_persons)
def test_pairs_are_those_of_the_persons_with_their_number(people):
    after, before = [pair[0] for pair in people], [pair[1] for pair in people]
    pairs = pair_sequences(Sequences.from_rows(after), Sequences.from_rows(before))
    book = Codebook.of("".join(after + before))
    assert pairs.n_symbols == len(book)
    assert pairs.n_persons == len(people)
    folded = {
        (row(pairs.after, a, book), row(pairs.before, b, book)): weight
        for a, b, weight in zip(
            pairs.after_rows.tolist(), pairs.before_rows.tolist(), pairs.weights.tolist(), strict=True
        )
    }
    assert folded == dict(Counter(people))


rows = st.text("abc", min_size=1, max_size=6)
released_rows = st.text("abcx*", max_size=6)


@given(st.lists(st.tuples(rows, released_rows), min_size=1, max_size=8), st.booleans())
def test_any_pair_of_records_is_aligned_as_by_the_oracle(pairs, permuted):
    before, after = zip(*pairs, strict=True)
    found = count_losses(Sequences.from_rows(after), symbol_table(before), permuted=permuted)
    expected = by_the_oracle(before, after, permuted=permuted)
    assert (found.lost, found.moved, found.invented) == expected


@given(st.lists(rows, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_coarser_symbols_are_still_there_and_the_root_is_not(before, random):
    tree = {"a": "early", "b": "early", "c": "*", "early": "*", "*": "*"}
    after = [[random.choice([each, tree[each], "*"]) for each in row] for row in before]
    table = symbol_table(
        before, hierarchy=Hierarchy.from_edges([(n, p) for n, p in tree.items() if n != "*"])
    )
    found = count_losses(Sequences.from_rows(after), table)
    assert found == Losses(lost=sum(each == "*" for row in after for each in row))


def test_an_event_with_nothing_but_stars_is_lost():
    table = history_table(["ab", "b"])
    after = Sequences(
        np.array([0, 2, 2]),
        {"letter": Sequences.from_rows(["a*"]).columns["symbol"]},
        {"letter": Sequences.from_rows(["a*"]).codebooks["symbol"]},
    )
    assert count_losses(after, table).lost == 2


@pytest.mark.parametrize(
    ("before", "after", "lost", "moved", "invented"),
    [
        ("DEJF", "ADEF", 1, 0, 1),  # Pensa et al. (2008), Fig. 1
        ("BK", "KB", 1, 1, 0),
        ("ab", "", 2, 0, 0),
        ("abcdef", "ab", 4, 0, 0),
        ("ab", "aab", 0, 1, 0),  # once more than the person had it
        ("abc", "xyz", 3, 0, 3),
        ("abc", "xabc", 0, 0, 1),
    ],
)
def test_by_hand(before, after, lost, moved, invented):
    found = count_losses(Sequences.from_rows([after]), symbol_table([before]))
    assert found == Losses(lost=lost, moved=moved, invented=invented)


def test_the_measure_counts_a_sequence_that_was_moved():
    released = Sequences.from_rows(["ab", "ab"])
    scores = suppression(released, original=symbol_table(["ab", "xxxxxx"]))
    assert scores["suppressed_events"].value == pytest.approx(6 / 8)


def test_both_sides_have_the_same_persons():
    with pytest.raises(ParameterError, match="same persons, there are 1 and 2"):
        count_losses(Sequences.from_rows(["a"]), symbol_table(["a", "b"]))
