"""A disk that is really full stops a stream cleanly, and with room again it publishes the same bytes."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from sequester.errors import InputError
from sequester.workflow.stream.publish import reject
from sequester.workflow.stream.stream import stream
from workflow.stream.days import make_stream, outputs, places

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits and mounts of Unix")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = make_stream(tmp_path_factory.mktemp("whole"))
    stream(folder / "c.toml", **places(folder), finish=True)
    return outputs(folder)


class Disk:
    """A file system in memory with so many kilobytes of room."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def give(self, kilobytes, *, again=False):
        options = f"{'remount,' if again else ''}size={kilobytes}k"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def take_away(self):
        subprocess.run(["umount", str(self.folder)], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path):
    made = Disk(tmp_path / "disk")
    if not made.give(16):
        pytest.skip("only somebody who may mount can fill a disk here")
    yield made
    made.take_away()


@pytest.mark.parametrize(
    ("what", "kilobytes"), [("state", 100), ("state", 400), ("state", 1100), ("state", 1500), ("out", 8)]
)
def test_a_full_disk_stops_the_stream_and_it_resumes(disk, whole, tmp_path, what, kilobytes):
    folder = make_stream(tmp_path / "stream")
    parts = places(folder) | {what: disk.folder / what}
    disk.give(kilobytes, again=True)
    with pytest.raises(InputError, match=r"(disk is full|No space left on device); what was taken before is"):
        stream(folder / "c.toml", **parts, finish=True)
    disk.give(65_536, again=True)
    stream(folder / "c.toml", **parts, finish=True)
    assert {path.name: path.read_bytes() for path in sorted(parts["out"].iterdir())} == whole


def test_a_rejected_file_stays_where_it_was_if_there_is_no_room(disk, tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"x" * 100_000)
    with pytest.raises(OSError, match="No space left on device"):
        reject(path, ("it is late",), disk.folder)
    assert path.stat().st_size == 100_000
    assert not list(disk.folder.iterdir())


def test_the_command_ends_with_2_and_goes_on_later(whole, tmp_path):
    folder = make_stream(tmp_path / "stream")
    options = [str(each) for name in ("in", "out", "state") for each in (f"--{name}", folder / name)]
    command = [
        sys.executable,
        "-B",
        "-m",
        "sequester",
        "stream",
        str(folder / "c.toml"),
        *options,
        "--finish",
    ]
    limit = 1_000_000
    # A limit on the size of a file stops the writer in the middle, too, and needs no rights.
    done = subprocess.run(
        [*command, "--quiet"],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("what was taken before is safe")
    assert outputs(folder) != whole
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert outputs(folder) == whole
