"""Verify a release, or the parts of a series, by the files alone; read the parts as one release."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.engine import silent
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.labels import counted, listed
from sequester.privacy.model import RecordModel
from sequester.release.certificate import CERTIFICATE, rebuild_table
from sequester.release.fields import safe_repr
from sequester.release.folder import PSEUDONYMS, check_files, read_certificate
from sequester.release.open import Opened
from sequester.release.release import EVENTS, PERSON, PERSONS
from sequester.release.series import join_hierarchies, join_tables
from sequester.verification.claim import (
    NEEDS_PSEUDONYMS,
    Verification,
    claimed_model,
    compare_verdict,
    hidden_parameters,
    with_protected,
)
from sequester.verification.contents import Contents, read_release
from sequester.verification.original import (
    align_to_original,
    check_names,
    check_pseudonyms,
    compare_claim,
    compare_contents,
    read_pseudonyms,
    with_owners,
)
from sequester.verification.streams import is_stream_folder, verify_stream
from sequester.verification.tables import code_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.engine import Engine, Progress
    from sequester.privacy import PrivacyModel, Verdict
    from sequester.release.certificate import Certificate
    from sequester.release.series import Series


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
    _refuse_foreign(original)
    folder = release_folder(path) if earlier else Path(path)
    if not (folder / CERTIFICATE).exists() and is_stream_folder(folder):
        return verify_stream(path, model=model, method=method, progress=progress)
    certificate, own_hash = read_certificate(folder)
    parts = [Part.read(each) for each in (*earlier, path)] if earlier else []
    if parts:
        check_numbers(parts)
    if isinstance(original, EventTable) and PERSONS not in certificate.columns:
        # Records have the attributes of their persons among their own.
        original = original.with_attributes
    beside = find_pseudonyms(folder, pseudonyms)
    check = _Check(folder, certificate, original, model, method, beside, parts, past, ours, engine, progress)
    return check.result(os.fspath(path), own_hash)


def _refuse_foreign(original: object) -> None:
    """Raise `SchemaError` unless the original is a table; Python lets anything through."""
    if not isinstance(original, EventTable | Sequences | None):
        got = type(original).__name__
        msg = f"original must be an EventTable, got {got}; make one: EventTable(frame, Schema(person=...))"
        raise SchemaError(msg)


@dataclass(frozen=True, slots=True)
class _Check:
    """The check of one release folder, and what it is compared with; the fields are arguments of `verify`."""

    folder: Path
    certificate: Certificate
    original: EventTable | None
    model: PrivacyModel | None
    method: tuple[str, Mapping[str, object]] | None
    pseudonyms: Path | None
    parts: Sequence[Part]
    past: Series | None
    ours: bool
    engine: Engine | None
    progress: Progress

    def result(self, release: str, certificate_sha256: str) -> Verification:
        """Return what is found, and about which files."""
        findings, verdict = self._run()
        self.progress(1.0, "checked")
        number, is_joined = self._part, bool(self.parts) or self.past is not None
        is_nameless = self.original is not None and self.pseudonyms is None
        return Verification(
            holds=not findings,
            model=self.certificate.model,
            achieved=dict(verdict.achieved) if verdict is not None else {},
            violations=verdict.violations if verdict is not None and not verdict else len(findings),
            witnesses=tuple(findings),
            release=release,
            certificate_sha256=certificate_sha256,
            compared=self.original is not None,
            parts=None if self.certificate.series is None else (number, number if is_joined else 1),
            missing=(NEEDS_PSEUDONYMS,) if is_nameless and self.certificate.persons is not None else (),
        )

    @property
    def _part(self) -> int:
        """The number of the part, of a series; 1 without one."""
        return 1 if self.certificate.series is None else self.certificate.series.part

    def _run(self) -> tuple[Sequence[object], Verdict | None]:
        """Return what speaks against the release, and the verdict where the files were fit to be counted."""
        certificate = self.certificate
        hidden_parameters(certificate)
        differences = self._compare_claim()
        if differences:
            return [*check_files(self.folder, certificate.files), *differences], None
        claimed = claimed_model(certificate, self.model)
        self._refuse_incomplete(claimed)
        contents, findings = self._read(claimed)
        if contents is None:
            return findings, None
        self.progress(0.6, "checking the claim")
        if isinstance(claimed, RecordModel):
            verdict = claimed.check_tables(contents.tables)
            return verdict.witnesses or compare_verdict(verdict, certificate), verdict
        if self._part > 1:
            joined, together = self._judge_later(contents)
            return joined or check_names(contents.tables, certificate), together
        names = check_names(contents.tables, certificate)
        coded = {name: code_labels(frame) for name, frame in contents.tables.items()}
        rebuilt = rebuild_table(coded, certificate, contents.hierarchies)
        # From here on there is no need of the text of all rows.
        del contents, coded
        verdict, disagreement = self._check_claim(rebuilt, claimed)
        return verdict.witnesses if not verdict else [*disagreement, *names], verdict

    def _read(self, claimed: PrivacyModel) -> tuple[Contents | None, list[str]]:
        """Return the contents of the files, or what is wrong with them, also beside the original."""
        self.progress(0.0, "hashing the files")
        findings = check_files(self.folder, self.certificate.files)
        if findings:
            return None, findings
        self.progress(0.2, "reading the tables")
        contents, findings = read_release(self.folder, self.certificate, ours=self.ours, engine=self.engine)
        if contents is None or self.original is None:
            return contents, findings
        if isinstance(self.original, EventTable):
            findings = compare_contents(self.folder, self.certificate, contents, self.original)
        if not findings and not isinstance(claimed, RecordModel):
            findings = self._compare_persons(contents, self.original)
        return (None, findings) if findings else (contents, [])

    def _compare_claim(self) -> list[str]:
        """Return where the certificate is not what was asked for."""
        table = self.original if isinstance(self.original, EventTable) else None
        asked = self.model if self.model is None or table is None else self.model.about(table)
        return compare_claim(
            self.certificate,
            model=asked if asked is None or self._part == 1 else with_protected(asked, self.certificate),
            schema=None if table is None else table.histories.schema,
            places=table is not None and table.regions is not None,
            protected=None if table is None else table.histories.protected,
            method=self.method,
        )

    def _refuse_incomplete(self, claimed: PrivacyModel) -> None:
        """Raise `InputError` unless a claim that compares with the original has what it needs."""
        model = self.certificate.model
        if claimed.needs_original and self.original is None:
            msg = f"the claim {model} compares with the original; give it with --original"
            raise InputError(msg)
        if claimed.needs_original and self.pseudonyms is None:
            msg = (
                f"the claim {model} compares persons with the original, and there is no {PSEUDONYMS} "
                "in internal/ beside the release; give it with --pseudonyms"
            )
            raise InputError(msg)

    def _compare_persons(self, contents: Contents, original: EventTable) -> list[str]:
        """Return where the persons of the release are not those of the original."""
        findings: list[str] = []
        if self.pseudonyms is not None:
            findings += check_pseudonyms(self.pseudonyms, contents.persons, original, later=self._part > 1)
        n_persons = self.certificate.persons or 0
        if n_persons > original.n_persons:
            persons = counted(n_persons, "person", "persons")
            file = self.certificate.data_file(EVENTS)
            findings.append(f"{file}: has {persons}, the original has {original.n_persons:,}")
        return findings

    def _judge_later(self, contents: Contents) -> tuple[Sequence[object], Verdict | None]:
        """Check the claim of a later part of a series on all parts together, as far as they are given."""
        if self.parts:
            return judge_parts(self.parts, self.engine)
        if self.past is None:
            return compare_verdict(None, self.certificate), None
        if self.certificate.series != self.past.link:
            return [f"{CERTIFICATE}: continues another release"], None
        past = Contents(self.past.tables, self.past.hierarchies)
        return judge_joined(self.certificate, [past, contents.as_text()], self.engine)

    def _check_claim(self, rebuilt: EventTable, claimed: PrivacyModel) -> tuple[Verdict, list[str]]:
        """Return the verdict about the written tables, and where the certificate differs from it."""
        original, engine = self.original, self.engine
        released: EventTable | Sequences = rebuilt
        compared: EventTable | Sequences = rebuilt
        if self.pseudonyms is not None and isinstance(original, EventTable):
            if original.owners is not None:
                compared = with_owners(read_pseudonyms(self.pseudonyms), rebuilt)
            elif claimed.needs_original:
                released = align_to_original(read_pseudonyms(self.pseudonyms), rebuilt, original)
        # The certificate tells what a recipient can count, so that is what its numbers are compared with.
        verdict = claimed.check(
            released, original=original if claimed.needs_original else None, engine=engine
        )
        disagreement = compare_verdict(verdict, self.certificate) if verdict else []
        has_symbol = rebuilt.schema.symbol is not None
        if original is not None and not claimed.needs_original and has_symbol and verdict:
            # A promise about quasi-identifiers is about the release alone; one about symbols may compare.
            verdict = claimed.check(compared, original=original, engine=engine)
        return verdict, disagreement


def find_pseudonyms(folder: Path, named: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of pseudonyms: the one that is named, or the usual one if it exists."""
    if named is not None:
        return Path(named)
    usual = folder.resolve().parent / "internal" / PSEUDONYMS
    return usual if usual.is_file() else None


