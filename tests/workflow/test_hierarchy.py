"""The file that is built is the tree that was bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError, InputError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.workflow.hierarchy import build_hierarchy, show_hierarchy
from sequester.workflow.run import RunContext

TOML = """
[data]
path = "visits.csv"
person = "who"
order = "n"
[data.quasi.x]
hierarchy = { kind = "KIND" }
"""

cells = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=6).filter(
    lambda text: text not in ("*", "(missing)")
)


def written(folder, values, kind):
    text = "".join(f'p,{n},"{value.replace(chr(34), chr(34) * 2)}"\n' for n, value in enumerate(values))
    (folder / "visits.csv").write_text(f"who,n,x\n{text}", encoding="utf-8")
    (folder / "release.toml").write_text(TOML.replace('kind = "KIND"', kind))
    return folder / "release.toml"


MASK = 'kind = "mask", levels = [3, 1]'


@given(st.lists(cells, min_size=1, max_size=8))
def test_the_file_reads_back_as_the_tree(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("visits")
    heard = []
    config = written(folder, values, 'kind = "flat"')
    if any(value and not value.strip() for value in values):
        with pytest.raises(InputError, match="a value of blanks alone"):
            build_hierarchy(config, "x", folder / "x.csv")
        return
    built = build_hierarchy(config, "x", folder / "x.csv", run=RunContext(warn=heard.append))
    again = Hierarchy.read(folder / "x.csv").build([], column="x")
    if any(label != label.strip() for label in built.tree.labels):
        assert "blanks around, which are trimmed" in heard[0]
    else:
        assert heard == []
        assert again == built.tree


def test_every_leaf_has_a_row_up_to_the_root(tmp_path):
    config = written(tmp_path, ["56001", "56002", "7", ""], MASK)
    built = build_hierarchy(config, "x", tmp_path / "deep/er/x.csv")
    assert (tmp_path / "deep/er/x.csv").read_text().splitlines() == [
        "56001;560**;5****;*",
        "56002;560**;5****;*",
        "7;7;7****;*",
        "(missing);(missing);(missing);*",
    ]
    assert built.to_json() == {
        "attribute": "x",
        "path": str(tmp_path / "deep/er/x.csv"),
        "leaves": 4,
        "nodes": 8,
        "levels": 3,
    }
    assert [path.name for path in (tmp_path / "deep/er").iterdir()] == ["x.csv"]


def test_the_file_can_stand_in_the_place_of_the_rule(tmp_path):
    config = written(tmp_path, ["56001", "56002", "7", ""], MASK)
    first = build_hierarchy(config, "x", tmp_path / "x.csv").tree
    written(tmp_path, ["56001", "56002", "7", ""], 'path = "x.csv"')
    again = build_hierarchy(config, "x", tmp_path / "y.csv").tree
    assert again == first
    assert (tmp_path / "y.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()


def test_ranges_say_that_a_file_counts_less(tmp_path):
    heard = []
    config = written(tmp_path, ["1", "9"], 'kind = "intervals", width = [7]')
    build_hierarchy(config, "x", tmp_path / "x.csv", run=RunContext(warn=heard.append))
    assert heard == ["the file lists the 2 leaves that occur of 14: read from it, a group counts only those"]


def test_an_existing_file_stays(tmp_path):
    config = written(tmp_path, ["a"], 'kind = "flat"')
    out = tmp_path / "x.csv"
    out.write_text("mine")
    with pytest.raises(InputError, match="exists already; --force replaces it"):
        build_hierarchy(config, "x", out)
    assert out.read_text() == "mine"
    build_hierarchy(config, "x", out, force=True)
    assert out.read_text() == "a;*\n"


def test_a_tree_that_does_not_fit_leaves_no_file(tmp_path):
    config = written(tmp_path, ["a"], 'kind = "intervals", width = [7]')
    with pytest.raises(InputError, match="1 value is not a number: 'a'"):
        build_hierarchy(config, "x", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


ILL = {"flu": ["flu", "acute", "*"], "cold": ["cold", "acute", "*"], "asthma": ["asthma", "*"]}
SHOWN_TOML = """
[data]
path = "visits.csv"
person = "who"
order = "n"
[data.quasi.ill]
hierarchy = { kind = "tree", tree = { acute = ["flu", "cold"], asthma = {} } }
[data.quasi.LOS]
hierarchy = { kind = "intervals", width = [7, 14] }
[data.quasi.later]
hierarchy = { path = "not written yet.csv" }
"""
ROWS = [("a", "flu", 3), ("a", "flu", 13), ("a", "", 8), ("b", "flu", 0), ("b", "asthma", 30)]

events = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([*ILL, ""]), st.integers(0, 40)),
    min_size=1,
    max_size=12,
)


def shown_config(folder, rows=ROWS):
    lines = [f"{who},{n},{ill},{los},x\n" for n, (who, ill, los) in enumerate(rows)]
    (folder / "visits.csv").write_text("who,n,ill,LOS,later\n" + "".join(lines))
    (folder / "release.toml").write_text(SHOWN_TOML)
    return folder / "release.toml"


def nodes_above(label):
    """A value's own node and everything above it, as the tree of the configuration says."""
    return ILL[label] if label else ["(missing)", "*"]


