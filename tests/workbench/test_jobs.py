"""Work that is refused, cancelled, killed or watched from two tabs: nothing is lost, and all is said."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from workbench.conftest import TOML
from workbench.driver import Page, Server, second_tab


def _workers(server):
    pid = server.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ready(page):
    """Wait until the columns are known, so that nothing else is at work."""
    page.go("data").see(".numbers")
    return page


def test_a_refusal_offers_what_is_feasible_as_a_button(opened):
    bench = opened(toml=TOML.replace("c = 0.5", "c = 0.01"))
    page = _ready(bench.page).go("release")
    page.click("Make the release")
    said = page.text("#refusal")
    assert "could be kept" in said
    button = page.see("#refusal button").text
    assert button.startswith("Use c = ")
    page.click(button)
    page.see("#made", "verified")
    assert f"{button.removeprefix('Use ')}\n" in (bench.folder / "release.toml").read_text()


def test_a_job_survives_a_reload_and_two_tabs_and_is_cancelled_without_a_trace(opened):
    bench = opened()
    page = _ready(bench.page).go("release")
    page.click("Make the release")
    page.see("progress")
    page.browser.refresh()
    page.see("progress")
    with second_tab(page):
        page.go("release").see("progress")
        page.click("Cancel")
        page.see(".job", "cancelled")
    page.see(".job", "cancelled")
    assert not (bench.folder / "out").exists()
    assert not [path for path in bench.folder.iterdir() if path.name.startswith((".out", "out"))]


def test_a_killed_worker_loses_nothing_else(opened):
    bench = opened()
    page = _ready(bench.page).go("release")
    page.click("Make the release")
    page.see("progress")
    for worker in _workers(bench.server):
        os.kill(worker, signal.SIGKILL)
    page.see(".job", "was stopped before it was done")
    page.click("Start again")
    page.see("progress")
    # The work lets pages go first, and ends with the workbench.
    (worker,) = _workers(bench.server)
    assert os.getpriority(os.PRIO_PROCESS, worker) == 10
    assert bench.server.interrupt() == 130
    assert not Path(f"/proc/{worker}").exists()


def test_two_workbenches_on_one_folder_see_the_same_work(opened):
    first = opened()
    page = _ready(first.page)
    with Server(first.folder, "release.toml") as second:
        page.go("release").click("Make the release")
        page.see("progress")
        other = Page(page.browser, second)
        other.go("release").see("progress")
        other.click("Cancel")
        other.see(".job", "cancelled")
    page.go("release").see(".job", "cancelled")
    assert not (first.folder / "out").exists()


def test_a_workbench_that_was_killed_is_found_again_as_it_was(opened):
    bench = opened()
    page = _ready(bench.page).go("roles")
    page.choose("Role of LOS", "keep")
    page.go("release").click("Make the release")
    page.see("progress")
    bench.server.process.kill()
    bench.server.process.wait()
    page = Page(page.browser, Server(bench.folder, "release.toml"))
    try:
        # It had begun to work or not: either way it is said, and can be begun again.
        page.go("release").see(".job", "Start again")
        assert "LOS: keep" in page.go("history").text("#changes")
        page.go("roles").see("#role-5 option[selected]")
        page.go("release").click("Start again")
        page.wait("no end", lambda: page.all("#made") or page.all("#consent"))
    finally:
        page.server.close()


def test_a_role_that_is_changed_in_one_tab_is_seen_in_the_other_and_can_be_undone(opened):
    bench = opened()
    page = _ready(bench.page).go("roles")
    before = (bench.folder / "release.toml").read_text()
    with second_tab(page):
        page.go("roles").choose("Role of ZIP", "person")
        page.see("#gaps", "Column 'PID' needs a role.")
    page.see("#gaps", "Column 'PID' needs a role.")
    assert 'person = "ZIP"' in (bench.folder / "release.toml").read_text()
    page.go("history").see("#changes", "ZIP: person")
    page.click("Undo the last change")
    page.see("#changes", "Nothing was changed here yet.")
    assert (bench.folder / "release.toml").read_text() == before
