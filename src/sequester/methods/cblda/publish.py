"""From classes to the outcome of a method: what is released, what changed and why, limits and measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.sequences import Sequences
from sequester.data.text import Codebook
from sequester.hierarchies.labels import counted
from sequester.kernels.rows import fold_rows
from sequester.methods.evaluate import measure_cells
from sequester.methods.limits import ONE_BY_ONE, ONE_RELEASE, kept_columns, tie_limits
from sequester.methods.prices import purpose_warnings
from sequester.ragged import offsets_of, owners_of
from sequester.release.certificate import released_schema_of
from sequester.release.outcome import (
    ChangedPart,
    Outcome,
    Reason,
    most_frequent,
    split_changes,
    unchanged_columns,
)
from sequester.utility import Score

if TYPE_CHECKING:
    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.cblda.algorithm import ClassSolution
    from sequester.methods.cblda.method import KCMethod

KINDS = ("generalized", "suppressed", "dropped")
"""A coarser value is released; the event is not; nothing of the person is."""
KNOWN_SENSITIVE = (
    "An adversary who knows a sensitive attribute of a person is not covered: unprotected values are "
    "released unchanged, and can tell persons of one class apart."
)
MISSING_EVENTS = (
    "Some events are missing, because no others of the class were like them: the number of events of a "
    "person may be smaller than it was, counts of events are estimated too low, and protected values of "
    "missing events are not counted."
)
DROPPED = (
    "Some persons with protected values were left out. Each of them matches a class of the release, so that "
    "nobody is seen to be missing; but among all who match a class, the share with protected values is "
    "larger than in the release."
)
SMALL = "class below k persons"
LARGE = "share of a class above c, or persons left over"
BASE_RATE = "share of all persons above c"


def publish(table: EventTable, solution: ClassSolution, method: KCMethod) -> Outcome:
    """Write for each person who is released the events of their class, with their own sensitive values."""
    limits, warnings = limits_of(table, solution, method)
    trees, owners = solution.trees, owners_of(table.person_offsets)
    is_out = solution.is_kept & solution.is_released[owners]
    columns: dict[str, Codes] = {}
    books: dict[str, Codebook] = {}
    hierarchies = {}
    for quasi, (name, tree) in enumerate(zip(trees.names, trees.hierarchies, strict=True)):
        nodes = solution.shown[is_out, quasi] - trees.first[quasi]
        present, places = np.unique(nodes, return_inverse=True)
        # Behind the nodes of the tree comes nothing.
        labels = [tree.labels[node] for node in present if node < len(tree)]
        books[name] = Codebook.of(labels)
        columns[name] = np.append(books[name].encode(labels), np.int32(-1))[places]
        hierarchies[name] = tree.above(labels)
    rest = unchanged_columns(table, columns)
    columns |= {name: codes[is_out] for name, codes in rest.columns.items()}
    books |= rest.codebooks
    offsets = offsets_of(is_out)[table.person_offsets]
    return Outcome(
        sequences=Sequences(offsets, columns, books),
        schema=released_schema_of(table, hierarchies),
        hierarchies=hierarchies,
        changes=list_changes(table, solution),
        limits=limits,
        warnings=warnings,
    )


def list_changes(table: EventTable, solution: ClassSolution) -> pl.DataFrame:
    """List every cell of a quasi-identifier that is not released as it was, by input row.

    The columns:

    - ``row``: the input row of the event;
    - ``person``, as in the input;
    - ``column``: the quasi-identifier;
    - ``what`` happened: ``generalized``, ``suppressed`` (the whole event is), or ``dropped`` (the person is);
    - ``from``: the value;
    - ``to``: what is released instead; null where nothing is;
    - ``class``: who looks alike afterwards has the same number here;
    - ``persons``: how many of them are released.
    """
    sequences, trees = table.sequences, solution.trees
    owners = owners_of(table.person_offsets)
    is_out = solution.is_released[owners] & solution.is_kept
    kind = np.where(solution.is_released[owners], np.where(is_out, 0, 1), 2).astype(np.uint32)
    _, numbers = np.unique(solution.class_of_person, return_inverse=True)
    events, columns, values, shown = [], [], [], []
    for quasi, (name, tree) in enumerate(zip(trees.names, trees.hierarchies, strict=True)):
        labels = sequences.codebooks[name].labels
        before = np.append(tree.nodes(labels), np.int32(len(tree)))[sequences.columns[name]]
        after = solution.shown[:, quasi] - trees.first[quasi]
        own = np.flatnonzero(((before != after) | ~is_out) & (before < len(tree)))
        first = sum(map(len, trees.hierarchies[:quasi]))
        events.append(own)
        columns.append(np.full(len(own), quasi, np.uint32))
        values.append(before[own] + first)
        shown.append(np.where(is_out[own], after[own] + first, 0))
    # Sorted before they are written out: cells are many times as large as their numbers.
    changed = np.concatenate(events)
    order = np.argsort(table.rows[changed], kind="stable")
    changed = changed[order]
    whose, is_gone = owners[changed], pl.Series(~is_out[changed])
    book = pl.Series([label for tree in trees.hierarchies for label in tree.labels], dtype=pl.String)
    return pl.DataFrame(
        {
            "row": table.rows[changed].astype(np.int64),
            "person": table.persons.gather(whose),
            "column": pl.Series(trees.names, dtype=pl.String).gather(np.concatenate(columns)[order]),
            "what": pl.Series(KINDS, dtype=pl.Enum(KINDS)).gather(kind[changed]),
            "from": book.gather(np.concatenate(values)[order]),
            "to": book.gather(np.concatenate(shown)[order]).set(is_gone, None),
            "class": numbers[whose].astype(np.int64) + 1,
            "persons": solution.class_size[whose],
        }
    )


def limits_of(
    table: EventTable, solution: ClassSolution, method: KCMethod
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the limits, which hold no value of the data, and the warnings, which may."""
    schema = table.schema
    limits, warnings = [], purpose_warnings(table)
    if method.reading == "each" and any(table.protected.values()):
        limits.append(ONE_BY_ONE)
    if schema.sensitive:
        limits.append(KNOWN_SENSITIVE)
        n_apart = count_apart(table, solution, method.k)
        if n_apart:
            warnings.append(
                f"{n_apart:,} of {table.n_persons:,} persons have unprotected values of "
                f"{', '.join(schema.sensitive_columns)} that fewer than k of their class share: if others "
                "may know these, name the columns as quasi-identifiers, too"
            )
    if schema.keep:
        limits.append(kept_columns(schema.keep))
    owners = owners_of(table.person_offsets)
    if (solution.is_released[owners] & ~solution.is_kept).any():
        limits.append(MISSING_EVENTS)
    if solution.n_dropped:
        limits.append(DROPPED)
        persons = counted(solution.n_dropped, "person was", "persons were")
        warnings.append(
            f"{persons} left out, because more than the share c of all persons have a protected value; whom "
            "it hit was left to chance, and each of them fits a class of the release"
        )
    limits += [*tie_limits(table), ONE_RELEASE]
    if solution.n_blocks > 1:
        warnings.append(
            f"{table.n_persons:,} persons were clustered in {solution.n_blocks:,} blocks of neighbours, and "
            "not all of them with each other: block = false compares everybody, takes longer, and may lose a "
            "little less"
        )
    return tuple(limits), tuple(warnings)


