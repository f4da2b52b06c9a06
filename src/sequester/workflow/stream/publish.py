"""The files of a published snapshot, the page of a stream, and input files that were rejected."""

from __future__ import annotations

import hashlib
import io
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._repr import Document, number, percent
from sequester.errors import InternalError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING
from sequester.methods.reposition.publish import EVENTS, Records, publish
from sequester.release.certificate import HASH, Certificate
from sequester.release.files import hierarchy_files
from sequester.release.folder import ROWS_PER_GROUP, hierarchy_csv, rebuild_columns
from sequester.release.release import Release
from sequester.release.staging import write_file
from sequester.report.page import Number, Section, template
from sequester.verification.streams import in_time_order, read_certificates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.data.schema import Schema
    from sequester.methods.reposition.method import SnapshotMethod
    from sequester.methods.reposition.window import Published
    from sequester.release.randomness import Randomness
    from sequester.release.release import About
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


def snapshot_files(
    published: Published,
    *,
    method: SnapshotMethod,
    schema: Schema,
    about: About,
    stem: str,
    label: str,
    held: Mapping[int, pl.DataFrame],
    values: Sequence[str],
    randomness: Randomness,
) -> dict[str, bytes]:
    """Write a snapshot; the certificate comes last, and its name ends in ``.certificate.json``."""
    records = _records(published, schema, label, held, values, needs_trees=method.then == "generalize")
    seed = int(randomness.numbers(f"reposition groups {published.number}", 1)[0])
    made = publish(records, method.then, level=method.level, seed=seed)
    files: dict[str, bytes] = {}
    read_back: dict[str, pl.DataFrame] = {}
    for name, frame in made.tables.items():
        rebuilt = rebuild_columns(frame)
        base = stem if name == EVENTS else f"{stem}.{name}"
        packed = io.BytesIO()
        rebuilt.write_parquet(packed, compression="zstd", statistics=True, row_group_size=ROWS_PER_GROUP)
        files[f"{base}.parquet"] = packed.getvalue()
        files[f"{base}.csv"] = rebuilt.write_csv(line_terminator="\n", quote_style="necessary").encode()
        read_back[name] = pl.read_parquet(files[f"{base}.parquet"])
    names = hierarchy_files(column for frame in made.tables.values() for column in frame.columns)
    for attribute, tree in made.hierarchies.items():
        files[f"{stem}.{names[attribute].replace('/', '.')}"] = hierarchy_csv(tree)
    hashes = {name: HASH + hashlib.sha256(content).hexdigest() for name, content in files.items()}
    model = method.model().about_attribute(records.attribute)
    # Asked about the bytes that will be handed out.
    verdict = model.check_tables(read_back)
    if not verdict:
        msg = f"{method.name} made a snapshot that breaks its promise: {verdict.witnesses[:1]}"
        raise InternalError(msg)
    nobody = pl.DataFrame(schema={"person": pl.String, "pseudonym": pl.String})
    release = Release(
        tables=made.tables,
        schema=made.schema,
        hierarchies=made.hierarchies,
        method=method.name,
        parameters=method.parameters(),
        unpublished=method.unpublished(),
        model=model,
        verdict=verdict,
        limits=method.limits,
        change_list=pl.LazyFrame(),
        pseudonyms=nobody,
        seed=randomness.seed,
        n_input_persons=0,
        n_input_events=0,
        n_lost_events=0,
    ).published_as(None, about)
    files[f"{stem}.certificate.json"] = Certificate.of(release, hashes).to_json().encode()
    return files


