"""Write a release to disk: aside first, verified there, and only then in its place."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import polars as pl

from sequester._validation import in_range
from sequester.attacks.risk import percent
from sequester.attacks.singling_out import TOLERATED
from sequester.engine import part, silent
from sequester.errors import InputError, InternalError, UnattainableError, issue_warning, system_reason
from sequester.release.fields import safe_repr
from sequester.release.files import unsupported_reason
from sequester.release.folder import (
    PSEUDONYMS,
    write_certificate,
    write_hierarchies,
    write_internal,
    write_regions,
    write_report,
    write_tables,
)
from sequester.release.release import ORDER, PERSON
from sequester.release.staging import OutputFolders, staging, sync_file, sync_folder
from sequester.report import page
from sequester.report.findings import NO_FINDINGS, Findings
from sequester.verification.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sequester.attacks.risk import Risk
    from sequester.attacks.singling_out import SinglingOut
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn
    from sequester.explanation.explain import Explanation
    from sequester.release.release import Release
    from sequester.verification.claim import Verification
    from sequester.workflow.protect import Stopwatch


class Pages(Protocol):
    """Maker of the two report pages, such as the module `sequester.report.page`."""

    def external_page(self, release: Release) -> str:
        """Return the page for recipients."""
        ...

    def internal_page(
        self, release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
    ) -> str:
        """Return the internal page."""
        ...

    def internal_document(
        self, release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
    ) -> str:
        """Return the numbers of the internal page as JSON."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """A release on disk. Stands for its path wherever a path is taken."""

    path: Path
    """The release folder, to hand out."""
    internal: Path
    """The internal folder."""
    certificate_sha256: str
    """The certificate's own hash, to be sent by another way."""
    verification: Verification
    """What the check of the written files said."""
    warnings: tuple[str, ...] = ()
    """What the steward must know; also given as `SequesterWarning`."""

    def __fspath__(self) -> str:
        return os.fspath(self.path)


