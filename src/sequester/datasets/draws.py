"""What the generators share: a stream of chance from a text, and who has how many events."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range

if TYPE_CHECKING:
    from sequester._typing import Counts


def generator(name: str, seed: str) -> np.random.Generator:
    """Make a generator that gives the same draws for the same name and seed on every machine."""
    digest = hashlib.sha256(f"{name}\n{seed}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


MOST_PERSONS = 10_000_000
"""More are refused: their events would fill the memory of most machines."""


def check_n_persons(persons: int) -> None:
    """Refuse a number of persons that cannot be made."""
    in_range("persons", persons, 1, MOST_PERSONS)


def repeat_keys(prefix: str, lengths: Counts) -> pl.Series:
    """Name persons ``prefix`` and a number of equal width, once for each of their events."""
    width = len(str(max(len(lengths), 1)))
    numbers = pl.Series(np.arange(1, len(lengths) + 1)).cast(pl.String).str.zfill(width)
    return (prefix + numbers).gather(np.repeat(np.arange(len(lengths)), lengths))
