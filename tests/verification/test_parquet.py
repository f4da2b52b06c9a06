"""A compressed page holds one frame of zstd, and nothing behind it that readers skip."""

from __future__ import annotations

import struct

import pytest

from sequester.verification.parquet import _check_frame, _SurplusError

pytestmark = pytest.mark.second_process

VALUES = b"values"
FRAME = (
    struct.pack("<I", 0xFD2FB528)
    + bytes([0x20, len(VALUES)])  # one segment, its size in one byte
    + (len(VALUES) << 3 | 1).to_bytes(3, "little")  # the last block, as it is
    + VALUES
)
NAME = b"Ann Smith has HIV"


def test_one_frame_holds():
    _check_frame(FRAME, "column 'x'")
    _check_frame(b"", "column 'x'")


@pytest.mark.parametrize(
    "behind", [struct.pack("<II", 0x184D2A50, len(NAME)) + NAME, NAME, FRAME, b"\0"], ids=str
)
def test_what_is_behind_the_frame_is_refused(behind):
    with pytest.raises(_SurplusError, match=f"{len(behind)} bytes behind the values"):
        _check_frame(FRAME + behind, "column 'x'")


def test_what_is_no_frame_is_refused():
    with pytest.raises(_SurplusError, match="not compressed as releases are"):
        _check_frame(NAME, "column 'x'")


def test_a_frame_that_is_cut_off_cannot_be_read():
    with pytest.raises(IndexError):
        _check_frame(FRAME[:-1], "column 'x'")
