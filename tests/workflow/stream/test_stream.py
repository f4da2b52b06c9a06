"""Streams: what is taken, rejected and published, and what a stream refuses."""

from __future__ import annotations

import errno
import json
import sqlite3
import threading

import polars as pl
import pytest

from sequester.errors import InputError
from sequester.verification.verify import verify
from sequester.workflow.stream import publish
from sequester.workflow.stream import stream as module
from sequester.workflow.stream.state import open_state
from sequester.workflow.stream.stream import stream
from workflow.stream.days import make_stream, outputs, places


def run(folder, **options):
    return stream(folder / "c.toml", **places(folder), **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = make_stream(tmp_path_factory.mktemp("finished"), packed=(0, 4))
    return folder, run(folder, finish=True)


def test_a_page_lists_the_snapshots_in_the_order_of_time(finished):
    folder, _ = finished
    page = (folder / "state" / "report.html").read_text()
    stems = [
        path.name.removesuffix(".certificate.json") for path in (folder / "out").glob("*.certificate.json")
    ]
    table = page.partition("in the order of time")[2]
    places = [table.index(f"<bdi>{stem}</bdi>") for stem in sorted(stems)]
    assert places == sorted(places)
    assert f"{len(stems)} snapshots with " in page
    assert verify(folder / "out")


def test_every_file_is_taken_and_every_snapshot_published(finished):
    folder, done = finished
    stems = [f"2024-01-0{day}" for day in range(1, 7)]
    assert done.published == stems
    assert [name.split(".")[0] for name in done.taken] == stems
    assert (done.rejected, done.in_window) == ([], 0)
    endings = ("certificate.json", "records.csv", "records.parquet", "values.csv", "values.parquet")
    assert set(outputs(folder)) == {
        "report.html",
        *(f"{stem}.{ending}" for stem in stems for ending in endings),
    }
    assert not list((folder / "out").glob(".*"))
    assert json.dumps(done.to_json())


def test_the_output_folder_verifies_and_a_change_is_found(finished, tmp_path):
    folder, _ = finished
    found = verify(folder / "out")
    assert found
    assert found.achieved == {"l": 3.0}
    for name, content in outputs(folder).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "stray.csv").write_text("a\n")
    assert "stray.csv: is not listed in a certificate" in verify(tmp_path).witnesses
    (tmp_path / "stray.csv").unlink()
    changed = tmp_path / "2024-01-02.records.csv"
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert any("its hash differs" in str(line) for line in verify(tmp_path).witnesses)
    changed.unlink()
    with pytest.raises(InputError, match=r"2024-01-02\.records\.csv is missing"):
        verify(tmp_path)


def test_nothing_is_published_of_a_full_window_and_a_second_run_takes_nothing(tmp_path):
    folder = make_stream(tmp_path, days=3)
    assert (run(folder).published, run(folder).taken) == ([], [])
    assert run(folder).in_window == 3
    assert not outputs(folder)


def test_published_records_are_those_that_came_once_and_not_before(finished):
    folder, _ = finished
    came = pl.concat(
        [
            (pl.read_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.read_parquet(path))
            .cast(pl.String)
            .select("date", "sex", "age")
            for path in sorted((folder / "in").iterdir())
        ]
    )
    out = pl.concat([pl.read_parquet(path) for path in sorted((folder / "out").glob("*.records.parquet"))])
    before = came.group_by("sex", "age").len("came")
    after = out.group_by("sex", "age").len("out")
    both = after.join(before, on=["sex", "age"], how="left")
    assert (both["out"] <= both["came"]).all()
    assert 0 < out.height <= came.height


@pytest.mark.parametrize(("then", "ending"), [("none", ""), ("generalize", ".records")])
def test_what_follows_is_published_in_its_own_files(tmp_path, then, ending):
    folder = make_stream(tmp_path, days=4, then=then)
    run(folder, finish=True)
    assert (folder / "out" / f"2024-01-01{ending}.csv").exists()
    assert verify(folder / "out")


def rejections(folder, **options):
    done = run(folder, **options)
    return {each.name: each for each in done.rejected}


