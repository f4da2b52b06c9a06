"""Kernels load on first use, say when they compile, and find a place for compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sequester import kernels

# What a process does on its first use of a kernel; the argument names the folders it cannot write to.
FIRST_USE = """
import os, sys
from pathlib import Path
allowed = os.access
refused = sys.argv[1].split("|")
os.access = lambda path, mode: allowed(path, mode) and str(path) not in refused
from sequester import kernels
kernels.on_compilation(lambda: print("compiling"))
import numpy as np
kernels.rows.sort_rows(np.array([1, 1], np.int32), np.array([0, 1, 2]), np.arange(2))
print("done")
import gc
assert gc.isenabled(), "garbage is collected again after a compilation"
from numba.core import config
assert not config.CACHE_DIR, "other users of numba keep their own place"
from sequester.kernels.compiler import cache_folder
print(cache_folder())
"""


def first_use(*refused: Path, cache: Path) -> list[str]:
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    env.pop("NUMBA_CACHE_DIR", None)
    env.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE, "|".join(map(str, refused))],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_read_only_package_compiles_once_into_the_users_cache(tmp_path):
    package = Path(kernels.__file__).parent
    home = tmp_path / "sequester" / "kernels"
    assert first_use(package, cache=tmp_path) == ["compiling", "done", str(home)]
    assert list(home.rglob("*_sort_rows-*.nbi"))
    # What only kernels call is a part of each of them.
    assert not list(home.rglob("*_precedes-*.nbi"))
    assert first_use(package, cache=tmp_path) == ["done", str(home)]


def test_no_writable_place_compiles_into_a_folder_that_goes_away(tmp_path):
    package = Path(kernels.__file__).parent
    said = first_use(package, tmp_path / "sequester" / "kernels", cache=tmp_path)
    assert said[:2] == ["compiling", "done"]
    assert "sequester-kernels-" in said[2]
    assert not Path(said[2]).exists()


def test_a_request_can_be_taken_back():
    called = []
    forget = kernels.on_compilation(lambda: called.append(1))
    assert len(kernels._listeners) == 1
    forget()
    forget()
    assert kernels._listeners == []
    assert called == []


def test_unknown_kernel_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernels.nothing


def test_names_in_compiled_code_of_two_processes_do_not_meet():
    program = (
        "from sequester import kernels; kernels.rows; "
        "from numba.core.bytecode import FunctionIdentity; print(next(FunctionIdentity._unique_ids))"
    )
    starts = [
        int(
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        )
        for _ in range(2)
    ]
    # A process compiles some thousand functions.
    assert abs(starts[0] - starts[1]) > 100_000


def test_a_kernel_is_compiled_anew_where_one_that_it_calls_has_changed(tmp_path):
    head = "from sequester.kernels.compiler import inner, njit\n"
    (tmp_path / "called.py").write_text(f"{head}@inner\ndef number():\n    return 1\n")
    (tmp_path / "calling.py").write_text(
        f"{head}from called import number\n@njit\ndef twice():\n    return 2 * number()\n"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("NUMBA_DISABLE_JIT", None)

    def run() -> str:
        program = "from calling import twice; print(twice(), len(twice.stats.cache_hits))"
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        ).stdout

    assert run() == "2 0\n"
    assert run() == "2 1\n"
    (tmp_path / "called.py").write_text(f"{head}@inner\ndef number():\n    return 21\n")
    assert run() == "42 0\n"
