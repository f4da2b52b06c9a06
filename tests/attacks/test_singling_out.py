"""Who is singled out by columns that no promise covers, against a count that compares everybody."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import singling_out as oracle
from sequester.attacks import Linkage, attack_tables
from sequester.attacks.background_knowledge import TargetPool
from sequester.attacks.candidate_sets import Evidence, find_candidates
from sequester.attacks.domain import Domain
from sequester.attacks.linkage import bound_of
from sequester.attacks.singling_out import SinglingOut
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.privacy import KCPPrivacy, KCPrivacy

ROWS = st.lists(
    st.lists(st.tuples(*[st.sampled_from("abc")] * 4), min_size=1, max_size=4), min_size=1, max_size=9
)


def made(records, *, protect=("c",), keep=("ward", "bed")) -> EventTable:
    """Make a table whose events have a quasi-identifier, a sensitive value and two kept values."""
    frame = pl.DataFrame(
        [(str(who), n, *row) for who, record in enumerate(records) for n, row in enumerate(record)],
        schema=["who", "n", "zip", "ill", "ward", "bed"],
        orient="row",
    )
    return EventTable(
        frame,
        Schema(
            person="who",
            order="n",
            quasi={"zip": Hierarchy.flat()},
            sensitive={"ill": list(protect)},
            keep=keep,
            drop=[name for name in ("ward", "bed") if name not in keep],
        ),
    )


def found(table: EventTable) -> SinglingOut:
    out = SinglingOut.of(table)
    assert out is not None
    return out


@given(ROWS)
def test_counts_are_those_of_comparing_everybody(records) -> None:
    secret = max(row[1] for record in records for row in record)
    out = found(made(records, protect=[secret]))
    kept = [[row[2:] for row in record] for record in records]
    ill = [["?" if row[1] == secret else row[1] for row in record] for record in records]
    everything = [
        [(row[0], known, *row[2:]) for row, known in zip(record, values, strict=True)]
        for record, values in zip(records, ill, strict=True)
    ]
    assert out.by_kept == len(oracle.singled_out(kept))
    assert out.by_kept_event == len(oracle.by_one_event(kept))
    assert out.by_all == len(oracle.alone(everything))
    if out.sensitive:
        alone = oracle.singled_out([[(each,) for each in values] for values in ill])
        assert out.by_sensitive == sum(set(ill[number]) != {"?"} for number in alone)
    # More columns never single out fewer persons.
    assert max(out.by_sensitive, out.by_kept) <= out.by_all
    assert all(count <= out.by_kept for _, count in (*out.by_column, *out.leading))


def test_a_constant_column_singles_nobody_out_however_many_events_there_are() -> None:
    records = [[("a", "a", "x", "y")] * n for n in range(1, 9)]
    out = found(made(records))
    assert (out.by_kept, out.by_kept_event, out.by_sensitive) == (0, 0, 0)
    # The number of events tells all of them apart, and is released.
    assert out.by_all == 8
    assert not out.needs_consent


def test_a_value_that_never_changes_within_a_person_is_told_once() -> None:
    records = [[("a", "a", "mf"[n % 2], "y")] * n for n in range(1, 9)]
    assert found(made(records)).by_kept == 0


def test_a_key_singles_everybody_out_by_one_event_and_is_named_alone() -> None:
    records = [[("a", "a", str(who), "y"), ("a", "a", str(who), "z")] for who in range(40)]
    out = found(made(records))
    assert out.by_kept == out.by_kept_event == 40
    assert out.leading == (("ward", 40),)
    assert dict(out.by_column) == {"ward": 40, "bed": 0}


def test_columns_that_are_harmless_alone_can_single_out_together() -> None:
    records = [[("a", "a", str(who % 6), str(who // 6))] for who in range(36)]
    out = found(made(records))
    assert dict(out.by_column) == {"ward": 0, "bed": 0}
    assert out.by_kept == 36
    assert out.leading == (("ward", 0), ("bed", 36))
    assert "ward, then bed (100%)" in out.refusal()


def test_many_events_single_out_where_one_does_not() -> None:
    rng = np.random.default_rng(5)
    records = [[("a", "a", each, "y") for each in rng.choice(list("pq"), 30).tolist()] for _ in range(200)]
    out = found(made(records))
    assert out.by_kept == 200
    assert out.by_kept_event == 0


def test_a_rare_unprotected_sensitive_value_singles_out_its_person_alone() -> None:
    records = [[("a", "flu", "x", "y")] for _ in range(39)] + [[("a", "kuru", "x", "y")]]
    out = found(made(records, protect=["flu"]))
    assert (out.by_sensitive, out.by_kept, out.by_all) == (1, 0, 1)
    assert not out.needs_warning
    assert "kuru" not in " ".join((*out.lines(), *out.limits(), out.warning()))


def test_a_protected_value_is_no_knowledge() -> None:
    records = [[("a", "flu", "x", "y")] for _ in range(4)] + [
        [("a", "HIV", "x", "y")],
        [("a", "MS", "x", "y")],
    ]
    out = found(made(records, protect=["HIV", "MS"], keep=()))
    assert out.by_sensitive == out.by_all == 0
    # Whoever has nothing but a protected value has none that could be known.
    out = found(made(records, protect=["HIV"], keep=()))
    assert out.by_sensitive == 1
    # Where everything is protected there is nothing to know.
    assert SinglingOut.of(made(records, protect=["HIV", "MS", "flu"], keep=())) is None


def test_a_sensitive_quasi_identifier_is_covered_by_the_promise() -> None:
    frame = pl.DataFrame({"who": list("abc"), "n": 1, "ill": ["flu", "gout", "HIV"], "ward": list("xyz")})
    schema = Schema(
        person="who", order="n", quasi={"ill": Hierarchy.flat()}, sensitive={"ill": ["HIV"]}, keep=["ward"]
    )
    out = found(EventTable(frame, schema))
    assert out.sensitive == ()
    assert out.by_all == 3


@pytest.mark.parametrize(("alone", "asks"), [(4, False), (5, False), (6, True)])
def test_consent_is_asked_for_above_five_percent_and_not_at_it(alone: int, asks: bool) -> None:
    records = [[("a", "a", str(who) if who < alone else "x", "y")] for who in range(100)]
    out = found(made(records))
    assert out.by_kept == alone
    assert out.needs_consent is asks


def test_missing_and_numbers_are_values_like_others() -> None:
    frame = pl.DataFrame({"who": list("abcd"), "n": 1, "zip": "1", "ward": [1.5, None, float("nan"), 2.5]})
    schema = Schema(person="who", order="n", quasi={"zip": Hierarchy.flat()}, keep=["ward"])
    assert found(EventTable(frame, schema)).by_kept == 2


def test_published_shares_are_whole_percents() -> None:
    records = [[("a", "a", str(who) if who < 333 else "x", "y")] for who in range(1000)]
    text = " ".join(found(made(records, keep=["ward"])).limits())
    assert "about 33%" in text
    assert "333" not in text
    assert "33.3" not in text


@given(ROWS, st.integers(1, 3))
def test_adversaries_who_know_values_of_one_event_find_whom_they_fit(records, known) -> None:
    secret = max(row[1] for record in records for row in record)
    table = made(records, protect=[secret]).with_kept(["ward", "bed"])
    domain = Domain.of(table, table)
    assert domain.columns == ("zip", "ill", "ward", "bed")
    source = TargetPool.of(table, domain)
    evidence = Evidence.of(table, domain)
    rng = np.random.default_rng(3)
    for kind, columns in (("kept", {2, 3}), ("released", {0, 1, 2, 3})):
        knowledge = source.draw(kind, known, 12, rng=rng)
        sizes = find_candidates(knowledge, evidence, domain).sizes
        for place, size in enumerate(sizes.tolist()):
            items = [
                (int(domain.kernel.column[node]), domain.label(node).split("=")[1])
                for node in knowledge.nodes[place].tolist()
                if node >= 0
            ]
            assert {column for column, _ in items} <= columns
            assert len({column for column, _ in items}) == len(items) <= known
            assert (1, secret) not in items
            assert size == sum(
                not items or any(all(row[column] == label for column, label in items) for row in record)
                for record in records
            )
            own = records[knowledge.persons[place]]
            assert not items or any(all(row[column] == label for column, label in items) for row in own)


def test_attacks_use_kept_columns_and_claim_nothing_about_them() -> None:
    records = [[("a", "flu", str(who), "y")] for who in range(30)] + [[("a", "HIV", "x", "y")]]
    table = made(records, protect=["HIV"])
    for model in (KCPPrivacy(k=5, c=0.5, p=3), KCPrivacy(k=5, c=0.5)):
        risks = attack_tables(table, original=table, model=model, known=(1, 2), targets=200)
        beyond = [risk for risk in risks if risk.kind in ("kept", "released")]
        assert {(risk.kind, risk.known) for risk in beyond} == {
            (kind, known) for kind in ("kept", "released") for known in (1, 2)
        }
        assert all(risk.bound is None for risk in beyond)
        (alone,) = [risk for risk in beyond if (risk.name, risk.kind, risk.known) == ("unique", "kept", 2)]
        assert alone.value == alone.raw.value == 1.0
        exact = {risk.kind: risk for risk in risks if risk.name == "singled_out"}
        assert exact["kept_record"].value == 1.0
        assert exact["sensitive_record"].value == 0.0
        assert exact["whole_record"].interval == (1.0, 1.0)
        assert all(risk.bound is None for risk in exact.values())
    assert bound_of(KCPrivacy(k=5, c=0.5), Linkage(kind="kept")) is None
    assert Linkage(kind="kept", measure="unique").run(table, original=table, targets=62).value > 0.4


def test_a_table_without_such_columns_has_no_such_attacks() -> None:
    frame = pl.DataFrame({"who": list("ab"), "n": 1, "zip": "1"})
    table = EventTable(frame, Schema(person="who", order="n", quasi={"zip": Hierarchy.flat()}))
    risks = attack_tables(table, original=table, known=(1,), targets=2)
    assert not {"kept", "released", "whole_record"} & {risk.kind for risk in risks}