def write(
    release: Release,
    out: str | os.PathLike[str],
    *,
    internal: str | os.PathLike[str] | None = None,
    force: bool = False,
    original: EventTable | None = None,
    config_toml: str | None = None,
    pseudonyms: bool = False,
    max_suppressed: float | None = None,
    accept_unprotected: bool | None = None,
    risks: Sequence[Risk] = (),
    explanation: Explanation | None = None,
    leave_out: Sequence[str] = (),
    stopwatch: Stopwatch | None = None,
    notes: Sequence[str] = (),
    report: Pages | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
    warn: Warn = issue_warning,
) -> Written:
    """Write ``out/release`` and ``out/internal``, verified; or raise and leave nothing behind.

    Parameters
    ----------
    release
        What a method returned.
    out
        The folder that gets ``release`` and ``internal``.
    internal
        Another place for the internal folder.
    force
        Replace an earlier release, which is whole until the new one is complete and verified. What is there
        and was not written with a release is refused.
    original
        The table that was protected: the written files are checked against it too, and the internal page
        compares with it.
    config_toml
        Text of ``internal/release.toml``: the configuration with its seed.
    pseudonyms
        Write ``internal/pseudonyms.parquet``. A promise that is checked against the original always has it.
    max_suppressed
        Refuse to lose a larger share of events.
    accept_unprotected
        Whether kept columns may single out more than 5 % of the persons by themselves: False refuses such a
        release, as ``protect`` does without ``[release] accept_unprotected``; True warns of it. By default
        the limits and both reports say it, and nobody is asked.
    risks
        What adversaries achieved, as `sequester.attack` gives it: the internal page has a section about it.
    explanation
        What was changed and why: the internal page has a section about it.
    leave_out
        Persons who stayed out, by their keys, for ``internal/leave-out.csv``; by default, those whom the
        explanation offers to leave out.
    stopwatch
        What has measured the work so far: the internal page says how long it took. Where there is none, that
        page is the same every time.
    notes
        Why something is not known, for the internal page.
    report
        Maker of the two pages; by default `sequester.report.page`.
    engine
        Checks the promise on the written files; by default threads of this process.
    progress
        Called with the share of the work that is done.
    warn
        Called with each warning; by default a `SequesterWarning` is issued.

    Returns
    -------
    Written
        The folders, the certificate's own hash, the verification and the warnings.

    Raises
    ------
    InputError
        If the output exists, cannot be written, or the disk is full; or kept columns single out too many
        persons and `accept_unprotected` is False.
    UnattainableError
        If the promise is not kept, or more is lost than `max_suppressed`.

    Examples
    --------
    >>> import tempfile
    >>> from sequester.methods import PrefixPruning
    >>> from sequester.testing import symbol_table
    >>> release = PrefixPruning(k=2).apply(symbol_table(["ab", "ab", "c"]))
    >>> written = write(release, tempfile.mkdtemp() + "/out")
    >>> sorted(path.name for path in written.path.iterdir())
    ['certificate.json', 'croissant.json', 'events.csv', 'events.parquet', 'report.html']
    """
    target = OutputFolders.of(out, internal)
    if force:
        target.refuse_foreign()
    remarks = _check(release, max_suppressed, accept_unprotected)
    for note in remarks:
        warn(note)
    pages = page if report is None else report
    with _disk_errors(target), staging(target, force=force) as stage:
        aside = stage.aside
        own_hash = _write_release(release, aside.release, pages, progress)
        write_internal(
            release,
            aside.internal,
            config_toml=config_toml,
            pseudonyms=pseudonyms,
            leave_out=leave_out or (() if explanation is None else explanation.leave_out),
            certificate_sha256=own_hash,
        )
        # What was worked out of the release gives way to what is read from the files.
        release.forget_table()
        verification = _verify(aside, release, original, engine, part(progress, 0.5, 0.8))
        progress(0.8, "drawing the internal report")
        findings = Findings(
            risks=tuple(risks),
            explanation=explanation,
            # Last, so that it can say how long everything else took.
            timings=None if stopwatch is None else stopwatch.read(),
            notes=tuple(notes),
        )
        write_report(
            aside.internal,
            page=pages.internal_page(release, original=original, findings=findings),
            document=pages.internal_document(release, original=original, findings=findings),
        )
        for folder in aside.folders:
            _sync(folder)
        stage.commit()
    progress(1.0, "written")
    return Written(
        target.release,
        target.internal,
        own_hash,
        replace(verification, release=os.fspath(target.release)),
        tuple(remarks),
    )


def compared_table(release: Release, table: EventTable) -> EventTable:
    """Return what a release of `table` is compared with: of a later part of a series, what is new in it."""
    arrived = None if release.series is None else release.series.arrived
    return table if arrived is None else arrived


def _check(release: Release, max_suppressed: float | None, accept_unprotected: bool | None) -> list[str]:
    """Return what the steward must know of a release; refuse one that must not be written."""
    remarks = [
        *check_suppressed(release, max_suppressed),
        *check_unprotected(release.singled_out, accept=accept_unprotected),
        *find_formulas(release),
        *find_unsupported_log(release),
    ]
    if not release.verdict:
        msg = f"the release does not keep its promise: {release.verdict.witnesses[:1]}"
        raise UnattainableError(msg, achieved=release.verdict.achieved)
    return remarks


