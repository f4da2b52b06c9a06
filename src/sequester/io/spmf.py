"""Read and write text files of sequences: SPMF, and one person per line (``.seq``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order, quoted
from sequester.io.contents import as_utf8

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask


_HEADER = "@CONVERTED_FROM_TEXT"
_ITEM = re.compile(rb"^[ \t]*@ITEM=([^=\n]*)=([^\n]*)$", re.MULTILINE)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")


def read_spmf(contents: bytes, name: str, *, encoding: str = "utf-8") -> pl.DataFrame:
    r"""Read the contents of a file called `name` into the columns ``person``, ``order`` and ``symbol``.

    The person is the number of the sequence, the order the place of the itemset in it, both from 1; items of
    one itemset are rows of one order. The symbol is the item's name where a line ``@ITEM=number=name`` gives
    one, the number otherwise. Lines that begin with ``#``, ``%`` or ``@`` are no sequences.

    Examples
    --------
    >>> read_spmf(b"@ITEM=1=bread\n1 2 -1 1 -1 -2\n2 -1 -2\n", "example.spmf").rows()
    [(1, 1, 'bread'), (1, 1, '2'), (1, 2, 'bread'), (2, 1, '2')]
    """
    contents = as_utf8(contents, name, encoding)
    items, places, offsets, fault, line = kernels.itemsets.parse_itemsets(np.frombuffer(contents, np.uint8))
    if fault:
        msg = f"{name}: line {line + 1:,}: {_fault_text(fault)}"
        raise InputError(msg)
    if not len(items):
        msg = f"{name}: has no sequences"
        raise InputError(msg)
    names = _read_names(contents, name)
    lengths = np.diff(offsets)
    return pl.DataFrame(
        {
            "person": np.repeat(np.arange(1, len(lengths) + 1, dtype=np.int64), lengths),
            "order": places.astype(np.int64),
            SYMBOL: _symbols(items, names, name),
        }
    )


def write_spmf(symbols: pl.Series, sequence_starts: Mask, itemset_starts: Mask) -> bytes:
    r"""Write symbols as SPMF text; the masks mark where sequences and itemsets begin.

    Symbols that are all numbers are the items. Otherwise symbols are numbered from 1 in label order, and the
    header names them.

    Examples
    --------
    >>> starts = np.array([True, False, True])
    >>> print(write_spmf(pl.Series(["7", "8", "7"]), starts, starts).decode().rstrip())
    7 8 -1 -2
    7 -1 -2
    >>> print(write_spmf(pl.Series(["b", "a", "b"]), starts, starts | True).decode().rstrip())
    @CONVERTED_FROM_TEXT
    @ITEM=1=a
    @ITEM=2=b
    2 -1 1 -1 -2
    2 -1 -2
    """
    labels = in_label_order(symbols.unique().to_list())
    header = ""
    if not all(map(is_item, labels)):
        _check_names(labels)
        header = "".join(f"@ITEM={number}={label}\n" for number, label in enumerate(labels, start=1))
        header = f"{_HEADER}\n{header}"
        symbols = symbols.replace_strict(labels, [str(number) for number in range(1, len(labels) + 1)])
    itemset_ends = np.append((itemset_starts | sequence_starts)[1:], True)
    sequence_ends = np.append(sequence_starts[1:], True)
    ends = pl.Series([" ", " -1 ", " -1 -2\n"]).gather(itemset_ends.astype(np.int8) + sequence_ends)
    sequences: str = (symbols + ends).str.join("").item()
    return (header + sequences).encode()


def is_item(label: str) -> bool:
    """Return whether a label is a number as items are written: ``7``, and not ``07``."""
    return _NUMBER.fullmatch(label) is not None and int(label) <= kernels.itemsets.LARGEST


def _check_names(labels: list[str]) -> None:
    for label in labels:
        if re.search(r"[\n\r\0]", label):
            msg = f"SPMF cannot hold the symbol {quoted(label)}: it has a line end or a NUL"
            raise InputError(msg)


def _fault_text(fault: int) -> str:
    book = kernels.itemsets
    return {
        book.NO_NUMBER: "something is no whole number; a sequence has numbers, -1 and -2",
        book.TOO_LARGE: f"an item is above {book.LARGEST:,}",
        book.NEGATIVE: "a number below zero is neither -1 (end of an itemset) nor -2 (end of a sequence)",
        book.NO_END: "the sequence does not end with -2",
        book.GOES_ON: "the line goes on after -2",
        book.OPEN_ITEMSET: "the last itemset does not end with -1",
        book.EMPTY_ITEMSET: "an itemset has no items",
        book.EMPTY_SEQUENCE: "the sequence has no items",
    }[fault]


def _read_names(contents: bytes, name: str) -> dict[int, str]:
    """Read what the header calls the items; SPMF's own marks have names there too, which are no matter."""
    if b"@ITEM=" not in contents:
        return {}
    names: dict[int, str] = {}
    for match in _ITEM.finditer(contents):
        try:
            item, label = int(match[1]), match[2].removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            msg = f"{name}: {_line(match)} is not UTF-8; set encoding"
            raise InputError(msg) from None
        except ValueError:
            msg = f"{name}: {_line(match)}: {quoted(match[1].decode(errors='replace'))} is no item"
            raise InputError(msg) from None
        if names.setdefault(item, label) != label:
            both = f"{quoted(names[item])} and {quoted(label)}"
            msg = f"{name}: {_line(match)}: item {item} is called {both}"
            raise InputError(msg)
    return {item: label for item, label in names.items() if item >= 0 and label}


