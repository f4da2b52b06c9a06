"""Pattern hiding by the words of the promise alone, in releases as a recipient gets them.

Fewer than `min_support` persons support each sensitive pattern, and no forbidden pattern is where it was not
before. Supports are counted here by walking along each person's items, and by nothing else.
"""

from __future__ import annotations

import csv
import json
import math
import warnings
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sequester as sq
from sequester.data.sequences import Sequences
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods import METHODS
from sequester.privacy.pattern_hiding import PatternHiding
from sequester.testing import symbol_table

SEED = "a sentence that is long enough"
LETTERS = "abc"
words = st.text(LETTERS, min_size=1, max_size=5)
databases = st.lists(words, min_size=2, max_size=8)
sensitive_words = st.lists(st.text(LETTERS, min_size=1, max_size=3), min_size=1, max_size=3, unique=True)
thresholds = st.integers(1, 4) | st.sampled_from([0.1, 0.25, 0.5, 0.75])


def contains(row, pattern):
    """Whether the items of `pattern` come one after the other in `row`."""
    ahead = iter(row)
    return all(item in ahead for item in pattern)


def count(rows, pattern):
    return sum(contains(row, pattern) for row in rows)


def persons_of(threshold, n_persons):
    """A fraction below 1 is that share of the persons, rounded up."""
    return threshold if threshold >= 1 else math.ceil(Fraction(str(threshold)) * n_persons)


def new_unseen(before, after):
    """The ordered pairs that nobody had, and somebody has."""
    pairs = {first + second for first in LETTERS for second in LETTERS}
    return {pair for pair in pairs if count(after, pair) and not count(before, pair)}


def released_rows(method, rows):
    """The rows of the release, person by person in the order of the original; None where it was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            release = method.apply(symbol_table(rows), seed=SEED)
        except UnattainableError:
            return None, None
    return in_order_of_the_original(release.frame.iter_rows(named=True), release, len(rows)), release


def in_order_of_the_original(events, release, n_persons):
    items = {}
    for event in events:
        items.setdefault(event["person"], []).append((int(event["order"]), event["symbol"]))
    names = dict(release.pseudonyms.iter_rows())
    persons = [items.pop(names.get(f"person {number}"), []) for number in range(1, n_persons + 1)]
    assert not items, "the release has somebody who was not there"
    # A deletion leaves no mark: the order counts from 1 without a hole, and every item is a letter.
    for person in persons:
        assert [place for place, _ in person] == list(range(1, len(person) + 1))
        assert all(symbol in LETTERS for _, symbol in person)
    return ["".join(symbol for _, symbol in person) for person in persons]


def occurs(rows, patterns):
    return any(count(rows, pattern) for pattern in patterns)


@settings(max_examples=40)
@given(databases, sensitive_words, thresholds, st.sampled_from(["ph", "sbsh", "abul"]))
def test_fewer_persons_than_said_support_each_sensitive_pattern(rows, hidden, min_support, name):
    if not occurs(rows, hidden):
        return
    method = METHODS[name](patterns=[list(word) for word in hidden], min_support=min_support)
    after, release = released_rows(method, rows)
    if after is None:
        return
    bound = persons_of(min_support, len(rows))
    assert all(count(after, word) < bound for word in hidden)
    assert release.verdict.holds
    # Whoever supports nothing that is hidden is published as they are.
    for old, new in zip(rows, after, strict=True):
        if not any(contains(old, word) for word in hidden):
            assert new == old


@settings(max_examples=30)
@given(databases, st.lists(st.tuples(words, st.integers(1, 3)), min_size=1, max_size=3))
def test_each_pattern_stays_below_its_own_number(rows, named):
    named = {word[:3]: number for word, number in named}
    if not occurs(rows, named):
        return
    tables = [{"items": list(word), "min_support": number} for word, number in named.items()]
    after, _ = released_rows(sq.PH(pattern=tables), rows)
    if after is not None:
        assert all(count(after, word) < number for word, number in named.items())


@settings(max_examples=30)
@given(
    databases,
    sensitive_words,
    st.integers(1, 3),
    st.lists(st.text(LETTERS, min_size=2, max_size=3), max_size=3),
)
def test_no_forbidden_pattern_is_where_it_was_not_before(rows, hidden, min_support, forbidden):
    if not occurs(rows, hidden):
        return
    method = sq.PH(
        patterns=[list(word) for word in hidden],
        min_support=min_support,
        forbidden=[list(word) for word in forbidden],
    )
    after, _ = released_rows(method, rows)
    if after is None:
        return
    for old, new in zip(rows, after, strict=True):
        assert not [word for word in forbidden if contains(new, word) and not contains(old, word)]


@settings(max_examples=30)
@given(databases, sensitive_words, st.integers(1, 3))
def test_pairs_that_nobody_had_stay_unseen(rows, hidden, min_support):
    if not occurs(rows, hidden):
        return
    method = sq.PH(patterns=[list(word) for word in hidden], min_support=min_support, forbidden="unseen")
    after, _ = released_rows(method, rows)
    if after is not None:
        assert not new_unseen(rows, after)


@given(databases, sensitive_words, thresholds, st.data())
def test_the_check_says_yes_just_where_the_words_do(rows, hidden, min_support, data):
    after = [data.draw(st.permutations(row)) for row in rows]
    after = ["".join(row[: data.draw(st.integers(0, len(row)))]) for row in after]
    forbidden = data.draw(st.sampled_from([(), "unseen", ("ab", "ca")]))
    model = PatternHiding(
        sensitive=frozenset(map(tuple, hidden)),
        min_support=min_support,
        forbidden=forbidden if forbidden == "unseen" else frozenset(map(tuple, forbidden)),
    )
    bound = persons_of(min_support, len(rows))
    if forbidden == "unseen":
        is_new = bool(new_unseen(rows, after))
    else:
        pairs = list(zip(rows, after, strict=True))
        is_new = any(
            contains(new, word) and not contains(old, word) for old, new in pairs for word in forbidden
        )
    verdict = model.check(Sequences.from_rows(after), original=Sequences.from_rows(rows))
    assert verdict.holds == (all(count(after, word) < bound for word in hidden) and not is_new)


@pytest.mark.parametrize("name", ["ph", "sbsh", "abul"])
def test_the_files_keep_the_promise_and_do_not_tell_the_patterns(tmp_path, name):
    rows = ["abcab", "abc", "acb", "cab", "bca", "abba"] * 3
    after, release = released_rows(METHODS[name](patterns=[["a", "b"], ["c", "b"]], min_support=4), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        sq.write(release, tmp_path / "out", original=symbol_table(rows))
    with (tmp_path / "out" / "release" / "events.csv").open(encoding="utf-8", newline="") as file:
        written = in_order_of_the_original(csv.DictReader(file), release, len(rows))
    assert written == after
    assert count(written, "ab") < 4
    assert count(written, "cb") < 4
    certificate = json.loads((tmp_path / "out" / "release" / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["claim"]["model"] == "PatternHiding"
    assert certificate["claim"]["parameters"] == {"min_support": 4}
    assert not {"pattern", "patterns", "forbidden"} & set(certificate["method"]["parameters"])
