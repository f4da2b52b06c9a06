"""HALT that suppresses single cells: private by the oracle's count, true, and near the exhaustive optimum."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from hypothesis import given, settings

from methods.halt.tables import as_oracle, cases, event_table, small_case
from oracles import hierarchy, kcp
from oracles.halt import local_optimum
from sequester.errors import SequesterWarning, UnattainableError
from sequester.methods.halt.method import HALT

FLAT = {"a": "*", "b": "*", "c": "*"}


def local(**asked):
    return HALT(**asked, suppression="local")


def run(method, table, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, **how)


@given(cases(most_p=3, most_persons=7, most_quasi=2))
@settings(max_examples=min(settings.default.max_examples, 150))
def test_the_release_is_private_by_the_oracles_count(case):
    for stars in ("counted", "ignored"):
        method = HALT(
            k=case.k,
            c=str(case.c),
            p=case.p,
            levels=case.levels,
            infeasible="drop",
            stars=stars,
            suppression="local",
        )
        try:
            release = run(method, case.table(), evaluate=False)
        except UnattainableError:
            continue
        assert kcp.is_private(
            as_oracle(release, case.trees, levels=case.levels, stars=stars), case.k, case.c, case.p
        )


@given(cases(most_p=2, most_persons=7))
@settings(max_examples=40)
def test_every_released_cell_is_true_and_every_suppressed_one_is_listed(case):
    table = case.table()
    try:
        release = run(
            local(k=case.k, c=str(case.c), p=case.p, levels=case.levels, infeasible="drop"),
            table,
            evaluate=False,
        )
    except UnattainableError:
        return
    names = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    n_changed = 0
    for (pseudonym,), events in release.frame.group_by("person", maintain_order=True):
        before = table.frame.filter(pl.col("who") == names[pseudonym])
        for one, other in zip(before.iter_rows(named=True), events.iter_rows(named=True), strict=True):
            for name, tree in case.trees.items():
                assert other[name] in hierarchy.chain(tree, one[name])
                n_changed += other[name] != one[name]
    assert release.changes.filter(pl.col("what") != "dropped").height == n_changed
    assert release.changes.filter(pl.col("what") == "suppressed")["because"].null_count() == 0


def test_the_loss_is_near_that_of_the_exhaustive_optimum():
    ratios = []
    for number in range(40):
        case = small_case(number)
        best = local_optimum(*case.oracle())
        asked = {"k": case.k, "c": str(case.c), "p": case.p, "levels": case.levels}
        try:
            loss = run(local(**asked), case.table()).utility["information_loss"].value
        except UnattainableError:
            assert best is None
            continue
        assert loss >= float(best) - 1e-9
        if best:
            ratios.append(loss / float(best))
    assert sum(ratios) / len(ratios) <= 1.15


def beside(pairs, **limits):
    """One person per pair of values of Q and R, in one event."""
    persons = [[{"Q": q, "R": r}] for q, r in pairs]
    return event_table(persons, {"Q": FLAT, "R": FLAT}, [set()] * len(persons), **limits)


def test_one_rare_pair_does_not_cost_everybody_a_value():
    table = beside(["aa", "aa", "aa", "bb", "bb", "bb", "ab", "ba"])
    whole = run(HALT(k=2, c=1, p=2, suppression="global"), table)
    cells = run(local(k=2, c=1, p=2), table)
    assert cells.utility["information_loss"].value < whole.utility["information_loss"].value
    shown = [tuple(row) for row in cells.frame.select("Q", "R").iter_rows()]
    assert shown.count(("a", "a")) == 3
    assert shown.count(("b", "b")) == 3
    assert {"Q = a, R = b: 1 person", "Q = b, R = a: 1 person"} & set(cells.changes["because"])
    assert any("Single cells are suppressed" in limit for limit in cells.limits)
    assert not any("Single cells are suppressed" in limit for limit in whole.limits)
    assert "cell by cell" in cells.utility["suppressed_cells"].means
    assert "value by value" in whole.utility["suppressed_cells"].means


def test_a_value_that_is_never_suppressed_stays_and_others_go():
    table = beside(["aa", "aa", "bb", "bb", "ab", "ab", "ca", "cb"], Q={"never_suppress": ("a", "b")})
    release = run(local(k=2, c=1, p=2), table)
    assert release.frame["Q"].to_list().count("a") == 4
    assert release.frame["Q"].to_list().count("b") == 2


def test_what_nothing_allowed_breaks_is_refused_with_its_channel():
    table = beside(["aa", "bb", "bb"], Q={"never_suppress": ("a", "b")}, R={"never_suppress": ("a", "b")})
    with pytest.raises(UnattainableError, match=r"[QR] = a: 1 person, and nothing may be done about it"):
        run(local(k=2, c=1, p=2), table)


def test_the_heavier_column_keeps_its_values():
    for heavy, light in (("Q", "R"), ("R", "Q")):
        table = beside(["aa", "ab", "ba", "bb"] * 1, **{heavy: {"weight": 4.0}})
        release = run(local(k=2, c=1, p=2), table)
        assert "*" not in set(release.frame[heavy])
        assert "*" in set(release.frame[light])


def test_a_share_above_c_is_broken_in_those_who_have_the_value():
    persons = [[{"Q": q}] for q in "aaaabbbbbb"]
    protected = [{"h"}] * 3 + [set()] * 7
    release = run(local(k=2, c="1/2", p=1), event_table(persons, {"Q": FLAT}, protected))
    assert release.verdict
    starred = release.changes.filter(pl.col("what") == "suppressed")
    assert starred["constraint"].cast(pl.String).to_list()[0] in (
        "confidence above c",
        "stars in too little company",
    )
    assert release.frame["Q"].to_list().count("b") >= 4
