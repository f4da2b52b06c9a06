"""The folders ``release`` (for recipients) and ``internal`` (as sensitive as the input), and their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester._version import __version__
from sequester.data.places import REGION
from sequester.errors import InputError, InternalError
from sequester.hierarchies.labels import ROOT, in_label_order
from sequester.release.certificate import CERTIFICATE, HASH, NUMBERS, TECHNICAL, Certificate, column_roles
from sequester.release.fields import plain_table, safe_text
from sequester.release.files import (
    HIERARCHIES,
    REGIONS,
    cut_by_person,
    hierarchy_files,
    meds_files,
    part_file,
    unsupported_reason,
    write_log,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import BufferedReader
    from pathlib import Path

    from sequester.release.release import About, Release


ROWS_PER_GROUP = 128 * 1024
"""Rows of a group in Parquet: fixed, so that the same rows give the same bytes on every machine."""


def write_tables(release: Release, folder: Path) -> None:
    """Write every table as Parquet and as CSV, cell by cell the same, and the events as a log where asked.

    Where the input was in parts, each table is a folder of Parquet files, and there is no CSV.
    """
    for name, frame in release.tables.items():
        if release.n_parts is not None:
            (folder / name).mkdir()
            for number, part in enumerate(cut_by_person(frame, release.n_parts)):
                _write_parquet(rebuild_columns(part), folder / part_file(name, number))
            continue
        rebuilt = rebuild_columns(frame)
        _write_parquet(rebuilt, folder / f"{name}.parquet")
        rebuilt.write_csv(folder / f"{name}.csv", line_terminator="\n", quote_style="necessary")
    if release.event_log is not None and unsupported_reason(release.frame, release.event_log) is None:
        if release.event_log == "meds":
            _write_meds(release, folder)
        else:
            log = write_log(rebuild_columns(release.frame), release.event_log)
            (folder / f"events.{release.event_log}").write_bytes(log)


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="zstd", statistics=True, row_group_size=ROWS_PER_GROUP)


def _write_meds(release: Release, folder: Path) -> None:
    tables = {name: rebuild_columns(frame) for name, frame in release.tables.items()}
    files = meds_files(tables, release.hierarchies, title=release.about.title, version=__version__)
    for name, contents in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(contents)


def rebuild_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy a table so that it holds its rows and nothing else: no labels of rows that are gone.

    Examples
    --------
    >>> pages = pl.Series("page", ["a"], dtype=pl.Enum(["a", "b"]))
    >>> rebuild_columns(pl.DataFrame([pages])).dtypes
    [String]
    """
    # Series by series: in an expression, a column of the name * or ^x$ would mean others as well.
    kinds = {column: pl.Int64 if kind.is_integer() else pl.String for column, kind in frame.schema.items()}
    return pl.DataFrame([frame[column].cast(kind) for column, kind in kinds.items()]).rechunk()


HIERARCHY_COLUMNS = ["node", "parent", "leaves"]
"""The header of a released hierarchy."""
HIERARCHY_SEPARATOR = ";"
"""Between the cells of a released hierarchy."""


def hierarchy_csv(tree: pl.DataFrame) -> bytes:
    """Return a hierarchy as a release has it; the parent of the root is an empty cell."""
    parent = pl.when(pl.col("node") == ROOT).then(None).otherwise(pl.col("parent")).alias("parent")
    text: str = (
        tree.select(HIERARCHY_COLUMNS)
        .with_columns(parent)
        .write_csv(separator=HIERARCHY_SEPARATOR, line_terminator="\n", quote_style="necessary")
    )
    return text.encode()


def write_hierarchies(release: Release, folder: Path) -> None:
    """Write the hierarchy of each released attribute that has one."""
    if not release.hierarchies:
        return
    (folder / HIERARCHIES).mkdir()
    names = hierarchy_files(column for frame in release.tables.values() for column in frame.columns)
    for attribute, tree in release.hierarchies.items():
        if attribute not in names:
            msg = f"the release has a hierarchy for {attribute!r}, and no such column"
            raise InternalError(msg)
        (folder / names[attribute]).write_bytes(hierarchy_csv(tree))


def write_regions(release: Release, folder: Path) -> None:
    """Write the outlines of the released regions, and of no others, where there are places."""
    if release.regions is not None:
        values = in_label_order(release.frame[REGION].drop_nulls().unique())
        (folder / REGIONS).write_text(release.regions.geojson(values), encoding="utf-8", newline="\n")


def write_certificate(release: Release, folder: Path) -> str:
    """Write the description and the certificate of all other files, and return the certificate's own hash."""
    files = hash_folder(folder)
    described = croissant_json(
        release.about, column_roles(release), files, model=type(release.model).__name__
    )
    (folder / CROISSANT).write_bytes(described)
    files[CROISSANT] = HASH + hashlib.sha256(described).hexdigest()
    text = Certificate.of(release, files).to_json().encode()
    (folder / CERTIFICATE).write_bytes(text)
    return HASH + hashlib.sha256(text).hexdigest()


