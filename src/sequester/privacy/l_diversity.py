"""l-diversity and l-eligibility: in no group, or snapshot, is a sensitive value more frequent than 1 in l.

Both are about records in snapshots. How often each value occurs there is counted beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import polars as pl

from sequester.data.table import EventTable
from sequester.data.text import as_text
from sequester.errors import InputError, ParameterError
from sequester.hierarchies.labels import MISSING
from sequester.privacy.model import N_WITNESSES, RECORD_QUASI, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import Layout

TIME = "time"
"""The column of snapshots in a release."""
GROUP = "group"
"""The column of groups in a release."""
L_MEANING = "no sensitive value belongs to more than one in so many records"
"""What l counts."""
LARGEST = 2**31
"""Neither part of l as a fraction may reach this, so that products of counts fit in 64 bits."""
VALUE = "value"
"""The column of values in a table of counts."""
COUNT = "count"
"""The column of counts in a table of counts."""
RECORDS = "records"
"""The table of records, by file name without ending."""
VALUES = "values"
"""The table of the values of each group, where they are apart from the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """A sensitive value that is too frequent in one place of a release.

    Examples
    --------
    >>> print(Skew(place="2010-01-31", attribute="ill", value="flu", count=3, size=5))
    2010-01-31: ill = flu in 3 of 5 records
    """

    place: str
    """The snapshot, or the group and its snapshot."""
    attribute: str
    """The sensitive attribute."""
    value: str
    """Its value."""
    count: int
    """Records of the place that have it."""
    size: int
    """Records of the place."""

    def __str__(self) -> str:
        noun = "record" if self.size == 1 else "records"
        return f"{self.place}: {self.attribute} = {self.value} in {self.count:,} of {self.size:,} {noun}"


def exact_level(l: object) -> Fraction:  # noqa: E741  (the paper's letter)
    """Return l exactly: a whole number, a decimal number as it is written, or a fraction such as "5/2".

    Examples
    --------
    >>> exact_level(3), exact_level(2.1), exact_level("5/2")
    (Fraction(3, 1), Fraction(21, 10), Fraction(5, 2))
    >>> exact_level(1)
    Traceback (most recent call last):
    sequester.errors.ParameterError: l must be above 1, got 1
    """
    if hasattr(l, "item"):  # those of numpy are numbers, too
        l = l.item()  # noqa: E741
    if isinstance(l, bool) or not isinstance(l, int | float | str | Fraction):
        msg = f'l must be a number or a fraction such as "5/2", got {l!r}'
        raise ParameterError(msg)
    try:
        level = Fraction(str(l))
    except (ValueError, ZeroDivisionError):
        msg = f'l must be a number or a fraction such as "5/2", got {l!r}'
        raise ParameterError(msg) from None
    if level <= 1:
        msg = f"l must be above 1, got {l}"
        raise ParameterError(msg)
    if level.numerator >= LARGEST or level.denominator >= LARGEST:
        msg = f"l must be a number of at most nine digits, got {l}"
        raise ParameterError(msg)
    return level


def plain_level(level: Fraction) -> int | str:
    """Write l as certificates do: a whole number as such, any other as a fraction.

    Examples
    --------
    >>> plain_level(Fraction(3)), plain_level(Fraction(5, 2))
    (3, '5/2')
    """
    return level.numerator if level.denominator == 1 else str(level)


def one_in(l: int | float | str) -> str:  # noqa: E741  (the paper's letter)
    """Write the share 1/l as a fraction.

    Examples
    --------
    >>> one_in(3), one_in("5/2")
    ('1/3', '2/5')
    """
    return str(1 / exact_level(l))


