"""What a check could not see is said, whatever it was compared with."""

from __future__ import annotations

import shutil

import pytest

from release.samples import Pages, frame_of, release_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.verification.verify import verify
from sequester.workflow.stream.stream import stream
from sequester.workflow.verify import verify_release
from sequester.workflow.write import write
from workflow.stream.days import make_stream, places

ROWS = ["ab", "ab", "abc", "abc", "c"]


@pytest.fixture
def original():
    frame = frame_of(ROWS).rename({"person": "user"}).with_columns(user="raw-" + frame_of(ROWS)["person"])
    return EventTable(frame, Schema(person="user", order="order", symbol="page"))


@pytest.fixture
def folder(tmp_path, original):
    release = release_of(ROWS)
    return write(release, tmp_path / "out", report=Pages(), pseudonyms=True, original=original).path


def test_without_pseudonyms_nobody_knows_whether_persons_are_distinct(folder, original, tmp_path):
    known = verify(folder, original=original)
    assert known, known.lines
    assert not any("--pseudonyms" in line for line in known.not_checked)
    sent = shutil.copytree(folder, tmp_path / "sent")
    found = verify(sent, original=original)
    assert found
    assert "Not checked without --pseudonyms: whether released persons" in found.not_checked[-1]
    assert not any("--pseudonyms" in line for line in verify(sent).not_checked)


def test_the_configuration_of_a_stream_has_no_values_to_compare_with(tmp_path):
    made = make_stream(tmp_path, days=2)
    stream(made / "c.toml", **places(made), finish=True)
    found = verify_release(made / "out", original=made / "c.toml")
    assert found
    assert "Not checked of a stream: whether released values" in found.not_checked[-1]
    assert not any("of a stream" in line for line in verify(made / "out").not_checked)
