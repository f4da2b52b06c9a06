"""What somebody who finds a record's group learns of its sensitive value, where releases have no persons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.attacks.share import Share
from sequester.privacy.l_diversity import RECORDS, VALUES
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP, records_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import EventTable


def guess_records(tables: Mapping[str, pl.DataFrame], *, sensitive: str) -> Share:
    """Give the chance that a guess at a record's sensitive value is right, on average over published records.

    Whoever guesses knows when the record was published and all its quasi-identifiers, and so its group: what
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


def guess_original(table: EventTable, *, sensitive: str) -> Share:
    """Give the same chance for somebody who has the original, whose groups share all quasi-identifiers."""
    records, attribute = records_of(table, model="the adversary", sensitive=sensitive)
    return _guess(records, [name for name in records.columns if name != attribute], attribute)


def _guess(records: pl.DataFrame, known: Sequence[str], sensitive: str) -> Share:
    columns = {f"known {place}": records[name] for place, name in enumerate(known)}
    named = pl.DataFrame({**columns, "value": records[sensitive]})
    counts = named.group_by(named.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))
    return _mean_chance(counts.drop("value"), list(columns))


def _mean_chance(counts: pl.DataFrame, by: Sequence[str]) -> Share:
    """Add up, over all groups and values, the records of a value times its share of the group."""
    chances = counts.group_by(by).agg((pl.col(COUNT) ** 2).sum() / pl.col(COUNT).sum())
    total = int(counts[COUNT].sum())
    value = float(chances[COUNT].sum()) / total if total else 0.0
    return Share(value, (value, value))
