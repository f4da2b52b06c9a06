"""Supports and minimum prefixes are what the definitions say."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining as slow
from oracles import sequences as oracles
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine
from sequester.errors import SchemaError
from sequester.mining import count_embeddings, embeddings, minimum_prefix, support, supporters, supports
from sequester.mining.support import MOST_EMBEDDINGS, mark_patterns, supports_of_codes

text = st.text("abc", max_size=6)
rows_of_text = st.lists(text, max_size=7)
# Every word of up to three letters, one of which no row has: a drawn pattern would seldom be contained.
WORDS = ["".join(word) for size in range(4) for word in product("abcd", repeat=size)]


def test_pensa_2008_example_1_minimum_prefix():
    assert minimum_prefix("ACD", "ABCDECDF") == tuple("ABCD")


@given(text)
def test_minimum_prefix_equals_definition(sequence):
    for word in WORDS:
        assert minimum_prefix(word, sequence) == oracles.minimum_prefix(word, sequence)


@given(rows_of_text)
def test_supporters_equal_definition(rows):
    sequences = Sequences.from_rows(rows)
    for word in WORDS:
        expected = [oracles.is_subsequence(word, row) for row in rows]
        assert supporters(word, sequences).tolist() == expected
        assert support(word, sequences) == sum(expected)


@given(rows_of_text)
def test_marks_of_patterns_equal_definition(rows):
    sequences, words = Sequences.from_rows([*rows, "abcd"]), Sequences.from_rows(["abcd", *WORDS[1:]])
    marks = mark_patterns(
        sequences.columns["symbol"], sequences.person_offsets, words.columns["symbol"], words.person_offsets
    )
    expected = [
        [oracles.is_subsequence(word, row) for word in ("abcd", *WORDS[1:])] for row in (*rows, "abcd")
    ]
    assert marks.tolist() == expected


@given(rows_of_text, st.permutations(WORDS) | st.just(WORDS))
def test_supports_of_many_equal_definition(rows, words):
    expected = [oracles.support(word, rows) for word in words]
    assert supports(words, Sequences.from_rows(rows)).tolist() == expected


@given(rows_of_text, st.permutations("abcd"))
def test_support_follows_renaming(rows, renamed):
    rename = str.maketrans("abcd", "".join(renamed))
    again = supports(
        [word.translate(rename) for word in WORDS],
        Sequences.from_rows([row.translate(rename) for row in rows]),
    )
    assert again.tolist() == supports(WORDS, Sequences.from_rows(rows)).tolist()


@given(rows_of_text, text)
def test_one_more_person_adds_one_to_what_they_contain_and_takes_nothing_away(rows, row):
    before, after = (supports(WORDS, Sequences.from_rows(persons)) for persons in (rows, [*rows, row]))
    assert (after - before).tolist() == [oracles.is_subsequence(word, row) for word in WORDS]


@given(rows_of_text, text, st.data())
def test_a_part_of_a_pattern_has_no_fewer_supporters(rows, pattern, data):
    kept = data.draw(st.lists(st.booleans(), min_size=len(pattern), max_size=len(pattern)))
    piece = [item for item, is_kept in zip(pattern, kept, strict=True) if is_kept]
    sequences = Sequences.from_rows(rows)
    assert support(piece, sequences) >= support(pattern, sequences)


@given(rows_of_text, st.integers(2, 99))
def test_one_shard_equals_many(rows, shards):
    asked, sequences = Sequences.from_rows(WORDS), Sequences.from_rows(rows)
    counts = [
        supports_of_codes(
            asked.columns["symbol"],
            asked.person_offsets,
            asked.codebooks["symbol"],
            sequences.distinct(),
            sequences.codebooks["symbol"],
            engine=LocalEngine(threads=2, shards=n),
        ).tolist()
        for n in (1, shards)
    ]
    assert counts[0] == counts[1]


@given(rows_of_text)
def test_embeddings_equal_enumeration(rows):
    sequences = Sequences.from_rows(rows)
    for word in WORDS:
        expected = [len(slow.embeddings(word, row)) for row in rows]
        assert embeddings(word, sequences).tolist() == expected
        assert [count_embeddings(word, row) for row in rows] == expected


def test_embeddings_that_no_machine_word_holds():
    row = "a" * 200
    assert count_embeddings("a" * 100, row) == comb(200, 100)
    assert embeddings("a" * 100, Sequences.from_rows([row, "a" * 101])).tolist() == [MOST_EMBEDDINGS, 101]


def test_labels_are_compared_and_not_codes():
    # Alone, 9 and 10 are numbers and 9 comes first; beside x they are text and 10 comes first.
    sequences = Sequences.from_rows([["10", "9", "x"], ["9", "10"], ["x"]])
    patterns = [["9"], ["9", "10"], ["10", "9"], ["10", "10"]]
    assert supports(patterns, sequences).tolist() == [2, 1, 1, 0]


@pytest.mark.parametrize(
    ("rows", "pattern", "expected"),
    [
        ([], "a", 0),
        ([], "", 0),
        (["ab"], "ab", 1),
        (["ab", "", "b"], "", 3),
        (["ab"] * 4, "ab", 4),
        (["ab", "ba", "c"], "c", 1),
        (["abab"], "aab", 1),
        (["aa", "a"], "aa", 1),
        (["ab", "ab"], "abab", 0),
        (["ab"], "z", 0),
    ],
    ids=[
        "no person",
        "no person, empty pattern",
        "one person",
        "the empty pattern",
        "all alike",
        "all different",
        "an item repeated in the row",
        "an item repeated in the pattern",
        "longer than every row",
        "unknown label",
    ],
)
def test_edge_cases_have_a_stated_answer(rows, pattern, expected):
    sequences = Sequences.from_rows(rows)
    assert support(pattern, sequences) == expected
    assert supports([pattern], sequences).tolist() == [expected]


def test_alphabets_beyond_a_machine_word():
    labels = [f"s{number:03}" for number in range(300)]
    sequences = Sequences.from_rows([labels, labels[::-1], labels[::2]])
    assert supports(
        [["s000", "s064"], ["s064", "s000"], ["s000", "s128", "s256"], ["s001"]], sequences
    ).tolist() == [
        2,
        1,
        2,
        2,
    ]


def test_several_attributes_are_refused():
    one = Sequences.from_rows(["ab"])
    column, book = one.columns["symbol"], one.codebooks["symbol"]
    two = Sequences(one.person_offsets, {"x": column, "y": column}, {"x": book, "y": book})
    with pytest.raises(SchemaError, match="one attribute is needed, there are 2: x, y"):
        support("a", two)
