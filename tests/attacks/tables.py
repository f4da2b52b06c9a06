"""Small tables of persons, as the oracle sees them and as the package does."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies.hierarchy import Hierarchy


def attributes(n_attributes):
    """Persons with events of so many attributes, three letters each."""
    event = st.tuples(*(st.sampled_from([f"{letter}{i}" for letter in "abc"]) for i in range(n_attributes)))
    return st.lists(st.lists(event, min_size=1, max_size=6 - n_attributes), min_size=1, max_size=12)


some_persons = st.integers(1, 3).flatmap(attributes)
some_rows = st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=14)


def table_of(persons, values=None, protect=("H", "C")):
    """Make the table of persons whose events are tuples of labels, with a sensitive label per event."""
    n_attributes = len(persons[0][0])
    rows = [
        (f"p{number}", place, *event, *([] if values is None else [values[number][place]]))
        for number, person in enumerate(persons)
        for place, event in enumerate(person)
    ]
    names = [f"q{i}" for i in range(n_attributes)]
    sensitive = [] if values is None else ["s"]
    frame = pl.DataFrame(rows, schema=["who", "n", *names, *sensitive], orient="row")
    quasi = {name: Hierarchy.flat() for name in names}
    return EventTable(frame, Schema("who", "n", quasi=quasi, sensitive=dict.fromkeys(sensitive, protect)))


def symbols(rows):
    """Make the table of symbol sequences, one text per person."""
    clicks = [
        (f"p{number}", place, label) for number, row in enumerate(rows) for place, label in enumerate(row)
    ]
    frame = pl.DataFrame(clicks, schema=["who", "n", "page"], orient="row")
    return EventTable(frame, Schema("who", "n", symbol="page"))


def as_persons(rows):
    """Write symbol sequences as the oracle takes persons."""
    return [[(label,) for label in row] for row in rows]
