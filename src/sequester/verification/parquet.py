"""Check a Parquet file byte by byte for anything beside its rows.

Readers pass over much of such a file: metadata, statistics, labels of a dictionary that no row has, bytes
between its parts. The walk follows the format itself (Thrift, compact protocol), unpacks nothing, and
accounts for every byte of the file: whatever it does not know is named. What is inside a compressed page is
left to the reader.
"""

from __future__ import annotations

import base64
import io
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.errors import InputError
from sequester.release.fields import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"PAR1"
_SCHEMA = b"ARROW:schema"
_WRITER = re.compile(
    rb"Polars( \((python|rust)\))?"
    rb"( version \d{1,4}(\.\d{1,4}){1,3}((a|b|rc|-alpha\.|-beta\.|-rc\.)\d{1,3})?)?"
    rb"( \(build [0-9a-f]{1,40}\))?"
)
_DEEPEST = 12
_SMALLEST_GROUP = 1_000
"""Rows of every group but the last, at least: smaller ones could tell who belongs together."""
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_ZSTD = 6
_FRAME = 0xFD2FB528
_STATISTICS = {1, 2, 3, 4, 5, 6, 7, 8}
_Struct = dict[int, Any]


class _SurplusError(Exception):
    """The file has a part that no row needs."""


@dataclass(slots=True)
class _Reader:
    """Reads Thrift's compact protocol: structs as tables of field numbers."""

    data: bytes
    at: int

    def struct(self, depth: int = 0) -> _Struct:
        if depth > _DEEPEST:
            msg = "is nested too deeply"
            raise _SurplusError(msg)
        found: _Struct = {}
        number = 0
        while head := self._byte():
            step = head >> 4
            number = number + step if step else self._integer()
            if number in found:
                msg = "names a field twice"
                raise _SurplusError(msg)
            kind = head & 15
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth + 1)
        return found

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _unsigned(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                msg = "has a number that is too large"
                raise _SurplusError(msg)

    def _integer(self) -> int:
        found = self._unsigned()
        return (found >> 1) ^ -(found & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # in a list, where booleans have a byte each
            return self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 8:
            length = self._unsigned()
            if self.at + length > len(self.data):
                raise IndexError
            self.at += length
            return self.data[self.at - length : self.at]
        if kind in (9, 10):
            head = self._byte()
            length = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, depth + 1) for _ in range(length)]
        if kind == 12:
            return self.struct(depth)
        msg = "has a field of an unknown kind"
        raise _SurplusError(msg)


def check_structure(path: Path, frame: pl.DataFrame) -> list[str]:
    """Return what a Parquet file carries beside the rows `frame`, which were read from it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> frame = pl.DataFrame({"page": ["a", "b", "a"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.parquet")
    ...     frame.write_parquet(path)
    ...     honest = check_structure(path, frame)
    ...     frame.write_parquet(path, metadata={"name": "Ann"})
    ...     honest, check_structure(path, frame)
    ([], ["a.parquet: carries metadata beside the rows: ['name']"])
    """
    try:
        _Walk(path.read_bytes(), frame).check()
    except _SurplusError as found:
        return [f"{path.name}: {found}"]
    except (IndexError, KeyError, TypeError, struct.error, AttributeError) as error:
        msg = f"{path.name} is not readable: it is not built as Parquet files are"
        raise InputError(msg) from error
    return []


