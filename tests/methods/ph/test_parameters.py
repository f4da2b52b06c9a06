"""What PH, SBSH and Abul may be told, and what they say to anything else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError, ParameterError, SchemaError, SequesterWarning, UnattainableError
from sequester.methods.ph import problem
from sequester.methods.ph.method import PH, SBSH, Bounded, SensitivePattern
from sequester.testing import symbol_table

AB = [["a", "b"]]
SEED = "a sentence that nobody guesses"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"min_support": 2}, "patterns must have at least one pattern, and there is none"),
        ({"patterns": ["ab"], "min_support": 2}, "patterns[0] must be a list of texts, got 'ab'"),
        ({"patterns": [[]], "min_support": 2}, "patterns[0] must have at least one item, got an empty list"),
        ({"patterns": "ab", "min_support": 2}, "patterns must be a list of lists of texts, got 'ab'"),
        (
            {"patterns": AB},
            "min_support must be a whole number of persons or a share below 1, and is missing",
        ),
        ({"patterns": AB, "min_support": 0}, "min_support must be at least 1, got 0"),
        (
            {"patterns": AB, "min_support": 2.5},
            "min_support must be a whole number of persons or a share below 1, got 2.5",
        ),
        (
            {"patterns": AB, "min_support": 2, "max_length": 0},
            "max_length must be at least 1, got 0",
        ),
        (
            {"patterns": AB, "min_support": 2, "max_length": True},
            "max_length must be a whole number, got True",
        ),
        (
            {"pattern": 5, "min_support": 2},
            "pattern must be a list of tables with items and min_support, got 5",
        ),
        ({"pattern": [5], "min_support": 2}, "pattern[0] must be a table with items and min_support, got 5"),
        ({"pattern": [{"item": "a"}]}, "pattern[0] must have items, and may have min_support, got item"),
        ({"pattern": [{"items": []}], "min_support": 2}, "pattern[0].items must have at least one item"),
        (
            {"pattern": [{"items": ["a"], "min_support": -1}]},
            "pattern[0].min_support must be at least 1, got -1",
        ),
        (
            {"pattern": [{"items": ["a"]}]},
            "min_support must be a whole number of persons or a share below 1, and",
        ),
        (
            {"pattern": [{"items": ["a"], "min_support": 2}, {"items": ["b"], "min_support": 0.5}]},
            "min_support must be a whole number of persons or a share below 1, and is missing",
        ),
        (
            {"patterns": AB, "pattern": [{"items": ["a", "b"]}], "min_support": 2},
            "pattern names a → b twice; one threshold is enough",
        ),
    ],
)
@pytest.mark.parametrize("kind", [PH, SBSH])
def test_wrong_patterns_and_thresholds_are_refused(kind, given, line):
    with pytest.raises(ParameterError) as refused:
        kind(**given)
    assert line in str(refused.value)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"forbidden": "all"}, "forbidden must be a list of patterns or \"unseen\", got 'all'"),
        ({"forbidden": 3}, "forbidden must be a list of lists of texts, got 3"),
        ({"prefer": "deletion"}, 'prefer must be "least-harm" or "permutation", got \'deletion\''),
        ({"uncertainty": "some"}, 'uncertainty must be "minimum-harm", "maximum" or a table'),
        ({"uncertainty": {"permutations": 2}}, 'uncertainty must be "minimum-harm", "maximum" or a table'),
        (
            {"uncertainty": {"permutations": 0, "support": 1}},
            "uncertainty.permutations must be at least 1, got 0",
        ),
        (
            {"uncertainty": Bounded(1, True)},
            "uncertainty.support must be a whole number, got True",
        ),
    ],
)
def test_wrong_rules_are_refused(given, line):
    with pytest.raises(ParameterError) as refused:
        PH(patterns=AB, min_support=2, **given)
    assert line in str(refused.value)


def test_the_smallest_own_threshold_says_what_is_frequent():
    method = PH(pattern=[SensitivePattern(("a",), 4), SensitivePattern(("b",), 3)])
    assert method.model().min_support == 3
    assert method.model().thresholds == {("a",): 4, ("b",): 3}
    assert method.unpublished() == {"patterns", "pattern", "forbidden"}
    assert method.parameters()["pattern"] == (
        {"items": ("a",), "min_support": 4},
        {"items": ("b",), "min_support": 3},
    )
    bounded = PH(patterns=AB, min_support=2, uncertainty={"permutations": 1, "support": 2})
    assert bounded.parameters()["uncertainty"] == {"permutations": 1, "support": 2}


def test_patterns_that_do_not_occur_draw_a_warning():
    table = symbol_table(["ab", "ab"])
    with pytest.warns(SequesterWarning) as heard:
        PH(patterns=[["a", "b"], ["b", "a"], ["x"]], min_support=2).apply(table, seed=SEED)
    assert [str(each.message) for each in heard] == [
        "patterns: b → a does not occur in the data",
        "patterns: x does not occur in the data",
    ]


def test_patterns_none_of_which_occurs_are_an_error():
    with pytest.raises(InputError, match="patterns: none of them occurs in the data: x, b → a"):
        PH(patterns=[["x"], ["b", "a"]], min_support=2).apply(symbol_table(["ab"]), seed=SEED)
    with pytest.raises(InputError, match=r"x0, .* and 2 more"):
        PH(patterns=[[f"x{n}"] for n in range(12)], min_support=2).apply(symbol_table(["ab"]), seed=SEED)


def test_a_share_is_one_of_the_persons():
    rows = ["ab"] * 3 + ["c"] * 7
    release = PH(patterns=AB, min_support=0.25).apply(symbol_table(rows), seed=SEED)
    assert release.model.min_support == 3
    assert release.verdict.achieved == {"min_support": 3}
    assert release.model.claim() == {"min_support": 3}


def test_nothing_to_hide_changes_nothing():
    release = PH(patterns=AB, min_support=3).apply(symbol_table(["ab", "ab", "b"]), seed=SEED)
    assert release.changes.is_empty()
    assert release.utility["information_loss"].value == 0
    assert release.utility["cayley_distance"].value == 0


def test_a_release_of_nothing_is_refused():
    with pytest.raises(UnattainableError, match="would have to delete every event"):
        PH(patterns=[["a"]], min_support=1).apply(symbol_table(["a", "aa"]), seed=SEED)


def test_any_role_but_the_symbol_is_refused():
    frame = pl.DataFrame({"who": ["a"], "n": [1], "ill": ["x"]})
    table = EventTable(frame, Schema(person="who", order="n", sensitive={"ill": "all"}))
    with pytest.raises(SchemaError) as refused:
        PH(patterns=AB, min_support=2).accept(table)
    assert refused.value.lines == (
        "ph needs one symbol per event, and no column has the role symbol",
        "ph releases only the symbol column: move 'ill' from sensitive to drop",
    )


def test_events_at_the_same_time_are_named_in_the_limits():
    frame = pl.DataFrame({"who": ["p", "p", "q"], "n": [1, 1, 1], "s": ["a", "b", "c"]})
    table = EventTable(frame, Schema(person="who", order="n", symbol="s"))
    release = PH(patterns=AB, min_support=1).apply(table, seed=SEED)
    assert any("at the same time" in line for line in release.limits)
    by_row = EventTable(pl.DataFrame({"s": ["a", "b"]}), Schema(person="row", symbol="s"))
    release = SBSH(patterns=[["a"]], min_support=1).apply(by_row, seed=SEED)
    assert not any("at the same time" in line for line in release.limits)


def test_more_frequent_patterns_than_anybody_can_track_are_refused(monkeypatch):
    monkeypatch.setattr(problem, "MAX_PATTERNS", 3)
    monkeypatch.setattr(problem, "MAX_TRACKED", 3)
    with pytest.raises(ParameterError, match="more than 3 patterns have at least 2 supporters"):
        PH(patterns=AB, min_support=2).apply(symbol_table(["abcd"] * 3), seed=SEED)


def test_trips_are_refused():
    frame = pl.DataFrame({"who": ["p", "p"], "n": [1, 2], "t": ["x", "y"], "s": ["a", "b"]})
    table = EventTable(frame, Schema(person="who", order="n", symbol="s", trip="t"))
    with pytest.raises(SchemaError, match="ph hides patterns in one sequence per person: leave trip out"):
        PH(patterns=AB, min_support=2).accept(table)


def test_numbers_of_numpy_are_whole_numbers_too():
    assert PH(patterns=AB, min_support=np.int64(2)).min_support == 2
