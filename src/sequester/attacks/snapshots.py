"""Published snapshots of records: how often each sensitive value is in them, and how often it was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import MISSING
from sequester.privacy.l_diversity import VALUES
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP, TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Codes, Counts
    from sequester.attacks.remake import Stream
    from sequester.data.table import EventTable

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
        texts = original.frame[column].fill_null(MISSING)
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

    def dealt(self, rng: np.random.Generator) -> Snapshots:
        """Give the same with all published values dealt out anew among all published records."""
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
    """Give each snapshot of the stream its number among the published ones, and what those are called.

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
    """Give the first and the last snapshot of a span; its ends may have a slash in their names, too."""
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
