"""What attacks on one kind of promise are told: the release, the original, and how hard adversaries try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sequester.attacks.context import TARGETS
from sequester.datasets import SEED
from sequester.engine import silent
from sequester.errors import ignore_warning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from sequester._typing import Counts
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn


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
    replay: Replay | None = None
    """Does with another table what was done with the original; None where the method is not at hand."""
    stream: Stream | None = None
    """When records came, where they are published in snapshots."""
    known: Sequence[int] = (1, 2, 3)
    """Numbers of items that adversaries know."""
    targets: int = TARGETS
    """Targets that are tried of every kind of knowledge."""
    seed: str = SEED
    """Decides whatever is drawn."""
    engine: Engine | None = None
    """Runs the counting."""
    progress: Progress = silent
    """Called with how far it is, from 0 to 1."""
    warn: Warn = ignore_warning
    """Called with what could not be tried."""


class Replayed(Protocol):
    """What a method makes of a table, before persons are shuffled."""

    @property
    def sequences(self) -> Sequences:
        """Events of each person of the table, in the table's order; who is not released has none."""
        ...

    @property
    def changes(self) -> pl.DataFrame:
        """Every changed cell, event or record, keyed by input row."""
        ...


Replay = Callable[["EventTable"], Replayed]
"""Apply the method to another table as to the original; raises `SequesterError` where that cannot be."""


@dataclass(frozen=True, slots=True)
class Stream:
    """When the records of an original came, and how much later they may be published."""

    homes: Counts
    """The number of the snapshot that each event came with."""
    labels: tuple[str, ...]
    """What each snapshot is called."""
    reach: int
    """Snapshots in which a record may be published, the one it came with included."""


def permute(sequences: Sequences, rng: np.random.Generator, *, within_persons: bool = False) -> Sequences:
    """Permute all symbols, among all events or among those of each person.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> permuted = permute(Sequences.from_rows(["aab", "cc"]), np.random.default_rng(5), within_persons=True)
    >>> [sorted(row) for row in permuted.to_rows()]
    [['a', 'a', 'b'], ['c', 'c']]
    """
    chance = rng.random(sequences.n_events)
    if within_persons:
        owner = np.repeat(np.arange(sequences.n_persons), np.diff(sequences.person_offsets))
        order = np.lexsort((chance, owner))
    else:
        order = np.argsort(chance)
    columns = {name: codes[order] for name, codes in sequences.columns.items()}
    # What was folded before is not what is folded now, and `replace` starts anew.
    return replace(sequences, columns=columns)
