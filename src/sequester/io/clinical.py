"""Folders of clinical data: recognize the model they follow, and read their events and persons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sequester.errors import InputError
from sequester.io.contents import check_path
from sequester.io.database import Database
from sequester.io.fhir import Fhir, resource_files
from sequester.io.meds import Meds, is_meds
from sequester.io.omop import Omop, is_omop

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from sequester.hierarchies.builder import HierarchyBuilder

CLINICAL = ("omop", "fhir", "meds")
"""Formats that are folders with events, persons and a vocabulary."""


class ClinicalFolder(Protocol):
    """Two tables out of a folder, and the hierarchy of what happened."""

    concept: str
    """The column of events that says what happened."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not read, one line each."""
        ...

    def events(self) -> pl.DataFrame:
        """Return one row per event."""
        ...

    def persons(self) -> pl.DataFrame:
        """Return one row per person."""
        ...

    def has_hierarchy(self) -> bool:
        """Return whether the vocabulary says which concept lies under which."""
        ...

    def hierarchy(self) -> HierarchyBuilder:
        """Return what builds the hierarchy of the concepts; refuse a vocabulary that has none."""
        ...


def recognize(path: Path) -> str | None:
    """Return the model that a folder follows; None where it is a file or another folder."""
    if not path.is_dir():
        return None
    try:
        found = {"omop": is_omop(path), "fhir": bool(resource_files(path)), "meds": is_meds(path)}
    except OSError:  # reading it says why
        return None
    return next((form for form, fits in found.items() if fits), None)


def open_clinical(
    path: Path | Database,
    format: str,  # noqa: A002 - the name it has in the configuration
    tables: Sequence[str] | None = None,
) -> ClinicalFolder:
    """Open a folder in one of the formats of `CLINICAL`, or an OMOP database, or refuse it."""
    if isinstance(path, Database):
        return Omop(path, tables)
    check_path(path)
    if not path.is_dir():
        msg = f"{path}: is a file, and {format} is a folder"
        raise InputError(msg)
    if format == "omop":
        return Omop(path, tables)
    return Fhir(path) if format == "fhir" else Meds(path)
