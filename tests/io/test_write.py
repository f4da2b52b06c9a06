"""What is written is read back cell by cell."""

from __future__ import annotations

import datetime as dt
import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.io.csv import read_csv
from sequester.io.write import pack, write_csv

cells = st.none() | st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from(',;"\n\r|\t\ufeff '),
    min_size=1,
    max_size=5,
)
names = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\n") | st.sampled_from(',;"|\t*'), min_size=1
)


@st.composite
def frames(draw):
    columns = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    height = draw(st.integers(1, 4))
    return pl.DataFrame(
        {name: draw(st.lists(cells, min_size=height, max_size=height)) for name in columns},
        schema=dict.fromkeys(columns, pl.String),
    )


@given(frames(), st.sampled_from([",", "\t"]))
def test_text_comes_back(frame, delimiter):
    contents = write_csv(frame, delimiter)
    assert read_csv(contents, "x.csv", delimiter=delimiter).equals(frame)


@given(frames().filter(lambda frame: frame.width > 1))
def test_commas_are_found_whatever_the_cells_hold(frame):
    assert read_csv(write_csv(frame), "x.csv").equals(frame)


def test_types_are_written_as_people_read_them():
    frame = pl.DataFrame(
        {
            "n": [1, None],
            "x": [0.5, float("nan")],
            "day": [dt.date(2010, 1, 2), None],
            "yes": [True, False],
            "e": ["", "a"],
        }
    )
    assert write_csv(frame) == b"n,x,day,yes,e\n1,0.5,2010-01-02,true,\n,,,false,a\n"


def test_the_same_table_is_the_same_file():
    packed = pack(b"contents")
    assert packed == pack(b"contents")
    assert gzip.decompress(packed) == b"contents"


@pytest.mark.parametrize("name", ["a;b", "a|b", "a\tb"])
def test_a_lone_column_with_another_delimiter_in_it(name):
    assert read_csv(write_csv(pl.DataFrame({name: ["x;y"]})), "x.csv").to_dicts() == [{name: "x;y"}]
