"""The page about the command line names what there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sequester.cli import exits

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
COMMANDS = (
    "demo",
    "init",
    "inspect",
    "methods",
    "advise",
    "protect",
    "verify",
    "stream",
    "reproduce",
    "attack",
    "compare",
    "convert",
    "hierarchy lint",
    "hierarchy show",
    "hierarchy build",
    "datasets make",
    "schema",
)
COMMON = {"--json", "--quiet", "--help"}


def section(command):
    return re.search(rf"^### [^\n]*`{command}.*?(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_options_on_the_page_are_those_of_the_command(run, command):
    offered = set(re.findall(r"--[a-z][a-z-]*", run(*command.split(), "--help").out)) - COMMON
    named = set(re.findall(r"--[a-z][a-z-]*", section(command).split("\n", 1)[0]))
    assert named == offered


def test_options_of_all_commands(run):
    for command in COMMANDS:
        assert set(re.findall(r"--[a-z]+", run(*command.split(), "--help").out)) >= COMMON


def test_no_section_without_a_command(run):
    named = re.findall(r"^### `([a-z]+(?: [a-z]+)?)", PAGE, re.MULTILINE)
    assert set(named) == {*COMMANDS} - {"datasets make"} | {"datasets"}


def test_exit_codes():
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert codes == {exits.DONE, exits.UNMET, exits.WRONG, exits.OURS, exits.INTERRUPTED}
