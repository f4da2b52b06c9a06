"""The pages build without network, point nowhere outside for what they need, and cover every method."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import sequester
from sequester._version import __version__
from sequester.cli import main
from sequester.methods import METHODS
from sequester.privacy import MODELS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPERS = {
    "Bonomi": (2016, 3),
    "Sehatkar": (2014, 1),
    "Gwadera": (2013, 3),
    "Wang": (2010, 4),
    "Pensa": (2008, 4),
}
"""First author to year and number of authors."""
COMMANDS = {
    "advise": ["advise"],
    "attack": ["attack"],
    "compare": ["compare"],
    "convert": ["convert"],
    "datasets": ["datasets make"],
    "demo": ["demo"],
    "hierarchy": ["hierarchy lint", "hierarchy show", "hierarchy build"],
    "init": ["init"],
    "inspect": ["inspect"],
    "methods": ["methods"],
    "protect": ["protect"],
    "reproduce": ["reproduce"],
    "schema": ["schema"],
    "stream": ["stream"],
    "verify": ["verify"],
    "warmup": ["warmup"],
    "workbench": ["workbench"],
}
"""Page to the commands on it."""
COMMON = {"--json", "--quiet", "--help"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # The builder writes beside its configuration, so it gets a copy.
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "src").symlink_to(ROOT / "src")
    # A proxy that nobody answers at: whatever asks the network fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        env=os.environ | nowhere,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def test_the_site_has_every_page(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path.relative_to(site) for path in site.rglob("*.html")} >= pages
    assert Path("tutorial.html") in pages


def test_the_site_loads_nothing_from_elsewhere(site):
    outside = re.compile(
        r"""<(?:link|script|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//|url\(["']?(?:https?:)?//|@import""",
        re.IGNORECASE,
    )
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        assert not outside.search(path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_has_its_options(name, capsys):
    text = (ROOT / f"docs/commands/{name}.md").read_text(encoding="utf-8")
    (usage,) = re.findall(rf"^```text\n(sequester {name}\b.*?)^```$", text, re.DOTALL | re.MULTILINE)[:1]
    for command in COMMANDS[name]:
        (line,) = re.findall(rf"^sequester {command}\b.*?(?=^sequester |\Z)", usage, re.DOTALL | re.MULTILINE)
        main([*command.split(), "--help"])
        offered = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        assert offered >= COMMON
        assert set(re.findall(r"--[a-z][a-z-]*", line)) == offered - COMMON
        assert all(f"`{option}" in text for option in offered - COMMON)


def test_the_overview_has_every_command(capsys):
    assert {path.stem for path in (ROOT / "docs/commands").glob("*.md")} == set(COMMANDS)
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[`(\w+)`\]\(commands/\1\.md\) \|", text, re.MULTILINE)) == set(COMMANDS)
    main(["--help"])
    assert set(COMMANDS) <= set(re.findall(r"^ +(\w+)  ", capsys.readouterr().out, re.MULTILINE))
    assert re.findall(r"^\| (\d+) \|", text, re.MULTILINE) == ["0", "1", "2", "3", "130"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page_and_a_row(name):
    (row,) = re.findall(
        rf"^\| \[`{re.escape(name)}`\]\((docs/methods/[\w-]+\.md)\) \|(.*)\|$", README, re.MULTILINE
    )
    page, cells = row
    assert Path(page).stem == name
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"`{name}`" in text
    assert f"`sq.{METHODS[name].__name__}`" in text
    for heading in ("Promise", "Not promised", "What changes", "When to use it"):
        assert f"\n## {heading}\n" in text
    assert all(cell.strip() for cell in cells.split("|"))
    assert Path(page).relative_to("docs").as_posix() in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["index", "choosing-a-method", "explanation", "measures"])
def test_pages_that_list_methods_have_every_method(page):
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    rows = "\n".join(re.findall(r"^\|.*\|$", text, re.MULTILINE))
    assert set(METHODS) <= set(re.findall(r"`([\w-]+)`", rows))


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if hasattr(model, "bound")])
def test_every_bound_of_a_promise_is_described(name):
    text = (ROOT / "docs/attacks.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{name}`.* \|.+\|$", text, re.MULTILINE)


def test_readme_has_no_row_for_what_is_not_built():
    assert set(re.findall(r"^\| \[`([\w-]+)`\]", README, re.MULTILINE)) == set(METHODS)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_first_pages_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_paths_in_contributing_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [each for each in re.findall(r"`((?:src|tests|docs|benchmarks)/[^`]*)`", text) if "<" not in each]
    assert len(named) > 5
    for each in named:
        assert (ROOT / each).exists(), each


def test_the_picture_is_small():
    assert 10_000 < (ROOT / "docs/images/report.png").stat().st_size < 300_000


def test_citation_names_the_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == "sequester"
    assert citation["license"] == "Apache-2.0"
    assert citation["message"]
    assert citation["authors"]
    found = {each["authors"][0]["family-names"]: each for each in citation["references"]}
    assert {name: (each["year"], len(each["authors"])) for name, each in found.items()} == PAPERS
    assert len(citation["references"]) == len(PAPERS)
    assert all(each["title"] and each["type"] for each in citation["references"])


def test_the_change_log_knows_this_version():
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for words in (
        "Apache License",
        "Version 2.0, January 2004",
        "END OF TERMS AND CONDITIONS",
        "9. Accepting",
    ):
        assert words in text


def test_the_reference_has_every_public_name():
    named = set(re.findall(r"^::: sequester\.(\w+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE))
    assert named == set(sequester.__all__) - {"__version__"}


def test_the_architecture_has_the_layers_in_their_order():
    """Optional layers, in parentheses, are on the page once they exist."""
    (contract,) = [
        each
        for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if each["type"] == "layers"
    ]
    layers = [[name.strip("() ") for name in layer.split("|")] for layer in contract["layers"]]
    source = ROOT / "src/sequester"
    exists = {path.stem for path in source.iterdir()}
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("<!-- measured: begin -->")[0]
    rows = re.findall(r"^\| [a-z ]*\| ((?:`\w+`(?:, )?)+) \|", page.split("## The flow")[0], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    place = {name: index for index, layer in enumerate(layers) for name in layer if name in exists}
    assert set(named) == set(place)
    assert [place[name] for name in named] == sorted(place.values())
