"""A recipient's estimates are the mean over all that could be behind coarse values."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.expected import expected
from sequester.bundle.expected import chances, covers
from sequester.bundle.open import Opened
from sequester.errors import ParameterError
from sequester.release.certificate import Certificate

WHOLE = {
    "*": {"1", "2", "3", "7", "8"},
    "[0:4]": {"1", "2", "3"},
    "[0:2]": {"1", "2"},
    "[5:9]": {"7", "8"},
    "1": {"1"},
    "2": {"2"},
    "3": {"3"},
    "7": {"7"},
    "8": {"8"},
}
PARENT = {
    "*": "",
    "[0:4]": "*",
    "[0:2]": "[0:4]",
    "[5:9]": "*",
    "1": "[0:2]",
    "2": "[0:2]",
    "3": "[0:4]",
    "7": "[5:9]",
    "8": "[5:9]",
}


def tree_above(released):
    """The released nodes and those above, in tree order, as a recipient has them."""
    kept = {"*"}
    for node in released:
        above = node
        while above:
            kept.add(above)
            above = PARENT[above]
    nodes = [node for node in PARENT if node in kept]
    return pl.DataFrame(
        {
            "node": nodes,
            "parent": [PARENT[node] for node in nodes],
            "leaves": [len(WHOLE[node]) for node in nodes],
        }
    )


def opened(tables, hierarchies, persons=1):
    certificate = Certificate(
        method="by-hand",
        parameters={},
        model="KCPPrivacy",
        claim={"k": 2},
        holds=True,
        achieved={"k": 2},
        persons=persons,
        events=next(iter(tables.values())).height,
        limits=("<b>limit",),
        files={},
    )
    return Opened(next(iter(tables.values())), hierarchies, certificate, tables)


def release_of(rows):
    frame = pl.DataFrame(
        {
            "person": [who for who, _, _ in rows],
            "stay": [v for _, v, _ in rows],
            "ill": [i for _, _, i in rows],
        },
        schema={"person": pl.String, "stay": pl.String, "ill": pl.String},
    )
    return opened({"events": frame}, {"stay": tree_above(set(frame["stay"]))})


rows_of = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(list(WHOLE)), st.sampled_from("xy")),
    min_size=1,
    max_size=4,
)


@given(rows_of, st.sampled_from(list(WHOLE)), st.sampled_from("xyz"))
def test_expected_counts_are_the_mean_over_all_worlds(rows, wanted, ill):
    release = release_of(rows)
    plain = [(who, {"stay": stay, "ill": has}) for who, stay, has in rows]
    events, persons = expected(plain, {"stay": WHOLE, "ill": None}, {"stay": WHOLE[wanted], "ill": {ill}})
    # What is not among the released nodes is found by its label: all nodes here are ranges or numbers.
    if wanted not in release.hierarchies["stay"]["node"] and len(WHOLE[wanted]) > 1:
        return
    assert release.expected_count(stay=wanted, ill=ill) == pytest.approx(events)
    assert release.expected_count({"stay": wanted}, ill=ill, persons=True) == pytest.approx(persons)


@given(rows_of)
def test_the_table_of_a_column_says_the_same_value_by_value(rows):
    release = release_of(rows)
    for value, leaves, shown, count in release.expected_counts("stay").iter_rows():
        assert leaves == len(WHOLE[value])
        assert shown == sum(stay == value for _, stay, _ in rows)
        assert count == pytest.approx(release.expected_count(stay=value))
    assert release.expected_counts("stay")["expected"][0] == pytest.approx(len(rows))
    plain = release.expected_counts("ill")
    assert plain["expected"].sum() == len(rows)
    assert plain.columns == ["value", "leaves", "shown", "expected"]


def test_a_value_that_no_label_places_needs_the_node_that_covers_it():
    frame = pl.DataFrame({"person": ["a", "b", "c"], "ill": ["acute", "acute", "*"]})
    tree = pl.DataFrame({"node": ["*", "acute"], "parent": ["", "*"], "leaves": [6, 4]})
    release = opened({"events": frame}, {"ill": tree})
    with pytest.raises(ParameterError, match="'flu' is no node of its hierarchy, and no label says where"):
        release.expected_count(ill="flu")
    assert release.expected_count(ill="flu", under={"ill": "acute"}) == pytest.approx(2 / 4 + 1 / 6)
    assert release.expected_count(ill="acute") == pytest.approx(2 + 4 / 6)
    with pytest.raises(ParameterError, match="under must name a node of hierarchies/ill, got 'mild'"):
        release.expected_count(ill="flu", under={"ill": "mild"})


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.expected_count(), "needs a column and its value"),
        (lambda r: r.expected_count(ward="A"), "column 'ward' is not in the release"),
        (lambda r: r.expected_counts("ward"), "column 'ward' is not in the release"),
        (lambda r: r.expected_count(ill="x", under={"ill": "y"}), "which has no hierarchy"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(ask, words):
    with pytest.raises(ParameterError, match=words):
        ask(release_of([("a", "1", "x")]))


def test_records_and_values_apart_are_joined_by_group():
    records = pl.DataFrame(
        {"time": ["1"] * 5, "age": ["[0:4]", "1", "2", "7", "8"], "group": [1, 1, 1, 2, 2]}
    )
    values = pl.DataFrame({"group": [1, 1, 2], "ill": ["flu", "HIV", "flu"], "count": [2, 1, 2]})
    tree = tree_above(["[0:4]", "1", "2", "7", "8"])
    release = opened({"records": records, "values": values}, {"age": tree}, persons=None)
    assert release.expected_count(ill="flu") == pytest.approx(2 + 2)
    assert release.expected_count(ill="HIV", age="1") == pytest.approx((1 + 1 / 3) / 3)
    assert release.expected_count(ill="cold") == 0
    with pytest.raises(ParameterError, match="records without persons"):
        release.expected_count(ill="flu", persons=True)


def test_the_estimate_is_that_of_the_query_measure(tmp_path):
    from sequester.bundle import open_release, write
    from sequester.data.schema import Schema
    from sequester.data.table import EventTable
    from sequester.hierarchies import Hierarchy
    from sequester.methods import GloGen
    from sequester.utility import Query, QueryError

    frame = pl.DataFrame(
        {
            "who": [f"p{i // 2}" for i in range(24)],
            "n": [i % 2 for i in range(24)],
            "stay": [str(i % 6) for i in range(24)],
            "ill": ["flu", "cold", "HIV", "flu"] * 6,
        }
    )
    quasi = {"stay": Hierarchy.intervals([3, 6])}
    table = EventTable(frame, Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]}))
    release = GloGen(k=5, c=0.9, p=1).apply(table, seed="a sentence nobody guesses")
    found = open_release(write(release, tmp_path / "out"))
    assert set(found.frame["stay"]) == {"[0:2]", "[3:5]"}
    for stay in ("2", "[0:2]", "*"):
        query = Query(({"stay": (stay,), "ill": ("flu",)},))
        theirs = QueryError(queries=[query]).expected(release.table, original=table)[0]
        assert found.expected_count(stay=stay, ill="flu", persons=True) == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("node", "inside", "outside"),
    [
        ("[0:6]", ["0", "6", "3.5"], ["7", "-1", "x"]),
        ("[0:0.5)", ["0", "0.49"], ["0.5"]),
        ("<20", ["19", "-3"], ["20", "old"]),
        (">=80", ["80", "99.5"], ["79"]),
        ("56***", ["56001", "56", "561"], ["57001", "560011"]),
        ("2010", ["2010-05-01", "2010-12-31 10:00"], ["2011-01-01", "2010"]),
        ("2010-05", ["2010-05-01"], ["2010-06-01"]),
        ("2010-Q2", ["2010-04-01", "2010-06-30"], ["2010-07-01", "2010-03-31"]),
        ("[low:high]", [], ["3"]),
        ("acute", [], ["flu"]),
    ],
)
def test_labels_tell_what_they_cover(node, inside, outside):
    assert all(covers(node, value) for value in inside)
    assert not any(covers(node, value) for value in outside)


def test_the_finest_node_that_covers_a_value_counts():
    tree = tree_above(["[0:2]", "[0:4]"])
    assert chances(tree, "2", column="stay") == {"*": 1 / 5, "[0:4]": 1 / 3, "[0:2]": 1 / 2}


def test_an_opened_release_shows_itself_and_escapes():
    release = release_of([("a", "1", "<i>x")])
    assert repr(release).splitlines()[0] == "Opened release: KCPPrivacy holds"
    html = release._repr_html_()
    assert "✓" in html
    assert "&lt;b&gt;limit" in html
    assert "<i>" not in html
    assert "<b>" not in html
