"""A log as plain sequences: SPMF text, or the UCI format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.ordering import first_events
from sequester.data.text import as_text
from sequester.errors import InputError
from sequester.hierarchies.labels import counted, quoted
from sequester.io.seq import write_seq
from sequester.io.spmf import write_spmf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester._typing import Counts, Mask
    from sequester.workflow.conversion.event_log import EventLog


def to_spmf(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log as SPMF text; events of a person at one time are an itemset."""
    steps = _Steps.of(log)
    contents = write_spmf(steps.symbols, steps.starts, steps.starts | ~steps.ties)
    lost = list(_left_out(log, steps, steps.places(tied=True)))
    if log.roles.time and steps.ties.any():
        n_tied = counted(int(steps.ties.sum()), "event is", "events are")
        lost.append(f"{n_tied} in the itemset of the event before, which has the same time")
    return contents, lost


def to_seq(log: EventLog) -> tuple[bytes, list[str]]:
    """Write a log in the UCI format; events of a person at one time come one after the other."""
    steps = _Steps.of(log)
    contents = write_seq(steps.symbols, steps.starts)
    lost = list(_left_out(log, steps, steps.places(tied=False)))
    if steps.ties.any():
        n_tied = counted(int(steps.ties.sum()), "event comes", "events come")
        lost.append(f"{n_tied} after another that is at the same time: the format has no itemsets")
    return contents, lost


@dataclass(frozen=True, slots=True)
class _Steps:
    """The events that have a symbol."""

    symbols: pl.Series
    starts: Mask
    """Rows at which a person begins."""
    ties: Mask
    """Rows that are at one time with the row before them."""
    rows: Counts
    """Their rows in the log."""

    @classmethod
    def of(cls, log: EventLog) -> _Steps:
        rows = np.flatnonzero(log.symbols.is_not_null().to_numpy())
        if not len(rows):
            msg = f"column {quoted(str(log.roles.symbol))}: no event has a symbol"
            raise InputError(msg)
        is_first = first_events(log.offsets)
        # Where rows between them are gone, events are still at one time.
        person, time = np.cumsum(is_first)[rows], np.cumsum(~log.ties)[rows]
        starts = np.append(True, person[1:] != person[:-1])
        return cls(log.symbols.gather(rows), starts, np.append(False, time[1:] == time[:-1]), rows)

    def places(self, *, tied: bool) -> Counts:
        """Number the events of each person from 1, or their times where ties are one."""
        steps = np.cumsum(~self.ties if tied else np.ones_like(self.ties), dtype=np.int64)
        firsts = np.flatnonzero(self.starts)
        lengths = np.diff(np.append(firsts, len(steps)))
        before: Counts = np.repeat(steps[firsts] - 1, lengths)
        return steps - before


def _left_out(log: EventLog, steps: _Steps, places: Counts) -> Iterator[str]:
    """Say what a file of sequences has no place for."""
    n_missing = len(log.symbols) - len(steps.rows)
    if n_missing:
        yield f"{counted(n_missing, 'event has', 'events have')} no symbol and cannot be written"
    n_persons = int(steps.starts.sum())
    if n_persons < len(log.persons):
        n_lost = counted(len(log.persons) - n_persons, "person has", "persons have")
        yield f"{n_lost} no event with a symbol and cannot be written"
    if log.persons.to_list() != [str(number) for number in range(1, len(log.persons) + 1)]:
        yield "names of persons are left out: persons are lines, in the order in which they first appear"
    kept = {log.roles.person, log.roles.symbol}
    if log.roles.order is not None:
        order = as_text(log.frame[log.roles.order]).gather(steps.rows)
        if order.equals(pl.Series(order.name, places).cast(pl.String)):
            kept.add(log.roles.order)
    others = [column for column in log.frame.columns if column not in kept]
    if others:
        yield f"columns are left out, only the order of events stays: {', '.join(map(quoted, others))}"
    if log.is_moved:
        yield "rows stand in another order: by person, and each person's in time"
