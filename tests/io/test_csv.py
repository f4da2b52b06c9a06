"""Every cell comes back as written, and every broken file is refused with its place."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import events as oracles
from sequester.errors import InputError
from sequester.io import contents as limits
from sequester.io import read_frame
from sequester.io.contents import compress
from sequester.io.csv import read_csv, write_csv

texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"])
    | st.sampled_from(',;"\n|\t'),
    max_size=6,
)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(texts, min_size=width, max_size=width), min_size=1)
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
@example([["\ufeff"]], ",", "\n", False, True)
def test_cells_come_back_as_written(rows, delimiter, end, all_quoted, with_mark):
    header = [f"c{place}" for place in range(len(rows[0]))]
    stream = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([header, *rows])
    contents = ("\ufeff" if with_mark else "").encode() + stream.getvalue().encode()
    frame = read_csv(contents, "x.csv", delimiter=delimiter)
    assert (frame.columns, frame.rows()) == oracles.read_csv(stream.getvalue(), delimiter)
    assert frame.rows() == [tuple(cell or None for cell in row) for row in rows]


@given(st.lists(texts.filter(bool), min_size=1, max_size=4, unique=True), st.sampled_from(["\n", "\r\n"]))
@example(["a\u2028b", "c\x0bd", "e\x85"], "\n")
def test_columns_are_called_as_written(header, end):
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator=end).writerows([header, ["x"] * len(header)])
    frame = read_csv(("\ufeff" + stream.getvalue()).encode(), "x.csv", delimiter=",")
    assert frame.columns == header
    assert frame.rows() == [("x",) * len(header)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    rows = ["user|name;x,y", "a|b;c,d"] if delimiter == "," else ["user|name;x", "a|b;c"]
    text = "\n".join(row.replace("|", delimiter).replace(";", delimiter) for row in rows)
    assert len(read_csv(text.encode(), "x.csv").columns) == text.split("\n")[0].count(delimiter) + 1


def test_commas_in_numbers_do_not_hide_a_semicolon():
    assert read_csv(b"user;x,y;z\n1;2,5;3\n2;;1\n", "x.csv").columns == ["user", "x,y", "z"]
    assert read_csv(b"a,b;c\n1,2;3\n", "x.csv").columns == ["a", "b;c"]


def test_one_column_needs_no_delimiter():
    assert read_csv(b"page\nnews\nlocal", "x.csv").rows() == [("news",), ("local",)]


def test_what_looks_like_a_gap_or_a_number_is_text():
    frame = read_csv(b'id,v\n007,NA\n1e5,null\nNaN,""\n ,\n', "x.csv")
    assert frame.rows() == [("007", "NA"), ("1e5", "null"), ("NaN", None), (" ", None)]


def test_quotes_newlines_and_blank_lines():
    frame = read_csv(b'\n"a ""x""","b\nc"\r\n\r\n1,"l1\r\nl2"\n\n2,"say ""hi"", bye"\n\n', "x.csv")
    assert frame.columns == ['a "x"', "b\nc"]
    assert frame.rows() == [("1", "l1\r\nl2"), ("2", 'say "hi", bye')]


def test_lines_that_end_with_a_bare_return():
    assert read_csv(b"a\tb\r1\t2\r3\t4\r", "x.csv").rows() == [("1", "2"), ("3", "4")]
    assert read_csv(b"a\tb\r1\t2\r3\t4\n", "x.csv").rows() == [("1", "2"), ("3", "4")]


def test_encodings():
    text = "name,x\nJürgen,é\n"
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-8-sig", "UTF8"):
        assert read_csv(text.encode(encoding), "x.csv", encoding=encoding).rows() == [("Jürgen", "é")]