@dataclass(slots=True)
class _Walk:
    data: bytes
    frame: pl.DataFrame

    def check(self) -> None:
        data = self.data
        (length,) = struct.unpack("<I", data[-8:-4])
        end = len(data) - 8 - length
        if data[:4] != _MAGIC or data[-4:] != _MAGIC or end < 4:
            raise IndexError
        reader = _Reader(data[:-8], end)
        footer = reader.struct()
        if reader.at != len(data) - 8:
            _refuse("has bytes behind its metadata")
        self._check_footer(footer)
        pieces = sorted([*self._chunks(footer), *self._indexes(footer)])
        at = 4
        for first, last in pieces:
            if first != at:
                _refuse(f"has {abs(first - at):,} bytes that belong to no column, at byte {min(first, at):,}")
            at = last
        if at != end:
            _refuse(f"has {end - at:,} bytes that belong to no column, at byte {at:,}")

    def _check_footer(self, footer: _Struct) -> None:
        _only(footer, {1, 2, 3, 4, 5, 6, 7}, "metadata")
        names = [each[1].decode(errors="replace") for each in footer.get(5, [])]
        surplus = sorted(name for name in names if name.encode() != _SCHEMA)
        if surplus or len(names) > 1:
            _refuse(f"carries metadata beside the rows: {safe_repr(surplus or names)}")
        for each in footer.get(5, []):
            _only(each, {1, 2}, "metadata")
            self._check_arrow(each[2])
        if not _WRITER.fullmatch(footer.get(6, b"Polars")):
            _refuse(f"is not written by the software that writes releases, but by {safe_repr(footer[6])}")
        root, *columns = footer[2]
        _only(root, {3, 4, 5}, "schema")
        if root[4] not in (b"root", b"schema") or [each[4] for each in columns] != [
            name.encode() for name in self.frame.columns
        ]:
            _refuse("has a schema with other names than its columns")
        for each in columns:
            _only(each, {1, 3, 4, 6, 10}, "schema")
            if any(each.get(10, {}).values()) and each[10] != {1: {}}:
                _refuse("has a schema with a type that releases do not have")
        for each in footer.get(7, []):
            if each != {1: {}}:
                _refuse("has an order of columns that releases do not have")

    def _check_arrow(self, written: bytes) -> None:
        """Compare the schema of Arrow with that of an empty table, whatever version wrote it."""
        empty = io.BytesIO()
        self.frame.clear().write_parquet(empty)
        empty.seek(0)
        usual = pl.read_parquet_metadata(empty)[_SCHEMA.decode()].encode()
        if written == usual:
            return
        # Another version of the writer: beside the names there are only small numbers, and about as many.
        text = base64.b64decode(written, validate=True)
        for name in sorted((name.encode() for name in self.frame.columns), key=len, reverse=True):
            text = text.replace(name, b"\0", 1)
        if re.search(rb"[ -\xfe]{3}", text) or len(written) > len(usual) + 100 * self.frame.width:
            _refuse(f"carries metadata beside the rows: {safe_repr([_SCHEMA.decode()])}")

    def _chunks(self, footer: _Struct) -> Iterator[tuple[int, int]]:
        """Yield the bytes of each column in each group of rows, after checking its pages."""
        row = 0
        for group in footer[4]:
            _only(group, {1, 2, 3, 5, 6, 7}, "group of rows")
            if group[3] < min(_SMALLEST_GROUP, self.frame.height - row):
                _refuse(f"has a group of {group[3]:,} rows, fewer than {_SMALLEST_GROUP:,}")
            if len(group[1]) != self.frame.width:
                _refuse("has a group of rows with other columns")
            for column, chunk in zip(self.frame.iter_columns(), group[1], strict=True):
                _only(chunk, {2, 3, 4, 5, 6, 7}, f"column {safe_repr(column.name)}")
                yield self._check_chunk(chunk[3], column.slice(row, group[3]))
            row += group[3]
        if row != self.frame.height or footer[3] != row:
            _refuse("has groups of rows that are not its rows")

    def _check_chunk(self, about: _Struct, values: pl.Series) -> tuple[int, int]:
        what = f"column {safe_repr(values.name)}"
        _only(about, {1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13}, what)
        if about[3] != [values.name.encode()] or about[5] != len(values):
            _refuse(f"{what}: has metadata of another column")
        unique = values.unique()
        self._check_statistics(about.get(12, {}), unique, what)
        for each in about.get(13, []):
            _only(each, {1, 2, 3}, what)
        start: int = about[11] if 11 in about else about[9]
        at = start
        seen = 0
        while seen < len(values):
            reader = _Reader(self.data, at)
            page = reader.struct()
            _only(page, {1, 2, 3, 5, 7, 8}, f"{what}, a page")
            at = reader.at + page[3]
            if about[4] == _ZSTD:
                _check_frame(self.data[reader.at + _levels(page) : at], what)
            if page[1] == _DICTIONARY:
                self._check_dictionary(page, unique, what)
                continue
            head = page[5] if page[1] == _DATA else page[8]
            _only(head, {1, 2, 3, 4, 5} if page[1] == _DATA else set(range(1, 9)), f"{what}, a page")
            self._check_statistics(head.get(5 if page[1] == _DATA else 8, {}), unique, what)
            if head[1] < 1:
                _refuse(f"{what}: has a page without values")
            seen += head[1]
        if seen != len(values) or at - start != about[7]:
            _refuse(f"{what}: has pages that are not its values")
        # Some versions of the writer repeat the metadata behind the pages.
        reader = _Reader(self.data, at)
        if self.data[at : at + 1] == b"\x15" and reader.struct() == about:
            at = reader.at
        return start, at

    @staticmethod
    def _check_dictionary(page: _Struct, unique: pl.Series, what: str) -> None:
        _only(page[7], {1, 2, 3}, f"{what}, the dictionary")
        size = len(unique) * 8
        if unique.dtype == pl.String:
            size = int(unique.str.len_bytes().cast(pl.Int64).sum()) + 4 * len(unique)
        if page[7][1] != len(unique) or page[2] != size:
            _refuse(
                f"{what}: has a dictionary of {page[7][1]:,} values in {page[2]:,} bytes, and "
                f"{len(unique):,} values of {size:,} bytes are in the rows"
            )

    @staticmethod
    def _check_statistics(given: _Struct, unique: pl.Series, what: str) -> None:
        _only(given, _STATISTICS, f"{what}, its statistics")
        for number, known in ((3, 0), (4, len(unique))):
            if given.get(number, known) != known:
                _refuse(f"{what}: has statistics that are not those of the rows")
        for number in (1, 2, 5, 6):
            if number in given and not _is_value(given[number], unique):
                _refuse(
                    f"{what}: has statistics with a value that is not in the rows: {safe_repr(given[number])}"
                )

    def _indexes(self, footer: _Struct) -> Iterator[tuple[int, int]]:
        """Yield the bytes of the two indexes of each column, after checking them."""
        row = 0
        for group in footer[4]:
            for column, chunk in zip(self.frame.iter_columns(), group[1], strict=True):
                what = f"column {safe_repr(column.name)}, its index"
                if 4 in chunk:
                    index = self._index(chunk[4], chunk[5], {1, 2}, what)
                    for place in index[1]:
                        _only(place, {1, 2, 3}, what)
                    yield chunk[4], chunk[4] + chunk[5]
                if 6 in chunk:
                    index = self._index(chunk[6], chunk[7], {1, 2, 3, 4, 5, 6, 7}, what)
                    unique = column.slice(row, group[3]).unique()
                    for value in (*index[2], *index[3]):
                        if not _is_value(value, unique):
                            _refuse(f"{what}: has a value that is not in the rows: {safe_repr(value)}")
                    yield chunk[6], chunk[6] + chunk[7]
            row += group[3]

    def _index(self, at: int, length: int, known: set[int], what: str) -> _Struct:
        reader = _Reader(self.data, at)
        index = reader.struct()
        if reader.at != at + length:
            _refuse(f"{what}: has bytes behind it")
        _only(index, known, what)
        return index


