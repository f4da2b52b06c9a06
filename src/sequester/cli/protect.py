"""Commands that make releases: ``protect`` and ``stream``."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sequester.cli.exits import DONE, USAGE_ERROR
from sequester.cli.options import (
    ConfigPath,
    EngineAddress,
    Force,
    Json,
    Quiet,
    Seed,
    configured_method,
    flag,
    option,
)
from sequester.cli.terminal import Terminal, duration, levels
from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.attacks.singling_out import SinglingOut
    from sequester.explanation.explain import Offer
    from sequester.release.release import Release
    from sequester.report.summary import ReleaseSummary
    from sequester.workflow.job import JobOptions
    from sequester.workflow.protect import Forecast, Protected
    from sequester.workflow.stream.stream import StreamResult


def protect(
    config: ConfigPath,
    out: Annotated[
        Path | None, option("DIR", "Where release/ and internal/ go; wins over [release] path.")
    ] = None,
    seed: Seed = None,
    force: Force = False,
    continues: Annotated[
        Path | None,
        option("DIR", "Continue the series whose last part is there; wins over [release] continues."),
    ] = None,
    checkpoint: Annotated[
        Path | None, option("DIR", "Keep the steps of a long run there, and resume one that was stopped.")
    ] = None,
    quick: Annotated[
        bool, flag("--quick", "Skip attacks and explanations; the internal report has neither.")
    ] = False,
    thorough: Annotated[
        bool, flag("--thorough", "Run all attacks, and the method without bounds on its work.")
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Check everything, estimate time and feasibility, write nothing.")
    ] = False,
    follow: Annotated[
        str | None,
        option("-", "Read one person's symbols as JSON lines, and write them sanitized (top-down)."),
    ] = None,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a release, verified, with a certificate.

    Reads the configuration and its data, applies the method, writes the files, verifies them as a
    recipient would, and only then puts them in their place. Simulated adversaries try it before that, and its
    changes are explained in the internal report.
    """
    terminal = Terminal(json, quiet)
    asked: JobOptions = {
        "out": out,
        "seed": seed,
        "force": force,
        "continues": continues,
        "thorough": thorough,
    }
    if follow is not None:
        others = {**asked, "checkpoint": checkpoint, "quick": quick, "dry-run": dry_run, "engine": engine}
        given = [f"--{name}" for name, value in others.items() if value and name != "seed"]
        _follow(config, follow, given, terminal)
    elif dry_run:
        _dry_run(config, engine, asked, terminal)
    else:
        _protect(config, engine, asked, terminal, checkpoint=checkpoint, quick=quick)


def _protect(
    config: Path,
    engine: str | None,
    asked: "JobOptions",
    terminal: Terminal,
    *,
    checkpoint: Path | None,
    quick: bool,
) -> None:
    from sequester.workflow.protect import protect as make  # noqa: PLC0415  (--help need not wait for polars)

    commands = ("protect", "verify") if quick else ("protect", "verify", "attack")
    resume = f"the steps so far are kept in {checkpoint}; the same command resumes"
    with (
        terminal.resumable(checkpoint, resume),
        terminal.work(engine, configured_method(config), *commands) as run,
    ):
        done = make(
            config,
            checkpoint=checkpoint,
            quick=quick,
            run=run,
            **asked,
        )
    terminal.answer(done.to_json(), _summary(done, config.parent), made=done.written.path)


def _dry_run(config: Path, engine: str | None, asked: "JobOptions", terminal: Terminal) -> None:
    from sequester.workflow.protect import dry_run  # noqa: PLC0415  (--help need not wait for polars)

    with terminal.work(engine, configured_method(config), "protect", "attack") as run:
        forecast = dry_run(config, run=run, **asked)
    terminal.answer(forecast.to_json(), _forecast_lines(forecast))


def _follow(config: Path, source: str, others: list[str], terminal: Terminal) -> None:
    """Sanitize standard input, line by line, and sum up on stderr."""
    from sequester.workflow.follow import follow  # noqa: PLC0415  (--help need not wait for polars)

    if source != "-":
        msg = f"--follow must be -, which is standard input, got {source!r}"
        raise InputError(msg)
    if others:
        msg = f"{others[0]} cannot be used with --follow, which makes no release"
        raise InputError(msg)

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    def report(so_far: object) -> None:
        if not terminal.quiet:
            terminal.say(str(so_far))

    report(follow(config, sys.stdin.buffer, write, report))