def test_late_duplicate_and_malformed_files_are_put_aside_and_the_stream_goes_on(tmp_path):
    folder = make_stream(tmp_path, days=3)
    run(folder)
    inbox = folder / "in"
    first = (inbox / "2024-01-01.csv").read_text()
    (inbox / "2023-12-31.csv").write_text(first)
    (inbox / "2024-01-04.csv").write_text(first)
    (inbox / "2024-01-05.csv").write_text(first.replace("2024-01-01", "2024-01-02", 1))
    (inbox / "2024-01-06.csv").write_text("")
    (inbox / "2024-01-07.csv").write_text("who\nx\n")
    (inbox / "2024-01-07b.csv").write_text("who\n")
    (inbox / "2024-01-08.csv").write_text(first.replace("2024-01-01", "2024-01-02"))
    (inbox / "2024-01-02.parquet").write_bytes(b"PAR1")
    (inbox / "2024-01-09.csv").write_text(first.replace("2024-01-01", "2024-01-09"))
    (inbox / "2024-01-10.exe").write_text("x")
    (inbox / "2024-01-03.csv").write_text(first.replace("2024-01-01", "2024-01-03"))
    found = rejections(folder)
    assert {name: each.reasons[0].split(":")[0] for name, each in found.items()} == {
        "2023-12-31.csv": "too late",
        "2024-01-02.parquet": "duplicate",
        "2024-01-03.csv": "2024-01-03.csv was already taken with another content",
        "2024-01-04.csv": "duplicate",
        "2024-01-05.csv": "a file must be one snapshot, and this one has 2, from 2024-01-01 to 2024-01-02",
        "2024-01-06.csv": str(inbox / "2024-01-06.csv"),
        "2024-01-07.csv": found["2024-01-07.csv"].reasons[0],
        "2024-01-07b.csv": found["2024-01-07b.csv"].reasons[0],
        "2024-01-08.csv": "too late",
        "2024-01-10.exe": str(inbox / "2024-01-10.exe"),
    }
    assert "no such column" in found["2024-01-07.csv"].reasons[0]
    assert "no such column" in found["2024-01-07b.csv"].reasons[0]
    for each in found.values():
        assert each.place.parent == folder / "state" / "rejected"
        assert each.place.exists()
        assert each.reasons[0] in each.place.with_name(f"{each.place.name}.why.txt").read_text()
        assert not (inbox / each.name).exists()
    assert rejections(folder) == {}
    # A second one of the same name does not replace the first.
    (inbox / "2023-12-31.csv").write_text("other")
    assert rejections(folder)["2023-12-31.csv"].place.name == "2023-12-31.csv~2"


def test_without_a_time_column_the_name_is_the_time(tmp_path):
    folder = make_stream(tmp_path, days=3)
    config = (folder / "c.toml").read_text()
    (folder / "c.toml").write_text(
        config.replace('time = "date"\n', "").replace('["district"]', '["district", "date"]')
    )
    run(folder, finish=True)
    assert pl.read_csv(folder / "out" / "2024-01-02.records.csv")["time"].unique().to_list() == ["2024-01-02"]


def test_an_order_column_of_numbers_orders_by_number(tmp_path):
    folder = tmp_path
    (folder / "in").mkdir()
    (folder / "c.toml").write_text(
        '[data]\nperson = "row"\norder = "week"\n[data.sensitive.ill]\nprotect = "all"\n'
        '[method]\nname = "reposition"\nl = 2\nwindow = 1\nsnapshot = "order"\nthen = "none"\n'
    )
    for name, week in (("a", 9), ("b", 10), ("c", 8)):
        (folder / "in" / f"{name}.csv").write_text(f"week,ill\n{week},flu\n{week},cold\n")
    found = rejections(folder, finish=True)
    assert list(found) == ["c.csv"]
    assert "its time 8 is before 10" in found["c.csv"].reasons[0]
    assert (folder / "out" / "b.csv").read_text().count("10,") == 2


def test_a_second_process_is_refused(tmp_path):
    folder = make_stream(tmp_path, days=1)
    with open_state(folder / "state"), pytest.raises(InputError, match="in use by another process"):
        run(folder)


