"""Events of persons, word for word: who comes first, what comes before what, and what can be derived from it.

A table is a list of dicts, one per event. Numbers are compared as exact fractions.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from fractions import Fraction

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def in_label_order(labels):
    """Numbers if all of them are numbers, text otherwise; the missing one last."""
    distinct = sorted(set(labels) - {"(missing)"})
    if all(NUMBER.fullmatch(label) for label in distinct):
        distinct = sorted(distinct, key=Fraction)
    return distinct + (["(missing)"] if "(missing)" in labels else [])


def persons(events, person):
    """The persons in the order in which they appear."""
    seen = []
    for event in events:
        if event[person] not in seen:
            seen.append(event[person])
    return seen


def keys(values):
    """What the values of an order column are compared by."""
    if all(NUMBER.fullmatch(value) for value in values):
        return {value: Fraction(value) for value in values}
    return {value: value for value in values}


def sort(events, person, order, tie=None):
    """Each person's events together: by order, then by tie with gaps last, then as in the file."""
    key = keys([event[order] for event in events])
    second = keys([event[tie] for event in events if event[tie] is not None]) if tie else {}
    answer = []
    for one in persons(events, person):
        waiting = [event for event in events if event[person] == one]
        while waiting:
            best = waiting[0]
            for event in waiting[1:]:
                is_tied = key[event[order]] == key[best[order]] and tie and event[tie] is not None
                is_second = is_tied and (best[tie] is None or second[event[tie]] < second[best[tie]])
                if key[event[order]] < key[best[order]] or is_second:
                    best = event
            waiting.remove(best)
            answer.append(best)
    return answer


def sequences(events, person, symbol):
    """The symbols of each person, of events that are sorted already; a gap is a symbol of its own."""
    rows = {}
    for event in events:
        rows.setdefault(event[person], []).append("(missing)" if event[symbol] is None else event[symbol])
    return [tuple(row) for row in rows.values()]


def derive(kind, times):
    """The derived texts of one person's events, whose date-times are sorted."""
    answer = []
    for place, time in enumerate(times):
        if kind in ("year", "month"):
            value = getattr(time, kind)
        elif kind == "quarter":
            value = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4][time.month - 1]
        elif kind == "weekday":
            value = time.isoweekday()
        elif kind == "days_since_first":
            value = (time.date() - times[0].date()) // timedelta(days=1)
        elif kind == "days_since_first_in_year":
            first = next(other for other in times if other.year == time.year)
            value = (time.date() - first.date()) // timedelta(days=1)
        elif kind == "days_since_previous":
            value = None if place == 0 else (time.date() - times[place - 1].date()) // timedelta(days=1)
        else:
            value = len(times)
        answer.append(None if value is None else str(value))
    return answer


def is_in_range(code, low, high):
    """The first characters of `code` lie between the bounds."""
    return len(code) >= len(low) and low <= code[: len(low)] and code[: len(high)] <= high


def read_csv(text, delimiter):
    """The cells of delimited text; an empty cell is a gap, an empty line is no row."""
    records = [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if record]
    return records[0], [tuple(cell or None for cell in record) for record in records[1:]]
