"""The whole way in a real browser: from a file to a release that is verified, and that a command repeats."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

from sequester.workbench.server import STEPS


def _contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def _look_at_all(page):
    """Every page at two widths, light and dark; pictures are kept where a folder for them is named."""
    found = {}
    pictures = os.environ.get("SEQUESTER_PICTURES")
    for name in STEPS:
        for width, dark in product((1280, 800), (False, True)):
            page.browser.set_window_size(width, 1000)
            page.go(name, "?attribute=ZIP" if name == "hierarchies" else "").see("#main")
            found[name, width, dark] = page.look(dark=dark) | {"nameless": page.nameless()}
            if pictures:
                picture = Path(pictures) / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                page.go(name, "?attribute=ZIP" if name == "hierarchies" else "").picture(picture)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.browser.set_window_size(1280, 1000)
    return found


def test_from_a_file_to_a_verified_release(opened, tmp_path_factory):
    bench = opened("visits.csv")
    page = bench.page
    page.see(".numbers", "40")
    assert "p01" in page.text()

    drafted, draft = (bench.folder / "release.toml").read_bytes(), page.command

    page.click("Next: Roles")
    # What is sensitive is never guessed, and nobody goes on without a role for every column.
    assert "Column 'Disease' needs a role." in page.text("#gaps")
    assert page.see(".next a").get_attribute("aria-disabled") == "true"
    assert "Column 'Disease' needs a role." in page.go("promise").text("#closed")
    page.go("roles").choose("Role of Disease", "sensitive")
    page.choose("Role of LOS", "drop")
    page.choose("Role of DSFC", "drop")
    page.see("#gaps", "Every column has a role")

    page.click("Next: Hierarchies")
    page.click("ZIP")
    page.type("Settings", "2, 1")
    page.see("#preview", "11***")
    page.click("Save")
    page.click("Count events and persons")
    page.see("#tree", "40 persons")

    page.click("Next: Risk today")
    page.click("Look for risks")
    page.see("#inspection", "Smallest combinations of items")

    page.click("Next: Promise")
    page.choose("Method", "halt")
    page.type("k", "2")
    page.see("#meaning", "matches at least 2 persons")
    page.type("p", "1")
    page.click("Save")

    page.click("Next: Explore")
    page.type("k", "2")
    page.type("c", "0.5, 1")
    page.click("Try them all")
    page.see("#frontier", "halt k=2 c=1")
    page.gone("progress")
    compared = page.command
    page.all("#frontier svg a path")[-1].click()
    page.see("#beside .changed", "*")
    page.click("Take halt k=2 c=1")

    page.see("#run", "c = 1")
    page.click("Make the release")
    page.see("#made", "verified")
    certificate = page.text("#certificate")
    command = page.command
    assert command == "sequester protect release.toml --out out"

    page.go("check").click("Check")
    page.see("#verdict", certificate)
    page.see("#opened", "at least 2 persons")
    page.type("Value", "Flu")
    page.pick("Column", "Disease")
    page.click("Estimate")
    assert "events are expected to have had Disease = Flu" in page.text("#expected")
    # A folder that somebody sent is copied, and checked in the same way: here one that was tampered with.
    sent = tmp_path_factory.mktemp("sent") / "release"
    shutil.copytree(bench.folder / "out/release", sent)
    with (sent / "events.csv").open("a") as file:
        file.write("one row more\n")
    page.drop(sent, ".drop")
    page.see("#verdict", "events.csv")
    assert "fails verification" in page.text("#verdict")
    assert "halt, k = 2" in page.go("history").text("#runs")

    seen = _look_at_all(page)
    assert {place: each for place, each in seen.items() if any(each.values())} == {}
    asked = [address for address in page.requests() if address.startswith(("http", "ws"))]
    assert any(address.startswith(f"http://{bench.server.host}/") for address in asked)
    assert all(address.startswith("http://127.0.0.1:") for address in asked)
    assert page.complaints() == []
    assert bench.server.interrupt() == 130

    # The commands give the same bytes in a folder with nothing but the data and the configuration.
    other = tmp_path_factory.mktemp("terminal")
    for name in ("visits.csv", "release.toml"):
        shutil.copy(bench.folder / name, other)
    (other / "draft").mkdir()
    shutil.copy(bench.folder / "visits.csv", other / "draft")
    subprocess.run([sys.executable, "-m", *shlex.split(draft)], cwd=other / "draft", check=True)
    assert (other / "draft/release.toml").read_bytes() == drafted
    for line in (command, compared):
        subprocess.run([sys.executable, "-m", *shlex.split(line)], cwd=other, check=True)
    assert _contents(other / "out/release") == _contents(bench.folder / "out/release")
    (mine,), (theirs,) = ([*folder.glob("compare-*")] for folder in (bench.folder, other))
    tried = {path.name: _contents(path / "release") for path in (mine / "releases").iterdir()}
    assert len(tried) == 2
    assert tried == {path.name: _contents(path / "release") for path in (theirs / "releases").iterdir()}
