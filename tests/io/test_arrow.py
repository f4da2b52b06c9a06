"""Arrow IPC comes as it is, file or stream, and damaged ones are refused."""

from __future__ import annotations

import datetime as dt
import io

import polars as pl
import pyarrow as pa
import pytest

from sequester.errors import InputError
from sequester.io import parquet, read_frame
from sequester.io.parquet import write_arrow

pytestmark = pytest.mark.second_process

FRAME = pl.DataFrame(
    {"user": ["b", "a"], "n": [10, 9], "page": ["x", None], "day": [dt.date(2010, 1, 2), dt.date(2010, 1, 1)]}
)


def stream(frame):
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer)
    return buffer.getvalue()


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read_frame(path, **options)
    return [line.replace(str(path), "IT") for line in caught.value.lines]


@pytest.mark.parametrize("write", [write_arrow, stream])
def test_types_stay(tmp_path, write):
    path = tmp_path / "x.arrow"
    path.write_bytes(write(FRAME))
    assert read_frame(path).equals(FRAME)
    path.rename(tmp_path / "x.data")
    assert read_frame(tmp_path / "x.data", format="arrow").equals(FRAME)


def test_other_programs_write_and_read_it_too(tmp_path):
    table = pa.table({"user": pa.array(["a", "b", "a"]).dictionary_encode(), "n": [1, 2, 3]})
    for make in (pa.ipc.new_file, pa.ipc.new_stream):
        with make(str(tmp_path / "x.arrow"), table.schema) as sink:
            sink.write_table(table, max_chunksize=2)
        assert read_frame(tmp_path / "x.arrow").cast({"user": pl.String}).rows() == [
            ("a", 1),
            ("b", 2),
            ("a", 3),
        ]
    assert pa.ipc.open_file(io.BytesIO(write_arrow(FRAME))).read_all().num_rows == 2


def test_what_is_no_arrow_file(tmp_path):
    path = tmp_path / "x.arrow"
    path.write_bytes(b"")
    assert refused(path) == ["IT: is empty"]
    path.write_bytes(b"a,b\n1,2\n")
    assert refused(path) == ["IT: is no Arrow IPC file or stream"]
    for write in (write_arrow, stream):
        path.write_bytes(write(FRAME.clear()))
        assert refused(path) == ["IT: has no rows"]
    path.rename(tmp_path / "x.arrow.gz")
    assert refused(tmp_path / "x.arrow.gz") == ["IT: Arrow is compressed inside; unpack the file first"]


@pytest.mark.parametrize("write", [write_arrow, stream])
def test_truncated_anywhere(tmp_path, write, capfd):
    path = tmp_path / "x.arrow"
    sound = write(pl.concat([FRAME, FRAME], rechunk=False))
    for size in range(8, len(sound), max(len(sound) // 4, 1)):
        path.write_bytes(sound[:size])
        (line,) = refused(path)
        assert line.startswith(("IT: the Arrow file is damaged (", "IT: the Arrow stream file is cut off"))
    assert capfd.readouterr().err == ""


def test_flipped_bytes_are_refused_or_read_and_nothing_else_is_said(tmp_path, capfd):
    path = tmp_path / "x.arrow"
    answers = []
    for write in (write_arrow, stream):
        sound = write(FRAME)
        for place in range(20, len(sound), 120):
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


def test_without_a_second_process_damage_is_still_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.arrow"
    monkeypatch.setattr(parquet, "refuse_unreadable", lambda *_: None)
    path.write_bytes(write_arrow(FRAME)[:-40])
    (line,) = refused(path)
    assert line.startswith("IT: the Arrow file is damaged (")
    path.write_bytes(b"ARROW1")
    assert refused(path)[0].startswith("IT: the Arrow file is damaged (")


def test_a_claim_of_too_many_rows(tmp_path, monkeypatch):
    (tmp_path / "x.arrow").write_bytes(write_arrow(FRAME))
    monkeypatch.setattr(parquet, "MOST_ROWS", 1)
    assert refused(tmp_path / "x.arrow") == ["IT: claims 2 rows, at most 1 are read"]


def test_huge_cells(tmp_path):
    (tmp_path / "x.arrow").write_bytes(write_arrow(pl.DataFrame({"a": ["x", "y" * 2_000_000]})))
    (line,) = refused(tmp_path / "x.arrow")
    assert line.startswith("IT: column 'a', row 2: the cell has 2,000,000 bytes")
