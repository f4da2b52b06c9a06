"""Verify a folder of published snapshots by its files, and make its page from its certificates alone."""

from __future__ import annotations

import os
import re
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sequester._repr import number
from sequester._version import __version__
from sequester.errors import InputError
from sequester.hierarchies.labels import as_number
from sequester.privacy.l_diversity import TIME
from sequester.privacy.model import RecordModel
from sequester.release.fields import safe_repr, safe_text
from sequester.release.folder import hash_file, list_files, read_certificate_file
from sequester.verification.claim import STREAM_ALONE, Verification, claimed_model, compare_verdict
from sequester.verification.contents import SNAPSHOTS, read_release
from sequester.verification.original import compare_claim
from sequester.verification.tables import FIXED_MEMORY, refuse_undecodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sequester.data.schema import Schema
    from sequester.engine import Progress
    from sequester.privacy import PrivacyModel, Verdict
    from sequester.release.certificate import Certificate

T = TypeVar("T")
ENDING = ".certificate.json"
"""How the certificate of a snapshot ends; before it stands what its files are called."""


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
    parquet = [name for name in sorted(listed) if name.endswith(".parquet")]
    refuse_undecodable(folder, parquet, 2 * FIXED_MEMORY)
    achieved: dict[str, float] = {}
    violations = len(findings)
    times: dict[str, str] = {}
    for place, (stem, certificate) in enumerate(certificates.items()):
        progress(place / len(certificates), f"checking {safe_text(stem)}")
        differences = compare_claim(certificate, model=model, schema=schema, method=method)
        found, verdict = (differences, None) if differences else _check(folder, stem, certificate, times)
        findings += [f"{safe_text(stem)}: {each}" for each in found]
        violations += verdict.violations if verdict is not None and not verdict else len(found)
        for name, value in verdict.achieved.items() if verdict is not None else ():
            achieved[name] = min(value, achieved.get(name, value))
    if not findings:
        findings += _differences(certificates) or _check_times(times, certificates)
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
        missing=() if schema is None else (STREAM_ALONE,),
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


def _check_times(times: Mapping[str, str], certificates: Mapping[str, Certificate]) -> list[str]:
    """Find snapshots whose time is not after that of the file before, or not a day, week or month as others.

    Times may also be an order, which is any number or text: a time alone can carry anything.
    """
    unit = str(next(iter(certificates.values())).parameters.get("snapshot"))
    form = SNAPSHOTS.get(unit)
    named = [stem for stem, time in times.items() if form is not None and re.fullmatch(form, time)]
    if named and len(named) < len(times):
        strange = next(stem for stem in times if stem not in named)
        return [f"{safe_text(strange)}: {TIME} must be a {unit}, and is {safe_repr(times[strange])}"]
    findings = []
    for (before, one), (stem, other) in pairwise(in_time_order(times)):
        numbers = as_number(one), as_number(other)
        is_later = other > one if None in numbers else numbers[1] > numbers[0]  # type: ignore[operator]
        if not is_later:
            findings.append(
                f"{safe_text(stem)}: its {TIME} {safe_repr(other)} is not after {safe_repr(one)}, which is "
                f"that of {safe_text(before)}"
            )
    return findings


def _check(
    folder: Path, stem: str, certificate: Certificate, times: dict[str, str]
) -> tuple[Sequence[object], Verdict | None]:
    """Return what speaks against a snapshot, and its verdict; note its time, where it has records."""
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
    contents, findings = read_release(folder, certificate, stem=stem, ours=True)
    if contents is None:
        return findings, None
    own = contents.frame[TIME].unique(maintain_order=True).to_list()
    if len(own) > 1:
        return [f"has records of {len(own):,} snapshots, such as {safe_repr(own[1])}; a file has one"], None
    if own:
        times[stem] = own[0]
    verdict = model.check_tables(contents.tables)
    return verdict.witnesses or compare_verdict(verdict, certificate), verdict


PAGE = "report.html"
"""The page, in the folder of the published snapshots."""
_STYLE = (
    ":root{color-scheme:light dark}body{font:1em/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;"
    "padding:0 1em}table{border-collapse:collapse}td,th{text-align:left;padding:.2em 1em .2em 0;"
    "border-bottom:1px solid #8886;vertical-align:top;overflow-wrap:anywhere}"
)
_CHECK = (
    "pip install sequester, then sequester verify on this folder. It reads nothing but the files: hashes, "
    "tables, and the promise, snapshot by snapshot. This page is compared with the certificates, too."
)
_READ = (
    "A record is published in its own snapshot or a later one within the window, and some never: read counts "
    "over several snapshots. Where records and values are two tables, the group joins them within a snapshot."
)


def stream_page(certificates: Mapping[str, tuple[Certificate, str]]) -> bytes:
    """Return the page of published snapshots; each has its certificate and the hash of that."""
    ordered = in_time_order(certificates)
    last, _ = ordered[-1][1]
    about = last.about
    roles = {column: role for table in last.columns.values() for column, role in table.items()}
    title = about.title or "Published snapshots"
    parts = [
        _tag("h1", title),
        *([_tag("p", about.description)] if about.description else []),
        _table((), about.rows()),
        _tag("h2", "What is promised"),
        _tag("p", claimed_model(last).in_words()),
        _tag("h2", "Snapshots, in the order of time"),
        _table(
            ("snapshot", "records", "reached", "certificate"),
            (
                (
                    stem,
                    number(each.events),
                    ", ".join(f"{name} = {number(value)}" for name, value in each.achieved.items()),
                    digest,
                )
                for stem, (each, digest) in ordered
            ),
        ),
        _tag("h2", "How to read it"),
        _tag("p", _READ),
        _table(
            ("column", "role", "meaning"),
            ((name, role, about.columns.get(name, "")) for name, role in roles.items()),
        ),
        _tag("h2", "How to check it"),
        _tag("p", _CHECK),
        _tag("h2", "What is not promised"),
        "<ul>" + "".join(_tag("li", limit) for limit in last.limits) + "</ul>",
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><style>{_STYLE}</style>'
    return "\n".join([head, _tag("title", title), *parts, "</html>", ""]).encode()


def in_time_order(snapshots: Mapping[str, T]) -> list[tuple[str, T]]:
    """Return snapshots as their files were taken: by name, which is the order of time.

    Examples
    --------
    >>> [stem for stem, _ in in_time_order({"a": ..., "a-1": ...})]  # a-1.csv comes before a.csv
    ['a-1', 'a']
    """
    return sorted(snapshots.items(), key=lambda each: f"{each[0]}.")


def _tag(name: str, text: str) -> str:
    # Names of files and columns are data: nothing that is not seen goes into the page.
    seen = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"<{name}>{escape(seen)}</{name}>"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["".join(_tag("th", each) for each in header)] if header else []
    lines += ["".join(_tag("td", each) for each in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>" if lines else ""