def check_counts(counts: pl.DataFrame, keys: Sequence[str], *, level: Fraction, attribute: str) -> Verdict:
    """Check a table of counts, one row per place and value, for values with more than 1/l of a place.

    `keys` are the columns that say which place it is: the snapshot first, then the group where there is one.
    ``achieved["l"]`` is the smallest number of records per record of the most frequent value, the largest l
    that holds; without records it is the l asked for. `violations` counts values of places.

    Examples
    --------
    >>> counts = pl.DataFrame({"time": ["1", "1"], "value": ["flu", "cold"], "count": [2, 3]})
    >>> check_counts(counts, ["time"], level=Fraction(2), attribute="ill").achieved
    {'l': 1.6666666666666667}
    """
    counts = counts.filter(pl.col(COUNT) > 0)
    if counts.is_empty():
        return Verdict(holds=True, achieved={"l": float(level)})
    size = pl.col(COUNT).sum().over(keys, mapping_strategy="group_to_rows")
    sized = counts.with_columns(size.alias("size"))
    # count <= size / l, in whole numbers.
    above = sized.filter(pl.col(COUNT) * level.numerator > pl.col("size") * level.denominator)
    places = sized.group_by(keys).agg(pl.col("size").first(), pl.col(COUNT).max())
    # The smallest ratio, compared exactly among those that a float takes for the smallest.
    ratio = places["size"] / places[COUNT]
    close = places.filter(ratio <= ratio.to_numpy().min() * (1 + 1e-9))
    best = min(Fraction(row["size"], row[COUNT]) for row in close.unique(["size", COUNT]).to_dicts())
    return Verdict(
        holds=above.is_empty(),
        achieved={"l": float(best)},
        witnesses=tuple(
            Skew(
                place=_place([str(row[key]) for key in keys]),
                attribute=attribute,
                value=str(row[VALUE]),
                count=row[COUNT],
                size=row["size"],
            )
            for row in above.head(N_WITNESSES).to_dicts()
        ),
        violations=above.height,
    )


