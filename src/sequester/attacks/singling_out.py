"""Singling out by columns that no promise covers: kept ones, and unprotected sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester.attacks.domain import protected_labels
from sequester.attacks.risk import Proportion, Risk, percent, rounded_percent
from sequester.data.text import as_text
from sequester.datasets.draws import generator
from sequester.hierarchies.labels import MISSING
from sequester.kernels.rows import fold_rows
from sequester.ragged import keep_values, owners_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Literal

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.table import EventTable

    Hashes = npt.NDArray[np.uint64]


TOLERATED = 0.05
"""Kept columns that single out a larger share of the persons need the steward's consent."""
MOST_OF_IT = 0.9
"""Columns do most of it when they single out this share of the persons that all of them single out."""
_LEADING = 3
_COMBINED = 10
_SHOWN = 4
_BLANK = np.uint64(0x5EC0E7)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinglingOut:
    """How many persons are singled out by columns that no promise covers, counted among all of them.

    A person is singled out by columns if nobody else has the same values in them, event by event and in
    order. Protected values are blanked out: an adversary may know that there is one, and wants to find out
    which. The number of events is no value of a column. A person who is singled out by it already
    is singled out by columns only if their values still do so with repeated events told once.

    Cells and events are compared by hashes of 64 bits. Of a million different ones, two are taken for equal
    with a chance below one in ten million.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> frame = pl.DataFrame({"who": list("abcd"), "n": 1, "zip": list("1122"), "ward": list("xxyz")})
    >>> schema = Schema(person="who", order="n", quasi={"zip": Hierarchy.flat()}, keep=["ward"])
    >>> found = SinglingOut.of(EventTable(frame, schema))
    >>> found.share(found.by_kept), found.leading
    (0.5, (('ward', 2),))
    """

    unit: Literal["persons", "records"] = "persons"
    """Who is counted: persons, or records where a release has no persons."""
    persons: int
    """Persons, or records, among whom each is looked for."""
    kept: tuple[str, ...] = ()
    """The kept columns."""
    sensitive: tuple[str, ...] = ()
    """The sensitive columns with unprotected values that are no quasi-identifiers."""
    by_all: int
    """Singled out by everything that is released, the number of events included."""
    by_kept: int = 0
    """Singled out by the kept columns alone."""
    by_kept_event: int = 0
    """Singled out by the kept values of one of their events, whichever singles them out."""
    by_sensitive: int = 0
    """Singled out by unprotected sensitive values alone."""
    by_column: tuple[tuple[str, int], ...] = ()
    """Each kept column, and how many of `by_kept` it singles out alone, most first."""
    leading: tuple[tuple[str, int], ...] = ()
    """The kept columns that do most of it, and how many of `by_kept` they single out together so far."""

    @classmethod
    def of(
        cls, table: EventTable, *, details: bool = True, shuffle: np.random.Generator | None = None
    ) -> SinglingOut | None:
        """Count among the persons of a table; None where it has no such columns, or nobody.

        Without `details` nothing is said about single columns, which takes longest. `shuffle` permutes every
        column's values among all events first.
        """
        table = table.joined().histories
        schema = table.schema
        protected = protected_labels(table)
        covered = (table.symbol,) if table.symbol is not None else tuple(schema.quasi)
        unprotected = tuple(
            column
            for column in dict.fromkeys(schema.sensitive_columns)
            if column not in covered and set(table.labels[column]) - protected[column]
        )
        if not (schema.keep or unprotected) or not table.n_events:
            return None
        frame, offsets = table.frame, table.person_offsets

        def read(columns: Sequence[str]) -> _Known:
            cells = {name: _cells(frame[name], protected.get(name, ())) for name in columns}
            if shuffle is not None:
                cells = {name: shuffle.permutation(own) for name, own in cells.items()}
            return _Known(cells, offsets)

        kept, closed = read(schema.keep), read(unprotected)
        singled = kept.singled_out()
        by_column, leading = kept.attribute(singled) if details else ((), ())
        everything = _combined([kept.whole, closed.whole, read([name for name in covered if name]).whole])
        return cls(
            persons=table.n_persons,
            kept=schema.keep,
            sensitive=unprotected,
            by_all=int(_alone(everything).sum()),
            by_kept=int(singled.sum()),
            by_kept_event=kept.count_by_one_event(),
            by_sensitive=int(closed.singled_out().sum()),
            by_column=by_column,
            leading=leading,
        )

    @classmethod
    def of_records(cls, frame: pl.DataFrame) -> SinglingOut | None:
        """Count among records that stand for themselves; None where there is none."""
        if frame.is_empty() or not frame.width:
            return None
        written = pl.DataFrame([as_text(column).fill_null(MISSING) for column in frame])
        return cls(unit="records", persons=frame.height, by_all=int(written.is_unique().sum()))

    def share(self, count: int) -> float:
        """Return the share of all persons that so many are."""
        return count / self.persons

    @property
    def needs_consent(self) -> bool:
        """Kept columns alone single out more persons than is tolerated."""
        # In whole numbers, so that exactly 5 % is not more.
        return 100 * self.by_kept > round(100 * TOLERATED) * self.persons

    @property
    def needs_warning(self) -> bool:
        """Unprotected sensitive values, alone or with all else that is released, single out that many."""
        most = max(self.by_sensitive, self.by_all)
        return bool(self.sensitive) and 100 * most > round(100 * TOLERATED) * self.persons

    def lines(self, *, raw: bool = False) -> Iterator[str]:
        """Yield sentences for the steward and reports, the headline first; `raw`: nothing is released yet."""
        share = f"{percent(self.share(self.by_all))} of the {self.unit} ({self.by_all:,} of {self.persons:,})"
        if self.unit == "records":
            yield f"{share} are the only one with their time and quasi-identifiers"
            return
        released = "would be released, as it stands" if raw else "is released"
        yield f"{share} are singled out by everything that {released}: nobody else has the same record"
        yield from (f"{each[0].upper()}{each[1:]}" for each in (*self._kept_line(), *self._sensitive_line()))

    def refusal(self) -> str:
        """Return what kept columns do, for a steward who must decide whether to accept it."""
        return "; ".join(self._kept_line())

    def warning(self) -> str:
        """Return what unprotected sensitive values do."""
        share = percent(self.share(self.by_all))
        if not self.by_sensitive:
            return (
                f"everything that is released singles out {share} of the persons, and no promise covers that"
            )
        together = f"with all else that is released, {share} are singled out, and no promise covers that"
        return "; ".join((*self._sensitive_line(), together))

    def limits(self) -> Iterator[str]:
        """Yield sentences for a recipient: no value of the data, and shares in whole percents."""
        if self.unit == "records":
            yield (
                f"{rounded_percent(self.share(self.by_all))} of the records are the only one with their time "
                "and quasi-identifiers: an adversary who knows those of a person finds the record."
            )
            return
        if self.kept:
            yield (
                f"An adversary who knows the kept columns of a person, and nothing else, singles out "
                f"{rounded_percent(self.share(self.by_kept))} of the persons."
            )
        if self.sensitive:
            yield (
                f"An adversary who knows the unprotected values of {', '.join(self.sensitive)} of a person, "
                f"and nothing else, singles out {rounded_percent(self.share(self.by_sensitive))} of the "
                "persons."
            )
        yield (
            "An adversary who knows everything that is released of a person, protected values aside, singles "
            f"out {rounded_percent(self.share(self.by_all))} of the persons."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the part of a document that says who can be singled out."""
        return {
            "unit": self.unit,
            "of": self.persons,
            "released": self.share(self.by_all),
            "kept": self.share(self.by_kept),
            "kept_one_event": self.share(self.by_kept_event),
            "sensitive": self.share(self.by_sensitive),
            "kept_columns": list(self.kept),
            "sensitive_columns": list(self.sensitive),
            "most_by": [{"column": name, "kept": self.share(count)} for name, count in self.leading],
            "by_column": {name: self.share(count) for name, count in self.by_column},
        }

    def _kept_line(self) -> Iterator[str]:
        if not self.kept:
            return
        which = "the kept columns" if len(self.kept) > 1 else f"the kept column {self.kept[0]}"
        does = "single" if len(self.kept) > 1 else "singles"
        whose = "their" if len(self.kept) > 1 else "its"
        line = (
            f"{which} alone {does} out {percent(self.share(self.by_kept))} of the persons "
            f"({self.by_kept:,} of {self.persons:,}), {whose} values in one event "
            f"{percent(self.share(self.by_kept_event))}"
        )
        if self.leading and len(self.kept) > 1:
            names = ", then ".join(name for name, _ in self.leading)
            line += f"; most of it by {names} ({percent(self.share(self.leading[-1][1]))})"
        yield line

    def _sensitive_line(self) -> Iterator[str]:
        if not self.sensitive:
            return
        more = len(self.sensitive) - _SHOWN
        names = ", ".join(self.sensitive[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        yield (
            f"unprotected values of {names} alone single out {percent(self.share(self.by_sensitive))} of the "
            f"persons ({self.by_sensitive:,} of {self.persons:,})"
        )


class _Known:
    """What is known of everybody, in numbers: what is equal has the same one."""

    def __init__(self, cells: Mapping[str, Hashes], offsets: Offsets) -> None:
        """Number what each column shows; person ``i`` has the events ``offsets[i]`` to ``offsets[i + 1]``."""
        self.cells, self.offsets = cells, offsets
        self.lengths = np.diff(offsets)
        self.columns = {name: _fold(own, offsets) for name, own in cells.items()}
        """What each column shows of each person, in order."""
        # Of no column, the number of events.
        self.whole = _combined([self.lengths, *self.columns.values()])
        """What all columns together show of each person."""

    @cached_property
    def rows(self) -> Hashes:
        """What all columns show of each event."""
        return pl.DataFrame(self.cells).hash_rows(seed=17).to_numpy()

    def singled_out(self) -> Mask:
        """Mark the persons who are singled out by all columns together."""
        is_value = np.zeros(int(self.offsets[-1]), np.bool_)
        for own in self.cells.values():
            is_value |= own != _BLANK
        marked = _alone(self.whole) & np.logical_or.reduceat(is_value, self.offsets[:-1])
        by_number = _alone(self.lengths)
        if (marked & by_number).any():
            marked &= ~by_number | _alone(self._told_once())
        return marked

    def _told_once(self) -> Codes:
        """Number what all columns show of each person, without events that repeat the one before."""
        is_new = np.ones(len(self.rows), np.bool_)
        is_new[1:] = self.rows[1:] != self.rows[:-1]
        is_new[self.offsets[:-1]] = True
        return _fold(*keep_values(self.rows, self.offsets, is_new))

    def count_by_one_event(self) -> int:
        """Count the persons with an event that is like no event of anybody else."""
        if not self.cells:
            return 0
        pairs = pl.DataFrame({"owner": owners_of(self.offsets), "row": self.rows}).unique()
        return pairs.filter(pl.col("row").is_unique())["owner"].n_unique()

    def attribute(self, singled: Mask) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        """Find the columns that do most of it: each alone, and the best first few, one after the other."""

        def count(names: Sequence[str]) -> int:
            return int((_alone(_combined([self.columns[name] for name in names])) & singled).sum())

        varied = {name for name, own in self.cells.items() if (own != own[0]).any()}
        alone = {name: count([name]) if name in varied else 0 for name in self.columns}
        # Of columns that single out nobody alone, those with the most different records promise most.
        spread = {name: 0 if alone[name] else int(self.columns[name].max()) for name in alone}
        order = sorted(self.columns, key=lambda name: (-alone[name], -spread[name]))
        leading: list[tuple[str, int]] = []
        candidates = [name for name in order if name in varied][:_COMBINED]
        total = int(singled.sum())
        while total and candidates and len(leading) < _LEADING:
            before = [name for name, _ in leading]
            counts = {name: count([*before, name]) if before else alone[name] for name in candidates}
            best = max(candidates, key=lambda name: counts[name])
            leading.append((best, counts[best]))
            candidates.remove(best)
            if counts[best] >= MOST_OF_IT * total:
                break
        return tuple((name, alone[name]) for name in order), tuple(leading)


def _cells(values: pl.Series, blank: Collection[str] = ()) -> Hashes:
    """Hash the cells of a column as they are written; those in `blank` all alike."""
    text = as_text(values).fill_null(MISSING)
    hashes = text.hash(seed=17).to_numpy()
    return np.where(text.is_in(list(blank)).to_numpy(), _BLANK, hashes) if blank else hashes


def _fold(values: npt.NDArray[Any], offsets: Offsets) -> Codes:
    """Number rows of values, or of rows of a table, so that equal ones have the same number."""
    # Numbers of 64 bits are two of 32 bits.
    codes = np.ascontiguousarray(values).reshape(-1).view(np.int32)
    return fold_rows(codes, offsets * (len(codes) // max(len(values), 1)))[0]


def _combined(parts: Sequence[Codes | Counts]) -> Codes:
    """Number what each person has in all parts."""
    table = np.stack(parts, axis=1)
    return _fold(table, np.arange(len(table) + 1))


def _alone(numbers: Codes | Counts) -> Mask:
    """Mark what occurs once."""
    alone: Mask = np.bincount(numbers)[numbers] == 1
    return alone


def singling_out_risks(released: EventTable, original: EventTable, *, seed: str) -> Iterator[Risk]:
    """Count who is singled out by kept columns, by unprotected values and by all that is released.

    Everybody is counted, so the shares are exact. In the control the values of every column are permuted
    among all events. Nothing comes where the release has no such columns.
    """
    found = SinglingOut.of(released, details=False)
    raw = SinglingOut.of(original, details=False)
    if found is None or raw is None:
        return
    rng = generator("attack control", seed)
    control = SinglingOut.of(released, details=False, shuffle=rng)
    counts = {
        "kept_record": ("by_kept", found.kept),
        "sensitive_record": ("by_sensitive", found.sensitive),
        "whole_record": ("by_all", True),
    }
    for kind, (name, is_there) in counts.items():
        if not is_there:
            continue
        before, after, by_chance = (
            Proportion.counted(
                0 if each is None else getattr(each, name), 0 if each is None else each.persons
            )
            for each in (raw, found, control)
        )
        yield Risk.of(
            after,
            float(found.persons == 1),
            by_chance,
            raw=before,
            name="singled_out",
            kind=kind,
            targets=found.persons,
        )
