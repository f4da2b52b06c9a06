"""The file that is built is the tree that was bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import InputError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.workflow.hierarchy_build import build_hierarchy

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
    built = build_hierarchy(
        written(folder, values, 'kind = "flat"'), "x", folder / "x.csv", warn=heard.append
    )
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
    build_hierarchy(config, "x", tmp_path / "x.csv", warn=heard.append)
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
