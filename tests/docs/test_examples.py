"""What the pages show is what happens: every example of README, tutorial and pages is run."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sequester.cli import main
from sequester.errors import SequesterWarning

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "100",
    "NO_COLOR": "1",
}
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))


def blocks(page):
    """The fenced blocks of a page, with the language they name."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run(command, folder):
    """What a terminal would show, the answer first and the messages after it."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    return shown(done.stdout, done.stderr)


def shown(out, messages):
    """What stands on a page of what a command says."""
    return out + "".join(
        line for line in messages.splitlines(keepends=True) if line.startswith(("error:", "warning:"))
    )


@pytest.fixture
def run_here(monkeypatch, capfd):
    """Run a command in this process, which takes half as long; a shell gets what is more than one command."""
    monkeypatch.setenv("COLUMNS", ENVIRONMENT["COLUMNS"])
    monkeypatch.setenv("NO_COLOR", ENVIRONMENT["NO_COLOR"])

    def run_here(command, folder):
        alone = re.fullmatch(r"sequester ([^|;&<>$`]*)(?:\| head -(?:n )?(\d+))?", command)
        if alone is None:
            return run(command, folder)
        capfd.readouterr()
        main(shlex.split(alone[1]))
        out, messages = capfd.readouterr()
        lines = out.splitlines(keepends=True)
        return shown("".join(lines[: int(alone[2])] if alone[2] else lines), messages)

    return run_here


def shown_commands(block):
    """The commands of a console block, each with the output that is shown below it."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


TUTORIALS = ["docs/tutorial.md", *(page for page in PAGES if page.startswith("docs/tutorials/"))]
IN_A_SHELL = ("docs/tutorials/cluster.md",)
"""Every command in a process of its own, as readers run it; the thorough profile has all tutorials so."""


@pytest.mark.parametrize(
    "page",
    [page if page in IN_A_SHELL else pytest.param(page, marks=pytest.mark.thorough) for page in TUTORIALS],
)
def test_tutorials_from_top_to_bottom(page, tmp_path, monkeypatch):
    follow(page, tmp_path, monkeypatch, run)


@pytest.mark.parametrize("page", [page for page in TUTORIALS if page not in IN_A_SHELL])
def test_tutorials_in_one_process(page, tmp_path, monkeypatch, run_here):
    follow(page, tmp_path, monkeypatch, run_here)


def follow(page, tmp_path, monkeypatch, run):
    """Do what a tutorial says, from top to bottom."""
    if shutil.which("sh") is None:
        pytest.skip("the commands of a tutorial are for a shell")
    monkeypatch.chdir(tmp_path)
    names, checker, n_run = {}, doctest.OutputChecker(), 0
    for language, block in blocks(page):
        if language == "toml":
            name = re.match(r"# (\S+\.toml)\n", block)[1]
            (tmp_path / name).write_text(block, encoding="utf-8")
        elif language == "console":
            for command, expected in shown_commands(block):
                got = run(command, tmp_path)
                assert checker.check_output(expected, got, SAME), f"{command}\n{got}"
                n_run += 1
        elif language == "python":
            n_run += attempt(block, names, page)
    assert n_run > 5


def attempt(block, names, page):
    """Run the examples of a block, and give their number."""
    test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=SAME, verbose=False)
    with warnings.catch_warnings():
        # A reader's session shows warnings and goes on.
        warnings.simplefilter("ignore", SequesterWarning)
        failed, attempted = runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not failed, "".join(report)
    return attempted


@pytest.mark.parametrize("page", [page for page in PAGES if page not in TUTORIALS])
def test_python_sessions_on_pages(page, tmp_path, monkeypatch):
    sessions = [block for language, block in blocks(page) if language == "python" and ">>>" in block]
    monkeypatch.chdir(tmp_path)
    names = {}
    assert sum(attempt(block, names, page) for block in sessions) >= len(sessions)


def test_readme_example(tmp_path):
    (example,) = [block for language, block in blocks("README.md") if language == "python"]
    assert len(example.splitlines()) <= 10
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Verdict(holds=True")
    assert done.stdout.endswith("True\n")
    assert (tmp_path / "out/release/report.html").is_file()
    assert (tmp_path / "out/internal/report.html").is_file()


USERS = {
    "daily_feed": ("published", "LDiversity"),
    "data_scientist": ("promise kept: True", "information_loss = "),
    "data_steward": ("promised: KCPPrivacy", "not promised:"),
    "one_long_log": ("promise kept: True", "generalized away: "),
    "privacy_researcher": ("below_k, 2 known: ", "information_loss"),
    "recipient": ("verified from the files: True", "KCPPrivacy"),
}
"""The script of each kind of user, and what its output must have."""


def test_every_kind_of_user_has_a_short_script():
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.py")}
    assert set(scripts) == set(USERS)
    assert max(len(text.splitlines()) for text in scripts.values()) <= 50


@pytest.mark.parametrize("script", USERS)
def test_scripts_of_users_in_this_process(script, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [f"{script}.py", "made"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        runpy.run_path(str(ROOT / "examples" / f"{script}.py"), run_name="__main__")
    out = capfd.readouterr().out
    for text in USERS[script]:
        assert text in out


@pytest.mark.parametrize(
    "script",
    [each if each == "recipient" else pytest.param(each, marks=pytest.mark.thorough) for each in USERS],
)
def test_scripts_of_users(script, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{script}.py", "made"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for text in USERS[script]:
        assert text in done.stdout


def test_commands_in_readme_exist():
    commands = re.findall(r"^sequester (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"protect", "verify", "methods"} <= set(commands)
    for command in commands:
        shown = [sys.executable, "-m", "sequester", command, "--help"]
        assert subprocess.run(shown, capture_output=True, check=False).returncode == 0, command


def test_targets_in_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert targets == ["demo", "test"]
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
