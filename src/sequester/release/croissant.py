"""A description of a release for programs: Croissant, the vocabulary of schema.org for data sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sequester.privacy.l_diversity import COUNT, GROUP
from sequester.release.release import ORDER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.release.release import About

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
                "dataType": "sc:Integer" if _is_number(column, role) else "sc:Text",
                "source": {**source, "extract": {"column": column}},
            }
            for column, role in roles.items()
        ],
    }


def _is_number(column: str, role: str) -> bool:
    return role == "technical" and column in (ORDER, GROUP, COUNT)
