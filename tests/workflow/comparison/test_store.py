"""The folder of a comparison: found again, never mixed with another, closed to others."""

from __future__ import annotations

import json
import stat

import pytest

from sequester.errors import InputError
from sequester.methods import BFP2kA, PrefixPruning
from sequester.workflow.comparison import pool as stores
from sequester.workflow.comparison.grid import Candidate
from sequester.workflow.comparison.pool import ABOUT, RELEASES, REPORTS, RESULTS, Store
from sequester.workflow.comparison.trial import TrialResult

CANDIDATE = Candidate(name="p2ka", label="p2ka k=2", method=BFP2kA(k=2))


def opened(folder, *, table="t", seed=None, force=False):
    return Store.open(folder, table=table, seed=seed, force=force)


def enter(folder, **asked):
    with opened(folder, **asked):
        pass


def test_results_are_found_again_under_the_same_key(tmp_path):
    with opened(tmp_path / "out") as store:
        key = store.key(CANDIDATE, known=2)
        store.save(key, TrialResult(method="p2ka", label="p2ka k=2"))
        seed = store.seed
    with opened(tmp_path / "out") as store:
        assert store.seed == seed
        assert store.key(CANDIDATE, known=2) == key
        assert store.load(key).label == "p2ka k=2"


def test_whatever_changes_the_result_changes_the_key(tmp_path):
    with opened(tmp_path / "a", seed="one seed") as one, opened(tmp_path / "b", seed="another") as other:
        keys = [
            one.key(CANDIDATE, known=2),
            one.key(CANDIDATE, known=3),
            other.key(CANDIDATE, known=2),
            one.key(Candidate(name="p2ka", label="", method=BFP2kA(k=3)), known=2),
            one.key(Candidate(name="prefix-pruning", label="", method=PrefixPruning(k=2)), known=2),
        ]
        assert len({*keys}) == len(keys)
        # What it is called does not.
        assert one.key(Candidate(name="p2ka", label="x", method=BFP2kA(k=2)), known=2) == keys[0]


def test_the_folder_is_for_its_owner(tmp_path):
    with opened(tmp_path / "out") as store:
        store.save("k", TrialResult(method="p2ka", label=""))
        for path in (store.folder, *store.folder.rglob("*")):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', "null"])
def test_a_damaged_note_is_refused_and_stays(tmp_path, content):
    (tmp_path / ABOUT).write_text(content)
    with pytest.raises(InputError, match="is not readable; remove"):
        enter(tmp_path)
    assert (tmp_path / ABOUT).read_text() == content


def test_other_data_is_refused_unless_forced(tmp_path):
    folder = tmp_path / "out"
    with opened(folder) as store:
        store.save("k", TrialResult(method="p2ka", label=""))
        (folder / "mine.txt").write_text("notes")
    with pytest.raises(InputError, match="holds a comparison of other data"):
        enter(folder, table="other")
    with opened(folder) as store:
        assert store.load("k") is not None
    with opened(folder, table="other", force=True) as store:
        assert store.load("k") is None
    assert (folder / "mine.txt").read_text() == "notes"


def test_another_version_is_refused(tmp_path, monkeypatch):
    with opened(tmp_path / "out"):
        pass
    monkeypatch.setattr(stores, "__version__", "9")
    with pytest.raises(InputError, match="or of another version"):
        enter(tmp_path / "out")


def test_what_is_no_comparison_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="exists and is not a comparison"):
        enter(tmp_path / "file")
    with pytest.raises(InputError, match="exists and is not a comparison"):
        enter(tmp_path, force=True)
    with pytest.raises(InputError, match="cannot use"):
        enter(tmp_path / "file" / "inside")


def test_two_runs_do_not_meet(tmp_path):
    with opened(tmp_path / "out"), pytest.raises(InputError, match="another run is at work"):
        enter(tmp_path / "out")
    with opened(tmp_path / "out"):
        pass


def test_a_run_that_fails_at_once_leaves_nothing(tmp_path):
    def fail(folder):
        with opened(folder):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(KeyboardInterrupt):
        fail(tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_run_that_fails_later_leaves_its_results(tmp_path):
    def fail():
        with opened(tmp_path / "out") as store:
            store.save("k", TrialResult(method="p2ka", label=""))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with opened(tmp_path / "out") as store:
        assert store.load("k") is not None


def test_what_failed_is_tried_again(tmp_path):
    with opened(tmp_path / "out") as store:
        store.save("k", TrialResult(method="p2ka", label="", state="failed"))
        assert store.load("k") is None


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[1]"])
def test_a_damaged_result_is_made_again(tmp_path, content):
    with opened(tmp_path / "out") as store:
        (store.folder / RESULTS / "k.json").write_bytes(content)
        assert store.load("k") is None


def test_a_result_without_its_page_or_release_is_made_again(tmp_path):
    with opened(tmp_path / "out") as store:
        page, release = store.place(REPORTS, CANDIDATE, "k" * 64), store.place(RELEASES, CANDIDATE, "k" * 64)
        tried = TrialResult(
            method="p2ka",
            label="",
            report=page.relative_to(store.folder).as_posix(),
            release=release.relative_to(store.folder).as_posix(),
        )
        store.save("k", tried)
        assert store.load("k") is None
        page.write_text("")
        assert store.load("k") is None
        release.mkdir(parents=True)
        assert store.load("k") == tried
        document = json.loads((store.folder / RESULTS / "k.json").read_text())
        assert document["holds"]


def test_what_a_killed_run_had_begun_to_write_goes(tmp_path):
    with opened(tmp_path / "out") as store:
        store.save("k", TrialResult(method="p2ka", label=""))
    begun = [tmp_path / "out" / name / ".page.html.x1.partial" for name in (".", RESULTS, REPORTS)]
    for path in begun:
        path.write_text("half")
    with opened(tmp_path / "out") as store:
        assert not any(path.exists() for path in begun)
        assert store.load("k") is not None
