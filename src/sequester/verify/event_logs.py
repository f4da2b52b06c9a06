"""The event log beside the tables: it says what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from sequester.errors import InputError
from sequester.release.event_log import LogFormat, expected_log, misfit, read_log, write_log
from sequester.release.fields import bare, shown

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import polars as pl


def check_event_logs(folder: Path, files: Collection[str], frame: pl.DataFrame) -> list[str]:
    """Compare each event log that the certificate lists with the released table."""
    findings = []
    for form in get_args(LogFormat):
        path = folder / f"events.{form}"
        if path.name not in files:
            continue
        reason = misfit(frame, form)
        if reason is not None:
            findings.append(f"{path.name}: does not belong here: {bare(reason)}")
            continue
        contents = path.read_bytes()
        if contents == write_log(frame, form):
            continue
        try:
            found = read_log(contents, path.name, form)
        except (InputError, OSError) as error:
            msg = f"{path.name} is not readable: {bare(str(error).removeprefix(f'{path.name}: '))}"
            raise InputError(msg) from None
        findings += _compare(found, expected_log(frame, form), path.name) or [
            f"{path.name}: has the events of events.parquet, and is not written as a release is"
        ]
    return findings


def _compare(found: pl.DataFrame, expected: pl.DataFrame, name: str) -> list[str]:
    pair = f"{name} and events.parquet differ"
    if set(found.columns) != set(expected.columns):
        return [f"{pair}: attributes {shown(sorted(found.columns))} and {shown(sorted(expected.columns))}"]
    if found.height != expected.height:
        return [f"{pair}: {found.height:,} and {expected.height:,} events"]
    findings = []
    for column in expected.columns:
        rows = found[column].ne_missing(expected[column]).arg_true()
        if len(rows):
            findings.append(
                f"{pair}: {len(rows):,} values of {shown(column)}, the first in event {rows[0] + 1:,}, "
                f"{shown(found[column][rows[0]])} and {shown(expected[column][rows[0]])}"
            )
    return findings
