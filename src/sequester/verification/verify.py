"""Verify a release folder, or a folder of snapshots, by its files alone."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sequester._repr import Card
from sequester._version import __version__
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.engine import silent
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.labels import counted
from sequester.io.parquet import try_decode
from sequester.privacy.model import RecordModel, spelled
from sequester.release.certificate import CERTIFICATE, rebuild_table
from sequester.release.fields import safe_text
from sequester.release.folder import (
    PSEUDONYMS,
    check_files,
    hash_file,
    list_files,
    read_certificate,
    read_certificate_file,
)
from sequester.release.release import EVENTS, PERSONS
from sequester.verification.claim import (
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
from sequester.verification.stream_page import PAGE, stream_page
from sequester.verification.tables import code_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.schema import Schema
    from sequester.engine import Engine, Progress
    from sequester.privacy import PrivacyModel, Verdict
    from sequester.release.certificate import Certificate
    from sequester.release.series import Series
    from sequester.verification.contents import Contents


_NEEDS_ORIGINAL = (
    "Not checked without --original: whether roles of columns, protected values and parameters are those "
    "that were asked for, whether released values are of the original, and whether persons are distinct."
)


def _needs_parts(part: int) -> str:
    """Return what a later part of a series alone does not show."""
    return (
        f"Not checked without --with: this is part {part} of a series, and its promise is about all parts "
        "together; whether it continues them, fits them and keeps the promise with them."
    )


_NEVER_CHECKED = (
    "Not checked by any means: the words of report.html and of limits, the information loss, and whose a "
    "value is."
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the files of a release keep its promise, and what speaks against it.

    Examples
    --------
    >>> found = Verification(
    ...     holds=False,
    ...     model="SequenceKAnonymity",
    ...     achieved={"k": 1},
    ...     violations=1,
    ...     witnesses=(("news", "sports"),),
    ...     release="out/release",
    ... )
    >>> bool(found)
    False
    >>> found.lines
    ('news → sports',)
    """

    holds: bool
    """The files are as certified, and keep the promise."""
    model: str
    """The promise, by the name of its class."""
    achieved: Mapping[str, float]
    """Parameter to the best value that holds; empty where the files were not fit to be counted."""
    violations: int
    """How many speak against the release, witnesses included."""
    witnesses: tuple[object, ...]
    """What speaks against it: a line that names a file, or labels that break the promise, shortest first."""
    release: str
    """The folder, as it was given."""
    certificate_sha256: str = field(default="", repr=False)
    """The certificate's own hash, to compare with the one that came by another way."""

    compared: bool = field(default=False, repr=False)
    """The original was at hand."""
    parts: tuple[int, int] | None = field(default=None, repr=False)
    """Of a series, the number of the part, and how many parts were checked together; None without series."""

    def __bool__(self) -> bool:
        return self.holds

    @property
    def lines(self) -> tuple[str, ...]:
        """The witnesses as one line each, without characters that could disturb a terminal."""
        return tuple(_line(witness) for witness in self.witnesses)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What this check could not see, in a line each."""
        missing = self.parts is not None and self.parts[1] < self.parts[0]
        return (
            *([_needs_parts(self.parts[0])] if self.parts is not None and missing else []),
            *(() if self.compared else (_NEEDS_ORIGINAL,)),
            _NEVER_CHECKED,
        )

    def _repr_html_(self) -> str:
        """Return the result for a notebook."""
        more = self.violations - len(self.witnesses)
        return Card(
            title=f"{self.model} {'holds' if self.holds else 'does not hold'}, checked from the files",
            good=self.holds,
            facts=(
                ("release", self.release),
                *((name, f"{value:.4g}") for name, value in self.achieved.items()),
                ("certificate", self.certificate_sha256),
            ),
            remarks=(*self.lines, *((f"and {more:,} more",) if more > 0 else ())),
        ).html()

    def to_json(self) -> dict[str, object]:
        """Return the document that ``verify --json`` prints."""
        return {
            "holds": self.holds,
            "model": self.model,
            "achieved": dict(self.achieved),
            "violations": self.violations,
            "witnesses": list(self.lines),
            "release": self.release,
            "certificate_sha256": self.certificate_sha256,
            "not_checked": list(self.not_checked),
        }


def _line(witness: object) -> str:
    text = spelled(witness)
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


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


ENDING = ".certificate.json"
"""How the certificate of a snapshot ends; before it stands what its files are called."""
_MEMORY = 16 * 2**30


def is_stream_folder(folder: Path) -> bool:
    """Return whether a folder has certificates of snapshots."""
    return folder.is_dir() and any(path.name.endswith(ENDING) for path in folder.iterdir())


def read_certificates(folder: Path) -> dict[str, tuple[Certificate, str]]:
    """Return the certificate of each snapshot, by what its files begin with, and its own hash."""
    names = [name for name in list_files(folder) if name.endswith(ENDING)]
    return {name.removesuffix(ENDING): read_certificate_file(folder / name) for name in names}


def verify_stream(
    path: str | os.PathLike[str],
    *,
    model: PrivacyModel | None = None,
    method: tuple[str, Mapping[str, object]] | None = None,
    schema: Schema | None = None,
    progress: Progress,
) -> Verification:
    """Check every published snapshot of a folder, as `verify` checks a release.

    Each certificate is compared with the `model`, the `method` and the roles that were asked for, as far as
    they are given.

    ``achieved`` is the smallest of what the snapshots achieve. All snapshots make the same claim.
    """
    folder = Path(path)
    names = list_files(folder)
    read = read_certificates(folder)
    certificates = {stem: certificate for stem, (certificate, _) in read.items()}
    models = sorted({each.model for each in certificates.values()})
    listed = {name for each in certificates.values() for name in each.files}
    findings: list[object] = [
        f"{safe_text(name)}: is not listed in a certificate"
        + (" (a stream is writing, or was stopped: let it go on first)" if name.startswith(".") else "")
        for name in names
        if name not in {*listed, PAGE} and not name.endswith(ENDING)
    ]
    missing = sorted(listed - set(names))
    if missing:
        raise InputError(*(f"the release is incomplete: {safe_text(name)} is missing" for name in missing))
    parquet = [folder / name for name in sorted(listed) if name.endswith(".parquet")]
    with try_decode(parquet, "Parquet", most_memory=_MEMORY) as answers:
        unreadable = [each.name for each, answer in zip(parquet, answers(), strict=True) if answer]
    if unreadable:
        raise InputError(*(f"{safe_text(name)} is not readable as Parquet" for name in unreadable))
    achieved: dict[str, float] = {}
    violations = len(findings)
    for place, (stem, certificate) in enumerate(certificates.items()):
        progress(place / len(certificates), f"checking {safe_text(stem)}")
        differences = compare_claim(certificate, model=model, schema=schema, method=method)
        found, verdict = (differences, None) if differences else _check(folder, stem, certificate)
        findings += [f"{safe_text(stem)}: {each}" for each in found]
        violations += verdict.violations if verdict is not None and not verdict else len(found)
        for name, value in verdict.achieved.items() if verdict is not None else ():
            achieved[name] = min(value, achieved.get(name, value))
    if not findings:
        findings += _differences(certificates)
        if PAGE in names and not findings:
            findings += _check_page(folder / PAGE, read)
        violations = len(findings)
    progress(1.0, "checked")
    return Verification(
        holds=not findings,
        model=", ".join(models),
        achieved=achieved,
        violations=violations,
        witnesses=tuple(findings),
        release=os.fspath(path),
        compared=schema is not None,
    )


def _check_page(path: Path, read: Mapping[str, tuple[Certificate, str]]) -> list[str]:
    """Compare the page with the one that the certificates make; another version words it otherwise."""
    if any(certificate.version != __version__ for certificate, _ in read.values()):
        return []
    if path.stat().st_size == len(page := stream_page(read)) and path.read_bytes() == page:
        return []
    return [f"{PAGE}: is not the page of these certificates: let the stream go on, which writes it again"]


def _differences(certificates: Mapping[str, Certificate]) -> list[str]:
    """Return the snapshots that do not claim what the first one does: a promise is about all of them."""
    first, *others = certificates.items()
    return [
        f"{safe_text(stem)}: its {what} is not that of {safe_text(first[0])}"
        for stem, certificate in others
        for what, of in (
            ("method", lambda each: (each.method, dict(each.parameters))),
            ("claim", lambda each: (each.model, dict(each.claim), each.columns)),
        )
        if of(certificate) != of(first[1])
    ]


def _check(folder: Path, stem: str, certificate: Certificate) -> tuple[Sequence[object], Verdict | None]:
    foreign = [name for name in certificate.files if not name.startswith(f"{stem}.")]
    if foreign:
        return [f"its certificate lists {safe_text(foreign[0])}, which is not its own"], None
    changed = [name for name, stated in certificate.files.items() if hash_file(folder / name) != stated]
    if changed:
        reason = "is not the certified file: its hash differs"
        return [f"{safe_text(name)} {reason}" for name in changed], None
    model = claimed_model(certificate)
    if not isinstance(model, RecordModel):
        return [f"its certificate claims {certificate.model}, which is not about records"], None
    contents, findings = read_contents(folder, certificate, stem=stem, ours=True)
    if contents is None:
        return findings, None
    verdict = model.check_tables(contents.tables)
    return verdict.witnesses or compare_verdict(verdict, certificate), verdict
