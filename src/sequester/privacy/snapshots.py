"""Records in snapshots: who is in which, how often each sensitive value occurs there, and the largest l."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import polars as pl

from sequester.data.table import EventTable
from sequester.data.text import as_text
from sequester.errors import InputError, ParameterError
from sequester.hierarchies.labels import MISSING
from sequester.privacy.model import N_WITNESSES, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import SequenceData

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPromise:
    """No sensitive value belongs to more than 1/`l` of the records of a snapshot, or of a group in one."""

    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {"l": L_MEANING}
    attacks: ClassVar[str] = "snapshots"

    l: int | float | str  # noqa: E741  (the paper's letter)
    """How many times more frequent a snapshot or group is than any sensitive value in it, at least."""
    sensitive: str = ""
    """The sensitive attribute; empty: the only one of the table that is checked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", plain_level(exact_level(self.l)))

    @property
    def needs_original(self) -> bool:
        """The released files alone show whether the promise is kept."""
        return False

    def about(self, table: EventTable) -> Self:
        """Return the promise with the name of the table's sensitive attribute."""
        return self.about_attribute(self.sensitive or sole_attribute(table, type(self).__name__))

    def about_attribute(self, sensitive: str) -> Self:
        """Return the promise about this sensitive attribute."""
        return replace(self, sensitive=sensitive)

    def claim(self) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise."""
        return {"l": self.l, "sensitive": self.sensitive}

    def count_values(self, records: pl.DataFrame, keys: Sequence[str], attribute: str) -> Verdict:
        """Count the values of each place, which the columns `keys` name, and check them."""
        # Series by series: the attribute may have any name.
        plain = pl.DataFrame({**{key: records[key] for key in keys}, VALUE: records[attribute]})
        by = [*keys, VALUE]
        counts = plain.group_by(by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(COUNT))
        return check_counts(counts, keys, level=exact_level(self.l), attribute=attribute)


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
