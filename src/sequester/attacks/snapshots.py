"""Published snapshots of records: counts of each sensitive value, and what they say about arrivals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.attacks.risk import Proportion
from sequester.data.text import as_text
from sequester.errors import InputError
from sequester.hierarchies.labels import MISSING
from sequester.privacy.l_diversity import RECORDS, VALUES
from sequester.privacy.snapshots import COUNT, GROUP, TIME, records_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.attacks.context import Stream
    from sequester.data.table import EventTable

    Amounts = npt.NDArray[np.float64]


SLOT, VALUE = "slot", "value"
"""Columns of `Snapshots.cells`."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What was published when, beside what came when; snapshots that are published as one count as one."""

    values: tuple[str, ...]
    """The sensitive values of release and original, in label order."""
    published: Counts
    """Cell ``[t, s]``: records of value ``s`` that are published in snapshot ``t``."""
    came: Counts
    """Cell ``[t, s]``: records of value ``s`` that came in snapshot ``t``."""
    reach: int
    """Snapshots in which a record may be published, the one it came with included."""
    labels: tuple[str, ...]
    """What each snapshot is called in the release, or would be."""
    homes: Counts
    """The snapshot that each event of the original came with."""
    codes: Codes
    """The value of each event of the original."""
    cells: pl.DataFrame
    """One row per snapshot, group (or record) and value: ``slot``, ``group``, ``value`` and ``count``."""

    @classmethod
    def of(
        cls, tables: Mapping[str, pl.DataFrame], original: EventTable, stream: Stream, *, sensitive: str
    ) -> Snapshots:
        """Count the records of the released tables and those of the original."""
        if sensitive not in original.schema.sensitive:
            msg = f"the release protects {sensitive!r}, and the original has no such sensitive attribute"
            raise InputError(msg)
        slots, labels = _slots(tables, stream)
        column = original.schema.sensitive[sensitive].columns[0]
        texts = as_text(original.frame[column]).fill_null(MISSING)
        cells = _cells(tables, sensitive)
        values = tuple(sorted({*texts.unique().to_list(), *cells[VALUE].unique().to_list()}))
        code_of = {label: code for code, label in enumerate(values)}
        slot_of = {label: slot for slot, label in enumerate(labels)}
        cells = cells.with_columns(
            pl.col(SLOT).replace_strict(slot_of, return_dtype=pl.Int64),
            pl.col(VALUE).replace_strict(code_of, return_dtype=pl.Int64),
        )
        homes = slots[stream.homes]
        codes = texts.replace_strict(code_of, return_dtype=pl.Int32).to_numpy()
        shape = (len(labels), len(values))
        published, came = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        np.add.at(published, (cells[SLOT].to_numpy(), cells[VALUE].to_numpy()), cells[COUNT].to_numpy())
        np.add.at(came, (homes, codes), 1)
        return cls(values, published, came, stream.reach, labels, homes, codes, cells)

    @property
    def sizes(self) -> Counts:
        """How many records came in each snapshot; that is often known."""
        sizes: Counts = self.came.sum(axis=1)
        return sizes

    def permuted(self, rng: np.random.Generator) -> Snapshots:
        """Return the same with the values permuted among all published records."""
        n_slots, n_values = self.published.shape
        cells = self.cells
        counts = cells[COUNT].to_numpy()
        records = rng.permutation(np.repeat(cells[VALUE].to_numpy(), counts))
        slots = np.repeat(cells[SLOT].to_numpy(), counts)
        groups = np.repeat(cells[GROUP].to_numpy(), counts)
        anew = (
            pl.DataFrame({SLOT: slots, GROUP: groups, VALUE: records})
            .group_by(SLOT, GROUP, VALUE)
            .agg(pl.len().cast(pl.Int64).alias(COUNT))
        )
        flat = np.bincount(slots * n_values + records, minlength=n_slots * n_values)
        return replace(self, published=flat.reshape(n_slots, n_values).astype(np.int64), cells=anew)


