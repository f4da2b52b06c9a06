"""Audit a release before it is written: attack it, and explain its changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.engine import part, silent
from sequester.errors import InputError, UnattainableError
from sequester.explanation import explain
from sequester.workflow.attack import attack

if TYPE_CHECKING:
    from sequester.attacks import Risk
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.explanation import Explanation
    from sequester.methods.method import Method
    from sequester.release.release import Release
    from sequester.report.findings import Stopwatch


MOST_TARGETS, FEWEST_TARGETS = 1_000, 100
"""Pieces of knowledge of every kind: the first for small tables, the second for the largest."""
_WORK, _COLUMNS = 200_000_000, 5
"""Events times pieces; where tables are larger, fewer pieces are tried, so that it takes no longer. An event
of more columns than the second counts as many times."""
LEAST_SECONDS, MOST_SECONDS = 5.0, 10.0
"""How long relaxations may be tried; in between, as long as the method itself took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What adversaries achieved, and why the data was changed."""

    risks: tuple[Risk, ...] = ()
    """One for each adversary, kind of knowledge and number of items."""
    explanation: Explanation | None = None
    """What was changed and why, and what would have kept more."""
    notes: tuple[str, ...] = ()
    """What was not tried, and why."""


def audit(
    release: Release,
    original: EventTable,
    method: Method,
    *,
    seconds: float,
    stopwatch: Stopwatch,
    thorough: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> AuditResult:
    """Attack and explain a release that took so many `seconds` to make; run all attacks if `thorough`.

    Raises
    ------
    UnattainableError
        Where an adversary achieves more than the release claims: it must not be handed out.
    """
    stopwatch.begin("attacking")
    risks, notes = attack_main(
        release, original, thorough=thorough, engine=engine, progress=part(progress, 0.0, 0.6)
    )
    beaten = [risk for risk in risks if not risk.is_within]
    if beaten:
        promise = type(release.model).__name__
        msg = f"an attack achieved more than {promise} promises, and nothing was written: {beaten[0]}"
        raise UnattainableError(msg, achieved=release.verdict.achieved)
    stopwatch.begin("explaining")
    explanation = explain(
        release,
        original=original,
        method=method,
        seconds=min(max(seconds, LEAST_SECONDS), MOST_SECONDS),
        progress=_named(part(progress, 0.6, 1.0), "looking for what would have kept more"),
    )
    return AuditResult(risks=risks, explanation=explanation, notes=notes)


def attack_main(
    release: Release,
    original: EventTable,
    *,
    thorough: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> tuple[tuple[Risk, ...], tuple[str, ...]]:
    """Return what the main adversaries achieve, or all if `thorough`, and why nobody tried, if so."""
    try:
        risks = attack(
            release,
            original=original,
            targets=targets_for(original.n_events, len(original.schema.quasi)),
            thorough=thorough,
            engine=engine,
            progress=_named(progress, "attacking"),
        )
    except InputError as error:
        # Nobody is there who could try.
        return (), (f"No attack was tried: {error}",)
    return tuple(risks), tuple(f"{line[0].upper()}{line[1:]}." for line in risks.notes)


def _named(progress: Progress, phase: str) -> Progress:
    """Report progress under one phase instead of many small steps."""

    def report(fraction: float, step: str) -> None:
        del step
        progress(fraction, phase)

    return report


def targets_for(n_events: int, n_columns: int) -> int:
    """Return how many pieces of knowledge are tried in a table of so many events and quasi-identifiers.

    Examples
    --------
    >>> targets_for(12_000, 5), targets_for(1_000_000, 5), targets_for(50_000_000, 5)
    (1000, 200, 100)
    >>> targets_for(100_000, 50)
    200
    """
    work = n_events * max(n_columns, _COLUMNS)
    return min(max(_WORK * _COLUMNS // max(work, 1), FEWEST_TARGETS), MOST_TARGETS)
