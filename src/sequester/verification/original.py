"""Compare a release with the original: its claim, its values, and its pseudonyms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.places import REGION
from sequester.data.sequences import Sequences
from sequester.data.text import as_labels
from sequester.errors import InputError
from sequester.hierarchies.labels import MISSING, ROOT, in_label_order
from sequester.privacy.l_diversity import COUNT
from sequester.ragged import gather_rows
from sequester.release.certificate import (
    AREA,
    CERTIFICATE,
    KEEP,
    QUASI,
    QUASI_AREA,
    QUASI_SENSITIVE,
    REGION_ROLES,
    SENSITIVE,
    SYMBOL,
    TECHNICAL,
    columns_with_role,
)
from sequester.release.fields import plain_table, safe_repr
from sequester.release.files import REGIONS, first_of_each, hierarchy_files
from sequester.release.release import EVENTS, PERSON, PERSONS

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.schema import Schema
    from sequester.data.table import EventTable
    from sequester.privacy import PrivacyModel
    from sequester.release.certificate import Certificate
    from sequester.verification.contents import Contents


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
    """Return each value in which a certificate differs from what was asked for.

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
            findings.append(f"claims {certificate.model}, but the configuration says {asked}")
    elif protected is not None and "protect" in certificate.claim:
        published = {"protect": certificate.claim["protect"]}
        findings += _compare_tables("claim", published, plain_table({"protect": protected}))
    if method is not None:
        name, parameters = method
        if name != certificate.method:
            findings.append(
                f"names the method {safe_repr(certificate.method)}, "
                f"but the configuration says {safe_repr(name)}"
            )
        else:
            findings += _compare_tables("method", certificate.parameters, plain_table(parameters))
    if schema is not None and certificate.columns:
        findings += _compare_roles(certificate, configured_roles(schema, places=places))
    return [f"{CERTIFICATE}: {finding}" for finding in findings]


