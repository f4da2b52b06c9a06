"""Attacks that a promise of one kind invites, beside those that every release of persons has to stand.

Which of them there are is decided by the model of the release: a function for a class of models is registered
with `special_attacks`, and gives the risks of all its adversaries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING

from sequester.attacks.world import TARGETS
from sequester.datasets import SEED
from sequester.engine import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from sequester.attacks.remake import Remake, Stream
    from sequester.attacks.risk import Risk
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A release as its recipients have it, the original, and how hard adversaries try."""

    tables: Mapping[str, pl.DataFrame]
    """What was published, by file name without ending."""
    released: EventTable | None
    """The events with their roles; None where the release has records without persons."""
    original: EventTable
    """The table that was protected."""
    method: str = ""
    """The method's name on the command line; adversaries may know how it works."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """The method's parameters, as far as they are known here."""
    histories: Sequences | None = None
    """The released events in the order of the original's persons; None where it is not known who is who."""
    remake: Remake | None = None
    """Does with another table what was done with the original; None where the method is not at hand."""
    stream: Stream | None = None
    """When records came, where they are published in snapshots."""
    known: Sequence[int] = (1, 2, 3)
    """Numbers of items that adversaries know."""
    targets: int = TARGETS
    """Pieces of knowledge that are tried of every kind."""
    seed: str = SEED
    """Decides whatever is drawn."""
    engine: Engine | None = None
    """Runs the counting."""
    progress: Progress = silent
    """Hears how far it is, from 0 to 1."""


@singledispatch
def special_attacks(model: object, case: Case) -> list[Risk]:
    """Let those adversaries try who fit this promise only; none, where no function is registered for it."""
    del model, case
    return []
