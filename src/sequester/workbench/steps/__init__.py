"""The steps: each has a title, a page and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.workbench.project import Workbench

Context = Callable[["Workbench", Mapping[str, str]], dict[str, Any]]
"""Workbench and query of the address, to what the template shows."""
Action = Callable[..., "dict[str, Any] | None"]
"""Workbench and the values of a form, to the answer: an address to go to, or a part of the page."""


@dataclass(slots=True, kw_only=True)
class Step:
    """One page of the workbench."""

    title: str
    """Its name in the list of steps."""
    lead: str
    """What it is for, in a sentence."""
    template: str
    """The template of its content."""
    context: Context
    """What the template shows."""
    actions: Mapping[str, Action] = field(default_factory=dict)
    """What can be done on it, by name: jobs can be cancelled and repeated on every page."""
    needs_roles: bool = True
    """It is open only when every column has a role."""

    def __post_init__(self) -> None:
        self.actions = {"cancel": _cancel, "again": _again, **self.actions}


def _cancel(bench: Workbench, *, job: str) -> None:
    bench.project.jobs.cancel(_known(bench, job))


def _again(bench: Workbench, *, job: str) -> None:
    asked = bench.project.jobs.get(_known(bench, job))
    bench.project.jobs.start(asked.task, asked.arguments)


def _known(bench: Workbench, job: str) -> str:
    if job not in {each.id for each in bench.project.jobs.all()}:
        msg = "there is no such job"
        raise InputError(msg)
    return job


def decided(bench: Workbench) -> str:
    """Return the name of the configuration; refuse to begin before every column has a role."""
    gaps = list(bench.project.gaps())
    if gaps:
        raise InputError(*gaps)
    return bench.project.config.name
