"""Laws for every method: each takes a method and a table, and raises where the method breaks it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.privacy.model import RecordModel
from sequester.verification.original import align_to_original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from sequester.engine import Engine
    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.methods.method import Method
    from sequester.release.release import Release


EDGES: Mapping[str, Sequence[str]] = {
    "one person": ["abc"],
    "one person, one event": ["a"],
    "all alike": ["abca"] * 6,
    "all different": ["abc", "bca", "cab", "acb", "bac", "cba"],
    "nothing in common": ["a", "bb", "ccc", "dddd"],
    "one symbol": ["a", "aa", "aaa", "aaaa", "aa", "a"],
    "an item repeated": ["abab", "abab", "aabb", "baba", "ab", "ab"],
    "one very long": ["ab" * 100, "ab", "abb", "ab", "abb"],
}
"""Edge cases by name: a string per person, a character per event."""


def symbol_table(
    rows: Iterable[Sequence[str]],
    *,
    column: str = "symbol",
    hierarchy: Hierarchy | HierarchyBuilder | None = None,
) -> EventTable:
    """Return a table of one symbol per event; a row has a person's labels, a string a label per character.

    Examples
    --------
    >>> table = symbol_table(["abc", "ac"])
    >>> table.persons.to_list(), table.sequences.to_rows()
    (['person 1', 'person 2'], [('a', 'b', 'c'), ('a', 'c')])
    """
    events = [
        (f"person {number}", place, label)
        for number, row in enumerate(rows, start=1)
        for place, label in enumerate(row, start=1)
    ]
    types = {"user": pl.String, "step": pl.Int64, column: pl.String}
    frame = pl.DataFrame(events, schema=types, orient="row")
    return EventTable(frame, Schema(person="user", order="step", symbol=Symbol(column, hierarchy)))


def record_table(rows: Iterable[str]) -> EventTable:
    """Return a table of records in snapshots; a row has a person's letters, one per snapshot.

    The letter is sensitive. The age, 1 to 3 in turn, is a quasi-identifier.

    Examples
    --------
    >>> table = record_table(["ab", "b"])
    >>> table.sequences.to_rows("letter"), table.sequences.to_rows("age")
    ([('a', 'b'), ('b',)], [('1', '1'), ('2',)])
    """
    events = [
        (f"person {number}", place, str(1 + (number - 1) % 3), letter)
        for number, row in enumerate(rows, start=1)
        for place, letter in enumerate(row, start=1)
    ]
    types = {"user": pl.String, "snapshot": pl.Int64, "age": pl.String, "letter": pl.String}
    frame = pl.DataFrame(events, schema=types, orient="row")
    tree = Hierarchy.from_tree({"young": ["1"], "older": ["2", "3"]})
    return EventTable(
        frame, Schema(person="user", order="snapshot", quasi={"age": tree}, sensitive={"letter": "all"})
    )


def history_table(rows: Iterable[str]) -> EventTable:
    """Return a table of one quasi-identifier and one sensitive value per event; a row has a person's letters.

    The hierarchy generalizes a and b to early, c and d to late. The first and every fourth person after are
    ill in their last event.

    Examples
    --------
    >>> table = history_table(["ab", "b"])
    >>> table.sequences.to_rows("letter"), table.sequences.to_rows("ill")
    ([('a', 'b'), ('b',)], [('no', 'yes'), ('no',)])
    """
    events = [
        (
            f"person {number}",
            place,
            letter,
            "yes" if place == len(row) and number % 4 == 1 else "no",
        )
        for number, row in enumerate(rows, start=1)
        for place, letter in enumerate(row, start=1)
    ]
    types = {"user": pl.String, "step": pl.Int64, "letter": pl.String, "ill": pl.String}
    frame = pl.DataFrame(events, schema=types, orient="row")
    tree = Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})
    return EventTable(
        frame,
        Schema(person="user", order="step", quasi={"letter": tree}, sensitive={"ill": ["yes"]}),
    )


SEED = "a sentence that nobody guesses"


class BrokenLawError(AssertionError):
    """A method breaks a law for methods."""


def keeps_its_promise(
    method: Method, table: EventTable, *, judge: Callable[[Release, EventTable], bool] | None = None
) -> None:
    """Raise unless the released table satisfies its model, and `judge` agrees where one is given.

    A judge counts by itself, from ``release.frame``: model and method may have the same error.
    """
    release = _run(method, table, evaluate=False)
    if isinstance(release, UnattainableError):
        return
    if isinstance(release.model, RecordModel):
        verdict = release.model.check_tables(release.tables)
    elif release.model.needs_original:
        # A model that compares with the original may do so person by person.
        verdict = release.model.check(
            align_to_original(release.pseudonyms, release.table, table), original=table
        )
    else:
        verdict = release.model.check(release.table, original=table)
    _require(verdict.holds, f"the release of {method} breaks its model: {verdict.witnesses[:1]}")
    _require(release.frame.height > 0, f"{method} released nothing instead of refusing")
    if judge is not None:
        _require(judge(release, table), f"the judge counts a violation in the release of {method}")


def leaves_its_input_alone(method: Method, table: EventTable) -> None:
    """Raise unless the input is the same before and after."""
    before = _table_bytes(table)
    _run(method, table)
    _require(_table_bytes(table) == before, f"{method} changed its input")


def repeats_with_its_seed(method: Method, table: EventTable) -> None:
    """Raise unless the same seed gives the same release, changes and measures, byte for byte."""
    first, second = (_run_bytes(_run(method, table)) for _ in range(2))
    _require(first == second, f"{method} gave two answers for one seed")


def renames_without_a_seed(method: Method, table: EventTable) -> None:
    """Raise if a pseudonym comes twice without a seed: two releases could be joined by it."""
    releases = [_run(method, table, seed=None, evaluate=False) for _ in range(2)]
    names = [
        set[str]() if isinstance(release, UnattainableError) else set(release.pseudonyms["pseudonym"])
        for release in releases
    ]
    _require(not names[0] & names[1], f"{method} gave somebody the same pseudonym twice")


def cuts_shards_anywhere(method: Method, table: EventTable) -> None:
    """Raise unless one shard and many, one thread and several, give the same bytes."""
    whole = _run_bytes(_run(method, table, engine=LocalEngine(threads=1, shards=1)))
    for threads, shards in ((1, 3), (2, 7)):
        parts = _run_bytes(_run(method, table, engine=LocalEngine(threads=threads, shards=shards)))
        _require(parts == whole, f"{method} gives another release in {shards} shards than in one")


LAWS: tuple[Callable[[Method, EventTable], None], ...] = (
    leaves_its_input_alone,
    keeps_its_promise,
    repeats_with_its_seed,
    renames_without_a_seed,
    cuts_shards_anywhere,
)
"""All laws, the most basic first. A method may refuse a table, if it always does."""


def check(method: Method, table: EventTable) -> None:
    """Raise where a method breaks a law on a table.

    Parameters
    ----------
    method
        A method of your own, with its parameters.
    table
        Any table that it takes; see `sequester.testing.checks` for small ones.

    Raises
    ------
    BrokenLawError
        At the first law that is broken.

    Examples
    --------
    >>> from sequester.methods import BFP2kA
    >>> from sequester.testing.checks import symbol_table
    >>> check(BFP2kA(k=2), symbol_table(["abc", "abc", "ab", "b"]))
    """
    for law in LAWS:
        law(method, table)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise BrokenLawError(message)


def _run(
    method: Method,
    table: EventTable,
    *,
    seed: str | None = SEED,
    engine: Engine | None = None,
    evaluate: bool = True,
) -> Release | UnattainableError:
    """Return the release, or the refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            return method.apply(table, seed=seed, engine=engine, evaluate=evaluate)
        except UnattainableError as refusal:
            return refusal


