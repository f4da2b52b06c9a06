"""What a release of HALT does not promise, and what its steward must know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.hierarchies.labels import counted
from sequester.methods.limits import ONE_BY_ONE, ONE_RELEASE, kept_columns, tie_limits
from sequester.mining.dependence import find_dependences

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.halt.solution import Solution

KNOWN_SENSITIVE = (
    "Somebody who knows a sensitive attribute of a person is not covered: unprotected values are released as "
    "they are, and can tell persons apart."
)
EVENT_COUNT = (
    "The number of events of a person can be seen and is not covered, because it is no quasi-identifier here."
)
SUCCESSION = (
    "That events follow each other directly, and that something did not happen, is not covered: only which "
    "values there are, and their order."
)
ONE_LEVEL = (
    "Somebody who knows one value of a column more precisely than another one of it is not covered, because "
    'levels = "same" was asked for.'
)
POSSIBLE = (
    "A suppressed value may be any value: how many persons it could be is not counted, only how many show it."
)
DROPPED = (
    "Some persons were left out because too many had the same protected value: that somebody who should be "
    "in the release is not found there can tell something about them."
)
MUCH = 0.5
"""A share of suppressed cells, or of a loss, above which the steward is warned."""


def limits_of(
    table: EventTable, solution: Solution, *, p: int, mixed: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the limits, which hold no value of the data, and the warnings, which may."""
    schema = table.schema
    limits = [
        f"Somebody who knows more than {p:,} {'value' if p == 1 else 'values'} of a person is not covered.",
    ]
    warnings = []
    if p > 1 and not mixed:
        limits.append(ONE_LEVEL)
    limits.append(SUCCESSION)
    if any(table.protected.values()):
        limits.append(ONE_BY_ONE)
    if schema.sensitive:
        limits.append(KNOWN_SENSITIVE)
    lengths = [name for name, kind in schema.derive.items() if kind == "event_count" and name in schema.quasi]
    if not lengths:
        limits.append(EVENT_COUNT)
    if schema.keep:
        limits.append(kept_columns(schema.keep))
    if solution.n_suppressed:
        limits.append(POSSIBLE)
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
            "finer levels were not looked at, because there is too much to count: a smaller p would look "
            "further"
        )
    if solution.loss > MUCH:
        warnings.append(
            f"the quasi-identifiers lose {100 * solution.loss:.1f} % of what they tell: a smaller k or p, a "
            "larger c, or fewer quasi-identifiers would keep more"
        )
    return tuple(limits), tuple(warnings)