@contextmanager
def _disk_errors(target: OutputFolders) -> Iterator[None]:
    """Raise in one line that the disk is full or cannot be written."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        # polars says in either way that the disk is full.
        reason = system_reason(error)
        if reason is None and not isinstance(error, OSError):
            raise
        msg = f"cannot write {target.release.parent}: {reason or error}"
        raise InputError(msg) from error


def _write_release(release: Release, folder: Path, pages: Pages, progress: Progress) -> str:
    """Write what is handed out; return the hash of its certificate, which comes last."""
    progress(0.0, "writing")
    write_tables(release, folder)
    write_hierarchies(release, folder)
    write_regions(release, folder)
    progress(0.3, "drawing the report")
    (folder / "report.html").write_text(pages.external_page(release), encoding="utf-8", newline="\n")
    return write_certificate(release, folder)


def _verify(
    aside: OutputFolders,
    release: Release,
    original: EventTable | None,
    engine: Engine | None,
    progress: Progress,
) -> Verification:
    who = aside.internal / PSEUDONYMS
    verification = verify(
        aside.release,
        original=original,
        model=release.model,
        past=None if release.series is None else release.series.before,
        pseudonyms=who if original is not None and who.exists() else None,
        ours=True,
        engine=engine,
        progress=progress,
    )
    if not verification:
        # The method's own check has passed, so what was written is not what was meant.
        msg = f"the written files do not verify: {'; '.join(verification.lines)}"
        raise InternalError(msg)
    return verification


def _sync(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            sync_file(path)
        else:
            sync_folder(path)
    sync_folder(folder)


NOTABLE_LOSS = 0.2
"""A larger share of lost events draws a warning where the steward has set no limit."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def check_suppressed(release: Release, max_suppressed: float | None = None) -> list[str]:
    """Raise if a release loses more than `max_suppressed`; without a limit, return a warning if it is much.

    Rows that were left out on reading count as well as events that the method has lost.
    """
    unseen = release.unseen_share
    if max_suppressed is None:
        return [] if unseen <= NOTABLE_LOSS else [f"{_unseen(release)}; max_suppressed sets a limit"]
    in_range("max_suppressed", max_suppressed, 0, 1)
    if unseen > max_suppressed:
        msg = f"{_unseen(release)}, more than max_suppressed = {max_suppressed:g} allows"
        raise UnattainableError(msg, achieved={"max_suppressed": unseen})
    return []


def check_unprotected(found: SinglingOut | None, *, accept: bool | None = None) -> list[str]:
    """Raise if kept columns single out too many persons; return a warning if the steward accepts it.

    With `accept` None, nobody is asked and nothing is returned.

    Raises
    ------
    InputError
        Where `accept` is False, and kept columns alone single out more than 5 % of the persons.
    """
    if found is None or not found.needs_consent or accept is None:
        return []
    if not accept:
        msg = (
            f"{found.refusal()}; above {percent(TOLERATED)} this needs [release] accept_unprotected = true, "
            "or fewer kept columns: drop them, or make them quasi-identifiers"
        )
        raise InputError(msg)
    return [f"{found.refusal()}, and no promise covers that"]


def find_unprotected(found: SinglingOut | None) -> list[str]:
    """Return a warning if unprotected sensitive values single out many persons."""
    return [found.warning()] if found is not None and found.needs_warning else []


def _unseen(release: Release) -> str:
    """Return the share of the input that the release no longer shows as text, with the reasons."""
    lost = (
        f"loses {release.lost_share:.1%} of the events ({release.n_lost_events:,} of "
        f"{release.n_input_events:,})"
    )
    reading = release.reading
    if reading is None or not reading.left_out:
        return f"the release {lost}"
    return (
        f"the release no longer shows {release.unseen_share:.1%} of the {reading.rows:,} rows that were "
        f"read: {reading.left_out:,} were left out on reading, and the method {lost}"
    )


def find_unsupported_log(release: Release) -> list[str]:
    """Return a note if the format of the input cannot hold the released events."""
    form = release.event_log
    reason = None if form is None else unsupported_reason(release.frame, form)
    what = "meds" if form == "meds" else f"events.{form}"
    return [] if reason is None else [f"{what} is not written: {reason}"]


def find_formulas(release: Release) -> list[str]:
    """Return a note for each column with cells that a spreadsheet would run as formulas.

    They are written unchanged, so that CSV and Parquet have the same cells.
    """
    notes = []
    for frame in release.tables.values():
        for column in frame.columns:
            if column in (PERSON, ORDER):
                continue
            texts = pl.concat([pl.Series([column]), frame[column].unique().cast(pl.String).rename("")])
            found = texts.filter(texts.str.slice(0, 1).is_in(FORMULA_STARTS)).sort()
            if len(found):
                begin = "1 value begins" if len(found) == 1 else f"{len(found):,} values begin"
                example = f"like a spreadsheet formula, for example {safe_repr(found[0])}"
                as_is = "it is released as it is" if len(found) == 1 else "they are released as they are"
                notes.append(f"column {safe_repr(column)}: {begin} {example}; {as_is}")
    return notes
