"""The commands that steps show give what the page shows, to the byte."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest

from sequester.cli import main
from sequester.datasets import hospital
from sequester.release.purpose import QUESTIONS
from sequester.workbench.project import Workbench
from sequester.workbench.server import STEPS
from workbench.conftest import TOML

# The jobs of the workbench, which are processes of their own, leave nothing out either.
pytestmark = pytest.mark.full_work


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A workbench of which every step has done its work."""
    folder = tmp_path_factory.mktemp("project")
    hospital.make(persons=40, seed="workbench").write_csv(folder / "visits.csv")
    (folder / "release.toml").write_text(TOML)
    found = Workbench(str(folder / "release.toml"))

    def act(step, action, **values):
        STEPS[step].actions[action](found, **values)
        for process in list(found.project.jobs._running.values()):
            process.wait()
        found.settle()

    act("history", "again", job=found.project.jobs.last("draft").id)
    act("risk", "run")
    act("hierarchies", "show", key="ZIP")
    act("hierarchies", "export", key="ZIP", out="hierarchies/ZIP.csv")
    answers = {each.name: next(iter(each.answers)) for each in QUESTIONS}
    act("promise", "answer", **answers)
    act("release", "run", out="out")
    act("check", "verify", release="out", compare=True)
    act("check", "count", column="Disease", value="Flu")
    yield found
    found.project.jobs.close()


@pytest.fixture
def repeated(bench, tmp_path, monkeypatch, capfd):
    """Run the commands of the last job of a task in a folder with nothing but data and configuration."""
    for name in ("visits.csv", "release.toml"):
        shutil.copy(bench.project.folder / name, tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(task, *more):
        job = bench.project.jobs.last(task)
        assert job.state == "done", job.lines
        answers = []
        for line in job.commands:
            _, *words = shlex.split(line)
            capfd.readouterr()
            if words[0] == "-c":
                exec(words[1], {})
            else:
                assert main([*words, *more]) == 0
            answers.append(capfd.readouterr().out)
        return job, answers

    return run


def test_inspect_writes_the_page_that_is_shown(repeated, tmp_path):
    job, _ = repeated("inspect")
    assert (tmp_path / "inspect.html").read_bytes() == (job.folder / "inspect.html").read_bytes()


def test_hierarchy_shows_and_lints_the_tree_that_is_shown(repeated):
    job, (shown, linted) = repeated("hierarchy", "--json")

    def nodes(tree):
        return [
            (tree["label"], tree["events"], tree["persons"]),
            *(node for each in tree["below"] for node in nodes(each)),
        ]

    found = [(each["node"], each["events"], each["persons"]) for each in json.loads(shown)["nodes"]]
    assert sorted(found) == sorted(nodes(job.result["tree"]))
    (checked,) = (each for each in json.loads(linted)["hierarchies"] if each["attribute"] == "ZIP")
    assert len(checked["findings"]) == len(job.result["findings"])


def test_hierarchy_build_writes_the_same_file(bench, repeated, tmp_path):
    repeated("build")
    written = "hierarchies/ZIP.csv"
    assert (tmp_path / written).read_bytes() == (bench.project.folder / written).read_bytes()


def test_advise_recommends_the_same(repeated):
    job, (answer,) = repeated("advise", "--json")
    assert json.loads(answer) == job.result


def test_protect_verify_and_counting_give_the_same(bench, repeated, tmp_path):
    repeated("protect")
    for path in (bench.project.folder / "out/release").rglob("*"):
        if path.is_file():
            mine = tmp_path / path.relative_to(bench.project.folder)
            assert mine.read_bytes() == path.read_bytes()
    job, (answer,) = repeated("verify", "--json")
    assert json.loads(answer) == job.result
    job, (answer,) = repeated("look")
    assert float(answer) == job.result["expected"]
