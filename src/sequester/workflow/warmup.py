"""Compile the kernels of methods ahead of their first use, for images and clusters."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.datasets import activities, clicks, hospital
from sequester.engine import LocalEngine
from sequester.errors import InputError, InternalError, ParameterError, ignore_warning
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.kernels import compile_times
from sequester.methods import METHODS
from sequester.privacy.model import RecordModel
from sequester.workflow.attack import attack
from sequester.workflow.inspect import inspect
from sequester.workflow.write import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester.methods.method import Method
    from sequester.release.release import Release

_SEED = "a seed that is long enough"
_K = 5
_TARGETS = 50


@dataclass(slots=True)
class Warmed:
    """What was compiled for one command of a method."""

    method: str
    """The method; empty where the command needs none."""
    command: str
    """``protect``, ``verify``, ``attack`` or ``inspect``."""
    kernels: dict[str, float] = field(default_factory=dict)
    """Each kernel that was compiled, and the seconds that it took."""


def warm_up(names: Sequence[str] = ()) -> Iterator[Warmed]:
    """Compile what the methods `names` need, or all methods and `inspect`; yield each command in turn.

    Raises
    ------
    ParameterError
        If there is no such method.
    """
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        lines = (f"there is no method {name!r}; methods are {', '.join(METHODS)}" for name in unknown)
        raise ParameterError(*lines)
    tables = _tables()
    for name in names or METHODS:
        with _compiling(name, "protect") as warmed:
            # A method that is asked whether it is for a table may compile, too.
            method, table = _example(name, tables)
            release = method.apply(table, seed=_SEED, engine=LocalEngine(threads=1), warn=ignore_warning)
        yield warmed
        with _compiling(name, "verify") as warmed, tempfile.TemporaryDirectory() as folder:
            write(release, folder, original=table, report=_NoPages(), warn=ignore_warning)
        yield warmed
        with _compiling(name, "attack") as warmed:
            # Adversaries who run the method again take most of the time, and compile nothing by that. Those
            # on records do not, and need its stream.
            if not isinstance(release.model, RecordModel):
                release = replace(release, method="")
            attack(release, original=table, targets=_TARGETS, seed=_SEED)
        yield warmed
    if not names:
        yield from inspect_examples()


def inspect_examples() -> Iterator[Warmed]:
    """Compile what `inspect` needs, for histories and for symbols."""
    for table in _tables()[:2]:
        with _compiling("", "inspect") as warmed:
            inspect(table, seed=_SEED)
        yield warmed


@contextmanager
def _compiling(method: str, command: str) -> Iterator[Warmed]:
    warmed, before = Warmed(method, command), compile_times.measured()
    yield warmed
    for name, seconds in compile_times.measured().items():
        if seconds > before.get(name, 0.0):
            warmed.kernels[name] = seconds - before.get(name, 0.0)


class _NoPages:
    """Draws nothing: plots take longer than what is compiled."""

    def external_page(self, release: Release) -> str:
        del release
        return ""

    def internal_page(self, release: Release, **more: Any) -> str:
        del release, more
        return ""

    internal_document = internal_page


def _tables() -> list[EventTable]:
    """Make small tables, one of each kind that methods are for."""
    stays = Schema(
        person="PID",
        order="VID",
        quasi={
            "AdmYr": Hierarchy.flat(),
            "ZIP": Hierarchy.mask([3, 1]),
            "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
            "LOS": Hierarchy.intervals([7, 28], origin=0),
        },
        sensitive={"Disease": list(hospital.PROTECTED)},
    )
    logged = Schema(person="user", time="at", symbol=Symbol("activity", hierarchy=activities.taxonomy()))
    return [
        EventTable(hospital.make(persons=300), stays),
        EventTable(clicks.make(persons=300), Schema(person="user", time="at", symbol="page")),
        EventTable(activities.make(persons=5), logged),
    ]


def _example(name: str, tables: Sequence[EventTable]) -> tuple[Method, EventTable]:
    """Return a method with parameters, and the first table that it is for."""
    for table in tables:
        try:
            parameters = METHODS[name].suggest(table, k=_K)
            if table.symbol and {"patterns", "min_support"} <= parameters.keys():
                parameters["patterns"] = _patterns(table, table.symbol)
            method = METHODS[name](**parameters)
            method.accept(table)
        except (InputError, TypeError):
            continue
        return method, table
    msg = f"there is no table to try {name} on"
    raise InternalError(msg)


def _patterns(table: EventTable, symbol: str) -> list[list[str]]:
    """Return patterns of frequent symbols, so many that hiding them takes every way there is."""
    labels = table.sequences.codebooks[symbol].labels
    often = np.argsort(-np.bincount(table.sequences.columns[symbol], minlength=len(labels)), kind="stable")
    a, b, c, d, e = (labels[code] for code in often[:5].tolist())
    return [[a, b], [c, a, b], [b, d], [a, a], [e, c]]
