"""Compare methods and parameters on one table, and recommend one of them."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester._validation import at_least, in_range
from sequester.attacks.context import TARGETS
from sequester.data.table import EventTable
from sequester.engine import part, silent
from sequester.errors import (
    InputError,
    ParameterError,
    SchemaError,
    WarningCollector,
    issue_warning,
)
from sequester.release.series import Series
from sequester.release.staging import refuse_inputs
from sequester.workflow.comparison.comparison import HANDING_OUT, Comparison, check_adversary, write_outputs
from sequester.workflow.comparison.grid import Candidate, candidates_of, fitting_candidates, grid, series_grid
from sequester.workflow.comparison.pool import RELEASES, REPORTS, Store, run_candidates, run_on_workers
from sequester.workflow.comparison.trial import Knowledge, TrialResult, TrialTask
from sequester.workflow.config import Config
from sequester.workflow.job import Job, check_problems, table_digest
from sequester.workflow.run import SILENT, RunContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester.engine import Engine, Progress
    from sequester.methods.method import Method

KNOWN = 2
"""Items that the adversary knows by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How candidates are to be compared."""

    known: int = KNOWN
    """Items that the adversary knows."""
    targets: int = TARGETS
    """Pieces of knowledge that are tried."""
    adversary: str | None = None
    """Whose risk is compared; by default the strongest."""
    measure: str | None = None
    """The measure on the frontier's axis; chosen by default."""
    max_risk: float | None = None
    """The risk that may remain, at most."""
    at_once: int | None = None
    """Candidates side by side; by default one per core, as memory allows."""
    seed: str | None = None
    """What everything random comes from."""
    force: bool = False
    """Begin anew."""
    write_releases: bool = False
    """Write each release, too."""

    def __post_init__(self) -> None:
        for name in ("known", "targets", "at_once"):
            if (value := getattr(self, name)) is not None:
                at_least(name, value, 1)
        if self.max_risk is not None:
            in_range("max_risk", self.max_risk, 0, 1)
        check_adversary(self.adversary)


