"""The demonstration tells the truth about what it did, and runs again in its own folder."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from sequester.errors import InputError
from sequester.workflow.demo import PERSONS, K, demo


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    return demo(tmp_path_factory.mktemp("demo") / "deep" / "er", seed="a sentence nobody will guess")


def ways(frame, person):
    grouped = frame.group_by(person, maintain_order=True).agg(pl.col("page"))
    return grouped.with_columns(pl.col("page").list.join(">"))


def test_the_numbers_of_the_story_are_those_of_the_files(shown):
    raw = ways(pl.read_csv(shown.folder / "clicks.csv"), "user")
    assert len(raw) == PERSONS
    counts = Counter(raw["page"])
    assert shown.alone == sum(count == 1 for count in counts.values())
    beginnings = Counter(">".join(way.split(">")[:3]) for way in raw["page"])
    assert shown.alone_by_three == sum(count == 1 for count in beginnings.values())
    released = ways(pl.read_csv(shown.folder / "release" / "events.csv"), "person")
    assert len(released) == len(shown.protected.release.pseudonyms)
    assert Counter(released["page"])[">".join(shown.example.after)] == shown.example.crowd
    assert counts[">".join(shown.example.before)] == 1
    assert raw.filter(pl.col("user") == shown.example.person)["page"].item() == ">".join(shown.example.before)
    assert shown.example.crowd >= K
    assert sum((counts & Counter(released["page"])).values()) >= shown.unchanged > 0


def test_the_promise_is_verified_and_the_run_interesting(shown):
    assert shown.verification
    assert shown.verification.achieved["k"] >= K
    (warning,) = shown.protected.warnings
    assert warning.startswith(f"the release loses {shown.protected.release.lost_share:.1%} of the events")
    assert PERSONS / 10 < shown.alone < PERSONS / 2
    assert shown.unchanged > PERSONS / 2


def test_it_runs_again_in_its_own_folder_and_in_no_other(tmp_path):
    first = demo(tmp_path / "demo", seed="the same text for both of the runs")
    before = (first.protected.written.path / "events.csv").read_bytes()
    again = demo(tmp_path / "demo", seed="the same text for both of the runs")
    assert (again.protected.written.path / "events.csv").read_bytes() == before
    (tmp_path / "demo" / "release.toml").write_text("my own\n")
    with pytest.raises(InputError, match="was not made by a demo"):
        demo(tmp_path / "demo")
    (tmp_path / "empty").mkdir()
    assert demo(tmp_path / "empty").verification
