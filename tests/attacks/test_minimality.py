"""Who does again what the method does believes what the definition says."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.cblda.tables import examples
from methods.halt.tables import cases
from oracles import minimality as oracles
from sequester.attacks import minimality
from sequester.attacks.context import Case
from sequester.attacks.minimality import PossibleWorlds, attack_minimality, minimality_risks
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.engine import silent
from sequester.errors import UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, CBLDABaseline, GloGen
from sequester.privacy import KCPPrivacy, KCPrivacy
from sequester.workflow.attack import background_knowledge

SEED = "kept in a safe place"
PROTECT = ("H", "C")
SOME = settings(max_examples=settings.default.max_examples // 10)
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")


def table_of(persons):
    """Persons with one event each: a quasi-identifier and a value."""
    frame = pl.DataFrame(
        [(f"p{number}", 1, known[0], values[0]) for number, (known, values) in enumerate(persons)],
        schema=["who", "n", "q", "ill"],
        orient="row",
    )
    quasi = {"q": Hierarchy.tree({"x": ["a", "b"], "y": ["c"]})}
    return EventTable(frame, Schema("who", "n", quasi=quasi, sensitive={"ill": list(PROTECT)}))


def cautious(persons):
    """Show a quasi-identifier as it is, unless most who have it share a protected value: then nothing.

    Whom nobody resembles is left out.
    """
    candidates = {}
    for (label,), (value,) in persons:
        candidates.setdefault(label, Counter())[value] += 1
    shown = []
    for (label,), _ in persons:
        candidate_set = candidates[label]
        too_sure = any(2 * candidate_set[value] > candidate_set.total() for value in PROTECT)
        shown.append(None if candidate_set.total() == 1 else ("*",) if too_sure else (label,))
    return shown


def only_a(persons):
    """Show everybody's quasi-identifier as it is, unless most who have a share H: then a and b as x."""
    mine = [value for (label,), (value,) in persons if label == "a"]
    too_sure = 2 * mine.count("H") > len(mine)
    return [("x",) if too_sure and label in "ab" else (label,) for (label,), _ in persons]


@dataclasses.dataclass
class Made:
    sequences: Sequences
    changes: pl.DataFrame


def remade_by(method):
    """Make a function that does with a table what a method of the oracle does with persons."""

    def replay(table):
        labels, values = table.frame["q"].to_list(), table.frame["ill"].to_list()
        shown = method([((label,), (value,)) for label, value in zip(labels, values, strict=True)])
        out = [each is not None for each in shown]
        columns = {
            "q": pl.Series([each[0] for each in shown if each is not None], dtype=pl.String),
            "ill": pl.Series(values, dtype=pl.String).filter(pl.Series(out, dtype=pl.Boolean)),
        }
        offsets = Sequences.from_rows(["x" if is_out else "" for is_out in out]).person_offsets
        return Made(Sequences.encoded(offsets, columns), pl.DataFrame())

    return replay


replay = remade_by(cautious)
labels, values = (st.sampled_from(letters).map(lambda each: (each,)) for letters in ("abc", "HCf"))
some_persons = st.lists(st.tuples(labels, values), min_size=1, max_size=4)


