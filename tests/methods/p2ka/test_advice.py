"""The k that is named does what is said of it, and none better is passed over in silence."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import p2ka as oracles
from sequester.data.sequences import Sequences
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.methods.p2ka import algorithm
from sequester.methods.p2ka.algorithm import FeasibleK, Reconstructor, largest
from sequester.testing import symbol_table

rows_of_three = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=15)
METHODS = [BFP2kA, PrefixPruning]


def advice(rows, *, strict=True, reattach=True):
    sequences = Sequences.from_rows(rows)
    reconstructor = Reconstructor(
        distinct=sequences.distinct(),
        strict=strict,
        reattach=reattach,
        engine=LocalEngine(),
    )
    return FeasibleK(reconstructor)


@given(rows_of_three, st.booleans(), st.booleans())
def test_the_largest_k_releases_something_and_no_larger_one_does(rows, strict, reattach):
    best = advice(rows, strict=strict, reattach=reattach).largest_k
    releasing = [
        k for k in range(2, len(rows) + 1) if any(oracles.release(rows, k, strict=strict, reattach=reattach))
    ]
    assert releasing == list(range(2, best + 1))


@given(rows_of_three, st.integers(2, 5))
def test_the_bounds_hold_and_grow_with_k(rows, k):
    one = advice(rows)
    assert one.least_cut(k) == oracles.cut_share(rows, k, strict=False)
    assert one.most_cut(k) == oracles.cut_share(rows, k, reattach=False)
    assert one.least_cut(k) <= oracles.cut_share(rows, k) <= one.most_cut(k)
    assert one.least_cut(k) <= one.least_cut(k + 1)
    assert one.most_cut(k) <= one.most_cut(k + 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        (
            ["ab", "ab", "ab"],
            4,
            "k = 4 is more than the 3 persons; the largest k that releases anything here is 3",
        ),
        (["ab", "ab", "b"], 3, "k = 3 releases nothing; the largest k that releases anything here is 2"),
        (["ab", "ba"], 2, "k = 2 releases nothing; no k of 2 or more releases anything here"),
        (["ab"], 2, "k = 2 is more than the 1 person; no k of 2 or more releases anything here"),
        ([], 2, "k = 2 is more than the 0 persons; no k of 2 or more releases anything here"),
    ],
)
def test_a_k_that_releases_nothing_is_refused_with_one_that_does(method, rows, k, message):
    with pytest.raises(UnattainableError) as refused:
        method(k=k).apply(symbol_table(rows))
    assert str(refused.value).removesuffix(", because no two persons begin alike") == message
    named = re.search(r"here is (\d+)$", str(refused.value))
    if named:
        assert refused.value.achieved == {"k": int(named[1])}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SequesterWarning)
            assert method(k=int(named[1])).apply(symbol_table(rows)).verdict


def test_pruning_may_release_nothing_although_persons_begin_alike():
    rows = ["ab", "ac"]
    with pytest.warns(SequesterWarning):
        assert BFP2kA(k=2).apply(symbol_table(rows)).frame["symbol"].to_list() == ["a", "a"]
    with pytest.raises(UnattainableError, match=r"releases anything here$"):
        PrefixPruning(k=2).apply(symbol_table(rows))


@pytest.mark.parametrize("method", METHODS)
def test_cutting_half_is_no_reason_to_warn(method):
    release = method(k=2).apply(symbol_table(["ab", "ab", "abc", "abd"]))
    assert release.utility["cut_sequences"].value == 0.5
    assert release.warnings == ()


@given(rows_of_three, st.integers(2, 6), st.booleans(), st.booleans())
def test_what_is_said_of_a_k_is_true(rows, k, strict, reattach):
    how = {"strict": strict, "reattach": reattach}
    share = oracles.cut_share(rows, k, **how)
    assume(share > 0.5 and any(oracles.release(rows, k, **how)))
    text = advice(rows, **how).cut_too_much(k, share)
    assert text.startswith(f"k = {k} cuts {100 * share:.1f}% of the sequences")
    if k == 2:
        assert text.endswith("no smaller k can be asked for")
        return
    named, said = re.search(r"k = (\d+) cuts ([\d.]+)%$", text).groups()
    assert int(named) < k
    assert said == f"{100 * oracles.cut_share(rows, int(named), **how):.1f}"
    shares = [oracles.cut_share(rows, other, **how) for other in range(2, k)]
    if "no k of 2 or more cuts less than half" in text:
        assert min(shares) > 0.5
    elif "no k was found" not in text:
        assert float(said) <= 50


SPARSE = ["abcab", "abcba", "bcaab", "bcaba", "cabab", "cabba"]


def test_data_too_sparse_for_any_k_is_told_so():
    text = advice(SPARSE).cut_too_much(3, 1.0)
    assert text == (
        "k = 3 cuts 100.0% of the sequences; no k of 2 or more cuts less than half, and k = 2 cuts 100.0%"
    )


def test_bounds_are_named_where_a_run_would_take_too_long(monkeypatch):
    monkeypatch.setattr(algorithm, "AFFORDABLE", 0)
    text = advice(["a"] * 4 + ["b", "bc"]).cut_too_much(3, 1.0)
    assert text.endswith("; k = 2 cuts at most 33.3%")
    text = advice(["ab", "abc", "abd", "cd", "cde", "cdf"]).cut_too_much(3, 1.0)
    assert text.endswith("and k = 2 cuts between 66.7% and 100.0%")


def test_largest_asks_few_questions():
    asked = []
    assert largest(2, 10**6, lambda k: asked.append(k) or k <= 777) == 777
    assert len(asked) < 25
