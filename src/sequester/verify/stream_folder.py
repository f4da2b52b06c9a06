"""A folder of published snapshots: each has its certificate, and no file is without one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.io.trial import trial
from sequester.privacy.model import RecordModel
from sequester.release.fields import bare
from sequester.verify.claim import claimed_model
from sequester.verify.contents import read_contents
from sequester.verify.disagreement import disagreements
from sequester.verify.files import hash_file, list_files, read_certificate_file
from sequester.verify.original import compare_claim
from sequester.verify.verification import Verification

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.schema import Schema
    from sequester.engine import Progress
    from sequester.privacy import PrivacyModel, Verdict
    from sequester.release.certificate import Certificate

ENDING = ".certificate.json"
"""How the certificate of a snapshot ends; before it stands what its files are called."""
_MEMORY = 16 * 2**30


def is_stream_folder(folder: Path) -> bool:
    """Tell whether a folder has certificates of snapshots."""
    return folder.is_dir() and any(path.name.endswith(ENDING) for path in folder.iterdir())


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
    stems = [name.removesuffix(ENDING) for name in names if name.endswith(ENDING)]
    certificates = {stem: read_certificate_file(folder / f"{stem}{ENDING}")[0] for stem in stems}
    models = sorted({each.model for each in certificates.values()})
    listed = {name for each in certificates.values() for name in each.files}
    findings: list[object] = [
        f"{bare(name)}: is not listed in a certificate"
        + (" (a stream is writing, or was stopped: let it go on first)" if name.startswith(".") else "")
        for name in names
        if name not in listed and not name.endswith(ENDING)
    ]
    missing = sorted(listed - set(names))
    if missing:
        raise InputError(*(f"the release is incomplete: {bare(name)} is missing" for name in missing))
    parquet = [folder / name for name in sorted(listed) if name.endswith(".parquet")]
    with trial(parquet, "Parquet", most_memory=_MEMORY) as answers:
        unreadable = [each.name for each, answer in zip(parquet, answers(), strict=True) if answer]
    if unreadable:
        raise InputError(*(f"{bare(name)} is not readable as Parquet" for name in unreadable))
    achieved: dict[str, float] = {}
    violations = len(findings)
    for place, (stem, certificate) in enumerate(certificates.items()):
        progress(place / len(certificates), f"checking {bare(stem)}")
        differences = compare_claim(certificate, model=model, schema=schema, method=method)
        found, verdict = (differences, None) if differences else _check(folder, stem, certificate)
        findings += [f"{bare(stem)}: {each}" for each in found]
        violations += verdict.violations if verdict is not None and not verdict else len(found)
        for name, value in verdict.achieved.items() if verdict is not None else ():
            achieved[name] = min(value, achieved.get(name, value))
    if not findings:
        findings += _differences(certificates)
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


def _differences(certificates: Mapping[str, Certificate]) -> list[str]:
    """Name the snapshots that do not claim what the first one does: a promise is about all of them."""
    first, *others = certificates.items()
    return [
        f"{bare(stem)}: its {what} is not that of {bare(first[0])}"
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
        return [f"its certificate lists {bare(foreign[0])}, which is not its own"], None
    changed = [name for name, told in certificate.files.items() if hash_file(folder / name) != told]
    if changed:
        reason = "is not the file that was certified: its hash differs"
        return [f"{bare(name)} {reason}" for name in changed], None
    model = claimed_model(certificate)
    if not isinstance(model, RecordModel):
        return [f"its certificate claims {certificate.model}, which is not about records"], None
    contents, findings = read_contents(folder, certificate, stem=stem, ours=True)
    if contents is None:
        return findings, None
    verdict = model.check_tables(contents.tables)
    return verdict.witnesses or disagreements(verdict, certificate), verdict
