"""A value, then the root."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import hierarchy as oracle
from sequester.errors import HierarchyError
from sequester.hierarchies import MISSING, Hierarchy, lint
from sequester.hierarchies.labels import in_label_order


@given(st.sets(st.text(min_size=1, max_size=4).filter(lambda text: text not in ("*", MISSING)), min_size=1))
def test_every_value_lies_under_the_root(values):
    tree = Hierarchy.flat().build(values, column="sex")
    assert tree.labels == ("*", *in_label_order(values))
    assert tree.height == 1
    assert tree.leaves[0] == len(values)
    assert tree.loss.tolist() == [1.0] + [0.0] * len(values)


def test_order_is_by_number_where_all_are_numbers_and_missing_is_last():
    assert Hierarchy.flat().build(["10", "9", "-1"], column="n", missing=True).labels == (
        "*",
        "-1",
        "9",
        "10",
        "(missing)",
    )


def test_reserved_and_empty_values_are_refused_together():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.flat().build(["*", "", "a"], column="sex")
    assert caught.value.lines == (
        "column 'sex': the value '*' is reserved for the root of the hierarchy",
        "column 'sex': an empty value cannot be a leaf: a missing value is null and becomes '(missing)'",
    )


def test_numbers_of_any_length_can_be_ordered():
    digits = "9" * 4000
    assert Hierarchy.flat().build([digits, "10", "9"], column="id").labels == ("*", "10", "9", digits)


def test_many_values_are_fast_enough_to_build():
    tree = Hierarchy.flat().build(map(str, range(50_000)), column="id")
    assert tree.labels[-1] == "49999"


TOML = """
chronic = ["asthma", "gout"]
other = {}
7 = [1, 2]
[acute]
infection = ["flu", "cold"]
fracture = []
"""


def test_toml():
    tree = Hierarchy.tree(tomllib.loads(TOML)).build(["flu", "1"], column="ill")
    assert str(tree).splitlines() == [
        "* (8 leaves)",
        "  7 (2 leaves)",
        "    1",
        "    2",
        "  acute (3 leaves)",
        "    fracture",
        "    infection (2 leaves)",
        "      cold",
        "      flu",
        "  chronic (2 leaves)",
        "    asthma",
        "    gout",
        "  other",
    ]


def test_the_root_may_be_written():
    assert Hierarchy.from_tree({"*": {"g": ["a"]}}) == Hierarchy.from_tree({"g": ["a"]})


def test_every_problem_is_named():
    source = Hierarchy.tree(
        {"g": ["a", "a", 1.5, True, ""], "h": {"a": {}}, "i": "text", "*": ["x"], " b ": {}}
    )
    assert [f"{finding.severity}: {finding}" for finding in lint(source, ["a", "z"], "ill")] == [
        "error: column 'ill': tree: a label under 'g' must be text, got 1.5",
        "error: column 'ill': tree: a label under 'g' must be text, got True",
        "error: column 'ill': tree: empty label under 'g'",
        "error: column 'ill': tree: 'i' must hold a table or a list, not str",
        "error: column 'ill': tree: '*' is the root and cannot lie under '*'",
        "error: column 'ill': tree: leaf 'a' is already under 'g'",
        "error: column 'ill': tree: 'a' has two parents, 'g' and 'h'",
        "error: column 'ill': tree: 1 value of the data is missing: 'z'",
        "warning: column 'ill': tree: trimmed blanks around 1 label: 'b'",
        "info: column 'ill': tree: 3 leaves do not occur in the data",
    ]


def test_a_cycle_of_names_is_found():
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_tree({"a": {"b": {"a": {"c": {}}}}})
    assert "tree: cycle 'a' > 'b' > 'a'" in caught.value.lines


@pytest.mark.parametrize("tree", [{}, {"*": {}}])
def test_an_empty_tree_is_refused(tree):
    with pytest.raises(HierarchyError, match="column 'ill': tree: has no leaves"):
        Hierarchy.tree(tree).build(["a"], column="ill")


@pytest.mark.parametrize("tree", ["text", 7, None])
def test_other_things_are_refused(tree):
    with pytest.raises(HierarchyError, match="'\\*' must hold a table or a list"):
        Hierarchy.tree(tree).build([], column="ill")


def test_tables_that_hold_themselves_end():
    tree = {}
    tree["a"] = tree
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_tree(tree)
    assert any("255 levels below the root, at most 255" in line for line in caught.value.lines)


def test_deep_tables_are_refused_by_their_depth():
    tree = {"leaf": {}}
    for i in range(5000):
        tree = {f"n{i}": tree}
    with pytest.raises(HierarchyError, match="'n4745' is 255 levels below the root, at most 255"):
        Hierarchy.from_tree(tree)


ILL = "flu;infection;acute;*\ncold;infection;acute;*\nfracture;injury;acute;*\nasthma;airways;chronic;*\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="ill.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def read(path, values=(), kind="arx"):
    return Hierarchy.read(path, format=kind).build(values, column="ill")


def lines(path, values=(), kind="arx"):
    return [f"{found.severity}: {found}" for found in lint(Hierarchy.read(path, kind), values, "ill")]


# ARX


def test_an_arx_file_is_read_and_written_back_as_it_was(write, tmp_path):
    tree = read(write(ILL), ["flu", "asthma"])
    assert tree.labels == (
        "*",
        "acute",
        "infection",
        "cold",
        "flu",
        "injury",
        "fracture",
        "chronic",
        "airways",
        "asthma",
    )
    tree.write_arx(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == ILL.encode()


@pytest.mark.parametrize(
    "content",
    [
        "﻿" + ILL,
        ILL.replace("\n", "\r\n"),
        ILL.replace("\n", "\r"),
        ILL.rstrip("\n"),
        ILL.replace("\n", "\n\n"),
        '"flu";"infection";acute;*\n"cold";infection;acute;*\nfracture;injury;acute;*\nasthma;airways;chronic;"*"',
    ],
    ids=["byte-order mark", "CRLF", "CR", "no last line end", "blank lines", "quotes"],
)
def test_the_same_file_in_other_clothes(write, tmp_path, content):
    tree = read(write(content))
    assert tree == read(write(ILL))
    tree.write_arx(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == ILL


def test_blanks_around_labels_are_trimmed_and_counted(write):
    path = write(" flu ;infection;*\ncold; infection;*\nasthma;airways\t;*\n")
    assert read(path, ["flu"]).labels == ("*", "airways", "asthma", "infection", "cold", "flu")
    assert lines(path, ["flu", "cold", "asthma"]) == [
        "warning: column 'ill': ill.csv: trimmed blanks around 3 labels (rows 1, 2, 3)",
    ]


def test_a_last_column_that_is_not_the_root_gets_it_on_top(write, tmp_path):
    path = write("flu;infection;ill\nasthma;airways;ill\n")
    tree = read(path)
    assert tree.labels == ("*", "ill", "airways", "asthma", "infection", "flu")
    tree.write_arx(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == "flu;infection;ill;*\nasthma;airways;ill;*\n"
    assert read(tmp_path / "again.csv") == tree


def test_rows_of_different_length_make_an_unbalanced_tree(write, tmp_path):
    path = write("flu;infection;acute;*\nasthma;chronic;*\nother;*\nrare\nodd;;;\n")
    tree = read(path)
    assert [tree.generalize("asthma", level) for level in range(4)] == ["asthma", "asthma", "chronic", "*"]
    assert [tree.generalize("rare", level) for level in range(4)] == ["rare", "rare", "rare", "*"]
    (line,) = lines(path, ["flu", "asthma", "other", "rare", "odd"])
    assert line == (
        "info: column 'ill': ill.csv: 4 rows are shorter than the longest (rows 2, 3, 4, 5): "
        "the missing levels repeat the leaf"
    )
    tree.write_arx(tmp_path / "again.csv")
    assert set((tmp_path / "again.csv").read_text().splitlines()) == {
        "flu;infection;acute;*",
        "asthma;asthma;chronic;*",
        "other;other;other;*",
        "rare;rare;rare;*",
        "odd;odd;odd;*",
    }
    assert read(tmp_path / "again.csv") == tree


def test_repeated_labels_are_one_node(write, tmp_path):
    path = write("flu;infection;acute;*\nasthma;asthma;chronic;*\n")
    tree = read(path)
    assert [tree.generalize("asthma", level) for level in range(4)] == ["asthma", "asthma", "chronic", "*"]
    assert lines(path, ["flu", "asthma"]) == []


def test_a_group_that_is_repeated_draws_a_warning_and_is_written_back(write, tmp_path):
    text = "flu;infection;acute;*\nasthma;chronic;chronic;*\n"
    path = write(text)
    tree = read(path)
    assert tree.generalize("asthma", 1) == "asthma"
    (line,) = lines(path, ["flu", "asthma"])
    assert line == (
        "warning: column 'ill': ill.csv: 1 row repeats a label above the leaf: levels are counted from the "
        "root, so 'asthma' (row 2) is 'asthma' at level 1, not 'chronic'"
    )
    tree.write_arx(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == text


def test_a_column_that_changes_nothing_is_no_level(write):
    path = write("flu;flu;acute;*\nasthma;asthma;chronic;*\n")
    assert read(path).height == 2
    (line,) = lines(path, ["flu", "asthma"])
    assert line == (
        "warning: column 'ill': ill.csv: "
        "4 columns make a tree of 3 levels: a column that changes nothing is none"
    )


def test_missing_values_are_a_row_of_their_own(write, tmp_path):
    tree = Hierarchy.read(write(ILL)).build(["flu"], column="ill", missing=True)
    tree.write_arx(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == ILL + "(missing);(missing);(missing);*\n"


def test_labels_with_separators_quotes_and_line_ends_come_back(tmp_path):
    tree = Hierarchy.from_paths([["a;b", 'say "so"'], ["two\nlines", 'say "so"'], ["x,y", "é"]])
    tree.write_arx(tmp_path / "odd.csv")
    assert read(tmp_path / "odd.csv") == tree


labels = st.text("ab1 ;\"',\n[:)é", min_size=1, max_size=4).filter(lambda text: text == text.strip())


@given(st.data(), st.lists(labels, min_size=1, max_size=12, unique=True))
def test_any_tree_comes_back(tmp_path_factory, data, names):
    parents = {
        name: data.draw(st.sampled_from([oracle.ROOT, *names[:place]])) for place, name in enumerate(names)
    }
    tree = Hierarchy.from_edges(parents.items())
    path = tmp_path_factory.mktemp("arx") / "tree.csv"
    tree.write_arx(path)
    again = read(path, oracle.leaf_labels(parents))
    assert again == tree
    assert sorted(again.arx_rows()) == sorted(
        tuple(oracle.arx_row(parents, leaf)) for leaf in oracle.leaf_labels(parents)
    )
    first = path.read_bytes()
    again.write_arx(path)
    assert path.read_bytes() == first


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(HierarchyError, match=r"x\.csv: cannot be written: No such file or directory"):
        Hierarchy.from_tree({"a": []}).write_arx(tmp_path / "nowhere" / "x.csv")


# Edges


def test_an_edges_file_is_read(write):
    path = write("child,parent\nflu,acute\ncold,acute\nacute,*\nasthma,\n*,\n")
    tree = read(path, ["flu"], kind="edges")
    assert tree == Hierarchy.from_tree({"acute": ["flu", "cold"], "asthma": {}})


def test_the_header_is_optional_and_tops_go_under_the_root(write):
    assert read(write("flu,acute\ncold,acute\n"), kind="edges").labels == ("*", "acute", "cold", "flu")


def test_quotes_blanks_and_byte_order_marks_in_edges(write):
    path = write('﻿Child, Parent\r\n"flu, severe",acute \r\n')
    assert read(path, ["flu, severe"], kind="edges").labels == ("*", "acute", "flu, severe")


def test_edges_files_name_every_problem(write):
    path = write("a,g\na,h\nx,y\ny,x\n*,g\nb\nc,g,*\n,g\na,g\n")
    assert lines(path, ["a", "g"], kind="edges") == [
        "error: column 'ill': ill.csv row 6: must have two cells, child and parent separated by ',', has 1",
        "error: column 'ill': ill.csv row 7: must have two cells, child and parent separated by ',', has 3",
        "error: column 'ill': ill.csv row 8: empty label",
        "error: column 'ill': ill.csv row 5: '*' is the root and cannot lie under 'g'",
        "error: column 'ill': ill.csv row 9: leaf 'a' is already in row 1 under 'g'",
        "error: column 'ill': ill.csv row 2: 'a' has two parents, 'g' (row 1) and 'h'",
        "error: column 'ill': ill.csv row 4: cycle 'x' > 'y' > 'x'",
        "error: column 'ill': ill.csv: 1 value of the data is a group and no leaf: 'g'",
    ]


def test_a_lone_header_is_an_empty_file(write):
    assert lines(write("child,parent\n"), kind="edges") == ["error: column 'ill': ill.csv: has no rows"]


# Both


def test_unknown_formats_are_refused():
    with pytest.raises(HierarchyError, match="format of a hierarchy file must be arx or edges, got 'xml'"):
        Hierarchy.read("x.csv", format="xml")


@pytest.mark.parametrize("kind", ["arx", "edges"])
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "ill.csv: has no rows"),
        (b"\n \n;;\n", "ill.csv: has no rows"),
        (b"\xef\xbb\xbf", "ill.csv: has no rows"),
        (b"a;*\nb;\xff;*\n", "ill.csv row 2: not UTF-8"),
        ("a;b,*\n".encode("utf-16"), "ill.csv row 1: not UTF-8"),
        (b'a,b;*\n"b,c;*\n', "ill.csv row 2: unexpected end of data"),
        (b"a,g;*\n" + b"x" * 200_000 + b",g;*\n", "ill.csv row 2: field larger than field limit (131072)"),
    ],
    ids=["empty", "blank", "only a mark", "latin-1", "utf-16", "open quote", "huge cell"],
)
def test_unreadable_files(write, content, line, kind):
    content = content.replace(b";;", b";;" if kind == "arx" else b",")
    assert lines(write(content), kind=kind) == [f"error: column 'ill': {line}"]
    with pytest.raises(HierarchyError) as caught:
        read(write(content), kind=kind)
    assert caught.value.lines == (f"column 'ill': {line}",)


@pytest.mark.parametrize("kind", ["arx", "edges"])
def test_files_that_are_not_there(tmp_path, kind):
    assert lines(tmp_path / "no.csv", kind=kind) == [
        "error: column 'ill': no.csv: cannot be read: No such file or directory"
    ]
    assert lines(tmp_path, kind=kind) == [
        f"error: column 'ill': {tmp_path.name}: cannot be read: Is a directory"
    ]
    assert lines("a\0b.csv", kind=kind) == [
        r"error: column 'ill': a\x00b.csv: cannot be read: embedded null byte"
    ]


def test_a_label_that_is_a_document_is_refused(write):
    path = write("a;g;*\n" + "x" * 5000 + ";g;*\n")
    assert lines(path, ["a"])[0] == (
        f"error: column 'ill': ill.csv row 2, level 0: label '{'x' * 39}…' "
        "has 5,000 characters, at most 4,096"
    )


def test_commas_instead_of_semicolons_are_recognized(write):
    path = write("flu,acute,*\ncold,acute,*\n")
    assert lines(path, ["flu"]) == [
        "error: column 'ill': ill.csv: cells must be separated by ';', and no row has one, but ','",
    ]


soup = st.text('ab;,*"\n\r \0(missing)', max_size=40).map(str.encode) | st.binary(max_size=40)


@given(soup, st.sampled_from(["arx", "edges"]), st.sets(st.sampled_from(["a", "b", "*", "", "(missing)"])))
def test_whatever_is_in_the_file_the_linter_and_the_builder_agree(tmp_path_factory, content, kind, values):
    path = tmp_path_factory.mktemp("soup") / "ill.csv"
    path.write_bytes(content)
    source = Hierarchy.read(path, kind)
    errors = [str(finding) for finding in lint(source, values, "ill") if finding.severity == "error"]
    if errors:
        with pytest.raises(HierarchyError) as caught:
            source.build(values, column="ill")
        assert list(caught.value.lines) == errors
    else:
        tree = source.build(values, column="ill")
        assert tree.build(values, column="ill") is tree
        tree.write_arx(path)
        assert Hierarchy.read(path).build(values, column="ill") == tree