def _run_bytes(release: Release | UnattainableError) -> bytes:
    """Return everything that a run returns, as bytes."""
    if isinstance(release, UnattainableError):
        return repr((str(release), release.achieved)).encode()
    frames = [*release.tables.values(), *release.hierarchies.values(), release.changes, release.pseudonyms]
    rest = (
        list(release.tables),
        release.schema,
        list(release.hierarchies),
        release.verdict,
        release.limits,
        release.warnings,
        dict(release.utility),
        release.n_lost_events,
    )
    return b"".join(map(_frame_bytes, frames)) + repr(rest).encode()


def _table_bytes(table: EventTable) -> bytes:
    """Return all that a method could change, as bytes."""
    sequences = table.sequences
    arrays: list[npt.NDArray[np.int32] | npt.NDArray[np.int64]] = [
        table.rows,
        table.person_offsets,
        sequences.person_offsets,
        *sequences.columns.values(),
    ]
    frames = _frame_bytes(table.frame) + _frame_bytes(table.persons.to_frame())
    rest = (table.schema, sequences.codebooks, table.protected)
    return frames + b"".join(array.tobytes() for array in arrays) + repr(rest).encode()


def _frame_bytes(frame: pl.DataFrame) -> bytes:
    # As text: in memory, values below a null and the chunks of a column may differ.
    return repr(frame.schema).encode() + frame.write_csv().encode()