def _compare_tables(what: str, published: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """Compare parameters, and lists of values in them value by value."""
    findings = []
    for name in dict.fromkeys((*asked, *published)):
        here, there = published.get(name), asked.get(name)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            findings += _compare_tables(f"{what}: {name}", here, there)
        elif name not in published:
            findings.append(f"{what}: has no {name}, but the configuration asks for {safe_repr(there)}")
        elif name not in asked:
            findings.append(
                f"{what}: has {safe_repr(name)} = {safe_repr(here)}, but the configuration does not"
            )
        elif _in_order(here) != _in_order(there):
            lists = (here, there) if isinstance(here, list) and isinstance(there, list) else ([], [])
            differing = [
                *(
                    f"{what}: {name} is without {safe_repr(value)}, but the configuration asks for it"
                    for value in lists[1]
                    if value not in lists[0]
                ),
                *(
                    f"{what}: {name} has {safe_repr(value)}, but the configuration does not"
                    for value in lists[0]
                    if value not in lists[1]
                ),
            ]
            findings += differing or [
                f"{what}: says {name} = {safe_repr(here)}, but the configuration says {safe_repr(there)}"
            ]
    return findings


def _in_order(value: object) -> object:
    """Return a value so that lists of the same values are equal, and true is not 1."""
    return sorted(map(repr, value)) if isinstance(value, list) else (value, isinstance(value, bool))


def configured_roles(schema: Schema, *, places: bool) -> dict[str, str]:
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
    published = [
        (column, role)
        for columns in certificate.columns.values()
        for column, role in columns.items()
        if role != TECHNICAL
    ]
    released = {column for column, _ in published}
    findings = [
        f"column {safe_repr(column)} is not released, and is {role} by the configuration"
        for column, role in asked.items()
        if column not in released
    ]
    for column, role in published:
        if column not in asked:
            findings.append(
                f"column {safe_repr(column)} is {role}, but the configuration releases no such column"
            )
        elif role != asked[column]:
            findings.append(
                f"column {safe_repr(column)} is {role}, but the configuration says {asked[column]}"
            )
    return findings


def compare_contents(
    folder: Path, certificate: Certificate, contents: Contents, original: EventTable
) -> list[str]:
    """Find released values, nodes and outlines that the original does not have."""
    findings = _compare_hierarchies(certificate, contents, original)
    findings += _compare_values(certificate, contents, original)
    if original.regions is not None and columns_with_role(certificate.columns, REGION_ROLES):
        values = in_label_order(contents.frame[REGION].unique())
        if (folder / REGIONS).read_text(encoding="utf-8") != original.regions.geojson(values):
            findings.append(f"{REGIONS}: the outlines are not those of the configuration's regions")
    return findings


def _compare_hierarchies(certificate: Certificate, contents: Contents, original: EventTable) -> list[str]:
    files = hierarchy_files(column for roles in certificate.columns.values() for column in roles)
    findings, trees = [], original.histories.hierarchies
    is_later = certificate.series is not None and certificate.series.part > 1
    for column, tree in contents.hierarchies.items():
        if column not in trees:
            findings.append(f"{files[column]}: the configuration has no hierarchy of {safe_repr(column)}")
            continue
        try:
            cells = contents.persons if column in contents.persons.columns else contents.frame
            asked = trees[column].above(cells[column].unique().to_list())
        except InputError as error:
            findings.append(f"{files[column]}: {error.lines[0]}")
            continue
        # A later part may know of leaves that only earlier parts had, and so list others.
        columns = ["node", "parent"] if is_later else ["node", "parent", "leaves"]
        here, there = tree.select(columns), asked.select(columns)
        both = pl.concat([there, here])
        differing = both.filter(both.is_unique())["node"].unique(maintain_order=True)
        if not is_later and not len(differing) and not here.equals(there):
            findings.append(
                f"{files[column]}: the nodes are not in the order of the configuration's hierarchy"
            )
        findings += [
            f"{files[column]}: node {safe_repr(node)} is not as in the configuration's hierarchy: parent and "
            f"leaves are {_rows_of(node, here)}, and {_rows_of(node, there)} there"
            for node in differing.head(_SHOWN)
        ]
    return findings


def _rows_of(node: str, tree: pl.DataFrame) -> str:
    """Return the parent of a node, and its leaves where they count."""
    return safe_repr([row for _, *row in tree.filter(tree["node"] == node).iter_rows()])


def _compare_values(certificate: Certificate, contents: Contents, original: EventTable) -> list[str]:
    """Find symbols that the original does not have, and sensitive or kept values that it has less often.

    Those of an event are compared together: they are released as they are, or not at all. Sensitive ones that
    may be suppressed, because they may be known, are compared column by column.
    """
    findings, whole = [], original
    for name, frame in contents.tables.items():
        roles = certificate.columns[name]
        original = whole.demographics if name == PERSONS and whole.demographics is not None else whole
        for column in columns_with_role({name: roles}, (SYMBOL, AREA)):
            labels = _labels(original, column).unique()
            known = {*contents.hierarchies.get(column, {"node": ()})["node"], *labels}
            strange = sorted(set(frame[column].unique()) - known)
            findings += [
                f"{certificate.data_file(name)}: column {safe_repr(column)} has {safe_repr(label)}, "
                "and the original does not"
                for label in strange[:_SHOWN]
            ]
        sensitive, kept = (columns_with_role({name: roles}, (role,)) for role in (SENSITIVE, KEEP))
        may_be_suppressed = bool(certificate.claim.get("sensitive_known"))
        together = [*([column] for column in sensitive), kept] if may_be_suppressed else [[*sensitive, *kept]]
        for columns in filter(None, together):
            # In tables of values a row stands for several records. Series by series: names may be anything.
            weights = frame[COUNT] if COUNT in roles else pl.Series([1]).new_from_index(0, frame.height)
            here = _tally([frame[column] for column in columns], weights.cast(pl.Int64))
            texts = [_labels(original, column) for column in columns]
            there = _tally(texts, pl.Series([1]).new_from_index(0, original.n_events))
            keys, rows = here.columns[:-1], PERSONS if name == PERSONS else EVENTS
            both = here.join(there, on=keys, how="left", suffix="_there").sort(keys)
            more = both.filter(pl.col("n") > pl.col("n_there").fill_null(0))
            if may_be_suppressed and columns != kept:
                more = more.filter(pl.col(keys[0]) != ROOT)
            findings += [
                f"{certificate.data_file(name)}: {n:,} {rows} have "
                f"{safe_repr(dict(zip(columns, values, strict=True)))}, the "
                f"original has {n_there or 0:,} of them"
                for *values, n, n_there in more.head(_SHOWN).iter_rows()
            ]
    return findings


def _tally(columns: Sequence[pl.Series], weights: pl.Series) -> pl.DataFrame:
    """Count the rows that are alike in all `columns`."""
    rows = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    keys = rows.columns
    tally = rows.with_columns(weights.alias("n")).group_by(keys).agg(pl.col("n").sum())
    return tally.with_columns(pl.col(keys).cast(pl.String))


def _labels(original: EventTable, column: str) -> pl.Series:
    return as_labels(original.frame[column]).fill_null(MISSING)


_NAME = r"^p[0-9a-f]{1,16}$"
PSEUDONYM = "pseudonym"
"""Its column of released names, beside ``person`` as in the input."""


def check_names(tables: Mapping[str, pl.DataFrame], certificate: Certificate) -> list[str]:
    """Find persons whose names are no pseudonyms, or who are not sorted by them.

    A name in the form of a pseudonym may still be anybody's; an order beside that of the names cannot.
    """
    findings = []
    for name, frame in tables.items():
        names, file = first_of_each(frame[PERSON]), certificate.data_file(name)
        strange = names.filter(~names.str.contains(_NAME))
        if len(strange):
            reason = f"{safe_repr(strange[0])} is not a pseudonym: those are p and hexadecimal digits"
            findings.append(f"{file}: {reason}")
        elif not names.str.slice(1).str.zfill(16).is_sorted():
            findings.append(f"{file}: persons do not stand in the order of their pseudonyms")
    return findings


def check_pseudonyms(
    path: Path, frame: pl.DataFrame, original: EventTable, *, later: bool = False
) -> list[str]:
    """Find released persons that the file does not know, and persons that the original does not know.

    The file of a `later` part of a series has persons of earlier parts, too.
    """
    try:
        known = read_pseudonyms(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        msg = f"{path} is not readable as a table of {PERSON} and {PSEUDONYM}: {error}"
        raise InputError(msg) from None
    if known.null_count().sum_horizontal().item():
        msg = f"{path} has missing cells"
        raise InputError(msg)
    if known[PSEUDONYM].n_unique() < known.height:
        return [f"{path.name}: a pseudonym stands for two persons"]
    findings = []
    # One person counted as several would make any candidate set look large enough. Trips have a name each.
    named, trips = known[PERSON].value_counts(name="names"), original.persons.value_counts(name="trips")
    both = named.join(trips.rename({trips.columns[0]: PERSON}), on=PERSON)
    repeated = both.filter(pl.col("names") > pl.col("trips")).height
    if repeated:
        than = "one pseudonym" if original.owners is None else "a pseudonym per trip"
        findings.append(f"{path.name}: {repeated:,} of its persons have more than {than}")
    released = pl.DataFrame({PERSON: first_of_each(frame[PERSON])})
    nameless = released.join(known, left_on=PERSON, right_on=PSEUDONYM, how="anti")
    if nameless.height:
        findings.append(
            f"{path.name}: {nameless.height:,} released persons are not in it, for example "
            f"{safe_repr(nameless[PERSON].min())}"
        )
    if later:
        known = known.join(released, left_on=PSEUDONYM, right_on=PERSON, how="semi")
    strangers = known.join(pl.DataFrame({PERSON: original.persons}), on=PERSON, how="anti")
    if strangers.height:
        findings.append(f"{path.name}: {strangers.height:,} of its persons are not in the original")
    return findings


def read_pseudonyms(path: Path) -> pl.DataFrame:
    """Return the table of pseudonyms: ``person`` as in the input, and ``pseudonym``."""
    return pl.read_parquet(path, columns=[PERSON, PSEUDONYM], memory_map=False).cast(pl.String)


def with_owners(known: pl.DataFrame, released: EventTable) -> Sequences:
    """Return the released trips with their persons.

    `check_pseudonyms` has found nothing wrong with those `known`.
    """
    names = pl.DataFrame({PSEUDONYM: released.persons}).join(
        known, on=PSEUDONYM, how="left", maintain_order="left"
    )
    owners = names[PERSON].rank("dense").cast(pl.Int32).to_numpy() - 1
    return replace(released.sequences, owners=owners.astype(np.int32))


def align_to_original(known: pl.DataFrame, released: EventTable, original: EventTable) -> Sequences:
    """Return the released persons in the order of the original; who is not released has no events.

    `check_pseudonyms` has found nothing wrong with those `known`.
    """
    places = pl.DataFrame({PERSON: original.persons}).with_row_index("place")
    names = pl.DataFrame({PSEUDONYM: released.persons}).join(
        known.join(places, on=PERSON), on=PSEUDONYM, how="left", maintain_order="left"
    )
    sequences = released.sequences
    # One row more than there are released persons: that of those without events.
    rows = np.full(original.n_persons, released.n_persons, np.int64)
    rows[names["place"].to_numpy()] = np.arange(released.n_persons)
    offsets = np.append(sequences.person_offsets, sequences.person_offsets[-1:])
    items, offsets = gather_rows(sequences.codes, offsets, rows)
    return Sequences(offsets, {sequences.symbol: items}, sequences.codebooks)
