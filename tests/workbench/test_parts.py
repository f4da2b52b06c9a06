"""Roles in a configuration, and the commands that are shown."""

from __future__ import annotations

import re

import pytest

from sequester.cli import main
from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workbench.jobs import _COMMANDS, argv
from sequester.workbench.project import ROLES, Project, Workbench, role_of, with_role, without_role
from sequester.workbench.steps.data import KINDS
from sequester.workbench.steps.release import PROMISE
from sequester.workbench.tasks import TASKS

DATA = {
    "path": "visits.csv",
    "person": "PID",
    "time": ["day", "hour"],
    "time_format": "%Y%m%d %H",
    "drop": ["name"],
    "quasi": {"ZIP": {"hierarchy": {"kind": "mask", "levels": [3]}}, "age": {"hierarchy": {"kind": "flat"}}},
    "sensitive": {"diag": {"columns": ["diag_1", "diag_2"], "protect": "all"}},
}


@pytest.mark.parametrize("column", ["PID", "day", "name", "ZIP", "diag_1", "new"])
@pytest.mark.parametrize("role", [role for role in ROLES if role != "place"])
def test_a_column_has_the_role_that_it_was_given_and_no_other(column, role):
    changed = with_role(DATA, column, role)
    assert role_of(changed, column) == role
    assert str(changed).count(f"'{column}'") == (2 if role == "both" else 1)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "place"])
def test_other_columns_keep_their_role_unless_there_can_be_one_only(role):
    changed = with_role(DATA, "age", role)
    lost = {"person": {"PID"}, "time": {"day", "hour"}, "order": {"day", "hour"}}.get(role, set())
    for column in ("PID", "day", "hour", "name", "ZIP", "diag_1", "diag_2"):
        assert role_of(changed, column) == ("" if column in lost else role_of(DATA, column))
    assert changed["quasi"]["ZIP"] == DATA["quasi"]["ZIP"]


def test_a_quasi_identifier_keeps_its_hierarchy_and_a_new_one_takes_what_is_proposed():
    assert with_role(DATA, "ZIP", "both")["quasi"]["ZIP"] == DATA["quasi"]["ZIP"]
    proposed = {"kind": "intervals", "width": [5]}
    assert with_role(DATA, "los", "quasi", hierarchy=proposed)["quasi"]["los"] == {"hierarchy": proposed}
    assert with_role(DATA, "when", "time", time_format="%d.%m.%Y")["time_format"] == "%d.%m.%Y"
    assert "time_format" not in with_role(DATA, "when", "time")


@pytest.mark.parametrize("task", _COMMANDS)
def test_every_command_that_is_shown_has_the_options_that_it_shows(task, capsys):
    command, _, options = _COMMANDS[task]
    main([*command.split(), "--help"])
    offered = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    given = dict.fromkeys(("data", "config", "attribute", "release", *options), "x")
    words = argv(task, given)
    assert words[: 1 + len(command.split())] == ["sequester", *command.split()]
    assert {word for word in words if word.startswith("--")} <= offered
    assert len(words) > 2


def test_every_task_has_a_command_but_those_that_only_show_something():
    assert set(TASKS) - set(_COMMANDS) == {"look", "changes"}
    assert argv("look", {}) == []
    assert argv("verify", {"release": "-x"}) == ["sequester", "verify", "./-x"]
    assert set(KINDS) == {"flat", "mask", "intervals", "quantiles", "dates", "tree", "file"}


def test_every_method_can_be_chosen_and_says_what_it_promises(tmp_path):
    (tmp_path / "release.toml").write_text('[data]\npath = "nowhere.csv"\nperson = "a"\n')
    bench = Workbench(str(tmp_path / "release.toml"))
    bench.project.jobs.close()
    for name in METHODS:
        PROMISE.actions["method"](bench, value=name)
        shown = PROMISE.context(bench, {})
        assert shown["method"] is METHODS[name]
        assert shown["promise"] or shown["wrong"]
        assert {"name", *(each["name"] for each in shown["fields"])} >= set(bench.project.document["method"])
    assert shown["promise"]
    PROMISE.actions["set"](bench, l="4", window="3", then="none")
    assert bench.project.document["method"] == {"name": name, "l": 4, "window": 3, "then": "none"}
    with pytest.raises(InputError, match=r"method.l must be"):
        PROMISE.actions["set"](bench, l="0")


def test_attributes_of_persons_in_the_events_have_their_role_and_can_lose_it(tmp_path):
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "a.csv"\nperson = "a"\n[data.persons.quasi.sex]\nhierarchy.kind = "flat"\n'
    )
    project = Project(tmp_path / "release.toml")
    assert role_of(project.document["data"]["persons"], "sex") == "quasi"
    assert without_role(project.document["data"]["persons"], "sex") == {}
