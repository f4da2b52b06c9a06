"""Make the release that a configuration describes, audit it, and verify it from its files; or try it out."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from sequester.attacks.singling_out import SinglingOut
from sequester.engine import part
from sequester.errors import InputError, UnattainableError, WarningCollector, ignore_warning
from sequester.explanation import explain
from sequester.release.release import data_flow_counts
from sequester.report.findings import Findings, Timings
from sequester.report.plot import check_can_draw
from sequester.report.summary import ReleaseSummary
from sequester.workflow.attack import MAIN_TARGETS, attack, targets_for
from sequester.workflow.config import Config
from sequester.workflow.job import FolderCheckpoint, Job, JobOptions, check_problems
from sequester.workflow.memory import MemoryForecast, obtainable, peak
from sequester.workflow.run import SILENT, RunContext
from sequester.workflow.write import (
    check_suppressed,
    check_unprotected,
    compared_table,
    find_unprotected,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.explanation import Explanation
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
    audit: Findings
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
    checkpoint: str | Path | None = None,
    quick: bool = False,
    run: RunContext = SILENT,
    **asked: Unpack[JobOptions],
) -> Protected:
    """Make the release that a configuration describes; what is `asked` for beside wins over it.

    `checkpoint` is a folder for the steps of a long run: one that was interrupted is resumed to the same
    bytes, and the folder goes when the release is there. Adversaries try the release before it is written,
    and its changes are explained; `quick` leaves out both, and the internal report has nothing about them.
    With ``thorough`` all attacks run instead of the main ones, and the method without bounds on its work.
    ``continues`` is the folder of the part of a series that this release continues.

    Raises
    ------
    InputError
        Where the configuration, the data or the output is at fault, or kept columns alone single out more
        than 5 % of the persons and ``accept_unprotected`` is not set; nothing has been written.
    UnattainableError
        Where no release keeps the promise, too much would be lost, or an adversary achieves more than is
        promised; nothing has been written.
    """
    collect, watch = WarningCollector(run.warn), Stopwatch()
    run = replace(run, warn=collect)
    watch.begin("reading")
    job = Job.of(Config.load(config), **asked)
    settings, about = job.config.settings.release, job.config.about
    table = _read(job.config, run)
    kept = None if checkpoint is None else FolderCheckpoint.of(checkpoint, job, table)

    began = time.monotonic()
    release = job.method.apply(
        table,
        seed=job.seed if kept is None else kept.seed,
        engine=run.engine,
        progress=watch.timed(part(run.progress, 0.1, 0.55), "protecting"),
        checkpoint=kept,
        series=settings.series,
        continues=job.continues,
        warn=collect,
    ).published_as(job.config.event_log, about, n_parts=job.config.n_parts)
    # Now, before anybody spends time on attacks; `write` warns of what was accepted.
    check_unprotected(release.singled_out, accept=settings.accept_unprotected)
    collect(*find_unprotected(release.singled_out))

    found = Findings(notes=("Attacks and reasons were left out: the run was quick.",))
    if not quick:
        seconds = time.monotonic() - began
        found = _audit(release, table, job, seconds, watch, run.part(0.55, 0.75))
    release = _with_fresh_loss(release, found.explanation)
    original = compared_table(release, table)
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
        engine=run.engine,
        progress=watch.timed(part(run.progress, 0.75, 1.0), "writing"),
        warn=collect,
    )
    if kept is not None:
        kept.remove()
    summary = ReleaseSummary.of(release, original=original, risks=found.risks)
    return Protected(release=release, written=written, warnings=collect.lines, audit=found, summary=summary)


def _read(config: Config, run: RunContext) -> EventTable:
    """Read the data; refuse what memory cannot hold, and labels that look alike."""
    check_can_draw()
    n_rows, schema = config.n_rows, config.schema
    if n_rows is not None:
        # Parts may be far larger than memory, and reading them takes a while.
        MemoryForecast(n_rows, len(schema.attributes) + len(schema.keep), obtainable()).check()
    run.progress(0.0, "reading")
    table = config.table(run.warn, engine=run.engine)
    for line in check_problems(table):
        run.warn(line)
    memory = MemoryForecast.of(table)
    memory.check()
    if memory.fits:
        run.announce(str(memory))
    else:
        run.warn(str(memory))
    return table


def _with_fresh_loss(release: Release, explanation: Explanation | None) -> Release:
    """Note in a part of a series what a fresh series would have lost, where that was tried."""
    if release.series is None or explanation is None or explanation.fresh_loss is None:
        return release
    return replace(release, series=release.series.with_fresh_loss(explanation.fresh_loss))


LEAST_SECONDS, MOST_SECONDS = 5.0, 10.0
"""How long relaxations may be tried; in between, as long as the method itself took."""


def _audit(
    release: Release,
    original: EventTable,
    job: Job,
    seconds: float,
    watch: Stopwatch,
    run: RunContext,
) -> Findings:
    """Attack and explain a release that took so many `seconds` to make.

    Raises
    ------
    UnattainableError
        Where an adversary achieves more than the release claims: it must not be handed out.
    """
    watch.begin("attacking")
    found = attack_main(release, original, thorough=job.thorough, run=run.part(0.0, 0.6))
    beaten = [risk for risk in found.risks if not risk.is_within]
    if beaten:
        promise = type(release.model).__name__
        msg = f"an attack achieved more than {promise} promises, and nothing was written: {beaten[0]}"
        raise UnattainableError(msg, achieved=release.verdict.achieved)
    watch.begin("explaining")
    explanation = explain(
        release,
        original=original,
        method=job.method,
        seconds=min(max(seconds, LEAST_SECONDS), MOST_SECONDS),
        progress=_named(part(run.progress, 0.6, 1.0), "searching for settings that keep more"),
    )
    return replace(found, explanation=explanation)


def attack_main(
    release: Release,
    original: EventTable,
    *,
    thorough: bool = False,
    run: RunContext = SILENT,
) -> Findings:
    """Return what the main adversaries achieve, or all if `thorough`, and why nobody tried, if so."""
    try:
        risks = attack(
            release,
            original=original,
            targets=targets_for(original.n_events, len(original.schema.quasi)),
            thorough=thorough,
            engine=run.engine,
            progress=_named(run.progress, "attacking"),
        )
    except InputError as error:
        # Nobody is there who could try.
        return Findings(notes=(f"No attack was tried: {error}",))
    return Findings(risks=tuple(risks), notes=tuple(f"{line[0].upper()}{line[1:]}." for line in risks.notes))


def _named(progress: Progress, phase: str) -> Progress:
    """Report progress under one phase instead of many small steps."""

    def report(fraction: float, step: str) -> None:
        del step
        progress(fraction, phase)

    return report


class Stopwatch:
    """Measures phase after phase: a phase ends where the next one begins.

    Examples
    --------
    >>> ticks = iter([0.0, 1.0, 4.0, 4.5])
    >>> watch = Stopwatch(clock=lambda: next(ticks))
    >>> watch.begin("reading")
    >>> watch.begin("protecting")
    >>> watch.read().phases
    {'reading': 3.0, 'protecting': 0.5}
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
        return Timings(phases=dict(self._seconds), peak_bytes=peak())

    def _end(self, now: float) -> None:
        if self._phase is not None:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._began


