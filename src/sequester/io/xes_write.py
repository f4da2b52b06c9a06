"""Write XES event logs: the same rows give the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.text import as_text
from sequester.errors import InputError
from sequester.hierarchies.labels import quoted
from sequester.io.xes import ACTIVITY, CASE, OF_TRACE, write_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sequester._typing import Mask

FORBIDDEN = r"[\x00-\x08\x0B\x0C\x0E-\x1F\x{FFFE}\x{FFFF}]"
"""Characters that no XML file can hold."""

# Blanks would be read as spaces, so they are written as numbers.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_EXTENSIONS = {
    "concept": "Concept",
    "time": "Time",
    "org": "Organizational",
    "lifecycle": "Lifecycle",
    "cost": "Cost",
    "identity": "ID",
}
_SITE = "http://www.xes-standard.org/"


def write_xes(cases: pl.Series, columns: Mapping[str, pl.Series]) -> bytes:
    r"""Write one event per row; the rows of a case stand together, and `cases` names it in each of them.

    A column is written as its type says: text, whole numbers, numbers, truth values or times, which are in
    UTC. A missing value is not written. A column whose name begins with ``case:`` is one of the trace where
    it has the same value in all rows of each case, as all such columns of an event log have.

    Examples
    --------
    >>> log = write_xes(pl.Series(["7", "7"]), {"concept:name": pl.Series(["pay", "leave"])})
    >>> print(log.decode().expandtabs(2).partition("/>\n  <trace>")[2].strip())
    <string key="concept:name" value="7"/>
        <event>
          <string key="concept:name" value="pay"/>
        </event>
        <event>
          <string key="concept:name" value="leave"/>
        </event>
      </trace>
    </log>
    """
    _check_characters({CASE: cases, **columns})
    starts = np.append(True, cases[1:].ne_missing(cases[:-1]).to_numpy())
    ends = np.append(starts[1:], True)
    of_trace = [key for key in columns if key.startswith(OF_TRACE) and _is_constant(columns[key], starts)]
    head = {ACTIVITY: cases} | {key.removeprefix(OF_TRACE): columns[key] for key in of_trace}
    events = {key: values for key, values in columns.items() if key not in of_trace}
    begin = pl.concat_str(pl.lit("\t<trace>\n"), *_attributes("\t\t", head))
    rows = pl.select(
        pl.concat_str(
            pl.when(pl.lit(pl.Series(starts))).then(begin).otherwise(pl.lit("")),
            pl.lit("\t\t<event>\n"),
            *_attributes("\t\t\t", events),
            pl.lit("\t\t</event>\n"),
            pl.when(pl.lit(pl.Series(ends))).then(pl.lit("\t</trace>\n")).otherwise(pl.lit("")),
        )
    )
    traces: str = rows.to_series().str.join("").item()
    return (_opening(columns) + traces + "</log>\n").encode()


def _check_characters(columns: Mapping[str, pl.Series]) -> None:
    for key, values in columns.items():
        for text in (pl.Series([key]), values.unique()):
            if text.dtype != pl.String:
                continue
            found = text.filter(text.str.contains(FORBIDDEN)).sort()
            if len(found):
                msg = f"column {quoted(key)}: XES cannot hold {quoted(found[0])}: it has a control character"
                raise InputError(msg)


def _is_constant(values: pl.Series, starts: Mask) -> bool:
    return bool((values.eq_missing(values.shift(1)) | pl.Series(starts)).all())


def _opening(columns: Iterable[str]) -> str:
    prefixes = {"concept", *(key.removeprefix(OF_TRACE).partition(":")[0] for key in columns if ":" in key)}
    extensions = "".join(
        f'\t<extension name="{name}" prefix="{prefix}" uri="{_SITE}{prefix}.xesext"/>\n'
        for prefix, name in _EXTENSIONS.items()
        if prefix in prefixes
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<log xes.version="1849-2016" xes.features="" xmlns="{_SITE}">\n'
        f'{extensions}\t<classifier name="Activity" keys="{ACTIVITY}"/>\n'
    )


def _attributes(indent: str, columns: Mapping[str, pl.Series]) -> Iterator[pl.Expr]:
    """Write one attribute after the other, a line each."""
    for key, values in columns.items():
        element, text = _typed(values)
        name = _escape(pl.Series([key])).item()
        opening = f'{indent}<{element} key="{name}" value="'
        yield pl.concat_str(pl.lit(opening), pl.lit(text), pl.lit('"/>\n')).fill_null("")


def _typed(values: pl.Series) -> tuple[str, pl.Series]:
    """Choose the element for a column, and write its values."""
    dtype = values.dtype
    if dtype in (pl.Date, pl.Datetime):
        return "date", write_times(values)
    text = as_text(values)
    if dtype.is_integer():
        return "int", text
    if dtype.is_float():
        return "float", text.replace({"inf": "INF", "-inf": "-INF"})
    if dtype == pl.Boolean:
        return "boolean", text
    return "string", _escape(text)


def _escape(text: pl.Series) -> pl.Series:
    for character, name in _ESCAPES.items():
        if text.str.contains(character, literal=True).any():
            text = text.str.replace_all(character, name, literal=True)
    return text
