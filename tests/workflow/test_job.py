"""A run that was stopped is resumed to the same bytes, and a checkpoint of anything else is refused."""

from __future__ import annotations

import json
import random
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sequester.cli import main
from sequester.errors import InputError
from sequester.workflow.config import Config
from sequester.workflow.job import FolderCheckpoint, Job
from sequester.workflow.protect import protect

TOML = """
[data]
path = "visits.csv"
person = "who"
order = "n"
[data.quasi.stay]
hierarchy = { kind = "intervals", width = [7, 28], origin = 0 }
[data.quasi.year]
hierarchy = { kind = "intervals", width = [2, 4], origin = 2000 }
[data.sensitive.ill]
protect = ["HIV"]
[method]
name = "cblda"
k = 3
c = 0.5
[release]
path = "out"
"""
# Stops where the first merges have been kept, and waits there.
STOPPING = """
import sys, time
from sequester.cli import main
from sequester.methods.cblda import merging
from sequester.workflow.job import FolderCheckpoint
merging.BETWEEN, merging.FEWEST_NEW = -1.0, 4
save = FolderCheckpoint.save
def wait(self, name, arrays):
    save(self, name, arrays)
    print("waiting", len(arrays["merges"]), flush=True)
    time.sleep(600)
FolderCheckpoint.save = wait
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(7)
    rows = ["who,n,stay,year,ill"]
    for person in range(60):
        for place in range(draw.randint(1, 3)):
            ill = draw.choice(["flu", "cold", "cold", "HIV"])
            rows.append(f"p{person},{place},{draw.randint(0, 60)},{draw.randint(2000, 2011)},{ill}")
    (tmp_path / "visits.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "release.toml").write_text(TOML)
    return tmp_path


def contents(folder):
    """Every released and internal file, but for the configuration and what says how long it took."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and path.name != "release.toml" and not path.match("internal/report.*")
    }


def stop(*options):
    argv = [
        sys.executable,
        "-c",
        STOPPING,
        "protect",
        "release.toml",
        "--quick",
        "--checkpoint",
        "kept",
        *options,
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        word, n_merges = process.stdout.readline().split()
        assert word == "waiting"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "kept in kept; the same command resumes" in err
    return int(n_merges)


@pytest.mark.parametrize(
    "seed", [[], pytest.param(["--seed", "a sentence that nobody guesses"], marks=pytest.mark.thorough)]
)
def test_an_interrupted_run_is_resumed_to_the_same_bytes(visits, seed):
    assert stop(*seed) > 0
    # Nothing else was left behind, and nobody else may look.
    assert sorted(path.name for path in visits.iterdir()) == ["kept", "release.toml", "visits.csv"]
    assert stat.S_IMODE(Path("kept").stat().st_mode) == 0o700
    drawn = json.loads((visits / "kept" / "run.json").read_text())["seed"]
    assert main(["protect", "release.toml", "--quick", "--checkpoint", "kept", *seed]) == 0
    assert not (visits / "kept").exists()
    assert main(["protect", "release.toml", "--quick", "--out", "straight", "--seed", drawn]) == 0
    assert contents("out") == contents("straight")


def test_a_checkpoint_of_anything_else_is_refused(visits, capsys):
    stop("--seed", "a sentence that nobody guesses")
    changed = {
        "another k": ("release.toml", TOML.replace("k = 3", "k = 4")),
        "another hierarchy": ("release.toml", TOML.replace("[7, 28]", "[5, 25]")),
        "another value to protect": ("release.toml", TOML.replace('"HIV"', '"flu"')),
        "other data": ("visits.csv", (visits / "visits.csv").read_text() + "p99,1,3,2001,flu\n"),
    }
    for name, text in changed.values():
        before = (visits / name).read_text()
        (visits / name).write_text(text)
        assert (
            main(
                [
                    "protect",
                    "release.toml",
                    "--checkpoint",
                    "kept",
                    "--seed",
                    "a sentence that nobody guesses",
                ]
            )
            == 2
        )
        assert "kept is of another configuration, seed or data" in capsys.readouterr().err
        (visits / name).write_text(before)
    assert (
        main(["protect", "release.toml", "--checkpoint", "kept", "--seed", "some other sentence, as long"])
        == 2
    )
    assert not (visits / "out").exists()
    assert (visits / "kept" / "run.json").exists()


def test_a_method_without_steps_runs_all_the_same(visits):
    frame = (visits / "visits.csv").read_text().splitlines()
    clicks = ["who,n,page", *(",".join((each.split(",")[0], each.split(",")[1], "x")) for each in frame[1:])]
    (visits / "clicks.csv").write_text("\n".join(clicks) + "\n")
    (visits / "clicks.toml").write_text(
        '[data]\npath = "clicks.csv"\nperson = "who"\norder = "n"\n[data.symbol]\ncolumn = "page"\n'
        '[method]\nname = "p2ka"\nk = 2\n[release]\npath = "out"\n'
    )
    done = protect("clicks.toml", checkpoint="kept", seed="a sentence that nobody guesses")
    assert done.written.path.exists()
    assert not (visits / "kept").exists()


def opened(folder):
    config = Config.load("release.toml")
    return FolderCheckpoint.of(folder, Job.of(config), config.table())


def test_steps_are_kept_and_replaced(visits):
    kept = opened("kept")
    assert kept.load("merges") is None
    for size in (3, 5):
        kept.save("merges", {"merges": np.zeros((size, 2), np.int32)})
        assert opened("kept").load("merges")["merges"].shape == (size, 2)
    assert opened("kept").seed == kept.seed
    kept.remove()
    assert not (visits / "kept").exists()


def test_what_else_lies_there_stays(visits):
    kept = opened("kept")
    (visits / "kept" / "mine.txt").write_text("mine")
    kept.remove()
    assert [path.name for path in (visits / "kept").iterdir()] == ["mine.txt"]


def test_folders_that_are_no_checkpoint_are_refused(visits):
    (visits / "full").mkdir()
    (visits / "full" / "mine.txt").write_text("mine")
    for name in ("full", "visits.csv"):
        with pytest.raises(InputError, match=f"--checkpoint: {name} exists and is not a checkpoint"):
            opened(name)
    with pytest.raises(InputError, match="--checkpoint: cannot use visits\\.csv/inside: "):
        opened("visits.csv/inside")


@pytest.mark.parametrize("text", ["{", "[]", '{"version": "1"}'])
def test_a_broken_checkpoint_is_refused(visits, text):
    opened("kept")
    (visits / "kept" / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json is not readable; remove kept to start again"):
        opened("kept")


def test_a_checkpoint_of_another_version_is_refused(visits):
    opened("kept")
    about = json.loads((visits / "kept" / "run.json").read_text())
    (visits / "kept" / "run.json").write_text(json.dumps(about | {"version": "0.0.1"}))
    with pytest.raises(InputError, match=r"--checkpoint: kept was made by version 0\.0\.1, this is"):
        opened("kept")


def test_a_broken_step_is_refused(visits):
    kept = opened("kept")
    (visits / "kept" / "merges.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InputError, match=r"cannot read .*merges\.npz; remove the folder to start again"):
        kept.load("merges")


def test_a_step_that_cannot_be_kept_is_told(visits):
    kept = opened("kept")
    (visits / "kept" / "merges.npz.part").mkdir()
    with pytest.raises(InputError, match="--checkpoint: cannot write kept: "):
        kept.save("merges", {"merges": np.zeros((1, 2), np.int32)})