def _slots(tables: Mapping[str, pl.DataFrame], stream: Stream) -> tuple[Counts, tuple[str, ...]]:
    """Return the number of each snapshot among the published ones, and what those are called.

    A time such as ``a/b`` stands for all snapshots from a to b.
    """
    numbers = {label: number for number, label in enumerate(stream.labels)}
    spans = {}
    for time in next(iter(tables.values()))[TIME].unique().to_list():
        if time not in numbers:
            first, last = _ends(time, numbers)
            spans[first] = (last, time)
    slots = np.zeros(len(stream.labels), np.int64)
    labels: list[str] = []
    number = 0
    while number < len(stream.labels):
        last, label = spans.get(number, (number, stream.labels[number]))
        slots[number : last + 1] = len(labels)
        labels.append(label)
        number = last + 1
    return slots, tuple(labels)


def _ends(time: str, numbers: Mapping[str, int]) -> tuple[int, int]:
    """Return the first and the last snapshot of a span; its ends may have a slash in their names, too."""
    places = (place for place, letter in enumerate(time) if letter == "/")
    for place in places:
        if time[:place] in numbers and time[place + 1 :] in numbers:
            return numbers[time[:place]], numbers[time[place + 1 :]]
    msg = f"the release has a snapshot {time!r}, and in the original nothing came then"
    raise InputError(msg)


def _cells(tables: Mapping[str, pl.DataFrame], sensitive: str) -> pl.DataFrame:
    """Count the values of every published group; without groups a record is a group of its own."""
    main = next(iter(tables.values()))
    if VALUES in tables:
        values = tables[VALUES]
        times = pl.DataFrame({GROUP: main[GROUP], SLOT: main[TIME]}).unique()
        plain = pl.DataFrame({GROUP: values[GROUP], VALUE: values[sensitive], COUNT: values[COUNT]})
        return plain.join(times, on=GROUP).select(SLOT, GROUP, VALUE, COUNT)
    group = main[GROUP] if GROUP in main.columns else pl.Series(GROUP, np.arange(main.height))
    plain = pl.DataFrame({SLOT: main[TIME], GROUP: group, VALUE: main[sensitive].fill_null(MISSING)})
    return plain.group_by(SLOT, GROUP, VALUE).agg(pl.len().cast(pl.Int64).alias(COUNT))


_NONE = 1e-12


@dataclass(frozen=True, slots=True)
class ArrivalBelief:
    """What an adversary believes who knows the program, and how many records came in each snapshot."""

    came: Amounts
    """Cell ``[t, s]``: records of value ``s`` that came in snapshot ``t``."""
    moved: Amounts
    """Cell ``[t, s]``: records of value ``s`` that are published in snapshot ``t`` and came earlier."""


def estimate_arrivals(snapshots: Snapshots) -> ArrivalBelief:
    """Estimate what came when.

    A program that changes only what it must takes records from a snapshot only where their value is as
    frequent there as any may be. So if a snapshot shows more records than came in it, those too many are of
    values that were held back in one of the snapshots before, within reach: as many of each as it is
    frequent here, from the latest first. If it shows fewer than came in it, and they are not accounted for
    by later snapshots, they are of the values that are most frequent in it, as many of each. Fractions of
    records are beliefs.

    Examples
    --------
    Flu came three times and HIV once, then cold and x. No value may have more than half of the records of a
    snapshot, so two of the three were published later.

    >>> import polars as pl
    >>> from sequester.attacks.context import Stream
    >>> from sequester.attacks.snapshots import Snapshots
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> out = pl.DataFrame(
    ...     {"time": ["1", "1", "2", "2", "2", "2"], "ill": ["flu", "HIV", "cold", "x", "flu", "flu"]}
    ... )
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> snapshots.values, estimate_arrivals(snapshots).came[0].tolist()
    (('HIV', 'cold', 'flu', 'x'), [1.0, 0.0, 3.0, 0.0])
    """
    published, sizes = snapshots.published, snapshots.sizes
    totals = published.sum(axis=1)
    is_full = (published == published.max(axis=1, initial=0)[:, None]) & (published > 0)
    missing = np.maximum(sizes - totals, 0).astype(np.float64)
    excess = np.maximum(totals - sizes, 0).astype(np.float64)
    came, moved = published.astype(np.float64), np.zeros(published.shape)
    for slot in np.flatnonzero(excess).tolist():
        before = range(slot - 1, max(slot - snapshots.reach, -1), -1)
        room = _held_back(is_full, missing, before)
        here = np.minimum(published[slot], room) * (published[slot] > 0)
        suspected = published[slot] * (here > _NONE)
        if not suspected.any():
            continue
        taken = np.minimum(excess[slot] * suspected / suspected.sum(), here)
        for value in np.flatnonzero(taken > _NONE).tolist():
            left = float(taken[value])
            for home in before:
                part = min(left, float(missing[home])) if is_full[home, value] else 0.0
                came[home, value] += part
                missing[home] -= part
                left -= part
            amount = float(taken[value]) - left
            came[slot, value] -= amount
            moved[slot, value] += amount
    everything = published.sum(axis=0) / max(published.sum(), 1)
    for slot in np.flatnonzero(missing > _NONE).tolist():
        full = is_full[slot]
        came[slot] += missing[slot] * (full / full.sum() if full.any() else everything)
    return ArrivalBelief(came, moved)


