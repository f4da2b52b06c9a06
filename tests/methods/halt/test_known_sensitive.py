"""HALT and GloGen keep what is promised to persons whose other sensitive attributes are known."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.test_persons import apply, hospital, hospitals, read_back
from oracles import known_sensitive as oracle
from oracles.kcp import Table
from sequester.attacks import attack_tables
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import SchemaError, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT, GloGen
from sequester.verification.verify import verify
from sequester.workflow.config import read as read_config
from sequester.workflow.protect import protect

LETTERS = Hierarchy.from_tree({"early": ["a", "b"], "late": ["c"]})
EDGES = {"early": "*", "late": "*", "a": "early", "b": "early", "c": "late"}
CONFIG = """
[data]
path = "visits.csv"
person = "who"
order = "n"
[data.quasi.ward]
hierarchy = { kind = "flat" }
[data.sensitive.drug]
protect = ["AZT"]
[data.sensitive.ill]
protect = ["HIV"]
[data.persons]
path = "patients.csv"
[data.persons.sensitive.faith]
protect = ["x"]
[method]
name = "halt"
k = 2
c = 0.7
p = 2
sensitive_known = true
[release]
path = "out"
"""


def visits(histories, protect):
    rows = [
        {"who": str(number), "n": place, "ward": ward, "drug": drug, "ill": ill}
        for number, events in enumerate(histories)
        for place, (ward, drug, ill) in enumerate(events)
    ]
    return EventTable(
        pl.DataFrame(rows), Schema("who", "n", quasi={"ward": LETTERS}, sensitive=dict(protect))
    )


def read(release, protect):
    persons = {}
    for name, ward, drug, ill in release.frame.select("person", "ward", "drug", "ill").rows():
        persons.setdefault(name, []).append(({"ward": ward}, {"drug": {drug}, "ill": {ill}}))
    protect = {name: tuple(values) for name, values in protect.items()}
    return Table([*persons.values()], {"ward": EDGES}, protect, release.model.levels, release.model.stars)


def methods(k, p, levels="mixed"):
    given = {"k": k, "c": 0.6, "p": p, "levels": levels, "sensitive_known": True}
    return HALT(**given), HALT(**given, suppression="global"), HALT(**given, search="full"), GloGen(**given)


events = st.tuples(
    st.sampled_from("abc"), st.sampled_from(["none", "none", "AZT"]), st.sampled_from(["flu", "flu", "HIV"])
)
histories = st.lists(st.lists(events, min_size=1, max_size=2), min_size=3, max_size=8)


@settings(max_examples=40)
@given(
    histories,
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from(["same", "mixed"]),
    st.sampled_from([{"drug": ["AZT"], "ill": ["HIV"]}, {"drug": ["other"], "ill": ["HIV"]}]),
)
def test_the_promise_is_kept_by_definition(histories, k, p, levels, protect):
    table = visits(histories, protect)
    for method in methods(k, p, levels):
        try:
            release = apply(method, table)
        except UnattainableError:
            continue
        assert release.model.sensitive_known
        assert not oracle.channels(read(release, release.model.protect), k, 0.6, p)


@settings(max_examples=25)
@given(hospitals(), st.integers(1, 2))
def test_it_is_kept_with_attributes_of_persons_by_definition(tables, p):
    """An attribute of persons and one of events: each may be known to who wants to learn the other."""
    for method in methods(2, p):
        try:
            release = apply(method, hospital(*tables))
        except UnattainableError:
            continue
        assert not oracle.channels_of_persons(read_back(release), 2, 0.6, p)


def test_values_that_tell_others_are_suppressed():
    """Who knows the drug knows the illness: treating attributes one by one, nothing would be done."""
    rows = [[("a", "AZT", "HIV")]] * 3 + [[("a", "none", "flu")]] * 3
    table = visits(rows, {"drug": ["AZT"], "ill": ["HIV"]})
    plain = apply(HALT(k=2, c=0.6, p=2), table)
    assert sorted(plain.frame["drug"].unique()) == ["AZT", "none"]
    release = apply(HALT(k=2, c=0.6, p=2, sensitive_known=True), table)
    assert release.frame["ward"].to_list() == ["a"] * 6
    assert "*" in release.frame["drug"].to_list() + release.frame["ill"].to_list()
    assert release.changes["column"].is_in(["drug", "ill"]).all()
    assert release.schema.sensitive.keys() == {"drug", "ill"}
    assert list(release.hierarchies) == ["ward"]
    assert any("another one of the same attribute" in limit for limit in release.limits)
    assert "sensitive attributes other than the one to be learned" in release.model.in_words()
    assert release.model.claim()["sensitive_known"] is True


def test_one_attribute_changes_nothing():
    frame = pl.DataFrame({"who": list("123"), "n": 0, "ward": list("aab"), "ill": ["HIV", "flu", "flu"]})
    table = EventTable(frame, Schema("who", "n", quasi={"ward": LETTERS}, sensitive={"ill": ["HIV"]}))
    known, plain = (apply(HALT(k=2, c=0.5, p=1, sensitive_known=flag), table) for flag in (True, False))
    assert known.frame.equals(plain.frame)


def test_a_column_of_two_roles_is_refused():
    frame = pl.DataFrame({"who": ["1", "2"], "n": [0, 0], "ill": ["HIV", "flu"], "drug": ["x", "y"]})
    schema = Schema("who", "n", quasi={"ill": Hierarchy.flat()}, sensitive={"ill": ["HIV"], "drug": "all"})
    with pytest.raises(SchemaError, match="'ill' is both"):
        HALT(k=2, c=1, p=1, sensitive_known=True).apply(EventTable(frame, schema))


@pytest.mark.parametrize("place", range(4))
def test_attacks_are_bounded_and_the_bounds_hold(place):
    rows = [
        [("abc"[i % 3], ("AZT", "none")[i % 4 > 0], ("HIV", "flu")[i % 5 > 0]), ("a", "none", "flu")]
        for i in range(40)
    ]
    table = visits(rows, {"drug": ["AZT"], "ill": ["HIV"]})
    release = apply(methods(3, 2)[place], table)
    risks = attack_tables(release.table, original=table, model=release.model, known=(1, 2), targets=300)
    claimed = [risk for risk in risks if risk.bound is not None]
    assert {"other_sensitive", "sensitive", "protected"} <= {risk.kind for risk in claimed}
    assert {"confidence_shown"} <= {risk.name for risk in claimed if risk.kind == "other_sensitive"}
    assert all(risk.is_within for risk in claimed)


def test_the_same_attacks_succeed_where_nothing_is_promised():
    rows = [[("a", "AZT", "HIV")]] * 10 + [[("a", "none", "flu")]] * 10
    table = visits(rows, {"drug": ["AZT"], "ill": ["HIV"]})
    release = apply(HALT(k=2, c=0.6, p=2), table)
    risks = attack_tables(release.table, original=table, model=release.model, known=(1,), targets=100)
    (sure,) = (each for each in risks if (each.name, each.kind) == ("confidence_shown", "other_sensitive"))
    assert (sure.value, sure.bound) == (1.0, None)


def test_what_was_suppressed_is_explained_and_reported(tmp_path):
    """A whole run, as protect does it: reasons, relaxations, attacks and both pages."""
    rows = [[("a", "AZT", "HIV")]] * 6 + [[("b", "none", "flu")]] * 6 + [[("c", "none", "HIV")]] * 4
    frame = visits(rows, {"drug": ["AZT"], "ill": ["HIV"]}).frame
    frame.write_csv(tmp_path / "visits.csv")
    patients = pl.DataFrame({"who": [str(n) for n in range(16)], "faith": ["x", "y"] * 8})
    patients.write_csv(tmp_path / "patients.csv")
    (tmp_path / "release.toml").write_text(CONFIG)
    found = protect(tmp_path / "release.toml", seed="a seed of enough letters")
    assert found.release.model.sensitive_known
    report = (tmp_path / "out/internal/report.json").read_text()
    assert verify(tmp_path / "out/release", original=read_config(tmp_path / "release.toml"))
    fates = {each["name"]: each["suppressed"] for each in json.loads(report)["summary"]["columns"]}
    starred = {name for name in ("drug", "ill") if "*" in found.release.frame[name].to_list()}
    assert starred
    assert {name for name in ("drug", "ill") if fates[name]} == starred
    assert "or * where it would tell others" in (tmp_path / "out/release/report.html").read_text()
