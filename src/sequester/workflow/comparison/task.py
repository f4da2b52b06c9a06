"""Makes one candidate, measures it, lets the adversary try it, and writes its page."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sequester.attacks import attack_tables
from sequester.attacks.bounds import bound_of
from sequester.attacks.finder import Finder
from sequester.attacks.inference import Inference
from sequester.attacks.linkage import Linkage
from sequester.attacks.presence import Presence
from sequester.attacks.record_guess import guess_original, guess_records
from sequester.attacks.share import Share
from sequester.attacks.world import World
from sequester.bundle.notes import check_suppressed, check_unprotected
from sequester.bundle.write import write
from sequester.engine import LocalEngine, part
from sequester.errors import InputError, SequesterWarning, UnattainableError
from sequester.privacy.model import RecordModel
from sequester.release.fields import plain_table
from sequester.report.findings import Findings
from sequester.report.page import internal_page
from sequester.utility.score import Score
from sequester.verify.pseudonyms import with_owners
from sequester.workflow.comparison.candidate import told
from sequester.workflow.comparison.memory import peak
from sequester.workflow.comparison.tried import Risks, Tried
from sequester.workflow.hearing import hearing, keep_quiet
from sequester.workflow.judgement import targets_for
from sequester.workflow.output_file import put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sequester._typing import Codes
    from sequester.attacks.adversary import Adversary
    from sequester.attacks.inference import InferenceMeasure
    from sequester.attacks.linkage import LinkageMeasure
    from sequester.attacks.pieces import PieceKind
    from sequester.attacks.singling_out import SinglingOut
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.event_log import LogFormat
    from sequester.release.release import Release
    from sequester.workflow.comparison.candidate import Candidate

PERSONS = (
    "found",
    "marketer",
    "prosecutor",
    "journalist",
    "candidates",
    "unique",
    "absence",
    "membership",
    "guess",
    "confidence",
    "at_risk",
)
"""Adversaries who are the same whatever a release claims; the first is asked unless told."""
RECORDS = "record_guess"
"""The adversary where releases have records without persons."""
LOST = "lost_events"
"""A measure that every release has."""
SINGLED_OUT = "singled_out"
"""A measure of releases with columns that no promise covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the adversary knows: the same of the same persons for all candidates."""

    kind: PieceKind
    """How the items hang together."""
    known: int
    """How many items, at most."""
    targets: int
    """How many pieces are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One candidate, and all that its process needs beside the table."""

    candidate: Candidate
    """The method."""
    key: str
    """What its result is kept under."""
    seed: str
    """What everything random comes from."""
    knowledge: Knowledge
    """Of the adversary."""
    max_suppressed: float | None
    """A release that loses more is refused."""
    report: Path | None = None
    """Where its page goes, if there is one."""
    release: Path | None = None
    """Where the release goes, if it is asked for."""
    config_toml: str | None = None
    """The configuration that repeats it."""
    event_log: LogFormat | None = None
    """The events are also written in this format."""
    pseudonyms: bool = False
    """Who is who is written, too."""
    threads: int = 0
    """Threads that it may use; 0 is one per core."""


def try_candidate(task: Task, table: EventTable, progress: Progress) -> Tried:
    """Make a release and judge it; where none can be made, say why."""
    candidate = task.candidate
    tried = Tried(method=candidate.name, label=candidate.label, parameters=candidate.parameters)
    started = time.monotonic()
    with hearing(keep_quiet) as heard:
        try:
            done = _judge(task, table, tried, progress)
        except UnattainableError as error:
            achieved = plain_table(error.achieved)
            done = replace(tried, state="unattainable", reason=str(error), achieved=achieved)
        except InputError as error:
            done = replace(tried, state="unfit", reason=told(error.lines))
        return replace(
            done,
            warnings=tuple(heard),
            seconds=round(time.monotonic() - started, 3),
            peak_memory=peak(),
        )


def _judge(task: Task, table: EventTable, tried: Tried, progress: Progress) -> Tried:
    if task.candidate.method is None:
        raise InputError(task.candidate.misfit)
    engine = LocalEngine(threads=task.threads)
    release = task.candidate.method.apply(
        table, seed=task.seed, engine=engine, progress=part(progress, 0.0, 0.6)
    )
    check_suppressed(release, task.max_suppressed)
    release = replace(release, event_log=task.event_log)
    risks = _risks(task.knowledge, release, table, engine, part(progress, 0.6, 0.75))
    if task.report is not None:
        findings = _findings(task, release, table, engine, part(progress, 0.75, 0.85))
        progress(0.85, "drawing the report")
        put(internal_page(release, original=table, findings=findings).encode(), task.report)
        task.report.chmod(0o600)
    if task.release is not None:
        write(
            release,
            task.release,
            force=True,
            original=table,
            config_toml=task.config_toml,
            pseudonyms=task.pseudonyms,
            max_suppressed=task.max_suppressed,
            progress=part(progress, 0.9, 1.0),
        )
    lost = Score(
        value=release.lost_share,
        goal="minimize",
        bounds=(0, 1),
        means="Share of the events that the release no longer shows: absent, deleted, nothing but *, or not "
        "in the record that the person has got instead; 0 is none.",
    )
    for note in check_unprotected(release.singled_out, accept=True):
        warnings.warn(note, SequesterWarning, stacklevel=2)
    return replace(
        tried,
        model=type(release.model).__name__,
        claim=plain_table(release.model.claim()),
        achieved=plain_table(release.verdict.achieved),
        risks=risks,
        utility={**release.utility, LOST: lost, **_singled_out(release.singled_out)},
        persons=release.n_persons,
        events=release.frame.height,
        lost_share=release.lost_share,
        moved=release.n_moved_items,
        invented=release.n_invented_items,
    )


def _singled_out(found: SinglingOut | None) -> dict[str, Score]:
    """Show who can be singled out by columns that no promise covers; no candidate is refused for it."""
    if found is None:
        return {}
    counts = {
        SINGLED_OUT: (found.by_all, "everything that is released, protected values aside"),
        **({f"{SINGLED_OUT}_by_kept": (found.by_kept, "kept columns alone")} if found.kept else {}),
    }
    return {
        name: Score(
            value=found.share(count),
            goal="minimize",
            bounds=(0, 1),
            means=f"Share of the {found.unit} who are singled out by {how}; no promise covers this.",
        )
        for name, (count, how) in counts.items()
    }


def _findings(
    task: Task, release: Release, table: EventTable, engine: LocalEngine, progress: Progress
) -> Findings:
    """Let those try who know as much as the adversary of the comparison, and less or more of it."""
    kind = task.knowledge.kind
    note = (
        "Reasons, and what would have kept more, were not looked for: protect does, for the one you choose."
    )
    if isinstance(release.model, RecordModel):
        return Findings(notes=("No attack was tried here; protect tries those that fit records.", note))
    released = release.table
    risks = attack_tables(
        released,
        original=table,
        model=release.model,
        owners=_owners(release, released),
        kinds=[kind],
        targets=targets_for(table.n_events),
        engine=engine,
        progress=progress,
    )
    tried = f"Only adversaries who know items of the kind {kind} were tried here; protect tries all."
    return Findings(risks=tuple(risks), notes=(tried, note))


def _owners(release: Release, released: EventTable) -> Codes | None:
    """Tell whose each released trip is: where trips have pseudonyms, persons are counted all the same."""
    return with_owners(release.pseudonyms, released).owners if release.trips else None


def _risks(
    knowledge: Knowledge, release: Release, table: EventTable, engine: LocalEngine, progress: Progress
) -> dict[str, Risks]:
    if isinstance(release.model, RecordModel):
        sensitive = str(release.model.claim()["sensitive"])
        found = guess_records(release.tables, sensitive=sensitive)
        return {RECORDS: Risks(release=found, raw=guess_original(table, sensitive=sensitive))}
    progress(0.0, "attacking")
    released = release.table
    world = World.of(
        released, table, owners=_owners(release, released), targets=knowledge.targets, engine=engine
    )
    attacks = [Finder(kind=knowledge.kind, known=knowledge.known).judge(world)]
    for adversary in _adversaries(knowledge, world):
        progress(len(attacks) / len(PERSONS), f"attacking ({adversary.name})")
        attacks.append(replace(adversary.judge(world), bound=bound_of(release.model, adversary)))
    return {
        each.name: Risks(
            release=Share(each.value, each.interval), raw=each.raw, bound=each.bound, is_within=each.is_within
        )
        for each in attacks
    }


def _adversaries(knowledge: Knowledge, world: World) -> Iterator[Adversary]:
    """Give those who are the same whatever a release claims."""
    kind, known = knowledge.kind, knowledge.known
    linkages: tuple[LinkageMeasure, ...] = ("marketer", "prosecutor", "journalist", "candidates", "unique")
    for linkage in linkages:
        yield Linkage(kind=kind, known=known, measure=linkage)
    yield Presence(kind=kind, known=known, measure="absence")
    yield Presence(kind=kind, known=known, measure="membership")
    if world.ground.names:
        inferences: tuple[InferenceMeasure, ...] = ("guess", "confidence", "at_risk")
        for inference in inferences:
            yield Inference(kind=kind, known=known, measure=inference)