def _held_back(is_full: npt.NDArray[np.bool_], missing: Amounts, before: range) -> Amounts:
    """Return how many records of each value may have been held back in the snapshots before."""
    rows = list(before)
    if not rows:
        return np.zeros(is_full.shape[1])
    room: Amounts = missing[rows] @ is_full[rows]
    return room


def guess_records(tables: Mapping[str, pl.DataFrame], *, sensitive: str) -> Proportion:
    """Return the chance to guess a record's sensitive value, on average over published records.

    The adversary knows when the record was published and all its quasi-identifiers, and so its group: what
    the release calls a group, or else the records of the snapshot that share all quasi-identifiers. They
    take the value of any record of the group. Nothing is drawn: everybody's chance is counted.

    Examples
    --------
    >>> records = pl.DataFrame({"time": ["1"] * 3, "age": ["30", "31", "32"], "group": [1, 1, 2]})
    >>> values = pl.DataFrame({"group": [1, 1, 2], "ill": ["flu", "cold", "flu"], "count": [1, 1, 1]})
    >>> guess_records({"records": records, "values": values}, sensitive="ill").value  # (1/2 + 1/2 + 1) / 3
    0.6666666666666666
    """
    if VALUES in tables:
        values = tables[VALUES]
        return _mean_chance(pl.DataFrame({GROUP: values[GROUP], COUNT: values[COUNT]}), [GROUP])
    records = next(iter(tables.values())) if RECORDS not in tables else tables[RECORDS]
    known = [GROUP] if GROUP in records.columns else [name for name in records.columns if name != sensitive]
    return _guess(records, known, sensitive)


def guess_original(table: EventTable, *, sensitive: str) -> Proportion:
    """Return the same chance for an adversary with the original, whose groups share all quasi-identifiers."""
    records, attribute = records_of(table, model="the adversary", sensitive=sensitive)
    return _guess(records, [name for name in records.columns if name != attribute], attribute)


def _guess(records: pl.DataFrame, known: Sequence[str], sensitive: str) -> Proportion:
    columns = {f"known {place}": records[name] for place, name in enumerate(known)}
    named = pl.DataFrame({**columns, "value": records[sensitive]})
    counts = named.group_by(named.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))
    return _mean_chance(counts.drop("value"), list(columns))


def _mean_chance(counts: pl.DataFrame, by: Sequence[str]) -> Proportion:
    """Add up, over all groups and values, the records of a value times its share of the group."""
    chances = counts.group_by(by).agg((pl.col(COUNT) ** 2).sum() / pl.col(COUNT).sum())
    total = int(counts[COUNT].sum())
    value = float(chances[COUNT].sum()) / total if total else 0.0
    return Proportion(value, (value, value))
