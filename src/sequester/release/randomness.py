"""Random numbers for every purpose, from one seed through HMAC-SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

SHORT_SEED = 16
"""A seed with fewer characters can be guessed, and with it the shuffle undone."""


def seed_warnings(seed: str) -> tuple[str, ...]:
    """Return a warning where a seed is so short that it can be guessed.

    Examples
    --------
    >>> len(seed_warnings("a sentence nobody guesses")), len(seed_warnings("guess"))
    (0, 1)
    """
    if len(seed) >= SHORT_SEED:
        return ()
    line = f"the seed has {len(seed)} characters, fewer than {SHORT_SEED}: "
    return (f"{line}an adversary who guesses it can undo the shuffle of persons",)


@dataclass(frozen=True)
class Randomness:
    """Draws for a named purpose: the same seed gives the same draws, and purposes are independent.

    Examples
    --------
    >>> kept = Randomness.of("a sentence nobody guesses")
    >>> kept.pseudonyms(2).tolist() == Randomness.of("a sentence nobody guesses").pseudonyms(2).tolist()
    True
    >>> Randomness.of(None).seed == Randomness.of(None).seed
    False
    """

    seed: str
    """The steward's text, or 128 fresh bits from the system in hexadecimal."""

    @classmethod
    def of(cls, seed: str | None) -> Randomness:
        """Return randomness from the seed given, or from one drawn from the system."""
        return cls(secrets.token_hex(16) if seed is None else seed)

    @cached_property
    def key(self) -> bytes:
        """The 128-bit key that all draws are made under."""
        return hmac.digest(b"sequester", self.seed.encode(), "sha256")[:16]

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a generator for the choices of a method."""
        digest = hmac.digest(self.key, f"generator {purpose}".encode(), "sha256")
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))

    def numbers(self, purpose: str, count: int) -> npt.NDArray[np.uint64]:
        """Return 64-bit numbers that look random without the key: HMAC in counter mode."""
        # The two halves of HMAC, keyed once: half the time of a keyed object per block.
        block_key = self.key.ljust(64, b"\0")
        inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block_key) + f"numbers {purpose} ".encode())
        outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block_key))
        blocks = []
        for number in range(-(-count // 4)):
            inside, outside = inner.copy(), outer.copy()
            inside.update(number.to_bytes(8, "big"))
            outside.update(inside.digest())
            blocks.append(outside.digest())
        return np.frombuffer(b"".join(blocks), ">u8").astype(np.uint64)[:count]

    def pseudonyms(self, count: int, *, about: str = "") -> npt.NDArray[np.uint64]:
        """Return as many different numbers as there are persons; their order is a random order of persons.

        `about` names the data that they are for: other data, other pseudonyms, also under the same seed.
        """
        attempt = 0
        while True:
            drawn = self.numbers(f"pseudonyms {about} {attempt}", count)
            if np.unique(drawn).size == count:
                return drawn
            attempt += 1


def pseudonym_labels(numbers: npt.NDArray[np.uint64]) -> list[str]:
    """Return pseudonyms in the order of the numbers, in a form that no reader takes for numbers.

    Examples
    --------
    >>> pseudonym_labels(np.array([255, 16], np.uint64))
    ['p00000000000000ff', 'p0000000000000010']
    """
    text = numbers.astype(">u8").tobytes().hex()
    return ["p" + text[i : i + 16] for i in range(0, len(text), 16)]
