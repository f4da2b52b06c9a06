"""What the certificate says, against what was asked for, and what is released, against the original."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sequester.data.place import REGION
from sequester.data.text import as_text
from sequester.errors import InputError
from sequester.hierarchies.labels import MISSING, in_label_order
from sequester.privacy.skew import COUNT
from sequester.release.certificate import CERTIFICATE
from sequester.release.fields import plain_table, shown
from sequester.release.file_names import REGIONS, hierarchy_files
from sequester.release.roles import (
    AREA,
    KEEP,
    QUASI,
    QUASI_AREA,
    QUASI_SENSITIVE,
    REGION_ROLES,
    SENSITIVE,
    SYMBOL,
    TECHNICAL,
)
from sequester.verify.columns import with_role

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.schema import Schema
    from sequester.data.table import EventTable
    from sequester.privacy import PrivacyModel
    from sequester.release.certificate import Certificate
    from sequester.verify.contents import Contents

_SHOWN = 5


def compare_claim(
    certificate: Certificate,
    *,
    model: PrivacyModel | None,
    schema: Schema | None,
    places: bool = False,
    protected: Mapping[str, Collection[str]] | None = None,
    method: tuple[str, Mapping[str, object]] | None = None,
) -> list[str]:
    """Name each value in which a certificate differs from what was asked for.

    `model` is the promise that was asked for, `schema` the roles of the columns (its regions are made of
    `places`), `protected` the protected values where `model` is not known, `method` the method's name and the
    parameters that may be published.
    """
    findings = []
    if model is not None:
        asked = type(model).__name__
        if asked == certificate.model:
            findings += _compare_tables("claim", certificate.claim, plain_table(model.claim()))
        else:
            findings.append(f"claims {certificate.model}, and the configuration {asked}")
    elif protected is not None and "protect" in certificate.claim:
        told = {"protect": certificate.claim["protect"]}
        findings += _compare_tables("claim", told, plain_table({"protect": protected}))
    if method is not None:
        name, parameters = method
        if name != certificate.method:
            findings.append(
                f"names the method {shown(certificate.method)}, and the configuration {shown(name)}"
            )
        else:
            findings += _compare_tables("method", certificate.parameters, plain_table(parameters))
    if schema is not None and certificate.columns:
        findings += _compare_roles(certificate, asked_roles(schema, places=places))
    return [f"{CERTIFICATE}: {finding}" for finding in findings]


def _compare_tables(what: str, told: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """Compare parameters, and lists of values in them value by value."""
    findings = []
    for name in dict.fromkeys((*asked, *told)):
        here, there = told.get(name), asked.get(name)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            findings += _compare_tables(f"{what}: {name}", here, there)
        elif (
            isinstance(here, list)
            and isinstance(there, list)
            and sorted(map(repr, here)) != sorted(map(repr, there))
        ):
            findings += [
                f"{what}: {name} is without {shown(value)}, and the configuration asks for it"
                for value in there
                if value not in here
            ]
            findings += [
                f"{what}: {name} has {shown(value)}, and the configuration does not"
                for value in here
                if value not in there
            ]
        elif name not in told:
            findings.append(f"{what}: has no {name}, and the configuration asks for {shown(there)}")
        elif name not in asked:
            findings.append(f"{what}: has {shown(name)} = {shown(here)}, and the configuration does not")
        elif not isinstance(here, list) and (
            here != there or isinstance(here, bool) != isinstance(there, bool)
        ):
            findings.append(f"{what}: says {name} = {shown(here)}, and the configuration {shown(there)}")
    return findings


def asked_roles(schema: Schema, *, places: bool) -> dict[str, str]:
    """Return the role that a configuration gives to each column that a release may have."""
    area, region = (QUASI_AREA, AREA) if places else (QUASI, SYMBOL)
    if schema.symbol is not None:
        return {schema.symbol.column: region}
    sensitive = schema.sensitive_columns
    return {
        **dict.fromkeys(sensitive, SENSITIVE),
        **dict.fromkeys(schema.keep, KEEP),
        **{
            column: QUASI_SENSITIVE if column in sensitive else area if column == AREA else QUASI
            for column in schema.quasi
        },
    }


def _compare_roles(certificate: Certificate, asked: Mapping[str, str]) -> list[str]:
    told = [
        (column, role)
        for columns in certificate.columns.values()
        for column, role in columns.items()
        if role != TECHNICAL
    ]
    released = {column for column, _ in told}
    findings = [
        f"column {shown(column)} is not released, and is {role} by the configuration"
        for column, role in asked.items()
        if column not in released
    ]
    for column, role in told:
        if column not in asked:
            findings.append(
                f"column {shown(column)} is {role}, and the configuration releases no such column"
            )
        elif role != asked[column]:
            findings.append(f"column {shown(column)} is {role}, and the configuration says {asked[column]}")
    return findings


def compare_contents(
    folder: Path, certificate: Certificate, contents: Contents, original: EventTable
) -> list[str]:
    """Find released values, nodes and outlines that the original does not have."""
    findings = _compare_hierarchies(certificate, contents, original)
    findings += _compare_values(certificate, contents, original)
    if original.regions is not None and with_role(certificate.columns, REGION_ROLES):
        values = in_label_order(contents.frame[REGION].unique())
        if (folder / REGIONS).read_text(encoding="utf-8") != original.regions.geojson(values):
            findings.append(f"{REGIONS}: the outlines are not those of the configuration's regions")
    return findings


def _compare_hierarchies(certificate: Certificate, contents: Contents, original: EventTable) -> list[str]:
    files = hierarchy_files(column for roles in certificate.columns.values() for column in roles)
    findings = []
    for column, tree in contents.hierarchies.items():
        if column not in original.hierarchies:
            findings.append(f"{files[column]}: the configuration has no hierarchy of {shown(column)}")
            continue
        try:
            asked = original.hierarchies[column].above(contents.frame[column].unique().to_list())
        except InputError as error:
            findings.append(f"{files[column]}: {error.lines[0]}")
            continue
        told, known = (
            {
                node: (parent, leaves)
                for node, parent, leaves in each.select("node", "parent", "leaves").iter_rows()
            }
            for each in (tree, asked)
        )
        if list(told) != list(known) and told.keys() == known.keys():
            findings.append(
                f"{files[column]}: the nodes are not in the order of the configuration's hierarchy"
            )
        differing = [node for node in dict.fromkeys((*known, *told)) if told.get(node) != known.get(node)]
        findings += [
            f"{files[column]}: node {shown(node)} is not as in the configuration's hierarchy: parent and "
            f"leaves are {shown(told.get(node))}, and {shown(known.get(node))} there"
            for node in differing[:_SHOWN]
        ]
    return findings


def _compare_values(certificate: Certificate, contents: Contents, original: EventTable) -> list[str]:
    """Find symbols that the original does not have, and sensitive or kept values that it has less often.

    Those of an event are compared together: they are released as they are, or not at all.
    """
    findings = []
    for name, frame in contents.tables.items():
        roles = certificate.columns[name]
        for column in with_role({name: roles}, (SYMBOL, AREA)):
            known = {*contents.hierarchies.get(column, {"node": ()})["node"], *_labels(original, column)}
            strange = sorted(set(frame[column].to_list()) - known)
            findings += [
                f"{name}.parquet: column {shown(column)} has {shown(label)}, and the original does not"
                for label in strange[:_SHOWN]
            ]
        columns = with_role({name: roles}, (SENSITIVE, KEEP))
        if columns:
            # In tables of values a row stands for several records. Series by series: names may be anything.
            weights = frame[COUNT] if COUNT in roles else pl.Series([1]).new_from_index(0, frame.height)
            here = _tally([frame[column] for column in columns], weights.cast(pl.Int64))
            texts = [_labels(original, column) for column in columns]
            there = _tally(texts, pl.Series([1]).new_from_index(0, original.n_events))
            keys = here.columns[:-1]
            both = here.join(there, on=keys, how="left", suffix="_there").sort(keys)
            more = both.filter(pl.col("n") > pl.col("n_there").fill_null(0))
            findings += [
                f"{name}.parquet: {n:,} events have {shown(dict(zip(columns, values, strict=True)))}, the "
                f"original has {n_there or 0:,} of them"
                for *values, n, n_there in more.head(_SHOWN).iter_rows()
            ]
    return findings


def _tally(columns: Sequence[pl.Series], weights: pl.Series) -> pl.DataFrame:
    """Count the rows that are alike in all `columns`."""
    rows = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    keys = rows.columns
    return rows.with_columns(weights.alias("n")).group_by(keys).agg(pl.col("n").sum())


def _labels(original: EventTable, column: str) -> pl.Series:
    return as_text(original.frame[column]).fill_null(MISSING)