def test_other_parameters_are_refused(tmp_path):
    folder = make_stream(tmp_path, days=2)
    run(folder)
    config = (folder / "c.toml").read_text()
    for change in (
        ("l = 3", "l = 4"),
        ("width = [10", "width = [15"),
        ("nobody guesses", "somebody guesses"),
    ):
        (folder / "c.toml").write_text(config.replace(*change))
        with pytest.raises(InputError, match="this stream was started with another"):
            run(folder)
    (folder / "c.toml").write_text(config.replace('seed = "a sentence that nobody guesses"', ""))
    run(folder)


def test_a_seed_is_drawn_and_kept(tmp_path):
    folder = make_stream(tmp_path, days=2)
    config = (folder / "c.toml").read_text()
    (folder / "c.toml").write_text(config.replace('seed = "a sentence that nobody guesses"', ""))
    run(folder)
    run(folder, finish=True)
    with sqlite3.connect(folder / "state" / "state.sqlite") as state:
        ((seed,),) = state.execute("SELECT value FROM about WHERE name = 'seed'")
    state.close()
    assert len(seed) == 32
    assert (folder / "state").stat().st_mode & 0o777 == 0o700


def test_a_short_seed_and_an_empty_snapshot_are_told(tmp_path):
    folder = make_stream(tmp_path, days=2, level=30)
    config = (folder / "c.toml").read_text()
    (folder / "c.toml").write_text(config.replace("a sentence that nobody guesses", "short"))
    told = run(folder, finish=True).warnings
    assert any("the seed has 5 characters" in line for line in told)
    assert any("nothing could be published in 2024-01-01: l = 30 needs" in line for line in told)


def small_stream(folder, days):
    """Days are texts of letters, records of persons by number in brackets: ``a1 b2``."""
    (folder / "in").mkdir(parents=True)
    (folder / "c.toml").write_text(
        '[data]\nperson = "who"\norder = "n"\n[data.sensitive.ill]\nprotect = "all"\n'
        '[method]\nname = "reposition"\nl = 2\nwindow = 1\nsnapshot = "order"\nthen = "none"\n'
        '[release]\nseed = "a sentence that nobody guesses"\n'
    )
    for number, day in enumerate(days, start=1):
        rows = [f"{record[1:]},{number},{record[0]}" for record in day.split()]
        (folder / "in" / f"{number:02d}.csv").write_text("\n".join(["who,n,ill", *rows, ""]))
    return folder


def test_persons_in_several_snapshots_are_counted_over_the_whole_stream(tmp_path):
    # 2 comes again in the next snapshot, 1 and 3 long after theirs have left the window.
    folder = small_stream(tmp_path, ["a1 b2", "a2 b3", "a4 b5", "a6 b7", "a8 b1", "b3 a9"])
    later = [path.rename(tmp_path / path.name) for path in sorted((folder / "in").iterdir())[3:]]
    first = run(folder, finish=True)
    assert first.repeated_persons == 1
    (line,) = first.warnings
    assert line.startswith("1 person has records in several published snapshots; they are not protected")
    for path in later:
        path.rename(folder / "in" / path.name)
    second = run(folder, finish=True)
    assert second.repeated_persons == 3
    assert any(line.startswith("3 persons have records in several") for line in second.warnings)
    third = run(folder)
    assert (third.repeated_persons, third.warnings) == (3, ())
    assert third.to_json()["repeated_persons"] == 3


def test_folding_persons_changes_nothing_that_is_published_or_counted(finished, tmp_path, monkeypatch):
    whole, done = finished
    monkeypatch.setattr(publish, "MOST_RUNS", 2)
    folder = make_stream(tmp_path, packed=(0, 4))
    folded = run(folder, finish=True)
    assert outputs(folder) == outputs(whole)
    assert folded.repeated_persons == done.repeated_persons > 0
    with open_state(folder / "state") as kept:
        assert kept.size_of_runs()[0] < 2
        assert kept.part(7)


def test_rows_that_are_persons_are_not_counted_as_repeated(tmp_path):
    folder = small_stream(tmp_path, ["a1 b2", "a1 b2"])
    config = (folder / "c.toml").read_text()
    (folder / "c.toml").write_text(config.replace('person = "who"', 'person = "row"\ndrop = ["who"]'))
    done = run(folder, finish=True)
    assert (done.repeated_persons, done.warnings) == (0, ())