def _place(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"group {keys[1]} of {keys[0]}"


def records_of(released: SequenceData, *, model: str, sensitive: str) -> tuple[pl.DataFrame, str]:
    """Return the records of a table with the column ``time``, and the sensitive attribute's name.

    In a table that is no release, a snapshot is what has the same order, or the same day.
    """
    if not isinstance(released, EventTable):
        msg = f"{model} is about a sensitive attribute in snapshots: it needs a table with a schema"
        raise InputError(msg)
    schema = released.schema
    attribute = sensitive or sole_attribute(released, model)
    frame = released.frame
    if schema.order is not None:
        time = as_text(frame[schema.order])
    elif released.times is not None:
        time = released.times.dt.to_string("%Y-%m-%d")
    else:
        msg = f"{model} is about snapshots, and the table has neither order nor time"
        raise InputError(msg)
    quasi = {name: as_text(frame[name]).fill_null(MISSING) for name in schema.quasi}
    values = as_text(frame[schema.sensitive[attribute].columns[0]]).fill_null(MISSING)
    return pl.DataFrame({TIME: time, **quasi, attribute: values}), attribute


def sole_attribute(table: EventTable, model: str) -> str:
    """Return the one sensitive attribute, which has one value per record."""
    sensitive = table.schema.sensitive
    if len(sensitive) != 1 or any(len(each.columns) != 1 for each in sensitive.values()):
        columns = sum(len(each.columns) for each in sensitive.values())
        msg = (
            f"{model} is about exactly one sensitive attribute with one value per record, there are "
            f"{len(sensitive)} with {columns} columns"
        )
        raise InputError(msg)
    return next(iter(sensitive))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPromise:
    """No sensitive value belongs to more than 1/`l` of the records of a snapshot, or of a group in one."""

    needs_original: ClassVar[bool] = False
    """The released files alone show whether the promise is kept."""
    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {"l": L_MEANING}
    attacks: ClassVar[str] = "snapshots"

    l: int | float | str  # noqa: E741  (the paper's letter)
    """How many times more frequent a snapshot or group is than any sensitive value in it, at least."""
    sensitive: str = ""
    """The sensitive attribute; empty: the only one of the table that is checked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", plain_level(exact_level(self.l)))

    def about(self, table: EventTable) -> Self:
        """Return the promise with the name of the table's sensitive attribute."""
        return self.about_attribute(self.sensitive or sole_attribute(table, type(self).__name__))

    def about_attribute(self, sensitive: str) -> Self:
        """Return the promise about this sensitive attribute."""
        return replace(self, sensitive=sensitive)

    def claim(self) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise."""
        return {"l": self.l, "sensitive": self.sensitive}

    def need(self, tables: Mapping[str, pl.DataFrame], table: str, columns: Sequence[str]) -> None:
        """Refuse tables of which one, or one of its columns, is missing."""
        model = type(self).__name__
        if table not in tables:
            msg = f"{model} is about the table {table!r}, and the release has none"
            raise InputError(msg)
        missing = [column for column in columns if column not in tables[table].columns]
        if missing:
            msg = f"{model} needs a column {missing[0]!r}, and the table {table!r} has none"
            raise InputError(msg)

    def count_values(self, records: pl.DataFrame, keys: Sequence[str], attribute: str) -> Verdict:
        """Count the values of each place, which the columns `keys` name, and check them."""
        # Series by series: the attribute may have any name.
        plain = pl.DataFrame({**{key: records[key] for key in keys}, VALUE: records[attribute]})
        by = [*keys, VALUE]
        counts = plain.group_by(by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(COUNT))
        return check_counts(counts, keys, level=exact_level(self.l), attribute=attribute)


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
        """Count the values of every snapshot of a table; the original is not looked at.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            Not looked at.
        engine
            Not used: everything is counted in one pass.

        Returns
        -------
        Verdict
            Whether the promise holds, the best level that holds, and witnesses where it does not.
        """
        del original, engine
        records, attribute = records_of(released, model="LEligibility", sensitive=self.sensitive)
        return self.count_values(records, [TIME], attribute)

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count the values of every snapshot of the released records."""
        if len(tables) != 1:
            msg = f"LEligibility is about one table of records, there are {len(tables)}"
            raise InputError(msg)
        ((name, frame),) = tables.items()
        attribute = self.sensitive or frame.columns[-1]
        self.need(tables, name, (TIME, attribute))
        return self.count_values(frame, [TIME], attribute)

    def in_words(self) -> str:
        """Return the promise in a sentence."""
        return (
            f"In every published snapshot, no value of {self.sensitive or 'the sensitive attribute'} "
            f"belongs to more than {one_in(self.l)} of the records."
        )


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
        """Count the values of records that share a snapshot and all quasi-identifiers.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            Not looked at.
        engine
            Not used: everything is counted in one pass.

        Returns
        -------
        Verdict
            Whether the promise holds, the best level that holds, and witnesses where it does not.
        """
        del original, engine
        records, attribute = records_of(released, model="LDiversity", sensitive=self.sensitive)
        quasi = pl.DataFrame([each for each in records.iter_columns() if each.name not in (TIME, attribute)])
        ranks = pl.Series([0]).new_from_index(0, records.height)
        if quasi.width:
            ranks = quasi.select(pl.struct(pl.all()).rank("dense")).to_series()
        return self.count_values(records.with_columns(ranks.alias(GROUP)), [TIME, GROUP], attribute)

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count the values of every group of the released tables."""
        self.need(tables, RECORDS, (TIME, GROUP))
        records = tables[RECORDS]
        if VALUES not in tables:
            attribute = self.sensitive or records.columns[-2]
            self.need(tables, RECORDS, (attribute,))
            broken = _broken(_unlike(records, attribute))
            return self.count_values(records, [TIME, GROUP], attribute) if broken is None else broken
        attribute = self.sensitive or tables[VALUES].columns[1]
        self.need(tables, VALUES, (GROUP, attribute, COUNT))
        values = tables[VALUES]
        plain = pl.DataFrame({GROUP: values[GROUP], VALUE: values[attribute], COUNT: values[COUNT]})
        broken = _broken(_disagreements(records, plain))
        if broken is not None:
            return broken
        times = records.group_by(GROUP, maintain_order=True).agg(pl.col(TIME).first())
        counts = plain.join(times, on=GROUP, how="left", maintain_order="left")
        return check_counts(counts, [TIME, GROUP], level=exact_level(self.l), attribute=attribute)

    def in_words(self) -> str:
        """Return the promise in a sentence."""
        return (
            f"In every published group, and so in every published snapshot, no value of "
            f"{self.sensitive or 'the sensitive attribute'} belongs to more than {one_in(self.l)} of the "
            "records."
        )


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


def _disagreements(records: pl.DataFrame, plain: pl.DataFrame) -> list[str]:
    """List where records and the values of groups contradict each other: no count can be relied on then."""
    if plain.select(GROUP, VALUE).is_duplicated().any() or (plain[COUNT] < 1).any():
        return ["the table of values must have each value of a group once, with a count of 1 or more"]
    sizes = records.group_by(GROUP).agg(pl.len().cast(pl.Int64).alias("size"), pl.col(TIME).n_unique())
    value_counts = plain.group_by(GROUP).agg(pl.col(COUNT).sum())
    both = sizes.join(value_counts, on=GROUP, how="full", coalesce=True).sort(GROUP)
    apart = both.filter(pl.col(TIME) > 1)
    uneven = both.filter(pl.col("size").ne_missing(pl.col(COUNT)))
    return [
        *(f"group {row[GROUP]} is in {row[TIME]:,} snapshots" for row in apart.to_dicts()),
        *(
            f"group {row[GROUP]} has {row['size'] or 0:,} records, and {row[COUNT] or 0:,} values are listed"
            for row in uneven.to_dicts()
        ),
    ]