def _line(match: re.Match[bytes]) -> str:
    """Return the line in which a match begins, as text."""
    n_before = match.string.count(b"\n", 0, match.start())
    return f"line {n_before + 1:,}"


def _symbols(items: Codes, names: dict[int, str], name: str) -> pl.Series:
    """Return the name of each item, or its number; no two items may look alike."""
    if not names:
        return pl.Series(items).cast(pl.String)
    distinct, places = np.unique(items, return_inverse=True)
    labels: dict[str, int] = {}
    for item in distinct.tolist():
        label = names.get(item, str(item))
        if labels.setdefault(label, item) != item:
            msg = f"{name}: items {labels[label]} and {item} are both called {quoted(label)}"
            raise InputError(msg)
    return pl.Series(list(labels), dtype=pl.String).gather(places)


def read_seq(contents: bytes, name: str) -> pl.DataFrame:
    r"""Read the contents of a file called `name` into the columns ``person``, ``order`` and ``symbol``.

    The person is the number of the line among the sequences, the order the place in the line, both from 1.
    The symbol is the category's name where the header lists names (1 is the first), the number otherwise.
    Lines without a number are no sequences.

    Examples
    --------
    >>> read_seq(b"% categories:\n\nnews tech\n\n% Sequences:\n\n1 1 \n2 \n", "example.seq").rows()
    [(1, 1, 'news'), (1, 2, 'news'), (2, 1, 'tech')]
    """
    categories, start = _read_header(contents, name)
    data = np.frombuffer(contents, np.uint8, offset=start)
    numbers, offsets, faulty = kernels.number_lines.parse_number_lines(data)
    if faulty >= 0:
        line = contents.count(b"\n", 0, start) + faulty + 1
        msg = f"{name}: line {line:,} is no row of numbers between blanks"
        raise InputError(msg)
    if not len(numbers):
        msg = f"{name}: has no sequences"
        raise InputError(msg)
    lengths = np.diff(offsets)
    person = np.repeat(np.arange(1, len(lengths) + 1, dtype=np.int64), lengths)
    if categories:
        _check_numbers(numbers, person, len(categories), name)
        symbol = pl.Series(categories, dtype=pl.String).gather(numbers - 1)
    else:
        symbol = pl.Series(numbers).cast(pl.String)
    order = np.arange(1, len(numbers) + 1, dtype=np.int64) - np.repeat(offsets[:-1], lengths)
    return pl.DataFrame({"person": person, "order": order, SYMBOL: symbol})


def write_seq(symbols: pl.Series, sequence_starts: Mask) -> bytes:
    r"""Write symbols as sequences; the mask marks where they begin.

    Symbols that are all numbers stay numbers. Otherwise they are categories, numbered from 1.

    Examples
    --------
    >>> print(write_seq(pl.Series(["7", "8", "7"]), np.array([True, False, True])).decode().rstrip())
    7 8
    7
    """
    labels = in_label_order(symbols.unique().to_list())
    header = ""
    if not all(map(is_item, labels)):
        labels = _in_line(labels)
        header = f"% Different categories found in input file:\n\n{' '.join(labels)}\n\n\n% Sequences:\n\n"
        symbols = symbols.replace_strict(labels, [str(number) for number in range(1, len(labels) + 1)])
    ends = pl.Series([" ", "\n"]).gather(np.append(sequence_starts[1:], True).astype(np.uint8))
    sequences: str = (symbols + ends).str.join("").item()
    return (header + sequences).encode()


def _in_line(labels: list[str]) -> list[str]:
    """Put the labels in an order in which they are read as a line of categories."""
    for label in labels:
        if label.split() != [label] or "\0" in label:
            msg = f"the seq format cannot hold the symbol {quoted(label)}: it has a blank"
            raise InputError(msg)
    ordered = sorted(labels, key=_looks_unlike_one)
    if _looks_unlike_one(ordered[0]):
        msg = f"the seq format cannot hold the symbol {quoted(ordered[0])}: categories begin with a letter"
        raise InputError(msg)
    return ordered


def _looks_unlike_one(label: str) -> bool:
    """Return whether a line that begins so is no line of categories: it is a sequence, or a remark."""
    return label[:1] == "%" or label[:1].encode().isdigit()


def _read_header(contents: bytes, name: str) -> tuple[list[str], int]:
    """Return the category names and where the sequences start; lines with ``%`` are remarks."""
    categories: list[str] = []
    start = 0
    while start < len(contents):
        end = contents.find(b"\n", start) + 1 or len(contents)
        text = contents[start:end].strip()
        if text and not text.startswith(b"%"):
            if text[:1].isdigit():
                break
            try:
                categories += text.decode().split()
            except UnicodeDecodeError:
                line = contents.count(b"\n", 0, start) + 1
                msg = f"{name}: line {line:,} is no text"
                raise InputError(msg) from None
        start = end
    twice = sorted({word for word in categories if categories.count(word) > 1})
    if twice:
        msg = f"{name}: category {twice[0]!r} is listed more than once"
        raise InputError(msg)
    return categories, start


def _check_numbers(numbers: Codes, person: Counts, n_categories: int, name: str) -> None:
    outside = np.flatnonzero((numbers < 1) | (numbers > n_categories))
    if len(outside):
        lines = ", ".join(f"{line:,}" for line in np.unique(person[outside])[:5].tolist())
        msg = (
            f"{name}: number {numbers[outside[0]]} is no category, there are {n_categories} "
            f"({len(outside):,} numbers, first in sequences {lines})"
        )
        raise InputError(msg)
