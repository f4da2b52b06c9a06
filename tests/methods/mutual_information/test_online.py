"""Symbols one by one: never above the bound, never revised, never later than the window."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from methods.mutual_information.cases import TREES, taxonomy
from oracles import mutual_information as oracles
from sequester.errors import InputError, ParameterError
from sequester.methods.mutual_information.method import TopDown
from sequester.methods.mutual_information.online import (
    ExactLeakageAccount,
    PaperLeakageAccount,
)


@st.composite
def streams(draw):
    tree = TREES[draw(st.sampled_from(sorted(TREES)))]
    symbols = "".join(oracles.leaves(tree))
    row = draw(st.text(symbols, max_size=12))
    patterns = draw(st.lists(st.text(symbols, min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
    asked = {
        "patterns": [tuple(pattern) for pattern in patterns],
        "window": draw(st.integers(1, 3)),
        "worst_case": draw(st.booleans()),
        "measure": draw(st.sampled_from(["exact", "paper"])),
    }
    return tree, row, asked, draw(st.sampled_from([0.0, 0.05, 0.2, 0.5, 0.7, 2.0]))


@given(streams())
def test_the_leakage_of_every_prefix_is_within_the_bound_by_the_oracles_count(stream):
    tree, row, asked, bits = stream
    online = TopDown(max_leakage_bits=bits, **asked).follow(taxonomy(tree))
    released = tuple(online.run(row))
    assert len(released) == len(row)
    for end in range(len(row) + 1):
        assert oracles.is_private(
            row[:end],
            released[:end],
            asked["patterns"],
            asked["window"],
            bits=bits,
            worst_case=asked["worst_case"],
            measure=asked["measure"],
        )


@given(streams(), st.text("ab", max_size=4))
def test_what_has_left_does_not_depend_on_what_comes_later_than_the_window(stream, more):
    tree, row, asked, bits = stream
    first, second = (TopDown(max_leakage_bits=bits, **asked).follow(taxonomy(tree)) for _ in range(2))
    gone = [node for symbol in row for node in first.push(symbol)]
    assert len(gone) == max(0, len(row) - asked["window"])
    assert gone == list(second.run(row + more))[: len(gone)]


@given(streams())
def test_the_running_bound_is_no_less_than_what_leaks(stream):
    tree, row, asked, bits = stream
    online = TopDown(max_leakage_bits=bits, **asked).follow(taxonomy(tree))
    released = tuple(online.run(row))
    most = max(oracles.leaks(row, released, **asked).values())
    assert most <= online.leakage_bits + 1e-9
    if asked["measure"] == "exact":
        assert online.leakage_bits == pytest.approx(most, abs=1e-9)
    assert online.leakage_bits <= bits + 1e-9


accounts_of_both = st.sampled_from([PaperLeakageAccount, ExactLeakageAccount])


@given(
    accounts_of_both,
    st.lists(st.tuples(st.sampled_from(["ab", "ba"]), st.sampled_from([(0, 0), (0, 1)])), max_size=8),
)
def test_an_account_undoes_what_it_counted(kind, entries):
    account = kind(2, [[("a", "b")], [("b", "a")]], window=2)
    account.add(("a", "b"), (0, 1))
    account.settle()
    before = account.total, account.leakage, account.worst_to_come
    mark = account.mark()
    for symbols, image in entries:
        account.add(tuple(symbols), image)
    account.undo(mark)
    assert (account.total, account.leakage, account.worst_to_come) == before


def count_ending(accounts, before, symbol, node):
    """Count the tuples that end with a symbol, as a stream does."""
    for account in accounts:
        for places in itertools.combinations(before[-account.window :], account.length - 1):
            symbols = (*(each[0] for each in places), symbol)
            account.add(symbols, (*(each[1] for each in places), node))
    before.append((symbol, node))


events = st.tuples(st.sampled_from("abx"), st.sampled_from([0, 1, 2]))


@given(
    accounts_of_both,
    st.lists(events, max_size=8),
    st.integers(1, 3),
    # Futures that are nothing but one outcome, or dense with it, are the worst.
    st.text("abx", max_size=25)
    | st.sampled_from(["ab", "a", "b", "x", "ax", "aab", "abx"]).map(lambda s: 20 * s),
    st.sampled_from([["ab"], ["ab", "ba"], ["ab", "ax"], ["aa"]]),
    st.sampled_from([["abx"], ["aab", "abb"], ["aaa"]]),
)
def test_no_future_on_the_root_is_worse_than_foretold(kind, past, window, future, pairs, triples):
    accounts = [
        kind(2, [map(tuple, pairs)], window=window),
        kind(3, [map(tuple, triples)], window=window),
        kind(1, [[("a",)], [("b",), ("x",)]], window=window),
    ]
    before = []
    for symbol, node in past:
        count_ending(accounts, before, symbol, node)
    for symbol in future[:window].ljust(window, "a"):
        count_ending(accounts, before, symbol, 0)
    foretold = [max(account.worst_to_come, account.leakage) for account in accounts]
    for symbol in future[window:]:
        count_ending(accounts, before, symbol, 0)
        assert all(account.leakage <= most + 1e-9 for account, most in zip(accounts, foretold, strict=True))


def test_a_generous_bound_changes_nothing_and_none_at_all_shows_nothing():
    row = "abcdabcdab"
    asked = {"patterns": [("a", "b")], "window": 2}
    tree = taxonomy(TREES["two levels"])
    assert list(TopDown(max_leakage_bits=3, **asked).follow(tree).run(row)) == list(row)
    assert set(TopDown(max_leakage_bits=0, **asked).follow(tree).run(row)) == {"*"}


def test_the_loss_is_compared_with_offline_on_the_same_sequence():
    """Online knows no future and keeps the bound at every prefix, so on the whole it loses more."""
    chance = np.random.default_rng(5)
    row = "".join(chance.choice(list("abcd"), 300))
    tree = taxonomy(TREES["two levels"])
    asked = {"patterns": [("a", "b"), ("c", "d")], "window": 3}
    losses = []
    for bits in (0.1, 0.3, 0.6):
        online = TopDown(max_leakage_bits=bits, **asked).follow(tree)
        list(online.run(row))
        losses.append(online.loss_per_symbol)
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1]


def test_a_symbol_outside_the_taxonomy_and_one_after_the_end_are_refused():
    online = TopDown(patterns=[("a", "b")], window=2, max_leakage_bits=0.5).follow(taxonomy(TREES["flat"]))
    with pytest.raises(InputError, match="symbol 'z' is not a leaf of the taxonomy"):
        online.push("z")
    assert online.finish() == []
    assert online.loss_per_symbol == 0
    with pytest.raises(ParameterError, match="the stream is finished"):
        online.push("a")


def test_following_needs_bits_and_what_can_be_known_in_advance():
    tree = taxonomy(TREES["flat"])
    followed = TopDown(patterns=[["a", "b"]], max_leakage_bits=1.0, window=1).follow(tree)
    assert list(followed.run("ab")) == ["a", "b"]
    for asked, message in [
        ({}, "max_leakage_bits must be given to follow a stream: its entropy is not known in advance"),
        ({"max_leakage_bits": 1, "search": "optimal"}, 'search must not be "optimal" to follow a stream'),
        ({"max_leakage_bits": 1, "weight": "w"}, "weight must not be given to follow a stream"),
    ]:
        with pytest.raises(ParameterError) as refused:
            TopDown(patterns=[["a", "b"]], **asked).follow(tree)
        assert str(refused.value).startswith(message)
