"""Change a written release as a forger would, with or without new hashes."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from sequester.errors import InputError
from sequester.release.certificate import Certificate
from sequester.release.files import LogFormat, unsupported_reason, write_log
from sequester.release.folder import croissant_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from verification.honest import Publisher


def edit_certificate(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the certificate's document in place."""
    path = folder / "certificate.json"
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


def rehash(folder: Path, *, describe: bool = True) -> None:
    """Make the certificate list the files as they are now, and the description say what it says."""

    def change(document: dict[str, Any]) -> None:
        document["files"] = {
            path.relative_to(folder).as_posix(): _hash(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "certificate.json"
        }

    edit_certificate(folder, change)
    path = folder / "croissant.json"
    if describe and path.is_file():
        try:
            certificate = Certificate.from_json((folder / "certificate.json").read_bytes())
        except InputError:
            return
        others = {name: digest for name, digest in certificate.files.items() if name != path.name}
        try:
            described = croissant_json(
                certificate.about, certificate.columns, others, model=certificate.model
            )
        except (UnicodeError, OSError):
            return
        path.write_bytes(described)
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


class Copy:
    """A copy of a release that somebody changes, and whose certificate is made to fit again.

    Of a stream, one snapshot is changed. What is written is written as an honest release is, so that nothing
    but the change itself can be noticed.
    """

    def __init__(self, publisher: Publisher, place: Path) -> None:
        shutil.copytree(publisher.out, place, symlinks=True)
        self.publisher = publisher
        self.folder = place if publisher.is_stream else place / "release"
        self.boasts = False
        """The certificate's figures are the forgery, and stay as they are."""
        self.last: list[Callable[[], None]] = []
        """What is done when the certificate fits."""
        found = sorted(self.folder.glob("*certificate.json"))
        self.stem = found[0].name.removesuffix("certificate.json")

    def path(self, name: str) -> Path:
        """Give a file of the release."""
        return self.folder / f"{self.stem}{name}"

    @property
    def certificate(self) -> Path:
        """The file of the certificate."""
        return self.path("certificate.json")

    @property
    def document(self) -> dict[str, Any]:
        """The certificate, as it is now."""
        return json.loads(self.certificate.read_bytes())

    @contextmanager
    def certify(self) -> Iterator[dict[str, Any]]:
        """Change the certificate."""
        document = self.document
        yield document
        self.certificate.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    @property
    def tables(self) -> list[str]:
        """Names of the tables, the main one first."""
        names = ("events", "records", "values", *(["persons"] if "persons" in self.publisher.name else []))
        return [name for name in names if self.path(f"{name}.parquet").exists()]

    def frame(self, name: str | None = None) -> pl.DataFrame:
        """Read a table."""
        return pl.read_parquet(self.path(f"{name or self.tables[0]}.parquet"), memory_map=False)

    def put(self, frame: pl.DataFrame, name: str | None = None) -> None:
        """Put another table in the place of one, and in the event log beside it."""
        name = name or self.tables[0]
        frame = frame.rechunk()
        frame.write_parquet(
            self.path(f"{name}.parquet"), compression="zstd", statistics=True, row_group_size=128 * 1024
        )
        frame.write_csv(self.path(f"{name}.csv"), line_terminator="\n", quote_style="necessary")
        for form in get_args(LogFormat):
            if (log := self.path(f"events.{form}")).exists() and unsupported_reason(frame, form) is None:
                log.write_bytes(write_log(frame, form))

    def trees(self) -> dict[str, Path]:
        """Give the hierarchies by their columns."""
        return {path.stem: path for path in sorted((self.folder / "hierarchies").glob("*.csv"))}

    def role(self, column: str, role: str | None, table: str | None = None) -> None:
        """Let the claim say another role of a column, or none, where it says roles."""
        with self.certify() as document:
            roles = document["claim"].get("columns")
            if roles is not None:
                table = table or self.tables[0]
                claimed = {**roles[table], column: role}
                # In the order of the table, as an honest claim is.
                order = [each for each in self.frame(table).columns if each in claimed]
                roles[table] = {each: claimed[each] for each in order if claimed[each] is not None}

    def columns(self, *roles: str) -> list[str]:
        """Give the columns of the main table that have one of these roles, by claim and hierarchies."""
        document, found = self.document, {}
        claim = document["claim"]["parameters"]
        protect = claim.get("protect", {})
        sensitive = {each for name in protect for each in claim.get("columns", {}).get(name, (name,))}
        sensitive |= {claim.get("sensitive", "")}
        for column in self.frame().columns:
            technical = column in {"person", "order", "time", "group"}
            found[column] = (
                "technical"
                if technical
                else "sensitive"
                if column in sensitive
                else "quasi"
                if column in self.trees() or "sensitive" in claim
                else "keep"
                if protect
                else "symbol"
            )
        return [column for column, role in found.items() if role in roles]

    def settle(self) -> None:
        """Compute hashes and counts anew, as the forger would."""
        own = {path.name for path in self.folder.glob("*certificate.json")}
        with self.certify() as document:
            document["files"] = {
                path.relative_to(self.folder).as_posix(): _hash(path)
                for path in sorted(self.folder.rglob(f"{self.stem}*" if self.stem else "*"))
                if path.is_file() and not path.is_symlink() and path.name not in own
            }
            if not self.boasts and self.tables:
                frame = self.frame()
                everybody = self.frame("persons") if "persons" in self.tables else frame
                counts = {"persons": everybody["person"].n_unique()} if "person" in frame.columns else {}
                document["counts"] = {**counts, "events": frame.height}
        for change in self.last:
            change()

    def achieve(self, achieved: Mapping[str, float]) -> None:
        """Let the certificate say that the files achieve what they do."""
        with self.certify() as document:
            document["verdict"]["achieved"] = dict(achieved)


def _hash(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
