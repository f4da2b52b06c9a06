"""What the generators share: a stream of chance from a text, and who has how many events."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.errors import ParameterError

if TYPE_CHECKING:
    from sequester._typing import Counts, Offsets


def generator(name: str, seed: str) -> np.random.Generator:
    """Make a generator that gives the same draws for the same name and seed on every machine."""
    digest = hashlib.sha256(f"{name}\n{seed}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


MOST_PERSONS = 10_000_000
"""More are refused: their events would fill the memory of most machines."""


def check_persons(persons: int) -> None:
    """Refuse a number of persons that cannot be made."""
    check_at_least("persons", persons, 1)
    check_at_most("persons", persons, MOST_PERSONS)


def check_at_most(name: str, value: float, most: int) -> None:
    """Refuse a parameter above its range."""
    if value > most:
        msg = f"{name} must be at most {most:,}, got {value:,}"
        raise ParameterError(msg)


def check_at_least(name: str, value: float, least: float) -> None:
    """Refuse a parameter below its range."""
    if not value >= least:
        msg = f"{name} must be at least {least}, got {value}"
        raise ParameterError(msg)


def check_share(name: str, value: float) -> None:
    """Refuse a parameter that is no share of a whole."""
    if not 0 <= value <= 1:
        msg = f"{name} must be between 0 and 1, got {value}"
        raise ParameterError(msg)


def offsets_of(lengths: Counts) -> Offsets:
    """Delimit persons who have `lengths` events."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def repeat_keys(prefix: str, lengths: Counts) -> pl.Series:
    """Name persons ``prefix`` and a number of equal width, once for each of their events."""
    width = len(str(max(len(lengths), 1)))
    numbers = pl.Series(np.arange(1, len(lengths) + 1)).cast(pl.String).str.zfill(width)
    return (prefix + numbers).gather(np.repeat(np.arange(len(lengths)), lengths))
