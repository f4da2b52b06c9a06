"""Pairs of a person's sequences are folded without losing anybody."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sequester.data.codebook import Codebook
from sequester.data.sequences import Sequences
from sequester.utility.pairs import aligned

persons = st.lists(st.tuples(st.text("abc", max_size=3), st.text("bcd", max_size=3)), max_size=8)


def row(rows, number, book):
    return "".join(book.decode(rows.items[rows.offsets[number] : rows.offsets[number + 1]]))


@given(persons)
def test_pairs_are_those_of_the_persons_with_their_number(people):
    after, before = [pair[0] for pair in people], [pair[1] for pair in people]
    pairs = aligned(Sequences.from_rows(after), Sequences.from_rows(before))
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
