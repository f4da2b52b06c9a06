"""Values as text, and codes for them: dense, small, and in label order."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.problems import first_line
from sequester.errors import SchemaError
from sequester.hierarchies.labels import MISSING, in_label_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester._typing import Codes


_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"


def is_plain(dtype: pl.DataType) -> bool:
    """Return whether a column of this type can be written as one text per cell."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration))


def as_text(values: pl.Series) -> pl.Series:
    """Write every value as text; an empty text, a null and a NaN are missing (null).

    Date-times that are all midnights are written as dates, others in ISO 8601.

    Examples
    --------
    >>> as_text(pl.Series(["007", "", "NA", None])).to_list()
    ['007', None, 'NA', None]
    >>> as_text(pl.Series([7, None])).to_list()
    ['7', None]
    """
    # Without its name meanwhile: polars would take one such as ^page$ for a pattern.
    return _written(values.alias("")).alias(values.name)


def _written(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if isinstance(values.dtype, pl.Datetime):
        if (values.dt.time() == dt.time(0)).all():
            return values.dt.to_string("%Y-%m-%d")
        return values.dt.to_string("%Y-%m-%dT%H:%M:%S%.f" + ("%:z" if values.dtype.time_zone else ""))
    text = values.cast(pl.String)
    empty = text.str.len_bytes() == 0
    return text.set(empty, None) if empty.any() else text


def as_labels(values: pl.Series) -> pl.Series:
    """Write every value as text, as `as_text` does; categories, four bytes each, stay as they are.

    Examples
    --------
    >>> as_labels(pl.Series([7])).dtype, as_labels(pl.Series(["a"], dtype=pl.Categorical)).dtype
    (String, Categorical)
    """
    if isinstance(values.dtype, pl.Categorical) and not values.eq_missing("").any():
        return values
    return as_text(values)


def distinct_labels(text: pl.Series) -> list[str]:
    """Return the distinct labels of a text column in label order, ``(missing)`` for a gap."""
    return in_label_order(text.unique().cast(pl.String).fill_null(MISSING).to_list())


def is_number(text: pl.Series) -> pl.Series:
    """Return for each label whether it is a number, null for a gap."""
    return text.str.contains(_NUMBER)


def all_numbers(text: pl.Series) -> bool:
    """Return whether every label is a number, gaps aside."""
    return bool(is_number(text).all())


@dataclass(frozen=True)
class Codebook:
    """The labels of a column; the code of a label is its place in `labels`.

    Examples
    --------
    >>> book = Codebook.of(["news", "10", "9"])
    >>> book.labels
    ('10', '9', 'news')
    >>> book.encode(["news", "9"]).tolist()
    [2, 1]
    >>> book.decode([2, 1])
    ['news', '9']
    """

    labels: tuple[str, ...]
    """Distinct labels in label order."""

    @classmethod
    def of(cls, labels: Iterable[str]) -> Codebook:
        """Make the codebook of all labels that occur."""
        return cls(tuple(in_label_order(labels)))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Label to code."""
        return {label: code for code, label in enumerate(self.labels)}

    def encode(self, labels: Iterable[str]) -> Codes:
        """Turn labels into codes; an unknown label is refused by name."""
        try:
            return np.array([self.codes[label] for label in labels], np.int32)
        except KeyError as error:
            msg = f"unknown label {error.args[0]!r}"
            raise SchemaError(msg) from None

    def decode(self, codes: Sequence[int] | Codes) -> list[str]:
        """Turn codes into labels; nothing has an empty one."""
        return [self.labels[code] if code >= 0 else "" for code in codes]

    def __len__(self) -> int:
        return len(self.labels)


NOTHING = -1
"""The code of a cell that holds nothing: no value, not even a missing one."""


def encode(
    text: pl.Series, labels: list[str] | None = None, *, gaps: str | None = MISSING
) -> tuple[Codes, Codebook]:
    """Enumerate the labels of a text column in label order; a missing value gets the label ``(missing)``.

    `labels` are the column's distinct labels in label order, where they are known already. Without a label
    for `gaps`, a gap is `NOTHING`.

    Examples
    --------
    >>> codes, book = encode(pl.Series(["10", "9", None, "10"]))
    >>> codes.tolist(), book.labels
    ([1, 0, 2, 1], ('9', '10', '(missing)'))
    """
    labels = distinct_labels(text) if labels is None else labels
    if gaps is not None and text.null_count():
        text = text.fill_null(gaps)
    codes = text.cast(pl.Enum(labels)).to_physical().cast(pl.Int32)
    return codes.fill_null(NOTHING).to_numpy(), Codebook(tuple(labels))


def share_codes(text: pl.Series, labels: list[str]) -> tuple[pl.Series, Codes]:
    """Return a column as categories, and its codes, which are the memory of these categories.

    `labels` are the column's distinct labels in label order, ``(missing)`` among them where there are gaps.
    The codes are those of `encode`, and may not be written to.

    Examples
    --------
    >>> column, codes = share_codes(pl.Series(["10", "9", None, "10"]), ["9", "10", "(missing)"])
    >>> column.to_list(), codes.tolist()
    (['10', '9', None, '10'], [1, 0, 2, 1])
    """
    # Categories of its own are numbered in the order in which they first occur, as long as a series has them.
    numbered = pl.Series(labels, dtype=pl.Categorical(pl.Categories.random(physical=pl.UInt32)))
    filled = text.fill_null(MISSING).cast(numbered.dtype).rechunk()
    codes: Codes = filled.to_physical().to_numpy().view(np.int32)
    if not text.null_count():
        return filled, codes
    # A column and the same column with gaps share the memory of their values.
    return pl.select(pl.when(text.is_not_null()).then(filled).alias(text.name)).to_series(), codes


def shorten_numbers(values: pl.Series) -> pl.Series:
    """Return whole numbers, also those written as text, in four bytes each where they read the same.

    Examples
    --------
    >>> shorten_numbers(pl.Series(["1", "12"])).dtype, shorten_numbers(pl.Series(["01", "12"])).dtype
    (Int32, String)
    """
    if not (values.dtype.is_integer() or values.dtype == pl.String):
        return values
    numbers = values.cast(pl.Int32, strict=False)
    is_same = (numbers.cast(values.dtype, strict=False) == values).fill_null(value=False).all()
    return numbers if is_same else values


def as_polars(frame: object) -> pl.DataFrame:
    """Return a polars frame as it is, a lazy one collected, and anything with an Arrow stream as one.

    Examples
    --------
    >>> import pandas
    >>> as_polars(pandas.DataFrame({"user": ["a"]}, index=[7])).columns
    ['user']
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if not hasattr(frame, "__arrow_c_stream__"):
        msg = f"a table must be a polars or pandas frame or have an Arrow stream, got {type(frame).__name__}"
        raise SchemaError(msg)
    try:
        taken = pl.DataFrame(frame)
    except Exception as error:  # noqa: BLE001 - whatever a foreign object raises, it is no table
        msg = f"the {type(frame).__name__} cannot be read as a table: {first_line(error)}"
        raise SchemaError(msg) from None
    # pandas hands over an index without a name as a column of this name.
    return taken.drop(pl.selectors.matches(r"^__index_level_\d+__$"))
