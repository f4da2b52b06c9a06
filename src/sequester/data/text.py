"""Values as people read them: every attribute is text, and a gap is a gap."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.codebook import Codebook
from sequester.hierarchies.labels import MISSING, in_label_order

if TYPE_CHECKING:
    from sequester._typing import Codes

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"


def is_plain(dtype: pl.DataType) -> bool:
    """Tell whether a column of this type can be written as one text per cell."""
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


def encode(text: pl.Series, labels: list[str] | None = None) -> tuple[Codes, Codebook]:
    """Number the labels of a text column in label order; a missing value gets the label ``(missing)``.

    `labels` are the column's distinct labels in label order, where they are known already.

    Examples
    --------
    >>> codes, book = encode(pl.Series(["10", "9", None, "10"]))
    >>> codes.tolist(), book.labels
    ([1, 0, 2, 1], ('9', '10', '(missing)'))
    """
    labels = distinct_labels(text) if labels is None else labels
    if text.null_count():
        text = text.fill_null(MISSING)
    codes = text.cast(pl.Enum(labels)).to_physical().cast(pl.Int32).to_numpy()
    return codes, Codebook(tuple(labels))


def distinct_labels(text: pl.Series) -> list[str]:
    """Give the distinct labels of a text column in label order, ``(missing)`` for a gap."""
    return in_label_order(text.unique().fill_null(MISSING).to_list())


def is_number(text: pl.Series) -> pl.Series:
    """Tell of each label whether it is a number, null for a gap."""
    return text.str.contains(_NUMBER)


def all_numbers(text: pl.Series) -> bool:
    """Tell whether every label is a number, gaps aside."""
    return bool(is_number(text).all())
