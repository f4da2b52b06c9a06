"""What of a table is new in a series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from sequester.data.ordering import order_keys
from sequester.data.text import as_text
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, counted, quoted
from sequester.ragged import offsets_of, owners_of
from sequester.release.certificate import QUASI_ROLES, TECHNICAL
from sequester.release.release import EVENTS, PERSON, PERSONS
from sequester.release.series import FIRST_ROWS, event_keys, join_hierarchies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester._typing import Counts, Mask
    from sequester.data.table import EventTable
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.release.series import Series

LOOK_BACK = ("days_since_first", "days_since_first_in_year", "days_since_previous")
"""Derived columns that depend on a person's earlier events."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The new events of persons who have any, and new persons; with the hierarchies of all parts."""

    table: EventTable
    """Persons with something new: attributes, if there are any, and new events alone."""
    pseudonyms: pl.Series
    """The pseudonym of each of them; null for new persons."""
    late_rows: Counts
    """Input rows of events that lie before what was released of their person: they come no more."""


def check_same_series(table: EventTable, model: KCPPrivacy, past: Series, method: str) -> None:
    """Refuse a table whose columns, or a promise whose parameters, are not those of the series."""
    certificate = past.certified
    if certificate.method != method:
        msg = f"{past.path} was made with {certificate.method}, and a series keeps its method, not {method}"
        raise InputError(msg)
    lines = [
        f"{past.path} has {name} = {certificate.claim.get(name)}, and a series keeps its promise, not {value}"
        for name, value in model.claim().items()
        if name not in ("protect", "columns", "persons") and certificate.claim.get(name) != value
    ]
    schema = table.schema
    here = {
        name: (name in schema.quasi, name in schema.sensitive_columns, name in table.of_persons)
        for name in (*schema.attributes, *schema.keep)
    }
    there = {
        name: (role in QUASI_ROLES, "sensitive" in role, each == PERSONS)
        for each, columns in certificate.columns.items()
        for name, role in columns.items()
        if role != TECHNICAL
    }
    lines += [
        f"column {quoted(name)}: its role is not that in {past.path}, and a series keeps its columns"
        for name in dict.fromkeys((*here, *there))
        if here.get(name) != there.get(name)
    ]
    if lines:
        raise InputError(*lines)


def joined_promise(model: KCPPrivacy, new: EventTable, past: Series) -> KCPPrivacy:
    """Return the promise about the accumulated table: whatever a part protects is protected in all.

    Raises
    ------
    InputError
        If an earlier part released a value, unprotected, that is to be protected now.
    """
    asked = model.about(new)
    before = cast("Mapping[str, Sequence[str]]", past.certified.claim.get("protect", {}))
    protect = {
        name: tuple(dict.fromkeys((*before.get(name, ()), *labels))) for name, labels in asked.protect.items()
    }
    lines = []
    for name, labels in protect.items():
        for column in asked.columns.get(name, (name,)):
            table = next(each for each in past.tables.values() if column in each.columns)
            shown = set(table[column].unique().to_list()) & set(labels) - set(before.get(name, ()))
            lines += [
                f"sensitive.{name}.protect has {label!r}, which an earlier part released unprotected: a "
                "series keeps its protected values, and takes in only values that are new"
                for label in sorted(shown)
            ]
    if lines:
        raise InputError(*lines)
    return replace(asked, protect=protect)


def find_new(table: EventTable, past: Series) -> Arrivals:
    """Return the events that are new; those that were released must be as they were.

    An event is known by its person and its order or time. Those after the last released one of their person
    are new; the others were released, or lie before what was: those come no more.

    Raises
    ------
    InputError
        If an event or attribute differs from what was released; one line per column, with rows.
    """
    keys = event_keys(table.frame, table.times, table.schema.order)
    trees = {
        name: Hierarchy.from_frame(
            join_hierarchies([{name: past.hierarchies[name]}, {name: tree.to_frame()}])[name]
        )
        for name, tree in table.hierarchies.items()
        if name in past.hierarchies
    }
    table = table.replace(hierarchies={**table.hierarchies, **trees})
    owners = owners_of(table.person_offsets)
    who = table.persons.alias("person").cast(pl.String).to_frame()
    known = who.join(past.pseudonyms, on="person", how="left", maintain_order="left")["pseudonym"]
    is_known = known.is_not_null().to_numpy()
    is_attribute = np.zeros(table.n_events, np.bool_)
    if table.of_persons:
        is_attribute[table.person_offsets[:-1]] = True
        _compare_attributes(table, past, known)
    candidates = np.flatnonzero(is_known[owners] & ~is_attribute)
    is_new = ~is_known[owners]
    late, old = _find_later(table, past, known.gather(owners[candidates]), keys, candidates, is_new)
    _refuse_look_back(table, np.unique(owners[candidates[is_new[candidates]]]), owners[old], past, known)
    has_new = np.zeros(table.n_persons, np.bool_)
    has_new[owners[is_new]] = True
    events = np.flatnonzero((is_new | is_attribute) & has_new[owners])
    return Arrivals(
        table=table.replace(
            frame=table.frame[events],
            rows=table.rows[events],
            persons=table.persons.filter(has_new),
            person_offsets=offsets_of(np.bincount(owners[events], minlength=table.n_persons)[has_new]),
            times=None if table.times is None else table.times.gather(events),
        ),
        pseudonyms=known.filter(has_new),
        late_rows=np.sort(table.rows[late]),
    )


