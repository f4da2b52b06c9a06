"""Verify a release folder by its files alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.engine import silent
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.labels import counted
from sequester.privacy.model import RecordModel
from sequester.release.certificate import CERTIFICATE, rebuild_table
from sequester.release.folder import (
    PSEUDONYMS,
    check_files,
    read_certificate,
)
from sequester.release.release import EVENTS, PERSONS
from sequester.verification.claim import (
    Verification,
    claimed_model,
    compare_verdict,
    hidden_parameters,
    with_protected,
)
from sequester.verification.contents import read_contents
from sequester.verification.original import (
    align_to_original,
    check_names,
    check_pseudonyms,
    compare_claim,
    compare_contents,
    read_pseudonyms,
    with_owners,
)
from sequester.verification.series import Part, check_numbers, judge_joined, judge_parts, release_folder
from sequester.verification.streams import is_stream_folder, verify_stream
from sequester.verification.tables import code_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.engine import Engine, Progress
    from sequester.privacy import PrivacyModel, Verdict
    from sequester.release.certificate import Certificate
    from sequester.release.series import Series
    from sequester.verification.contents import Contents


def verify(
    path: str | os.PathLike[str],
    *,
    original: EventTable | None = None,
    model: PrivacyModel | None = None,
    method: tuple[str, Mapping[str, object]] | None = None,
    pseudonyms: str | os.PathLike[str] | None = None,
    earlier: Sequence[str | os.PathLike[str]] = (),
    past: Series | None = None,
    ours: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Verification:
    """Check a release folder: hashes, CSV against Parquet, values against hierarchies, then the claim.

    Parameters
    ----------
    path
        The release folder.
    original
        The table that was protected: roles, protected values, hierarchies and released values are compared
        with it. A claim that compares with it cannot be checked without.
    model
        The promise that was asked for, such as ``release.model``: a certificate that claims other than that
        is named, value by value. A claim about something that must not be published, such as patterns,
        cannot be checked without.
    method
        The name of the method that was asked for and those of its parameters that may be published.
    pseudonyms
        The file that tells which person of `original` is which; found by itself beside the release, in
        ``internal/``.
    earlier
        Where the release is a part of a series, all parts before it, from the first on: they are checked,
        too, and the promise is checked on all parts together. Without them a later part is only compared
        with its certificate.
    past
        The same as internal files have it, which are not checked.
    ours
        This process has just written the files; others are read with care, which takes a moment longer.
    engine
        Counts what the claim is about; by default threads of this process.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    Verification
        Falsy where a file is not as certified or the promise is broken; the witnesses say which and how.

    Raises
    ------
    InputError
        If the folder is no release, is incomplete or unreadable, or needs the original.

    Examples
    --------
    >>> import tempfile
    >>> import sequester as sq
    >>> from sequester.testing import symbol_table
    >>> release = sq.PrefixPruning(k=2).apply(symbol_table(["ab", "ab", "c"]))
    >>> written = sq.write(release, tempfile.mkdtemp() + "/out")
    >>> verified = sq.verify(written)
    >>> verified.holds, verified.achieved
    (True, {'k': 2})
    """
    given: object = original  # Python lets anything through.
    if not isinstance(given, EventTable | Sequences | None):
        got = type(given).__name__
        msg = f"original must be an EventTable, got {got}; make one: EventTable(frame, Schema(person=...))"
        raise SchemaError(msg)
    folder = release_folder(path) if earlier else Path(path)
    if not (folder / CERTIFICATE).exists() and is_stream_folder(folder):
        return verify_stream(path, model=model, method=method, progress=progress)
    certificate, own_hash = read_certificate(folder)
    parts = [Part.read(each) for each in (*earlier, path)] if earlier else []
    if parts:
        check_numbers(parts)
    number = 1 if certificate.series is None else certificate.series.part

    def answer(findings: Sequence[object], verdict: Verdict | None = None) -> Verification:
        return Verification(
            holds=not findings,
            model=certificate.model,
            achieved=dict(verdict.achieved) if verdict is not None else {},
            violations=verdict.violations if verdict is not None and not verdict else len(findings),
            witnesses=tuple(findings),
            release=os.fspath(path),
            certificate_sha256=own_hash,
            compared=original is not None,
            parts=None
            if certificate.series is None
            else (number, number if parts or past is not None else 1),
        )

    hidden_parameters(certificate)
    table = original if isinstance(original, EventTable) else None
    if table is not None and PERSONS not in certificate.columns:
        # Records have the attributes of their persons among their own.
        table = original = table.with_attributes
    asked = model if model is None or table is None else model.about(table)
    differences = compare_claim(
        certificate,
        model=asked if asked is None or number == 1 else with_protected(asked, certificate),
        schema=None if table is None else table.histories.schema,
        places=table is not None and table.regions is not None,
        protected=None if table is None else table.histories.protected,
        method=method,
    )
    if differences:
        return answer([*check_files(folder, certificate.files), *differences])
    claimed = claimed_model(certificate, model)
    beside = find_pseudonyms(folder, pseudonyms)
    if claimed.needs_original:
        _refuse_incomplete(certificate, original, beside)

    progress(0.0, "hashing the files")
    findings = check_files(folder, certificate.files)
    if findings:
        return answer(findings)
    progress(0.2, "reading the tables")
    contents, findings = read_contents(folder, certificate, ours=ours, engine=engine)
    if contents is None:
        return answer(findings)
    findings = [] if table is None else compare_contents(folder, certificate, contents, table)
    if findings:
        return answer(findings)
    if isinstance(claimed, RecordModel):
        progress(0.6, "checking the claim")
        verdict = claimed.check_tables(contents.tables)
        progress(1.0, "checked")
        return answer(verdict.witnesses or compare_verdict(verdict, certificate), verdict)
    if original is not None:
        findings = _compare_persons(certificate, contents, original, beside)
    if findings:
        return answer(findings)
    progress(0.6, "checking the claim")
    if number > 1:
        joined, together = _judge_later(contents, certificate, parts, past, engine)
        progress(1.0, "checked")
        return answer(joined or check_names(contents.tables, certificate), together)
    names = check_names(contents.tables, certificate)
    coded = {name: code_labels(frame) for name, frame in contents.tables.items()}
    rebuilt = rebuild_table(coded, certificate, contents.hierarchies)
    # From here on there is no need of the text of all rows.
    del contents, coded
    verdict, disagreement = _check_claim(rebuilt, certificate, claimed, original, beside, engine)
    progress(1.0, "checked")
    return answer(verdict.witnesses if not verdict else [*disagreement, *names], verdict)


def _refuse_incomplete(certificate: Certificate, original: EventTable | None, beside: Path | None) -> None:
    """Raise `InputError` unless a claim that compares with the original has what it needs."""
    if original is None:
        msg = f"the claim {certificate.model} compares with the original; give it with --original"
        raise InputError(msg)
    if beside is None:
        msg = (
            f"the claim {certificate.model} compares persons with the original, and there is no {PSEUDONYMS} "
            "in internal/ beside the release; give it with --pseudonyms"
        )
        raise InputError(msg)


def _compare_persons(
    certificate: Certificate, contents: Contents, original: EventTable, beside: Path | None
) -> list[str]:
    """Return where the persons of the release are not those of the original."""
    findings: list[str] = []
    if beside is not None:
        later = certificate.series is not None and certificate.series.part > 1
        findings += check_pseudonyms(beside, contents.persons, original, later=later)
    n_persons = certificate.persons or 0
    if n_persons > original.n_persons:
        persons = counted(n_persons, "person", "persons")
        findings.append(
            f"{certificate.data_file(EVENTS)}: has {persons}, the original has {original.n_persons:,}"
        )
    return findings


def _check_claim(
    rebuilt: EventTable,
    certificate: Certificate,
    claimed: PrivacyModel,
    original: EventTable | None,
    beside: Path | None,
    engine: Engine | None,
) -> tuple[Verdict, list[str]]:
    """Return the verdict about the written tables, and where the certificate differs from it."""
    released: EventTable | Sequences = rebuilt
    compared: EventTable | Sequences = rebuilt
    if beside is not None and isinstance(original, EventTable):
        if original.owners is not None:
            compared = with_owners(read_pseudonyms(beside), rebuilt)
        elif claimed.needs_original:
            released = align_to_original(read_pseudonyms(beside), rebuilt, original)
    # The certificate tells what a recipient can count, so that is what its numbers are compared with.
    verdict = claimed.check(released, original=original if claimed.needs_original else None, engine=engine)
    disagreement = compare_verdict(verdict, certificate) if verdict else []
    if original is not None and not claimed.needs_original and rebuilt.schema.symbol is not None and verdict:
        # A promise about quasi-identifiers is about the release alone; one about symbols may compare.
        verdict = claimed.check(compared, original=original, engine=engine)
    return verdict, disagreement


def _judge_later(
    contents: Contents,
    certificate: Certificate,
    parts: Sequence[Part],
    past: Series | None,
    engine: Engine | None,
) -> tuple[Sequence[object], Verdict | None]:
    """Check the claim of a later part of a series on all parts together, as far as they are given."""
    if parts:
        return judge_parts(parts, engine)
    if past is None:
        return [], None
    if certificate.series != past.link:
        return [f"{CERTIFICATE}: continues another release"], None
    read = [(past.tables, past.hierarchies), (contents.as_text().tables, contents.hierarchies)]
    return judge_joined(certificate, read, engine)


def find_pseudonyms(folder: Path, named: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of pseudonyms: the one that is named, or the usual one if it exists."""
    if named is not None:
        return Path(named)
    usual = folder.resolve().parent / "internal" / PSEUDONYMS
    return usual if usual.is_file() else None
