"""A table keeps a promise exactly if it keeps the sentence, read word by word with nothing else at hand."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles import sentences
from oracles.kcp import Table
from privacy.releases import event_table, tables
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.methods import METHODS
from sequester.privacy import (
    MODELS,
    KCPPrivacy,
    KCPrivacy,
    LDiversity,
    LEligibility,
    MutualInformationPrivacy,
    PatternHiding,
    SequenceKAnonymity,
)

TWO_COLUMNS = {"D": ("D1", "D2")}
SOME = settings(max_examples=settings.default.max_examples // 2, deadline=None)
shares = st.sampled_from(["1/3", 0.5, "2/3", 0.9, 1, 0.333, 0.3333334])
ks = st.integers(2, 4)
rows_of_text = st.lists(st.text("abc", max_size=3), min_size=1, max_size=3).flatmap(
    lambda base: st.lists(st.sampled_from(base), min_size=1, max_size=6)
)


def flat(tree):
    return set(tree.values()) == {"*"}


def kcp(table, **parameters):
    """The check of (K,C)^P-privacy, and the sentence that goes with it."""
    model = KCPPrivacy(levels=table.levels, stars=table.stars, protect=table.protect, **parameters)
    columns = TWO_COLUMNS if "D" in table.protect else {}
    released = event_table(table, columns=columns)
    return model.check(released).holds, model.about(released).in_words()


def kc(table, **parameters):
    model = KCPrivacy(protect=table.protect, **parameters)
    columns = TWO_COLUMNS if "D" in table.protect else {}
    released = event_table(table, columns=columns)
    return model.check(released).holds, model.about(released).in_words()


@SOME
@given(tables(most_quasi=2, most_persons=5), ks, shares, st.integers(1, 2))
def test_known_values(table, k, c, p):
    # What stands above a protected value of a quasi-identifier is another question: see test_kcp.
    assume(all(flat(table.trees[quasi]) for quasi in table.both))
    holds, sentence = kcp(table, k=k, c=c, p=p)
    kept = sentences.keeps_kcp(sentence, table)
    if table.levels == "mixed":
        assert holds == kept
    else:  # short branches stand at several levels for the check, which asks for more
        assert kept or not holds


@pytest.mark.parametrize("c", [1, 1.0, "1/1"])
def test_a_share_of_one_promises_nothing_about_inference(c):
    for model in (KCPPrivacy(k=2, c=c, p=2), KCPrivacy(k=2, c=c), KCPrivacy(k=2, c=c, reading="any")):
        said = replace(model, protect={"D": ("HIV",)}).in_words()
        assert "not bounded (c = 1)" in said
        assert "%" not in said
        assert "not bounded" not in replace(model, protect={"D": ("HIV",)}, c=0.5).in_words()


@SOME
@given(tables(most_quasi=1, most_persons=4), ks, shares)
def test_three_known_values(table, k, c):
    assume(all(flat(table.trees[quasi]) for quasi in table.both))
    holds, sentence = kcp(table, k=k, c=c, p=3)
    assert sentences.keeps_kcp(sentence, table) or not holds


@given(tables(most_quasi=2), ks, shares, st.sampled_from(["any", "each"]))
def test_everything_known(table, k, c, reading):
    holds, sentence = kc(table, k=k, c=c, reading=reading)
    assert holds == sentences.keeps_kc(sentence, table)


@given(rows_of_text, rows_of_text, ks, st.booleans())
def test_sequences(released, more, k, strict):
    original = [*released, *more] if strict else more + released[1:]
    model = SequenceKAnonymity(k=k, strict=strict)
    holds = model.check(Sequences.from_rows(released), original=Sequences.from_rows(original)).holds
    owned = [list(enumerate(rows)) for rows in (released, original)]
    assert holds == sentences.keeps_sequences(model.in_words(), *owned)


@given(
    st.lists(st.tuples(st.sampled_from("PQR"), st.sampled_from(["ab", "b", "abc"])), min_size=1, max_size=7),
    st.booleans(),
)
def test_trips_of_persons(trips, strict):
    frame = pl.DataFrame(
        [
            (person, number, step, item)
            for number, (person, items) in enumerate(trips)
            for step, item in enumerate(items)
        ],
        schema=["who", "trip", "step", "page"],
        orient="row",
    )
    table = EventTable(frame, Schema(person="who", order="step", trip="trip", symbol="page"))
    model = SequenceKAnonymity(k=2, strict=strict).about(table)
    assert "trip" in model.in_words()
    holds = model.check(table, original=table).holds
    assert holds == sentences.keeps_sequences(model.in_words(), trips, trips)


thresholds = st.integers(1, 4) | st.sampled_from([0.3, 0.5, 0.75])
patterns_of_text = st.sets(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3)


@given(rows_of_text, patterns_of_text, thresholds, thresholds, patterns_of_text, st.data())
def test_hidden_patterns(original, patterns, min_support, another, implausible, data):
    released = [data.draw(st.permutations(row).map("".join)) for row in original]
    own = {min(patterns): another} if data.draw(st.booleans()) else {}
    forbidden = implausible if data.draw(st.booleans()) else set()
    model = PatternHiding(
        sensitive=frozenset(map(tuple, patterns)),
        min_support=min_support,
        thresholds={tuple(pattern): value for pattern, value in own.items()},
        forbidden=frozenset(map(tuple, forbidden)),
    )
    before = Sequences.from_rows(original)
    holds = model.check(Sequences.from_rows(released), original=before).holds
    # As it was asked for, and in persons as a release states it.
    for stated in (model, model.about(before)):
        assert holds == sentences.keeps_patterns(
            stated.in_words(), released, original, patterns=patterns, own=own, implausible=forbidden
        )


records = st.lists(
    st.tuples(st.sampled_from("12"), st.sampled_from([1, 2]), st.sampled_from("abc")), max_size=12
)


@given(records, st.sampled_from([2, 3, "3/2", 2.5, "7/3", 1.1]))
def test_records_in_snapshots_and_groups(rows, l):  # noqa: E741  (the paper's letter)
    frame = pl.DataFrame(rows, schema={"time": pl.String, "group": pl.Int64, "ill": pl.String}, orient="row")
    eligible, diverse = LEligibility(l=l, sensitive="ill"), LDiversity(l=l, sensitive="ill")
    assert eligible.check_tables({"events": frame.drop("group")}).holds == sentences.keeps_records(
        eligible.in_words(), rows
    )
    kept = sentences.keeps_records(diverse.in_words(), rows)
    assert diverse.check_tables({"records": frame}).holds == kept
    # The same in two tables, whose groups are numbered through.
    numbered = frame.with_columns(pl.col("group") + 10 * pl.col("time").cast(pl.Int64))
    values = numbered.group_by("group", "ill").agg(pl.len().cast(pl.Int64).alias("count"))
    apart = {"records": numbered.drop("ill"), "values": values}
    assert diverse.check_tables(apart).holds == kept


# What a sentence would say without one of its clauses: the table keeps the check, and breaks that.


def person(*cells, ill=()):
    return [({"Q": cell}, {"D": set(ill) if place == 0 else set()}) for place, cell in enumerate(cells)]


LEVELS = {"a": "A", "b": "A", "c": "C", "d": "C", "A": "*", "C": "*"}
FLAT = dict.fromkeys("abc", "*")
EIGHT = [
    person("a", "c", ill="s"),
    person("a", "d", ill="s"),
    *[person("a", "c", "d")] * 2,
    *[person("a")] * 2,
    *[person("b", "c")] * 2,
]
WITHOUT = {
    "one level throughout": (
        Table(EIGHT, {"Q": LEVELS}, {"D": ("s",)}, "same"),
        {"k": 2, "c": 0.4, "p": 2},
        (", those of one quasi-identifier at one level throughout", ""),
    ),
    "stars that do not count": (
        Table([person("*"), person("a"), person("a")], {"Q": FLAT}, {"D": ("s",)}, "mixed", "ignored"),
        {"k": 2, "c": 1, "p": 1},
        (" A suppressed value (*) does not count as a value.", ""),
    ),
    "stars of a column that shows nothing": (
        Table([person("*", "*"), person("*"), person("*")], {"Q": FLAT}, {"D": ("s",)}, "mixed"),
        {"k": 2, "c": 1, "p": 2},
        (" A suppressed value (*) counts as a value where its column shows others.", ""),
    ),
    "protected values aside": (
        Table(
            [[({"Q": cell}, {"Q": {cell}})] for cell in "aabb"],
            {"Q": FLAT},
            {"Q": ("a",)},
            "mixed",
            both={"Q": "Q"},
        ),
        {"k": 2, "c": 0.5, "p": 1},
        (" (protected values aside)", ""),
    ),
    "a share with all its digits": (
        Table([person("a", ill="s"), person("a"), person("a")], {"Q": FLAT}, {"D": ("s",)}, "mixed"),
        {"k": 2, "c": 0.33333334, "p": 1},
        ("33.333334%", "33.3333%"),
    ),
}


@pytest.mark.parametrize("clause", WITHOUT)
def test_a_clause_of_known_values_that_is_needed(clause):
    table, asked, (words, instead) = WITHOUT[clause]
    holds, sentence = kcp(table, **asked)
    assert holds
    assert words in sentence
    assert sentences.keeps_kcp(sentence, table)
    assert not sentences.keeps_kcp(sentence.replace(words, instead), table)


def test_each_protected_value_is_not_any_of_them():
    table = Table(
        [person("a", ill="s"), person("a", ill="t"), person("a")], {"Q": FLAT}, {"D": ("s", "t")}, "mixed"
    )
    holds, each = kc(table, k=2, c=0.4, reading="each")
    refused, any_of_them = kc(table, k=2, c=0.4, reading="any")
    assert (holds, refused) == (True, False)
    assert sentences.keeps_kc(each, table)
    assert not sentences.keeps_kc(any_of_them, table)


@pytest.mark.parametrize("k", [2, 3])
def test_direct_succession_is_not_covered_by_parts_with_gaps(k):
    released = ["ab", *["acb"] * k]
    model = SequenceKAnonymity(k=k)
    owned = list(enumerate(released))
    assert model.check(Sequences.from_rows(released), original=Sequences.from_rows(released)).holds
    assert sentences.keeps_sequences(model.in_words(), owned, owned)
    assert not sentences.keeps_sequences(model.in_words().replace(" and with any gaps", ""), owned, owned)
    assert any("directly" in limit for limit in METHODS["p2ka"](k=k).limits)


def test_a_broken_level_is_written_as_the_share_that_is_checked():
    model = LEligibility(l="5/2", sensitive="ill")
    assert "2/5 of the records" in model.in_words()
    rows = [("1", 1, value) for value in "aabbc"]
    assert sentences.keeps_records(model.in_words(), rows)
    # 1/5/2 is a tenth to whoever reads it from the left.
    assert not sentences.keeps_records(model.in_words().replace("2/5", "1/10"), rows)


def test_what_one_pattern_may_have_is_not_what_the_others_may():
    model = PatternHiding(sensitive=frozenset({("a",), ("b",)}), min_support=2, thresholds={("a",): 3})
    rows = ["a", "a", "b"]
    about = {"patterns": {"a", "b"}, "own": {"a": 3}, "implausible": set()}
    assert model.check(Sequences.from_rows(rows)).holds
    assert sentences.keeps_patterns(model.in_words(), rows, rows, **about)
    plain = replace(model, thresholds={}).in_words()
    assert not sentences.keeps_patterns(plain, rows, rows, **about)


@pytest.mark.parametrize(
    ("method", "weaker"),
    [
        ("halt", 'levels = "same"'),
        ("glogen", 'levels = "same"'),
        ("cblda", 'reading = "each"'),
        ("cblda-baseline", 'reading = "each"'),
        ("p2ka", "strict = false"),
    ],
)
def test_a_method_says_which_setting_promises_less(method, weaker):
    assert weaker in METHODS[method].promise


COARSER = {"a": "aA*", "b": "bA*", "c": "c*"}
BOUNDS = [{"max_leakage": 0.5}, {"max_leakage": 0.123}, {"max_leakage_bits": 0.25}, {"max_leakage": 1.0}]


@SOME
@given(
    st.data(),
    st.lists(st.text("abc", max_size=6), min_size=1, max_size=3),
    st.sets(st.text("abc", min_size=1, max_size=2), min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from(BOUNDS),
    st.booleans(),
    st.sampled_from(["exact", "paper"]),
)
def test_revealed_bits(data, original, patterns, window, bound, worst_case, measure):
    released = [tuple(data.draw(st.sampled_from(COARSER[each])) for each in row) for row in original]
    model = MutualInformationPrivacy(
        sensitive=frozenset(map(tuple, patterns)),
        window=window,
        worst_case=worst_case,
        measure=measure,
        **bound,
    )
    verdict = model.check(Sequences.from_rows(released), original=Sequences.from_rows(original))
    assert verdict.holds == sentences.keeps_leakage(model.in_words(), released, original, patterns=patterns)


def test_a_bound_on_leakage_is_written_as_it_is_checked():
    assert "at most 33.4% of what" in MutualInformationPrivacy(max_leakage=0.334).in_words()
    assert "at most 0.1234567 bits" in MutualInformationPrivacy(max_leakage_bits=0.1234567).in_words()


def test_every_promise_has_a_sentence_that_is_read():
    read = {KCPPrivacy, KCPrivacy, LDiversity, LEligibility, PatternHiding, SequenceKAnonymity}
    assert {*MODELS.values()} == {*read, MutualInformationPrivacy}


def test_an_unknown_wording_is_refused():
    with pytest.raises(ValueError, match="no reading is known"):
        sentences.keeps_kcp("Nobody is found.", Table([], {}))
