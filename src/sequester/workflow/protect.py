"""From a configuration to a verified release on disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sequester.bundle.write import write
from sequester.engine import part, silent
from sequester.workflow.checkpoint import FolderCheckpoint
from sequester.workflow.config import Config
from sequester.workflow.hearing import hearing, keep_quiet
from sequester.workflow.job import Job, tell_problems

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.bundle.write import Written
    from sequester.engine import Engine, Progress
    from sequester.release.release import Release
    from sequester.workflow.hearing import Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """A release that is on disk and verified there."""

    release: Release
    """What the method made."""
    written: Written
    """Where it is."""
    warnings: tuple[str, ...]
    """What the steward must know."""

    def to_json(self) -> dict[str, Any]:
        """Give the document that ``protect --json`` prints."""
        return {
            **self.written.verification.to_json(),
            "internal": str(self.written.internal),
            "persons": {"input": self.release.n_input_persons, "released": self.release.n_persons},
            "events": {"input": self.release.n_input_events, "lost": self.release.n_lost_events},
            "warnings": list(self.warnings),
        }


def protect(
    config: str | Path | Config,
    *,
    out: str | Path | None = None,
    seed: str | None = None,
    force: bool = False,
    checkpoint: str | Path | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
    warn: Warn = keep_quiet,
) -> Protected:
    """Make the release that a configuration describes; `out` and `seed` win over it.

    `checkpoint` is a folder for the steps of a long run: one that was interrupted is resumed to the same
    bytes, and the folder goes when the release is there.

    Raises
    ------
    InputError
        Where the configuration, the data or the output is at fault; nothing has been written.
    UnattainableError
        Where no release keeps the promise, or too much would be lost; nothing has been written.
    """
    with hearing(warn) as heard:
        job = Job.of(
            config if isinstance(config, Config) else Config.load(config), out=out, seed=seed, force=force
        )
        progress(0.0, "reading")
        table = job.config.table()
        tell_problems(table)
        kept = None if checkpoint is None else FolderCheckpoint.of(checkpoint, job, table)
        release = job.method.apply(
            table,
            seed=job.seed if kept is None else kept.seed,
            engine=engine,
            progress=part(progress, 0.15, 0.7),
            checkpoint=kept,
        )
        release = replace(release, event_log=job.config.event_log)
        written = write(
            release,
            job.out,
            internal=job.internal,
            force=job.force,
            original=table,
            config_toml=job.to_toml(release.seed),
            pseudonyms=job.config.settings.release.pseudonyms,
            max_suppressed=job.config.settings.release.max_suppressed,
            progress=part(progress, 0.7, 1.0),
        )
        if kept is not None:
            kept.remove()
        return Protected(release=release, written=written, warnings=tuple(heard))