def test_what_is_never_published_is_counted_per_value_over_the_whole_stream(tmp_path):
    folder = small_stream(tmp_path, ["a1 a2 a3 b4", "c5 c6 b7", "a8 b9"])
    last = folder / "in" / "03.csv"
    last.rename(tmp_path / "03.csv")
    assert run(folder).unpublished == {"a": 2}
    (tmp_path / "03.csv").rename(last)
    done = run(folder, finish=True)
    assert done.unpublished == {"a": 2, "c": 1}
    assert list(done.to_json()["unpublished"]) == ["a", "c"]
    out = pl.concat([pl.read_csv(path) for path in sorted((folder / "out").glob("*.csv"))])
    assert dict(out["ill"].value_counts().iter_rows()) == {"a": 2, "b": 3, "c": 1}
    with open_state(folder / "state") as kept:
        assert kept.expired() == {"a": 2, "c": 1}


def test_a_stream_goes_on_after_its_end(tmp_path):
    folder = make_stream(tmp_path, days=6)
    last = folder / "in" / "2024-01-06.csv"
    text = last.read_text()
    last.unlink()
    run(folder, finish=True)
    last.write_text(text)
    assert run(folder, finish=True).published == ["2024-01-06"]
    assert verify(folder / "out")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"reposition"', '"merge-snapshots"', "would merge files"),
        (
            'name = "reposition"\nl = 3\nwindow = 3\nthen = "anatomy"',
            'name = "p2ka"\nk = 2',
            "publishes snapshots, got",
        ),
        ('protect = "all"', 'protect = "all"\ncolumns = ["diagnosis", "sex"]', "exactly one sensitive"),
    ],
)
def test_what_cannot_be_a_stream_is_refused(tmp_path, old, new, message):
    folder = make_stream(tmp_path, days=1)
    config = (folder / "c.toml").read_text()
    assert old in config
    (folder / "c.toml").write_text(config.replace(old, new))
    with pytest.raises(InputError, match=message):
        run(folder)
    assert not (folder / "state").exists()


def test_folders_must_be_apart(tmp_path):
    folder = make_stream(tmp_path, days=1)
    with pytest.raises(InputError, match="must not be inside or around"):
        stream(folder / "c.toml", inputs=folder / "in", out=folder / "in" / "out", state=folder / "state")
    with pytest.raises(InputError, match="--in must be a folder"):
        stream(folder / "c.toml", inputs=folder / "nowhere", out=folder / "out", state=folder / "state")


def test_a_full_disk_stops_the_stream_and_it_resumes(tmp_path, monkeypatch):
    folder, whole = make_stream(tmp_path / "full"), make_stream(tmp_path / "whole")
    run(whole, finish=True)

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(module, "sync_file", full)
        with pytest.raises(InputError, match="No space left on device; what was taken before is safe"):
            run(folder, finish=True)
    with monkeypatch.context() as patch:

        def no_room(*_):
            raise sqlite3.OperationalError("database or disk is full")

        patch.setattr(module.State, "save_window", no_room)
        with pytest.raises(InputError, match="disk is full"):
            run(folder, finish=True)
    run(folder, finish=True)
    assert outputs(folder) == outputs(whole)


def test_a_state_of_another_version_is_refused(tmp_path):
    folder = make_stream(tmp_path, days=1)
    run(folder)
    with sqlite3.connect(folder / "state" / "state.sqlite") as state:
        state.execute("PRAGMA user_version = 9")
    state.close()
    with pytest.raises(InputError, match="has format 9, and this version reads 2"):
        run(folder)


def test_following_waits_for_files_that_nobody_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_WAIT", 0.01)
    folder = make_stream(tmp_path, days=2)
    files = sorted((folder / "in").iterdir())
    aside = tmp_path / "aside.csv"
    files[1].rename(aside)
    seen = threading.Event()
    looks = []

    def stop():
        looks.append(1)
        if len(looks) == 3:
            aside.rename(files[1])
        if len(looks) > 400:
            seen.set()
        return len(looks) > 400

    done = run(folder, follow=True, stop=stop)
    assert seen.is_set()
    assert done.taken == [path.name for path in files]
