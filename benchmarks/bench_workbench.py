"""The workbench while a million persons are inspected and protected: how long a click takes to show.

    python benchmarks/bench_workbench.py

A browser changes a role in a menu again and again, and notes the time from the change to the page that shows
it. Needs chromium, its driver and selenium.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from bench_first_contact import HOSPITAL
from ledger import note

PERSONS = int(os.environ.get("PERSONS", "1000000"))
CLICKS = 60
CLICK = """
const done = arguments[0], menu = document.querySelector("select[aria-label='Role of LOS']");
const began = performance.now(), view = document.getElementById("view");
const wanted = menu.value === "keep" ? "quasi" : "keep";
new MutationObserver((_, watcher) => {
  if (menu.querySelector("option[selected]")?.value !== wanted) return;
  watcher.disconnect();
  done(performance.now() - began);
}).observe(view, { attributes: true, subtree: true, attributeFilter: ["selected"] });
menu.value = wanted;
menu.dispatchEvent(new Event("change", { bubbles: true }));
"""
ACT = """
const [step, action, values, done] = arguments;
fetch(`/act/${step}/${action}`, { method: "POST", body: JSON.stringify(values) }).then(done);
"""


def browse(folder: Path) -> webdriver.Chrome:
    """Return a browser without a window."""
    options = Options()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def clicks(browser: webdriver.Chrome) -> list[float]:
    """Return the seconds of some clicks, and make sure that the work went on meanwhile."""
    found = [browser.execute_async_script(CLICK) / 1000 for _ in range(CLICKS)]
    assert busy(browser), "the work was over before the clicks were"
    return found


def busy(browser: webdriver.Chrome) -> bool:
    """Return whether a job is at work."""
    text = browser.execute_async_script(
        "const done = arguments[0]; "
        "Promise.all(['risk', 'release', 'data'].map((step) => fetch(`/view/${step}`).then((a) => a.text())))"
        ".then((texts) => done(texts.join()))"
    )
    return "<progress" in text


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        command = [sys.executable, "-m", "sequester"]
        made = ["datasets", "make", "hospital", "--persons", str(PERSONS), "--out", "project/visits.csv"]
        subprocess.run([*command, *made], cwd=folder, check=True)
        (folder / "project" / "release.toml").write_text(HOSPITAL)
        server = subprocess.Popen(
            [*command, "workbench", "project/release.toml", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        browser = browse(folder / "browser")
        try:
            browser.set_script_timeout(600)
            browser.get(address)
            WebDriverWait(browser, 600, 1).until(lambda _: not busy(browser))
            browser.get(address.split("?")[0] + "roles")
            for step, values in (("risk", {}), ("release", {"out": "out"})):
                browser.execute_async_script(ACT, step, "run", values)
                taken = clicks(browser)
                what = f"{PERSONS:,} persons, while they are {'inspected' if step == 'risk' else 'protected'}"
                note(
                    "seconds",
                    f"a click until the page shows it, half of {CLICKS} within; {what}",
                    statistics.median(taken),
                )
                note("seconds", f"the slowest of {CLICKS} clicks; {what}", max(taken), bar=0.2)
        finally:
            browser.quit()
            server.send_signal(signal.SIGINT)
            server.wait()
            server.stdout.close()


if __name__ == "__main__":
    main()