_LINES = 15
"""Lines of an answer, at most; the internal page has the rest."""


def _summary(done: "Protected", folder: Path) -> Iterator[str]:
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)

    release, written = done.release, done.written
    verified = written.verification
    measure = " by the paper's measure" if getattr(release.model, "measure", None) == "paper" else ""
    lost = _lost(release)
    if release.n_persons is None:
        rows = f"{release.frame.height:,} records are in the release; {lost}"
    else:
        one = release.unit.removesuffix("s")
        whom = counted(release.n_input_persons, f"{one} is", f"{release.unit} are")
        events = counted(release.frame.height, "event", "events")
        rows = f"{release.n_persons:,} of {whom} in the release, with {events}; {lost}"
    first = [
        f"{verified.model} holds{measure}, verified from the files: {levels(verified.achieved)}",
        *_reading(release, "are no longer shown"),
        rows,
        *_part(release),
    ]
    explanation = done.audit.explanation
    offers = () if explanation is None else explanation.offers
    last = [
        *([_beyond(release.singled_out)] if release.singled_out is not None else []),
        *(f"would keep more: {offer.text}{_how(offer, written.internal, folder)}" for offer in offers[:1]),
        f"to hand out      {written.path} (begin with report.html)",
        f"internal         {written.internal}",
        f"certificate      {written.certificate_sha256} (send it through another channel)",
    ]
    yield from _with_summary(first, done.summary, last)


def _how(offer: "Offer", internal: Path, folder: Path) -> str:
    """Return the setting that leaves persons out, with the path as seen from the configuration."""
    from sequester.release.folder import LEAVE_OUT  # noqa: PLC0415  (--help need not wait for polars)

    if offer.kind != "leave out":
        return ""
    return f"; leave_out = {json.dumps(os.path.relpath(internal / LEAVE_OUT, folder))}"


def _part(release: "Release") -> list[str]:
    """Return in one line which part of a series a release is; none where it is of no series."""
    if release.series is None:
        return []
    row = release.series.history[-1]
    if release.series.part == 1:
        return ["part 1 of a series: continue it with protect --continues, and keep its internal folder"]
    line = (
        f"part {release.series.part} of a series: the promise is about all parts together; because of them "
    )
    return [
        f"{line}{row['suppressed']:,} values are suppressed and {row['held_back']:,} new events held back"
    ]


def _with_summary(first: list[str], summary: "ReleaseSummary", last: list[str]) -> Iterator[str]:
    """Yield promise, cost and risk of a release between two parts, in 15 lines."""
    risks = list(summary.risk_lines())
    yield from first
    yield from summary.column_lines(_LINES - len(first) - len(risks) - len(last) - 1)
    yield summary.price_text()
    yield from risks
    yield from last


def _reading(release: "Release", shown: str) -> list[str]:
    """Return in one line what was left out and folded on reading; none where every row is an event."""
    if release.reading is None:
        return []
    lines = [*release.reading.lines()]
    if release.reading.left_out:
        lines.append(f"{release.unseen_share:.1%} of all rows that were read {shown}")
    return ["; ".join(lines)] if lines else []


def _beyond(found: "SinglingOut", *, raw: bool = False) -> str:
    lines = (f"{line[:1].lower()}{line[1:]}" for line in found.lines(raw=raw))
    return f"beyond the promise: {'; '.join(lines)}"


def _lost(release: "Release") -> str:
    """Describe which events are lost, and which released items the person never had there."""
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)

    events = counted(release.n_input_events, "event is", "events are")
    text = f"{release.n_lost_events:,} of {events} lost ({release.lost_share:.1%})"
    if release.n_invented_items:
        text += f", {counted(release.n_invented_items, 'released item is', 'released items are')} invented"
    if release.n_moved_items:
        moved = counted(release.n_moved_items, "released item is", "released items are")
        text += f", {moved} in another order"
    return text


