"""The UCI format of MSNBC: a line of category names, then one line of category numbers per person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order, quoted
from sequester.io.spmf import is_item

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask


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
    """Tell whether a line that begins so is no line of categories: it is a sequence, or a remark."""
    return label[:1] == "%" or label[:1].encode().isdigit()


def _read_header(contents: bytes, name: str) -> tuple[list[str], int]:
    """Give the category names and where the sequences start; lines with ``%`` are remarks."""
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
