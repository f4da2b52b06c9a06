"""What single steps can do beyond the straight way, and the way by keyboard alone."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def hierarchies(opened):
    """The step Hierarchies, at the hierarchy of a column."""
    bench = opened()
    bench.page.go("data").see(".numbers")

    def at(attribute):
        bench.page.go("hierarchies", f"?attribute={attribute}").see("#preview table")
        return bench

    return at


def test_builders_show_at_once_what_values_become(hierarchies):
    bench = hierarchies("AdmYr")
    page = bench.page
    for kind, settings, shown in (
        ("intervals", "2, 4", "[2008:2009]"),
        ("quantiles", "2", "2008"),
        ("mask", "3", "200*"),
        ("tree", "early: 2008, 2009\nlate: 2010", "early"),
    ):
        page.pick("How it becomes coarser", kind)
        page.type("Settings", settings)
        page.see("#preview", shown)
    page.type("Settings", "early: 2008\nlate: 2010")
    # The linter names the value that no group has, before anything is saved.
    page.see("#preview .finding.error", "2009")
    page.click("Save")
    page.see("#messages", "2009")
    page.type("Settings", "early: 2008, 2009\nlate: 2010, Late")
    page.see("#preview .finding.warning", "Late")
    page.click("Save")
    page.click("Count events and persons")
    page.see("#tree", "early")
    # What the linter doubts is marked beside its node.
    page.see("#tree li .doubt")
    assert "Late" in (bench.folder / "release.toml").read_text()


def test_a_hierarchy_goes_to_a_file_and_comes_back(hierarchies):
    bench = hierarchies("ZIP")
    page = bench.page
    page.click("Write")
    page.see("#file", "levels.")
    written = (bench.folder / "hierarchies/ZIP.csv").read_text()
    assert "112**" in written or "*" in written.splitlines()[0]
    mine = bench.folder.parent / "mine.csv"
    mine.write_text(written.replace("**", "##"))
    page.field("Take in a file").send_keys(str(mine))
    page.see("#preview", "##")
    page.click("Save")
    page.wait("not saved", lambda: 'path = "mine.csv"' in (bench.folder / "release.toml").read_text())


def test_the_whole_way_by_keyboard(opened):
    bench = opened(".", "")
    page = bench.page

    def enter(name):
        page.reach(name)
        page.press(Keys.ENTER)

    page.reach("To the content")
    enter("Take the file visits.csv")
    page.see(".numbers", "40")
    enter("Next: Roles")
    page.see("#gaps", "needs a role")
    page.reach("Role of Disease")
    page.press("Sens")
    page.see("#gaps", "Every column has a role")
    for column in ("DSFC", "LOS"):
        page.reach(f"Role of {column}")
        page.press("Dr")
    page.wait("not dropped", lambda: "[data.quasi.LOS]" not in (bench.folder / "release.toml").read_text())
    enter("Next: Hierarchies")
    page.see("#preview table")
    enter("Next: Risk today")
    enter("Look for risks")
    page.see("#inspection")
    enter("Next: Promise")
    page.reach("Method")
    page.press("halt")
    page.reach("k, slider")
    page.press(Keys.HOME)
    page.see("#meaning", "at least 2 of your 40 persons")
    enter("Save")
    page.wait("not saved", lambda: "k = 2" in (bench.folder / "release.toml").read_text())
    enter("Straight to the release")
    enter("Make the release")
    page.see("#made", "verified")
    enter("Next: Check")
    enter("Check")
    page.see("#verdict", "as certified")
    assert len(list(bench.folder.rglob("release/certificate.json"))) == 1
