"""A release as an event log, in the format that its input had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sequester.data.text import as_text
from sequester.io.spmf import read_spmf, write_spmf
from sequester.io.xes import ACTIVITY, CASE, read_xes
from sequester.io.xes_write import write_xes
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester._typing import Mask

LogFormat = Literal["xes", "spmf"]
"""Formats of event logs that a release may have beside CSV and Parquet."""


def misfit(frame: pl.DataFrame, form: LogFormat) -> str | None:
    """Say why a released table cannot be written as an event log; None where it can.

    Examples
    --------
    >>> misfit(pl.DataFrame({"person": ["a"], "order": [1], "ZIP": ["1*"], "LOS": ["3"]}), "spmf")
    'SPMF has one attribute per event, the release has 2'
    """
    attributes = _attributes(frame)
    if PERSON not in frame.columns or not frame.height:
        return "it would have no persons"
    if form == "spmf" and len(attributes) != 1:
        return f"SPMF has one attribute per event, the release has {len(attributes)}"
    if form == "xes" and CASE in attributes:
        return f"the released column {CASE} would stand in the place of the pseudonyms"
    return None


def write_log(frame: pl.DataFrame, form: LogFormat) -> bytes:
    """Write a released table as an event log, persons under their pseudonyms and without `order`.

    In XES every attribute is text, under its own name, and where ``concept:name`` is not released, the first
    attribute stands for it too. In SPMF persons are lines and every event is an itemset.
    """
    if form == "xes":
        columns = _xes_columns(frame)
        return write_xes(columns.pop(CASE), columns)
    (attribute,) = _attributes(frame)
    starts = _starts(frame)
    return write_spmf(frame[attribute], starts, np.ones_like(starts))


def read_log(contents: bytes, name: str, form: LogFormat) -> pl.DataFrame:
    """Read an event log for comparison with `expected_log`."""
    return read_xes(contents, name) if form == "xes" else read_spmf(contents, name).cast(pl.String)


def expected_log(frame: pl.DataFrame, form: LogFormat) -> pl.DataFrame:
    """Give what `read_log` finds in the event log of a released table."""
    if form == "xes":
        texts = {name: as_text(column) for name, column in _xes_columns(frame).items()}
        return pl.DataFrame({name: text for name, text in texts.items() if text.null_count() < len(text)})
    (attribute,) = _attributes(frame)
    person = np.cumsum(_starts(frame))
    columns = {"person": person, "order": frame[ORDER], "symbol": frame[attribute]}
    return pl.DataFrame(columns).cast(pl.String)


def _attributes(frame: pl.DataFrame) -> list[str]:
    return [column for column in frame.columns if column not in (PERSON, ORDER)]


def _xes_columns(frame: pl.DataFrame) -> dict[str, pl.Series]:
    attributes = {column: frame[column] for column in _attributes(frame)}
    activity = attributes.get(ACTIVITY, next(iter(attributes.values())))
    return {CASE: frame[PERSON], ACTIVITY: activity, **attributes}


def _starts(frame: pl.DataFrame) -> Mask:
    """Mark the rows at which another person begins."""
    person = frame[PERSON]
    return np.append(True, person[1:].ne_missing(person[:-1]).to_numpy())
