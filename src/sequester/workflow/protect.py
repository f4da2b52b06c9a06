"""Make the release that a configuration describes, and verify it from its files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sequester.engine import part, silent
from sequester.errors import WarningCollector, ignore_warning
from sequester.release.release import data_flow_counts
from sequester.report.findings import Stopwatch
from sequester.report.summary import ReleaseSummary
from sequester.workflow.audit import AuditResult, audit
from sequester.workflow.config import Config
from sequester.workflow.job import FolderCheckpoint, Job, check_problems
from sequester.workflow.memory import MemoryForecast, obtainable
from sequester.workflow.write import check_unprotected, find_unprotected, write

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.engine import Engine, Progress
    from sequester.errors import Warn
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
    audit: AuditResult = field(default_factory=AuditResult)
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
        config if isinstance(config, Config) else Config.load(config),
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
