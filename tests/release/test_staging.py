"""Written aside and renamed: whatever happens on the way, what is seen is whole."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from release.samples import Pages, release_of
from sequester.errors import InputError
from sequester.release.staging import OutputFolders, defer_interrupts, staging
from sequester.verification.verify import verify
from sequester.workflow.write import write

TOKEN = "0123456789abcdef"


def fill(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "file").write_text(text)


def seen(out: Path) -> dict[str, str]:
    """Folder to the text of its file."""
    return {path.name: (path / "file").read_text() for path in out.iterdir() if path.is_dir()}


def test_folders_are_aside_private_and_gone_at_the_end(tmp_path):
    with staging(OutputFolders.of(tmp_path / "out"), force=False) as stage:
        assert [path.parent for path in stage.aside.folders] == [tmp_path / "out"] * 2
        assert {path.stat().st_mode & 0o777 for path in stage.aside.folders} == {0o700}
        assert all(path.name.startswith(".") for path in stage.aside.folders)
    assert list((tmp_path / "out").iterdir()) == []


def test_folders_made_for_nothing_are_removed_and_others_stay(tmp_path):
    (tmp_path / "there").mkdir()

    class StopError(Exception):
        pass

    with pytest.raises(StopError), staging(OutputFolders.of(tmp_path / "there" / "a" / "b"), force=False):
        raise StopError
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_folder_that_somebody_else_uses_meanwhile_stays(tmp_path):
    class StopError(Exception):
        pass

    def stopped() -> None:
        with staging(OutputFolders.of(tmp_path / "made" / "out"), force=False):
            fill(tmp_path / "made" / "theirs", "theirs")
            raise StopError

    with pytest.raises(StopError):
        stopped()
    assert seen(tmp_path / "made") == {"theirs": "theirs"}


# What lies in the output when a run is killed, and what the next run finds there after its sweep.
LEFT = {
    "while writing": (
        {f".release.{TOKEN}.partial": "new", f".internal.{TOKEN}.partial": "new"},
        {},
    ),
    "while writing, over an older release": (
        {
            f".release.{TOKEN}.partial": "new",
            f".internal.{TOKEN}.partial": "new",
            "release": "old",
            "internal": "old",
        },
        {"release": "old", "internal": "old"},
    ),
    "after the old release moved": (
        {
            f".release.{TOKEN}.partial": "new",
            f".internal.{TOKEN}.partial": "new",
            f".release.{TOKEN}.old": "old",
            "internal": "old",
        },
        {"release": "old", "internal": "old"},
    ),
    "after both old halves moved": (
        {
            f".release.{TOKEN}.partial": "new",
            f".internal.{TOKEN}.partial": "new",
            f".release.{TOKEN}.old": "old",
            f".internal.{TOKEN}.old": "old",
        },
        {"release": "old", "internal": "old"},
    ),
    "after the new internal half moved": (
        {
            f".release.{TOKEN}.partial": "new",
            f".release.{TOKEN}.old": "old",
            f".internal.{TOKEN}.old": "old",
            "internal": "new",
        },
        {"release": "old", "internal": "old"},
    ),
    "after the first internal half moved": (
        {f".release.{TOKEN}.partial": "new", "internal": "new"},
        {},
    ),
    "after everything moved": (
        {
            f".release.{TOKEN}.old": "old",
            f".internal.{TOKEN}.old": "old",
            "release": "new",
            "internal": "new",
        },
        {"release": "new", "internal": "new"},
    ),
    "while tidying up": (
        {f".internal.{TOKEN}.partial": "new"},
        {},
    ),
    "not at all": (
        {".release.mine.partial": "mine", f".other.{TOKEN}.old": "mine", "release.old": "mine"},
        {".release.mine.partial": "mine", f".other.{TOKEN}.old": "mine", "release.old": "mine"},
    ),
}


@pytest.mark.parametrize("killed", LEFT)
def test_the_next_run_tidies_up_after_one_that_was_killed(tmp_path, killed):
    left, expected = LEFT[killed]
    for name, text in left.items():
        fill(tmp_path / name, text)
    with staging(OutputFolders.of(tmp_path), force=True):
        found = seen_without_new(tmp_path)
    assert found == expected
    assert seen(tmp_path) == expected


def seen_without_new(out: Path) -> dict[str, str]:
    return {path.name: (path / "file").read_text() for path in out.iterdir() if (path / "file").exists()}


def test_a_release_that_comes_back_is_not_overwritten_without_force(tmp_path):
    fill(tmp_path / f".release.{TOKEN}.old", "old")
    fill(tmp_path / f".release.{TOKEN}.partial", "new")
    fill(tmp_path / f".internal.{TOKEN}.partial", "new")
    with pytest.raises(InputError, match="exists already"):
        write(release_of(), tmp_path, report=Pages())
    assert seen(tmp_path) == {"release": "old"}


@pytest.mark.skipif(sys.platform == "win32", reason="without renames over folders that are open")
def test_two_runs_wait_for_each_other(tmp_path):
    target, order = OutputFolders.of(tmp_path), []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with staging(target, force=True) as stage:
            inside.set()
            go_on.wait(600)
            for folder in stage.aside.folders:
                (folder / "file").write_text("first")
            stage.commit()
            order.append("first")

    def second() -> None:
        with staging(target, force=True) as stage:
            order.append("second")
            for folder in stage.aside.folders:
                (folder / "file").write_text("second")
            stage.commit()

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(600)
    threads[1].start()
    time.sleep(0.1)
    assert order == []
    go_on.set()
    for thread in threads:
        thread.join(600)
    assert order == ["first", "second"]
    assert seen(tmp_path) == {"release": "second", "internal": "second"}


def test_an_interrupt_waits_for_the_end_of_the_block():
    reached = []

    def be_interrupted() -> None:
        with defer_interrupts() as interrupted:
            signal.raise_signal(signal.SIGINT)
            reached.append(interrupted())

    with pytest.raises(KeyboardInterrupt):
        be_interrupted()
    assert reached == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_ignores_interrupts_keeps_doing_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with defer_interrupts() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupt_between_two_renames_undoes_them(tmp_path, monkeypatch, nth, existing):
    if existing:
        write(release_of(["zz", "zz"]), tmp_path, report=Pages())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    rename, calls = Path.rename, []

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == min(nth, 4 if existing else 2):
            signal.raise_signal(signal.SIGINT)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(release_of(), tmp_path, report=Pages(), force=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == (["internal", "release"] if existing else [])


KILLED_AT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from release.samples import Pages, release_of
from sequester.release import staging
from sequester.workflow.write import write

calls = 0
def deadly(act):
    def wrapped(*arguments, **keywords):
        global calls
        calls += 1
        if calls == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **keywords)
    return wrapped

Path.rename, Path.mkdir = deadly(Path.rename), deadly(Path.mkdir)
staging._remove = deadly(staging._remove)
write(release_of(), sys.argv[1], report=Pages(), force=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(
    "nth", [4, 6, 7, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2, 3, 5, 8, 9, 10))]
)
def test_killed_at_any_step_of_the_exchange_one_whole_release_is_there_after_the_next_run(tmp_path, nth):
    older = write(release_of(["zz", "zz"]), tmp_path, report=Pages(), config_toml="# older")
    command = [sys.executable, "-c", KILLED_AT, str(tmp_path), str(nth), str(Path(__file__).parents[1])]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr
    visible = (tmp_path / "release").exists()
    if visible:
        assert verify(tmp_path / "release")
    with staging(OutputFolders.of(tmp_path), force=True):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["internal", "release"]
    assert verify(tmp_path / "release")
    is_older = verify(tmp_path / "release").certificate_sha256 == older.certificate_sha256
    assert ((tmp_path / "internal" / "release.toml").read_text() == "# older") == is_older


def test_without_locks_nothing_is_swept(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    fill(tmp_path / f".release.{TOKEN}.partial", "perhaps somebody's")
    assert write(release_of(), tmp_path, report=Pages()).verification
    assert (tmp_path / f".release.{TOKEN}.partial" / "file").read_text() == "perhaps somebody's"


def test_an_output_named_through_the_folder_that_is_replaced_is_replaced(tmp_path):
    write(release_of(["zz", "zz"]), tmp_path, report=Pages())
    again = write(release_of(), tmp_path / "internal" / "..", report=Pages(), force=True)
    assert again.verification.achieved == {"k": 2}
    assert verify(tmp_path / "release").certificate_sha256 == again.certificate_sha256
    assert sorted(path.name for path in tmp_path.iterdir()) == ["internal", "release"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_an_output_named_through_a_link_in_the_folder_that_is_replaced_is_replaced(tmp_path):
    write(release_of(["zz", "zz"]), tmp_path, report=Pages())
    (tmp_path / "internal" / "up").symlink_to(tmp_path, target_is_directory=True)
    again = write(release_of(), tmp_path / "internal" / "up", report=Pages(), force=True)
    assert verify(tmp_path / "release").certificate_sha256 == again.certificate_sha256


def test_a_folder_that_is_not_there_may_be_gone_through_backwards(tmp_path):
    assert write(release_of(), tmp_path / "nowhere" / "..", report=Pages()).verification
    assert sorted(path.name for path in tmp_path.iterdir()) == ["internal", "release"]


def test_what_cannot_be_put_back_is_named_the_rest_goes_back_and_the_next_run_does_it(tmp_path, monkeypatch):
    older = write(release_of(["zz", "zz"]), tmp_path, report=Pages())
    rename = Path.rename

    def stubborn(self: Path, target: Path) -> Path:
        # Neither the new release goes in, nor the old internal half back.
        if self.name.startswith(".release") and self.name.endswith("partial"):
            raise PermissionError(13, "Permission denied")
        if self.name.startswith(".internal") and self.name.endswith("old"):
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", stubborn)
        with pytest.raises(InputError, match=r"cannot put .*internal back, it is at .*\.old now") as raised:
            write(release_of(), tmp_path, report=Pages(), force=True)
    assert len(raised.value.lines) == 1
    assert verify(tmp_path / "release").certificate_sha256 == older.certificate_sha256
    with staging(OutputFolders.of(tmp_path), force=True):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["internal", "release"]
    assert (tmp_path / "internal" / "changes.parquet").exists()


@pytest.mark.parametrize("places", [("a\0b", None), ("out", "a\0b")])
def test_a_nul_character_is_refused(places):
    with pytest.raises(InputError, match=r"^'a\\x00b' cannot be written: it has a NUL character$"):
        OutputFolders.of(*places)