def _records(
    published: Published,
    schema: Schema,
    label: str,
    held: Mapping[int, pl.DataFrame],
    values: Sequence[str],
    *,
    needs_trees: bool,
) -> Records:
    # In one order, whatever the order of slots: where a record came from must not show.
    order = np.lexsort((published.rows, published.homes))
    homes, rows = published.homes[order], published.rows[order].astype(np.int64)
    parts = [held[home][rows[homes == home]] for home in np.unique(homes).tolist()]
    attribute = next(iter(schema.sensitive))
    columns = [*schema.quasi, attribute]
    frame = pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    codes = {value: code for code, value in enumerate(values)}
    trees = {}
    if needs_trees and frame.height:
        for name, quasi in schema.quasi.items():
            counts = dict(frame[name].alias("value").value_counts(name="rows").sort("value").iter_rows())
            missing, tree = counts.pop(MISSING, 0) > 0, quasi.hierarchy
            if not isinstance(tree, Hierarchy) or missing or not set(counts) <= set(tree):
                tree = tree.build(counts, column=name, missing=missing)
            trees[name] = tree
    return Records(
        times=[label],
        offsets=np.array([0, frame.height], np.int64),
        quasi={name: frame[name] for name in schema.quasi},
        trees=trees,
        weights={name: quasi.weight for name, quasi in schema.quasi.items()},
        attribute=attribute,
        values=frame[attribute].replace_strict(codes, return_dtype=pl.Int32).to_numpy(),
        labels=values,
    )


@dataclass(frozen=True, slots=True)
class Rejected(Document):
    """A file that was not taken."""

    name: str
    """Its name in the input folder."""
    reasons: tuple[str, ...]
    """Why, one line each."""
    place: Path
    """Where it is now."""


def reject(path: Path, reasons: tuple[str, ...], folder: Path) -> Rejected:
    """Move a file to `folder`, under another name where there is one of its name already."""
    place, number = folder / path.name, 1
    while place.exists():
        number += 1
        place = folder / f"{path.name}~{number}"
    explanation = "\n".join([f"{path.name} was not taken:", *reasons, ""])
    beside = place.with_name(f"{place.name}.why.txt")
    try:
        # The explanation first, so that no rejected file is without one.
        beside.write_text(explanation, encoding="utf-8", newline="\n")
        shutil.move(path, place)
    except OSError:
        # Half a file must not be taken for the whole one, which is still where it came.
        place.unlink(missing_ok=True)
        beside.unlink(missing_ok=True)
        raise
    return Rejected(path.name, reasons, place)


PAGE = "report.html"
"""The page, in the folder of the state."""


def write_page(out: Path, state: Path, *, lost: Mapping[str, int]) -> None:
    """Write the page of a stream from its published certificates; `lost` counts records by value."""
    found = in_time_order(read_certificates(out))
    rows = [
        (
            stem,
            number(certificate.events),
            ", ".join(f"{name} = {number(value)}" for name, value in certificate.achieved.items()),
            "yes" if certificate.holds else "no",
        )
        for stem, (certificate, _) in found
    ]
    n_published = sum(certificate.events for _, (certificate, _) in found)
    n_lost = sum(lost.values())
    sections = [
        Section(
            title="Published snapshots, in the order of time",
            header=("snapshot", "records", "reached", "promise holds"),
            rows=tuple(rows),
        )
    ]
    if n_lost:
        sections.append(
            Section(
                title="Records that found no place",
                text=("Leaving out some values more often than others is a bias.",),
                header=("value", "records"),
                rows=tuple((value, number(count)) for value, count in sorted(lost.items()) if count),
            )
        )
    page = template("sections.html").render(
        kind="Stream",
        title="What was published so far",
        lead=f"{number(len(found))} snapshots with {number(n_published)} records.",
        notice=("Internal: do not share this page", "It says which records were lost."),
        numbers=(
            Number(name="Snapshots", value=number(len(found))),
            Number(name="Records", value=number(n_published)),
            Number(name="Lost", value=number(n_lost), about=percent(n_lost / max(n_lost + n_published, 1))),
        ),
        sections=tuple(sections),
    )
    write_file(page.encode(), state / PAGE)
    (state / PAGE).chmod(0o600)
