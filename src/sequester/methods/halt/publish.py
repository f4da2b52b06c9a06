"""From a draft to the outcome of a method: what is released, what was changed and why, and its limits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from sequester.data.sequences import Sequences
from sequester.data.text import Codebook, as_text
from sequester.errors import NothingNewError
from sequester.hierarchies.labels import ROOT, counted
from sequester.methods.halt.local import LocalDraft
from sequester.methods.limits import ONE_BY_ONE, ONE_RELEASE, kept_columns, tie_limits
from sequester.methods.prices import purpose_warnings
from sequester.mining.dependence import find_dependences
from sequester.ragged import offsets_of, owners_of, places_of
from sequester.release.certificate import released_schema_of
from sequester.release.outcome import (
    ChangedPart,
    Outcome,
    PartOutcome,
    Reason,
    list_lazily,
    most_frequent,
    unchanged_columns,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from sequester._typing import Codes, Counts, Mask
    from sequester.data.table import EventTable
    from sequester.methods.halt.algorithm import BestNode
    from sequester.methods.halt.arrivals import Arrivals
    from sequester.methods.halt.continuation import ContinuedDraft
    from sequester.methods.halt.elimination import Elimination
    from sequester.methods.halt.histories import QuasiIdentifier
    from sequester.methods.halt.method import KCPMethod
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.privacy.model import Channel

KINDS = ("generalized", "suppressed", "dropped")
"""A coarser value is released; a star is; nothing of the person is."""
HELD_BACK = "held back"
"""Nothing of a new event is released now; a later part of the series may release it."""
CONSTRAINTS = (
    "support below k",
    "confidence above c",
    "stars in too little company",
    "k, c and p at finer levels",
    "protected value above c among all persons",
)
"""What a suppressed value broke, by its channel; what a finer column would; what a person would."""
SUPPORT, CONFIDENCE, STARS, FINER, BASE_RATE = CONSTRAINTS
CHANGES: dict[str, pl.DataType | type[pl.DataType]] = {
    "column": pl.String,
    "what": pl.Enum(KINDS),
    "level": pl.Int64,
    "from": pl.String,
    "to": pl.String,
    "persons": pl.Int64,
    "because": pl.String,
    "constraint": pl.Enum(CONSTRAINTS),
}
MUCH = 0.5
"""A loss above which the steward is warned."""
KNOWN_SENSITIVE = (
    "An adversary who knows a sensitive attribute of a person is not covered: unprotected values are "
    "released unchanged, and can tell persons apart."
)
OWN_ATTRIBUTE = (
    "An adversary who knows one value of a sensitive attribute of a person and wants to infer another one of "
    "the same attribute is not covered."
)
EVENT_COUNT = (
    "The number of events of a person is visible and not covered, because it is not a quasi-identifier here."
)
SUCCESSION = (
    "Knowledge that events follow each other directly, or that something did not happen, is not covered: "
    "only which values occur, and in which order."
)
ONE_LEVEL = (
    "An adversary who knows one value of a column more precisely than another one of the same column is not "
    'covered, because of levels = "same".'
)
POSSIBLE = (
    "A suppressed value may stand for any value: the promise counts the persons who show a value, not those "
    "who could have it."
)
SINGLE_CELLS = (
    "Single cells are suppressed, and others still show their values. What an adversary who knows the method "
    "infers from a suppressed cell is not covered: one who also knows the quasi-identifiers of everybody may "
    "become certain of a protected value."
)
DROPPED = (
    "Some persons were left out because too many had the same protected value: that a person who should be "
    "in the release is missing can reveal something about them."
)


def publish(table: EventTable, solution: BestNode, *, known: Collection[str] = ()) -> Outcome:
    """Write for each person who is released all events, with what is released of each value.

    `known` are sensitive columns among the quasi-identifiers of the table: they stay sensitive.
    """
    owners = owners_of(table.person_offsets)
    books, codes = list_released(table, solution)
    columns: dict[str, Codes] = {}
    codebooks: dict[str, Codebook] = {}
    hierarchies = {}
    for name, book in books.items():
        released = book["to"].to_list()
        # A value that stands nowhere in the release is not in its hierarchy.
        is_shown = np.zeros(len(released), np.bool_)
        is_shown[codes[name][solution.is_kept[owners] & (codes[name] >= 0)]] = True
        if not is_shown.all() and is_shown.any():
            released = np.where(is_shown, released, released[int(np.argmax(is_shown))]).tolist()
        codebooks[name] = Codebook.of(released)
        columns[name] = np.append(codebooks[name].encode(released), np.int32(-1))[codes[name]]
        if name not in known:
            hierarchies[name] = table.hierarchies[name].above(codebooks[name].labels)
    rest = unchanged_columns(table, columns)
    columns |= rest.columns
    codebooks |= rest.codebooks
    lengths = np.where(solution.is_kept, np.diff(table.person_offsets), 0)
    n_suppressed = sum(book["because"].count() for book in books.values())
    limits, warnings = limits_of(table, solution, n_suppressed=n_suppressed, is_known=bool(known))
    return Outcome(
        sequences=Sequences(
            offsets_of(lengths),
            {name: each[solution.is_kept[owners]] for name, each in columns.items()},
            codebooks,
        ),
        schema=released_schema_of(table, hierarchies),
        hierarchies=hierarchies,
        changes=list_changes(table, solution, books, codes),
        limits=limits,
        warnings=warnings,
        depths={
            column.name: column.height - level
            for column, level in zip(solution.elimination.quasi.columns, solution.draft.node, strict=True)
        },
    )


def publish_part(arrivals: Arrivals, solution: BestNode, model: KCPPrivacy) -> PartOutcome:
    """Write for each person what of their new events is released, and count those that are held back."""
    new, draft = arrivals.table, cast("ContinuedDraft", solution.draft)
    owners = owners_of(new.person_offsets)
    is_kept = places_of(new.person_offsets) < draft.n_kept[owners]
    # Attributes are no events of their own.
    n_held_back = int((~is_kept).sum() - (bool(new.of_persons) * (draft.n_kept == 0)).sum())
    if not is_kept.any():
        held = counted(n_held_back, "new event is", "new events are")
        msg = (
            f"nothing new can be released yet: {held} held back, and the series stays as it was"
            if n_held_back
            else "the input has nothing that the series has not released: it stays as it was"
        )
        raise NothingNewError(msg, achieved={})
    some = draft.n_kept > 0
    table = new.replace(
        frame=new.frame.filter(is_kept),
        rows=new.rows[is_kept],
        persons=new.persons.filter(some),
        person_offsets=offsets_of(draft.n_kept[some]),
        times=None if new.times is None else new.times.filter(is_kept),
    )
    outcome = publish(table, replace(solution, is_kept=np.ones(table.n_persons, np.bool_)))
    hierarchies = dict(outcome.hierarchies)
    entering = arrivals.pseudonyms.is_null().to_numpy()[some]
    for name in set(hierarchies) & {*new.of_persons}:
        # Attributes of known persons are not released again.
        codes = outcome.sequences.columns[name][table.person_offsets[:-1][entering]]
        labels = outcome.sequences.codebooks[name].labels
        hierarchies[name] = table.hierarchies[name].above({labels[code] for code in codes.tolist()})
    not_released = _list_held_back(new, draft, np.flatnonzero(~is_kept), owners)
    changes = outcome.changes.lazy().with_columns(pl.col("what", "constraint").cast(pl.String)).collect()
    warnings = list(outcome.warnings)
    if late := arrivals.late_rows.tolist():
        before = counted(len(late), "event lies before", "events lie before")
        warnings.append(
            f"{before} what was released of their person and can come no more, for example in row {late[0]}"
        )
    outcome = replace(
        outcome,
        sequences=replace(outcome.sequences, person_offsets=offsets_of(draft.n_kept)),
        schema=released_schema_of(new, hierarchies),
        hierarchies=hierarchies,
        changes=pl.concat([changes, not_released]).sort("row", maintain_order=True),
        warnings=tuple(warnings),
    )
    return PartOutcome(
        outcome=outcome, table=new, known=arrivals.pseudonyms, model=model, held_back=n_held_back
    )


def _list_held_back(new: EventTable, draft: ContinuedDraft, events: Counts, owners: Counts) -> pl.DataFrame:
    """List the cells of events that are held back, and the channel that the first of them would complete."""
    because = [None if each is None or not each.length else str(each) for each in draft.held_for]
    broken = [BASE_RATE if each is None or not each.length else _broken(each) for each in draft.held_for]
    whose = owners[events]
    frames = [
        pl.DataFrame(
            {
                "row": new.rows[events].astype(np.int64),
                "person": new.persons.gather(whose),
                "column": pl.Series([column.name]).new_from_index(0, len(events)),
                "what": pl.Series([HELD_BACK]).new_from_index(0, len(events)),
                "level": pl.Series([level], dtype=pl.Int64).new_from_index(0, len(events)),
                "from": as_text(new.frame[column.name]).gather(events),
                "to": pl.Series([None], dtype=pl.String).new_from_index(0, len(events)),
                "persons": pl.Series([None], dtype=pl.Int64).new_from_index(0, len(events)),
                "because": pl.Series(because, dtype=pl.String).gather(whose),
                "constraint": pl.Series(broken, dtype=pl.String).gather(whose),
            }
        ).drop_nulls("from")
        for column, level in zip(draft.rows.quasi.columns, draft.node, strict=True)
    ]
    return pl.concat(frames)


def list_released(table: EventTable, solution: BestNode) -> tuple[dict[str, pl.DataFrame], dict[str, Codes]]:
    """Return for each quasi-identifier a frame of what is released instead of which value, and why.

    With it comes the row of that frame for each event.
    """
    elimination, draft = cast("Elimination", solution.elimination), solution.draft
    codes = {column.name: table.sequences.columns[column.name] for column in elimination.quasi.columns}
    if isinstance(draft, LocalDraft):
        return _list_cells(table, solution.is_kept, draft, codes)
    persons, quasi = elimination.count_persons(draft), elimination.quasi

    @cache
    def channel(place: int) -> Channel:
        _, channels, row = draft.suppressions[place]
        return channels.cause(row).channel(quasi)

    def forced_by(value: int) -> Channel:
        """Return the first channel that forced the suppression of a released value."""
        items = (each.item for each in draft.suppressions)
        return channel(next(i for i, item in enumerate(items) if item <= value < quasi.ends[item]))

    books = {}
    for column, shown, level in zip(quasi.columns, elimination.released(draft), draft.node, strict=True):
        rows = _list_values(table, column, level, shown)
        for place, (label, node) in enumerate(_labels_of(table, column)):
            if level < column.height and not column.is_hidden[node] and shown[node] == column.star:
                value = column.first + int(column.cuts[level][node])
                because = forced_by(value)
                why = int(persons[value]), str(because), _broken(because)
                rows[place] = (column.name, "suppressed", level, label, column.label(column.star), *why)
        books[column.name] = pl.DataFrame(rows, schema=CHANGES, orient="row")
    return books, codes


def _list_cells(
    table: EventTable, is_kept: Mask, draft: LocalDraft, codes: dict[str, Codes]
) -> tuple[dict[str, pl.DataFrame], dict[str, Codes]]:
    """Return the same where cells were suppressed one by one: a row more for each value and channel."""
    owners = owners_of(table.person_offsets)
    events = np.flatnonzero(is_kept[owners])
    causes, channels = draft.causes(offsets_of(np.diff(table.person_offsets)[is_kept]))
    books, extended = {}, {}
    for q, (column, level) in enumerate(zip(draft.rows.quasi.columns, draft.node, strict=True)):
        rows = _list_values(table, column, level, column.shown_at(level))
        labels = table.sequences.codebooks[column.name].labels
        own = codes[column.name].astype(np.int64)
        starred = np.flatnonzero(causes[:, q] >= 0)
        cells = events[starred]
        pairs, which = np.unique(
            np.column_stack([own[cells], causes[starred, q]]), axis=0, return_inverse=True
        )
        which = which.reshape(-1)
        touched = np.unique(np.column_stack([which, owners[cells]]), axis=0)[:, 0]
        persons = np.bincount(touched, minlength=len(pairs)).tolist()
        own[cells] = len(rows) + which
        for (code, cause), n_persons in zip(pairs.tolist(), persons, strict=True):
            because = channels[cause]
            why = n_persons, str(because), _broken(because)
            rows.append((column.name, "suppressed", level, labels[code], column.label(column.star), *why))
        books[column.name] = pl.DataFrame(rows, schema=CHANGES, orient="row")
        extended[column.name] = own.astype(np.int32)
    return books, extended


def _labels_of(table: EventTable, column: QuasiIdentifier) -> list[tuple[str, int]]:
    """List the values of a column with their nodes."""
    labels = table.sequences.codebooks[column.name].labels
    return list(zip(labels, column.tree.nodes(labels).tolist() if labels else [], strict=True))


def _list_values(
    table: EventTable, column: QuasiIdentifier, level: int, shown: Codes
) -> list[tuple[object, ...]]:
    """List for each value of a column what is released of it at a level."""
    is_exact = column.leaves_as_it_is(level) & ((shown != column.star) | column.is_hidden)
    rows: list[tuple[object, ...]] = []
    for label, node in _labels_of(table, column):
        to = label if is_exact[node] else column.label(int(shown[node]))
        rows.append((column.name, "generalized", level, label, to, None, None, FINER))
    return rows


def _broken(channel: Channel) -> str:
    """Return what of the promise a channel breaks."""
    if any(label == ROOT for event in channel.events for _, label in event):
        return STARS
    return SUPPORT if channel.value is None else CONFIDENCE


def list_changes(
    table: EventTable, solution: BestNode, books: dict[str, pl.DataFrame], codes: dict[str, Codes]
) -> pl.LazyFrame:
    """List every cell of a quasi-identifier that is not released as it was, by input row.

    The columns:

    - ``row``: the input row of the event;
    - ``person``, as in the input;
    - ``column``: the quasi-identifier;
    - ``what`` happened: ``generalized``, ``suppressed`` or ``dropped`` (the whole person is);
    - ``level``: the level of the hierarchy that was chosen for the column, 0 being the values as they were;
    - ``from``: the value;
    - ``to``: what is released instead; null for a dropped person;
    - ``persons``: how many persons the suppression of this value touched; null where it was not suppressed;
    - ``because``: the channel that forced the suppression, and the persons whom it fits;
    - ``constraint``: what of the promise that broke.
    """
    owners = owners_of(table.person_offsets)
    is_kept = solution.is_kept[owners]
    gone = {
        "what": pl.lit("dropped", CHANGES["what"]),
        "to": pl.lit(None, pl.String),
        "persons": pl.lit(None, pl.Int64),
        "because": pl.lit(None, pl.String),
        "constraint": pl.lit(BASE_RATE, CHANGES["constraint"]),
    }
    kinds, events, kind_of, n_kinds = [], [], [], 0
    for name, book in books.items():
        own = codes[name]
        is_changed = np.append((book["to"] != book["from"]).to_numpy(), False)[own]
        for kind, chosen in (
            (book, np.flatnonzero(is_kept & is_changed)),
            (book.with_columns(**gone), np.flatnonzero(~is_kept & (own >= 0))),
        ):
            kinds.append(kind)
            events.append(chosen.astype(np.int32))
            kind_of.append(own[chosen] + np.int32(n_kinds))
            n_kinds += kind.height
    changed = np.concatenate(events)
    rows = table.rows[changed].astype(np.int32)
    order = np.argsort(rows, kind="stable")
    whose = owners[changed[order]].astype(np.int32)
    return list_lazily(pl.concat(kinds), np.concatenate(kind_of)[order], rows[order], whose, table.persons)


def limits_of(
    table: EventTable, solution: BestNode, *, n_suppressed: int, is_known: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the limits, which hold no value of the data, and the warnings, which may."""
    schema = table.schema
    thresholds = solution.elimination.thresholds
    values = counted(thresholds.p, "value", "values")
    limits = [f"An adversary who knows more than {values} of a person is not covered."]
    warnings = purpose_warnings(table)
    if thresholds.p > 1 and not thresholds.mixed:
        limits.append(ONE_LEVEL)
    limits.append(SUCCESSION)
    if any(table.protected.values()):
        limits.append(ONE_BY_ONE)
    if schema.sensitive:
        limits.append(OWN_ATTRIBUTE if is_known else KNOWN_SENSITIVE)
    if not any(kind == "event_count" and name in schema.quasi for name, kind in schema.derive.items()):
        limits.append(EVENT_COUNT)
    if schema.keep:
        limits.append(kept_columns(schema.keep))
    if n_suppressed:
        limits.append(POSSIBLE)
        limits += [SINGLE_CELLS] if isinstance(solution.draft, LocalDraft) else []
    for each in find_dependences(table):
        limits.append(
            f"Columns that follow from others can undo their coarseness, and that is not covered: {each}."
        )
        warnings.append(
            f"quasi-identifiers depend on each other: {each}; a coarse column can be undone by finer ones, "
            "so leave one of them out, or give all of them the same coarse levels"
        )
    if solution.n_dropped:
        limits.append(DROPPED)
        persons = counted(solution.n_dropped, "person was", "persons were")
        warnings.append(f"{persons} left out, because a protected value was above c among all of them")
    limits += [*tie_limits(table), ONE_RELEASE]
    if solution.skipped:
        warnings.append(
            "finer levels were not tried, because there are too many combinations to count: take a smaller "
            "p, drop quasi-identifiers, or search on with protect --thorough"
        )
    if solution.draft.loss > MUCH:
        what = "columns" if is_known else "quasi-identifiers"
        warnings.append(
            f"the {what} lose {100 * solution.draft.loss:.1f}% of their information: a smaller k or "
            "p, a larger c, or fewer quasi-identifiers would keep more"
        )
    return tuple(limits), tuple(warnings)


