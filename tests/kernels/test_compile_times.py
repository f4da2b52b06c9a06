"""How long compilation takes is known from before: per kernel, without those that are compiled already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sequester.kernels import compile_times
from sequester.kernels.compile_times import (
    cached_kernels,
    expected_seconds,
    keep_measured,
    relative_speed,
)

SHIPPED = {
    "seconds": {"a": 1.0, "b": 2.0, "c": 4.0},
    "uses": {"protect halt": ["a", "b"], "attack halt": ["b", "c"]},
}


@pytest.mark.parametrize(
    ("uses", "cached", "here", "speed", "seconds"),
    [
        (["protect halt"], (), {}, 1.0, 3.0),
        (["protect halt", "attack halt"], (), {}, 1.0, 7.0),
        (["protect halt", "attack halt"], ("b",), {}, 1.0, 5.0),
        (["protect halt"], ("a", "b"), {}, 1.0, 0.0),
        # A machine that is twice as slow, by a small program or by what was measured.
        (["protect halt"], (), {}, 2.0, 6.0),
        (["attack halt"], (), {"a": 2.0}, 9.0, 12.0),
        # What was measured counts as it is.
        (["attack halt"], (), {"b": 1.0, "c": 1.0}, 1.0, 2.0),
        (["protect other"], (), {}, 1.0, None),
    ],
)
def test_the_seconds_of_what_is_not_compiled_yet(uses, cached, here, speed, seconds):
    found = expected_seconds(uses, cached=cached, here=here, shipped=SHIPPED, speed=speed)
    assert found == seconds


@pytest.mark.parametrize("times", [0.45, 0.7, 1.0, 1.5, 2.2])
@pytest.mark.parametrize("is_slower", [True, False])
def test_a_fresh_machine_is_told_within_half(monkeypatch, times, is_slower):
    # Either the machine is another one, or it is the same at a moment when the yardstick takes longer.
    monkeypatch.setattr(compile_times, "yardstick", lambda: 0.004 * times)
    error = relative_speed({"yardstick": 0.004}) / (times if is_slower else 1.0)
    assert 1 / 1.5 < error < 1.5


def test_without_a_yardstick_all_machines_are_alike():
    assert relative_speed({}) == 1.0


def test_what_was_measured_is_added_to_what_was_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_times, "_measured", {"halt/_kernels.mark": 1.25})
    (tmp_path / compile_times.NAME).write_text(json.dumps({"seconds": {"a/b.c": 2}}))
    keep_measured(tmp_path)
    kept = json.loads((tmp_path / compile_times.NAME).read_text())
    assert kept == {"seconds": {"a/b.c": 2, "halt/_kernels.mark": 1.25}}
    assert [path.name for path in tmp_path.iterdir()] == [compile_times.NAME]


@pytest.mark.parametrize("text", ["", "[1]", "{"])
def test_a_damaged_file_is_written_anew(tmp_path, monkeypatch, text):
    monkeypatch.setattr(compile_times, "_measured", {"a/b.c": 1.0})
    (tmp_path / compile_times.NAME).write_text(text)
    keep_measured(tmp_path)
    assert json.loads((tmp_path / compile_times.NAME).read_text()) == {"seconds": {"a/b.c": 1.0}}


def test_where_nothing_can_be_kept_nothing_is(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_times, "_measured", {"a/b.c": 1.0})
    (tmp_path / "file").touch()
    keep_measured(tmp_path / "file")
    monkeypatch.setattr(compile_times, "_measured", {})
    keep_measured(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


COMPILE = """
import numpy as np
from sequester import kernels
kernels.on_compilation(lambda: print("compiling"))
kernels.rows.fold_rows(np.array([1, 1], np.int32), np.array([0, 1, 2]))
"""


def test_a_compiled_kernel_is_measured_and_found_again(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    env.pop("NUMBA_DISABLE_JIT", None)
    argv = [sys.executable, "-c", COMPILE]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "compiling\n"
    seconds = json.loads((tmp_path / compile_times.NAME).read_text())["seconds"]
    assert seconds
    assert set(seconds) == cached_kernels(tmp_path)


def test_the_figures_are_of_commands_and_their_kernels():
    from sequester.methods import METHODS

    shipped = json.loads(Path(compile_times.__file__).with_name(compile_times.NAME).read_text())
    asked = {f"{command} {name}" for name in METHODS for command in ("protect", "verify", "attack")}
    assert set(shipped["uses"]) <= asked | {"inspect"}
    assert {name for names in shipped["uses"].values() for name in names} == set(shipped["seconds"])
    assert shipped["yardstick"] > 0