def _levels(page: _Struct) -> int:
    """Return the bytes of a page that stand before what is compressed."""
    return int(page[8].get(5, 0) + page[8].get(6, 0)) if page[1] == _DATA_V2 else 0


def _check_frame(packed: bytes, what: str) -> None:
    """Refuse compressed bytes that are more than one frame of zstd (RFC 8878): readers skip others."""
    if not packed:
        return
    (magic,) = struct.unpack("<I", packed[:4])
    if magic != _FRAME:
        _refuse(f"{what}: has a page that is not compressed as releases are")
    flags = packed[4]
    is_single = flags >> 5 & 1
    at = 5 + (1 - is_single) + (0, 1, 2, 4)[flags & 3]
    at += (is_single, 2, 4, 8)[flags >> 6]
    is_last = False
    while not is_last:
        head = int.from_bytes(packed[at : at + 3], "little")
        is_last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
        at += 3 + (1 if kind == 1 else size)
        if at > len(packed):
            raise IndexError
    at += 4 if flags >> 2 & 1 else 0
    if at != len(packed):
        _refuse(f"{what}: has {len(packed) - at:,} bytes behind the values of a page")


def _is_value(written: bytes, unique: pl.Series) -> bool:
    """Return whether a value of the statistics is in the rows; long text may be cut short there."""
    if unique.dtype != pl.String:
        return len(written) == 8 and int.from_bytes(written, "little", signed=True) in unique
    if unique.eq(written.decode(errors="replace")).any():
        return True
    # The largest value is cut with its last byte counted up.
    begins = {written, written[:-1] + bytes([max(written[-1], 1) - 1])} if len(written) >= 32 else set()
    return any(text.encode().startswith(tuple(begins)) for text in unique.to_list()) if begins else False


def _only(found: _Struct, known: set[int], what: str) -> None:
    surplus = sorted(set(found) - known)
    if surplus:
        _refuse(f"{what}: has a field that releases do not have, number {surplus[0]} of the Parquet format")


def _refuse(reason: str) -> None:
    raise _SurplusError(reason)
