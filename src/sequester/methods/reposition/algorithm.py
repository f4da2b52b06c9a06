"""From a table to the outcome of a method: records go through the window, snapshot by snapshot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.ordering import order_keys
from sequester.data.sequences import Sequences
from sequester.data.text import as_text
from sequester.errors import UnattainableError
from sequester.hierarchies.labels import MISSING, counted
from sequester.methods.reposition.publish import (
    LEFT_OUT,
    MOVED,
    Records,
    distance_plot,
    expired_plot,
    measure_queries,
    publish,
    scores,
)
from sequester.ragged import offsets_of, owners_of
from sequester.release.outcome import Outcome

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.reposition.method import SnapshotMethod
    from sequester.release.randomness import Randomness

SUPPRESSED = -1
"""The slot of a record that is not published."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events in the order of their snapshots."""

    events: Counts
    """The events of the table, snapshot after snapshot."""
    offsets: Offsets
    """Snapshot ``i`` has the events ``offsets[i]`` to ``offsets[i + 1]`` of `events`; it may have none."""
    labels: tuple[str, ...]
    """What each snapshot is called."""

    @property
    def numbers(self) -> Counts:
        """The number of the snapshot of each event of the table."""
        numbers = np.empty(len(self.events), np.int64)
        numbers[self.events] = owners_of(self.offsets)
        return numbers

    @property
    def n_snapshots(self) -> int:
        """Number of snapshots, those without records included."""
        return len(self.labels)


def timeline(table: EventTable, unit: str) -> Timeline:
    """Sort events into days, ISO weeks or months without a gap between the first and the last, or by order.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abc"), "at": ["2010-01-31", "2010-02-02", "2010-01-31"], "x": "y"})
    >>> found = timeline(EventTable(frame, Schema(person="who", time="at", sensitive={"x": "all"})), "day")
    >>> found.labels, found.offsets.tolist()
    (('2010-01-31', '2010-02-01', '2010-02-02'), [0, 2, 2, 3])
    """
    numbers, labels = _by_order(table) if unit == "order" else _by_time(table, unit)
    events = np.argsort(numbers, kind="stable").astype(np.int64)
    return Timeline(events, offsets_of(np.bincount(numbers, minlength=len(labels))), labels)


def _by_order(table: EventTable) -> tuple[Counts, tuple[str, ...]]:
    column = table.frame[table.schema.order or ""]
    _, first, numbers = np.unique(order_keys(column), return_index=True, return_inverse=True)
    return numbers.astype(np.int64), tuple(as_text(column.gather(first)).to_list())


def _by_time(table: EventTable, unit: str) -> tuple[Counts, tuple[str, ...]]:
    times = table.times
    if times is None or times.is_empty():
        return np.empty(0, np.int64), ()
    every, form = {"day": ("1d", "%Y-%m-%d"), "week": ("1w", "%G-W%V"), "month": ("1mo", "%Y-%m")}[unit]
    starts = times.dt.date().dt.truncate(every)
    (first, last), *_ = starts.to_frame("at").select(low=pl.min("at"), high=pl.max("at")).rows()
    known = pl.date_range(first, last, every, eager=True)
    return known.search_sorted(starts).to_numpy().astype(np.int64), tuple(known.dt.to_string(form).to_list())


def window_seed(randomness: Randomness) -> int:
    """Return the number that the choices of a window come from."""
    return int(randomness.numbers("reposition window", 1)[0])


def transform(
    method: SnapshotMethod, table: EventTable, *, randomness: Randomness, progress: Progress
) -> Outcome:
    """Feed the snapshots of a table, and write what comes out as the tables of a release."""
    progress(0.0, "sorting records into snapshots")
    column = table.schema.sensitive_columns[0]
    attribute = next(iter(table.schema.sensitive))
    exact = timeline(table, method.snapshot)
    line = _merged(exact, method.merged)
    values = table.sequences.columns[column]
    labels = table.sequences.codebooks[column].labels
    _refuse_few_values(method, line, values, attribute)
    slots, n_unplanned = place(method, table, line, randomness, progress)
    order = np.argsort(slots, kind="stable")
    published = order[np.searchsorted(slots[order], 0) :]
    if not len(published):
        msg = (
            f"l = {method.l} leaves no record that can be published: values of {attribute} are too uneven in "
            "every snapshot, or all records of a window are of too few persons"
        )
        raise UnattainableError(msg)
    progress(0.8, "forming groups")
    records = Records(
        times=line.labels,
        offsets=np.searchsorted(slots[published], np.arange(line.n_snapshots + 1)),
        quasi={
            name: as_text(table.frame[name]).fill_null(MISSING).gather(published)
            for name in table.schema.quasi
        },
        trees={name: table.hierarchies[name] for name in table.schema.quasi},
        weights={name: each.weight for name, each in table.schema.quasi.items()},
        attribute=attribute,
        values=values[published],
        labels=labels,
    )
    seed = int(randomness.numbers("reposition groups", 1)[0])
    tables = publish(records, method.then, level=method.level, seed=seed)
    progress(0.95, "listing the changes")
    is_out = slots >= 0
    distances = slots - line.numbers
    betas = np.array(method.costs.betas(labels))
    moves = len(method.costs.mu) > 1
    loss = float(np.array(method.costs.mu)[distances[is_out]].sum() + betas[values[~is_out]].sum())
    query_error, query_plot = measure_queries(
        table, tables.tables, exact.numbers, line.labels, merged=method.merged
    )
    return Outcome(
        sequences=Sequences.from_rows([]),
        tables=tables.tables,
        schema=tables.schema,
        hierarchies=tables.hierarchies,
        changes=_changes(table, line, slots, values, labels),
        n_lost_events=int((~is_out).sum()),
        limits=method.limits,
        warnings=_warnings(table, is_out, n_unplanned),
        plots=(
            *((distance_plot(distances, is_out),) if moves else ()),
            expired_plot(values[~is_out], labels),
            query_plot,
        ),
        scores=scores(distances, is_out, loss, query_error, moves=moves),
    )


