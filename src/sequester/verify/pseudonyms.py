"""Who is who, where the house checks its own release: every pseudonym belongs to a person of the original."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.sequences import Sequences
from sequester.errors import InputError
from sequester.release.fields import shown
from sequester.release.release import PERSON
from sequester.verify.tables import person_starts

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.table import EventTable

PSEUDONYMS = "pseudonyms.parquet"
"""The file in ``internal/`` that tells who is who."""
_NAME = r"^p[0-9a-f]{1,16}$"
PSEUDONYM = "pseudonym"
"""Its column of released names, beside ``person`` as in the input."""


def check_names(frame: pl.DataFrame) -> list[str]:
    """Find persons whose names are not drawn by chance, or who do not stand in the order of their names.

    A name in the form of a pseudonym may still be anybody's; an order beside that of the names cannot.
    """
    names = frame[PERSON].gather(person_starts(frame[PERSON]))
    strange = names.filter(~names.str.contains(_NAME))
    if len(strange):
        return [f"events.parquet: {shown(strange[0])} is no pseudonym: those are p and hexadecimal digits"]
    if not names.str.slice(1).str.zfill(16).is_sorted():
        return ["events.parquet: persons do not stand in the order of their pseudonyms"]
    return []


def check_pseudonyms(path: Path, frame: pl.DataFrame, original: EventTable) -> list[str]:
    """Find released persons that the file does not know, and persons that the original does not know."""
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
    # One person counted as several would make any crowd look large enough. Trips have a name each.
    named, trips = known[PERSON].value_counts(name="names"), original.persons.value_counts(name="trips")
    both = named.join(trips.rename({trips.columns[0]: PERSON}), on=PERSON)
    repeated = both.filter(pl.col("names") > pl.col("trips")).height
    if repeated:
        than = "one pseudonym" if original.owners is None else "a pseudonym per trip"
        findings.append(f"{path.name}: {repeated:,} of its persons have more than {than}")
    released = pl.DataFrame({PERSON: frame[PERSON].gather(person_starts(frame[PERSON]))})
    nameless = released.join(known, left_on=PERSON, right_on=PSEUDONYM, how="anti")
    if nameless.height:
        findings.append(
            f"{path.name}: {nameless.height:,} released persons are not in it, for example "
            f"{shown(nameless[PERSON].min())}"
        )
    strangers = known.join(pl.DataFrame({PERSON: original.persons}), on=PERSON, how="anti")
    if strangers.height:
        findings.append(f"{path.name}: {strangers.height:,} of its persons are not in the original")
    return findings


def read_pseudonyms(path: Path) -> pl.DataFrame:
    """Read who is who: ``person`` as in the input, and ``pseudonym``."""
    return pl.read_parquet(path, columns=[PERSON, PSEUDONYM], memory_map=False).cast(pl.String)


def with_owners(known: pl.DataFrame, released: EventTable) -> Sequences:
    """Tell whose each released trip is.

    `check_pseudonyms` has found nothing wrong with those `known`.
    """
    names = pl.DataFrame({PSEUDONYM: released.persons}).join(
        known, on=PSEUDONYM, how="left", maintain_order="left"
    )
    owners = names[PERSON].rank("dense").cast(pl.Int32).to_numpy() - 1
    return replace(released.sequences, owners=owners.astype(np.int32))


def in_order_of(known: pl.DataFrame, released: EventTable, original: EventTable) -> Sequences:
    """Put the released persons in the order of the original; who is not released has no events.

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
    items, offsets = kernels.distinct.gather_rows(sequences.columns[sequences.symbol], offsets, rows)
    return Sequences(offsets, {sequences.symbol: items}, sequences.codebooks)
