"""What the steward must know about a release before it is handed out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.attacks.share import percent
from sequester.attacks.singling_out import TOLERATED
from sequester.errors import InputError, ParameterError, UnattainableError
from sequester.release.event_log import misfit
from sequester.release.fields import shown
from sequester.release.release import ORDER, PERSON

if TYPE_CHECKING:
    from sequester.attacks.singling_out import SinglingOut
    from sequester.release.release import Release

NOTABLE_LOSS = 0.2
"""A larger share of lost events draws a warning where the steward has set no limit."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def check_suppressed(release: Release, max_suppressed: float | None = None) -> list[str]:
    """Refuse a release that no longer shows more than the steward allows; without a limit, warn of much.

    Rows that were left out on reading count as well as events that the method has lost.
    """
    unseen = release.unseen_share
    if max_suppressed is None:
        return [] if unseen <= NOTABLE_LOSS else [f"{_unseen(release)}; max_suppressed sets a limit"]
    if not 0 <= max_suppressed <= 1:
        msg = f"max_suppressed must be between 0 and 1, got {max_suppressed}"
        raise ParameterError(msg)
    if unseen > max_suppressed:
        msg = f"{_unseen(release)}, more than max_suppressed = {max_suppressed:g} allows"
        raise UnattainableError(msg, achieved={"max_suppressed": unseen})
    return []


def check_unprotected(found: SinglingOut | None, *, accept: bool | None = None) -> list[str]:
    """Refuse kept columns that single out too many persons, unless the steward accepts it, and is told.

    Nothing is said where nobody is asked (None).

    Raises
    ------
    InputError
        Where `accept` is False, and kept columns alone single out more than 5 % of the persons.
    """
    if found is None or not found.needs_consent or accept is None:
        return []
    if not accept:
        msg = (
            f"{found.refusal()}; above {percent(TOLERATED)} this needs [release] accept_unprotected = true, "
            "or fewer kept columns: drop them, or make them quasi-identifiers"
        )
        raise InputError(msg)
    return [f"{found.refusal()}, and no promise covers that"]


def find_unprotected(found: SinglingOut | None) -> list[str]:
    """Warn of unprotected sensitive values that single out many persons."""
    return [found.warning()] if found is not None and found.needs_warning else []


def _unseen(release: Release) -> str:
    """Say what share of the input the release no longer shows, and where it went."""
    lost = (
        f"loses {release.lost_share:.1%} of the events ({release.n_lost_events:,} of "
        f"{release.n_input_events:,})"
    )
    reading = release.reading
    if reading is None or not reading.left_out:
        return f"the release {lost}"
    return (
        f"the release no longer shows {release.unseen_share:.1%} of the {reading.rows:,} rows that were "
        f"read: {reading.left_out:,} were left out on reading, and the method {lost}"
    )


def find_misfit(release: Release) -> list[str]:
    """Say that the events are not written in the format of the input, where that cannot hold them."""
    form = release.event_log
    reason = None if form is None else misfit(release.frame, form)
    return [] if reason is None else [f"events.{form} is not written: {reason}"]


def find_formulas(release: Release) -> list[str]:
    """Name the columns with cells that a spreadsheet would run; they are written as they are.

    Such a cell is data: changing it would make the CSV another table than the Parquet.
    """
    notes = []
    for frame in release.tables.values():
        for column in frame.columns:
            if column in (PERSON, ORDER):
                continue
            texts = pl.concat([pl.Series([column]), frame[column].unique().cast(pl.String).rename("")])
            found = texts.filter(texts.str.slice(0, 1).is_in(FORMULA_STARTS)).sort()
            if len(found):
                begin = "1 value begins" if len(found) == 1 else f"{len(found):,} values begin"
                example = f"like a spreadsheet formula, for example {shown(found[0])}"
                as_is = "it is released as it is" if len(found) == 1 else "they are released as they are"
                notes.append(f"column {shown(column)}: {begin} {example}; {as_is}")
    return notes
