"""What a release of CBLDA does not promise, and what its steward must know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.hierarchies.labels import counted
from sequester.methods.limits import ONE_BY_ONE, ONE_RELEASE, kept_columns, tie_limits

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.cblda.solution import Solution
    from sequester.methods.cblda.solve import Plan

KNOWN_SENSITIVE = (
    "Somebody who knows a sensitive attribute of a person is not covered: unprotected values are released as "
    "they are, and can tell persons of one class apart."
)
MISSING_EVENTS = (
    "Some events are missing, because no others of the class were like them: the number of events of a "
    "person may be smaller than it was, counts of events are estimated too low, and protected values of "
    "missing events are not counted."
)
DROPPED = (
    "Some persons with protected values were left out. Each of them fits a class of the release, so that "
    "nobody is seen to be missing; but among all whom a class fits, the share with protected values is "
    "larger than in the release."
)


def limits_of(table: EventTable, solution: Solution, plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the limits, which hold no value of the data, and the warnings, which may."""
    schema = table.schema
    limits, warnings = [], []
    if plan.each and any(table.protected.values()):
        limits.append(ONE_BY_ONE)
    if schema.sensitive:
        limits.append(KNOWN_SENSITIVE)
        n_apart = count_apart(table, solution, plan.k)
        if n_apart:
            warnings.append(
                f"{n_apart:,} of {table.n_persons:,} persons have unprotected values of "
                f"{', '.join(schema.sensitive_columns)} that fewer than k of their class share: if others "
                "may know these, name the columns as quasi-identifiers, too"
            )
    if schema.keep:
        limits.append(kept_columns(schema.keep))
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
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


def count_apart(table: EventTable, solution: Solution, k: int) -> int:
    """Count the persons whose unprotected sensitive values fewer than k of their class share."""
    sequences = table.sequences
    columns = []
    for attribute, sensitive in table.schema.sensitive.items():
        for column in sensitive.columns:
            labels = sequences.codebooks[column].labels
            secret = np.array([label in table.protected[attribute] for label in labels], np.bool_)
            codes = np.where(secret, -1, np.arange(len(labels)))[sequences.columns[column]]
            columns.append(codes)
    owners = np.repeat(np.arange(table.n_persons), np.diff(table.person_offsets))
    is_out = solution.is_kept & solution.is_released[owners]
    known = np.stack([solution.class_of_person[owners], *columns], axis=1)[is_out].astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(is_out)])[table.person_offsets]
    groups, _ = kernels.rows.fold_rows(known.reshape(-1), offsets * known.shape[1])
    groups = groups[solution.is_released]
    sizes = np.bincount(groups)[groups]
    return int((sizes < k).sum())
