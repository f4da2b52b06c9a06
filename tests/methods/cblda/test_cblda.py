"""Releases of CBLDA and its baseline: true of their persons, private by the oracle's count, outspoken."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from methods.cblda.tables import DEEP, FLAT, PROTECT, Example, examples
from oracles import cblda, kc
from oracles.kcp import Table
from sequester.data.schema import Quasi, Schema, Sensitive
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SchemaError, SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, METHODS, CBLDABaseline
from sequester.methods.cblda import algorithm
from sequester.testing import checks, symbol_table

SEED = "a sentence that nobody guesses"
few = settings(max_examples=max(settings().max_examples // 3, 20))
ways = st.sampled_from([CBLDA, CBLDABaseline])


def apply(method, table, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, seed=SEED, **how)


def seen(release, trees):
    """The release as the oracle of the promise reads it, from the frame alone."""
    persons = {}
    names = [f"Q{place}" for place in range(len(trees))]
    for row in release.frame.iter_rows(named=True):
        cells = {name: row[name] for name in names}
        persons.setdefault(row["person"], []).append((cells, {"ill": {row["ill"]}}))
    return Table(list(persons.values()), dict(zip(names, trees, strict=True)), {"ill": PROTECT})


@few
@given(
    examples(), ways, st.integers(2, 3), st.sampled_from([0.3, 0.5, 1.0]), st.sampled_from(["any", "each"])
)
def test_releases_are_private_by_the_oracle_and_true_of_their_persons(example, way, k, c, reading):
    assume(example.can_keep(k, c, reading))
    release = apply(way(k=k, c=c, reading=reading), example.table(), evaluate=False)
    assert kc.is_private(seen(release, example.trees), k, c, reading)
    who = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    assert len(who) == len(example.persons)
    last = {}
    for row in release.frame.iter_rows(named=True):
        number, place = map(int, row["note"].split("."))
        assert who[row["person"]] == f"p{number}"
        # Sensitive values belong to the event behind them, and cells are at or above its own.
        assert row["ill"] == example.ills[number][place]
        for tree, label, own in zip(
            example.trees,
            (row[f"Q{q}"] for q in range(len(example.trees))),
            example.persons[number][place],
            strict=True,
        ):
            assert label == "*" or label in cblda.path(tree, own)
        # Numbered from 1 without holes, in the order they had.
        order, before = last.get(number, (0, -1))
        assert row["order"] == order + 1
        assert place > before
        last[number] = (row["order"], place)


@few
@given(examples(), st.integers(2, 3), st.sampled_from([0.3, 0.5, 1.0]))
def test_losses_count_what_is_missing_as_lost(example, k, c):
    assume(example.can_keep(k, c, "any") and sum(example.weights) > 0)
    release = apply(CBLDA(k=k, c=c), example.table())
    rules = example.rules(k, c, "any")
    left = 0
    for row in release.frame.iter_rows(named=True):
        cells = tuple(row[f"Q{q}"] for q in range(len(example.trees)))
        left += sum(
            weight
            * (
                1
                - (
                    0
                    if label not in {*tree.values(), "*"}
                    else cblda.leaf_count(tree, label) / cblda.leaf_count(tree, "*")
                )
            )
            for tree, weight, label in zip(example.trees, rules.weights, cells, strict=True)
        )
    n_events = sum(map(len, example.persons))
    whole = sum(rules.weights) * n_events
    assert release.utility["information_loss"].value == pytest.approx((whole - left) / whole)
    per_person = release.utility["information_loss_per_person"].value
    assert per_person == pytest.approx((whole - left) / len(example.persons))
    n_empty = release.frame.filter(
        pl.all_horizontal(pl.col(f"Q{q}") == "*" for q in range(len(example.trees)))
    ).height
    assert release.n_lost_events == n_events - release.frame.height + n_empty


@pytest.mark.parametrize(
    "method", [CBLDA(k=2, c=0.5), CBLDA(k=2, c=0.5, split=True), CBLDABaseline(k=2, c=0.5)]
)
def test_every_law_holds(method):
    example = Example(
        [DEEP, FLAT],
        [
            [("a", "1"), ("c", "2")],
            [("b", "1")],
            [("a", "1"), ("c", "1")],
            [("c", "3")],
            [("b", "2"), ("b", "2")],
        ],
        [["flu", "HIV"], ["flu"], ["flu", "flu"], ["flu"], ["Cancer", "flu"]],
        [1.0, 1.0],
    )
    checks.check(method, example.table())


@pytest.mark.parametrize("name", ["one person", "all alike", "all different", "one very long"])
def test_edges_have_an_answer(name):
    rows = {
        "one person": ["ab"],
        "all alike": ["ab"] * 4,
        "all different": ["a", "b", "c"],
        "one very long": ["abc" * 30, "a"],
    }
    events = [
        {"who": str(number), "n": place, "Q": label}
        for number, row in enumerate(rows[name])
        for place, label in enumerate(row)
    ]
    table = EventTable(pl.DataFrame(events), Schema(person="who", order="n", quasi={"Q": Hierarchy.flat()}))
    if name == "one person":
        with pytest.raises(UnattainableError, match="k = 2 is more than the 1 person; no k can be kept"):
            CBLDA(k=2, c=1).apply(table)
        return
    release = apply(CBLDA(k=2, c=1), table)
    shown = [
        labels for _, labels in release.frame.group_by("person", maintain_order=True).agg("Q").iter_rows()
    ]
    assert (
        sorted(map("".join, shown))
        == {
            "all alike": ["ab"] * 4,
            "all different": ["*", "*", "*"],
            "one very long": ["a", "a"],
        }[name]
    )


def test_a_table_without_persons_is_refused():
    frame = pl.DataFrame(
        {"who": [], "n": [], "Q": []}, schema={"who": pl.String, "n": pl.Int64, "Q": pl.String}
    )
    tree = Hierarchy.from_edges(FLAT.items())
    with pytest.raises(UnattainableError, match="k = 2 is more than the 0 persons; no k can be kept"):
        CBLDA(k=2, c=1).apply(EventTable(frame, Schema(person="who", order="n", quasi={"Q": tree})))


def test_hole_2_the_reading_decides():
    example = Example([FLAT], [[("1",)]] * 3, [["HIV"], ["Cancer"], ["flu"]], [1.0])
    with pytest.raises(UnattainableError, match=r"66\.67% of all persons have a protected value"):
        CBLDA(k=3, c=0.4).apply(example.table())
    release = apply(CBLDA(k=3, c=0.4, reading="each"), example.table())
    assert release.verdict.achieved == {"k": 3, "c": 1 / 3}
    assert any(line.startswith("Each protected value is bounded by itself") for line in release.limits)


def test_hole_3_who_is_left_out_fits_a_class():
    example = Example(
        [FLAT], [[("1",)], [("1",)], [("1",)], [("2",)], [("3",)]], [["flu"]] * 2 + [["HIV"]] * 3, [1.0]
    )
    with pytest.warns(SequesterWarning) as heard:
        release = CBLDA(k=2, c=0.4, infeasible="drop").apply(example.table(), seed=SEED)
    assert any(
        "2 persons were left out, because more than the share c" in str(each.message) for each in heard
    )
    assert len(release.pseudonyms) == 3
    # 2 and 3 fit the class although nobody with HIV may be in it: it shows *.
    assert set(release.frame["Q0"]) == {"*"}
    assert any(line.startswith("Some persons with protected values were left out") for line in release.limits)
    assert release.utility["suppressed_persons"].value == pytest.approx(0.4)
    assert set(release.changes["what"]) == {"generalized", "dropped"}
    dropped = release.changes.filter(pl.col("what") == "dropped")
    assert dropped["to"].null_count() == dropped.height == 2


def test_who_is_left_out_is_left_to_chance():
    example = Example([FLAT], [[("1",)]] * 8, [["flu"]] * 2 + [["HIV"]] * 6, [1.0])
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        for number in range(12):
            release = CBLDA(k=2, c=0.5, infeasible="drop").apply(example.table(), seed=f"{SEED} {number}")
            found.add(frozenset(release.pseudonyms["person"]))
    assert len(found) > 1


def test_hole_5_unprotected_values_are_counted_and_named():
    example = Example([FLAT], [[("1",)]] * 4, [["flu"], ["flu"], ["cold"], ["HIV"]], [1.0])
    with pytest.warns(
        SequesterWarning, match="2 of 4 persons have unprotected values of ill that fewer than k"
    ):
        release = CBLDA(k=2, c=0.5).apply(example.table(), seed=SEED)
    assert any(line.startswith("An adversary who knows a sensitive attribute") for line in release.limits)
    assert "Kept columns are released as they were, and are not covered: note." in release.limits


def test_hole_5_a_sensitive_column_may_be_a_quasi_identifier_too():
    tree = Hierarchy.from_tree({"viral": ["HIV", "flu"], "other": ["cold", "ulcer"]})
    frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, "ill": ["HIV", "flu", "cold", "ulcer"]})
    schema = Schema(person="who", order="n", quasi={"ill": tree}, sensitive={"ill": ["HIV"]})
    release = apply(CBLDA(k=2, c=0.5), EventTable(frame, schema))
    assert sorted(release.frame["ill"]) == ["other", "other", "viral", "viral"]
    assert release.frame.columns == ["person", "order", "ill"]


def test_several_sensitive_attributes_and_columns():
    frame = pl.DataFrame(
        {
            "who": list("abcdef"),
            "n": [1] * 6,
            "Q": ["1", "1", "1", "2", "2", "2"],
            "D1": ["HIV", "flu", "flu", "flu", "flu", "flu"],
            "D2": ["flu", "flu", "flu", "HIV", "flu", "flu"],
            "drug": ["x", "y", "y", "y", "x", "y"],
        }
    )
    schema = Schema(
        person="who",
        order="n",
        quasi={"Q": Hierarchy.flat()},
        sensitive={"D": Sensitive(columns=("D1", "D2"), protect=["HIV"]), "drug": ["x"]},
    )
    release = apply(CBLDA(k=2, c=0.5), EventTable(frame, schema))
    assert release.verdict.holds
    # A class of e and f alone would have nobody else; d and e are both at risk, so f must join them.
    assert release.verdict.achieved["c"] <= 0.5
    assert release.frame.columns == ["person", "order", "Q", "D1", "D2", "drug"]
    assert release.model.columns == {"D": ("D1", "D2")}


def test_without_sensitive_attributes_only_classes_count():
    frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, "Q": ["1", "1", "2", "2"]})
    release = CBLDA(k=2, c=0.1).apply(
        EventTable(frame, Schema(person="who", order="n", quasi={"Q": Hierarchy.flat()})), seed=SEED
    )
    assert release.verdict.achieved == {"k": 2, "c": 0.0}
    assert [line[:40] for line in release.limits] == ["A second release of the same people is n"]


def test_blocks_are_said_aloud(monkeypatch):
    example = Example([DEEP], [[(label,)] for label in "abcabcabcabc"], [["flu"]] * 12, [1.0])
    with pytest.warns(SequesterWarning, match="12 persons were clustered in 3 blocks of neighbours"):
        CBLDA(k=2, c=1, block=5).apply(example.table(), seed=SEED)
    monkeypatch.setattr(algorithm, "EXACT", 6)
    monkeypatch.setattr(algorithm, "BLOCK", 6)
    with pytest.warns(SequesterWarning, match="12 persons were clustered in 2 blocks of neighbours"):
        CBLDA(k=2, c=1).apply(example.table(), seed=SEED)
    assert "blocks" not in str(apply(CBLDA(k=2, c=1, block=False), example.table()).warnings)


def test_many_columns_make_blocks_smaller_unless_their_size_is_given():
    auto = CBLDA(k=2, c=1)
    assert algorithm.block_sizes(auto, 10) == (60_000, 2_500)
    assert algorithm.block_sizes(auto, 40) == (15_000, 625)
    assert algorithm.block_sizes(CBLDA(k=400, c=1), 40) == (15_000, 800)
    assert algorithm.block_sizes(CBLDA(k=2, c=1, block=5_000), 40) == (5_000, 5_000)
    assert algorithm.block_sizes(CBLDA(k=2, c=1, block=False), 40)[0] == np.inf
    assert algorithm.most_work(auto, 10) == 4 * algorithm.most_work(auto, 40)


def test_changes_tell_who_looks_alike():
    example = Example(
        [DEEP], [[("a",), ("c",)], [("b",)], [("c",)], [("c",)]], [["flu", "flu"]] + [["flu"]] * 3, [1.0]
    )
    release = apply(CBLDA(k=2, c=1), example.table())
    assert release.changes.drop("class").rows() == [
        (1, "p0", "Q0", "generalized", "a", "x", 2),
        (2, "p0", "Q0", "suppressed", "c", None, 2),
        (3, "p1", "Q0", "generalized", "b", "x", 2),
    ]
    assert release.changes["class"].n_unique() == 1
    assert release.utility["suppressed_cells"].value == pytest.approx(1 / 5)
    assert release.utility["generalized_cells"].value == pytest.approx(2 / 5)
    assert {"query_error", "query_error_spread", "query_bias"} <= release.utility.keys()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 1}, "k must be at least 2, got 1"),
        ({"c": 0}, "c must be above 0 and at most 1, got 0"),
        ({"reading": "all"}, 'reading must be "any" or "each", got \'all\''),
        ({"infeasible": "hide"}, 'infeasible must be "refuse" or "drop", got \'hide\''),
        ({"block": True}, 'block must be "auto", a number of persons, or false, got True'),
        ({"block": "all"}, "block must be \"auto\", a number of persons, or false, got 'all'"),
        ({"block": 3}, "block must be at least 2 k = 4, got 3"),
        ({"split": 1}, "split must be true or false, got 1"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong, message):
    with pytest.raises(ParameterError) as error:
        CBLDA(**{"k": 2, "c": 0.5, **wrong})
    assert str(error.value) == message


def test_tables_it_cannot_work_on_are_refused():
    with pytest.raises(SchemaError, match="cblda needs quasi-identifiers, and column 'symbol' is a symbol"):
        CBLDA(k=2, c=1).apply(symbol_table(["ab", "ab"]))
    frame = pl.DataFrame({"who": ["a"], "n": [1], "D": ["x"]})
    with pytest.raises(
        SchemaError, match="cblda-baseline needs quasi-identifiers, and no column has the role"
    ):
        CBLDABaseline(k=2, c=1).apply(
            EventTable(frame, Schema(person="who", order="n", sensitive={"D": ["x"]}))
        )


def test_weights_and_a_column_that_does_not_count():
    frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, "P": list("1122"), "Q": list("1212")})
    weights = {"P": Quasi(Hierarchy.flat(), weight=0.0), "Q": Quasi(Hierarchy.flat(), weight=3.0)}
    release = apply(CBLDA(k=2, c=1), EventTable(frame, Schema(person="who", order="n", quasi=weights)))
    assert (
        sorted(zip(release.frame["P"], release.frame["Q"], strict=True))
        == [("*", "1")] * 2 + [("*", "2")] * 2
    )
    none = {name: Quasi(Hierarchy.flat(), weight=0.0) for name in "PQ"}
    release = apply(CBLDA(k=2, c=1), EventTable(frame, Schema(person="who", order="n", quasi=none)))
    assert release.utility["information_loss"].value == 0


def test_both_are_registered():
    assert METHODS["cblda"] is CBLDA
    assert METHODS["cblda-baseline"] is CBLDABaseline
