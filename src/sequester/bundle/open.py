"""Open a release as a recipient: the table, what its values mean, and what is promised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.errors import InputError
from sequester.verify.files import check_files, read_certificate
from sequester.verify.nodes import read_hierarchies
from sequester.verify.records import LAYOUTS, read_records
from sequester.verify.tables import EVENTS, read_events

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl

    from sequester.release.certificate import Certificate


@dataclass(frozen=True, slots=True)
class Opened:
    """A release that came from somebody else; its files are those that the certificate lists."""

    frame: pl.DataFrame
    """One row per event: ``person``, ``order``, then the attributes; or one per record, from ``time`` on."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Per attribute that has one: ``node``, ``parent`` (empty at the root) and ``leaves``."""
    certificate: Certificate
    """What is promised, how it was checked, and what is not promised."""
    tables: Mapping[str, pl.DataFrame]
    """Every table by its name, the main one first."""


def open_release(path: str | os.PathLike[str]) -> Opened:
    """Read a release folder; files that are not as certified are refused.

    The claim itself is checked by `sequester.verify`, which takes longer.
    """
    folder = Path(path)
    certificate, _ = read_certificate(folder)
    findings = check_files(folder, certificate.files)
    if findings:
        raise InputError(*findings)
    tables: dict[str, pl.DataFrame] | None
    if certificate.model in LAYOUTS:
        tables, findings = read_records(folder, certificate)
    else:
        events, findings = read_events(folder, certificate)
        tables = None if events is None else {EVENTS: events}
    if tables is None:
        raise InputError(*findings)
    frame = next(iter(tables.values()))
    hierarchies, findings = read_hierarchies(folder, certificate.files, frame)
    if findings:
        raise InputError(*findings)
    return Opened(frame, hierarchies, certificate, tables)
