"""The control: persons whom the release does not hold, or permuted values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sequester as sq
from attacks.tables import symbols
from sequester.attacks import Inference, Linkage, Presence, hold_out
from sequester.attacks.domain import Domain
from sequester.errors import InputError, ParameterError, SchemaError
from sequester.hierarchies import Hierarchy


def visits(rows):
    """A table of one quasi-identifier and one sensitive value per person."""
    frame = pl.DataFrame(rows, schema=["who", "q", "s"], orient="row").with_columns(n=pl.lit(1))
    return sq.EventTable(frame, sq.Schema("who", "n", quasi={"q": Hierarchy.flat()}, sensitive={"s": "all"}))


def test_persons_who_were_held_out_are_looked_for_in_the_release():
    table, others = symbols(["ab", "ac", "ac"]), symbols(["ac", "bc"])
    risk = Linkage(known=2, measure="unique").run(table, original=table, held_out=others, targets=30)
    assert risk.control_of == "held out"
    assert risk.value == pytest.approx(1 / 3)
    # Both others are no member; nobody stands alone with what is known of them.
    assert risk.control.value == 0
    absence = Presence(known=2).run(table, original=table, held_out=others, targets=30)
    assert (absence.value, absence.control.value) == (0, 0.5)
    assert absence.to_json()["control_of"] == "held out"


def test_membership_is_told_from_persons_who_were_held_out():
    table, others = symbols(["ab", "ab"]), symbols(["cd", "ab"])
    risk = Presence(known=2, measure="membership").run(table, original=table, held_out=others, targets=40)
    assert risk.value == risk.raw.value == 0.5


def test_what_is_guessed_of_others_is_what_the_population_tells():
    inside = visits([("1", "x", "HIV"), ("2", "x", "HIV"), ("3", "y", "flu")])
    outside = visits([("4", "x", "HIV"), ("5", "y", "HIV")])
    risk = Inference(measure="guess").run(inside, original=inside, held_out=outside, targets=60)
    assert risk.value == 1
    # x goes with HIV for whoever has it, and that y goes with flu is no news about the last one.
    assert risk.control.value == 0.5
    assert risk.baseline == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)


def test_without_others_values_are_dealt_out_anew():
    table = symbols(["ab"] * 3 + ["cd"] * 3)
    risk = Linkage(known=2, measure="candidates").run(table, original=table, targets=30)
    assert risk.control_of == "shuffled"
    assert (risk.value, risk.raw.value) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert risk.control.value != risk.value


@pytest.mark.parametrize("share", [0, 1, -0.5, 0.01, float("nan")])
def test_somebody_is_on_both_sides(share):
    with pytest.raises(ParameterError, match="leave somebody on both sides"):
        hold_out(symbols(["a", "b"]), share=share)


def test_parts_keep_hierarchies_and_protection():
    days = {"who": list("abcd"), "at": ["2010-01-01", "2010-02-01", "2011-03-01", "2011-04-01"]}
    frame = pl.DataFrame(days).with_columns(s=pl.Series(["x", "y", "x", "x"]))
    dates = sq.Hierarchy.dates(["month", "year"])
    table = sq.EventTable(frame, sq.Schema("who", time="at", quasi={"at": dates}, sensitive={"s": "all"}))
    inside, outside = hold_out(table, seed="another")
    for part in (inside, outside):
        assert part.hierarchies is table.hierarchies
        assert part.protected == table.protected
        assert part.labels["at"] == sorted(part.frame["at"])
        assert part.times.dt.to_string("%F").to_list() == part.frame["at"].to_list()
        assert np.array_equal(part.person_offsets, [0, 1, 2])
    assert sorted([*inside.rows, *outside.rows]) == [1, 2, 3, 4]
    assert Linkage().run(inside, original=inside, held_out=outside).control.value == 0


def test_a_split_is_protected_attacked_and_compared():
    table = symbols(["abc", "abd", "acd", "abc", "bcd", "abd"] * 5)
    inside, outside = hold_out(table, share=0.4)
    assert (inside.n_persons, outside.n_persons) == (18, 12)
    release = sq.BFP2kA(k=2).apply(inside, seed="a sentence nobody guesses")
    risks = sq.attack(release, original=inside, held_out=outside, known=(2,), targets=40)
    general = [risk for risk in risks if risk.kind in ("ordered", "anywhere")]
    assert {risk.control_of for risk in general} == {"held out"}
    assert all(risk.is_within for risk in risks)


def test_others_must_be_of_the_same_kind():
    table = symbols(["ab"])
    release = sq.BFP2kA(k=2).apply(symbols(["ab", "ab"]), seed="a sentence nobody guesses")
    with pytest.raises(SchemaError, match="held_out must be an EventTable, got DataFrame"):
        sq.attack(release, original=table, held_out=table.frame)
    with pytest.raises(InputError, match="held_out must have the columns of the original, and has no 'page'"):
        Linkage().run(table, original=table, held_out=visits([("1", "x", "flu")]))
    nobody = pl.DataFrame(schema={"who": pl.String, "n": pl.Int64, "page": pl.String})
    with pytest.raises(ParameterError, match="held_out must have events, there are none"):
        Linkage().run(
            table, original=table, held_out=sq.EventTable(nobody, sq.Schema("who", "n", symbol="page"))
        )


def letters_of(labels, edges):
    frame = pl.DataFrame({"who": [str(n) for n in range(len(labels))], "n": [1] * len(labels), "q": labels})
    return sq.EventTable(frame, sq.Schema("who", "n", quasi={"q": Hierarchy.from_edges(edges.items())}))


def test_hierarchies_of_both_are_put_together():
    inside = letters_of(["a", "b"], {"a": "x", "b": "x"})
    outside = letters_of(["a", "c"], {"a": "x", "c": "x"})
    trees = {"q": Hierarchy.from_edges([("a", "x"), ("b", "x")])}
    coarse = pl.DataFrame({"who": ["1", "2"], "n": [1, 1], "q": ["x", "x"]})
    released = sq.EventTable(coarse, sq.Schema("who", "n", quasi=trees, released=True))
    risk = Linkage(measure="candidates").run(released, original=inside, held_out=outside, targets=20)
    # Whoever has c may be behind x as well as whoever has a.
    assert (risk.value, risk.control.value) == (0.5, 0.5)
    absence = Presence().run(inside, original=inside, held_out=outside, targets=20)
    assert (absence.value, absence.control.value) == (0, 0.5)


def test_weeks_of_others_join_those_of_the_original():
    def stays(days):
        frame = pl.DataFrame({"who": [str(n) for n in days], "n": [1] * len(days), "days": days})
        return sq.EventTable(frame, sq.Schema("who", "n", quasi={"days": Hierarchy.intervals([7, 28])}))

    inside, outside = stays([1, 3, 9]), stays([2, 5, 40])
    domain = Domain.of(inside, outside)
    tree = domain.trees[0]
    assert {"1", "2", "3", "5", "9", "40", "[0:6]", "[28:55]"} <= {*tree.labels}
    assert tree.leaves[tree.node("[0:6]")] == 7
    assert tree.leaves[tree.node("[28:55]")] == 28


def test_hierarchies_that_contradict_each_other_are_refused():
    inside = letters_of(["a"], {"a": "x"})
    with pytest.raises(InputError, match="'a' lies below 'x' in the original, and below 'y' elsewhere"):
        Linkage().run(inside, original=inside, held_out=letters_of(["c"], {"a": "y", "c": "y"}))
    frame = pl.DataFrame({"who": ["1"], "n": [1], "q": ["c"]})
    bare = sq.EventTable(frame, sq.Schema("who", "n", sensitive={"q": ["c"]}))
    with pytest.raises(InputError, match="column 'q' has values that the hierarchy"):
        Linkage().run(inside, original=inside, held_out=bare)
