"""Try one candidate: make a release, attack it and measure it."""

from __future__ import annotations

import time
from collections.abc import Mapping  # noqa: TC003  (pydantic reads the fields)
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from sequester.attacks import attack_tables
from sequester.attacks.context import AttackContext
from sequester.attacks.inference import Inference, Presence
from sequester.attacks.linkage import Linkage, bound_of
from sequester.attacks.risk import Proportion
from sequester.attacks.snapshots import guess_original, guess_records
from sequester.engine import LocalEngine, part
from sequester.errors import InputError, UnattainableError, WarningCollector
from sequester.privacy.model import RecordModel
from sequester.release.fields import plain_table
from sequester.release.release import About
from sequester.release.staging import write_file
from sequester.report.findings import Findings
from sequester.report.page import internal_page
from sequester.utility.score import Score
from sequester.verification.original import with_owners
from sequester.workflow.attack import targets_for
from sequester.workflow.comparison.grid import one_line
from sequester.workflow.memory import peak
from sequester.workflow.write import check_suppressed, check_unprotected, compared_table, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sequester._typing import Codes
    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.linkage import Adversary
    from sequester.attacks.singling_out import SinglingOut
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.files import OtherFormat
    from sequester.release.release import Release
    from sequester.workflow.comparison.grid import Candidate


State = Literal["made", "unattainable", "unfit", "failed"]
"""A release was made; none can be; the method is not for this table; or something went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPair:
    """What one adversary achieves against the release, and against the original."""

    release: Proportion
    """Against the release."""
    raw: Proportion
    """Against the original."""
    bound: float | None = None
    """What the release claims that it cannot exceed."""
    is_within: bool = True
    """The bound, if there is one, is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """A candidate after it was tried."""

    method: str
    """Its name."""
    label: str
    """The method and the parameters that tell it from its neighbours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Every parameter with its value."""
    state: State = "made"
    """How it ended."""
    reason: str = ""
    """Why there is no release."""
    model: str = ""
    """The promise, by the name of its class."""
    claim: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the promise."""
    achieved: Mapping[str, Any] = field(default_factory=dict)
    """The best level that the data reaches."""
    risks: Mapping[str, RiskPair] = field(default_factory=dict)
    """What each adversary achieves, by name."""
    utility: Mapping[str, Score] = field(default_factory=dict)
    """What the release is still good for."""
    persons: int | None = None
    """Persons, or trips, in the release; None where it has records without persons."""
    events: int = 0
    """Events or records in the release."""
    lost_share: float = 0.0
    """Share of the input's events that are lost."""
    moved: int = 0
    """Released items that their person had elsewhere in the order."""
    invented: int = 0
    """Released items that their person never had."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""
    seconds: float = 0.0
    """How long it took to make, to measure and to attack."""
    peak_memory: int = 0
    """Bytes that the process of its own took, at most; 0 where that is not known."""
    report: str = ""
    """The page about it, relative to the folder of the comparison."""
    release: str = ""
    """The folder with ``release`` and ``internal``, where releases were asked for."""
    is_ours: bool = False
    """It failed by a fault of the program."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """Of a series that was continued, what each part released, held back and lost."""

    @property
    def holds(self) -> bool:
        """There is a release, and it keeps its promise."""
        return self.state == "made"

    @classmethod
    def about(cls, candidate: Candidate, **known: Any) -> TrialResult:
        """Return the result of a candidate with what is known of it, such as why it has none."""
        return cls(method=candidate.name, label=candidate.label, parameters=candidate.parameters, **known)

    def to_json(self) -> dict[str, Any]:
        """Return the document that is kept; `of` reads it."""
        return asdict(self) | {"holds": self.holds}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> TrialResult:
        """Read what was kept; a `ValueError` says where it is damaged."""
        return _KEPT.validate_python(document)


_KEPT = TypeAdapter(TrialResult)


_MEASURES: dict[Callable[..., Adversary], tuple[str, ...]] = {
    Linkage: ("marketer", "prosecutor", "journalist", "candidates", "unique"),
    Presence: ("absence", "membership"),
    Inference: ("guess", "confidence", "at_risk"),
}
PERSONS = ("found", *(name for names in _MEASURES.values() for name in names))
"""Adversaries who are the same whatever a release claims; the first is the default."""
RECORDS = "record_guess"
"""The adversary where releases have records without persons."""
LOST = "lost_events"
"""A measure that every release has."""
SINGLED_OUT = "singled_out"
"""A measure of releases with columns that no promise covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the adversary knows: the same of the same persons for all candidates."""

    kind: KnowledgeKind
    """How the items hang together."""
    known: int
    """How many items, at most."""
    targets: int
    """How many pieces are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTask:
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
    event_log: OtherFormat | None = None
    """The events are also written in this format."""
    n_parts: int | None = None
    """Each table is written in so many files."""
    pseudonyms: bool = False
    """Who is who is written, too."""
    threads: int = 0
    """Threads that it may use; 0 is one per core."""


