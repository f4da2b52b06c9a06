"""Releases of records: read back, verified, opened, and found out when something is wrong."""

from __future__ import annotations

import json
import warnings

import polars as pl
import pytest

import sequester as sq
from sequester.errors import InputError, SequesterWarning
from sequester.testing import record_table
from verification.doctoring import edit_certificate, rehash

ROWS = ["abca", "bcab", "cabc", "abcb", "bcaa", "cabb", "aacc"]


@pytest.fixture(params=["anatomy", "generalize", "none"])
def written(request, tmp_path):
    table = record_table(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        release = sq.Reposition(l=2, window=2, snapshot="order", then=request.param).apply(
            table, seed="a sentence that nobody guesses"
        )
        return request.param, sq.write(release, tmp_path / "out", original=table)


def test_a_release_of_records_verifies_and_opens(written):
    then, release = written
    found = sq.verify(release.path, original=record_table(ROWS))
    assert found
    assert found.model == ("LEligibility" if then == "none" else "LDiversity")
    opened = sq.open(release.path)
    assert opened.certificate.persons is None
    assert (
        list(opened.tables)
        == {
            "anatomy": ["records", "values"],
            "generalize": ["records"],
            "none": ["events"],
        }[then]
    )
    document = json.loads((release.path / "certificate.json").read_text())
    assert document["utility"] == {}
    assert list(document["counts"]) == ["events"]
    page = (release.path / "report.html").read_text()
    assert "the snapshot in which the record is published" in page
    assert "not published" not in page.replace("not published at all", "")
    assert "Mean error of window queries" in (release.internal / "report.html").read_text()


def test_a_table_that_is_not_there_makes_the_release_incomplete(written):
    _, release = written
    for path in release.path.glob("*.parquet"):
        path.unlink()
    rehash(release.path)
    with pytest.raises(InputError, match=r"the release is incomplete: the certificate lists no .*\.parquet"):
        sq.verify(release.path)


def test_a_certificate_that_tells_more_than_the_files_show_is_found_out(written):
    _, release = written

    def boast(document):
        document["verdict"] = {"holds": False, "achieved": {"l": 9}}

    edit_certificate(release.path, boast)
    lines = sq.verify(release.path).lines
    assert any("says itself that the promise is not kept" in line for line in lines)
    assert any("says that l = 9 is achieved, the files achieve l = 2" in line for line in lines)


def test_a_table_that_breaks_the_promise_is_found_out(written):
    then, release = written
    name = "events" if then == "none" else "records"
    frame = sq.open(release.path).frame
    # One of a group is gone; or all have one value, where values stand beside their records.
    changed = frame.head(frame.height - 1) if then == "anatomy" else frame.with_columns(letter=pl.lit("a"))
    changed.write_parquet(release.path / f"{name}.parquet")
    changed.write_csv(release.path / f"{name}.csv")
    rehash(release.path)
    if then == "anatomy":
        told = f"has {changed.height:,} events, the certificate says {frame.height:,}"
        assert told in sq.verify(release.path).lines[0]
        edit_certificate(release.path, lambda document: document["counts"].update(events=changed.height))
    found = sq.verify(release.path)
    assert not found
    assert ("values are listed" if then == "anatomy" else "letter = a in") in found.lines[0]


def test_columns_must_be_those_of_records(written):
    then, release = written
    name = "events" if then == "none" else "records"
    frame = sq.open(release.path).frame.rename({"time": "when"})
    frame.write_parquet(release.path / f"{name}.parquet")
    frame.write_csv(release.path / f"{name}.csv")
    rehash(release.path)
    assert "the columns must be time" in sq.verify(release.path).lines[0]
    with pytest.raises(InputError, match="the columns must be time"):
        sq.open(release.path)


def test_a_tree_that_gives_away_what_was_below_is_found_out(written):
    _, release = written
    tree = release.path / "hierarchies" / "age.csv"
    tree.write_text(tree.read_text() + "below;*;1\n")
    rehash(release.path)
    assert "is not at or above a released value" in sq.verify(release.path).lines[0]
