"""The whole way in a real browser: from a file to a release that is verified, and that a command repeats."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_from_a_file_to_a_verified_release(opened, tmp_path_factory):
    bench = opened("visits.csv")
    page = bench.page
    page.see(".numbers", "40")
    assert "p01" in page.text()

    page.click("Next: Roles")
    # What is sensitive is never guessed, and nobody goes on without a role for every column.
    assert "Column 'Disease' needs a role." in page.text("#gaps")
    assert page.see(".next a").get_attribute("aria-disabled") == "true"
    page.go("promise")
    assert "Column 'Disease' needs a role." in page.text("#closed")
    page.go("roles").choose("Role of Disease", "sensitive")
    page.choose("Role of LOS", "drop")
    page.choose("Role of DSFC", "drop")
    page.see("#gaps", "Every column has a role")

    page.go("promise").choose("Method", "halt")
    page.type("k", "2")
    page.see("#meaning", "matches at least 2 persons")
    page.click("Save")
    page.go("release").see("#run", "k = 2")
    page.click("Make the release")
    page.see("#made", "verified")
    certificate = page.text("#certificate")
    command = page.command
    assert command == "sequester protect release.toml --out out"

    page.go("check").click("Check")
    page.see("#verdict", certificate)
    page.see("#opened", "at least 2 persons")

    # The command gives the same bytes in a folder with nothing but the data and the configuration.
    other = tmp_path_factory.mktemp("terminal")
    for name in ("visits.csv", "release.toml"):
        shutil.copy(bench.folder / name, other)
    subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=other, check=True)
    assert _contents(other / "out/release") == _contents(bench.folder / "out/release")

    asked = [address for address in page.requests() if address.startswith(("http", "ws"))]
    assert asked
    assert all(address.startswith(f"http://{bench.server.host}/") for address in asked)
    assert page.complaints() == []
    assert bench.server.interrupt() == 130
