"""CSV and Parquet are the same table, whatever the labels."""

from __future__ import annotations

import csv
import io
import warnings

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from release.samples import Pages, release_of
from sequester.errors import SequesterWarning
from sequester.verification.tables import read_text_csv
from sequester.workflow.write import write

STRANGE = [
    "",
    "*",
    "^.*$",
    "=1+1",
    "-5",
    "\tx",
    "\rx",
    'a"b',
    '"',
    "a,b",
    "a;b",
    "a\nb",
    "a\r\nb",
    "NA",
    "null",
    " a ",
]
# Surrogates are no characters, and no frame can hold them.
letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
labels = letters | st.sampled_from(STRANGE)
columns = labels.filter(
    lambda name: (
        name not in ("", "person", "order", "time", "group", "count")
        and not (name.startswith("^") and name.endswith("$"))
    )
)
rows = st.lists(st.lists(labels, min_size=1, max_size=4), max_size=4)

# Each example writes and syncs files, which is slow: a few hundred will do in any profile.
few = settings(max_examples=min(settings().max_examples, 200))


def cells(frame: pl.DataFrame) -> list[list[str]]:
    return [frame.columns, *(list(map(str, row)) for row in frame.iter_rows())]


@few
@given(rows, columns)
def test_csv_and_parquet_are_the_same_table_for_any_label(tmp_path_factory, rows, column):
    release = release_of([row for row in rows for _ in range(2)], column=column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        written = write(release, tmp_path_factory.mktemp("out"), report=Pages())
    expected = cells(release.frame)
    assert cells(pl.read_parquet(written.path / "events.parquet")) == expected
    assert cells(read_text_csv(written.path / "events.csv")) == expected
    text = (written.path / "events.csv").read_bytes().decode()
    if "\0" not in text:
        # A reader that is not ours; the one of Python 3.11 knows no NUL.
        assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == expected


def test_lines_end_as_on_unix_and_quotes_are_few(tmp_path):
    written = write(release_of([["a", "b,c"], ["a", "b,c"]]), tmp_path, report=Pages())
    text = (written.path / "events.csv").read_bytes()
    assert text == b'person,order,page\np000,1,a\np000,2,"b,c"\np001,1,a\np001,2,"b,c"\n'