def count_apart(table: EventTable, solution: ClassSolution, k: int) -> int:
    """Count the persons whose unprotected sensitive values fewer than k of their class share."""
    sequences = table.sequences
    columns = []
    for attribute, sensitive in table.schema.sensitive.items():
        for column in sensitive.columns:
            labels = sequences.codebooks[column].labels
            secret = np.array([label in table.protected[attribute] for label in labels], np.bool_)
            codes = np.append(np.where(secret, -1, np.arange(len(labels))), -1)[sequences.columns[column]]
            columns.append(codes)
    owners = owners_of(table.person_offsets)
    is_out = solution.is_kept & solution.is_released[owners]
    known = np.stack([solution.class_of_person[owners], *columns], axis=1)[is_out].astype(np.int32)
    offsets = offsets_of(is_out)[table.person_offsets]
    groups, _ = fold_rows(known.reshape(-1), offsets * known.shape[1])
    groups = groups[solution.is_released]
    sizes = np.bincount(groups)[groups]
    return int((sizes < k).sum())


def reasons_of(method: KCMethod, changes: pl.DataFrame, table: EventTable) -> tuple[Reason, ...]:
    """Count changed values by what happened, and by whether k alone makes classes of that size.

    Two clusters that are merged for k have at most k - 1 persons each. A class of more persons than both can
    have was merged for c, or took in somebody who was left over.
    """
    large = changes.with_columns(large=pl.col("persons") > 2 * method.k - 2)
    return tuple(
        part.reason(
            BASE_RATE if part.what == "dropped" else LARGE if part.is_marked else SMALL,
            _text(method, part),
            _columns(part.rows, table) if part.what == "generalized" else (),
        )
        for part in split_changes(large, KINDS, mark="large")
    )


def _text(method: KCMethod, part: ChangedPart) -> str:
    who = counted(part.persons, "person", "persons")
    if part.what == "dropped":
        return f"{who} left out: more than the share c = {method.c} of all persons have a protected value."
    done = (
        f"{counted(part.events, 'event', 'events')} of {who} left out, having no counterpart in the class"
        if part.what == "suppressed"
        else f"{counted(part.rows.height, 'value', 'values')} of {who} made as coarse as the class differs"
    )
    why = (
        f"in classes of more than 2 k - 2 = {2 * method.k - 2:,}, made so large by c = {method.c} or by "
        "persons who were left over"
        if part.is_marked
        else f"so that at least k = {method.k:,} look alike"
    )
    return f"{done}, {why}."


def _columns(part: pl.DataFrame, table: EventTable) -> tuple[str, ...]:
    codes = table.sequences.columns
    return tuple(
        f"{column}: {count:,} of {np.count_nonzero(codes[column] >= 0):,} values"
        for column, count in most_frequent(part, "column")
    )


def measure(outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
    """Count what became coarser and what is missing, and ask how many persons have what."""
    scores = measure_cells(outcome, table, suppressed="are missing with their event", progress=progress)
    weights = sum(each.weight for each in table.schema.quasi.values())
    per_person = Score(
        value=scores["information_loss"].value * weights * table.n_events / max(table.n_persons, 1),
        bounds=(0, None),
        means="The losses of all values of quasi-identifiers, added up for each person, on average; an "
        "event or a person who is not released loses everything.",
        formula="information loss · Σ w_A · events / persons",
        reference="Sehatkar (2014), chapter 5, information loss of a sequence",
    )
    first, *others = scores.items()
    return dict([first, ("information_loss_per_person", per_person), *others])
