"""Explain a release: reasons for its changes, and what would have kept more.

Relaxations of the promise are tried, and offers: the release without a few rare persons or values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester._repr import Card, Document
from sequester._validation import in_range
from sequester.engine import silent
from sequester.errors import InputError, ParameterError, UnattainableError
from sequester.explanation.relaxation import MOST_EVENTS, find_relaxations
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import counted
from sequester.methods.relax import TimeUpError, run_trial, working_time
from sequester.utility.generalization import information_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester._typing import Mask
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.explanation.relaxation import Relaxation
    from sequester.methods.method import Method
    from sequester.release.outcome import Reason
    from sequester.release.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Document):
    """Why a release is as it is, and what would have kept more. Internal."""

    reasons: tuple[Reason, ...]
    """What was changed, by the constraint that demanded it."""
    relaxations: tuple[Relaxation, ...] = ()
    """The smallest steps that would have kept more of what is lost, each of them tried."""
    offers: tuple[Offer, ...] = ()
    """What to leave out, repair or group, each of them tried, the smallest loss first."""
    notes: tuple[str, ...] = ()
    """How it was tried: on a sample, what would have helped nothing, and what there was no time for."""
    fresh_loss: float | None = None
    """Of a later part of a series, what a fresh series of the whole input would lose; None if not tried."""

    @property
    def leave_out(self) -> tuple[str, ...]:
        """The persons whom an offer leaves out, by their keys in the input; none where there is no offer."""
        return next((each.persons for each in self.offers if each.kind == "leave out"), ())

    def _repr_html_(self) -> str:
        return Card(
            title="What was changed, and why",
            remarks=tuple(str(self).splitlines()),
            header=("change", "events", "persons"),
            rows=tuple((each.change, f"{each.events:,}", f"{each.persons:,}") for each in self.reasons),
        ).html()

    def __str__(self) -> str:
        return "\n".join(
            (
                *(each.text for each in self.reasons),
                *(each.text for each in self.offers),
                *(each.text for each in self.relaxations),
                *self.notes,
            )
        )


def explain(
    release: Release,
    *,
    original: EventTable,
    method: Method,
    seconds: float = 30,
    progress: Progress = silent,
) -> Explanation:
    """Describe what was changed and why, and what the smallest relaxations would have kept.

    Relaxations are found by running the method again, with the release's seed. Large tables are tried on
    some of their persons, and what there was no time for is said.

    Parameters
    ----------
    release
        The release.
    original
        The table that it was made from.
    method
        The method that made it.
    seconds
        How long relaxations may be tried; 0 tries none.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Explanation
        Reasons for the changes, relaxations with what they would have kept, and what there was no time for.

    Raises
    ------
    ParameterError
        If `seconds` is below 0, or `method` did not make the release.

    Examples
    --------
    >>> from sequester.methods import PrefixPruning
    >>> from sequester.testing import symbol_table
    >>> table = symbol_table(["ab", "ab", "ab", "cd", "cd", "e"])
    >>> method = PrefixPruning(k=3)
    >>> release = method.apply(table, seed="a sentence nobody guesses")
    >>> print(explain(release, original=table, method=method).relaxations[0].text)
    k = 2 instead of 3 would have kept 4 of 5 events that are not shown as they were
    """
    in_range("seconds", seconds, 0)
    if release.method != method.name:
        msg = f"method must be the one that made the release, {release.method}, got {method.name}"
        raise ParameterError(msg)
    progress(0.0, "finding reasons")
    original = method.view(original)
    reasons = method.reasons(release, original)
    if release.link is not None and release.link.part > 1:
        fresh_loss, notes = _fresh_series(release, original, method, seconds)
        progress(1.0, "explained")
        return Explanation(reasons=reasons, notes=tuple(notes), fresh_loss=fresh_loss)
    progress(0.05, "searching for rare persons and values")
    began = working_time()
    offers, why = find_offers(original, method, seed=release.seed, seconds=seconds / 2)
    left = max(seconds - (working_time() - began), 0.0)
    relaxations, notes = find_relaxations(release, original, method, left, progress)
    progress(1.0, "explained")
    return Explanation(
        reasons=reasons,
        offers=tuple(offers),
        relaxations=tuple(relaxations),
        notes=(*why, *notes),
    )


def _fresh_series(
    release: Release, original: EventTable, method: Method, seconds: float
) -> tuple[float | None, list[str]]:
    """Return what a fresh series of the same input would lose, and notes on it beside this part.

    What could be relaxed is not looked for: a series keeps its parameters.
    """
    untried = "what a fresh series would keep was not tried"
    if original.n_events > MOST_EVENTS:
        return None, [f"{untried}: the input has more than {MOST_EVENTS:,} events"]
    try:
        outcome = run_trial(method, original, seed=release.seed, deadline=working_time() + seconds)
    except TimeUpError:
        return None, [f"{untried}: it would take longer than the time given"]
    except (UnattainableError, InputError) as error:
        return None, [f"{untried}: {error}"]
    fresh = information_loss(outcome.sequences, original=original).value
    n_suppressed = outcome.changes.lazy().select((pl.col("what") == "suppressed").sum()).collect().item()
    values = counted(n_suppressed, "suppressed value", "suppressed values")
    loss = f"would lose {fresh:.3f} of what its quasi-identifiers tell, with {values}"
    notes = [f"a fresh series of the whole input {loss} and no event held back"]
    if release.series is not None:
        row, own = release.series.history[-1], release.utility.get("information_loss")
        loss = "" if own is None else f" loses {own.value:.3f} and"
        held_back = counted(row["held_back"], "new event is", "new events are")
        values = counted(row["suppressed"], "value is", "values are")
        notes.append(
            f"this part, at the levels of the series,{loss} pays for its past: {values} suppressed and "
            f"{held_back} held back"
        )
        notes += [
            f"a fresh series would show {name} {'finer' if depth > here else 'coarser'} than the series does"
            for name, depth in outcome.depths.items()
            if (here := release.series.depths.get(name, depth)) != depth
        ]
    notes.append(
        "a fresh series could not be joined with what was published, and both side by side are not covered"
    )
    return fresh, notes


FEW = 0.01
"""The share of the persons up to which those behind a constraint are few."""
_CHANGING = 0.05
"""The share of persons with several events up to whom a change of a value is taken for a mistake."""
_GAIN = 0.05
"""The share of the loss that must be saved for an offer to be worth a line."""
_NAMED = 5
NODE = "(rare)"
"""The node that is tried above rare values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Something about a few persons or values that would have kept more, tried, with the loss it gives."""

    kind: str
    """``leave out`` persons, ``repair`` values, or add a ``node`` to a hierarchy."""
    column: str
    """The column, or columns, that they are about."""
    persons: tuple[str, ...] = ()
    """Their keys in the input."""
    values: tuple[str, ...] = ()
    """The rare values."""
    loss_before: float = math.nan
    """The information loss as it is, on what was tried."""
    loss: float = math.nan
    """The information loss that it would give."""
    text: str
    """All of it in a sentence."""

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document about this offer."""
        return {
            "kind": self.kind,
            "column": self.column,
            "persons": len(self.persons),
            "values": list(self.values),
            "loss": {"before": self.loss_before, "after": self.loss},
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """Persons who differ from nearly all others in one column."""

    column: str
    """The column."""
    persons: Mask
    """A mask over persons."""
    rare: tuple[str, ...]
    """Values that fewer than k persons have."""
    changing: bool
    """Nearly everybody has one value throughout, and these persons have several."""


def find_suspects(table: EventTable, k: int) -> Iterator[Suspects]:
    """Yield the columns in which few persons have rare values, or change what nobody else changes.

    A value, or a step from one value to the next, is rare if fewer than `k` persons have it.
    """
    everybody = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    for column in table.schema.quasi:
        codes, labels = table.sequences.columns[column], table.sequences.codebooks[column].labels
        # Events hold nothing of persons' attributes, and these nothing of events.
        owners, codes = everybody[codes >= 0], codes[codes >= 0]
        follows = owners[1:] == owners[:-1]
        pairs = np.unique(np.stack([owners, codes]), axis=1)
        supporters = np.bincount(pairs[1], minlength=len(labels))
        rare = (supporters < k) & (supporters > 0)
        by_value = np.zeros(table.n_persons, np.bool_)
        by_value[pairs[0][rare[pairs[1]]]] = True
        steps = follows & (codes[1:] != codes[:-1])
        changes = np.zeros(table.n_persons, np.bool_)
        changes[owners[1:][steps]] = True
        # With several events, nearly all keep their value: then a change is a mistake more often than not.
        n_repeated = int((np.bincount(owners) > 1).sum())
        is_constant = 0 < changes.sum() <= _CHANGING * n_repeated
        found = by_value | changes if is_constant else by_value
        if 0 < found.sum() <= max(FEW * table.n_persons, 1):
            names = tuple(labels[code] for code in np.flatnonzero(rare))
            yield Suspects(column=column, persons=found, rare=names, changing=bool(is_constant))


def find_offers(
    table: EventTable, method: Method, *, seed: str, seconds: float
) -> tuple[list[Offer], list[str]]:
    """Return what could be left out, repaired or grouped, each tried, and what there was no time for."""
    k = getattr(method, "k", None)
    if not isinstance(k, int) or table.symbol is not None or table.owners is not None or not seconds:
        return [], []
    found = list(find_suspects(table, k))
    if not found:
        return [], []
    together = np.logical_or.reduce([each.persons for each in found])
    # Everybody, or suspects and others drawn at random where there are too many.
    drawn = table.sample(persons=method.trial_persons, events=MOST_EVENTS, seed=seed)
    sample = together | table.persons.is_in(drawn.persons.implode()).to_numpy()
    deadline = working_time() + seconds

    def loss(tried: EventTable) -> float | None:
        try:
            outcome = run_trial(method, tried, seed=seed, deadline=deadline)
        except (UnattainableError, InputError):
            return None
        view = method.view(tried)
        return float(information_loss(outcome.sequences, original=view).value)

    offers: list[Offer] = []
    try:
        before = loss(table.take(sample))
        if before is None:
            return [], []
        for offer, changed, without in _candidates(table, found, together):
            after = loss(changed.take(sample & ~without))
            if after is not None and after < (1 - _GAIN) * before:
                text = f"{offer.text}: an information loss of {after:.3f} instead of {before:.3f}"
                offers.append(replace(offer, loss_before=before, loss=after, text=text))
    except TimeUpError:
        return offers, ["there was no time to try the release without rare persons and values"]
    notes = []
    if offers and not sample.all():
        notes.append(
            f"what to leave out or repair was tried with {int(sample.sum()):,} of {table.n_persons:,} persons"
        )
    return sorted(offers, key=lambda offer: offer.loss), notes


def _candidates(
    table: EventTable, found: list[Suspects], together: Mask
) -> Iterator[tuple[Offer, EventTable, Mask]]:
    """Yield what may be offered, the table in which it is tried, and the persons who are left out of it."""
    nobody = np.zeros(table.n_persons, np.bool_)
    columns = ", ".join(each.column for each in found)
    who = counted(int(together.sum()), "person", "persons")
    leaving = Offer(
        kind="leave out",
        column=columns,
        persons=tuple(table.persons.filter(pl.Series(together)).to_list()),
        text=f"leave out {who} with rare or changing values of {columns} "
        "(listed in leave-out.csv, for [release] leave_out)",
    )
    yield leaving, table, together
    for each in found:
        names = ", ".join(each.rare[:_NAMED]) + (" and others" if len(each.rare) > _NAMED else "")
        about = f" ({names})" if names else ""
        who = counted(int(each.persons.sum()), "person", "persons")
        if each.changing:
            repair = Offer(
                kind="repair",
                column=each.column,
                persons=tuple(table.persons.filter(pl.Series(each.persons)).to_list()),
                values=each.rare,
                text=f"repair {each.column} of {who}{about}: it changes within them, and in nobody else",
            )
            yield repair, _repaired(table, each), nobody
        if len(each.rare) > 1 and table.hierarchies[each.column].height == 1:
            node = Offer(
                kind="node",
                column=each.column,
                values=each.rare,
                text=f"add a node above rare values of {each.column}{about} to its hierarchy",
            )
            yield node, _with_node(table, each.column, each.rare), nobody


def _repaired(table: EventTable, suspects: Suspects) -> EventTable:
    """Return a table in which suspects keep their own most frequent value that is not rare, if any."""
    column = suspects.column
    offsets, labels = table.person_offsets, table.sequences.codebooks[column].labels
    codes = table.sequences.columns[column].copy()
    is_rare = np.isin(np.asarray(labels, dtype=object), np.asarray(suspects.rare, dtype=object))
    for person in np.flatnonzero(suspects.persons):
        own = codes[offsets[person] : offsets[person + 1]]
        usual = own[(own >= 0) & ~is_rare[own]]
        if usual.size:
            own[own >= 0] = np.bincount(usual).argmax()
    shown = pl.Series(column, [labels[code] if code >= 0 else None for code in codes], dtype=pl.String)
    return table.replace(frame=table.frame.with_columns(shown))


def _with_node(table: EventTable, column: str, rare: tuple[str, ...]) -> EventTable:
    """Return a table whose flat hierarchy of a column has one node above rare values."""
    tree: Mapping[str, object] = {
        NODE: list(rare),
        **{label: {} for label in table.hierarchies[column].level_labels(0) if label not in rare},
    }
    grown = Hierarchy.from_tree(tree)
    quasi = table.schema.quasi[column]
    changed = type(quasi)(grown, quasi.max_level, quasi.never_suppress, quasi.weight)
    return table.replace(
        hierarchies={**table.hierarchies, column: grown},
        schema=replace(table.schema, quasi={**table.schema.quasi, column: changed}),
    )