def place(
    method: SnapshotMethod,
    table: EventTable,
    line: Timeline,
    randomness: Randomness,
    progress: Progress,
) -> tuple[Counts, int]:
    """Let every snapshot go through the window; return in which one each event comes out, -1 for none.

    Also returns after how many snapshots the window was to be planned again, and stayed as it was.
    """
    window = method.new_window(window_seed(randomness))
    column = table.schema.sensitive_columns[0]
    window.labels = list(table.sequences.codebooks[column].labels)
    values = table.sequences.columns[column]
    persons = owners_of(table.person_offsets)
    slots = np.full(table.n_events, SUPPRESSED, np.int64)
    published = []
    for number in range(line.n_snapshots):
        events = line.events[line.offsets[number] : line.offsets[number + 1]]
        published += window.feed(values[events], persons[events])
        progress(0.1 + 0.7 * (number + 1) / line.n_snapshots, "moving records between snapshots")
    for each in published + window.flush():
        slots[line.events[line.offsets[each.homes] + each.rows]] = each.number
    return slots, window.n_unplanned


def _merged(line: Timeline, size: int) -> Timeline:
    if size == 1:
        return line
    starts = range(0, line.n_snapshots, size)
    spans = [line.labels[start : start + size] for start in starts]
    labels = tuple(span[0] if len(span) == 1 else f"{span[0]}/{span[-1]}" for span in spans)
    return Timeline(line.events, np.append(line.offsets[list(starts)], line.offsets[-1]), labels)


def _refuse_few_values(method: SnapshotMethod, line: Timeline, values: Codes, attribute: str) -> None:
    """Raise at once where nothing can ever be published (hole 4)."""
    needed = math.ceil(method.level)
    reach = method.new_window(0).size
    occurring: dict[int, int] = {}
    most = 0
    for number in range(line.n_snapshots):
        events = line.events[line.offsets[number] : line.offsets[number + 1]]
        occurring.update(dict.fromkeys(np.unique(values[events]).tolist(), number))
        most = max(most, sum(number - last < reach for last in occurring.values()))
        if most >= needed:
            return
    within = "any snapshot" if reach == 1 else f"any {reach} snapshots in a row"
    msg = (
        f"l = {method.l} needs {needed} different values of {attribute} within a window, and there are at "
        f"most {most} in {within}: nothing can be published"
    )
    distinct = len(occurring)
    if distinct < 2:
        msg = f"{msg}; no l above 1 can be kept"
        raise UnattainableError(msg, achieved={"l": distinct})
    raise UnattainableError(msg)


def _changes(
    table: EventTable, line: Timeline, slots: Counts, values: Codes, labels: tuple[str, ...]
) -> pl.DataFrame:
    """List every record that is published later than it came, or not at all."""
    homes = line.numbers
    changed = np.flatnonzero(slots != homes)
    by_row = changed[np.argsort(table.rows[changed])]
    names = pl.Series([*line.labels, None], dtype=pl.String)
    owners = owners_of(table.person_offsets)[by_row]
    what = pl.Series([MOVED, LEFT_OUT], dtype=pl.Enum([MOVED, LEFT_OUT]))
    return pl.DataFrame(
        {
            "row": table.rows[by_row].astype(np.int64),
            "person": table.persons.gather(owners),
            "what": what.gather((slots[by_row] == SUPPRESSED).astype(np.int64)),
            "value": pl.Series(labels, dtype=pl.String).gather(values[by_row]),
            "from": names.gather(homes[by_row]),
            "to": names.gather(slots[by_row] % len(names)),
        }
    )


def _warnings(table: EventTable, is_out: Mask, n_unplanned: int) -> tuple[str, ...]:
    seen = np.bincount(owners_of(table.person_offsets)[is_out])
    repeated = int((seen > 1).sum())
    return (
        *((in_several(repeated),) if repeated else ()),
        *((unplanned(n_unplanned),) if n_unplanned else ()),
    )


def in_several(n_persons: int) -> str:
    """Return the warning about persons who are in several published snapshots.

    Examples
    --------
    >>> in_several(1)[:50]
    '1 person has records in several published snapshot'
    """
    who = counted(n_persons, "person has", "persons have")
    return (
        f"{who} records in several published snapshots; they are not protected against an adversary who "
        "knows in which"
    )


def unplanned(n_windows: int) -> str:
    """Return the warning about windows that could not be planned again."""
    return (
        f'search = "improve" left the window as "greedy" has it {n_windows:,} times: it is too large for the '
        "integer program"
    )
