"""The name tells the format, and what cannot be read is said in one line."""

from __future__ import annotations

import gzip
import os

import pandas as pd
import polars as pl
import pytest

from sequester.errors import InputError
from sequester.io import FORMATS, read_frame
from sequester.io import contents as contents_module

FRAME = pl.DataFrame({"user": ["a", "b"], "n": [1, 2], "page": ["x", None]})


def refused(source, **options):
    with pytest.raises(InputError) as caught:
        read_frame(source, **options)
    return [line.replace(str(source), "IT") for line in caught.value.lines]


def test_csv_tsv_and_gz_by_name(tmp_path):
    for name, text in {"v.csv": "a,b\n1,2\n", "v.TSV": "a\tb,c\n1\t2\n", "v.csv.gz": "a;b\n1;2\n"}.items():
        data = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
        (tmp_path / name).write_bytes(data)
        assert read_frame(tmp_path / name).rows() == [("1", "2")]
    assert read_frame(str(tmp_path / "v.TSV")).columns == ["a", "b,c"]


def test_the_format_may_be_given_where_the_name_does_not_tell(tmp_path):
    path = tmp_path / "visits.dat"
    path.write_bytes(gzip.compress(b"a|b\n1|2\n"))
    assert refused(path) == [
        f"IT: the name does not tell the format; set format to one of {', '.join(FORMATS)}"
    ]
    assert read_frame(path, format="csv").rows() == [("1", "2")]
    assert read_frame(path, format="csv", delimiter=";").columns == ["a|b"]


def test_what_is_no_format_is_said(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"x")
    assert refused(path, format="excel") == [
        "format must be one of csv, spmf, seq, xes, parquet, arrow, got 'excel'"
    ]


def test_frames_are_taken_as_they_are():
    assert read_frame(FRAME) is FRAME
    assert read_frame(pd.DataFrame({"a": [1]})).rows() == [(1,)]


def test_links_are_fine(tmp_path):
    (tmp_path / "real.csv").write_text("a,b\n1,2\n")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert read_frame(tmp_path / "link.csv").rows() == [("1", "2")]
    (tmp_path / "dead.csv").symlink_to("nowhere.csv")
    assert refused(tmp_path / "dead.csv") == ["IT: no such file or directory"]


def test_paths_that_lead_nowhere(tmp_path, monkeypatch):
    assert refused(tmp_path / "none.csv") == ["IT: no such file or directory"]
    assert refused(tmp_path / ("x" * 300 + ".csv")) == ["IT: file name too long"]
    assert refused(tmp_path / "a\0b.csv") == ["IT: a path cannot have a NUL in it"]
    os.mkfifo(tmp_path / "pipe.csv")
    assert refused(tmp_path / "pipe.csv") == ["IT: is neither a file nor a folder"]
    assert refused(tmp_path) == ["IT: is a folder without .parquet files"]
    assert refused(tmp_path, format="csv") == ["IT: is a folder, and only Parquet is read from folders"]
    (tmp_path / "empty.csv").write_bytes(b"")
    assert refused(tmp_path / "empty.csv") == ["IT: is empty"]
    (tmp_path / "empty.csv.gz").write_bytes(gzip.compress(b""))
    assert refused(tmp_path / "empty.csv.gz") == ["IT: is empty"]
    # Root may read everything, so the answer of the system is played.
    monkeypatch.setattr(contents_module.os, "access", lambda path, mode: False)
    assert refused(tmp_path / "empty.csv") == ["IT: permission denied"]


def test_a_file_that_disappears_or_fails_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")

    def fail(self, mode):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(type(path), "open", fail)
    assert refused(path) == ["IT: input/output error"]
    assert refused(path, format="parquet") == ["IT: input/output error"]


TEXT = b"user,page\n" + b"".join(b"%d,page %d\n" % (i, i * 7919 % 1000) for i in range(3000))


def test_truncated_gzip_at_every_kind_of_place(tmp_path):
    path = tmp_path / "x.csv.gz"
    packed = gzip.compress(TEXT)
    for size in (2, 5, 12, len(packed) // 2, len(packed) - 8, len(packed) - 1):
        path.write_bytes(packed[:size])
        assert refused(path) == ["IT: the gzip file is cut off"]


def test_damaged_gzip(tmp_path):
    path = tmp_path / "x.csv.gz"
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 1
    path.write_bytes(packed)
    (line,) = refused(path)
    assert line.startswith("IT: the gzip file is damaged (CRC check failed")
    path.write_bytes(gzip.compress(TEXT) + b"garbage")
    assert refused(path) == ["IT: the gzip file is damaged (Not a gzipped file (b'ga'))"]
    path.write_bytes(TEXT)
    assert refused(path) == ["IT: is named .gz and is not a gzip file"]


def test_several_members_and_padding(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(
        gzip.compress(TEXT[:1000]) + gzip.compress(b"") + gzip.compress(TEXT[1000:]) + b"\0" * 512
    )
    assert read_frame(path).height == 3000


def test_gzip_bombs_stop_early(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    member = gzip.compress(b"a" * 2**26)
    path.write_bytes(member * 32)
    assert path.stat().st_size < 3 * 2**20
    (line,) = refused(path)
    assert line.startswith("IT: unpacks to more than 2")
    assert line.endswith(", as no honest table does")


def test_a_repetitive_but_honest_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(contents_module, "ALWAYS_FINE", 1000)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(TEXT))
    assert read_frame(path).height == 3000
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    assert refused(path)[0].endswith("as no honest table does")
    monkeypatch.setattr(contents_module, "LARGEST", 10_000)
    path.write_bytes(gzip.compress(TEXT))
    assert refused(path)[0].endswith("as no honest table does")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_column_whose_name_is_a_pattern_is_refused(tmp_path, ending):
    frame = pl.DataFrame({"u": ["a"], "^x$": ["b"]})
    path = tmp_path / f"t.{ending}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[ending](path)
    with pytest.raises(InputError, match=r"column '\^x\$' has a name from \^ to \$, which is a pattern"):
        read_frame(path)


def test_text_is_delimited_text_unless_told(tmp_path):
    path = tmp_path / "visits.txt"
    path.write_text("who;what\n1;-2\n")
    assert read_frame(path).rows() == [("1", "-2")]
    path.write_text("1 -1 -2\n1 -1 -2\n")
    with pytest.raises(InputError, match="looks like SPMF"):
        read_frame(path)
    assert read_frame(path, format="spmf").height == 2
    assert read_frame(path, format="csv").columns == ["1 -1 -2"]