TRIAL_EVENTS = 200_000
"""A table with more events is tried on some of its persons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a run would do."""

    job: Job
    """What is asked for."""
    trial: Release
    """A release in memory: of everybody, or of some persons drawn at random."""
    n_persons: int
    """Persons in the data."""
    tried_persons: int
    """Persons in the trial."""
    n_trips: int | None
    """Trips in the data; None where every person has one sequence."""
    n_events: int
    """Events in the data."""
    n_problems: int = 0
    """Warnings about the data; notes are none."""
    seconds: float
    """Reading and protecting would take about this long."""
    memory: MemoryForecast
    """How much memory it would take, and from where on it would not fit."""
    singled_out: SinglingOut | None
    """Who would be singled out by columns that the promise does not cover; where only some persons were
    tried, who is in the data as it stands, because fewer persons look more alone than they are."""
    warnings: tuple[str, ...]
    """What the steward must know, such as that a search was cut short."""
    summary: ReleaseSummary
    """Risks, columns and price of the trial."""

    @property
    def targets(self) -> int | None:
        """Targets that attacks draw, where they would try fewer than on a small table."""
        targets = targets_for(self.n_events, len(self.job.config.schema.quasi))
        return targets if targets < MAIN_TARGETS else None

    @property
    def is_whole(self) -> bool:
        """The trial was made with everybody."""
        return self.tried_persons == self.n_persons

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``protect --dry-run --json`` prints."""
        return {
            "dry_run": True,
            "holds": self.trial.verdict.holds,
            "model": type(self.trial.model).__name__,
            "achieved": dict(self.trial.verdict.achieved),
            "violations": 0,
            "witnesses": [],
            "release": str(self.job.out / "release"),
            "persons": self.n_persons,
            **({} if self.n_trips is None else {"trips": self.n_trips}),
            "events": self.n_events,
            "tried_persons": self.tried_persons,
            "journey": data_flow_counts(self.trial),
            "lost_share": self.trial.lost_share,
            "seconds": round(self.seconds, 1),
            "memory": {"needed": self.memory.needed, "free": self.memory.free},
            "attack_targets": self.targets,
            "singled_out": None if self.singled_out is None else self.singled_out.to_json(),
            "warnings": list(self.warnings),
            "summary": self.summary.to_json(),
        }


def dry_run(
    config: str | Path | Config,
    *,
    run: RunContext = SILENT,
    **asked: Unpack[JobOptions],
) -> Forecast:
    """Check what `protect` would check, and try the method on the table or on a part of it.

    More persons only add supporters, so a promise that can be kept for a part can as a rule be kept for the
    whole; where the part is too small for it, or loses too much, the whole is tried.

    Raises
    ------
    InputError
        As `protect` would.
    UnattainableError
        As `protect` would.
    """
    collect = WarningCollector(run.warn)
    job = Job.of(Config.load(config), **asked)
    run.progress(0.0, "reading")
    started = time.monotonic()
    table = job.config.table(collect, engine=run.engine)
    reading = time.monotonic() - started
    collect(*check_problems(table))
    job.method.accept(job.method.view(table))
    trial, tried, seconds = _try(job, table, replace(run.part(0.2, 0.7), warn=collect))
    found = attack_main(trial, tried, run=run.part(0.7, 1.0))
    singled_out = trial.singled_out
    if singled_out is not None and singled_out.unit == "persons" and tried.n_owners != table.n_owners:
        singled_out = SinglingOut.of(table)
    accept = job.config.settings.release.accept_unprotected
    collect(*check_unprotected(singled_out, accept=accept), *find_unprotected(singled_out))
    return Forecast(
        job=job,
        trial=trial,
        n_problems=sum(problem.severity == "warning" or bool(problem.alike) for problem in table.problems),
        n_persons=table.n_owners,
        tried_persons=tried.n_owners,
        n_trips=None if table.owners is None else table.n_persons,
        n_events=table.n_events,
        seconds=reading + seconds,
        memory=MemoryForecast.of(table),
        singled_out=singled_out,
        warnings=collect.lines,
        summary=ReleaseSummary.of(trial, original=tried, risks=found.risks),
    )


def _try(job: Job, table: EventTable, run: RunContext) -> tuple[Release, EventTable, float]:
    """Return a release in memory, what it was made of, and about how long one of everybody would take."""
    if table.n_events > TRIAL_EVENTS:
        share = TRIAL_EVENTS / table.n_events
        # What a part draws warnings for need not be so for the whole.
        quiet = replace(run, warn=ignore_warning)
        try:
            half, some = (sample_share(table, each) for each in (share / 2, share))
            _, shorter = _timed(job, half, table, quiet.part(0.0, 0.3))
            trial, longer = _timed(job, some, table, quiet.part(0.3, 1.0))
        except (UnattainableError, InputError):
            # The method has accepted the whole table: what a part lacks, such as a rare pattern, is there.
            pass
        else:
            # Between once around everybody and comparing everybody with everybody.
            growth = min(max(math.log2(longer / shorter), 1.0), 2.0)
            return trial, some, longer * (1 / share) ** growth
    trial, seconds = _timed(job, table, table, run)
    return trial, table, seconds


def _timed(job: Job, tried: EventTable, whole: EventTable, run: RunContext) -> tuple[Release, float]:
    """Make a release of a part; what was left out on reading counts for the whole input."""
    started = time.monotonic()
    release = job.method.apply(tried, seed=job.seed, engine=run.engine, progress=run.progress, warn=run.warn)
    seconds = time.monotonic() - started
    release = replace(release, reading=whole.reading)
    for line in check_suppressed(release, job.config.settings.release.max_suppressed):
        run.warn(line)
    return release, seconds


def sample_share(table: EventTable, share: float) -> EventTable:
    """Return so large a share of the persons, drawn at random, with all of their events."""
    return table.sample(persons=max(round(share * table.n_owners), 1), events=table.n_events, seed="part")