def try_candidate(task: TrialTask, table: EventTable, progress: Progress) -> TrialResult:
    """Make a release and judge it; where none can be made, say why."""
    tried = TrialResult.about(task.candidate)
    started = time.monotonic()
    collect = WarningCollector()
    try:
        done = _evaluate(task, table, tried, progress, collect)
    except UnattainableError as error:
        achieved = plain_table(error.achieved)
        done = replace(tried, state="unattainable", reason=str(error), achieved=achieved)
    except InputError as error:
        done = replace(tried, state="unfit", reason=one_line(error.lines))
    return replace(
        done,
        warnings=collect.lines,
        seconds=round(time.monotonic() - started, 3),
        peak_memory=peak(),
    )


def _evaluate(
    task: TrialTask, table: EventTable, tried: TrialResult, progress: Progress, collect: WarningCollector
) -> TrialResult:
    if task.candidate.method is None:
        raise InputError(task.candidate.misfit)
    engine = LocalEngine(threads=task.threads)
    release = task.candidate.method.apply(
        table,
        seed=task.seed,
        engine=engine,
        progress=part(progress, 0.0, 0.6),
        continues=task.candidate.continues,
        warn=collect,
    ).published_as(task.event_log, About(), n_parts=task.n_parts)
    original = compared_table(release, table)
    check_suppressed(release, task.max_suppressed)
    risks = _risks(task.knowledge, release, table, engine, part(progress, 0.6, 0.75))
    if task.report is not None:
        findings = _findings(task, release, table, engine, part(progress, 0.75, 0.85))
        progress(0.85, "drawing the report")
        write_file(internal_page(release, original=original, findings=findings).encode(), task.report)
        task.report.chmod(0o600)
    if task.release is not None:
        write(
            release,
            task.release,
            force=True,
            original=original,
            config_toml=task.config_toml,
            pseudonyms=task.pseudonyms,
            max_suppressed=task.max_suppressed,
            progress=part(progress, 0.9, 1.0),
            warn=collect,
        )
    lost = Score(
        value=release.lost_share,
        means="Share of the events that the release no longer shows: absent, deleted, nothing but *, or not "
        "in the record that the person has got instead; 0 is none.",
    )
    collect(*check_unprotected(release.singled_out, accept=True))
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
        parts=() if release.series is None else release.series.history,
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
            means=f"Share of the {found.unit} who are singled out by {how}; no promise covers this.",
        )
        for name, (count, how) in counts.items()
    }


def _findings(
    task: TrialTask, release: Release, table: EventTable, engine: LocalEngine, progress: Progress
) -> Findings:
    """Attack a release with the knowledge of the comparison, for its own page."""
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
        targets=targets_for(table.n_events, len(table.schema.quasi)),
        engine=engine,
        progress=progress,
    )
    tried = f"Only adversaries who know items of the kind {kind} were tried here; protect tries all."
    return Findings(risks=tuple(risks), notes=(tried, note))


def _owners(release: Release, released: EventTable) -> Codes | None:
    """Return whose each released trip is: where trips have pseudonyms, persons are counted all the same."""
    return with_owners(release.pseudonyms, released).owners if release.trips else None


def _risks(
    knowledge: Knowledge, release: Release, table: EventTable, engine: LocalEngine, progress: Progress
) -> dict[str, RiskPair]:
    if isinstance(release.model, RecordModel):
        sensitive = str(release.model.claim()["sensitive"])
        found = guess_records(release.tables, sensitive=sensitive)
        return {RECORDS: RiskPair(release=found, raw=guess_original(table, sensitive=sensitive))}
    progress(0.0, "attacking")
    released = release.table
    context = AttackContext(
        released, table, owners=_owners(release, released), targets=knowledge.targets, engine=engine
    )
    attacks = [Linkage(kind=knowledge.kind, known=knowledge.known, measure="found").judge(context)]
    for adversary in _adversaries(knowledge, context):
        progress(len(attacks) / len(PERSONS), f"attacking ({adversary.name})")
        attacks.append(replace(adversary.judge(context), bound=bound_of(release.model, adversary)))
    return {
        each.name: RiskPair(
            release=Proportion(each.value, each.interval),
            raw=each.raw,
            bound=each.bound,
            is_within=each.is_within,
        )
        for each in attacks
    }


def _adversaries(knowledge: Knowledge, context: AttackContext) -> Iterator[Adversary]:
    """Return those who are the same whatever a release claims."""
    for adversary, measures in _MEASURES.items():
        if adversary is not Inference or context.domain.names:
            for measure in measures:
                yield adversary(kind=knowledge.kind, known=knowledge.known, measure=measure)
