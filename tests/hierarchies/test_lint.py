"""Each finding of the linter, by its exact line."""

from __future__ import annotations

import pytest

from sequester.errors import HierarchyError
from sequester.hierarchies import Hierarchy, lint
from sequester.hierarchies.lint import shown_rows


@pytest.fixture
def arx(tmp_path):
    def arx(text):
        path = tmp_path / "zip.csv"
        path.write_text(text)
        return Hierarchy.read(path)

    return arx


def said(source, values):
    return [f"{finding.severity}: {finding}" for finding in lint(source, values, "ZIP")]


def test_nothing_to_say(arx):
    assert said(arx("a;g;*\nb;g;*\n"), ["a", "b"]) == []


@pytest.mark.parametrize(
    ("text", "values", "line"),
    [
        ("a;g;a;*\n", [], "error: column 'ZIP': zip.csv row 1: cycle 'a' > 'g' > 'a'"),
        ("a;*;g;*\n", [], "error: column 'ZIP': zip.csv row 1: cycle '*' > 'g' > '*'"),
        ("a;g;*\na;g;*\n", ["a"], "error: column 'ZIP': zip.csv row 2: leaf 'a' is already in row 1"),
        ("a;g;*\na;h;*\n", ["a"], "error: column 'ZIP': zip.csv row 2: leaf 'a' is already in row 1"),
        (
            "a;g;x;*\nb;g;y;*\n",
            ["a", "b"],
            (
                "error: column 'ZIP': zip.csv row 2, level 1: 'g' lies under 'y', but under 'x' in row 1: "
                "the levels do not nest"
            ),
        ),
        (
            "a;g;x;*\nb;c;g;y;*\n",
            ["a", "b"],
            "error: column 'ZIP': zip.csv row 2, level 2: 'g' has two parents, 'x' (row 1) and 'y'",
        ),
        (
            "g;g;*\na;g;*\n",
            ["a", "g"],
            "error: column 'ZIP': zip.csv row 1: 'g' is a leaf, but lies above others in row 2",
        ),
        ("a;;*\n", [], "error: column 'ZIP': zip.csv row 1, level 1: empty label"),
        (";g;*\n", [], "error: column 'ZIP': zip.csv row 1, level 0: empty label"),
        ("*;*\n", [], "error: column 'ZIP': zip.csv row 1: '*' is the root and cannot be a value"),
        ("a;*\n", ["a", "*"], "error: column 'ZIP': the value '*' is reserved for the root of the hierarchy"),
        (
            "a;*\n",
            ["a", "z", "b"],
            "error: column 'ZIP': zip.csv: 2 values of the data are missing: 'b', 'z'",
        ),
        (
            "a;*\n",
            ["a", " a"],
            (
                "error: column 'ZIP': zip.csv: 1 value of the data is missing: ' a' "
                "(1 looks like a leaf, such as ' a' like 'a': alike = \"merge\" takes it for that)"
            ),
        ),
        (
            "a;g;h;*\n",
            ["a", "g", "h"],
            "error: column 'ZIP': zip.csv: 2 values of the data are groups and no leaves: 'g', 'h'",
        ),
        ("a; g;*\n", ["a"], "warning: column 'ZIP': zip.csv: trimmed blanks around 1 label (row 1)"),
        ("a;*\nb;*\nc;*\n", ["a"], "info: column 'ZIP': zip.csv: 2 leaves do not occur in the data"),
        (
            "(missing);g;*\n",
            ["(missing)"],
            (
                "error: column 'ZIP': zip.csv row 1, level 0: '(missing)' stands for missing values "
                "and must be a leaf directly under '*'"
            ),
        ),
    ],
)
def test_each_finding_alone(arx, text, values, line):
    heard = said(arx(text), values)
    assert line in heard
    assert [other for other in heard if other.startswith("error")] in ([line], [])


def test_all_findings_come_at_once_errors_first(arx):
    source = arx("a;g;*\na;g;*\n b;g;*\nc;;*\nd;d2;*\n")
    assert said(source, ["a", "b", "z", "*"]) == [
        "error: column 'ZIP': the value '*' is reserved for the root of the hierarchy",
        "error: column 'ZIP': zip.csv row 2: leaf 'a' is already in row 1",
        "error: column 'ZIP': zip.csv row 4, level 1: empty label",
        "error: column 'ZIP': zip.csv: 1 value of the data is missing: 'z'",
        "warning: column 'ZIP': zip.csv: trimmed blanks around 1 label (row 3)",
        "info: column 'ZIP': zip.csv: 1 leaf does not occur in the data",
    ]
    with pytest.raises(HierarchyError) as caught:
        source.build(["a", "b", "z", "*"], column="ZIP")
    assert len(caught.value.lines) == 4


def test_findings_carry_what_a_program_needs(arx):
    (finding,) = lint(arx("a;*\n"), ["a", *"zyxwvu"], "ZIP")
    assert (finding.severity, finding.kind, finding.column) == ("error", "missing-values", "ZIP")
    assert finding.labels == tuple("uvwxyz")
    assert finding.count == 6
    assert finding.text.endswith("6 values of the data are missing: 'u', 'v', 'w', 'x', 'y' and 1 more")
    duplicate = lint(arx("a;*\na;*\n"), ["a"], "ZIP")[0]
    assert (duplicate.kind, duplicate.rows, duplicate.labels) == ("duplicate-leaf", (2,), ("a",))


def test_a_flood_of_findings_is_counted(arx):
    source = arx("a;g;*\n" * 1000)
    heard = said(source, ["a"])
    assert len(heard) == 21
    assert heard[19] == "error: column 'ZIP': zip.csv row 21: leaf 'a' is already in row 1"
    assert heard[20] == "error: column 'ZIP': 979 more of the kind 'duplicate-leaf'"


def test_hostile_labels_cannot_break_a_line(arx):
    (line,) = said(arx("a;*\n"), ["a", "x\n\x1b[31mred"])
    assert line == r"error: column 'ZIP': zip.csv: 1 value of the data is missing: 'x\n\x1b[31mred'"


def test_concrete_trees_and_kinds_are_linted_too():
    tree = Hierarchy.from_tree({"g": ["a", "b"]})
    assert said(tree, ["a", "c"]) == [
        "error: column 'ZIP': hierarchy: 1 value of the data is missing: 'c'",
        "info: column 'ZIP': hierarchy: 1 leaf does not occur in the data",
    ]
    assert said(Hierarchy.intervals(7), ["1", "x"]) == [
        "error: column 'ZIP': intervals: 1 value is not a number: 'x'"
    ]
    assert said(Hierarchy.flat(), ["a"]) == []


def test_missing_values_need_no_leaf_beforehand(arx):
    assert said(arx("a;*\n"), ["a", "(missing)"]) == []


def test_rows_are_named():
    assert shown_rows(range(1, 8)) == "rows 1, 2, 3, 4, 5 and 2 more"