def _forecast_lines(forecast: "Forecast") -> Iterator[str]:
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)

    tried = f"tried on {forecast.tried_persons:,} of {counted(forecast.n_persons, 'person', 'persons')}"
    trips = "" if forecast.n_trips is None else f"{forecast.n_trips:,} trips, "
    model, achieved = type(forecast.trial.model).__name__, levels(forecast.trial.verdict.achieved)
    persons = counted(forecast.n_persons, "person", "persons")
    events = counted(forecast.n_events, "event", "events")
    reading = forecast.trial.reading
    left = " are left" if reading is not None and reading.left_out else ""
    wrong = "; no problems found" if not forecast.n_problems else ""
    lost = f"{forecast.trial.lost_share:.1%} of events lost"
    targets = forecast.targets
    attacks = "attacks" if targets is None else f"attacks ({targets:,} targets for each kind of knowledge)"
    if forecast.trial.n_invented_items or forecast.trial.n_moved_items:
        lost = _lost(forecast.trial)
    first = [
        *_reading(forecast.trial, "would no longer be shown"),
        f"{persons}, {trips}{events}{left}{wrong}",
        f"{model} is feasible: {achieved}, {lost} ({tried})",
    ]
    last = [
        *(
            [_beyond(forecast.singled_out, raw=not forecast.is_whole)]
            if forecast.singled_out is not None
            else []
        ),
        f"reading and protecting take about {duration(forecast.seconds)}; {attacks} and writing come on top",
        str(forecast.memory),
        f"dry run: would write to {forecast.job.out}; nothing was written",
    ]
    yield from _with_summary(first, forecast.summary, last)


_SHOWN_VALUES = 5
"""Sensitive values that are named with the records they lost."""


def stream(
    config: ConfigPath,
    inputs: Annotated[Path, option("DIR", "Input files, each one snapshot, taken in name order.", "--in")],
    out: Annotated[Path, option("DIR", "Where published snapshots go.")],
    state: Annotated[Path, option("DIR", "What is kept between runs; as sensitive as the input.")],
    follow: Annotated[bool, flag("--follow", "Wait for more files, until interrupted.")] = False,
    finish: Annotated[
        bool, flag("--finish", "Also publish what is still in the window: no more will come.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Publish snapshots as their files arrive.

    Each file is taken once, and each snapshot published once, when it leaves the window. Killed at any
    moment and started again, the output is the same. Files that do not fit go to rejected/ in the state
    folder, with an explanation, and the command ends with 2.
    """
    from sequester.workflow.stream.stream import stream as publish  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)
    safe = f"what was taken is safe in {state}; the same command goes on from there"
    with (
        terminal.resumable(state, safe, made=f"what was published in {out}"),
        terminal.work(None, configured_method(config), "protect") as run,
    ):
        done = publish(
            config,
            inputs=inputs,
            out=out,
            state=state,
            follow=follow,
            finish=finish,
            run=run,
        )
    for each in done.rejected:
        for reason in each.reasons:
            terminal.say(f"error: {each.name} was not taken: {reason}")
    terminal.answer(done.to_json(), _stream_lines(done), made=done.out)
    return USAGE_ERROR if done.rejected else DONE


def _stream_lines(done: "StreamResult") -> Iterator[str]:
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)

    published = counted(len(done.published), "snapshot", "snapshots")
    yield f"{counted(len(done.taken), 'file', 'files')} taken, {published} published in {done.out}"
    if done.left_out:
        rows = counted(sum(done.left_out.values()), "row was", "rows were")
        yield f"{rows} left out on reading, of {counted(len(done.left_out), 'file', 'files')}"
    if done.in_window:
        waiting = counted(done.in_window, "snapshot waits", "snapshots wait")
        yield f"{waiting} in the window for others to come"
    if done.unpublished:
        shown = [f"{value} {count:,}" for value, count in list(done.unpublished.items())[:_SHOWN_VALUES]]
        more = ", ..." if len(done.unpublished) > _SHOWN_VALUES else ""
        total = counted(
            sum(done.unpublished.values()),
            "record so far found no place and is",
            "records so far found no place and are",
        )
        yield f"{total} lost: {', '.join(shown)}{more}"
    if done.rejected:
        rejected = counted(len(done.rejected), "file", "files")
        yield f"{rejected} not taken, now in {done.rejected[0].place.parent}"