PSEUDONYMS = "pseudonyms.parquet"
"""Which person of the input has which pseudonym."""
CHANGES = "changes.parquet"
"""Every changed cell or event, keyed by input row."""
CONFIGURATION = "release.toml"
"""The configuration of the run, to repeat it."""
LEAVE_OUT = "leave-out.csv"
"""Persons without whom less would be lost, ready for ``[release] leave_out``."""
PAGE = "report.html"
"""The page."""
DOCUMENT = "report.json"
"""The numbers of the page."""


def write_internal(
    release: Release,
    folder: Path,
    *,
    config_toml: str | None,
    pseudonyms: bool,
    leave_out: Sequence[str] = (),
    certificate_sha256: str = "",
) -> None:
    """Write the internal files; pseudonyms only if asked for, or if the promise is checked with them.

    Only that file tells whose each trip is; persons cannot be counted without it. `leave_out` are persons
    who stayed out, or without whom less would be lost in a later run. A part of a series has the
    series so far, which the next part needs.
    """
    (folder / CONFIGURATION).write_text(
        _settings(release) if config_toml is None else config_toml, encoding="utf-8", newline="\n"
    )
    release.change_list.sink_parquet(folder / CHANGES)
    for name, frame in release.evidence.items():
        frame.write_parquet(folder / f"{name}.parquet")
    if pseudonyms or release.model.needs_original or release.trips:
        release.pseudonyms.write_parquet(folder / PSEUDONYMS)
    if release.series is not None:
        release.series.write(folder, certificate_sha256)
    if leave_out:
        pl.DataFrame({"person": leave_out}, schema={"person": pl.String}).write_csv(folder / LEAVE_OUT)
    for path in folder.iterdir():
        path.chmod(0o600)


def write_report(folder: Path, *, page: str, document: str) -> None:
    """Write the internal page, and its numbers."""
    for name, text in ((PAGE, page), (DOCUMENT, document)):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (folder / name).chmod(0o600)


def _settings(release: Release) -> str:
    """Return the settings of a run from Python; the roles of columns are in the program that ran it."""
    # Only needed where no configuration file was at hand.
    import tomli_w  # noqa: PLC0415

    method = {"name": release.method, **plain_table(release.parameters)}
    known = {name: value for name, value in method.items() if value is not None}
    head = "# Made from Python: the data and its roles are in the program that made it.\n"
    return head + tomli_w.dumps({"method": known, "release": {"seed": release.seed}})


LARGEST_CERTIFICATE = 16 * 2**20
"""Bytes; a longer certificate is not read at all."""

# A link is not followed and a pipe is not waited for, on systems that have such things.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_certificate(folder: Path) -> tuple[Certificate, str]:
    """Return the certificate of a release folder, and its own hash."""
    if not folder.is_dir():
        msg = f"{folder} is not a folder" if os.path.lexists(folder) else f"{folder} does not exist"
        raise InputError(msg)
    path = folder / CERTIFICATE
    if not os.path.lexists(path):
        inner = folder / "release"
        hint = f"; did you mean {inner}?" if os.path.lexists(inner / CERTIFICATE) else ""
        if any(folder.glob(f"*.{CERTIFICATE}")):
            hint = "; it is a stream: read the tables of its snapshots, and verify the folder"
        msg = f"{folder} is not a release: {CERTIFICATE} is missing{hint}"
        raise InputError(msg)
    return read_certificate_file(path)


def read_certificate_file(path: Path) -> tuple[Certificate, str]:
    """Return a certificate, and its own hash."""
    with _open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_CERTIFICATE:
            msg = f"{path.name} is larger than {LARGEST_CERTIFICATE:,} bytes, which no certificate is"
            raise InputError(msg)
        text = file.read(LARGEST_CERTIFICATE)
    return Certificate.from_json(text), HASH + hashlib.sha256(text).hexdigest()


def hash_file(path: Path) -> str:
    """Return the hash of a regular file as certificates write it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("a")
    ...     hash_file(Path(folder, "a.txt"))
    'sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'
    """
    with _open_regular(path) as file:
        return HASH + hashlib.file_digest(file, "sha256").hexdigest()


def hash_folder(folder: Path) -> dict[str, str]:
    """Return the hash of every file of a release folder but the certificate; raise on links and the like."""
    return {name: hash_file(folder / name) for name in list_files(folder) if name != CERTIFICATE}


def list_files(folder: Path) -> list[str]:
    """Return all files below a folder, sorted; raise on links and the like."""
    names, strange = _walk(folder)
    if strange:
        raise InputError(*(f"{safe_text(name)}: {reason}" for name, reason in strange.items()))
    return names


