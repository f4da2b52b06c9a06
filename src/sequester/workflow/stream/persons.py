"""Who was published in several snapshots of a stream, in keyed hashes and in constant memory.

A published snapshot leaves one sorted run of keys. Runs are folded into 256 parts, by the first bits of the
keys, when there are many of them; so a fold or a count needs the runs and one part at a time. The lowest bit
of a key says that its person was in several snapshots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.release.randomness import Randomness
    from sequester.workflow.stream.state import State

    Keys = npt.NDArray[np.uint64]

PARTS = 256
"""Parts that the persons of a stream are kept in."""
MOST_RUNS, MOST_KEYS = 64, 4_000_000
"""Runs and keys after which runs are folded into the parts."""
_MARK = np.uint64(1)
_WORD = 8
_AT_ONCE = 8192
"""Persons whose states stay in the processor's cache."""


class PersonNumbers:
    """Numbers persons by SipHash-2-4 of their keys: the same person has the same number in every run.

    Two persons of one number would be kept apart from each other, which breaks no promise, and count as one.

    Examples
    --------
    >>> numbers = PersonNumbers(bytes(range(16)))
    >>> [f"{each:016x}" for each in numbers(pl.Series(["", chr(0)])).view(np.uint64)]
    ['726fdb47dd0e0e31', '74f839c593dc67fd']
    """

    def __init__(self, key: bytes) -> None:
        self._halves = np.frombuffer(key, "<u8").astype(np.uint64)

    @classmethod
    def of(cls, randomness: Randomness) -> PersonNumbers:
        """Draw the key from the seed of the stream."""
        return cls(randomness.numbers("persons of a stream", 2).tobytes())

    def __call__(self, persons: pl.Series) -> Counts:
        """Return the number of each person."""
        padded = (persons + "\0" * _WORD).cast(pl.Binary)
        lengths = persons.str.len_bytes().to_numpy()
        numbers = np.empty(len(persons), np.uint64)
        # Mostly all keys are about as long, so that a few rounds of whole arrays do.
        for n_words in np.unique(lengths // _WORD).tolist():
            rows = np.flatnonzero(lengths // _WORD == n_words)
            ours = padded if rows.size == len(persons) else padded.gather(rows)
            words = [
                ours.bin.slice(_WORD * place, _WORD)
                .bin.reinterpret(dtype=pl.UInt64, endianness="little")
                .to_numpy()
                for place in range(n_words + 1)
            ]
            words[-1] = words[-1] | lengths[rows].astype(np.uint64) << np.uint64(56)
            for start in range(0, rows.size, _AT_ONCE):
                block = slice(start, start + _AT_ONCE)
                numbers[rows[block]] = self._hashed([word[block] for word in words])
        return numbers.view(np.int64)

    def _hashed(self, words: Sequence[Keys]) -> Keys:
        first, second = self._halves
        count = len(words[0])
        state = [
            np.full(count, half ^ np.uint64(constant))
            for half, constant in (
                (first, 0x736F6D6570736575),
                (second, 0x646F72616E646F6D),
                (first, 0x6C7967656E657261),
                (second, 0x7465646279746573),
            )
        ]
        for word in words:
            state[3] ^= word
            _mix(state, rounds=2)
            state[0] ^= word
        state[2] ^= np.uint64(0xFF)
        _mix(state, rounds=4)
        hashed: Keys = state[0] ^ state[1] ^ state[2] ^ state[3]
        return hashed


def _mix(state: list[Keys], *, rounds: int) -> None:
    """Run rounds of SipHash over four arrays, in place."""
    a, b, c, d = state
    for _ in range(rounds):
        a += b
        _rotate(b, 13)
        b ^= a
        _rotate(a, 32)
        c += d
        _rotate(d, 16)
        d ^= c
        a += d
        _rotate(d, 21)
        d ^= a
        c += b
        _rotate(b, 17)
        b ^= c
        _rotate(c, 32)


def _rotate(words: Keys, bits: int) -> None:
    low = words >> np.uint64(64 - bits)
    words <<= np.uint64(bits)
    words |= low


def run_of(numbers: Counts) -> bytes:
    """Write the persons of a snapshot, none of them twice, as a sorted run of keys."""
    keys = np.sort(numbers.view(np.uint64) & ~_MARK)
    return keys.tobytes()


def united(runs: Sequence[Keys]) -> Keys:
    """Unite runs, and mark who is in several of them.

    Examples
    --------
    >>> united([np.array([2, 6], np.uint64), np.array([4, 6], np.uint64), np.array([9], np.uint64)]).tolist()
    [2, 4, 7, 9]
    """
    # Of equal persons a marked key comes last.
    keys = np.sort(np.concatenate([np.empty(0, np.uint64), *runs]))
    last = np.append(np.diff(keys >> _MARK) != 0, True)[: keys.size]
    ends = np.flatnonzero(last)
    several = np.diff(ends, prepend=-1) > 1
    joined: Keys = np.bitwise_or(keys[ends], several)
    return joined


def fold(state: State) -> None:
    """Fold the runs into the parts where they are many, in a transaction of its own."""
    n_runs, n_bytes = state.size_of_runs()
    if n_runs < MOST_RUNS and n_bytes < MOST_KEYS * _WORD:
        return
    runs = _runs(state)
    with state.transaction():
        for part, slice_ in enumerate(_sliced(runs)):
            state.save_part(part, united([_part(state, part), slice_]).tobytes())
        state.drop_runs()


def count_repeated(state: State) -> int:
    """Count the persons with records in several published snapshots."""
    runs = _runs(state)
    return sum(
        int((united([_part(state, part), slice_]) & _MARK).sum()) for part, slice_ in enumerate(_sliced(runs))
    )


def _runs(state: State) -> Keys:
    return united([np.frombuffer(run, np.uint64) for run in state.runs()])


def _part(state: State, part: int) -> Keys:
    return np.frombuffer(state.part(part), np.uint64)


def _sliced(keys: Keys) -> list[Keys]:
    edges = np.arange(1, PARTS, dtype=np.uint64) << np.uint64(56)
    return np.split(keys, np.searchsorted(keys, edges))
