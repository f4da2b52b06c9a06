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
from selenium.common.exceptions import (
    NoSuchElementException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from report.browser import MEASURE, find_browser

PATIENCE = 300
"""Seconds until a test gives up; none waits so long where things work."""


CONTROLS = ".skip, #main :is(a, button, summary, select, textarea, input)"
FIND = """
const [selector, name] = arguments;
const said = (element) => {
  if (element.hasAttribute("aria-label")) return element.getAttribute("aria-label");
  if (!element.labels?.length) return element.textContent;
  return [...element.labels].map((label) => {
    const copy = label.cloneNode(true);
    copy.querySelectorAll("input, select, textarea, small").forEach((each) => each.remove());
    return copy.textContent;
  }).join(" ");
};
return [...document.querySelectorAll(selector)].find(
  (each) => said(each).trim() === name && (each.type === "file" || each.checkVisibility()));
"""


def find_programs():
    """The browser and its driver; None where one of them is not installed."""
    browser, driver = find_browser(), shutil.which("chromedriver")
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

        try:
            return WebDriverWait(self.browser, PATIENCE, 0.1).until(look, what)
        except TimeoutException:
            said = " ".join(each.text for each in self.all("#messages, #main"))
            raise AssertionError(f"{what} at {self.browser.current_url}: {said[:3000]}") from None

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

        def click():
            found = self.find(f"{within} button, {within} a, {within} summary", name)
            if found is None:
                return False
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
            is_link = found.tag_name == "a"
            found.click()
            return found if is_link else True

        clicked = self.wait(f"no button or link {name!r}", click)
        if clicked is not True:
            self.left(clicked)

    def find(self, selector, name):
        """The first element that is shown and has a name; asked in the page, which has hundreds."""
        return self.browser.execute_script(FIND, selector, name)

    def left(self, element):
        """Wait until the page of an element is no longer there."""

        def is_gone():
            try:
                element.is_enabled()
            except (StaleElementReferenceException, NoSuchElementException):
                return True
            return False

        self.wait("the page is still there", is_gone)

    def field(self, name):
        """The control with a name."""
        controls = "#main input, #main select, #main textarea"
        return self.wait(f"no control {name!r}", lambda: self.find(controls, name))

    def choose(self, name, value):
        """Choose in a menu, and wait until the page knows it."""
        before = self.version
        Select(self.field(name)).select_by_value(value)
        self.wait("nothing changed", lambda: self.version != before)

    def type(self, name, text):
        field = self.field(name)
        field.clear()
        field.send_keys(text)

    def pick(self, name, value):
        """Choose in the menu of a form."""
        Select(self.field(name)).select_by_value(value)

    def press(self, *keys):
        """Press keys wherever the focus is."""
        ActionChains(self.browser).send_keys(*keys).perform()

    def reach(self, name):
        """Press the tab key until the control with a name has the focus."""
        element = self.wait(f"no control {name!r}", lambda: self.find(CONTROLS, name))
        for _ in range(200):
            if self.browser.switch_to.active_element == element:
                return element
            self.press(Keys.TAB)
        raise AssertionError(f"{name!r} cannot be reached by the keyboard")

    def picture(self, path):
        """Take a picture of the whole page."""
        width = self.browser.get_window_size()["width"]
        height = self.browser.execute_script("return document.documentElement.scrollHeight")
        self.browser.set_window_size(width, min(height, 3000) + 140)
        self.browser.save_screenshot(str(path))

    def tick(self, name):
        field = self.field(name)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", field)
        field.click()

    def drop(self, path, onto):
        """Drag a file or folder of this machine onto an element."""
        zone = self.see(onto)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", zone)
        box = self.browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", zone)
        dragged = {
            "x": box["x"] + box["width"] / 2,
            "y": box["y"] + box["height"] / 2,
            "data": {"items": [], "files": [str(path)], "dragOperationsMask": 1},
        }
        for kind in ("dragEnter", "dragOver", "drop"):
            self.browser.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, **dragged})

    def look(self, *, dark):
        """What does not fit its place, and what is too faint to read."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.browser.execute_script(
            "document.querySelectorAll('details').forEach((each) => (each.open = true))"
        )
        width = "document.documentElement.clientWidth"
        here = f"{{contentDocument: document, contentWindow: window, clientWidth: {width}}}"
        found = self.browser.execute_script(f"{MEASURE}; return look({here})")
        return {"wide": found["wide"], "faint": found["faint"]}

    def nameless(self):
        """The controls that a screen reader has no name for."""
        controls = self.all("input, select, textarea, button, a")
        return [each.get_attribute("outerHTML") for each in controls if not each.accessible_name]

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
        found = [each["message"] for each in self.browser.get_log("browser") if each["level"] == "SEVERE"]
        # Pages of workbenches that ended before may still have asked for something.
        return [each for each in found if self.server.host in each]


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
