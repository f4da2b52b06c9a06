"""Take the pictures of docs/workbench.md; needs chromium and its driver.

python docs/images/workbench_pictures.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from workbench.driver import Page, Server, start_browser  # noqa: E402

HEIGHT = 900


def main() -> None:
    """Go through the workbench with a small hospital."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "hospital"
        folder.mkdir()
        make = ["datasets", "make", "hospital", "--persons", "150", "--out", "visits.csv"]
        subprocess.run([sys.executable, "-m", "sequester", *make], cwd=folder, check=True)
        with Server(folder, "visits.csv") as server:
            browser = start_browser(Path(name) / "browser")
            try:
                take(Page(browser, server))
            finally:
                browser.quit()


def take(page: Page) -> None:
    """Take a picture of four steps."""
    page.see(".numbers")
    page.go("roles").see(".roles")
    keep(page, "roles", 1150)
    page.choose("Role of Disease", "sensitive")
    page.choose("Role of LOS", "drop")
    page.choose("Role of DSFC", "drop")
    page.go("promise").choose("Method", "halt")
    page.go("explore").type("k", "2, 3, 5")
    page.type("p", "1")
    page.click("Try them all")
    page.see("#frontier")
    page.gone("progress")
    page.all("#frontier table a")[0].click()
    page.see("#beside .changed")
    keep(page, "explore", 1650)
    page.go("release").see("#run")
    page.click("Make the release")
    page.see("#made")
    keep(page, "release", 800)
    page.go("check").click("Check")
    page.see("#verdict")
    page.see("#opened")
    keep(page, "check", dark=True)


def keep(page: Page, name: str, height: int = HEIGHT, *, dark: bool = False) -> None:
    """Keep a picture of what is shown."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    page.browser.set_window_size(1280, height)
    page.browser.save_screenshot(str(ROOT / "docs/images" / f"workbench-{name}.png"))


if __name__ == "__main__":
    main()