def compare(
    table: EventTable,
    methods: Sequence[Method],
    *,
    known: int = KNOWN,
    targets: int = TARGETS,
    adversary: str | None = None,
    measure: str | None = None,
    max_risk: float | None = None,
    out: str | Path | None = None,
    write_releases: bool = False,
    force: bool = False,
    at_once: int | None = None,
    seed: str | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Try `methods`, each with its parameters, and compare what an adversary achieves with what is lost.

    A method that cannot keep its promise here, or is not for such a table, is among the results with its
    reason.

    Parameters
    ----------
    table
        The data.
    methods
        Methods with their parameters.
    known
        How many items the adversary knows.
    targets
        How many persons are attacked.
    adversary
        The attack whose risk is compared; by default the strongest.
    measure
        The measure of utility that is compared; by default the first that all methods have.
    max_risk
        Recommend only what keeps the risk below this.
    out
        A folder that keeps results as they come, with a page about each; the same call resumes an
        interrupted one.
    write_releases
        Write the releases to `out`, too.
    force
        Replace results of another comparison in `out`.
    at_once
        How many methods run at the same time.
    seed
        Everything random comes from it.
    engine
        Workers that try whole candidates, such as those of `DaskEngine`; by default processes here.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Comparison
        Risk and utility of every method, and which one is recommended.

    Raises
    ------
    ParameterError
        If there is no method, or a parameter is out of range.
    InputError
        If `out` has something else, or cannot be written.

    Examples
    --------
    >>> from sequester.methods import BFP2kA
    >>> from sequester.testing import symbol_table
    >>> table = symbol_table(["abc", "abc", "ab", "abd"])
    >>> found = compare(table, [BFP2kA(k=k) for k in (2, 9)])
    >>> [(each.label, each.holds) for each in found.tried]
    [('p2ka k=2', True), ('p2ka k=9', False)]
    >>> found.recommended
    0
    """
    given: object = table  # Python lets anything through.
    if not isinstance(given, EventTable):
        msg = f"table must be an EventTable, got {type(given).__name__}"
        raise SchemaError(msg)
    candidates = candidates_of(methods)
    if not candidates:
        msg = "methods must be a list of methods with their parameters, such as [BFP2kA(k=2), BFP2kA(k=5)]"
        raise ParameterError(msg)
    asked = CompareOptions(
        known=known,
        targets=targets,
        adversary=adversary,
        measure=measure,
        max_risk=max_risk,
        at_once=at_once,
        seed=seed,
        force=force,
        write_releases=write_releases,
    )
    if out is None and write_releases:
        msg = "write_releases needs out, the folder for them"
        raise ParameterError(msg)
    return _compare(
        table,
        candidates,
        asked,
        None if out is None else Path(out),
        RunContext(engine=engine, progress=progress, warn=issue_warning),
    )


def compare_config(
    config: str | Path | Config,
    *,
    out: Path,
    methods: Sequence[str] | None = None,
    settings: Mapping[str, Sequence[Any]] | None = None,
    asked: CompareOptions | None = None,
    run: RunContext = SILENT,
) -> Comparison:
    """Compare on the data of a configuration, and write everything to `out`.

    Where the release continues a series, which keeps its method and parameters, that is compared with a fresh
    series of the same input.

    Raises
    ------
    InputError
        Where the configuration, the data, a method or a parameter that was named, or the output is at fault.
    """
    asked = asked or CompareOptions()
    collect = WarningCollector(run.warn)
    config = Config.load(config)
    continues = config.settings.release.continues
    if continues is None:
        candidates = grid(config.settings.method, methods=methods, settings=settings, folder=config.folder)
    elif methods is not None or settings:
        msg = (
            "release.continues: a series keeps its method and its parameters, so --methods and --set cannot "
            "vary them; leave these out to compare this part with a fresh series, or continues to compare "
            "fresh releases"
        )
        raise InputError(msg)
    else:
        candidates = series_grid(config.method(), config.folder / continues)
    refuse_inputs(out, inputs=config.inputs)
    run.progress(0.0, "reading")
    table = config.table(collect, engine=run.engine)
    collect(*check_problems(table))
    if table.reading.left_out:
        collect(next(table.reading.lines()))
    seed = config.settings.release.seed if asked.seed is None else asked.seed
    return _compare(
        table,
        candidates,
        replace(asked, seed=seed),
        out,
        replace(run.part(0.02, 1.0), warn=collect),
        config=config,
        named=methods is not None or continues is not None,
    )


def _compare(
    table: EventTable,
    candidates: Sequence[Candidate],
    asked: CompareOptions,
    out: Path | None,
    run: RunContext,
    *,
    config: Config | None = None,
    named: bool = False,
) -> Comparison:
    candidates = fitting_candidates(candidates, table, refuse=named)
    with ExitStack() as stack:
        folder = out
        if folder is None:
            # Results are passed on, and nothing stays.
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = stack.enter_context(
            Store.open(folder, table=table_digest(table), seed=asked.seed, force=asked.force)
        )
        knowledge = Knowledge(
            kind="anywhere" if table.symbol is None else "ordered", known=asked.known, targets=asked.targets
        )
        tasks = [
            _task(each, store, knowledge, asked, config, with_page=out is not None) for each in candidates
        ]
        fitting = [each for each in tasks if not each.candidate.misfit]
        done = _run(fitting, table, store, asked, run, named)
        tried = [
            TrialResult.about(each.candidate, state="unfit", reason=each.candidate.misfit)
            if each.candidate.misfit
            else replace(done[each.key], label=each.candidate.label)
            for each in tasks
        ]
        found = Comparison.of(
            tried,
            knowledge=knowledge,
            adversary=asked.adversary,
            measure=asked.measure,
            max_risk=asked.max_risk,
            out=out,
        )
        found = replace(found, warnings=tuple(_remarks(found)))
        for line in found.warnings:
            run.warn(line)
        if out is not None:
            write_outputs(found, out)
        run.progress(1.0, "compared")
        return found


def _task(
    candidate: Candidate,
    store: Store,
    knowledge: Knowledge,
    asked: CompareOptions,
    config: Config | None,
    *,
    with_page: bool,
) -> TrialTask:
    max_suppressed = None if config is None else config.settings.release.max_suppressed
    key = store.key(
        candidate,
        knowledge=[knowledge.kind, knowledge.known, knowledge.targets],
        max_suppressed=max_suppressed,
        continues=None
        if candidate.continues is None
        else Series.read(candidate.continues).certificate_sha256,
    )
    place = store.place(RELEASES, candidate, key) if asked.write_releases else None
    task = TrialTask(
        candidate=candidate,
        key=key,
        seed=store.seed,
        knowledge=knowledge,
        max_suppressed=max_suppressed,
        report=store.place(REPORTS, candidate, key) if with_page else None,
        release=place,
    )
    if place is None or config is None or candidate.method is None:
        return task
    job = Job(config=config, method=candidate.method, out=place, continues=candidate.continues)
    return replace(
        task,
        config_toml=job.to_toml(store.seed),
        event_log=config.event_log,
        n_parts=config.n_parts,
        pseudonyms=config.settings.release.pseudonyms,
    )


def _run(
    tasks: Sequence[TrialTask],
    table: EventTable,
    store: Store,
    asked: CompareOptions,
    run: RunContext,
    named: bool,
) -> dict[str, TrialResult]:
    """Take over the results that were kept, and run the others; by their keys."""
    done: dict[str, TrialResult] = {}
    missing: dict[str, TrialTask] = {}
    for task in tasks:
        kept = store.load(task.key)
        if kept is None or (kept.holds and task.release is not None and not kept.release):
            missing[task.key] = task
        else:
            done[task.key] = kept
    if not missing:
        return done
    begun = part(run.progress, len(done) / len(tasks), 1.0)
    left = list(missing.values())
    with closing(
        run_candidates(left, table, begun, at_once=asked.at_once)
        if run.engine is None
        else run_on_workers(left, table, run.engine, begun)
    ) as answers:
        for task, answer in answers:
            report, release = (
                path.relative_to(store.folder).as_posix() if path is not None and answer.holds else ""
                for path in (task.report, task.release)
            )
            tried = replace(answer, report=report, release=release)
            store.save(task.key, tried)
            done[task.key] = tried
            if named and tried.state == "unfit":
                msg = f"{tried.method}: {tried.reason}"
                raise InputError(msg)
    return done


def _remarks(found: Comparison) -> Iterator[str]:
    """Describe what must be known: of all candidates at once, or of the comparison."""
    made = found.made
    if any(each.parts for each in made):
        yield (
            "measures of the continued part are about what is new, those of the fresh series about the whole "
            "input; a fresh series could not be joined with what was published, and both side by side are "
            "not covered"
        )
    if made:
        shared = set.intersection(*(set(each.warnings) for each in made))
        yield from (line for line in made[0].warnings if line in shared)
    for each in found.tried:
        if each.state == "failed":
            please = " (please report it)" if each.is_ours else ""
            yield f"{each.label} failed: {each.reason}{please}"
    for each in found.beaten:
        names = ", ".join(name for name, risk in each.risks.items() if not risk.is_within)
        yield f"{each.label}: an adversary ({names}) achieves more than {each.model} claims"
    if found.incomparable:
        yield f"{found.measure} does not mean the same for all methods; the page says what it means for each"
    there = [place for place, each in enumerate(found.tried) if each.holds]
    nobody = [place for place in there if found.risk(place) is None]
    unmeasured = [place for place in there if found.score(place) is None and place not in nobody]
    for places, reason in ((nobody, "with nobody to look for"), (unmeasured, f"without {found.measure}")):
        if places:
            yield f"not in the drawing, {reason}: {', '.join(found.tried[place].label for place in places)}"
    if sum(bool(each.release) for each in found.tried) > 1:
        yield HANDING_OUT
