"""The command that would repeat a job in a terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.jobs import Job

_OPTIONS = {
    "init": ("out", "query", "table", "persons", "format", "delimiter", "encoding", "force"),
    "inspect": (),
    "hierarchy show": (),
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
    "build": ("hierarchy build", ("config", "attribute")),
    "advise": ("advise", ("config",)),
    "compare": ("compare", ("config",)),
    "protect": ("protect", ("config",)),
    "verify": ("verify", ("release",)),
}
"""Task to its command and what comes first."""


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
    given = dict(arguments) | ({"force": True} if task == "draft" else {})
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


def command(job: Job) -> str:
    """Return the command that repeats a job, as it is typed in the folder of the project."""
    return shlex.join(argv(job.task, job.arguments))


def _path(name: str) -> str:
    """Return a name that no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name
