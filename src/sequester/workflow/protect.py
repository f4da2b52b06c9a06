"""Make the release that a configuration describes, audit it with attacks, and verify it from its files."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sequester.engine import part, silent
from sequester.errors import InputError, UnattainableError, WarningCollector, ignore_warning
from sequester.explanation import explain
from sequester.release.release import data_flow_counts
from sequester.report.findings import Phase, Timings
from sequester.report.summary import ReleaseSummary
from sequester.workflow.attack import attack
from sequester.workflow.config import Config
from sequester.workflow.job import FolderCheckpoint, Job, check_problems
from sequester.workflow.memory import MemoryForecast, obtainable, peak
from sequester.workflow.write import check_unprotected, find_unprotected, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sequester.attacks import Risk
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn
    from sequester.explanation import Explanation
    from sequester.methods.method import Method
    from sequester.release.release import Release
    from sequester.workflow.write import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """A release that is on disk and verified there."""

    release: Release
    """What the method made."""
    written: Written
    """Where it is."""
    warnings: tuple[str, ...]
    """What the steward must know."""
    audit: AuditResult
    """What adversaries achieved, and why the data was changed."""
    summary: ReleaseSummary
    """Risks, columns and price, as the first screen of the internal page has them."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``protect --json`` prints."""
        return {
            **self.written.verification.to_json(),
            "internal": str(self.written.internal),
            # Each trip has a pseudonym of its own, so where there are trips, trips are counted.
            self.release.unit: {"input": self.release.n_input_persons, "released": self.release.n_persons},
            "events": {
                "input": self.release.n_input_events,
                "lost": self.release.n_lost_events,
                "invented": self.release.n_invented_items,
            },
            "journey": data_flow_counts(self.release),
            "series": None if self.release.series is None else self.release.series.history[-1],
            "singled_out": None if self.release.singled_out is None else self.release.singled_out.to_json(),
            "warnings": list(self.warnings),
            "attacks": {
                "tried": self.summary.n_attacks,
                "claimed": self.summary.n_claimed,
            },
            "summary": self.summary.to_json(),
        }


def protect(
    config: str | Path | Config,
    *,
    out: str | Path | None = None,
    seed: str | None = None,
    force: bool = False,
    continues: str | Path | None = None,
    checkpoint: str | Path | None = None,
    quick: bool = False,
    thorough: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
    warn: Warn = ignore_warning,
) -> Protected:
    """Make the release that a configuration describes; `out`, `seed` and `continues` win over it.

    `checkpoint` is a folder for the steps of a long run: one that was interrupted is resumed to the same
    bytes, and the folder goes when the release is there. Adversaries try the release before it is written,
    and its changes are explained; `quick` leaves out both, and the internal report has nothing about them.
    `thorough` runs all attacks instead of the main ones, and the method without bounds on its work.
    `continues` is the folder of the part of a series that this release continues.

    Raises
    ------
    InputError
        Where the configuration, the data or the output is at fault, or kept columns alone single out more
        than 5 % of the persons and ``accept_unprotected`` is not set; nothing has been written.
    UnattainableError
        Where no release keeps the promise, too much would be lost, or an adversary achieves more than is
        promised; nothing has been written.
    """
    collect = WarningCollector(warn)
    watch = Stopwatch()

    watch.begin("reading")
    job = Job.of(
        Config.load(config),
        out=out,
        seed=seed,
        force=force,
        continues=continues,
    )
    if thorough:
        job = replace(job, method=job.method.thorough())
    settings, about = job.config.settings.release, job.config.about
    n_rows, schema = job.config.n_rows, job.config.schema
    if n_rows is not None:
        # Parts may be far larger than memory, and reading them takes a while.
        MemoryForecast(n_rows, len(schema.attributes) + len(schema.keep), obtainable()).check()
    progress(0.0, "reading")
    table = job.config.table(collect, engine=engine)
    collect(*check_problems(table))
    memory = MemoryForecast.of(table)
    progress(0.1, str(memory))
    memory.check()
    if not memory.fits:
        collect(str(memory))
    kept = None if checkpoint is None else FolderCheckpoint.of(checkpoint, job, table)

    began = time.monotonic()
    release = job.method.apply(
        table,
        seed=job.seed if kept is None else kept.seed,
        engine=engine,
        progress=watch.timed(part(progress, 0.1, 0.55), "protecting"),
        checkpoint=kept,
        series=settings.series,
        continues=job.continues,
        warn=collect,
    ).published_as(job.config.event_log, about, n_parts=job.config.n_parts)
    # Now, before anybody spends time on attacks; `write` warns of what was accepted.
    check_unprotected(release.singled_out, accept=settings.accept_unprotected)
    collect(*find_unprotected(release.singled_out))

    found = AuditResult(notes=("Attacks and reasons were left out: the run was quick.",))
    if not quick:
        found = audit(
            release,
            table,
            job.method,
            seconds=time.monotonic() - began,
            stopwatch=watch,
            thorough=thorough,
            engine=engine,
            progress=part(progress, 0.55, 0.75),
        )

    fresh_loss = None if found.explanation is None else found.explanation.fresh_loss
    if release.series is not None and fresh_loss is not None:
        release = replace(release, series=release.series.with_fresh_loss(fresh_loss))
    # A later part of a series has only what is new, and is compared with that.
    arrived = None if release.series is None else release.series.arrived
    original = table if arrived is None else arrived
    # Writes the files aside, verifies them there, draws the pages, and moves everything into place.
    written = write(
        release,
        job.out,
        internal=job.internal,
        force=job.force,
        original=original,
        config_toml=job.to_toml(release.seed),
        pseudonyms=settings.pseudonyms,
        max_suppressed=settings.max_suppressed,
        accept_unprotected=settings.accept_unprotected,
        risks=found.risks,
        explanation=found.explanation,
        leave_out=job.config.left_out,
        notes=found.notes,
        stopwatch=watch,
        engine=engine,
        progress=watch.timed(part(progress, 0.75, 1.0), "writing"),
        warn=collect,
    )
    if kept is not None:
        kept.remove()
    return Protected(
        release=release,
        written=written,
        warnings=collect.lines,
        audit=found,
        summary=ReleaseSummary.of(release, original=original, risks=found.risks),
    )


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


class Stopwatch:
    """Measures phase after phase: a phase ends where the next one begins.

    Examples
    --------
    >>> ticks = iter([0.0, 1.0, 4.0, 4.5])
    >>> watch = Stopwatch(clock=lambda: next(ticks))
    >>> watch.begin("reading")
    >>> watch.begin("protecting")
    >>> [(each.name, each.seconds) for each in watch.read().phases]
    [('reading', 3.0), ('protecting', 0.5)]
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._began = clock()
        self._seconds: dict[str, float] = {}
        self._phase: str | None = None

    def begin(self, phase: str) -> None:
        """Begin a phase; one that has been there before goes on."""
        now = self._clock()
        self._end(now)
        self._phase, self._began = phase, now

    def timed(self, progress: Progress, phase: str) -> Progress:
        """Begin a phase, and return a `progress` that measures each part it reports by itself."""
        self.begin(phase)

        def report(fraction: float, part: str) -> None:
            if part != self._phase:
                self.begin(part)
            progress(fraction, part)

        return report

    def read(self) -> Timings:
        """Return how long each phase has taken so far."""
        now = self._clock()
        self._end(now)
        self._began = now
        return Timings(
            phases=tuple(Phase(name=name, seconds=seconds) for name, seconds in self._seconds.items()),
            peak_bytes=peak(),
        )

    def _end(self, now: float) -> None:
        if self._phase is not None:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._began
