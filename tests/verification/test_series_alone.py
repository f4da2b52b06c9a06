"""What is wrong with a part of a series by itself, whether or not the other parts are at hand."""

from __future__ import annotations

import json
import shutil
import warnings

import polars as pl
import pytest

import sequester as sq
from sequester.testing import record_table
from verification.doctoring import edit_certificate, rehash
from verification.test_series import METHOD, part, publish, table, together


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("series"), persons=True)


@pytest.fixture
def series(published, tmp_path):
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return tmp_path


def write(frame, folder, name):
    frame.write_parquet(
        folder / f"{name}.parquet", compression="zstd", statistics=True, row_group_size=128 * 1024
    )
    frame.write_csv(folder / f"{name}.csv", line_terminator="\n", quote_style="necessary")
    rehash(folder)


def test_honest_parts_hold_alone_and_together(series):
    assert all(sq.verify(part(series, number)) for number in range(3))
    assert together(series)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda each: each["verdict"].update(holds=False), "says itself that the promise is not kept"),
        (lambda each: each["software"].update(name="other"), "software must be sequester and its version"),
        (lambda each: each["software"].update(version="Ann has HIV"), "software must be sequester"),
        (
            lambda each: each["utility"].update(
                secret={"value": 0.123, "goal": "minimize", "bounds": [0, 1], "means": "x"}
            ),
            "utility may have information_loss from 0 to 1",
        ),
        (lambda each: each["method"]["parameters"].update(k=9), "the method was asked for k = 9"),
    ],
)
def test_a_certificate_is_checked_as_far_as_the_part_alone_allows(series, change, reason):
    edit_certificate(part(series, 2), change)
    found = sq.verify(part(series, 2))
    assert not found.holds
    assert any(reason in line for line in found.lines)


def test_a_person_with_two_rows_of_attributes_is_found_in_a_later_part(series):
    folder = part(series, 1)
    persons = pl.read_parquet(folder / "persons.parquet", memory_map=False)
    assert persons.height
    write(pl.concat([persons, persons.tail(1)]), folder, "persons")
    found = sq.verify(folder)
    assert not found.holds
    assert "has several rows" in found.lines[0]


def test_names_of_an_earlier_part_must_be_pseudonyms(series):
    """A person of the first part alone has a real name, and all certificates fit."""
    folder = part(series, 0)
    later = {*pl.read_parquet(part(series, 1) / "events.parquet", memory_map=False)["person"]}
    names = pl.read_parquet(folder / "persons.parquet", memory_map=False)["person"]
    alone = next(name for name in names if name not in later)
    for file in ("events", "persons"):
        frame = pl.read_parquet(folder / f"{file}.parquet", memory_map=False)
        write(frame.with_columns(person=pl.col("person").replace(alone, "Ann Smith")), folder, file)
    before = sq.verify(folder).certificate_sha256
    edit_certificate(part(series, 1), lambda each: each["series"].update(continues=before))
    found = sq.verify(part(series, 1), earlier=[series / "0"])
    assert not found.holds
    assert any("'Ann Smith' is not a pseudonym" in line for line in found.lines)


def test_records_are_of_no_series(tmp_path):
    visits = record_table(["abca", "bcab", "cabc", "abcb", "bcaa", "cabb", "aacc"])
    method = sq.Reposition(l=2, window=2, snapshot="order", then="none")
    with warnings.catch_warnings(action="ignore"):
        release = method.apply(visits, seed="a sentence nobody guesses")
    written = sq.write(release, tmp_path / "out")
    link = {"part": 2, "continues": "sha256:" + 64 * "a"}
    edit_certificate(written.path, lambda each: each.update(series=link))
    found = sq.verify(written.path)
    assert not found.holds
    assert "series" in found.lines[0]


@pytest.mark.parametrize("value", [["Ann"], ["x", "x"], {"a": 1}, None])
def test_a_parameter_of_another_kind_is_not_what_was_asked_for(series, value):
    edit_certificate(part(series, 0), lambda each: each["method"]["parameters"].update(budget=value))
    asked = json.loads((part(series, 0) / "certificate.json").read_bytes())["method"]["parameters"]
    for other in ("x", ["x"], 1):
        method = (METHOD.name, asked | {"budget": other})
        found = sq.verify(part(series, 0), original=table(0, persons=True), method=method)
        assert not found.holds, (value, other)
        assert any("budget" in line for line in found.lines)
