"""Labels that look alike are found wherever they stand, and refused, merged or kept apart."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import alike as oracle
from sequester.data.alike import canonical_labels, find_twins
from sequester.data.places import Gap, GridRegions, Place
from sequester.data.schema import Protect, Quasi, Schema, Sensitive, Symbol
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import canonical_label, groups_alike
from sequester.methods import HALT, PH, BFP2kA, TopDown
from sequester.workflow.inspect import inspect

FLAT = Hierarchy.flat()
VISITS = pl.DataFrame(
    {
        "PID": ["Ann", "ann ", "ann", "Bob", "Bob", "Eve"],
        "VID": [3, 1, 2, 1, 2, 1],
        "ZIP": ["56001", "56001", "56002", "56001", "56002", "56001"],
        "Disease": ["HIV", "flu", "flu", "HIV ", "hiv", "flu"],
    }
)
ROLES = {"person": "PID", "order": "VID", "quasi": {"ZIP": FLAT}, "sensitive": {"Disease": ["HIV"]}}


def table(frame=VISITS, **roles):
    return EventTable(frame, Schema(**ROLES | roles))


def said(made, severity=None):
    return [str(each) for each in made.problems if each.alike and severity in (None, each.severity)]


# what looks alike

LETTERS = st.sampled_from(
    ["a", "A", "ß", "ss", "ﬁ", "fi", "Å", "Å", "１", "1", "0", ".", "-", "+", " ", "\u00a0"]
)
LABELS = st.lists(
    st.lists(LETTERS | st.sampled_from(["\u200b", "\t", "\ufe0f", "İ", "ſ"]), max_size=5).map("".join)
)


@given(LABELS)
def test_groups_are_those_of_the_oracle(labels):
    labels = list(dict.fromkeys(labels))
    assert sorted(map(sorted, groups_alike(labels))) == sorted(map(sorted, oracle.groups(labels)))


@given(st.text(max_size=4), st.text(max_size=4))
def test_any_two_texts(one, other):
    assert (canonical_label(one) == canonical_label(other)) == oracle.look_alike(one, other)


@given(LABELS)
def test_many_at_once_are_the_same_as_one_by_one(labels):
    assert canonical_labels(pl.Series(labels, dtype=pl.String)).to_list() == list(
        map(canonical_label, labels)
    )


@given(LABELS)
def test_twins_have_one_form_and_a_label_without_any_has_none(labels):
    labels = list(dict.fromkeys(labels))
    blank = [(label,) for label in labels if not canonical_label(label)]
    groups = [*groups_alike(labels), *(blank if len(blank) == 1 else [])]
    assert sorted(find_twins(pl.Series(labels, dtype=pl.String))) == sorted(groups)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1e3", "1000"),
        ("1,000", "1000"),
        ("é", "e"),
        ("O", "0"),
        ("a b", "ab"),
        ("1/2", "0.5"),
        ("2010-01-31", "20100131"),
        ("NA", ""),
    ],
)
def test_what_does_not_look_alike(one, other):
    assert canonical_label(one) != canonical_label(other)


# the example of the issue, and its relatives


def test_persons_and_protected_values_with_a_twin_are_errors_that_name_counts_and_rows():
    made = table()
    persons, values = (each for each in made.problems if each.alike)
    assert (persons.severity, persons.column, persons.count, persons.rows) == ("error", "PID", 3, (1, 2, 3))
    assert "'Ann' (1), 'ann' (1), 'ann ' (1)" in persons.what
    assert (values.severity, values.column, values.count, values.rows) == ("error", "Disease", 3, (1, 4, 5))
    assert "'HIV' (1), 'HIV ' (1), 'hiv' (1)" in values.what


@pytest.mark.parametrize("method", [HALT(k=2, c=1.0, p=1)])
def test_no_method_takes_the_table_until_somebody_decides(method):
    with pytest.raises(SchemaError) as caught:
        method.apply(table())
    assert [line.split(":")[0] for line in caught.value.lines] == ["column 'PID'", "column 'Disease'"]
    for decided in ("merge", "keep"):
        assert method.apply(table(alike=decided)).verdict


def test_inspect_names_them_and_goes_on():
    document = inspect(table()).to_json()
    first = document["problems"][0]
    assert {"what", "count", "rows"} <= first.keys()
    assert (first["count"], first["rows"], first["severity"]) == (3, [1, 2, 3], "error")


def test_merged_persons_have_one_history_sorted_by_time():
    made = table(alike="merge")
    assert made.persons.to_list() == ["Ann", "Bob", "Eve"]
    assert made.rows.tolist() == [2, 3, 1, 4, 5, 6]
    assert made.frame["PID"].to_list() == ["Ann"] * 3 + ["Bob"] * 2 + ["Eve"]
    assert not said(made, "error")
    assert any("as 'Ann'" in line for line in said(made, "note"))


def test_merged_values_become_the_protected_one_even_if_it_is_rare():
    frame = VISITS.with_columns(Disease=pl.Series(["hiv", "hiv", "hiv", "HIV", "flu", "flu"]))
    made = table(frame, alike="merge")
    assert made.labels["Disease"] == ["HIV", "flu"]
    assert made.protected["Disease"] == {"HIV"}


def test_kept_apart_is_as_before_but_said():
    made = table(alike="keep")
    assert made.n_persons == 5
    assert made.labels["Disease"] == ["HIV", "HIV ", "flu", "hiv"]
    assert all("kept apart" in line for line in said(made))
    assert len(said(made, "note")) == 2


def test_the_most_frequent_wins_and_ties_go_by_label():
    frame = VISITS.with_columns(PID=pl.Series(["ann", "Ann", "ann", "BOB", "bob", "Eve"]))
    assert table(frame, alike="merge").persons.to_list() == ["ann", "BOB", "Eve"]


def test_without_twins_nothing_changes_whatever_is_said():
    frame = VISITS.with_columns(PID=pl.Series(list("abcdef")), Disease=pl.Series(["HIV", "flu"] * 3))
    tables = [table(frame, alike=each) for each in (None, "refuse", "merge", "keep")]
    assert all(each.frame.equals(tables[0].frame) and not each.problems for each in tables)
    seed = "a sentence that nobody guesses"
    released = [HALT(k=2, c=1.0, p=1).apply(each, seed=seed) for each in tables]
    assert all(each.frame.equals(released[0].frame) for each in released)
    assert {each.limits for each in released} == {released[0].limits}


# other labels


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_values_nobody_protects_are_a_warning_unless_all_are_to_be_refused():
    frame = VISITS.with_columns(
        PID=pl.Series(list("abcdef")), Disease=pl.lit("flu"), ZIP=pl.Series(["01", "1", "1.0", "2", "2", "3"])
    )
    made = table(frame)
    assert [line.split(";")[0] for line in said(made, "warning")] == [
        "column 'ZIP': 3 labels look alike as numbers and may be 1: '01' (1), '1' (1), '1.0' (1)"
    ]
    HALT(k=2, c=1.0, p=1).apply(made)
    with pytest.raises(SchemaError, match="'ZIP'"):
        HALT(k=2, c=1.0, p=1).apply(table(frame, alike="refuse"))
    assert table(frame, alike="merge").labels["ZIP"] == ["01", "2", "3"]


@pytest.mark.parametrize("protect", ["all", ["HIV", "hiv"], Protect(prefix=("HIV",))])
def test_two_protected_values_that_look_alike_stop_as_well(protect):
    frame = VISITS.with_columns(PID=pl.Series(list("abcdef")))
    assert len(said(table(frame, sensitive={"Disease": protect}), "error")) == 1


def test_a_protected_value_that_only_its_twin_has():
    frame = VISITS.with_columns(
        PID=pl.Series(list("abcdef")), Disease=pl.Series(["hiv", "flu", "flu", "hiv", "hiv", "flu"])
    )
    (line,) = said(table(frame), "error")
    assert "'hiv' (3), 'HIV' (0)" in line
    assert line.endswith("(3 rows: 1, 4, 5)")
    made = table(frame, alike="merge")
    assert (made.labels["Disease"], made.protected["Disease"]) == (["HIV", "flu"], {"HIV"})
    assert not [each for each in made.problems if "does not occur" in each.what]


@pytest.mark.parametrize(
    ("protect", "labels", "missed"),
    [
        (Protect(prefix=("042",)), ["0421", " 042", "042", "42"], {" 042", "042", "42"}),
        (Protect(prefix=("V51",)), ["v510", "V511", "V52"], {"v510"}),
        (Protect(range=("V34-V39",)), ["v35", "V36", "v40"], {"v35"}),
    ],
)
def test_a_prefix_or_range_that_covers_but_for_case_and_blanks(protect, labels, missed):
    frame = pl.DataFrame({"PID": [str(i) for i in range(len(labels))], "Disease": labels})
    roles = {"person": "PID", "order": "PID", "sensitive": {"Disease": protect}, "quasi": {}}
    frame = frame.with_columns(VID=pl.lit(1))
    made = EventTable(frame, Schema(**roles | {"order": "VID"}))
    assert {frame["Disease"][row - 1] for each in made.problems if each.alike for row in each.rows} == missed
    merged = EventTable(frame, Schema(**roles | {"order": "VID", "alike": "merge"}))
    shown = dict(zip(labels, merged.frame["Disease"], strict=True))
    assert {shown[label] for label in missed} <= merged.protected["Disease"]


def test_several_columns_of_one_attribute_are_one_vocabulary():
    frame = pl.DataFrame({"PID": list("ab"), "VID": [1, 1], "D1": ["HIV", "flu"], "D2": ["flu", "hiv"]})
    sensitive = {"ill": Sensitive(("D1", "D2"), Protect(("HIV",)))}
    made = EventTable(frame, Schema(person="PID", order="VID", sensitive=sensitive))
    assert said(made, "error")[0].startswith("sensitive attribute 'ill': 2 labels look alike")
    merged = EventTable(frame, Schema(person="PID", order="VID", sensitive=sensitive, alike="merge"))
    assert merged.labels == {"D1": ["HIV", "flu"], "D2": ["HIV", "flu"]}


def test_numbers_of_a_column_of_numbers_cannot_differ():
    frame = VISITS.with_columns(PID=pl.Series([1, 1, 2, 3, 3, 4]), Disease=pl.lit("flu"))
    assert said(table(frame)) == []


@pytest.mark.parametrize("keys", [["00501", "501"], ["1", "1.0"], ["+7", "7"], ["ｐ", "P"], ["a\u200b", "a"]])
def test_persons_that_look_alike(keys):
    frame = pl.DataFrame({"PID": [*keys, "x"], "VID": [1, 1, 1], "page": ["a", "b", "c"]})
    made = EventTable(frame, Schema(person="PID", order="VID", symbol="page"))
    assert len(said(made, "error")) == 1
    alone = EventTable(frame[1:], Schema(person="PID", order="VID", symbol="page"))
    assert said(alone) == []


def test_a_person_of_blanks_looks_like_nobody():
    frame = VISITS.with_columns(PID=pl.Series([" ", "b", "b", "c", "c", "d"]), Disease=pl.lit("flu"))
    assert said(table(frame), "error")[0].startswith("column 'PID': 1 person of nothing but blanks")
    with pytest.raises(SchemaError, match="person is missing"):
        table(frame, alike="merge")
    assert table(frame, alike="merge", invalid="drop").persons.to_list() == ["b", "c", "d"]


def test_a_value_that_looks_like_a_suppressed_one():
    frame = VISITS.with_columns(
        PID=pl.Series(list("abcdef")), Disease=pl.lit("flu"), ZIP=pl.Series(["＊", *"12345"])
    )
    assert "'＊' (1), '*' (0)" in said(table(frame), "warning")[0]
    with pytest.raises(SchemaError, match="stands for a suppressed value"):
        table(frame, alike="merge")


@pytest.mark.parametrize("role", ["keep", "trip", "order", "symbol"])
def test_every_role(role):
    frame = pl.DataFrame(
        {"PID": list("aab"), "VID": [1, 2, 1], "page": list("xyz"), "other": ["ward", "Ward ", "hall"]}
    )
    roles = {"person": "PID", "order": "VID", "symbol": "page", "drop": ["other"]}
    given = {
        "keep": {"keep": ["other"], "drop": []},
        "trip": {"trip": "other", "drop": []},
        "order": {"order": "other", "drop": ["VID"]},
        "symbol": {"symbol": "other", "drop": ["page"]},
    }[role]
    made = EventTable(frame, Schema(**roles | given))
    assert [each.severity for each in made.problems if each.alike] == ["warning"]
    merged = EventTable(frame, Schema(**roles | given, alike="merge"))
    assert set(merged.frame["other"]) == {"Ward ", "hall"} if role != "order" else True


def test_dropped_columns_and_times_have_no_twins():
    frame = VISITS.with_columns(
        PID=pl.Series(list("abcdef")), Disease=pl.lit("flu"), name=pl.Series(["A", "a"] * 3)
    )
    assert said(table(frame, drop=["name"])) == []
    frame = frame.with_columns(at=pl.Series(["2010-01-31", "2010-01-31 00:00", *["2010-02-01"] * 4]))
    assert said(table(frame, drop=["name", "VID"], order=None, time="at")) == []


def test_places_and_trips_by_gap_have_persons_alone():
    frame = pl.DataFrame(
        {
            "who": ["Ann", "ann", "Bob"],
            "at": ["2010-01-01 10:00", "2010-01-01 10:05", "2010-01-01 10:00"],
            "lat": [48.1, 48.1, 48.1],
            "lon": [11.5, 11.5, 11.5],
        }
    )
    place = Place("lat", "lon", GridRegions(cell=1000))
    roles = {"person": "who", "time": "at", "place": place, "trip": Gap("30min")}
    assert len(said(EventTable(frame, Schema(**roles)), "error")) == 1
    assert EventTable(frame, Schema(**roles, alike="merge")).n_persons == 2


# hierarchies


def test_a_value_whose_leaf_is_spelled_otherwise():
    tree = Hierarchy.tree({"acute": ["Flu", "Cold"], "chronic": ["HIV"]})
    frame = VISITS.with_columns(
        PID=pl.Series(list("abcdef")), ZIP=pl.Series(["flu ", "Flu", "Cold", *["HIV"] * 3])
    )
    frame = frame.with_columns(Disease=pl.lit("x"))
    with pytest.raises(SchemaError, match="'flu ' like 'Flu'"):
        table(frame, quasi={"ZIP": tree})
    merged = table(frame, quasi={"ZIP": Quasi(tree, never_suppress=("hiv", "COLD"))}, alike="merge")
    assert merged.labels["ZIP"] == ["Cold", "Flu", "HIV"]
    assert merged.schema.quasi["ZIP"].never_suppress == ("HIV", "Cold")


def test_a_protected_value_of_a_column_with_a_tree_becomes_a_leaf_and_stays_protected():
    tree = Hierarchy.tree({"Infectious": ["hiv", "flu"], "Other": ["gout"]})
    frame = pl.DataFrame({"PID": list("abc"), "VID": [1] * 3, "ill": ["hiv", "flu", "gout"]})
    roles = {"person": "PID", "order": "VID", "quasi": {"ill": tree}, "sensitive": {"ill": ["HIV"]}}
    assert said(EventTable(frame, Schema(**roles)), "error")
    merged = EventTable(frame, Schema(**roles, alike="merge"))
    assert (merged.labels["ill"], merged.protected["ill"]) == (["flu", "gout", "hiv"], {"hiv"})


@pytest.mark.parametrize(
    "tree", [{"acute": ["flu", "Flu"]}, {"acute": ["flu"], "Acute ": ["gout"]}, {"FLU": ["flu"]}]
)
def test_a_tree_with_labels_that_look_alike(tree):
    frame = pl.DataFrame({"PID": list("ab"), "VID": [1, 1], "ill": ["flu", "flu"]})
    built = Hierarchy.from_tree(tree)
    roles = {"person": "PID", "order": "VID", "quasi": {"ill": built}, "sensitive": {}}
    (line,) = said(EventTable(frame, Schema(**roles)), "warning")
    assert "labels of the hierarchy look alike" in line
    assert said(EventTable(frame, Schema(**roles, alike="refuse")), "error") == [line]


def test_never_suppress_means_the_leaf_that_its_own_became():
    tree = Hierarchy.from_tree({"acute": ["Flu", "flu"], "chronic": ["gout"]})
    frame = pl.DataFrame({"PID": list("abcd"), "VID": [1] * 4, "ill": ["Flu", "flu", "flu", "gout"]})
    roles = {"person": "PID", "order": "VID", "quasi": {"ill": Quasi(tree, never_suppress=("Flu",))}}
    made = EventTable(frame, Schema(**roles, alike="merge"))
    assert made.labels["ill"] == ["flu", "gout"]
    assert made.schema.quasi["ill"].never_suppress == ("flu",)
    spared = {"ill": Quasi(tree, never_suppress=("GOUT",))}
    with pytest.raises(SchemaError, match="without a leaf: 'GOUT'; did you mean 'gout'"):
        EventTable(frame, Schema(**roles | {"quasi": spared}, alike="keep"))


def test_twins_that_nobody_has_do_no_harm():
    built = Hierarchy.from_tree({"acute": ["flu", "Gout", "gout"]})
    frame = pl.DataFrame({"PID": list("ab"), "VID": [1, 1], "ill": ["flu", "flu"]})
    assert said(EventTable(frame, Schema(person="PID", order="VID", quasi={"ill": built}))) == []


# patterns

CLICKS = pl.DataFrame(
    {"user": list("aabbcc"), "n": [1, 2] * 3, "page": ["Beer", "Chips", "beer", "Chips", "Beer", "Chips"]}
)


@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
@pytest.mark.parametrize(
    "method",
    [
        PH(patterns=[["Beer", "Chips"]], min_support=2),
        PH(patterns=[["Chips"]], min_support=2, forbidden=[["Chips", "BEER"]]),
        TopDown(patterns=[["Beer", "Chips"]], window=1, max_leakage=0.7),
    ],
)
def test_an_item_of_a_pattern_with_a_twin_is_refused(method):
    shop = Hierarchy.tree({"Drinks": ["Beer", "beer"], "Snacks": ["Chips"]})
    symbol = Symbol("page", shop)
    with pytest.raises(SchemaError, match="looks like the label 'beer' of column 'page'"):
        method.apply(EventTable(CLICKS, Schema(person="user", order="n", symbol=symbol)))
    method.apply(EventTable(CLICKS, Schema(person="user", order="n", symbol=symbol, alike="keep")))


def test_labels_that_a_method_names_win_where_they_are_merged():
    frame = CLICKS.with_columns(page=pl.Series(["beer", "Chips"] * 3))
    symbol = Symbol("page", named=("Beer",))
    assert len(said(EventTable(frame, Schema(person="user", order="n", symbol=symbol)), "error")) == 1
    made = EventTable(frame, Schema(person="user", order="n", symbol=symbol, alike="merge"))
    assert made.labels["page"] == ["Beer", "Chips"]
    assert PH(patterns=[["Beer", "Chips"]], min_support=2).apply(made).verdict


# the release


def test_what_was_kept_apart_is_said_without_a_label():
    frame = pl.DataFrame(
        {"user": list("aabbcc"), "n": [1, 2] * 3, "page": ["x", "News "] * 2 + ["x", "news"]}
    )
    kept = BFP2kA(k=2).apply(EventTable(frame, Schema(person="user", order="n", symbol="page", alike="keep")))
    assert kept.limits[-1].startswith("Some labels that look alike were kept apart")
    assert not any("News" in line for line in kept.limits)
    merged = BFP2kA(k=2).apply(
        EventTable(frame, Schema(person="user", order="n", symbol="page", alike="merge"))
    )
    assert not any("alike" in line for line in merged.limits)


def test_alike_must_be_one_of_three():
    with pytest.raises(ParameterError, match='alike must be "refuse", "merge" or "keep", got \'both\''):
        Schema(person="PID", order="VID", symbol="page", alike="both")


# any table

SPELLED = st.sampled_from(["a", "A", " a", "b", "B", "1", "01", "1.0"])
ROWS = st.lists(st.tuples(SPELLED, SPELLED), min_size=1, max_size=8)
PROTECTED = st.lists(SPELLED, min_size=1, max_size=2, unique=True)


def of_rows(rows, protect, said_so):
    frame = pl.DataFrame(
        {"PID": [who for who, _ in rows], "VID": range(len(rows)), "ill": [ill for _, ill in rows]}
    )
    return EventTable(frame, Schema(person="PID", order="VID", sensitive={"ill": protect}, alike=said_so))


@given(ROWS, PROTECTED)
def test_errors_are_the_persons_and_protected_values_with_a_twin(rows, protect):
    made = of_rows(rows, protect, None)
    persons, ills = ({row[place] for row in rows} for place in (0, 1))
    twins_of = {ill: {other for other in ills | {*protect} if oracle.look_alike(ill, other)} for ill in ills}
    refused = {
        "PID": {number for number, (who, _) in enumerate(rows, start=1) if _has_twin(who, persons)},
        "ill": {
            number
            for number, (_, ill) in enumerate(rows, start=1)
            if twins_of[ill] & {*protect}
            and (len(twins_of[ill] & ills) > 1 or (ill not in protect and len(twins_of[ill]) > 1))
        },
    }
    counts = {each.column: each.count for each in made.problems if each.severity == "error"}
    assert counts == {column: len(numbers) for column, numbers in refused.items() if numbers}


def _has_twin(label, labels):
    return any(other != label and oracle.look_alike(label, other) for other in labels)


@given(ROWS, PROTECTED)
def test_merged_labels_look_like_their_own_and_have_no_twin_left(rows, protect):
    made = of_rows(rows, protect, "merge")
    shown = dict(zip(made.rows.tolist(), made.frame.select("PID", "ill").rows(), strict=True))
    for place in (0, 1):
        before = [row[place] for row in rows]
        after = [shown[number][place] for number in range(1, len(rows) + 1)]
        assert all(oracle.look_alike(old, new) for old, new in zip(before, after, strict=True))
        assert not oracle.groups(sorted(set(after)))
        if place == 0:
            assert all(
                before.count(new) >= before.count(other)
                for new in after
                for other in before
                if oracle.look_alike(new, other)
            )
    # What looks like a protected value is protected.
    for old, (_, new) in zip((row[1] for row in rows), (shown[n + 1] for n in range(len(rows))), strict=True):
        assert (new in made.protected["ill"]) == any(oracle.look_alike(old, each) for each in protect)


@given(ROWS, PROTECTED)
def test_kept_labels_are_as_they_were(rows, protect):
    kept = of_rows(rows, protect, "keep")
    assert sorted(zip(kept.rows, kept.frame["PID"], kept.frame["ill"], strict=True)) == [
        (number, *row) for number, row in enumerate(rows, start=1)
    ]
    assert all(each.severity != "error" for each in kept.problems)