def reasons_of(method: KCPMethod, changes: pl.LazyFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count changed values by column and by the constraint that the channel behind each broke."""
    reasons = []
    # Values are not needed here, and there may be very many of them.
    counted_columns = changes.select(pl.exclude("from", "to", "persons")).collect()
    groups = counted_columns.group_by("what", "column", "constraint", maintain_order=True)
    for (what, column, constraint), rows in groups:
        part = ChangedPart.of(rows)
        values, persons = counted(part.events, "value", "values"), counted(part.persons, "person", "persons")
        if what == "generalized":
            # A sensitive attribute that may be known has nothing between its values and the star.
            tree = table.hierarchies.get(str(column))
            level, height = rows["level"][0], 1 if tree is None else tree.height
            thresholds = f"k = {method.k:,}, c = {method.c}, p = {method.p:,}"
            least = ", suppression included" if method.suppression else ""
            text = (
                f"{column}: {values} coarser, at level {level} of {height}. Of all combinations of levels "
                f"that were tried and keep {thresholds}, this one loses least{least}."
            )
        elif what == HELD_BACK:
            text = (
                f"{column}: {values} of {persons} held back, beside what the series has released: "
                f"{constraint}."
            )
        elif what == "dropped":
            text = (
                f"{column}: {values} left out with {persons}: more than the share c = {method.c} of all "
                "persons had the same protected value."
            )
        else:
            broken = "k or c, with * counted as a value" if constraint == STARS else constraint
            text = f"{column}: {values} of {persons} became *: {broken}."
        worst = most_frequent(rows.drop_nulls("because"), "because")
        reasons.append(part.reason(str(constraint), text, tuple(channel for channel, _ in worst)))
    order = {what: place for place, what in enumerate(("suppressed", HELD_BACK, "dropped", "generalized"))}
    return tuple(sorted(reasons, key=lambda each: (order[each.change], -each.events)))