@pytest.mark.parametrize("method", [cautious, only_a])
@settings(max_examples=settings.default.max_examples // 5)
@given(persons=some_persons)
def test_beliefs_equal_definition(method, persons):
    worlds = PossibleWorlds.of(table_of(persons), remade_by(method), seed=SEED, progress=silent)
    assert worlds.is_all
    risks = {risk.name: risk for risk in minimality_risks(worlds, kind="everybody")}
    for measure, (reasoned, shown) in oracles.beliefs(persons, method, PROTECT).items():
        risk = risks[measure]
        assert (risk.value, risk.control.value) == pytest.approx((float(reasoned), float(shown)))
        assert risk.bound is None
        assert risk.interval == (risk.value, risk.value)


def test_what_was_not_necessary_is_ruled_out():
    persons = [(("a",), ("H",)), (("a",), ("H",)), (("b",), ("f",)), (("b",), ("f",))]
    # Two of four look the same and have H. But a would have been shown, had not both of them had it.
    assert oracles.beliefs(persons, only_a, PROTECT)["minimality"] == (1, 0.5)
    worlds = PossibleWorlds.of(table_of(persons), remade_by(only_a), seed=SEED, progress=silent)
    risk, _ = minimality_risks(worlds, kind="everybody")
    assert (risk.value, risk.control.value, risk.raw.value, risk.baseline) == (1.0, 0.5, 1.0, 0.5)
    assert worlds.n_fit < worlds.n_tried


@pytest.mark.parametrize("method", [HALT, GloGen])
@SOME
@given(case=cases(most_p=2, most_persons=6, most_events=2, most_quasi=2))
def test_halt_is_reasoned_about(method, case):
    asked = method(k=2, c=float(case.c), p=case.p, levels=case.levels)
    check(asked, case.table())


@pytest.mark.parametrize("method", [CBLDA, CBLDABaseline])
@SOME
@given(example=examples())
def test_cblda_is_reasoned_about(method, example):
    check(method(k=2, c=0.5), example.table())


def check(method, table):
    """Nothing is claimed, so nothing is beaten; and what is believed is a share."""
    try:
        release = method.apply(table, seed=SEED)
    except UnattainableError:
        return
    known = background_knowledge(method, release.table, table, release.pseudonyms)
    known["histories"] = None
    before = minimality.MOST_WORLDS
    minimality.MOST_WORLDS = 6
    try:
        risks = attack_minimality(
            release.model, Case(tables=release.tables, released=release.table, original=table, **known)
        )
    finally:
        minimality.MOST_WORLDS = before
    assert [risk.name for risk in risks] == ["minimality", "surest_minimality"]
    for risk in risks:
        assert risk.bound is None
        assert 0 <= risk.interval[0] <= risk.value <= risk.interval[1] <= 1


def test_many_persons_are_thought_through_by_some_of_them(monkeypatch):
    monkeypatch.setattr(minimality, "MOST_PERSONS", 8)
    monkeypatch.setattr(minimality, "MOST_WORLDS", 5)
    persons = [((label,), (value,)) for label in "abc" for value in "Hff"] * 3
    table = table_of(persons)
    case = Case(tables={}, released=table, original=table, replay=replay)
    mean, surest = attack_minimality(KCPrivacy(k=2, c=0.5), case)
    assert {mean.kind, surest.kind} == {"sample"}
    assert mean.targets < 9
    assert mean.control_of == "no reasoning"


def test_a_world_that_nobody_thinks_through():
    table = table_of([(("a",), ("H",)), (("a",), ("f",))] * 300)
    model = KCPrivacy(k=101, c=0.5)
    assert attack_minimality(model, Case(tables={}, released=table, original=table, replay=replay)) == []


def test_too_many_columns_are_left_out_with_a_line_unless_attacks_are_thorough(monkeypatch):
    monkeypatch.setattr(minimality, "MOST_COLUMNS", 0)
    table = table_of([(("a",), ("H",)), (("a",), ("f",))])
    lines = []
    case = Case(tables={}, released=table, original=table, replay=replay, warn=lines.append)
    assert attack_minimality(KCPrivacy(k=2, c=0.5), case) == []
    (line,) = lines
    assert "minimality was left out" in line
    assert "1 quasi-identifiers" in line
    assert "--thorough" in line
    thorough = dataclasses.replace(case, thorough=True)
    assert len(attack_minimality(KCPrivacy(k=2, c=0.5), thorough)) == 2
    assert len(lines) == 1


def test_a_sample_that_cannot_be_protected_says_nothing():
    def refuse(table):
        msg = f"{table.n_persons} persons are too few"
        raise UnattainableError(msg, achieved={})

    table = table_of([(("a",), ("H",))])
    case = Case(tables={}, released=table, original=table, replay=refuse)
    assert attack_minimality(KCPPrivacy(k=2, c=0.5, p=1), case) == []
    assert attack_minimality(KCPPrivacy(k=2, c=0.5, p=1), dataclasses.replace(case, replay=None)) == []


def test_the_same_seed_tries_the_same_worlds():
    table = table_of([(("a",), (value,)) for value in "HHHfff"])
    one, other = (PossibleWorlds.of(table, replay, seed=SEED, progress=silent) for _ in range(2))
    assert one.n_tried == minimality.MOST_WORLDS
    assert not one.is_all
    assert np.array_equal(one.believed, other.believed)


def test_worlds_that_are_the_same_table_are_tried_once():
    table = table_of([(("a",), (value,)) for value in "Hfff"])
    calls = []

    def counted(table):
        calls.append(table)
        return replay(table)

    worlds = PossibleWorlds.of(table, counted, seed=SEED, progress=silent)
    assert worlds.n_tried == 24
    assert len(calls) == 4  # the table itself, and H at each of the others


def test_values_that_are_quasi_identifiers_are_not_permuted():
    """A column that is known may be sensitive, too; then every world is the table itself."""
    frame = pl.DataFrame({"who": list("wxyz"), "n": 1, "q": list("aacc")})
    schema = Schema(person="who", order="n", quasi={"q": Hierarchy.flat()}, sensitive={"q": ["a"]})
    table = EventTable(frame, schema)
    calls = []

    def unchanged(table):
        calls.append(table)
        return Made(table.sequences, pl.DataFrame())

    worlds = PossibleWorlds.of(table, unchanged, seed=SEED, progress=silent)
    assert worlds.n_fit == worlds.n_tried
    assert len(calls) == 1


def test_where_no_other_world_fits_the_risk_is_open(monkeypatch):
    monkeypatch.setattr(minimality, "MOST_WORLDS", 1)
    made = replay(table_of([(("a",), (value,)) for value in "Hfff"]))
    calls = []

    def only_once(table):
        calls.append(table)
        if len(calls) > 1:
            msg = "not again"
            raise UnattainableError(msg, achieved={})
        return made

    table = table_of([(("a",), (value,)) for value in "Hfff"])
    worlds = PossibleWorlds.of(table, only_once, seed="any", progress=silent)
    assert (worlds.n_tried, worlds.n_fit) == (1, 0)
    for risk in minimality_risks(worlds, kind="sample"):
        assert risk.interval == (0.0, 1.0)