def _find_later(
    table: EventTable,
    past: Series,
    pseudonyms: pl.Series,
    keys: pl.Series,
    candidates: Counts,
    is_new: Mask,
) -> tuple[Counts, Counts]:
    """Mark events of known persons that are new; return those that are too late, and those that are old.

    Events of one person and one key are compared in their order.
    """
    released = past.tables[EVENTS]
    together = pl.concat([past.keys.alias(""), keys.gather(candidates).alias("")])
    when, n_past = np.unique(order_keys(together), return_inverse=True)[1].astype(np.int64), len(past.keys)
    here, before = (
        pl.DataFrame({PERSON: person, "when": each, "place": np.arange(len(each))})
        for person, each in ((pseudonyms, when[n_past:]), (released[PERSON], when[:n_past]))
    )
    before = before.join(here, on=PERSON, how="semi", maintain_order="left")
    last = before.group_by(PERSON).agg(last=pl.col("when").max())
    here = here.join(last, on=PERSON, how="left", maintain_order="left")
    later = here["last"].is_null() | (here["when"] > here["last"])
    is_new[candidates[later.to_numpy()]] = True
    rank = pl.int_range(pl.len()).over(PERSON, "when")
    found = here.filter(~later).with_columns(rank=rank)
    known = before.join(found, on=PERSON, how="semi", maintain_order="left").select(
        PERSON, "when", released="place", rank=rank
    )
    found = found.join(known, on=[PERSON, "when", "rank"], how="left", maintain_order="left")
    # At the very time of the last released event there may be another one.
    beside = found["released"].is_null() & (found["when"] == found["last"])
    is_new[candidates[found.filter(beside)["place"].to_numpy()]] = True
    old = found.filter(pl.col("released").is_not_null())
    events, places = candidates[old["place"].to_numpy()], old["released"].to_numpy()
    columns = [name for name in released.columns[2:] if name in table.frame.columns]
    _compare(table, events, released.select(columns)[places])
    late = found.filter(found["released"].is_null() & ~beside)["place"].to_numpy()
    return candidates[late], events


def _compare_attributes(table: EventTable, past: Series, known: pl.Series) -> None:
    """Compare the attributes of known persons with those that were released."""
    released = past.tables[PERSONS].with_row_index("place")
    found = pl.DataFrame({PERSON: known, "event": table.person_offsets[:-1]}).join(
        released.select(PERSON, "place"), on=PERSON, how="inner"
    )
    _compare(table, found["event"].to_numpy(), released.drop(PERSON, "place")[found["place"].to_numpy()])


def _compare(table: EventTable, events: Counts, released: pl.DataFrame) -> None:
    """Refuse events that are not as they were released: a value must lie at or below what was shown of it."""
    lines = []
    for name in released.columns if len(events) else ():
        own = as_text(table.frame[name]).fill_null(MISSING).gather(events)
        if name in table.schema.quasi:
            tree = table.hierarchies[name]
            above, below = tree.nodes_of(released[name]), tree.nodes_of(own)
            differs = (below < above) | (below >= tree.subtree_end[above])
        else:
            differs = (own != released[name]).to_numpy()
        wrong = np.flatnonzero(differs)
        if len(wrong):
            rows = sorted(table.rows[events[wrong]].tolist())
            first = wrong[int(np.argmin(table.rows[events[wrong]]))]
            more = ", ..." if len(rows) > FIRST_ROWS else ""
            lines.append(
                f"column {quoted(name)}: {counted(len(wrong), 'value differs', 'values differ')} from what "
                f"was released under the person's pseudonym, in rows {', '.join(map(str, rows[:FIRST_ROWS]))}"
                f"{more}: row {rows[0]} was released as {released[name][int(first)]!r} and has "
                f"{own[int(first)]!r} now. What was published stays as it was: give old events as they were"
            )
    if lines:
        raise InputError(*lines)


def _refuse_look_back(
    table: EventTable, persons: Counts, of_old: Counts, past: Series, known: pl.Series
) -> None:
    """Refuse a column that looks back at earlier events where the input does not have them."""
    names = [name for name, kind in table.schema.derive.items() if kind in LOOK_BACK]
    if not names or not len(persons):
        return
    counts = past.tables[EVENTS][PERSON].value_counts(name="n")
    needed = known.gather(persons).alias(PERSON).to_frame().join(counts, on=PERSON, how="inner")["n"].sum()
    if np.isin(of_old, persons).sum() < needed:
        msg = (
            f"column {quoted(names[0])} looks back at earlier events, and the input has not all of those "
            "that were released: give old and new events together"
        )
        raise SchemaError(msg)