REFUSED = [
    (
        b"a,b\n1,2\n3\n4,5,6\n",
        ["x.csv: row 2 has 1 cells, the header has 2", "x.csv: row 3 has 3 cells, the header has 2"],
    ),
    (
        b"a,b\n" + b"1\n" * 1007,
        [
            *(f"x.csv: row {i} has 1 cells, the header has 2" for i in range(1, 6)),
            "x.csv: 1,002 more rows do not have 2 cells",
        ],
    ),
    (b'a,b\n1,2\n3,"4\n', ["x.csv: row 2: a quoted cell never ends"]),
    (
        b'a,b\n1,2\n3,4" pipe\n',
        ["x.csv: row 2: a quote stands inside a cell; quote the cell and double the quote"],
    ),
    (b"a,b\n1,2\rx\n", ["x.csv: row 1: a carriage return stands inside a cell without quotes"]),
    (b"a,b\n1,\xff\n", ["x.csv: line 2 is not UTF-8 (byte 7 of the file); set encoding"]),
    (b"a,b\xff\n1,2\n", ["x.csv: line 1 is not UTF-8 (byte 4 of the file); set encoding"]),
    (
        b"a,b\n1,2\n3,\x00\n",
        ["x.csv: line 3 has a NUL byte; this is not text, or another encoding (UTF-16?)"],
    ),
    ("a,b\n1,2\n".encode("utf-16"), ["x.csv: is not UTF-8 but utf-16; set encoding"]),
    (b"a\rb,c\n1,2\n", ["x.csv: header: a carriage return stands inside a cell without quotes"]),
    (b'a,"b\n1,2\n', ["x.csv: header: a quoted cell never ends"]),
    (b"a,b\n", ["x.csv: has a header and no rows"]),
    (b"a,b", ["x.csv: has a header and no rows"]),
    (b"\n\n\n", ["x.csv: has no header"]),
    (
        b"a,b,a,,b\n1,2,3,4,5\n",
        ["x.csv: column 4 has no name", "x.csv: 2 columns are called 'a'", "x.csv: 2 columns are called 'b'"],
    ),
]


@pytest.mark.parametrize(("contents", "lines"), REFUSED)
def test_broken_files_are_refused_with_the_place(contents, lines):
    with pytest.raises(InputError) as caught:
        read_csv(contents, "x.csv")
    assert list(caught.value.lines) == lines


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"delimiter": ";;"}, "delimiter must be one character and no quote or line end, got ';;'"),
        ({"delimiter": '"'}, "delimiter must be one character and no quote or line end, got '\"'"),
        (
            {"encoding": "klingon"},
            "encoding must be one of text that Python knows, such as utf-8 or latin-1, got 'klingon'",
        ),
        ({"encoding": "utf-16"}, "x.csv: byte 11 is not utf-16; set another encoding"),
    ],
)
def test_options_that_cannot_be(options, line):
    with pytest.raises(InputError) as caught:
        read_csv(b"abc\nd,e,f\n!", "x.csv", **options)
    assert caught.value.lines == (line,)


def attempt(contents, **options):
    try:
        return read_csv(contents, "x.csv", **options), ()
    except InputError as error:
        return None, error.lines


@given(st.binary(max_size=60))
def test_any_bytes_are_a_table_or_refused_in_plain_lines(contents):
    frame, lines = attempt(contents)
    assert all(line.startswith("x.csv: ") for line in lines)
    assert bool(lines) != (frame is not None and frame.height > 0)


@given(st.text(st.sampled_from('a,"\n\r;'), max_size=12))
@example(";\r;\n;")
def test_any_text_is_read_as_the_standard_library_reads_it_or_refused(text):
    frame, lines = attempt(text.encode(), delimiter=",")
    # A file that has more bare returns than line feeds is read with those.
    is_old = text.count("\r") - text.count("\r\n") > text.count("\n")
    ended = text.replace("\r\n", "\n").replace("\r", "\n") if is_old else text
    assert lines or (frame.columns, frame.rows()) == oracles.read_csv(ended, ",")


def test_huge_cells_are_refused_by_column_and_row(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("user,page\na,b\nc," + "x" * (limits.LARGEST_CELL + 1) + "\n")
    with pytest.raises(InputError) as caught:
        read_frame(path)
    assert caught.value.lines == (
        f"{path}: column 'page', row 2: the cell has 1,048,577 bytes, at most 1,048,576 are read",
    )
    path.write_text("user,page\na,b\nc," + "x" * limits.LARGEST_CELL + "\n")
    assert read_frame(path).height == 2


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
    packed = compress(b"contents")
    assert packed == compress(b"contents")
    assert gzip.decompress(packed) == b"contents"


@pytest.mark.parametrize("name", ["a;b", "a|b", "a\tb"])
def test_a_lone_column_with_another_delimiter_in_it(name):
    assert read_csv(write_csv(pl.DataFrame({name: ["x;y"]})), "x.csv").to_dicts() == [{name: "x;y"}]


def test_blanks_around_names_of_columns_are_left_out_with_a_line(tmp_path):
    path = tmp_path / "padded.csv"
    path.write_text(" who ,\twhat\na,b\n")
    said = []
    assert read_frame(path, warn=said.append).columns == ["who", "what"]
    (line,) = said
    assert line.startswith(f"{path}: blanks around names of columns")
    assert "'who'" in line
    assert "'what'" in line
    path.write_text("who, who\na,b\n")
    said.clear()
    assert read_frame(path, warn=said.append).columns == ["who", " who"]
    assert said == []
