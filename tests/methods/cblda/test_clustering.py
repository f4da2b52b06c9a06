"""The clustering equals the plain algorithm, merge by merge and class by class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from methods.cblda.tables import CHAIN, DEEP, FLAT, Example, Memory, by_oracle, classes_of, examples, run
from oracles import cblda as oracle
from sequester.engine import LocalEngine
from sequester.errors import UnattainableError
from sequester.methods.cblda import merging
from sequester.methods.cblda.merging import PASSES
from sequester.release.randomness import Randomness

demands = st.tuples(
    st.integers(2, 4), st.sampled_from([0.3, 0.5, 0.7, 1.0]), st.sampled_from(["any", "each"])
)

few = settings(max_examples=max(settings().max_examples // 3, 20))


def lost(example, rules, classes):
    """The loss of all persons in units, of classes as `classes_of` gives them."""
    clusters = [oracle.Cluster(members, shown) for members, shown, _ in classes]
    return oracle.total_loss(rules, example.persons, clusters)


@given(examples(), demands)
def test_classes_equal_the_plain_algorithm(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    solution = run(table, k=k, c=c, reading=reading)
    expected = oracle.cblda(example.rules(k, c, reading), example.risks, example.persons)
    assert classes_of(table, solution) == by_oracle(expected)


@few
@given(examples(most_persons=14, most_events=2), demands)
def test_more_persons_equal_the_plain_algorithm(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    with pytest.MonkeyPatch.context() as patch:
        # The index is made again all the time.
        patch.setattr(merging, "FEWEST_NEW", 1)
        solution = run(table, k=k, c=c, reading=reading)
    expected = oracle.cblda(example.rules(k, c, reading), example.risks, example.persons)
    assert classes_of(table, solution) == by_oracle(expected)


@few
@given(examples(), demands)
def test_the_order_of_merges_is_that_of_the_plain_algorithm(example, demand):
    k, c, reading = demand
    distinct = {tuple(events) for events in example.persons}
    # Equal histories are merged before, and not noted.
    assume(len(distinct) == len(example.persons) and example.can_keep(k, c, reading))
    memory = Memory()
    run(example.table(), k=k, c=c, reading=reading, checkpoint=memory)
    clusters = [oracle.single(m, events) for m, events in enumerate(example.persons)]
    merges, _, _ = oracle.agglomerate(
        example.rules(k, c, reading), example.risks, clusters, {*range(len(clusters))}
    )
    assert memory.kept["merges"]["merges"].tolist() == [list(pair) for pair in merges]


@few
@given(examples(), demands, st.integers(0, 2**32))
def test_the_baseline_equals_its_plain_twin(example, demand, number):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    seed = f"seed {number}"
    solution = run(table, k=k, c=c, reading=reading, is_random=True, seed=seed)
    drawn = int(Randomness.of(seed).numbers("suppression", 1)[0]) >> 32
    rules = example.rules(k, c, reading, seed=drawn)
    assert classes_of(table, solution) == by_oracle(oracle.cblda(rules, example.risks, example.persons))


@few
@given(examples(), demands, st.integers(0, 2))
def test_a_largest_level_equals_the_plain_algorithm(example, demand, level):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    heights = [max(len(oracle.path(tree, label)) for label in tree) for tree in example.trees]
    levels = [min(level, height) for height in heights]
    least = [height - each for height, each in zip(heights, levels, strict=True)]
    table = example.table(**{f"Q{place}": {"max_level": each} for place, each in enumerate(levels)})
    rules = example.rules(k, c, reading, max_depths=least)
    expected = oracle.cblda(rules, example.risks, example.persons)
    if all(cluster.shown for cluster in expected):
        assert classes_of(table, run(table, k=k, c=c, reading=reading)) == by_oracle(expected)
    else:
        with pytest.raises(UnattainableError, match="would lose all their events, because max_level of"):
            run(table, k=k, c=c, reading=reading)


@few
@given(examples(), demands, st.integers(0, 1), st.sampled_from([(), ("a",)]))
def test_improving_never_refuses_what_merging_keeps(example, demand, level, kept):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    rules = {"max_level": level}
    if example.trees[0] is DEEP:
        rules["never_suppress"] = kept
    table = example.table(Q0=rules)
    try:
        run(table, k=k, c=c, reading=reading)
    except UnattainableError:
        return
    found = classes_of(table, run(table, k=k, c=c, reading=reading, search="improve"))
    assert sorted(m for members, _, _ in found for m in members) == list(range(len(example.persons)))


@few
@given(examples(), demands, st.integers(0, 12))
def test_a_run_that_was_interrupted_comes_to_the_same_end(example, demand, n_kept):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table, memory = example.table(), Memory()
    whole = run(table, k=k, c=c, reading=reading, checkpoint=memory)
    part = Memory({"merges": {"merges": memory.kept["merges"]["merges"][:n_kept]}})
    again = run(table, k=k, c=c, reading=reading, checkpoint=part)
    assert classes_of(table, again) == classes_of(table, whole)


@few
@given(examples(), demands)
def test_threads_and_shards_do_not_matter(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table = example.table()
    one = run(table, k=k, c=c, reading=reading, engine=LocalEngine(threads=1, shards=1))
    many = run(table, k=k, c=c, reading=reading, engine=LocalEngine(threads=2, shards=5))
    assert classes_of(table, one) == classes_of(table, many)


@few
@given(examples(most_persons=14), demands, st.integers(0, 2))
def test_blocks_keep_the_promise_and_leave_nobody_out(example, demand, more):
    k, c, reading = demand
    block = 2 * k + more
    assume(example.can_keep(k, c, reading))
    table = example.table()
    solution = run(table, k=k, c=c, reading=reading, block=block)
    classes = classes_of(table, solution)
    rules = example.rules(k, c, reading)
    assert sorted(m for members, _, _ in classes for m in members) == list(range(len(example.persons)))
    for members, shown, kept in classes:
        cluster = oracle.Cluster(members, shown, kept)
        assert oracle.is_finished(rules, example.risks, cluster, {*members})
    assert (solution.n_blocks > 1) == (len(example.persons) > block)


@few
@given(examples(most_persons=14), demands, st.integers(0, 2), st.integers(0, 3))
def test_blocks_are_resumed_to_the_same_end(example, demand, more, n_kept):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    table, memory = example.table(), Memory()
    how = {"k": k, "c": c, "reading": reading, "block": 2 * k + more}
    whole = run(table, **how, checkpoint=memory)
    some = Memory(dict(list(memory.kept.items())[:n_kept]))
    assert classes_of(table, run(table, **how, checkpoint=some)) == classes_of(table, whole)


@few
@given(examples(most_persons=14), st.integers(2, 3), st.sampled_from([0.3, 0.5]))
def test_splitting_never_loses_more_and_keeps_the_promise(example, k, c):
    assume(example.can_keep(k, c, "any"))
    table, rules = example.table(), example.rules(k, c, "any")
    plain = classes_of(table, run(table, k=k, c=c))
    split = classes_of(table, run(table, k=k, c=c, split=True))
    assert lost(example, rules, split) <= lost(example, rules, plain)
    assert len(split) >= len(plain)
    for members, shown, kept in split:
        assert oracle.is_finished(rules, example.risks, oracle.Cluster(members, shown, kept), {*members})


@few
@given(examples(), demands)
def test_improved_classes_equal_the_plain_improvement(example, demand):
    k, c, reading = demand
    assume(example.can_keep(k, c, reading))
    rules, counted = example.rules(k, c, reading), {*range(len(example.persons))}
    table = example.table()
    classes = oracle.cblda(rules, example.risks, example.persons)
    expected = oracle.improved(rules, example.risks, example.persons, classes, counted, PASSES)
    found = classes_of(table, run(table, k=k, c=c, reading=reading, search="improve"))
    assert found == by_oracle(expected)
    assert all(oracle.is_finished(rules, example.risks, each, counted) for each in expected)
    assert lost(example, rules, found) <= lost(example, rules, by_oracle(classes))


def test_hole_6_a_large_class_is_divided_again():
    """Four of a kind were drawn into one class early on, by two who are at risk."""
    histories = ["a", "a", "b", "b", "c", "c"]
    ills = ["HIV", "HIV", "flu", "flu", "flu", "flu"]
    example = Example(
        [FLAT | {"a": "*", "b": "*", "c": "*"}], [[(h,)] for h in histories], [[i] for i in ills], [1.0]
    )
    table = example.table()
    rules = example.rules(2, 0.5, "any")
    plain = classes_of(table, run(table, k=2, c=0.5))
    split = classes_of(table, run(table, k=2, c=0.5, split=True))
    assert lost(example, rules, split) <= lost(example, rules, plain)
    assert max(len(members) for members, _, _ in split) <= max(len(members) for members, _, _ in plain)


@few
@given(examples(), st.integers(2, 3), st.sampled_from([0.2, 0.3, 0.5]), st.sampled_from(["any", "each"]))
def test_who_is_left_out_is_covered_and_as_few_as_possible(example, k, c, reading):
    table = example.table()
    rules = example.rules(k, c, reading)
    everybody = {*range(len(example.persons))}
    n_safe = sum(not any(risks) for risks in example.risks)
    assume(n_safe >= k)
    solution = run(table, k=k, c=c, reading=reading, infeasible="drop")
    released = {int(m) for m in np.flatnonzero(solution.is_released)}
    for members, shown, kept in classes_of(table, solution):
        cluster = oracle.Cluster(members, shown, kept)
        # Everybody, released or not, fits the class they are in: its cells are at or above theirs.
        assert oracle.is_finished(rules, example.risks, cluster, released)
        for m in members:
            for cells, event in zip(shown, kept[m], strict=True):
                own = example.persons[m][event]
                assert all(
                    up == "*" or up in oracle.path(tree, label)
                    for tree, up, label in zip(example.trees, cells, own, strict=True)
                )
    risky = {m for m in everybody if any(example.risks[m])}
    assert everybody - released <= risky
    if reading == "any":
        n, h = len(everybody), len(risky)
        fewest = next(d for d in range(h + 1) if not h - d > c * (n - d) + 1e-9 * (n - d))
        assert len(everybody - released) == fewest


def test_hole_3_the_rest_is_absorbed_and_not_dropped():
    """Values a,a,a,a (no HIV), b,c (HIV), K=2, C=.4: {b,c} would be dropped, and absence would tell."""
    tree = {"a": "*", "b": "*", "c": "*"}
    ills = ["flu"] * 4 + ["HIV"] * 2
    example = Example([tree], [[(h,)] for h in "aaaabc"], [[ill] for ill in ills], [1.0])
    table = example.table()
    classes = classes_of(table, run(table, k=2, c=0.4))
    assert sorted(m for members, _, _ in classes for m in members) == [0, 1, 2, 3, 4, 5]
    # Together, b and c would break {a,a}; one by one each pair takes one of them.
    assert [(members, shown) for members, shown, _ in classes] == [
        ([0, 1, 4], [("*",)]),
        ([2, 3, 5], [("*",)]),
    ]


def test_hole_4_too_many_at_risk_is_said_first():
    example = Example([FLAT], [[("1",)]] * 3, [["HIV"], ["HIV"], ["flu"]], [1.0])
    with pytest.raises(UnattainableError) as error:
        run(example.table(), k=2, c=0.5)
    assert str(error.value).startswith(
        "c = 0.5 cannot be kept: 66.67% of all persons have a protected value, which coarser values"
    )
    assert error.value.achieved == {"c": 0.6667}
    example = Example([FLAT], [[("1",)]] * 3, [["HIV", "Cancer"], ["HIV", "Cancer"], ["flu", "flu"]], [1.0])
    example.persons = [[("1",), ("1",)]] * 3
    with pytest.raises(UnattainableError, match="have ill = Cancer, and 1 more value is above c"):
        run(example.table(), k=2, c=0.5, reading="each")


@pytest.mark.parametrize(
    ("n_persons", "message"),
    [
        (3, "k = 4 is more than the 3 persons; the largest k that can be kept is 3"),
        (1, "k = 4 is more than the 1 person; no k can be kept"),
    ],
)
def test_too_few_persons_are_refused(n_persons, message):
    example = Example([FLAT], [[("1",)]] * n_persons, [["flu"]] * n_persons, [1.0])
    with pytest.raises(UnattainableError) as error:
        run(example.table(), k=4, c=1)
    assert str(error.value) == message


def test_too_few_that_are_left_are_refused():
    example = Example([FLAT], [[("1",)]] * 3, [["HIV"], ["HIV"], ["flu"]], [1.0])
    with pytest.raises(UnattainableError, match="that are left when 2 are left out; no k can be kept"):
        run(example.table(), k=2, c=0.4, infeasible="drop")


def test_a_value_that_must_not_be_suppressed_is_refused_by_name():
    example = Example([DEEP], [[("a",)], [("c",)]], [["flu"], ["flu"]], [1.0])
    with pytest.raises(UnattainableError, match="2 of 2 persons would lose all their events"):
        run(example.table(Q0={"never_suppress": ("a",)}), k=2, c=1)
    example = Example([DEEP], [[("a",), ("b",)], [("b",)]], [["flu"] * 2, ["flu"]], [1.0])
    with pytest.raises(UnattainableError, match="never_suppress of Q0 cannot be kept: 'a' would be"):
        run(example.table(Q0={"never_suppress": ("a",)}), k=2, c=1)


def test_a_chain_of_nodes_is_no_closer_than_it_looks():
    example = Example([CHAIN], [[("p",)], [("q",)], [("p",)], [("q",)]], [["flu"]] * 4, [1.0])
    table = example.table()
    shown = [shown for _, shown, _ in classes_of(table, run(table, k=2, c=1))]
    assert shown == [[("p",)], [("q",)]]


def test_events_that_lose_everything_stay():
    """Diagonal moves win ties: what has nothing in common stays as *, with its sensitive values."""
    example = Example([FLAT], [[("1",), ("1",)], [("2",), ("2",)]], [["flu", "flu"]] * 2, [1.0])
    table = example.table()
    assert classes_of(table, run(table, k=2, c=1)) == [([0, 1], [("*",), ("*",)], {0: [0, 1], 1: [0, 1]})]
