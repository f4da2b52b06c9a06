"""What releases of several methods do not promise, in sentences that name no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.data.table import EventTable

ONE_RELEASE = (
    "A second release of the same people is not covered: two releases together can reveal more than either "
    "one."
)
ONE_SERIES = (
    "The parts of this series side by side are covered. A second series, or any other release of the same "
    "people, is not."
)
ATTENDANCE = "In which parts of the series a person appears is visible and not covered."
ONE_BY_ONE = (
    "Each protected value is bounded by itself: the share of persons who have any of several protected "
    "values is not."
)
TIES = (
    "Events that a person had at the same time stay in one order, which may come from the source file and "
    "does not say which was first."
)


def series_limits(limits: Iterable[str]) -> tuple[str, ...]:
    """Return the limits of a release that is a part of a series."""
    return (*(ONE_SERIES if line == ONE_RELEASE else line for line in limits), ATTENDANCE)


def kept_columns(columns: Iterable[str]) -> str:
    """Return the limit about columns that are released as they were."""
    return f"Kept columns are released as they were, and are not covered: {', '.join(columns)}."


def tie_limits(table: EventTable) -> tuple[str, ...]:
    """Return the limit about ties, where two events of a person have the same time or order."""
    # Loaded here so that `sequester methods` need not wait for polars.
    from sequester.data.ordering import order_keys, repeats  # noqa: PLC0415

    table = table.events
    when = table.times
    if when is None and table.schema.order is not None:
        when = table.frame[table.schema.order]
    if when is None:
        return ()
    return (TIES,) if repeats(table.person_offsets, order_keys(when)).any() else ()
