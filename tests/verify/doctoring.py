"""Change a written release as a forger would, with or without new hashes."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl


def edit_certificate(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the certificate's document in place."""
    path = folder / "certificate.json"
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


def rehash(folder: Path) -> None:
    """Make the certificate list the files as they are now."""

    def change(document: dict[str, Any]) -> None:
        document["files"] = {
            path.relative_to(folder).as_posix(): f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "certificate.json"
        }

    edit_certificate(folder, change)


def recount(folder: Path, frame: pl.DataFrame) -> None:
    """Make the certificate count the table as it is now."""

    def change(document: dict[str, Any]) -> None:
        document["counts"] = {"persons": frame["person"].n_unique(), "events": frame.height}

    edit_certificate(folder, change)


def replace_table(folder: Path, frame: pl.DataFrame) -> None:
    """Put another table in the release, with hashes and counts that fit."""
    frame.write_parquet(folder / "events.parquet")
    frame.write_csv(folder / "events.csv")
    rehash(folder)
    recount(folder, frame)
