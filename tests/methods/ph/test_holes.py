"""Where the paper breaks (section 4 of the specification), each closed and shown here."""

from __future__ import annotations

import pytest

from oracles import pattern_hiding as oracles
from oracles.sequences import is_subsequence, support
from sequester.errors import UnattainableError
from sequester.methods.ph.method import PH
from sequester.testing import symbol_table

SEED = "a sentence that nobody guesses"


def protect(rows, patterns, min_support, **options):
    table = symbol_table(rows)
    method = PH(
        patterns=[list(each) for each in patterns], min_support=min_support, search="greedy", **options
    )
    release = method.apply(table, seed=SEED)
    names = dict(release.pseudonyms.iter_rows())
    found = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
    released = ["".join(found.get(names.get(f"person {number}"), [])) for number in range(1, len(rows) + 1)]
    return release, released


def test_hole_1_the_embedding_that_hides_all_others_is_permuted():
    # Swapping (0,1) gives baab and (2,3) gives abba, which still contain ab; only (0,3) hides.
    release, rows = protect(["abab", "x"], ["ab"], 1)
    assert rows == ["bbaa", "x"]
    assert release.utility["cayley_distance"].value == 1


def test_hole_1_several_steps_where_one_permutation_is_not_enough():
    release, rows = protect(["aabb", "x"], ["ab"], 1)
    assert not is_subsequence("ab", rows[0])
    assert sorted(rows[0]) == sorted("aabb")
    assert release.utility["deletions"].value == 0


def test_hole_2_no_permutation_hides_a_repeated_symbol():
    release, rows = protect(["aa", "aab", "b"], ["aa"], 1)
    assert rows == ["a", "ab", "b"]
    assert release.utility["deletions"].value == 2


def test_hole_2_no_permutation_hides_an_order_and_its_reverse():
    release, rows = protect(["xab", "bax"], ["ab", "ba"], 1)
    assert release.utility["deletions"].value == 2
    assert not any(is_subsequence(each, row) for each in ("ab", "ba") for row in rows)


def test_hole_3_a_permutation_must_not_create_another_sensitive_pattern():
    # cba is the only order of abc in which neither is; bac, for one, would be nearer.
    secrets = ["abc", "acb", "bac", "bca", "cab"]
    own = [{"items": list(each), "min_support": 1} for each in secrets]
    _, rows = protect([*secrets, "x"], [], 100, pattern=own)
    assert rows == ["cba"] * 5 + ["x"]


def test_hole_4_several_patterns_together_do_not_lose_a_third():
    # Each of ab and bc can be hidden without harm to xb or by; supports are counted live.
    original = ["xaby", "xbcy", "xby", "xby", "ab", "bc"]
    release, rows = protect(original, ["ab", "bc"], 2)
    lost, ghosts = oracles.side_effects([("a", "b"), ("b", "c")], rows, original, 2)
    assert lost == ghosts == set()
    assert release.verdict.holds


def test_hole_5_a_deletion_is_mixed_in_where_permutations_alone_make_a_ghost():
    original = ["ab"] * 5
    release, rows = protect(original, ["ab"], 3)
    assert oracles.side_effects([("a", "b")], rows, original, 3) == (set(), set())
    assert support("ba", rows) == 2
    assert release.utility["deletions"].value == 1
    assert release.utility["cayley_distance"].value == 2


def test_hole_6_no_more_is_hidden_than_asked_for():
    _, rows = protect(["abc"] * 4 + ["cab", "bca"], ["abc"], 3)
    assert support("abc", rows) == 2


def test_hole_7_bounded_uncertainty_gives_permutations_supporters_or_refuses():
    original = ["abc"] * 12
    wanted = {"permutations": 3, "support": 3}
    _, rows = protect(original, ["abc"], 3, uncertainty=wanted)
    counts = [support(each, rows) for each in ("acb", "bac", "bca", "cab", "cba")]
    assert sum(count >= 3 for count in counts) >= 3
    with pytest.raises(
        UnattainableError, match="5 permutations of each pattern with 3 supporters"
    ) as refused:
        protect(original, ["abc"], 3, uncertainty={"permutations": 5, "support": 3})
    reached = int(refused.value.achieved["uncertainty.permutations"])
    assert 0 < reached < 5
    assert f"uncertainty.permutations = {reached} or" in str(refused.value)
    protect(original, ["abc"], 3, uncertainty={"permutations": reached, "support": 3})
    with pytest.raises(UnattainableError, match=r"uncertainty\.support = \d+ or") as refused:
        protect(original, ["abc"], 3, uncertainty={"permutations": 1, "support": 20})
    reached = int(refused.value.achieved["uncertainty.support"])
    protect(original, ["abc"], 3, uncertainty={"permutations": 1, "support": reached})
    with pytest.raises(UnattainableError, match='uncertainty = "minimum-harm" could be kept'):
        protect(["aa", "aa", "b"], ["aa"], 1, uncertainty={"permutations": 1, "support": 1})


def test_hole_7_maximum_uncertainty_spreads_over_all_permutations():
    original = ["abc"] * 12
    _, rows = protect(original, ["abc"], 3, uncertainty="maximum")
    used = set(rows) - {"abc"}
    nearest = set(protect(original, ["abc"], 3)[1]) - {"abc"}
    assert used == {"acb", "bac", "bca", "cab", "cba"}
    assert len(used) >= len(nearest)


def test_forbidden_orders_do_not_come_about():
    rows = ["abc"] * 4 + ["bca"]
    allowed = {"acb", "bac", "bca", "cab", "cba"}
    for forbidden in ("ba", "cb", "ca"):
        release, released = protect(rows, ["abc"], 2, forbidden=[list(forbidden)])
        assert not oracles.new_forbidden([tuple(forbidden)], released, rows)
        assert all(row in allowed or len(row) < 3 or row == "abc" for row in released)
        assert release.verdict.holds
    # With every order forbidden only deletion is left.
    release, released = protect(rows, ["abc"], 2, forbidden=[["b", "a"], ["c", "b"], ["c", "a"]])
    assert release.utility["deletions"].value == 3


def test_unseen_orders_do_not_come_about():
    rows = ["abc", "abc", "abc", "acb", "acb", "bc", "bc"]
    release, released = protect(rows, ["abc"], 2, forbidden="unseen")
    assert oracles.new_forbidden("unseen", released, rows) == set()
    assert released.count("acb") == 4  # cb occurs, ba and ca do not
    assert release.utility["deletions"].value == 0