def release_folder(path: str | os.PathLike[str]) -> Path:
    """Return the release folder: the one given, or ``release`` in it."""
    folder = Path(path)
    inner = folder / "release"
    return inner if not (folder / CERTIFICATE).exists() and (inner / CERTIFICATE).exists() else folder


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a series, as its files have it."""

    name: str
    """The folder, as it was given."""
    certificate: Certificate
    """Its certificate."""
    certificate_sha256: str
    """The certificate's own hash."""
    contents: Contents | None
    """Its tables and hierarchies; None where the files are not as certified."""
    findings: tuple[str, ...] = ()
    """What is wrong with its files."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Part:
        """Read a part, and compare its files with its certificate."""
        folder = release_folder(path)
        certificate, own_hash = read_certificate(folder)
        contents, findings = None, check_files(folder, certificate.files)
        if not findings:
            contents, findings = read_release(folder, certificate)
        texts = None if contents is None else contents.as_text()
        return cls(str(path), certificate, own_hash, texts, tuple(f"{path}: {line}" for line in findings))


def check_numbers(parts: Sequence[Part]) -> None:
    """Refuse parts that are of no series, are missing, or are not in their order.

    Raises
    ------
    InputError
        With the reason.
    """
    strange = [part.name for part in parts if part.certificate.series is None]
    if strange:
        msg = f"{strange[0]} is not part of a series: its certificate names none"
        raise InputError(msg)
    numbers = [0 if part.certificate.series is None else part.certificate.series.part for part in parts]
    expected = list(range(1, max(numbers) + 1))
    if missing := [number for number in expected if number not in numbers]:
        which = f"part {missing[0]}" if len(missing) == 1 else f"parts {', '.join(map(str, missing))}"
        msg = f"{which} of the series missing: all parts before part {max(numbers)} are needed"
        raise InputError(msg)
    if numbers != expected:
        order = ", ".join(
            f"{part.name} is part {number}" for part, number in zip(parts, numbers, strict=True)
        )
        msg = f"the parts of a series must be given from the first to the last, each once: {order}"
        raise InputError(msg)


def check_chain(parts: Sequence[Part]) -> list[str]:
    """Find parts that do not continue the one before, or that promise something else."""
    findings = []
    for before, part in pairwise(parts):
        link = part.certificate.series
        if link is None or link.continues != before.certificate_sha256:
            findings.append(
                f"{part.name}: does not continue {before.name}: that is of another series, or its "
                "certificate was changed"
            )
            continue
        here, there = _promise(part.certificate), _promise(before.certificate)
        findings += [
            f"{part.name}: its {name} is not that of {before.name}"
            for name in here
            if here[name] != there[name]
        ]
        lost = _protected(before.certificate) - _protected(part.certificate)
        findings += [
            f"{part.name}: protects {safe_repr(value)} no more, and {before.name} does"
            for value in sorted(lost)
        ]
    return findings


def _promise(certificate: Certificate) -> dict[str, object]:
    """Return what all parts of a series have in common."""
    own = {name: value for name, value in certificate.claim.items() if name != "protect"}
    return {"method": certificate.method, "claim": (certificate.model, own), "columns": certificate.columns}


def _protected(certificate: Certificate) -> set[tuple[str, str]]:
    protect = certificate.claim.get("protect", {})
    pairs = protect.items() if isinstance(protect, dict) else ()
    return {(str(name), str(label)) for name, labels in pairs for label in labels}


def join_contents(parts: Sequence[Contents]) -> tuple[Contents, list[str]]:
    """Return the accumulated tables and hierarchies, and why the parts do not fit together."""
    tables = join_tables([part.tables for part in parts])
    try:
        hierarchies = join_hierarchies([part.hierarchies for part in parts])
    except InputError as error:
        return Contents(tables, {}), list(error.lines)
    findings = []
    if PERSONS in tables:
        names = tables[PERSONS][PERSON]
        twice = names.filter(names.is_duplicated()).unique().sort()
        if len(twice):
            findings.append(f"{PERSONS}: {listed(twice.to_list())} have attributes in several parts")
        strangers = tables[EVENTS].filter(~pl.col(PERSON).is_in(names.implode()))[PERSON].unique().sort()
        if len(strangers):
            findings.append(f"{PERSONS}: {listed(strangers.to_list())} have events, and attributes nowhere")
    return Contents(tables, hierarchies), findings


def judge_parts(
    parts: Sequence[Part], engine: Engine | None = None
) -> tuple[Sequence[object], Verdict | None]:
    """Check the parts, the chain, and the claim of every part on all parts up to it, and its names."""
    wrong = [line for part in parts for line in part.findings] or check_chain(parts)
    if wrong:
        return wrong, None
    verdict = None
    for last, part in enumerate(parts, start=1):
        read = [each.contents for each in parts[:last] if each.contents is not None]
        findings, verdict = judge_joined(part.certificate, read, engine)
        findings = findings or check_names(read[-1].tables, part.certificate)
        if findings:
            named = [f"{part.name}: {line}" if isinstance(line, str) else line for line in findings]
            return named, verdict
    return [], verdict


def judge_joined(
    certificate: Certificate, read: Sequence[Contents], engine: Engine | None = None
) -> tuple[Sequence[object], Verdict | None]:
    """Check the claim of the last part on the tables and hierarchies of all parts."""
    joined, findings = join_contents(read)
    if findings:
        return findings, None
    table = rebuild_table(joined.tables, certificate, joined.hierarchies)
    verdict = claimed_model(certificate).check(table, engine=engine)
    return verdict.witnesses if not verdict else compare_verdict(verdict, certificate), verdict


def open_parts(*paths: str | os.PathLike[str]) -> Opened:
    """Read a release folder, or the parts of a series, after checking the files against the certificates.

    The claim itself is checked by `sequester.verify`, which takes longer.

    Parameters
    ----------
    paths
        The release folder; of a series, all parts from the first to the last. Their events are joined by
        pseudonym, in the order of the parts.

    Returns
    -------
    Opened
        The released tables, hierarchies and certificate, with estimates of counts. Of a series, the
        accumulated tables, and the certificate of the last part.

    Raises
    ------
    InputError
        If a folder is no release, a file is not as certified, or the parts do not follow each other.

    Examples
    --------
    >>> import tempfile
    >>> import sequester as sq
    >>> from sequester.testing import symbol_table
    >>> release = sq.PrefixPruning(k=2).apply(symbol_table(["ab", "ab", "c"]))
    >>> written = sq.write(release, tempfile.mkdtemp() + "/out")
    >>> sq.open(written).frame.height
    4
    """
    parts = [Part.read(path) for path in paths]
    findings = [line for part in parts for line in part.findings]
    if findings:
        raise InputError(*findings)
    read = [part.contents for part in parts if part.contents is not None]
    contents = read[-1]
    if len(parts) > 1:
        check_numbers(parts)
        contents, unfit = join_contents(read)
        if findings := [*check_chain(parts), *unfit]:
            raise InputError(*findings)
    return Opened(contents.frame, contents.hierarchies, parts[-1].certificate, contents.tables)