def check_files(folder: Path, expected: Mapping[str, str]) -> list[str]:
    """Return the files that are not as the certificate lists them, with the reason.

    A listed file that is not there makes the release incomplete, which is an `InputError`.
    """
    names, strange = _walk(folder)
    present = {*names, *strange}
    missing = [name for name in expected if not present & set(_parts(name))]
    if missing:
        raise InputError(*(f"the release is incomplete: {safe_text(name)} is missing" for name in missing))
    findings = {**strange}
    for name in names:
        if name == CERTIFICATE:
            continue
        if name not in expected:
            findings[name] = "is not listed in the certificate"
        elif hash_file(folder / name) != expected[name]:
            findings[name] = "is not the certified file: its hash differs"
    return [f"{safe_text(name)}: {reason}" for name, reason in sorted(findings.items())]


def _parts(name: str) -> list[str]:
    """Return a path and the folders above it."""
    steps = name.split("/")
    return ["/".join(steps[: i + 1]) for i in range(len(steps))]


def _walk(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return regular files, sorted, and why anything else is refused."""
    names: list[str] = []
    strange: dict[str, str] = {}
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / inside), key=lambda entry: entry.name)
        except OSError as error:
            msg = f"cannot read {folder / inside}: {error.strerror}"
            raise InputError(msg) from None
        if inside and not entries:
            strange[inside.rstrip("/")] = "is an empty folder, and a release has none"
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.is_symlink():
                strange[name] = "is a link, and a release has none"
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                names.append(name)
            else:
                strange[name] = "is not a regular file"
    return sorted(names), strange


def _open_regular(path: Path) -> BufferedReader:
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | _CAREFULLY), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        reason = "it is not a regular file"
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror or str(error)
    msg = f"cannot read {path}: {reason}"
    raise InputError(msg)


CROISSANT = "croissant.json"
"""The file's name in the release folder."""
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_FORMATS = {
    "csv": "text/csv",
    "parquet": "application/x-parquet",
    "xes": "application/xml",
    "spmf": "text/plain",
    "geojson": "application/geo+json",
}
_ROLES = {
    "technical": "made for the release",
    "quasi": "quasi-identifier, may be generalized; * stands for any value",
    "sensitive": "sensitive attribute",
    "quasi+sensitive": "quasi-identifier and sensitive attribute",
    "keep": "released as it was",
    "symbol": "what happened",
    "region": "region, outlined in regions.geojson",
    "quasi+region": "quasi-identifier, region outlined in regions.geojson",
}


def croissant_json(
    about: About,
    columns: Mapping[str, Mapping[str, str]],
    files: Mapping[str, str],
    *,
    model: str,
) -> bytes:
    """Return the description of a release: a function of what its certificate has, and of nothing else.

    `columns` is table to column to role, `files` is every other file with its hash.

    Examples
    --------
    >>> from sequester.release.release import About
    >>> files = {"events.csv": "sha256:00", "events.parquet": "sha256:11", "report.html": "sha256:22"}
    >>> columns = {"events": {"person": "technical", "page": "symbol"}}
    >>> document = json.loads(croissant_json(About(title="Clicks"), columns, files, model="KCPPrivacy"))
    >>> [each["@id"] for each in document["distribution"]], document["recordSet"][0]["field"][1]["name"]
    (['events.csv', 'events.parquet'], 'page')
    """
    in_parts = {table for table in columns if any(name.startswith(f"{table}/") for name in files)}
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title or "release",
        "description": about.description
        or f"A release with the privacy promise {model}, made with sequester.",
        **({"license": about.licence} if about.licence else {}),
        "url": "certificate.json",
        "version": "1.0.0",
        **({"datePublished": about.created} if about.created else {}),
        "distribution": [
            _file(name, digest)
            for name, digest in sorted(files.items())
            if name.rpartition(".")[2] in _FORMATS
        ]
        + [_file_set(table) for table in sorted(in_parts)],
        "recordSet": [
            _records(table, roles, about.columns, in_parts=table in in_parts)
            for table, roles in columns.items()
        ],
    }
    if about.publisher:
        document["creator"] = {"@type": "sc:Organization", "name": about.publisher}
        document["publisher"] = document["creator"]
    if about.contact:
        document["citeAs"] = f"Contact: {about.contact}"
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _file(name: str, digest: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": _FORMATS[name.rpartition(".")[2]],
        "sha256": digest.removeprefix("sha256:"),
    }


def _file_set(table: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{table}/",
        "name": f"{table}/",
        "encodingFormat": _FORMATS["parquet"],
        "includes": f"{table}/*.parquet",
    }


def _records(
    table: str, roles: Mapping[str, str], described: Mapping[str, str], *, in_parts: bool
) -> dict[str, Any]:
    source = {"fileSet": {"@id": f"{table}/"}} if in_parts else {"fileObject": {"@id": f"{table}.csv"}}
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table}/{column}",
                "name": column,
                "description": described.get(column) or _ROLES[role],
                "dataType": "sc:Integer" if role == TECHNICAL and column in NUMBERS else "sc:Text",
                "source": {**source, "extract": {"column": column}},
            }
            for column, role in roles.items()
        ],
    }
