"""An event log beside the tables says what they say, or is named."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from release.samples import Pages, release_of
from sequester.errors import InputError, SequesterWarning
from sequester.io.spmf import write_spmf
from sequester.io.xes import ACTIVITY, CASE, read_xes, write_xes
from sequester.release.files import expected_log, read_log, unsupported_reason, write_log
from sequester.verification.verify import open_parts as open_release
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import rehash

texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
    max_size=4,
)


def folder_of(tmp_path, form, **options):
    release = dataclasses.replace(release_of(**options), event_log=form)
    return write(release, tmp_path / "out", report=Pages()).path


@settings(max_examples=min(settings().max_examples, 200))
@given(
    st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from(["page", ACTIVITY, "case:page"]),
)
def test_any_labels_are_in_the_log_as_in_the_table(rows, column):
    frame = release_of([row for row in rows for _ in range(2)], column=column).frame
    contents = write_log(frame, "xes")
    found = read_log(contents, "x", "xes")
    expected = expected_log(frame, "xes")
    assert set(found.columns) == set(expected.columns)
    assert found.select(expected.columns).equals(expected)


@settings(max_examples=min(settings().max_examples, 200))
@given(st.lists(st.lists(texts.filter(bool), min_size=1, max_size=3), min_size=1, max_size=3))
def test_any_sequences_are_in_spmf_as_in_the_table(rows):
    frame = release_of([row for row in rows for _ in range(2)]).frame
    assert read_log(write_log(frame, "spmf"), "x", "spmf").equals(expected_log(frame, "spmf"))


@pytest.mark.parametrize("form", ["xes", "spmf"])
def test_the_log_is_certified_and_checked(tmp_path, form):
    folder = folder_of(tmp_path, form)
    assert f"events.{form}" in open_release(folder).certificate.files
    assert verify(folder)
    path = folder / f"events.{form}"
    path.write_bytes(path.read_bytes() + b" ")
    assert verify(folder).lines == (f"events.{form}: is not the certified file: its hash differs",)
    path.unlink()
    with pytest.raises(InputError, match=f"the release is incomplete: events.{form} is missing"):
        verify(folder)


def forged_xes(folder, change):
    """Put another log in the place of the certified one, with a hash that fits."""
    frame = read_xes((folder / "events.xes").read_bytes(), "x")
    columns = change({name: frame[name] for name in frame.columns})
    (folder / "events.xes").write_bytes(write_xes(columns.pop(CASE), columns))
    rehash(folder)


def recoded(log):
    return {**log, "page": log["page"].set(log["page"] == "c", "z")}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda log: {**log, CASE: "raw" + log[CASE]},
            "11 values of 'case:concept:name', the first in event 1, 'rawp000' and 'p000'",
        ),
        (recoded, "3 values of 'page', the first in event 7, 'z' and 'c'"),
        (
            lambda log: {**log, "name": log["page"]},
            "attributes ['case:concept:name', 'concept:name', 'name', 'page', ",
        ),
        (lambda log: {name: column.head(10) for name, column in log.items()}, "10 and 11 events"),
    ],
)
def test_a_log_that_says_something_else_is_named(tmp_path, change, line):
    folder = folder_of(tmp_path, "xes")
    forged_xes(folder, change)
    found = verify(folder)
    assert not found
    assert found.lines[0].startswith(f"events.xes and events.parquet differ: {line}")
    with pytest.raises(InputError, match="differ"):
        open_release(folder)


def test_sequences_that_say_something_else_are_named(tmp_path):
    folder = folder_of(tmp_path, "spmf")
    frame = pl.read_parquet(folder / "events.parquet")
    starts = (frame["order"] == 1).to_numpy()
    (folder / "events.spmf").write_bytes(write_spmf(frame["page"].reverse(), starts, np.ones_like(starts)))
    rehash(folder)
    assert verify(folder).lines[0].startswith("events.spmf and events.parquet differ: ")


@pytest.mark.parametrize(
    "contents", [b"", b"<log>", b'<!DOCTYPE log [<!ENTITY a "b">]><log/>', b"\x1f\x8b\x08", b"<log/>"]
)
def test_a_log_that_is_none_makes_the_release_unreadable(tmp_path, contents):
    folder = folder_of(tmp_path, "xes")
    (folder / "events.xes").write_bytes(contents)
    rehash(folder)
    with pytest.raises(InputError, match=r"^events\.xes is not readable: "):
        verify(folder)


def test_what_does_not_fit_is_not_written_and_said(tmp_path):
    with pytest.warns(SequesterWarning, match=f"events.xes is not written: the released column {CASE} would"):
        folder = folder_of(tmp_path, "xes", column=CASE)
    assert not (folder / "events.xes").exists()
    assert verify(folder)
    (folder / "events.xes").write_bytes(b"<log/>")
    rehash(folder)
    assert verify(folder).lines[0].startswith("events.xes: does not belong here: ")


def test_what_fits_where():
    frame = pl.DataFrame({"person": ["a"], "order": [1], "ZIP": ["1*"], "Disease": ["HIV"]})
    assert unsupported_reason(frame, "xes") is None
    assert unsupported_reason(frame, "spmf") == "SPMF has one attribute per event, the release has 2"
    assert unsupported_reason(frame.clear(), "xes") == "it would have no persons"
    assert unsupported_reason(frame.drop("person"), "xes") == "it would have no persons"
    columns = expected_log(frame, "xes").to_dicts()
    times = {"time:timestamp": "1970-01-01T00:00:00+00:00", "sequester:artificial_time": "true"}
    assert columns == [{CASE: "a", ACTIVITY: "1*", "ZIP": "1*", "Disease": "HIV", **times}]


def test_a_symbol_that_the_log_cannot_hold_stops_the_release(tmp_path):
    for form, symbol in [("xes", "a\x01"), ("spmf", "a\nb")]:
        with pytest.raises(InputError, match="cannot hold"):
            folder_of(tmp_path, form, rows=[[symbol], [symbol]])
        assert not (tmp_path / "out").exists()
