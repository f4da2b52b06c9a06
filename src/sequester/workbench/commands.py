"""The commands that would repeat a job in a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.jobs import Job

_OPTIONS = {
    "init": ("out", "query", "table", "persons", "format", "delimiter", "encoding", "force"),
    "inspect": ("out",),
    "hierarchy show": (),
    "hierarchy lint": (),
    "hierarchy build": ("out",),
    "advise": ("recipient", "known", "keep", "release"),
    "compare": ("methods", "set", "out", "seed", "write_releases"),
    "protect": ("out",),
    "verify": ("original",),
}
"""Command to its options, in the order in which they are written."""
_COMMANDS = {
    "draft": ("init", ("data",)),
    "inspect": ("inspect", ("config",)),
    "hierarchy": ("hierarchy show", ("config", "attribute")),
    "lint": ("hierarchy lint", ("config",)),
    "build": ("hierarchy build", ("config", "attribute")),
    "advise": ("advise", ("config",)),
    "compare": ("compare", ("config",)),
    "protect": ("protect", ("config",)),
    "verify": ("verify", ("release",)),
}
"""Task to its command and what comes first."""
_ALWAYS: Mapping[str, dict[str, Any]] = {"draft": {"force": True}, "inspect": {"out": "inspect.html"}}
"""Task to options that its command has in any case."""


def argv(task: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the words of the command that does the same as a task; none where there is no such command.

    Examples
    --------
    >>> argv("protect", {"config": "release.toml", "out": "out"})
    ['sequester', 'protect', 'release.toml', '--out', 'out']
    >>> argv("compare", {"config": "a.toml", "set": ["k=2,5"], "write_releases": True})
    ['sequester', 'compare', 'a.toml', '--set', 'k=2,5', '--write-releases']
    """
    if task not in _COMMANDS:
        return []
    command, places = _COMMANDS[task]
    given = dict(arguments) | _ALWAYS.get(task, {})
    words = ["sequester", *command.split(), *(_path(str(given[name])) for name in places)]
    for name in _OPTIONS[command]:
        option, value = f"--{name.replace('_', '-')}", given.get(name)
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [word for each in value for word in (option, str(each))]
        elif value not in (None, False):
            words += [option, str(value)]
    return words


def commands(job: Job) -> list[str]:
    """Return the commands that repeat a job, as they are typed in the folder of the project."""
    found = [argv(job.task, job.arguments)]
    if job.task == "hierarchy":
        found.append(argv("lint", job.arguments))
    if job.task == "look" and job.arguments.get("column"):
        # Recipients count in Python.
        asked = "sq.open({release!r}).expected_count({{{column!r}: {value!r}}}, persons={persons!r})"
        counted = asked.format(**job.arguments)
        found.append(["python", "-c", f"import sequester as sq; print({counted})"])
    return [shlex.join(words) for words in found if words]


def _path(name: str) -> str:
    """Return a name that no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name
