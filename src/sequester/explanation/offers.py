"""Find the few persons and values behind the worst constraints, and try the release without them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester.errors import InputError, UnattainableError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import counted
from sequester.methods.relax import TimeUpError, run_trial, working_time
from sequester.methods.relax_hierarchies import with_quasi
from sequester.utility.generalization import information_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester._typing import Mask
    from sequester.data.table import EventTable
    from sequester.methods.method import Method

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
    """Values that fewer persons have than a crowd needs."""
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
        crowds = np.bincount(pairs[1], minlength=len(labels))
        rare = (crowds < k) & (crowds > 0)
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
    table: EventTable, method: Method, *, seed: str, seconds: float, persons: int, events: int
) -> tuple[list[Offer], list[str]]:
    """Return what could be left out, repaired or grouped, each tried, and what there was no time for."""
    k = getattr(method, "k", None)
    if not isinstance(k, int) or table.symbol is not None or table.owners is not None or not seconds:
        return [], []
    found = list(find_suspects(table, k))
    if not found:
        return [], []
    together = np.logical_or.reduce([each.persons for each in found])
    sample = _with_suspects(table, together, persons=persons, events=events, seed=seed)
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
        schema=with_quasi(table.schema, {column: changed}),
    )


def _with_suspects(table: EventTable, suspects: Mask, *, persons: int, events: int, seed: str) -> Mask:
    """Return a mask of everybody, or of suspects and others drawn at random where there are too many."""
    if table.n_persons <= persons and table.n_events <= events:
        return np.ones(table.n_persons, np.bool_)
    drawn = set(table.sample(persons=persons, events=events, seed=seed).persons.to_list())
    chosen = np.array([key in drawn for key in table.persons], np.bool_)
    return chosen | suspects
