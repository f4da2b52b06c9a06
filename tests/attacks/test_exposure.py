"""What an adversary finds equals what enumeration finds, and follows the laws of knowledge."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.tables import as_persons, some_persons, some_rows, symbols, table_of
from oracles import knowledge as oracles
from sequester.attacks import expose, expose_attributes, exposure_search
from sequester.attacks.exposure import kinds_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import ParameterError
from sequester.hierarchies.hierarchy import Hierarchy


def shares(exposure):
    return {2: exposure.unique, 5: exposure.below_5, 10: exposure.below_10}


def equals_enumeration(exposure, persons):
    fewest = [oracles.fewest(person, persons, exposure.kind, exposure.known) for person in persons]
    return all(
        share.value == pytest.approx(sum(size < bound for size in fewest) / len(persons))
        for bound, share in shares(exposure).items()
    )


@given(some_persons)
def test_small_candidate_sets_equal_enumeration(persons):
    for exposure in expose(table_of(persons)):
        assert equals_enumeration(exposure, persons)
        assert exposure.confidence is None


@given(some_rows)
def test_small_candidate_sets_of_symbols_equal_enumeration(rows):
    found = expose(symbols(rows))
    assert [(each.kind, each.known) for each in found] == [
        (kind, known) for kind in ("ordered", "anywhere") for known in (1, 2, 3)
    ]
    assert all(equals_enumeration(each, as_persons(rows)) for each in found)


@given(some_persons, st.data())
def test_who_is_singled_out_by_one_attribute_equals_enumeration(persons, data):
    labels = [["H" if data.draw(st.booleans()) else "x" for _ in each] for each in persons]
    found = expose_attributes(table_of(persons, labels))
    n_attributes = len(persons[0][0])
    assert len(found) == (3 * n_attributes if n_attributes > 1 else 0)
    for each in found:
        place = int(each.attribute.removeprefix("q"))
        own = [[(event[place],) for event in person] for person in persons]
        expected = float(oracles.share_below(2, own, "ordered", each.known))
        assert each.unique.value == pytest.approx(expected)
        assert each.unique.is_exact
    last = [each.unique.value for each in found if each.known == 3]
    assert last == sorted(last, reverse=True)


def test_drawn_targets_give_an_interval_for_every_attribute():
    persons = [[(f"a{number}", "b"), (f"c{number // 2}", "c")] for number in range(60)]
    found = expose_attributes(table_of(persons), exact=20, targets=20, known=1)
    assert [(each.attribute, each.unique.value) for each in found] == [("q0", 1.0), ("q1", 0.0)]
    assert [each.unique.is_exact for each in found] == [False, False]
    assert found[1].unique.interval[1] < 0.2


@given(some_persons, st.data())
def test_confidence_equals_enumeration(persons, data):
    labels = [
        data.draw(st.lists(st.sampled_from("HCxyz"), min_size=len(each), max_size=len(each)))
        for each in persons
    ]
    protected = [{label for label in row if label in "HC"} for row in labels]
    table = table_of(persons, labels)
    for exposure in expose(table, known=2):
        assert equals_enumeration(exposure, persons)
        if not any(protected):
            assert exposure.confidence is None
            continue
        found = exposure.confidence
        question = persons, protected, exposure.kind, exposure.known
        assert found.above_half.value == pytest.approx(float(oracles.share_above(1 / 2, *question)))
        assert found.above_80.value == pytest.approx(float(oracles.share_above(8 / 10, *question)))
        concerned = [number for number in range(len(persons)) if protected[number]]
        assert found.largest == pytest.approx(
            max(float(oracles.surest(number, *question)) for number in concerned)
        )
        assert found.base_rate == pytest.approx(
            max(float(oracles.confidence(value, range(len(persons)), protected)) for value in "HC")
        )


@given(some_persons, st.data())
def test_worst_patterns_are_what_they_say(persons, data):
    labels = [
        data.draw(st.lists(st.sampled_from("HCx"), min_size=len(each), max_size=len(each)))
        for each in persons
    ]
    protected = [{f"s={label}" for label in row if label in "HC"} for row in labels]
    for exposure in expose(table_of(persons, labels), known=3):
        patterns = [*exposure.worst, *(exposure.confidence.worst if exposure.confidence else ())]
        for pattern in patterns:
            piece = tuple(item.split("=")[1] for item in pattern.items)
            candidate_set = oracles.candidate_set(
                piece if exposure.kind == "ordered" else frozenset(piece), persons, exposure.kind
            )
            assert len(candidate_set) == pattern.persons
            assert len(piece) == exposure.known
            if pattern.value:
                assert pattern.confidence == pytest.approx(
                    float(oracles.confidence(pattern.value, candidate_set, protected))
                )
        alone = [
            oracles.fewest(person, persons, exposure.kind, exposure.known) == 1
            and (
                exposure.known == 1 or oracles.fewest(person, persons, exposure.kind, exposure.known - 1) > 1
            )
            for person in persons
        ]
        # Whoever is found alone with so many items, and not with fewer, is found by exactly so many.
        if any(alone) and len(persons) > 1:
            assert exposure.worst[0].persons == 1


@given(some_rows, st.permutations("abc"))
def test_renaming_changes_nothing_but_names(rows, renamed):
    names = dict(zip("abc", renamed, strict=True))
    before = expose(symbols(rows))
    after = expose(symbols(["".join(names[label] for label in row) for row in rows]))
    assert [shares(each) for each in before] == [shares(each) for each in after]


@given(some_persons)
def test_more_knowledge_never_hides_anybody(persons):
    found = {(each.kind, each.known): each for each in expose(table_of(persons), known=4)}
    for (kind, known), exposure in found.items():
        assert exposure.unique.value <= exposure.below_5.value <= exposure.below_10.value
        if (kind, known + 1) in found:
            more = found[kind, known + 1]
            assert all(share.value <= shares(more)[bound].value for bound, share in shares(exposure).items())


@given(some_rows)
def test_a_second_copy_of_everybody_leaves_nobody_unique(rows):
    assert all(each.unique.value == 0 for each in expose(symbols(rows + rows)))


def test_one_shard_equals_many():
    rows = ["abcab", "bca", "cab", "abc", "aabbcc", "cba", "bb", "ca", "acb", "abcabc"] * 2 + ["cc", "bac"]
    one = expose(symbols(rows), engine=LocalEngine(threads=1, shards=1))
    assert one == expose(symbols(rows), engine=LocalEngine(threads=2, shards=7))


def test_person_without_equal_is_unique_by_the_one_item_that_only_they_have():
    first = expose(symbols(["ab", "ab", "abc"]))[0]
    assert (first.unique.value, first.unique.interval) == (1 / 3, (1 / 3, 1 / 3))
    assert [(each.items, each.persons) for each in first.worst] == [(("c",), 1)]


def test_order_matters_only_where_it_is_known():
    found = {(each.kind, each.known): each.unique.value for each in expose(symbols(["ab", "ab", "ba"]))}
    assert found["ordered", 2] == pytest.approx(1 / 3)
    assert found["anywhere", 3] == 0


def test_items_of_one_event_differ_from_items_of_several():
    persons = [[("a0", "a1"), ("b0", "b1")], [("a0", "b1"), ("b0", "a1")], [("a0", "b1"), ("b0", "a1")]]
    found = {(each.kind, each.known): each.unique.value for each in expose(table_of(persons))}
    assert found["event", 2] == pytest.approx(1 / 3)
    assert found["anywhere", 3] == 0


def test_one_attribute_has_no_items_of_one_event():
    assert kinds_of(table_of([[("a0",)]])) == ("ordered", "anywhere")
    assert kinds_of(table_of([[("a0", "a1")]])) == ("ordered", "event", "anywhere")


def test_protected_values_are_no_knowledge_where_they_are_quasi_identifiers_too():
    frame = pl.DataFrame({"who": list("abc"), "n": [1, 1, 1], "job": ["x", "x", "SECRET"]})
    schema = Schema("who", "n", quasi={"job": Hierarchy.flat()}, sensitive={"job": ["SECRET"]})
    for exposure in expose(EventTable(frame, schema)):
        assert exposure.unique.value == 0
        assert all("job=SECRET" not in pattern.items for pattern in exposure.worst)


def test_missing_value_is_an_item():
    frame = pl.DataFrame({"who": list("abc"), "n": [1, 1, 1], "job": ["x", "x", None]})
    first = expose(EventTable(frame, Schema("who", "n", quasi={"job": Hierarchy.flat()})))[0]
    assert first.worst[0].items == ("job=(missing)",)


def test_several_columns_are_one_sensitive_attribute():
    frame = pl.DataFrame(
        {
            "who": list("abcd"),
            "n": [1] * 4,
            "q": list("xxyy"),
            "d1": ["H", "u", "v", "v"],
            "d2": ["u", "H", "u", "u"],
        }
    )
    schema = Schema("who", "n", quasi={"q": Hierarchy.flat()}, sensitive={"d": _columns("d1", "d2")})
    confidence = expose(EventTable(frame, schema), known=1)[0].confidence
    assert confidence.base_rate == 0.5
    assert confidence.above_80.value == 1
    assert [(each.items, each.persons, each.value) for each in confidence.worst] == [(("q=x",), 2, "d=H")]


def _columns(*names):
    from sequester.data.schema import Protect, Sensitive

    return Sensitive(names, Protect(("H",)))


def test_drawn_targets_are_counted_among_everybody():
    rows = ["ab", "ba", "abc", "cab", "bca", "acb"] * 30 + ["cba"]
    exact, drawn = expose(symbols(rows)), expose(symbols(rows), exact=50, targets=50, seed="one text")
    assert drawn == expose(symbols(rows), exact=50, targets=50, seed="one text")
    assert {each.targets for each in drawn} == {50}
    assert {each.targets for each in exact} == {181}
    for whole, part in zip(exact, drawn, strict=True):
        assert all(
            low <= shares(whole)[bound].value <= high
            for bound, (low, high) in ((bound, share.interval) for bound, share in shares(part).items())
        )
        assert part.unique.interval[0] < part.unique.interval[1]


def test_cut_targets_widen_the_interval_and_never_the_value(monkeypatch):
    persons = [[("a0",), ("b0",), ("c0",)], [("c0",), ("a0",)], [("c0",), ("b0",)], [("b0",), ("a0",)]]
    exact = expose(table_of(persons), known=2)
    monkeypatch.setattr(exposure_search, "MOST_COMBINATIONS", 1)
    cut = expose(table_of(persons), known=2)
    assert any(each.cut for each in cut)
    for whole, part in zip(exact, cut, strict=True):
        assert part.unique.value <= whole.unique.value <= part.unique.interval[1]


@settings(max_examples=30)
@given(some_persons, st.integers(1, 3))
def test_cut_intervals_hold_the_exact_share(persons, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exposure_search, "MOST_COMBINATIONS", most)
        for exposure in expose(table_of(persons), known=3):
            for bound, share in shares(exposure).items():
                true = float(oracles.share_below(bound, persons, exposure.kind, exposure.known))
                assert share.interval[0] - 1e-12 <= true <= share.interval[1] + 1e-12


@pytest.mark.parametrize("name", ["known", "exact", "targets"])
def test_numbers_below_one_are_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
        expose(symbols(["a"]), **{name: 0})


def test_one_person_is_alone():
    found = expose(symbols(["ab"]))
    assert all(each.unique.value == 1 for each in found)


def test_all_alike_are_a_candidate_set():
    found = expose(symbols(["ab"] * 10))
    assert all(each.below_10.value == 0 for each in found)
    assert all(each.below_10.value == 1 for each in expose(symbols(["ab"] * 9)))


def test_document_has_the_agreed_keys():
    document = expose(symbols(["ab", "ba"]))[1].to_json()
    assert {"known", "kind", "unique", "below_5", "below_10"} <= set(document)
    assert document["unique"] == {"value": 1.0, "interval": [1.0, 1.0]}
    assert document["confidence"] is None


def test_progress_rises_to_the_end():
    heard = []
    expose(symbols(["ab", "ba", "abc"]), progress=lambda fraction, phase: heard.append((fraction, phase)))
    fractions = [fraction for fraction, _ in heard]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    assert "counting candidate sets (ordered, 2 of 3 items)" in dict(map(reversed, heard))


def test_pattern_documents_name_values_only_where_there_are_any():
    exposure = expose(table_of([[("a0",)], [("b0",)]], [["H"], ["x"]]), known=1)[0]
    assert exposure.to_json()["worst"][0] == {"items": ["q0=a0"], "persons": 1}
    telling = exposure.to_json()["confidence"]["worst"][0]
    assert telling == {"items": ["q0=a0"], "persons": 1, "value": "s=H", "confidence": 1.0}
    assert replace(exposure, confidence=None).to_json()["confidence"] is None


def test_a_person_who_is_alone_among_many_is_shown_whoever_is_drawn():
    rows = ["ab"] * 400 + ["ba"] * 400 + ["abc"]
    found = {
        each.known: each for each in expose(symbols(rows), known=2, kinds=["ordered"], exact=50, targets=20)
    }
    assert found[1].worst[0].items == ("c",)
    assert found[1].worst[0].persons == 1
    # Nobody of those who were drawn is alone.
    assert (found[1].targets, found[1].unique.value) == (20, 0.0)


def test_a_rare_protected_value_is_looked_at_whoever_is_drawn():
    persons = [[("a0",)]] * 500 + [[("b0",)]] * 4
    values = [["x"]] * 500 + [["H"]] * 3 + [["x"]]
    (found,) = expose(table_of(persons, values), known=1, kinds=["ordered"], exact=50, targets=20)
    assert found.confidence.largest == 0.75
    assert found.confidence.targets == 0
