"""A recipient opens what was certified, and nothing else."""

from __future__ import annotations

import polars as pl
import pytest

from bundle.samples import Pages, frame_of, release_of
from sequester.bundle import open_release, write
from sequester.errors import InputError, InternalError
from verify.doctoring import rehash

TREE = pl.DataFrame(
    {
        "node": ["*", "letters", "a", "b", "c"],
        "parent": ["", "*", "letters", "letters", "letters"],
        "leaves": [9, 3, 1, 1, 1],
    }
)


def test_a_recipient_gets_the_table_the_hierarchies_and_the_certificate(tmp_path):
    release = release_of(hierarchies={"page": TREE})
    opened = open_release(write(release, tmp_path, report=Pages()))
    assert opened.frame.equals(release.frame)
    assert opened.hierarchies["page"].equals(TREE)
    assert opened.certificate.claim == {"k": 2, "strict": True}
    assert opened.certificate.limits == ("Records are not truthful.",)


@pytest.mark.parametrize(
    "column", ["../../page", "/page", ".", "..", "CON", "Größe", "a" * 300, "a/b", "%2E", "x~y"]
)
def test_a_hierarchy_finds_its_column_whatever_the_name(tmp_path, column):
    release = release_of(column=column, hierarchies={column: TREE})
    written = write(release, tmp_path / "out", report=Pages())
    assert list(open_release(written).hierarchies) == [column]
    files = [path.relative_to(tmp_path / "out" / "release").as_posix() for path in tmp_path.rglob("*.csv")]
    assert sorted(file.split("/")[0] for file in files) == ["events.csv", "hierarchies"]


def test_the_hierarchy_file_is_as_the_interface_says(tmp_path):
    written = write(release_of(hierarchies={"page": TREE}), tmp_path, report=Pages())
    text = (written.path / "hierarchies" / "page.csv").read_bytes()
    assert text == b"node;parent;leaves\n*;;9\nletters;*;3\na;letters;1\nb;letters;1\nc;letters;1\n"


def test_files_that_fit_each_other_but_are_no_release_are_refused(tmp_path):
    written = write(release_of(hierarchies={"page": TREE}), tmp_path, report=Pages())
    with (written.path / "hierarchies" / "page.csv").open("a") as file:
        file.write("d;letters;1\n")
    rehash(written.path)
    with pytest.raises(InputError, match="node 'd' is not at or above a released value"):
        open_release(written)
    frame_of(["ba", "ba"])[[1, 0, 2, 3]].write_csv(written.path / "events.csv")
    rehash(written.path)
    with pytest.raises(InputError, match=r"events\.csv and events\.parquet differ"):
        open_release(written)


def test_a_hierarchy_of_no_column_is_ours_to_fix(tmp_path):
    with pytest.raises(InternalError, match="no such column"):
        write(release_of(hierarchies={"ward": TREE}), tmp_path / "out", report=Pages())
    assert not (tmp_path / "out").exists()


def test_a_file_that_was_changed_is_refused_by_name(tmp_path):
    written = write(release_of(hierarchies={"page": TREE}), tmp_path, report=Pages())
    with (written.path / "hierarchies" / "page.csv").open("a") as file:
        file.write("d;letters;1\n")
    with pytest.raises(InputError, match=r"hierarchies/page\.csv: is not the file that was certified"):
        open_release(written)
