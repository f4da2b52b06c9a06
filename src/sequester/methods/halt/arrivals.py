"""What of a table is new in a series, and as rows behind all that was released: the accumulated table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.ordering import order_keys
from sequester.data.text import as_text
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT, counted, quoted
from sequester.methods.halt.algorithm import rules_of
from sequester.methods.halt.elimination import LatticeCosts
from sequester.methods.halt.histories import (
    HIDDEN,
    QuasiIdentifier,
    QuasiIdentifiers,
    WeightedRows,
    read_nodes,
)
from sequester.methods.prices import price_nodes
from sequester.privacy.g_sequences import secret_nodes
from sequester.ragged import gather_rows, offsets_of, owners_of
from sequester.release.certificate import QUASI_ROLES, TECHNICAL, rebuild_table
from sequester.release.release import EVENTS, PERSON, PERSONS
from sequester.release.series import FIRST_ROWS, event_keys, join_hierarchies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.methods.halt.histories import Signature
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.release.series import Series

    Amounts = npt.NDArray[np.float64]
    Protect = Mapping[str, Sequence[str]]

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


@dataclass(frozen=True, eq=False)
class SeriesLevels:
    """The items of all parts, and the levels that the first part chose."""

    quasi: QuasiIdentifiers
    """Items of both tables."""
    node: Signature
    """The level of each quasi-identifier."""
    is_blank: tuple[bool, ...]
    """Quasi-identifier to whether nothing of it was ever shown."""

    @classmethod
    def of(
        cls, before: EventTable, new: EventTable, depths: Mapping[str, int], protect: Protect
    ) -> SeriesLevels:
        """Number the items of both tables; a node is secret only if it is in both."""
        columns, first = [], 0
        for name in new.schema.quasi:
            tree = new.hierarchies[name]
            is_secret = secret_nodes(before, name, protect) & secret_nodes(new, name, protect)
            columns.append(QuasiIdentifier(name, tree, first, np.append(is_secret, False)))
            first += len(tree) + 1
        is_blank = tuple(before.labels[column.name] == [ROOT] for column in columns)
        node = tuple(
            column.height if blank else max(column.height - depths[column.name], 0)
            for column, blank in zip(columns, is_blank, strict=True)
        )
        return cls(QuasiIdentifiers(tuple(columns)), node, is_blank)

    def read(self, cells: Codes, is_allowed: Mask | None, *, stars: bool) -> tuple[Codes, Mask, Mask]:
        """Return the items of cells, which may not be suppressed, and events that show what is never shown.

        `is_allowed` says it for items of new events; it is None for released ones.
        """
        items = np.full(cells.shape, HIDDEN, np.int32)
        is_locked = np.ones(items.shape, np.bool_)
        is_forbidden = np.zeros(len(items), np.bool_)
        for q, (column, level) in enumerate(zip(self.quasi.columns, self.node, strict=True)):
            own = cells[:, q]
            if self.is_blank[q]:
                is_forbidden |= (is_allowed is not None) & (own == HIDDEN)
                continue
            shown = column.first + column.shown_at(level)
            # A star of an earlier part stands at the root.
            shown[0] = column.first + column.star
            if not stars:
                shown[shown == column.first + column.star] = HIDDEN
            items[:, q] = np.where(own >= 0, shown[own], HIDDEN)
            if is_allowed is not None:
                is_locked[:, q] = ~is_allowed[column.first + np.maximum(own, 0)]
        return items, is_locked, is_forbidden


@dataclass(frozen=True, eq=False)
class Accumulated:
    """The accumulated table with all that is new, as rows: those of `SeriesRows`."""

    levels: SeriesLevels
    """The levels of its columns."""
    names: tuple[tuple[str, str], ...]
    """Protected value to its attribute and label."""
    own_events: Counts
    """The events of the new table without attributes of known persons, which were released before."""
    prices: Amounts
    """Item to the cost of its suppression in one new cell."""
    items: Codes
    """The item of each cell, row by row."""
    offsets: Counts
    """Row ``r`` has the cells from ``offsets[r]`` to ``offsets[r + 1]``."""
    weights: Counts
    """Persons of each row."""
    is_locked: Mask
    """Cell to whether it may not be suppressed."""
    starts: Counts
    """Row with something new to its first new cell."""
    held: Counts
    """Protected values of such rows: row, value and first cell of its event, in the order of values."""
    sets: tuple[Codes, Counts]
    """Protected values of all other rows, each once, and where those of each row begin."""
    forbidden: Counts
    """Cells that would show a value in a column of which nothing was ever shown."""

    def shared(self, k: int) -> Accumulated:
        """Let one row stand for new ones that are equal, where `k` persons or more have no protected value.

        Nothing in such a row is ever rare, whatever becomes of others, and it tells nothing that is
        protected: there is nothing to change in it.
        """
        n_open = len(self.starts)
        offsets = self.offsets[: n_open + 1]
        is_free = np.ones(n_open, np.bool_)
        is_free[self.held[:, 0]] = False
        is_free[np.searchsorted(offsets, self.forbidden, side="right") - 1] = False
        groups, _ = kernels.rows.fold_rows(self.items[: offsets[-1]], offsets)
        sizes = np.bincount(groups[is_free], minlength=int(groups.max(initial=-1)) + 1)
        members = np.flatnonzero(is_free & (sizes[groups] >= k))
        _, firsts = np.unique(groups[members], return_index=True)
        weights, items, is_locked = self.weights.copy(), self.items.copy(), self.is_locked.copy()
        weights[members] = 0
        weights[members[firsts]] = sizes[groups[members[firsts]]]
        is_member = np.zeros(n_open, np.bool_)
        is_member[members] = True
        is_locked[: offsets[-1]] |= np.repeat(is_member, np.diff(offsets))
        is_member[members[firsts]] = False
        items[: offsets[-1]][np.repeat(is_member, np.diff(offsets))] = HIDDEN
        return replace(self, items=items, weights=weights, is_locked=is_locked)


def accumulate(
    arrivals: Arrivals, past: Series, model: KCPPrivacy, *, suppress: bool, stars: bool
) -> Accumulated:
    """Make one row of each person with something new, and fold equal ones of all others."""
    new = arrivals.table
    trees = {name: tree.to_frame() for name, tree in new.hierarchies.items()}
    before = rebuild_table(past.tables, past.certified, trees).histories
    before = before.replace(hierarchies=new.hierarchies)
    levels = SeriesLevels.of(before, new, past.depths, model.protect)
    n_columns = len(levels.quasi)
    names = tuple((name, label) for name, labels in model.protect.items() for label in labels)
    histories = WeightedRows.of(new, levels.quasi)
    rules = rules_of(new, levels.quasi, histories, suppress=suppress, stars=stars)
    read_before = levels.read(read_nodes(before, levels.quasi), None, stars=stars)
    read_new = levels.read(histories.cells, rules.is_allowed & suppress, stars=stars)
    places = before.persons.alias("who").to_frame().with_row_index("place")
    found = (
        arrivals.pseudonyms.alias("who").to_frame().join(places, on="who", how="left", maintain_order="left")
    )
    numbers = found["place"].cast(pl.Int64).fill_null(-1).to_numpy()
    known = np.flatnonzero(numbers >= 0)
    own = np.ones(new.n_events, np.bool_)
    if new.of_persons:
        own[new.person_offsets[known]] = False
    own_events = np.flatnonzero(own)
    old, old_offsets = gather_rows(np.arange(before.n_events), before.person_offsets, numbers[known])
    owners = np.concatenate([known[owners_of(old_offsets)], owners_of(new.person_offsets)[own_events]])
    order = np.argsort(owners, kind="stable")
    owners, is_old = owners[order], order < len(old)
    offsets = offsets_of(np.bincount(owners, minlength=new.n_persons)) * n_columns
    items, locked, forbidden = (
        np.concatenate([one[old], other[own_events]])[order]
        for one, other in zip(read_before, read_new, strict=True)
    )
    held = [np.empty((0, 3), np.int64)]
    numbered = (each.sequences.number_values(names, model.columns) for each in (before, new))
    for one, other in zip(*numbered, strict=True):
        codes = np.concatenate([one[old], other[own_events]])[order]
        at = np.flatnonzero(codes >= 0)
        held.append(np.column_stack([owners[at], codes[at], at * n_columns]))
    together = np.concatenate(held)
    is_closed = np.ones(before.n_persons, np.bool_)
    is_closed[numbers[known]] = False
    values = before.sequences.values_of_persons(names, model.columns)
    closed, closed_offsets, n_persons, sets = _fold(
        read_before[0].reshape(-1), before.person_offsets * n_columns, values, np.flatnonzero(is_closed)
    )
    return Accumulated(
        levels=levels,
        names=names,
        own_events=own_events,
        prices=LatticeCosts(histories, levels.quasi, *price_nodes(new)).prices(levels.node),
        items=np.concatenate([items.reshape(-1), closed]),
        offsets=np.concatenate([offsets, offsets[-1] + closed_offsets[1:]]),
        weights=np.concatenate([np.ones(new.n_persons, np.int64), n_persons]),
        is_locked=np.concatenate([locked.reshape(-1), np.ones(len(closed), np.bool_)]),
        starts=offsets[:-1] + n_columns * np.bincount(owners[is_old], minlength=new.n_persons),
        held=together[np.lexsort((together[:, 2], together[:, 0], together[:, 1]))],
        sets=sets,
        forbidden=n_columns * np.flatnonzero(forbidden),
    )


def _fold(
    items: Codes, item_offsets: Counts, values: tuple[Codes, Counts], persons: Counts
) -> tuple[Codes, Counts, Counts, tuple[Codes, Counts]]:
    """Fold equal ones of some persons: cells, where rows begin, persons of each, and protected values."""
    cells, offsets = gather_rows(items, item_offsets, persons)
    sets, set_offsets = gather_rows(*values, persons)
    kinds, _ = kernels.rows.fold_rows(sets, set_offsets)
    rows, _ = kernels.rows.fold_rows(cells, offsets)
    keys = rows.astype(np.int64) * (int(kinds.max(initial=0)) + 1) + kinds
    _, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    folded, folded_offsets = gather_rows(cells, offsets, firsts)
    return folded, folded_offsets, counts.astype(np.int64), gather_rows(sets, set_offsets, firsts)
