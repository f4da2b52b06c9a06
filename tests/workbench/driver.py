"""Page objects: a workbench that runs as users run it, and a browser that looks at it."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 240
"""Seconds until a test gives up; none waits so long where things work."""


def find_programs():
    """The browser and its driver; None where one of them is not installed."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def start_browser(folder, *, dark=False, width=1280):
    """A Chromium without a window, which notes every request that it makes."""
    browser, driver = find_programs()
    options = Options()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={folder}",
        f"--window-size={width},1000",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Server:
    """A workbench in a process of its own, started by its command."""

    def __init__(self, folder, *arguments):
        command = [sys.executable, "-m", "sequester", "workbench", *arguments, "--no-browser"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        self.folder = folder
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.host, self.token = parts.netloc, parts.query.removeprefix("token=")

    def interrupt(self):
        """Ctrl-C; gives the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def close(self):
        if self.process.poll() is None:
            self.interrupt()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


class Page:
    """One tab of the workbench."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server
        browser.get(server.address)

    def go(self, step, query=""):
        self.browser.get(f"http://{self.server.host}/{step}{query}")
        return self

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, what, until):
        """Wait until something is true; what is looked at may be replaced meanwhile."""

        def look(_):
            try:
                return until()
            except StaleElementReferenceException:
                return False

        return WebDriverWait(self.browser, PATIENCE, 0.1).until(look, what)

    def see(self, selector, text=""):
        """Wait for an element that is shown and has a text."""

        def find():
            found = [each for each in self.all(selector) if each.is_displayed() and text in each.text]
            return found[0] if found else None

        return self.wait(f"no {selector} with {text!r}", find)

    def gone(self, selector):
        self.wait(f"{selector} is still there", lambda: not self.all(selector))

    def text(self, selector="#main"):
        return self.see(selector).text

    def click(self, name, within="#main"):
        """Click the button or link with a name."""

        def find():
            found = [
                each
                for each in self.all(f"{within} button, {within} a, {within} summary")
                if each.is_displayed() and name in (each.accessible_name, each.text.strip())
            ]
            return found[0] if found else None

        def click():
            found = find()
            if found is None:
                return False
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
            found.click()
            return True

        self.wait(f"no button or link {name!r}", click)

    def field(self, name):
        """The control with an accessible name."""

        def find():
            controls = self.all("#main input, #main select, #main textarea")
            return next((each for each in controls if each.accessible_name == name), None)

        return self.wait(f"no control {name!r}", find)

    def choose(self, name, value):
        """Choose in a menu, and wait until the page knows it."""
        before = self.version
        Select(self.field(name)).select_by_value(value)
        self.wait("nothing changed", lambda: self.version != before)

    def type(self, name, text):
        field = self.field(name)
        field.clear()
        field.send_keys(text)

    def tick(self, name):
        field = self.field(name)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", field)
        field.click()

    @property
    def version(self):
        return self.browser.execute_script("return document.getElementById('view').dataset.version")

    @property
    def command(self):
        """The command that the step shows."""
        element = self.wait("no command", lambda: next(iter(self.all(".repeat .command")), None))
        return element.get_attribute("textContent")

    def requests(self):
        """The addresses that were asked for since the last call, wherever they lead."""
        found = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def complaints(self):
        """What the browser says is wrong with the page."""
        return [each["message"] for each in self.browser.get_log("browser") if each["level"] == "SEVERE"]


@contextlib.contextmanager
def second_tab(page):
    """Another tab of the same workbench; the first one has the focus again afterwards."""
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    try:
        yield page
    finally:
        page.browser.close()
        page.browser.switch_to.window(first)
