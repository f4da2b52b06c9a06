"""Frequent patterns are those that an enumeration of all subsequences finds."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mining as slow
from oracles import sequences as oracles
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.mining import frequent, frequent_itemsets, supports

rows_of_text = st.lists(st.text("abc", max_size=5), max_size=7)


@given(rows_of_text, st.integers(1, 4), st.none() | st.integers(1, 4))
def test_frequent_equals_enumeration(rows, min_support, max_length):
    patterns = frequent(Sequences.from_rows(rows), min_support=min_support, max_length=max_length)
    assert dict(patterns) == oracles.frequent(rows, min_support, max_length)


@given(rows_of_text, st.integers(1, 3), st.permutations("abc"))
def test_frequent_follows_renaming(rows, min_support, renamed):
    rename = dict(zip("abc", renamed, strict=True))
    expected = frequent(Sequences.from_rows(rows), min_support=min_support)
    patterns = frequent(
        Sequences.from_rows([[rename[item] for item in row] for row in rows]), min_support=min_support
    )
    assert dict(patterns) == {
        tuple(rename[item] for item in pattern): count for pattern, count in expected.items()
    }


@given(rows_of_text, st.randoms(use_true_random=False))
def test_the_order_of_persons_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert list(frequent(Sequences.from_rows(rows), min_support=2).items()) == list(
        frequent(Sequences.from_rows(shuffled), min_support=2).items()
    )


@given(rows_of_text, st.integers(1, 3))
def test_mining_and_counting_agree(rows, min_support):
    sequences = Sequences.from_rows(rows)
    patterns = frequent(sequences, min_support=min_support)
    assert supports(patterns, sequences).tolist() == patterns.supports.tolist()


@given(rows_of_text, st.integers(1, 3), st.none() | st.integers(1, 4))
def test_closed_patterns_have_no_equal_above(rows, min_support, max_length):
    found = frequent(Sequences.from_rows(rows), min_support=min_support, max_length=max_length, closed=True)
    assert dict(found) == slow.closed(rows, min_support, max_length)


@given(rows_of_text, st.integers(1, 20), st.integers(1, 3), st.booleans(), st.integers(1, 2))
def test_the_top_are_the_most_frequent_and_first_in_label_order(rows, top, min_support, closed, min_length):
    how = {"min_length": min_length, "closed": closed}
    every = frequent(Sequences.from_rows(rows), min_support=min_support, **how)
    found = frequent(Sequences.from_rows(rows), top=top, min_support=min_support, **how)
    assert list(found.items()) == list(slow.top(every, top).items())
    assert frequent(Sequences.from_rows(rows), top=top, **how).keys() >= found.keys()


@given(rows_of_text, st.integers(1, 9))
def test_the_top_of_everything(rows, top):
    found = frequent(Sequences.from_rows(rows), top=top)
    assert dict(found) == slow.top(oracles.frequent(rows, 1), top)


@given(rows_of_text, st.integers(1, 3), st.none() | st.integers(1, 3), st.booleans(), st.none() | st.just(2))
def test_supporters_are_the_persons_who_contain_it(rows, min_support, max_length, closed, top):
    found = frequent(
        Sequences.from_rows(rows),
        min_support=min_support,
        max_length=max_length,
        closed=closed,
        top=top,
        supporters=True,
    )
    for pattern in found:
        expected = [oracles.is_subsequence(pattern, row) for row in rows]
        assert found.supporters(pattern).tolist() == expected


@given(rows_of_text, st.integers(1, 3), st.none() | st.integers(1, 2))
def test_itemsets_equal_enumeration(rows, min_support, max_length):
    found = frequent_itemsets(
        Sequences.from_rows(rows), min_support=min_support, max_length=max_length, supporters=True
    )
    assert dict(found) == slow.frequent_itemsets(rows, min_support, max_length)
    for itemset in found:
        assert found.supporters(itemset).tolist() == [set(itemset) <= set(row) for row in rows]


@given(rows_of_text, st.integers(1, 5))
def test_the_top_itemsets_are_the_most_frequent(rows, top):
    found = frequent_itemsets(Sequences.from_rows(rows), top=top)
    assert dict(found) == slow.top(slow.frequent_itemsets(rows, 1), top)


@given(rows_of_text, st.integers(1, 2), st.integers(2, 9), st.booleans())
def test_one_shard_equals_many(rows, min_support, shards, closed):
    one, many = (
        frequent(
            Sequences.from_rows(rows),
            min_support=min_support,
            closed=closed,
            supporters=True,
            engine=LocalEngine(threads=2, shards=n),
        )
        for n in (1, shards)
    )
    assert list(one.items()) == list(many.items())
    assert all(np.array_equal(one.supporters(each), many.supporters(each)) for each in one)


@given(st.lists(st.tuples(st.integers(0, 2), st.text("abc", max_size=4)), max_size=7), st.integers(1, 3))
def test_a_person_with_several_sequences_counts_once(trips, min_support):
    owners = sorted({owner for owner, _ in trips})
    persons = [[row for owner, row in trips if owner == each] for each in owners]
    numbers = np.array([number for number, rows in enumerate(persons) for _ in rows], np.int32)
    plain = Sequences.from_rows([row for rows in persons for row in rows])
    sequences = Sequences(plain.person_offsets, plain.columns, plain.codebooks, numbers)

    def counted(holds, candidates):
        counts = {each: sum(any(holds(each, row) for row in rows) for rows in persons) for each in candidates}
        return {each: count for each, count in counts.items() if count >= min_support}

    every = [row for rows in persons for row in rows]
    assert dict(frequent(sequences, min_support=min_support)) == counted(
        oracles.is_subsequence, oracles.all_subsequences(every)
    )
    assert dict(frequent_itemsets(sequences, min_support=min_support)) == counted(
        lambda itemset, row: set(itemset) <= set(row), slow.frequent_itemsets(every, 1)
    )


@pytest.mark.parametrize("asked", [{"top": 1}, {"closed": True}, {"max_gap": 0}, {"max_span": 2}])
def test_what_is_counted_by_sequence_is_refused_where_persons_have_several(asked):
    plain = Sequences.from_rows(["ab", "ab"])
    sequences = Sequences(plain.person_offsets, plain.columns, plain.codebooks, np.zeros(2, np.int32))
    (name,) = asked
    with pytest.raises(ParameterError, match=f"{name} needs one sequence per person, and here persons"):
        frequent(sequences, min_support=1, **asked)


def test_progress_reaches_the_end():
    heard = []
    frequent(Sequences.from_rows(["abc", "ab"]), min_support=1, progress=lambda *said: heard.append(said))
    assert heard[-1] == (1.0, "mining patterns")
    heard.clear()
    frequent(Sequences.from_rows(["abc", "ab"]), top=2, progress=lambda *said: heard.append(said))
    assert all(0 < share <= 1 for share, _ in heard)


def test_supporters_must_be_asked_for():
    with pytest.raises(ParameterError, match="supporters were not kept: mine with supporters=True"):
        frequent(Sequences.from_rows(["ab"]), min_support=1).supporters(("a",))


def test_support_or_number_must_be_given():
    with pytest.raises(ParameterError, match="min_support or top must be given"):
        frequent(Sequences.from_rows(["ab"]))


def test_a_top_beyond_the_limit_is_refused_only_where_it_is_reached():
    sequences = Sequences.from_rows(["ab"])
    assert len(frequent(sequences, top=9, max_patterns=3)) == 3
    with pytest.raises(ParameterError, match="more than 2 patterns have at least 1 supporters"):
        frequent(sequences, top=9, max_patterns=2)


def test_shards_stop_each_other_when_there_are_too_many_patterns():
    sequences = Sequences.from_rows(["abcdefgh"] * 2)
    with pytest.raises(ParameterError, match="more than 200 patterns"):
        frequent(sequences, min_support=2, max_patterns=200, engine=LocalEngine(threads=2, shards=8))


def test_patterns_are_a_mapping_in_label_order():
    patterns = frequent(Sequences.from_rows([["9", "10"], ["9", "10"]]), min_support=2)
    assert list(patterns) == [("9",), ("9", "10"), ("10",)]
    assert len(patterns) == 3
    assert patterns["9", "10"] == 2
    assert patterns.get(("10", "9")) is None
    assert repr(patterns) == "Patterns(3 patterns)"
    with pytest.raises(KeyError):
        patterns["10", "9"]


@pytest.mark.parametrize(
    ("rows", "min_support", "expected"),
    [
        ([], 1, {}),
        ([""], 1, {}),
        (["ab"], 1, {("a",): 1, ("a", "b"): 1, ("b",): 1}),
        (["aa"] * 3, 3, {("a",): 3, ("a", "a"): 3}),
        (["a", "b", "c"], 2, {}),
        (["aab", "ab"], 2, {("a",): 2, ("a", "b"): 2, ("b",): 2}),
        (["ab"], 2, {}),
    ],
    ids=[
        "no person",
        "no event",
        "one person",
        "all alike",
        "all different",
        "repeated item",
        "too few persons",
    ],
)
def test_edge_cases_have_a_stated_answer(rows, min_support, expected):
    assert dict(frequent(Sequences.from_rows(rows), min_support=min_support)) == expected


@pytest.mark.parametrize(
    "name", ["min_support", "top", "min_length", "max_length", "max_span", "max_patterns"]
)
def test_a_number_below_one_is_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
        frequent(Sequences.from_rows(["ab"]), **{"min_support": 1, name: 0})


def test_too_many_patterns_are_refused_aloud():
    sequences = Sequences.from_rows(["abcdefgh"] * 2)
    assert len(frequent(sequences, min_support=2, max_patterns=255)) == 255
    with pytest.raises(
        ParameterError, match="more than 254 patterns have at least 2 supporters: raise min_support"
    ):
        frequent(sequences, min_support=2, max_patterns=254)


def test_alphabets_beyond_a_machine_word():
    labels = [f"s{number:03}" for number in range(200)]
    patterns = frequent(Sequences.from_rows([labels, labels[::-1], labels[:2]]), min_support=2)
    assert dict(patterns) == {
        **{(label,): 3 if label in ("s000", "s001") else 2 for label in labels},
        ("s000", "s001"): 2,
    }


@pytest.mark.real
def test_mining_msnbc_agrees_with_counting(shared_data):
    with gzip.open(shared_data / "msnbc" / "msnbc990928.seq.gz", "rt") as file:
        text = file.read().split("% Sequences:", 1)[1]
    lines = [line.split() for line in text.splitlines() if line.strip()]
    sequences = Sequences.from_rows(lines)
    assert sequences.n_persons == 989_818
    patterns = frequent(sequences, min_support=4949)
    assert supports(patterns, sequences).tolist() == patterns.supports.tolist()
    assert patterns.supports.min() >= 4949
    # No pattern was missed next to those found: each of their extensions by one item is found or infrequent.
    longer = [(*pattern, label) for pattern in patterns for label in patterns.codebook.labels]
    counts = supports(longer, sequences)
    assert np.array_equal(counts >= 4949, [pattern in patterns for pattern in longer])
