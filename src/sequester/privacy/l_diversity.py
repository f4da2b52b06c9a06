"""l-diversity and l-eligibility: in no group, or snapshot, is a sensitive value more frequent than 1 in l."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from sequester.errors import InputError
from sequester.privacy.model import N_WITNESSES, RECORD_QUASI, Verdict
from sequester.privacy.snapshots import (
    COUNT,
    GROUP,
    TIME,
    VALUE,
    RecordPromise,
    check_counts,
    exact_level,
    one_in,
    records_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class LEligibility(RecordPromise):
    """In every published snapshot no sensitive value has more than 1/`l` of the records.

    A snapshot without records is eligible. That a snapshot has at most one record of each person is what the
    method sees to; records carry no person, so nobody can check it in a release.

    Examples
    --------
    >>> frame = pl.DataFrame({"time": ["1", "1", "1", "2"], "ill": ["flu", "cold", "flu", "flu"]})
    >>> verdict = LEligibility(l=2).check_tables({"events": frame})
    >>> verdict.holds, verdict.achieved, verdict.violations
    (False, {'l': 1.0}, 2)
    >>> print(verdict.witnesses[0])
    1: ill = flu in 2 of 3 records

    References
    ----------
    Wang, Xu, Wong, Fu (2010), Definition 1.
    """

    layouts: ClassVar[tuple[Layout, ...]] = ({"events": f"{TIME}{RECORD_QUASI} sensitive"},)
    has_groups: ClassVar[bool] = False
    """Records are published in groups."""

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count the values of every snapshot of a table; the original is not looked at."""
        del original, engine
        records, attribute = records_of(released, model="LEligibility", sensitive=self.sensitive)
        return self.count_values(records, [TIME], attribute)

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count the values of every snapshot of the released records."""
        if len(tables) != 1:
            msg = f"LEligibility is about one table of records, there are {len(tables)}"
            raise InputError(msg)
        (frame,) = tables.values()
        attribute = self.sensitive or frame.columns[-1]
        missing = [column for column in (TIME, attribute) if column not in frame.columns]
        if missing:
            msg = f"LEligibility needs a column {missing[0]!r}, and the released table has none"
            raise InputError(msg)
        return self.count_values(frame, [TIME], attribute)

    def in_words(self) -> str:
        """Return the promise in a sentence."""
        return (
            f"In every published snapshot, no value of {self.sensitive or 'the sensitive attribute'} "
            f"belongs to more than {one_in(self.l)} of the records."
        )


RECORDS = "records"
"""The table of records, by file name without ending."""
VALUES = "values"
"""The table of the values of each group, where they are apart from the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LDiversity(RecordPromise):
    """In every published group no sensitive value has more than 1/`l` of the records.

    A group is what the column ``group`` says, within one snapshot. Its values stand in a table of their own,
    whose counts must then add up to the records of the group; or in the records themselves, which must then
    be alike in all quasi-identifiers: otherwise an adversary who knows those finds less than the group. In
    a table without groups, those are the records of a snapshot that share all quasi-identifiers.

    Examples
    --------
    >>> records = pl.DataFrame({"time": ["1", "1", "1"], "age": ["30", "31", "32"], "group": [1, 1, 1]})
    >>> values = pl.DataFrame({"group": [1, 1], "ill": ["flu", "cold"], "count": [2, 1]})
    >>> verdict = LDiversity(l=2).check_tables({"records": records, "values": values})
    >>> verdict.holds, verdict.achieved
    (False, {'l': 1.5})
    >>> print(verdict.witnesses[0])
    group 1 of 1: ill = flu in 2 of 3 records

    References
    ----------
    Wang, Xu, Wong, Fu (2010), Definition 1; Xiao, Tao (2006) for the two tables.
    """

    layouts: ClassVar[tuple[Layout, ...]] = (
        {RECORDS: f"{TIME}{RECORD_QUASI} {GROUP}", VALUES: f"{GROUP} sensitive {COUNT}"},
        {RECORDS: f"{TIME}{RECORD_QUASI} sensitive {GROUP}"},
    )
    has_groups: ClassVar[bool] = True
    """Records are published in groups."""

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count the values of records that share a snapshot and all quasi-identifiers."""
        del original, engine
        records, attribute = records_of(released, model="LDiversity", sensitive=self.sensitive)
        quasi = [column for column in records.columns if column not in (TIME, attribute)]
        group = pl.DataFrame([records[column] for column in quasi]) if quasi else None
        ranks = (
            pl.Series([0]).new_from_index(0, records.height)
            if group is None
            else group.select(pl.struct(pl.all()).rank("dense")).to_series()
        )
        return self.count_values(records.with_columns(ranks.alias(GROUP)), [TIME, GROUP], attribute)

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count the values of every group of the released tables."""
        _need(tables, RECORDS, (TIME, GROUP))
        records = tables[RECORDS]
        if VALUES not in tables:
            attribute = self.sensitive or records.columns[-2]
            _need(tables, RECORDS, (attribute,))
            broken = _broken(_unlike(records, attribute))
            return self.count_values(records, [TIME, GROUP], attribute) if broken is None else broken
        attribute = self.sensitive or tables[VALUES].columns[1]
        _need(tables, VALUES, (GROUP, attribute, COUNT))
        values = tables[VALUES]
        broken = _broken(_disagreements(records, values, attribute))
        if broken is not None:
            return broken
        times = records.group_by(GROUP, maintain_order=True).agg(pl.col(TIME).first())
        plain = pl.DataFrame({GROUP: values[GROUP], VALUE: values[attribute], COUNT: values[COUNT]})
        counts = plain.join(times, on=GROUP, how="left", maintain_order="left")
        return check_counts(counts, [TIME, GROUP], level=exact_level(self.l), attribute=attribute)

    def in_words(self) -> str:
        """Return the promise in a sentence."""
        return (
            f"In every published group, and so in every published snapshot, no value of "
            f"{self.sensitive or 'the sensitive attribute'} belongs to more than {one_in(self.l)} of the "
            "records."
        )


