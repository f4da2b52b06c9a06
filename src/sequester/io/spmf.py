"""Read and write text files of sequences: SPMF, and one person per line (``.seq``)."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order, quoted
from sequester.io.contents import as_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts, Mask


_HEADER = "@CONVERTED_FROM_TEXT"
_ITEM = re.compile(rb"^[ \t]*@ITEM=([^=\n]*)=([^\n]*)$", re.MULTILINE)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
LARGEST = 2**31 - 1
"""Items above are refused: codes have 32 bits."""


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
    words, lines = _words(contents, remarks=b"#%@")
    is_number = _mask(words.str.contains(r"^-?[0-9]+$"))
    is_negative = _mask(words.str.starts_with("-"))
    size = words.str.strip_prefix("-").cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    is_item, is_end = is_number & ~is_negative, is_negative & (size == 2)
    ends_itemset = is_negative & (size == 1)
    starts = np.append(True, lines[1:] != lines[:-1])[: len(lines)]
    after_item = np.append(False, is_item[:-1])[: len(lines)] & ~starts
    _refuse_first(
        name,
        lines,
        {
            "something is not a whole number; a sequence has numbers, -1 and -2": ~is_number,
            f"an item is above {LARGEST:,}": is_number & ((size < 0) | (size > LARGEST)),
            "the line goes on after -2": _count_before(is_end, starts) > 0,
            "an itemset has no items": ends_itemset & ~after_item,
            "the last itemset does not end with -1": is_end & after_item,
            "the sequence has no items": is_end & starts,
            "a number below zero is neither -1 (end of an itemset) nor -2 (end of a sequence)": is_negative
            & ~ends_itemset
            & ~is_end,
            "the sequence does not end with -2": np.append(starts[1:], True)[: len(lines)] & ~is_end,
        },
    )
    if not is_item.any():
        msg = f"{name}: has no sequences"
        raise InputError(msg)
    return pl.DataFrame(
        {
            "person": np.cumsum(starts)[is_item],
            "order": (_count_before(ends_itemset, starts) + 1)[is_item],
            SYMBOL: _symbols(size[is_item], _read_names(contents, name), name),
        }
    )


def _words(contents: bytes, remarks: bytes = b"") -> tuple[pl.Series, Counts]:
    """Return the words between blanks and the line of each, from 0; lines that begin as remarks have none."""
    text = contents.translate(bytes.maketrans(b"\t\r", b"  ")).decode(errors="replace")
    lines = pl.Series([text]).str.split("\n").explode()
    if any(mark in contents for mark in remarks):
        lines = lines.set(lines.str.contains(f"^ *[{remarks.decode()}]"), "")
    words = lines.str.split(" ")
    numbers = np.repeat(np.arange(len(lines)), words.list.len().to_numpy())
    words = words.explode()
    is_word = words != ""
    return words.filter(is_word), numbers[is_word.to_numpy()]


def _mask(marks: pl.Series) -> Mask:
    return marks.to_numpy().astype(np.bool_)


def _count_before(marks: Mask, starts: Mask) -> Counts:
    """Count the marked words that come before each word in its line; `starts` marks the first of a line."""
    before: Counts = np.cumsum(marks) - marks
    return before - np.maximum.accumulate(np.where(starts, before, 0))


def _refuse_first(name: str, lines: Counts, faults: Mapping[str, Mask]) -> None:
    """Refuse the first word that has a fault, by its line."""
    found = [(int(mask.argmax()), fault) for fault, mask in faults.items() if mask.any()]
    if found:
        place, fault = min(found, key=itemgetter(0))
        msg = f"{name}: line {lines[place] + 1:,}: {fault}"
        raise InputError(msg)


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
    return _NUMBER.fullmatch(label) is not None and int(label) <= LARGEST


def _check_names(labels: list[str]) -> None:
    for label in labels:
        if re.search(r"[\n\r\0]", label):
            msg = f"SPMF cannot hold the symbol {quoted(label)}: it has a line end or a NUL"
            raise InputError(msg)


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
            msg = f"{name}: {_line(match)}: {quoted(match[1].decode(errors='replace'))} is not an item"
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


def _symbols(items: Counts, names: dict[int, str], name: str) -> pl.Series:
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
    words, lines = _words(contents[start:])
    numbers = words.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    is_wrong = ~_mask(words.str.contains("^[0-9]+$")) | (numbers < 0) | (numbers > LARGEST)
    if is_wrong.any():
        line = contents.count(b"\n", 0, start) + int(lines[is_wrong.argmax()]) + 1
        msg = f"{name}: line {line:,} is not a row of numbers between blanks"
        raise InputError(msg)
    if not len(numbers):
        msg = f"{name}: has no sequences"
        raise InputError(msg)
    starts = np.append(True, lines[1:] != lines[:-1])
    person = np.cumsum(starts)
    if categories:
        _check_numbers(numbers, person, len(categories), name)
        symbol = pl.Series(categories, dtype=pl.String).gather(numbers - 1)
    else:
        symbol = pl.Series(numbers).cast(pl.String)
    order = _count_before(np.ones(len(numbers), np.bool_), starts) + 1
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
                msg = f"{name}: line {line:,} is not text"
                raise InputError(msg) from None
        start = end
    twice = sorted({word for word in categories if categories.count(word) > 1})
    if twice:
        msg = f"{name}: category {twice[0]!r} is listed more than once"
        raise InputError(msg)
    return categories, start


def _check_numbers(numbers: Counts, person: Counts, n_categories: int, name: str) -> None:
    outside = np.flatnonzero((numbers < 1) | (numbers > n_categories))
    if len(outside):
        lines = ", ".join(f"{line:,}" for line in np.unique(person[outside])[:5].tolist())
        msg = (
            f"{name}: number {numbers[outside[0]]} is not a category, there are {n_categories} "
            f"({len(outside):,} numbers, first in sequences {lines})"
        )
        raise InputError(msg)
