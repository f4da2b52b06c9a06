"""Names of files stay in the folder, on every system, and never meet."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.release.files import hierarchy_files, unsafe_path_reason

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(
    [
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "a\\b",
        "CON",
        "con.txt",
        "nul",
        "ZIP",
        "zip",
        "Zip",
        "x~y",
        "%41",
        "A",
        "é",
        "e\u0301",
    ]
)


@given(st.lists(names, unique=True, max_size=8))
def test_files_are_safe_different_and_found_again(attributes):
    files = hierarchy_files(attributes)
    assert list(files) == attributes
    assert len({file.lower() for file in files.values()}) == len(attributes)
    for attribute, file in files.items():
        assert unsafe_path_reason(file) is None
        folder, stem = file.removesuffix(".csv").split("/")
        assert folder == "hierarchies"
        assert stem.isascii()
        assert len(stem) <= 140
        assert not stem.startswith(".")
        assert set(stem) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.%~")
        if "~" not in stem:
            assert unquote(stem) == attribute
    assert hierarchy_files(reversed(attributes)) == files


@pytest.mark.parametrize("name", ["ZIP", "D.1", "adm_yr", "a-b"])
def test_usual_names_stay_as_they_are(name):
    assert hierarchy_files([name]) == {name: f"hierarchies/{name}.csv"}


@pytest.mark.parametrize("name", ["CON", "nul", "com1", "Aux.x", "LPT9"])
def test_names_of_devices_are_avoided(name):
    stem = hierarchy_files([name])[name].removeprefix("hierarchies/").removesuffix(".csv")
    assert stem != name
    assert unquote(stem) == name


@given(st.text())
def test_a_name_that_stays_inside_has_plain_steps_only(name):
    if unsafe_path_reason(name) is None:
        assert name
        assert all(step not in ("", ".", "..") for step in name.split("/"))
        assert "\\" not in name
        assert "\0" not in name


@pytest.mark.parametrize("name", ["events.csv", "hierarchies/ZIP.csv", "a b.csv", "..a", "ü"])
def test_names_that_stay_inside(name):
    assert unsafe_path_reason(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/a", "is an absolute path"),
        ("C:/a", "is an absolute path"),
        ("../a", "leaves the folder"),
        ("a/..", "leaves the folder"),
        ("a//b", "is no plain path"),
        ("./a", "is no plain path"),
        ("", "is no plain path"),
        ("a\\b", "has a character that no released file name has"),
        ("a\nb", "has a character that no released file name has"),
        ("ab:c", "has a character that no released file name has"),
    ],
)
def test_names_that_do_not(name, reason):
    assert unsafe_path_reason(name) == reason
