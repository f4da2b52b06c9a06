"""Compare the event logs and the MEDS dataset of a release with its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import polars as pl

from sequester.errors import InputError
from sequester.io.parquet import refuse_unreadable
from sequester.release.fields import safe_repr, safe_text
from sequester.release.files import LogFormat, expected_log, read_log, unsupported_reason, write_log
from sequester.release.meds import MEDS_FILES, meds_files, without_writer
from sequester.release.release import EVENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from sequester.release.certificate import Certificate


def check_event_logs(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare each event log that the certificate lists with the released table."""
    findings = []
    for form in get_args(LogFormat):
        path = folder / f"events.{form}"
        if path.name not in files:
            continue
        reason = unsupported_reason(frame, form)
        if reason is not None:
            findings.append(f"{path.name}: does not belong here: {safe_text(reason)}")
            continue
        contents = path.read_bytes()
        if contents == write_log(frame, form):
            continue
        try:
            found = read_log(contents, path.name, form)
        except (InputError, OSError) as error:
            msg = f"{path.name} is not readable: {safe_text(str(error).removeprefix(f'{path.name}: '))}"
            raise InputError(msg) from None
        findings += _compare(found, expected_log(frame, form), path.name) or [
            f"{path.name}: has the events of events.parquet, and is not written as a release is"
        ]
    return findings


def check_meds(
    folder: Path,
    certificate: Certificate,
    tables: Mapping[str, pl.DataFrame],
    hierarchies: Mapping[str, pl.DataFrame],
) -> list[str]:
    """Compare the MEDS dataset, where the certificate lists one, with what the tables make it."""
    listed = [name for name in MEDS_FILES if name in certificate.files]
    if not listed:
        return []
    reason = unsupported_reason(tables[EVENTS], "meds")
    if reason is not None:
        return [f"{listed[0]}: does not belong here: {safe_text(reason)}"]
    if len(listed) < len(MEDS_FILES):
        absent = next(name for name in MEDS_FILES if name not in listed)
        msg = f"the release is incomplete: the certificate lists no {absent}"
        raise InputError(msg)
    expected = meds_files(tables, hierarchies, title=certificate.about.title, version=certificate.version)
    findings = []
    for name, contents in expected.items():
        found = (folder / name).read_bytes()
        if without_writer(found) == without_writer(contents):
            continue
        differs = []
        if name.endswith(".parquet"):
            refuse_unreadable([folder / name], "Parquet")
            try:
                differs = _compare(pl.read_parquet(found), pl.read_parquet(contents), name, "the tables")
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                msg = f"{name} is not readable as Parquet"
                raise InputError(msg) from error
        findings += differs or [f"{name}: is not written as a release is: it carries something else"]
    return findings


def _compare(
    found: pl.DataFrame, expected: pl.DataFrame, name: str, other: str = "events.parquet"
) -> list[str]:
    pair = f"{name} and {other} differ"
    if set(found.columns) != set(expected.columns):
        return [
            f"{pair}: attributes {safe_repr(sorted(found.columns))} and {safe_repr(sorted(expected.columns))}"
        ]
    if found.height != expected.height:
        return [f"{pair}: {found.height:,} and {expected.height:,} events"]
    findings = []
    for column in expected.columns:
        rows = found[column].ne_missing(expected[column]).arg_true()
        if len(rows):
            findings.append(
                f"{pair}: {len(rows):,} values of {safe_repr(column)}, the first in event {rows[0] + 1:,}, "
                f"{safe_repr(found[column][rows[0]])} and {safe_repr(expected[column][rows[0]])}"
            )
    return findings
