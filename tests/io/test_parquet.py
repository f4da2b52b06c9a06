"""Parquet files come as they are, folders of them by name, and damaged ones are refused."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.io import parquet, read_frame

pytestmark = pytest.mark.second_process

FRAME = pl.DataFrame(
    {"user": ["b", "a"], "n": [10, 9], "page": ["x", None], "day": [dt.date(2010, 1, 2), dt.date(2010, 1, 1)]}
)


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read_frame(path, **options)
    return [line.replace(str(path), "IT") for line in caught.value.lines]


def test_types_stay(tmp_path):
    FRAME.write_parquet(tmp_path / "x.parquet")
    frame = read_frame(tmp_path / "x.parquet")
    assert frame.equals(FRAME)
    table = EventTable(frame, Schema(person="user", time="day", symbol="page", drop=["n"]))
    assert table.sequences.to_rows() == [("x",), ("(missing)",)]


def test_a_folder_is_read_by_name(tmp_path):
    for name, rows in {"b": FRAME[1:], "a": FRAME[:1], "c": FRAME[:1]}.items():
        rows.write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "sub").mkdir()
    assert read_frame(tmp_path).equals(pl.concat([FRAME[:1], FRAME[1:], FRAME[:1]]))


def test_columns_may_stand_in_another_order_and_nothing_else_may_differ(tmp_path):
    FRAME.write_parquet(tmp_path / "1.parquet")
    FRAME.select(reversed(FRAME.columns)).write_parquet(tmp_path / "2.parquet")
    assert read_frame(tmp_path).equals(pl.concat([FRAME, FRAME]))
    FRAME.drop("day").with_columns(pl.col("n").cast(pl.String), z=1).write_parquet(tmp_path / "3.parquet")
    assert refused(tmp_path) == [
        "IT/3.parquet: has no column 'day', unlike 1.parquet",
        "IT/3.parquet: has a column 'z', unlike 1.parquet",
        "IT/3.parquet: column 'n' holds String and not Int64, unlike 1.parquet",
    ]


def test_names_with_stars_and_equal_signs_are_only_names(tmp_path):
    folder = tmp_path / "year=2010"
    folder.mkdir()
    FRAME.write_parquet(folder / "[x]*.parquet")
    assert read_frame(folder / "[x]*.parquet").equals(FRAME)
    assert read_frame(folder).equals(FRAME)


def test_columns_may_have_any_name_but_a_pattern(tmp_path):
    frame = pl.DataFrame({"*": [1], "^.*": ["x"], "": ["y"]})
    frame.write_parquet(tmp_path / "1.parquet")
    frame.write_parquet(tmp_path / "2.parquet")
    assert read_frame(tmp_path).equals(pl.concat([frame, frame]))


def test_what_is_no_parquet_file(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"")
    assert refused(path) == ["IT: is empty"]
    path.write_bytes(b"a,b\n1,2\n")
    assert refused(path) == ["IT: is no Parquet file"]
    FRAME.clear().write_parquet(path)
    assert refused(path) == ["IT: has no rows"]
    path.rename(tmp_path / "x.parquet.gz")
    assert refused(tmp_path / "x.parquet.gz") == ["IT: Parquet is compressed inside; unpack the file first"]


def test_a_claim_of_too_many_rows(tmp_path, monkeypatch):
    FRAME.write_parquet(tmp_path / "x.parquet")
    monkeypatch.setattr(parquet, "MOST_ROWS", 1)
    assert refused(tmp_path / "x.parquet") == ["IT: claims 2 rows, at most 1 are read"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    FRAME.write_parquet(path)
    return path.read_bytes()


def test_truncated_anywhere(tmp_path, sound):
    sizes = range(4, len(sound), 37)
    for size in sizes:
        (tmp_path / f"{size:04}.parquet").write_bytes(sound[:size])
    lines = refused(tmp_path)
    assert len(lines) == len(sizes)
    for size, line in zip(sizes, lines, strict=True):
        assert line.startswith(f"IT/{size:04}.parquet: the Parquet file is damaged (")


def test_flipped_bytes_are_refused_or_read_and_nothing_else_is_said(tmp_path, sound, capfd):
    path = tmp_path / "x.parquet"
    answers = []
    for place in range(40, len(sound), 350):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        try:
            answers.append(read_frame(path).height)
        except InputError as error:
            answers.append(str(error))
    refusals = [answer for answer in answers if isinstance(answer, str)]
    assert refusals
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in refusals)
    assert all(answer > 0 for answer in answers if isinstance(answer, int))
    assert capfd.readouterr().err == ""


def test_damage_that_ends_the_reading_process_is_refused(tmp_path, monkeypatch):
    for name in "abc":
        FRAME.write_parquet(tmp_path / f"{name}.parquet")
    crash = tmp_path / "crash.py"
    crash.write_text("import os\nprint('null', flush=True)\nos.abort()\n")
    monkeypatch.setattr(parquet.trial_program, "__file__", str(crash))
    assert refused(tmp_path) == ["IT/b.parquet: the Parquet file is damaged (reading it ends the process)"]


def test_without_a_second_process_files_are_read_all_the_same(tmp_path, monkeypatch):
    FRAME.write_parquet(tmp_path / "x.parquet")
    monkeypatch.setattr(parquet.sys, "executable", str(tmp_path / "nothing"))
    assert read_frame(tmp_path / "x.parquet").equals(FRAME)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    (line,) = refused(tmp_path / "x.parquet")
    assert line.startswith("IT: the Parquet file is damaged (")


def test_huge_cells(tmp_path):
    pl.DataFrame({"a": ["x", "y" * 2_000_000], "b": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    (line,) = refused(tmp_path / "x.parquet")
    assert line.startswith("IT: column 'a', row 2: the cell has 2,000,000 bytes")
