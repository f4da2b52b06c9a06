"""Find the smallest relaxations of a promise that would have kept more data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._repr import Document
from sequester.errors import InputError, UnattainableError
from sequester.hierarchies.labels import ROOT, counted
from sequester.methods.relax import TimeUpError, first_step, run_trial, working_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sequester._typing import Counts
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.method import Method
    from sequester.methods.relax import RelaxationPath
    from sequester.release.release import Release

MOST_EVENTS = 100_000
"""Events with which relaxations are tried at most."""
UNTRIED = "no relaxation was tried"
_LOST = {
    "values": "suppressed or heavily generalized values",
    "events": "events that are not shown as they were",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation(Document):
    """A smaller promise that was tried, and what it would have kept.

    Examples
    --------
    >>> Relaxation(parameter="k", asked=5, relaxed=4, kept=31, of=40, unit="events", text="...").share
    0.775
    """

    parameter: str
    """What is relaxed: a parameter of the method, or the hierarchy of a column."""
    asked: object
    """Its value in the release."""
    relaxed: object
    """The value that was tried."""
    kept: int
    """Suppressed or heavily generalized parts that it would have kept."""
    of: int
    """All such parts of the release, or of the sample that was tried."""
    unit: str
    """What is counted: events, or values where events have several."""
    newly_lost: int = 0
    """Parts that it would have lost instead, and the release has kept."""
    text: str
    """All of it in a sentence."""

    @property
    def share(self) -> float:
        """The share that would have been kept."""
        return self.kept / max(self.of, 1)


def find_relaxations(
    release: Release, original: EventTable, method: Method, seconds: float, progress: Progress
) -> tuple[list[Relaxation], list[str]]:
    """Return what smaller promises would have kept, tried for so many `seconds`, and notes on how."""
    started = working_time()
    lost = _lost_of(method, release.change_list, original)
    paths = [each for each in method.relaxations(original) if each.steps]
    if not len(lost) or not paths or not seconds:
        why = "nothing can be asked less of" if len(lost) else "nothing is suppressed or heavily generalized"
        return [], [f"{UNTRIED}: {'no time was left' if len(lost) and paths else why}"]

    def report(step: str) -> None:
        progress(min(0.1 + 0.9 * (working_time() - started) / seconds, 0.99), step)

    table = original.sample(persons=method.trial_persons, events=MOST_EVENTS, seed=release.seed)
    notes = []
    if table is not original:
        some = f"{table.n_owners:,} of {original.n_owners:,} persons, drawn at random"
        try:
            lost = _lost_by(method, table, release.seed, started + seconds / 2)
        except TimeUpError:
            return [], [f"{UNTRIED}: a run with {some} takes longer than the time given"]
        except (UnattainableError, InputError) as error:
            return [], [f"{UNTRIED}: {method.name} refuses {some}: {error}"]
        if not len(lost):
            return [], [f"{UNTRIED}: nothing is lost with {some}"]
        notes.append(
            f"relaxations were tried with {some}, of whom fewer are alike than in the whole table: more is "
            "lost, and a relaxation keeps less"
        )
    unit = "values" if "column" in release.change_list.collect_schema() else "events"
    search = RelaxationSearch(
        method=method, table=table, seed=release.seed, lost=lost, unit=unit, report=report
    )
    relaxations: list[Relaxation] = []
    for place, path in enumerate(paths):
        # Each path gets an equal part of the time that is left.
        now = working_time()
        left = max(started + seconds - now, 0) / (len(paths) - place)
        found, note = search.follow(path, deadline=now + left)
        relaxations += found
        notes += [] if note is None else [note]
    return relaxations, notes


@dataclass(frozen=True, kw_only=True)
class RelaxationSearch:
    """Follows paths of relaxations to the first steps that gain anything, half, or all of what is lost.

    The gain is what a step keeps, less what it loses and the release has kept.
    """

    method: Method
    """As the release was made."""
    table: EventTable
    """What relaxations are tried on."""
    seed: str
    """Everything random comes from it, as in the release."""
    lost: Counts
    """The parts that are lost now."""
    unit: str
    """What a part is: events, or values."""
    report: Callable[[str], None]
    """Called before each run."""
    _seen: dict[tuple[str, int], Counts | None] = field(default_factory=dict)

    def follow(self, path: RelaxationPath, *, deadline: float) -> tuple[list[Relaxation], str | None]:
        """Return the relaxations that a path leads to, and what is to say about the rest."""
        goals = sorted({1, -(-len(self.lost) // 2), len(self.lost)})
        found: dict[int, int] = {}
        note = None
        try:
            for goal in goals:
                place = first_step(path, partial(self._reaches, path, goal, deadline))
                if place is None:
                    break
                found.setdefault(place, goal)
        except TimeUpError:
            tried = sorted(place for parameter, place in self._seen if parameter == path.parameter)
            n_tried = f"{len(tried):,} of {len(path.steps):,} steps"
            note = f"{path.parameter}: {n_tried} were tried in the time given"
            for goal in goals:
                place = next((each for each in tried if self._reaches(path, goal, deadline, each)), None)
                if place is not None:
                    found.setdefault(place, goal)
        if not found and note is None:
            first, last = path.text(path.steps[0]), path.text(path.steps[-1])
            steps = first if len(path.steps) == 1 else f"{first} to {last}"
            note = f"{path.parameter}{path.equals}{steps} would not have kept more"
        return [self._relaxation(path, place, deadline) for place in sorted(found)], note

    def _reaches(self, path: RelaxationPath, goal: int, deadline: float, place: int) -> bool:
        lost = self._lost_at(path, place, deadline)
        # What is kept less what is newly lost is the difference of the sizes.
        return lost is not None and len(self.lost) - len(lost) >= goal

    def _lost_at(self, path: RelaxationPath, place: int, deadline: float) -> Counts | None:
        """Number the parts that a step of a path loses; None where it cannot be kept either."""
        key = path.parameter, place
        if key not in self._seen:
            self.report(f"trying {path.setting(path.steps[place])}")
            method, table = path.at(self.method, self.table, path.steps[place])
            try:
                self._seen[key] = _lost_by(method, table, self.seed, deadline)
            except (UnattainableError, InputError):
                self._seen[key] = None
        return self._seen[key]

    def _relaxation(self, path: RelaxationPath, place: int, deadline: float) -> Relaxation:
        lost = self._lost_at(path, place, deadline)
        after = self.lost if lost is None else lost
        kept = len(np.setdiff1d(self.lost, after, assume_unique=True))
        newly = len(np.setdiff1d(after, self.lost, assume_unique=True))
        step = path.steps[place]
        instead = f"{path.setting(step)} instead of {path.text(path.asked)}"
        also = f", and would have lost {counted(newly, 'other', 'others')}" if newly else ""
        return Relaxation(
            parameter=path.parameter,
            asked=plain(path.asked),
            relaxed=plain(step),
            kept=kept,
            of=len(self.lost),
            unit=self.unit,
            newly_lost=newly,
            text=f"{instead} would have kept {kept:,} of {len(self.lost):,} {_LOST[self.unit]}{also}",
        )


def _lost_by(method: Method, table: EventTable, seed: str, deadline: float) -> Counts:
    """Run a method, and number the parts that it loses; raise `TimeUpError` when the deadline has passed."""
    outcome = run_trial(method, table, seed=seed, deadline=deadline)
    return _lost_of(method, outcome.changes, table)


def _lost_of(method: Method, changes: pl.DataFrame | pl.LazyFrame, table: EventTable) -> Counts:
    columns = table.schema.sensitive_columns
    return lost_parts(changes, table.hierarchies, columns, harmless=method.harmless)


def plain(value: object) -> object:
    """Make a value that JSON can hold.

    Examples
    --------
    >>> plain(("a", "b")), plain(5), plain(None)
    (['a', 'b'], 5, None)
    """
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)


HEAVY = 0.5
"""A generalized value that stands for a larger share of its domain than this has lost its meaning."""
GENERALIZED = "generalized"


def lost_parts(
    changes: pl.DataFrame | pl.LazyFrame,
    hierarchies: Mapping[str, Hierarchy],
    others: Sequence[str] = (),
    *,
    harmless: frozenset[str] = frozenset(),
) -> Counts:
    """Number the parts that are lost: events, or values of events where changes name columns.

    Lost is what was removed, replaced by ``*`` or by a value that is not the person's, and what is
    generalized to more than half of its domain. A part has the same number whatever else was changed.
    `others` are columns without a hierarchy that may be suppressed, too.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> tree = Hierarchy.from_tree({"ab": ["a", "b"], "cde": ["c", "d", "e", "f"]})
    >>> changes = pl.DataFrame(
    ...     {
    ...         "row": [1, 2, 3, 4],
    ...         "column": ["x"] * 4,
    ...         "what": ["generalized", "generalized", "suppressed", "dropped"],
    ...         "from": ["a", "c", "d", "e"],
    ...         "to": ["ab", "cde", "*", None],
    ...     }
    ... )
    >>> lost_parts(changes, {"x": tree}).tolist()
    [2, 3, 4]
    """
    is_lost = pl.col("from").is_not_null() & ~pl.col("what").cast(pl.String).is_in(list(harmless))
    columns = sorted({*hierarchies, *others})
    has_columns = "column" in changes.collect_schema()
    heavy = [
        (pl.col("column") == column if has_columns else pl.lit(value=True))
        & pl.col("to").is_in(
            [label for label, loss in zip(tree.labels, tree.loss, strict=True) if loss > HEAVY]
        )
        for column, tree in hierarchies.items()
    ]
    is_coarse = pl.any_horizontal(pl.col("to") == ROOT, *heavy)
    is_lost &= (pl.col("what").cast(pl.String) != GENERALIZED) | is_coarse
    lost = changes.lazy().filter(is_lost).select("row", *(["column"] if has_columns else [])).collect()
    rows = lost["row"].to_numpy().astype(np.int64)
    if has_columns:
        places = {column: place for place, column in enumerate(columns)}
        which = lost["column"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
        rows = rows * len(columns) + which
    return np.unique(rows)