def _need(tables: Mapping[str, pl.DataFrame], table: str, columns: Sequence[str]) -> None:
    if table not in tables:
        msg = f"LDiversity is about the table {table!r}, and the release has none"
        raise InputError(msg)
    missing = [column for column in columns if column not in tables[table].columns]
    if missing:
        msg = f"LDiversity needs a column {missing[0]!r}, and the table {table!r} has none"
        raise InputError(msg)


def _broken(findings: Sequence[str]) -> Verdict | None:
    """Return a verdict that no group can be relied on; None where nothing was found."""
    if not findings:
        return None
    witnesses = tuple(findings[:N_WITNESSES])
    return Verdict(holds=False, achieved={"l": 0.0}, witnesses=witnesses, violations=len(findings))


def _unlike(records: pl.DataFrame, attribute: str) -> list[str]:
    """List the groups that are in several snapshots, or whose records differ in a quasi-identifier."""
    findings = []
    for column in records.columns:
        if column in (GROUP, attribute):
            continue
        # Series by series: a column may have any name.
        values = pl.DataFrame({GROUP: records[GROUP], VALUE: records[column]})
        counts = values.group_by(GROUP).agg(pl.col(VALUE).n_unique()).filter(pl.col(VALUE) > 1).sort(GROUP)
        what = "snapshots" if column == TIME else f"different values of {column}"
        findings += [f"group {group} has records of {count:,} {what}" for group, count in counts.iter_rows()]
    return findings


def _disagreements(records: pl.DataFrame, values: pl.DataFrame, attribute: str) -> list[str]:
    """List where the two tables contradict each other: no count can be relied on then."""
    plain = pl.DataFrame({GROUP: values[GROUP], VALUE: values[attribute], COUNT: values[COUNT]})
    if plain.select(GROUP, VALUE).is_duplicated().any() or (plain[COUNT] < 1).any():
        return ["the table of values must have each value of a group once, with a count of 1 or more"]
    sizes = records.group_by(GROUP).agg(pl.len().cast(pl.Int64).alias("size"), pl.col(TIME).n_unique())
    told = plain.group_by(GROUP).agg(pl.col(COUNT).sum())
    both = sizes.join(told, on=GROUP, how="full", coalesce=True).sort(GROUP)
    apart = both.filter(pl.col(TIME) > 1)
    uneven = both.filter(pl.col("size").ne_missing(pl.col(COUNT)))
    return [
        *(f"group {row[GROUP]} is in {row[TIME]:,} snapshots" for row in apart.to_dicts()),
        *(
            f"group {row[GROUP]} has {row['size'] or 0:,} records, and {row[COUNT] or 0:,} values are told"
            for row in uneven.to_dicts()
        ),
    ]
