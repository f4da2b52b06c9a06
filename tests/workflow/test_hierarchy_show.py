"""What lies under each node, counted against the definition, and drawn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import HierarchyError, InputError, SchemaError
from sequester.workflow.hierarchy_show import show_hierarchy

ILL = {"flu": ["flu", "acute", "*"], "cold": ["cold", "acute", "*"], "asthma": ["asthma", "*"]}
TOML = """
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


def written(folder, rows=ROWS):
    lines = [f"{who},{n},{ill},{los},x\n" for n, (who, ill, los) in enumerate(rows)]
    (folder / "visits.csv").write_text("who,n,ill,LOS,later\n" + "".join(lines))
    (folder / "release.toml").write_text(TOML)
    return folder / "release.toml"


def nodes_above(label):
    """A value's own node and everything above it, as the tree of the configuration says."""
    return ILL[label] if label else ["(missing)", "*"]


@given(events)
def test_counts_equal_the_definition(tmp_path_factory, rows):
    shown = show_hierarchy(written(tmp_path_factory.mktemp("visits"), rows), "ill")
    for node in shown.to_json()["nodes"]:
        below = [(who, ill) for who, ill, _ in rows if node["node"] in nodes_above(ill)]
        assert node["events"] == len(below)
        assert node["persons"] == len({who for who, _ in below})
        assert node["occurring"] == len({ill for _, ill in below})


def test_the_tree_as_people_read_it(tmp_path):
    config = written(tmp_path)
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
    shown = show_hierarchy(written(tmp_path, rows), "LOS")
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
    lines = list(show_hierarchy(written(tmp_path, rows), "LOS").lines(depth=1, children=10))
    assert [line.split()[0] for line in lines[2:5]] == ["[0:13]", "[14:27]", "[98:111]"]


def test_a_long_label_does_not_push_the_counts_away(tmp_path):
    config = written(tmp_path)
    config.write_text(TOML.replace("asthma = {}", f'"{"x" * 300}" = ["asthma"]'))
    lines = list(show_hierarchy(config, "ill").lines(depth=2, children=10))
    assert max(map(len, lines)) < 80
    assert any(f"{'x' * 39}…" in line for line in lines)


def test_other_hierarchies_need_not_fit(tmp_path):
    config = written(tmp_path)
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
    with pytest.raises(InputError, match="and none has one, got 'page'"):
        show_hierarchy(config, "page")
    config.write_text(text + 'hierarchy = { kind = "flat" }\n')
    assert show_hierarchy(config, "page").events.tolist() == [2, 1, 1]
