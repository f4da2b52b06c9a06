"""Every released value is a node of its hierarchy, and no node lies below one."""

from __future__ import annotations

import polars as pl
import pytest

from release.samples import Pages, release_of
from sequester.errors import InputError
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import rehash

HONEST = "node;parent;leaves\n*;;9\nletters;*;3\na;letters;1\nb;letters;1\nc;letters;1\n"


@pytest.fixture
def folder(tmp_path):
    """A release with an honest hierarchy."""
    tree = pl.read_csv(HONEST.encode(), separator=";").with_columns(pl.col("parent").fill_null(""))
    return write(release_of(hierarchies={"page": tree}), tmp_path, report=Pages()).path


def test_an_honest_hierarchy_holds(folder):
    assert (folder / "hierarchies" / "page.csv").read_text() == HONEST
    assert verify(folder)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HONEST.replace("c;letters;1\n", ""), "1 released values are no node of it, for example 'c'"),
        (HONEST + "d;letters;1\n", "node 'd' is not at or above a released value"),
        (HONEST + "below;a;1\n", "node 'below' is not at or above a released value"),
        (HONEST + "e;f;1\nf;e;1\n", "node 'e' is not at or above a released value"),
        (
            HONEST.replace("letters;*;3", "letters;a;3"),
            "the parent of node 'letters' does not stand",
        ),
        (HONEST.replace("*;;9\n", ""), "the parent of node 'letters' does not stand"),
        (HONEST.replace("letters;*;3", "letters;;3"), "'letters' under '': only the root '*' has no parent"),
        (HONEST.replace("letters;*;3", "letters;nobody;3"), "the parent of node 'letters' does not stand"),
        (HONEST + "a;*;1\n", "'a' has two parents, 'letters' (row 3) and '*'"),
        (HONEST.replace("letters;*;3", "letters;*;2"), "'letters' has 2 leaves, but 3 lie below it"),
        (HONEST.replace("letters;*;3", "letters;*;0"), "leaves of 'letters' must be at least 1, got 0"),
        (HONEST.replace("letters;*;3", "letters;*;"), "its number of leaves"),
        (HONEST.replace("letters;*;3", "letters;*;many"), "its number of leaves"),
        (
            HONEST.replace("*;;9\nletters;*;3\n", "letters;*;3\n*;;9\n"),
            "the parent of node 'letters' does not stand",
        ),
        (
            HONEST.replace("node;parent;leaves", "node;parent;count"),
            "the columns must be node, parent, leaves",
        ),
    ],
)
def test_a_doctored_hierarchy_is_named(folder, text, reason):
    (folder / "hierarchies" / "page.csv").write_text(text)
    rehash(folder)
    found = verify(folder)
    assert not found
    assert len(found.lines) == 1
    assert found.lines[0].startswith("hierarchies/page.csv: ")
    assert reason in found.lines[0]


def test_a_hierarchy_without_a_column_is_named(folder):
    (folder / "hierarchies" / "ward.csv").write_text(HONEST)
    rehash(folder)
    assert verify(folder).lines == ("hierarchies/ward.csv: belongs to no column of the table",)


@pytest.mark.parametrize("text", ["", "node;parent;leaves\na\n", "node;node;leaves\n*;;1\n"])
def test_a_hierarchy_that_cannot_be_read_is_refused(folder, text):
    (folder / "hierarchies" / "page.csv").write_text(text)
    rehash(folder)
    try:
        found = verify(folder)
    except InputError as error:
        assert "page.csv" in str(error)  # noqa: PT017
    else:
        assert not found
