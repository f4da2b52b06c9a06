"""A purpose: generalization is priced by what it loses of what is to be predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sequester as sq
from methods.halt.series_tables import as_past
from methods.halt.series_tables import run as run_part
from oracles import purpose as oracles
from sequester.data.persons import Persons
from sequester.data.schema import Purpose, Quasi, Schema
from sequester.data.table import EventTable
from sequester.errors import InputError, ParameterError, SchemaError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, BFP2kA, CBLDABaseline
from sequester.methods.prices import GENERAL, classes_of, price_nodes
from sequester.testing import symbol_table
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from pathlib import Path

SEED = "a sentence that nobody guesses"
TREE = {"A": ["a", "b"], "B": ["c", "d"]}
PATHS = {leaf: (leaf, group, "*") for group, leaves in TREE.items() for leaf in leaves}
LOSS = {**dict.fromkeys("abcd", 0.0), "A": 0.5, "B": 0.5, "*": 1.0}
events = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from("xyz"), st.sampled_from("uv")
    ),
    min_size=1,
    max_size=30,
)


def table_of(rows, predict="kind", **more):
    frame = pl.DataFrame(rows, schema=["one", "two", "kind", "sort"], orient="row").with_row_index("n")
    frame = frame.with_columns(who=pl.col("n") // 2)
    quasi = {"one": Hierarchy.from_tree(TREE), "two": Quasi(Hierarchy.from_tree(TREE), **more)}
    schema = Schema("who", "n", quasi=quasi, keep=["kind", "sort"], purpose={"predict": predict})
    return EventTable(frame, schema)


@given(events, st.sampled_from(["kind", ["kind", "sort"]]))
def test_prices_are_those_of_the_definition(rows, predict):
    table = table_of(rows, predict)
    one, two, kind, sort = (list(column) for column in zip(*rows, strict=True))
    targets = [kind] if predict == "kind" else [kind, sort]
    expected = oracles.prices([one, two], [PATHS, PATHS], targets, [LOSS, LOSS], GENERAL)
    weights, losses = price_nodes(table)
    for name, weight, loss, (whole, priced) in zip(("one", "two"), weights, losses, expected, strict=True):
        assert weight == pytest.approx(whole)
        labels = table.hierarchies[name].labels
        assert dict(zip(labels, loss.tolist(), strict=True)) == pytest.approx(priced)


def test_a_weight_multiplies_what_a_purpose_says():
    rows = [("a", "a", "x", "u"), ("b", "c", "y", "v"), ("a", "c", "x", "u")] * 20
    (_, plain), (_, heavy) = price_nodes(table_of(rows))[0], price_nodes(table_of(rows, weight=3.0))[0]
    assert heavy == pytest.approx(3 * plain)


@given(events, st.integers(2, 3))
@settings(max_examples=25)
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_the_promise_is_the_same(rows, k):
    table = table_of(rows)
    for method in (HALT(k=k, c=1, p=2), HALT(k=k, c=1, p=2, suppression="global"), CBLDA(k=k, c=1)):
        if table.n_persons >= k:
            release = method.apply(table, seed=SEED)
            assert release.model.check(release.table).holds


def test_what_predicts_is_kept_and_what_does_not_becomes_coarse():
    # With halt, either column can be kept, not both: one tells the kind, the other tells the sort.
    rows = [
        (one, two, "x" if one in "ab" else "y", "u" if two in "ab" else "v")
        for one in "abcd"
        for two in "abcd"
    ]
    for method in (HALT(k=4, c=1, p=2), CBLDA(k=4, c=1)):
        for predict, kept in (("kind", "one"), ("sort", "two")):
            frame = table_of(rows, predict).frame.with_columns(who=pl.col("n"))
            table = EventTable(frame, table_of(rows, predict).schema)
            released = method.apply(table, seed=SEED).frame
            coarse = {name: (released[name] == "*").mean() for name in ("one", "two")}
            assert coarse[kept] == 0, (method.name, predict)
            other = {"one": "two", "two": "one"}[kept]
            assert method.name == "cblda" or coarse[other] > 0, (method.name, predict)


def test_a_part_of_a_series_keeps_what_predicts():
    # A pair of a with b or c is rare: two stars beside a are enough, or two of each.
    old, new = ["aa"] * 3 + ["bb"] * 3 + ["bc"] * 3, ["aa"] * 2 + ["bb"] * 2 + ["bc"] * 2 + ["ab", "ac"]
    stars = {}
    for predict in ("kind", None):
        tables = []
        for start, pairs in ((0, old), (len(old), new)):
            rows = [(f"p{start + i}", 1, *pair, pair[0]) for i, pair in enumerate(pairs)]
            frame = pl.DataFrame(rows, schema=["who", "n", "one", "two", "kind"], orient="row")
            quasi = {name: Hierarchy.from_tree({each: {} for each in "abc"}) for name in ("one", "two")}
            purpose = predict and {"predict": predict}
            schema = Schema("who", "n", quasi=quasi, keep=["kind"], purpose=purpose)
            tables.append(EventTable(frame, schema))
        method = HALT(k=2, c=1, p=2)
        first = run_part(method, tables[0], series=True)
        later = run_part(method, tables[1], continues=as_past(first)).frame
        stars[predict] = [(later[name] == "*").sum() for name in ("one", "two")]
    assert stars["kind"] == [0, 2]
    assert stars[None][0] > 0


def test_patterns_are_held_by_persons_in_order():
    rows = [("a", "a", "x", "u"), ("b", "a", "y", "u"), ("a", "a", "y", "u"), ("b", "a", "x", "u")]
    table = table_of(rows, [["kind=x", "kind=y"]])
    assert [each.tolist() for each in classes_of(table, table.schema.purpose)] == [[1, 1, 0, 0]]
    same_event = table_of(rows, [["kind=x", "one=a"]])
    assert classes_of(same_event, same_event.schema.purpose)[0].tolist() == [0, 0, 0, 0]


def test_attributes_of_persons_tell_of_events_and_are_told_of():
    visits = pl.DataFrame({"who": list("aabb"), "n": [1, 2] * 2, "ward": list("xyxx"), "out": list("1112")})
    people = Persons(pl.DataFrame({"who": list("ab"), "sex": list("fm")}), quasi={"sex": Hierarchy.flat()})
    quasi = {"ward": Hierarchy.flat()}
    schema = Schema("who", "n", quasi=quasi, keep=["out"], purpose={"predict": ["sex", "out"]})
    table = EventTable(visits, schema, people).histories
    sex, out = (each.tolist() for each in classes_of(table, table.schema.purpose))
    assert (sex, out) == ([1, 1, 2, 2], [1, 1, 1, 2])
    assert len(price_nodes(table)[0]) == 2


def test_many_numbers_are_classes():
    rows = [("a", "a", str(n), "u") for n in range(100)]
    (classes,) = classes_of(table_of(rows), Purpose(("kind",)))
    assert len(set(classes.tolist())) == 10


@pytest.mark.parametrize("wrong", ["kind", {}, {"predict": []}, {"predict": [["kind"]]}, {"guess": "kind"}])
def test_a_purpose_that_is_none_is_refused(wrong):
    with pytest.raises(ParameterError, match="purpose must be a table with predict: a column, or a list"):
        Schema("who", "n", purpose=wrong)


def test_who_cannot_be_told_a_purpose_says_so():
    with pytest.raises(SchemaError, match="purpose predicts 'age', which is not a column of the release"):
        HALT(k=2, c=1, p=1).apply(table_of([("a", "a", "x", "u")] * 4, "age"), seed=SEED)
    for method in (CBLDABaseline(k=2, c=1),):
        with pytest.raises(SchemaError, match="cblda-baseline does not support a purpose"):
            method.apply(table_of([("a", "a", "x", "u")] * 4), seed=SEED)
    symbols = symbol_table(["ab", "ab"])
    told = symbols.replace(schema=Schema("person", "order", symbol="symbol", purpose={"predict": "symbol"}))
    with pytest.raises(SchemaError, match="p2ka does not support a purpose"):
        BFP2kA(k=2).apply(told, seed=SEED)


@pytest.mark.parametrize("method", [HALT(k=2, c=1, p=1), CBLDA(k=2, c=1)], ids=["halt", "cblda"])
@pytest.mark.parametrize(
    ("predict", "said"),
    [
        (["kind"], "'kind', which is the same in all events"),
        ([["sort=w"]], "['sort=w'], which nobody has"),
        ([["sort=u"]], "['sort=u'], which everybody has"),
        (["sort"], None),
    ],
)
def test_what_has_one_class_only_warns(method, predict, said):
    rows = [("a", "a", "x", "u"), ("b", "a", "x", "v")] * 4
    warnings = []
    method.apply(table_of(rows, predict), seed=SEED, warn=warnings.append)
    told = [line for line in warnings if line.startswith("purpose")]
    assert told == ([] if said is None else [f"purpose predicts {said}: it has no effect"])


def test_it_stands_in_the_configuration(tmp_path: Path):
    (tmp_path / "data.csv").write_text("who,n,one,kind\n" + "".join(f"{n},1,{n % 3},x\n" for n in range(9)))
    text = """
[data]
path = "data.csv"
person = "who"
order = "n"
keep = ["kind"]
[data.quasi.one]
hierarchy = { kind = "flat" }
[method]
name = "halt"
k = 2
c = 1
p = 1
[release]
path = "out"
purpose = { predict = ["kind", ["one=1", "kind=x"]] }
"""
    (tmp_path / "release.toml").write_text(text)
    assert sq.read(tmp_path / "release.toml").schema.purpose == Purpose(("kind", ("one=1", "kind=x")))
    (tmp_path / "release.toml").write_text(text.replace('["kind", ["one=1", "kind=x"]]', "3"))
    with pytest.raises(InputError, match=r"release\.purpose\.predict must be"):
        _ = Config.load(tmp_path / "release.toml").schema
    (tmp_path / "release.toml").write_text(text.replace('["kind", ["one=1", "kind=x"]]', "[]"))
    with pytest.raises(InputError, match=r"^release\.toml: release\.purpose must be a table with predict"):
        _ = Config.load(tmp_path / "release.toml").schema
