"""Check everything and try the method, without writing anything."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester.attacks.singling_out import SinglingOut
from sequester.data.alike import merged_persons
from sequester.data.schema import ALL, ROW
from sequester.data.table import EventTable
from sequester.data.text import as_text
from sequester.engine import part, silent
from sequester.errors import InputError, UnattainableError, WarningCollector, ignore_warning
from sequester.release.release import data_flow_counts
from sequester.report.summary import ReleaseSummary
from sequester.workflow.config import Config
from sequester.workflow.job import Job, check_problems
from sequester.workflow.memory import MemoryForecast
from sequester.workflow.protect import MOST_TARGETS, attack_main, targets_for
from sequester.workflow.write import check_suppressed, check_unprotected, find_unprotected

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.problems import ReadSummary
    from sequester.data.schema import Schema
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn
    from sequester.release.release import Release

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
        return targets if targets < MOST_TARGETS else None

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
    out: str | Path | None = None,
    seed: str | None = None,
    force: bool = False,
    thorough: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
    warn: Warn = ignore_warning,
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
    collect = WarningCollector(warn)
    job = Job.of(
        config if isinstance(config, Config) else Config.load(config), out=out, seed=seed, force=force
    )
    if thorough:
        job = replace(job, method=job.method.thorough())
    progress(0.0, "reading")
    started = time.monotonic()
    frame = job.config.frame(collect, engine=engine)
    table = job.config.table_of(frame, collect)
    reading = time.monotonic() - started
    collect(*check_problems(table))
    job.method.accept(job.method.view(table))
    trial, tried, seconds = _try(job, table, frame, engine, part(progress, 0.2, 0.7), collect)
    risks, _ = attack_main(trial, tried, engine=engine, progress=part(progress, 0.7, 1.0))
    tried_persons = tried.n_owners
    is_whole = tried_persons == table.n_owners
    singled_out = trial.singled_out
    if singled_out is not None and singled_out.unit == "persons" and not is_whole:
        singled_out = SinglingOut.of(table)
    accept = job.config.settings.release.accept_unprotected
    collect(*check_unprotected(singled_out, accept=accept), *find_unprotected(singled_out))
    return Forecast(
        job=job,
        trial=trial,
        n_problems=sum(problem.severity == "warning" or bool(problem.alike) for problem in table.problems),
        n_persons=table.n_owners,
        tried_persons=tried_persons,
        n_trips=None if table.owners is None else table.n_persons,
        n_events=table.n_events,
        seconds=reading + seconds,
        memory=MemoryForecast.of(table),
        singled_out=singled_out,
        warnings=collect.lines,
        summary=ReleaseSummary.of(trial, original=tried, risks=risks),
    )


def _try(
    job: Job,
    table: EventTable,
    frame: pl.DataFrame,
    engine: Engine | None,
    progress: Progress,
    collect: WarningCollector,
) -> tuple[Release, EventTable, float]:
    """Return a release in memory, what it was made of, and about how long one of everybody would take."""
    if table.n_events > TRIAL_EVENTS:
        share = TRIAL_EVENTS / table.n_events
        # What a part draws warnings for need not be so for the whole.
        nothing = WarningCollector()
        try:
            half, some = (_part_of(table, frame, job.config.schema, each) for each in (share / 2, share))
            _, shorter = _timed(job, half, table.reading, engine, part(progress, 0.0, 0.3), nothing)
            trial, longer = _timed(job, some, table.reading, engine, part(progress, 0.3, 1.0), nothing)
        except (UnattainableError, InputError):
            # The method has accepted the whole table: what a part lacks, such as a rare pattern, is there.
            pass
        else:
            # Between once around everybody and comparing everybody with everybody.
            growth = min(max(math.log2(longer / shorter), 1.0), 2.0)
            return trial, some, longer * (1 / share) ** growth
    trial, seconds = _timed(job, table, table.reading, engine, progress, collect)
    return trial, table, seconds


def _timed(
    job: Job,
    table: EventTable,
    reading: ReadSummary,
    engine: Engine | None,
    progress: Progress,
    collect: WarningCollector,
) -> tuple[Release, float]:
    """Make a release of a part; what was left out on reading counts for the whole input."""
    started = time.monotonic()
    release = job.method.apply(table, seed=job.seed, engine=engine, progress=progress, warn=collect)
    seconds = time.monotonic() - started
    release = replace(release, reading=reading)
    collect(*check_suppressed(release, job.config.settings.release.max_suppressed))
    return release, seconds


def _part_of(table: EventTable, frame: pl.DataFrame, schema: Schema, share: float) -> EventTable:
    """Take some persons, with all of their rows: trips and regions come from all points."""
    if table.demographics is not None:
        return table.sample(
            persons=max(round(share * table.n_persons), 1), events=table.n_events, seed="part"
        )
    persons = table.joined().persons
    count = max(round(share * len(persons)), 1)
    chosen = persons.gather(np.sort(np.random.default_rng(0).choice(len(persons), count, replace=False)))
    if schema.person == ROW:
        return EventTable(frame[chosen.cast(pl.Int64).to_numpy() - 1], schema)
    if schema.person == ALL:
        return table
    keys = frame[schema.input_name(schema.person)]
    keys = merged_persons(keys) if schema.alike == "merge" else as_text(keys)
    return EventTable(frame.filter(keys.is_in(chosen)), schema)