@given(events)
def test_counts_equal_the_definition(tmp_path_factory, rows):
    shown = show_hierarchy(shown_config(tmp_path_factory.mktemp("visits"), rows), "ill")
    for node in shown.to_json()["nodes"]:
        below = [(who, ill) for who, ill, _ in rows if node["node"] in nodes_above(ill)]
        assert node["events"] == len(below)
        assert node["persons"] == len({who for who, _ in below})
        assert node["occurring"] == len({ill for _, ill in below})


def test_the_tree_as_people_read_it(tmp_path):
    config = shown_config(tmp_path)
    assert list(show_hierarchy(config, "ill").lines(depth=2, children=10)) == [
        "             events  persons  leaves that occur",
        "*                 5        2  3 of 4",
        "  acute           3        2  1 of 2",
        "    cold          0        0",
        "    flu           3        2",
        "  asthma          1        1",
        "  (missing)       1        1",
    ]
    assert list(show_hierarchy(config, "LOS").lines(depth=1, children=10)) == [
        "           events  persons  leaves that occur",
        "*               5        2  5 of 28",
        "  [0:13]        4        2  4 of 14",
        "  [28:41]       1        1  1 of 14",
        "folded at depth 1 of 3; --depth 3 shows all levels",
    ]


def test_wide_trees_are_shortened_with_the_rest_counted(tmp_path):
    rows = [("a", "flu", los) for los in range(0, 140, 14)]
    shown = show_hierarchy(shown_config(tmp_path, rows), "LOS")
    lines = list(shown.lines(depth=1, children=3))
    assert [line.split("  ")[1].strip() for line in lines[2:-1]] == [
        "[0:13]",
        "[14:27]",
        "[28:41]",
        "and 7 more",
    ]
    assert lines[-2].split() == ["and", "7", "more", "7"]
    # The line that stands for one node would be as long as the node.
    assert not any("more" in line for line in shown.lines(depth=1, children=9))
    assert len(shown.to_json(depth=1)["nodes"]) == 11
    assert len(shown.to_json()["nodes"]) == len(shown.tree) == 31


def test_ranges_come_in_the_order_of_their_numbers(tmp_path):
    rows = [("a", "flu", los) for los in (100, 20, 3)]
    lines = list(show_hierarchy(shown_config(tmp_path, rows), "LOS").lines(depth=1, children=10))
    assert [line.split()[0] for line in lines[2:5]] == ["[0:13]", "[14:27]", "[98:111]"]


def test_a_long_label_does_not_push_the_counts_away(tmp_path):
    config = shown_config(tmp_path)
    config.write_text(SHOWN_TOML.replace("asthma = {}", f'"{"x" * 300}" = ["asthma"]'))
    lines = list(show_hierarchy(config, "ill").lines(depth=2, children=10))
    assert max(map(len, lines)) < 80
    assert any(f"{'x' * 39}…" in line for line in lines)


def test_other_hierarchies_need_not_fit(tmp_path):
    config = shown_config(tmp_path)
    with pytest.raises(SchemaError, match="cannot be read"):
        show_hierarchy(config, "later")
    with pytest.raises(InputError) as caught:
        show_hierarchy(config, "who")
    (line,) = caught.value.lines
    assert line.startswith("release.toml: ATTRIBUTE must be a column with a hierarchy, one of 'ill', 'LOS'")
    assert line.endswith("got 'who'")
    assert not isinstance(caught.value, HierarchyError)


def test_a_symbol_has_a_tree_only_where_it_is_given_one(tmp_path):
    (tmp_path / "clicks.csv").write_text("who,n,page\na,1,news\nb,1,tech\n")
    config = tmp_path / "release.toml"
    text = '[data]\npath = "clicks.csv"\nperson = "who"\norder = "n"\n[data.symbol]\ncolumn = "page"\n'
    config.write_text(text)
    with pytest.raises(InputError, match="and no column has one, got 'page'"):
        show_hierarchy(config, "page")
    config.write_text(text + 'hierarchy = { kind = "flat" }\n')
    assert show_hierarchy(config, "page").events.tolist() == [2, 1, 1]
