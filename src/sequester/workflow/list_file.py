"""A file of lists: one JSON list of texts per line, such as the patterns that a release must hide."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sequester.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 100_000_000
"""Bytes; whoever names a larger file has taken the data for it."""


def read_lists(path: Path) -> tuple[tuple[str, ...], ...]:
    r"""Read the lists of a file; empty lines are passed over, and any other line is refused by its number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patterns.jsonl"
    ...     _ = path.write_text('["sports car", "travel"]\n["truck"]\n')
    ...     read_lists(path)
    (('sports car', 'travel'), ('truck',))
    """
    try:
        if path.stat().st_size > _LARGEST:
            msg = f"{path} is no file of lists: it is larger than {_LARGEST // 1_000_000} MB"
            raise InputError(msg)
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise InputError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text (byte {error.start + 1})"
        raise InputError(msg) from None
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return tuple(_list(path, number, line) for number, line in numbered)


def _list(path: Path, number: int, line: str) -> tuple[str, ...]:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        shown = line if len(line) <= 60 else line[:57] + "..."
        msg = f'{path.name}: line {number} must be a JSON list of texts, such as ["a", "b"], got {shown}'
        raise InputError(msg)
    return tuple(value)
