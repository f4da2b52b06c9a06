"""The parts of a series: whether they are what they say, follow each other, and fit together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.labels import listed
from sequester.release.certificate import CERTIFICATE, rebuild_table
from sequester.release.fields import safe_repr
from sequester.release.folder import check_files, read_certificate
from sequester.release.open import Opened
from sequester.release.release import EVENTS, PERSON, PERSONS
from sequester.release.series import join_hierarchies, join_tables
from sequester.verification.claim import claimed_model, compare_verdict
from sequester.verification.contents import Contents, read_contents
from sequester.verification.contents import open as open_one

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from sequester.engine import Engine
    from sequester.privacy import Verdict
    from sequester.release.certificate import Certificate


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
            contents, findings = read_contents(folder, certificate)
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
    """Check the parts, the chain, and the claim of every part on all parts up to it."""
    wrong = [line for part in parts for line in part.findings] or check_chain(parts)
    if wrong:
        return wrong, None
    verdict = None
    for last, part in enumerate(parts, start=1):
        read = [each.contents for each in parts[:last] if each.contents is not None]
        findings, verdict = judge_joined(part.certificate, read, engine)
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
    if len(paths) == 1:
        return open_one(paths[0])
    parts = [Part.read(path) for path in paths]
    findings = [line for part in parts for line in part.findings]
    if findings:
        raise InputError(*findings)
    check_numbers(parts)
    findings = check_chain(parts)
    joined, unfit = join_contents([part.contents for part in parts if part.contents is not None])
    if findings or unfit:
        raise InputError(*findings, *unfit)
    return Opened(joined.frame, joined.hierarchies, parts[-1].certificate, joined.tables)
