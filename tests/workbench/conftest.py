"""One browser for all tests here, and small projects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from sequester.datasets import hospital
from workbench.driver import Page, Server, find_programs, start_browser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome

TOML = """
[data]
path = "visits.csv"
person = "PID"
order = "VID"
drop = ["DSFC", "LOS"]

[data.quasi.AdmYr]
hierarchy = { kind = "flat" }

[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }

[data.sensitive.Disease]
protect = ["HIV"]

[method]
name = "halt"
k = 2
c = 0.5
p = 1
"""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser for all tests; they are skipped where there is none."""
    if find_programs() is None:
        pytest.skip("no browser with its driver is installed: apt install chromium chromium-driver")
    found = start_browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.quit()


@dataclass
class Opened:
    """A workbench and a tab of it."""

    server: Server
    page: Page
    folder: Path


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A folder with a small table."""
    hospital.make(persons=40, seed="workbench").write_csv(tmp_path / "visits.csv")
    return tmp_path


@pytest.fixture
def opened(visits: Path, browser: Chrome) -> Iterator[Callable[..., Opened]]:
    """Start the workbench in the folder, on a configuration unless told otherwise, and look at it."""
    servers = []

    def start(source: str = "release.toml", toml: str = TOML) -> Opened:
        if source.endswith(".toml"):
            (visits / source).write_text(toml)
        servers.append(Server(visits, source))
        return Opened(servers[-1], Page(browser, servers[-1]), visits)

    yield start
    for server in servers:
        server.close()
