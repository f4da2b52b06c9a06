"""Who reasons about snapshots concludes what the definition says; only how frequent values are is claimed."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sequester as sq
from oracles import snapshots as oracles
from sequester.attacks.context import Case, Stream
from sequester.attacks.snapshots import (
    Snapshots,
    arrival_risks,
    attack_snapshots,
    estimate_arrivals,
    intersection_risk,
    snapshot_risks,
)
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import MergeSnapshots, Reposition, SuppressOnly
from sequester.privacy import LDiversity, LEligibility
from sequester.workflow.attack import background_knowledge, method_of

SEED = "kept in a safe place"
SOME = settings(max_examples=settings.default.max_examples // 8)
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")

some_streams = st.lists(
    st.lists(st.sampled_from("abc"), max_size=6).map("".join), min_size=1, max_size=4
).filter(any)


def table_of(stream, persons=None, quasi=None):
    """Records of one value each, in snapshots 1, 2, ..., everybody another person unless told."""
    rows = [
        {
            "who": f"p{number}" if persons is None else f"p{persons[number]}",
            "day": day,
            "ill": value,
            **({} if quasi is None else {"zip": quasi[number]}),
        }
        for number, (day, value) in enumerate(
            (day, value) for day, snapshot in enumerate(stream, start=1) for value in snapshot
        )
    ]
    tree = {"zip": Hierarchy.tree({"1*": ["11", "12"], "2*": ["21"]})} if quasi is not None else {}
    return EventTable(
        pl.DataFrame(rows), Schema(person="who", order="day", quasi=tree, sensitive={"ill": "all"})
    )


def snapshots_of(came, published, reach):
    """What the two sides of a stream show; days without records are left out of both."""
    table = table_of(came)
    days = [str(day) for day, snapshot in enumerate(came, start=1) if snapshot]
    out = pl.DataFrame(
        [(day, value) for day, snapshot in zip(days, published, strict=True) for value in snapshot],
        schema={"time": pl.String, "ill": pl.String},
        orient="row",
    )
    homes = np.array([days.index(str(day)) for day in table.frame["day"].to_list()], np.int64)
    return Snapshots.of({"events": out}, table, Stream(homes, tuple(days), reach), sensitive="ill")


@settings(max_examples=settings.default.max_examples // 2)
@given(came=some_streams, published=some_streams, reach=st.integers(1, 3))
def test_beliefs_equal_definition(came, published, reach):
    came = [snapshot for snapshot in came if snapshot]
    published = [*published, *[""] * len(came)][: len(came)]
    assume(any(published))
    snapshots = snapshots_of(came, published, reach)
    found_arrived, found_moved = estimate_arrivals(snapshots)
    arrived, moved = oracles.believed(published, [len(snapshot) for snapshot in came], reach)
    for amounts, expected in ((found_arrived, arrived), (found_moved, moved)):
        for slot, beliefs in enumerate(expected):
            told = dict(zip(snapshots.values, amounts[slot], strict=True))
            assert told == pytest.approx({value: float(beliefs.get(value, 0)) for value in told}, abs=1e-9)
    truth = np.minimum(snapshots.published, 1)
    risk, _, caught = arrival_risks(snapshots, snapshots, moved=truth)
    expected = oracles.share_caught(moved, published, [set(snapshot) for snapshot in published])
    assert caught.value == pytest.approx(float(expected))
    naive = [Counter(snapshot) for snapshot in published]
    n_values = len(snapshots.values)
    assert risk.value == pytest.approx(float(oracles.mean_belief(arrived, came, n_values)))
    assert risk.control.value == pytest.approx(float(oracles.mean_belief(naive, came, n_values)))
    assert risk.bound is None


def program_of(method, names):
    """What a method makes of a stream of values, snapshot by snapshot."""

    def program(stream):
        window = method.stream(seed=SEED)
        out = []
        for snapshot in stream:
            out += window.feed(np.array([names.index(value) for value in snapshot], np.int32))
        return [
            [stream[home][row] for home, row in zip(each.homes.tolist(), each.rows.tolist(), strict=True)]
            for each in (*out, *window.flush())
        ]

    return program


def test_hole_3_beliefs_equal_those_of_all_worlds():
    came = [["flu", "flu", "flu", "hiv"], ["cold", "x"]]
    table = table_of(came)
    method = Reposition(l=2, window=2, snapshot="order", then="none", cost="linear")
    program = program_of(method, ("cold", "flu", "hiv", "x"))
    release = method.apply(table, seed=SEED)
    out = [release.frame.filter(pl.col("time") == day)["ill"].to_list() for day in ("1", "2")]
    assert [sorted(each) for each in out] == [["flu", "hiv"], ["cold", "flu", "flu", "x"]]
    worlds = list(oracles.worlds([4, 2], ("cold", "flu", "hiv", "x"), out, program))
    assert len(worlds) == 8
    posterior = sum(context[0].count("flu") for context in worlds) / (4 * len(worlds))
    assert posterior == 0.75
    risks = attack_snapshots(
        release.model,
        Case(
            tables=release.tables,
            released=None,
            original=table,
            **background_knowledge(method_of(release), None, table, None),
        ),
    )
    found = {risk.name: risk for risk in risks}
    # Surer than the one in two that is promised of the snapshot itself.
    assert found["surest_arrival"].value == posterior
    assert found["surest_arrival"].control.value == 0.5
    assert found["surest_arrival"].bound is None
    assert found["confidence"].value == found["confidence"].bound == 0.5
    assert found["moved"].value == 1.0


def test_beliefs_lie_between_what_is_shown_and_what_all_worlds_tell():
    program = program_of(Reposition(l=2, window=2, snapshot="order", then="none"), "abc")
    streams = [[list(flat[:3]), list(flat[3:])] for flat in product("abc", repeat=6)]
    alike = {}
    for stream in streams:
        alike.setdefault(tuple(tuple(sorted(each)) for each in program(stream)), []).append(stream)
    shown = reasoned = exact = 0
    for published, worlds in alike.items():
        believed, _ = oracles.believed(published, [3, 3], 2)
        posterior = [Counter(value for context in worlds for value in context[slot]) for slot in range(2)]
        for context in worlds:
            shown += oracles.mean_belief([Counter(each) for each in published], context, 3)
            reasoned += oracles.mean_belief(believed, context, 3)
            exact += oracles.mean_belief(posterior, context, 3)
    # The figures that the page about attacks tells.
    means = [round(float(total / len(streams)), 3) for total in (shown, reasoned, exact)]
    assert means == [0.44, 0.459, 0.477]


def attacked(method, table):
    """The risks of a release, or none where there can be no release."""
    try:
        release = method.apply(table, seed=SEED)
    except UnattainableError:
        return None, []
    case = Case(
        tables=release.tables,
        released=None,
        original=table,
        seed=SEED,
        **background_knowledge(method, None, table, None),
    )
    return release, attack_snapshots(release.model, case)


@pytest.mark.parametrize("kind", [Reposition, SuppressOnly, MergeSnapshots])
@SOME
@given(
    came=some_streams,
    then=st.sampled_from(["none", "anatomy", "generalize"]),
    data=st.data(),
)
def test_snapshots_keep_what_they_claim(kind, came, then, data):
    n = sum(map(len, came))
    quasi = data.draw(st.lists(st.sampled_from(["11", "12", "21"]), min_size=n, max_size=n))
    persons = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    table = table_of(came, persons, quasi)
    release, risks = attacked(kind(l=2, window=2, snapshot="order", then=then), table)
    assert [str(risk) for risk in risks if not risk.is_within] == []
    if release is None:
        return
    claimed = {(risk.name, risk.kind) for risk in risks if risk.bound is not None}
    groups = {("confidence", "group")} if then != "none" else set()
    assert claimed == {("confidence", "snapshot"), *groups}
    assert {"arrival", "surest_arrival"} <= {risk.name for risk in risks}


def test_one_record_short_beats_the_claim():
    snapshots = snapshots_of(["aab"], ["aab"], 1)
    (risk,) = snapshot_risks(snapshots, snapshots, level=2)
    assert (risk.value, risk.bound, risk.is_within) == (pytest.approx(2 / 3), 0.5, False)
    assert snapshot_risks(snapshots, snapshots, level="3/2")[0].is_within


@SOME
@given(
    came=some_streams,
    then=st.sampled_from(["none", "anatomy", "generalize"]),
    window=st.integers(1, 3),
    data=st.data(),
)
def test_intersections_equal_definition(came, then, window, data):
    n = sum(map(len, came))
    quasi = data.draw(st.lists(st.sampled_from(["11", "12", "21"]), min_size=n, max_size=n))
    persons = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    table = table_of(came, persons, quasi)
    method = Reposition(l=2, window=window, snapshot="order", then=then)
    release, risks = attacked(method, table)
    if release is None:
        return
    days = [str(day) for day, snapshot in enumerate(came, start=1) if snapshot]
    frame = table.frame
    original = [
        [
            (person, (label,), value)
            for person, day, label, value in frame.select("who", "day", "zip", "ill").iter_rows()
            if str(day) == each
        ]
        for each in days
    ]
    released = []
    for each in days:
        records = release.frame.filter(pl.col("time") == each)
        if then == "none":
            shown = records.select("zip", "ill").iter_rows()
            released.append([((label,), [value]) for label, value in shown])
            continue
        values = release.tables["values"] if then == "anatomy" else records
        held = dict(values.group_by("group").agg("ill").iter_rows())
        shown = records.select("zip", "group").iter_rows()
        released.append([((label,), held[group]) for label, group in shown])
    above = {"11": {"11", "1*", "*"}, "12": {"12", "1*", "*"}, "21": {"21", "2*", "*"}}
    expected = oracles.intersect(original, released, method.new_window(0).size, lambda label: above[label])
    found = [risk for risk in risks if risk.name == "intersection"]
    if expected is None:
        assert found == []
        return
    (risk,) = found
    assert (risk.value, risk.control.value) == pytest.approx([float(each) for each in expected])
    assert risk.bound is None


def test_a_person_who_comes_again_is_found_by_what_stays():
    # Everybody has a zip code of their own; the group of two holds two values each time, and one stays.
    came = [["hiv", "flu"], ["hiv", "cold"]]
    table = table_of(came, persons=[1, 2, 1, 3], quasi=["11", "12", "11", "21"])
    _, risks = attacked(Reposition(l=2, window=1, snapshot="order", then="anatomy"), table)
    (risk,) = (risk for risk in risks if risk.name == "intersection")
    assert (risk.value, risk.control.value, risk.targets) == (1.0, 0.5, 1)


def test_many_persons_are_drawn():
    came = [["a", "b", "c"], ["a", "b", "c"]]
    table = table_of(came, persons=[1, 2, 3, 1, 2, 3], quasi=["11", "12", "21"] * 2)
    release = Reposition(l=2, window=1, snapshot="order", then="anatomy").apply(table, seed=SEED)
    known = background_knowledge(method_of(release), None, table, None)
    snapshots = Snapshots.of(release.tables, table, known["stream"], sensitive="ill")
    some = intersection_risk(snapshots, release.tables, table, targets=2, seed=SEED)
    everybody = intersection_risk(snapshots, release.tables, table, targets=3, seed=SEED)
    assert (some.targets, everybody.targets) == (2, 3)
    assert some.interval[0] <= everybody.value <= some.interval[1]
    assert everybody.interval == (everybody.value, everybody.value)


def test_spans_are_read_even_where_names_have_slashes():
    frame = pl.DataFrame({"who": list("abcd"), "day": ["1/1", "1/2", "1/3", "1/4"], "ill": list("xyxy")})
    table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    out = pl.DataFrame({"time": ["1/1/1/2"] * 2 + ["1/3/1/4"] * 2, "ill": list("xyxy")})
    stream = Stream(np.arange(4), ("1/1", "1/2", "1/3", "1/4"), 1)
    snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    assert snapshots.labels == ("1/1/1/2", "1/3/1/4")
    assert snapshots.came.tolist() == [[1, 1], [1, 1]]


def test_the_seed_repeats_the_control():
    came = [["a", "b", "c", "d", "a", "b", "c", "e"] * 6, ["b", "c", "d", "a", "b", "e", "c", "d"] * 6]
    published = ["abcdabce" * 6, "bcdabecd" * 6]
    drawn = {
        snapshots_of(came, published, 2).permuted(np.random.default_rng(1)).published.tobytes()
        for _ in range(10)
    }
    assert len(drawn) == 1


def test_another_original_is_refused():
    table = table_of(["ab"])
    stream = Stream(np.zeros(2, np.int64), ("1",), 1)
    out = pl.DataFrame({"time": ["9"], "ill": ["a"]})
    with pytest.raises(InputError, match="the release has a snapshot '9', and in the original nothing came"):
        Snapshots.of({"events": out}, table, stream, sensitive="ill")
    with pytest.raises(InputError, match="the release protects 'age'"):
        Snapshots.of({"events": out}, table, stream, sensitive="age")


def test_without_the_program_nothing_is_reasoned():
    table = table_of(["ab"])
    assert attack_snapshots(LEligibility(l=2), Case(tables={}, released=None, original=table)) == []
    assert attack_snapshots(LDiversity(l=2), Case(tables={}, released=None, original=table)) == []


def test_records_without_persons_are_attacked_from_python():
    table = table_of([["a", "a", "b"], ["b", "c", "a"]])
    release = Reposition(l=2, window=2, snapshot="order", then="none").apply(table, seed=SEED)
    names = {risk.name for risk in sq.attack(release, original=table)}
    assert {"confidence", "arrival", "surest_arrival"} <= names
