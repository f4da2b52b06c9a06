"""Hospital visits with what a neighbour may know about them, and a disease that is nobody's business."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range
from sequester.datasets import SEED
from sequester.datasets.draws import check_persons, generator, repeat_keys
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from sequester._typing import Counts, Mask

PROTECTED = ("Abortion", "Alcoholism", "Cancer", "Depression", "HIV")
"""Diseases that a steward would protect."""
ORDINARY = ("Asthma", "Flu", "Fracture", "Gastritis", "Hypertension", "Migraine", "Pneumonia", "Sprain")
"""Diseases that are no secret."""
YEARS = (2008, 2009, 2010)
"""Years of admission."""
_AREAS = 40


def make(
    *,
    persons: int = 1_000,
    seed: str = SEED,
    mean_events: float = 2.5,
    protected_share: float = 0.18,
) -> pl.DataFrame:
    """Make visits: ``PID``, ``VID``, ``AdmYr``, ``ZIP``, ``DSFC``, ``LOS``, ``Disease``, in order per person.

    ``DSFC`` counts days since the first visit of that year, so it grows with ``VID`` within a year. Nine
    in ten persons never move, so their ``ZIP`` is the same at every visit.

    Parameters
    ----------
    persons
        Number of persons, each with at least one visit.
    seed
        The same text gives the same visits.
    mean_events
        Visits per person, on average; at least 1.
    protected_share
        Share of persons with at least one disease of `PROTECTED`, 0 to 1; met to the nearest person.

    Examples
    --------
    >>> visits = make(persons=100, protected_share=0.2)
    >>> visits.filter(pl.col("Disease").is_in(PROTECTED))["PID"].n_unique()
    20
    """
    check_persons(persons)
    in_range("mean_events", mean_events, 1)
    in_range("protected_share", protected_share, 0, 1)
    chance = generator("hospital", seed)
    lengths = 1 + chance.poisson(mean_events - 1, persons)
    offsets = offsets_of(lengths)
    year, since_first = _admissions(chance, lengths)
    return pl.DataFrame(
        {
            "PID": repeat_keys("p", lengths),
            "VID": np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + 1,
            "AdmYr": year,
            "ZIP": _zips(chance, lengths),
            "DSFC": since_first,
            "LOS": np.minimum(chance.geometric(0.18, offsets[-1]) - 1, 60),
            "Disease": _diseases(chance, lengths, round(protected_share * persons)),
        }
    )


def make_persons(*, persons: int = 1_000, seed: str = SEED) -> pl.DataFrame:
    """Make the patients of the visits of the same `persons` and `seed`: ``PID``, ``Sex``, ``BirthYear``.

    Examples
    --------
    >>> patients = make_persons(persons=100)
    >>> patients.columns, make(persons=100)["PID"].unique().is_in(patients["PID"].implode()).all()
    (['PID', 'Sex', 'BirthYear'], True)
    """
    check_persons(persons)
    # Draws of its own, so that the visits are what they are without patients.
    chance = generator("hospital persons", seed)
    ages = np.clip(chance.normal(52, 20, persons), 0, 95).astype(np.int64)
    return pl.DataFrame(
        {
            "PID": repeat_keys("p", np.ones(persons, np.int64)),
            "Sex": pl.Series(["F", "M"]).gather(chance.integers(0, 2, persons)),
            "BirthYear": YEARS[0] - ages,
        }
    )


def _admissions(chance: np.random.Generator, lengths: Counts) -> tuple[Counts, Counts]:
    """Draw days of admission, sorted per person: their year, and days since the first one of that year."""
    person = np.repeat(np.arange(len(lengths)), lengths)
    day = chance.integers(0, 365 * len(YEARS), len(person))
    day = day[np.lexsort((day, person))]
    year, day_of_year = np.divmod(day, 365)
    is_first = np.ones(len(person), np.bool_)
    is_first[1:] = (person[1:] != person[:-1]) | (year[1:] != year[:-1])
    first = day_of_year[is_first][np.cumsum(is_first) - 1]
    return np.array(YEARS)[year], day_of_year - first


def _zips(chance: np.random.Generator, lengths: Counts) -> pl.Series:
    """Draw a home for each person, often in a few crowded areas; one in ten moves once."""
    offsets = offsets_of(lengths)
    areas = 10_000 + np.sort(chance.choice(90_000, _AREAS, replace=False))
    crowd = 1 / np.arange(1, _AREAS + 1)
    homes = chance.choice(areas, (len(lengths), 2), p=crowd / crowd.sum())
    visit = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    moved_after = np.where(chance.random(len(lengths)) < 0.1, chance.integers(1, 1 + lengths), lengths)
    has_moved = visit >= np.repeat(moved_after, lengths)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return pl.Series(homes[owner, has_moved.astype(np.int64)]).cast(pl.String)


def _diseases(chance: np.random.Generator, lengths: Counts, n_protected: int) -> pl.Series:
    """Draw exactly `n_protected` persons with a protected disease at one visit, or sometimes at several."""
    offsets = offsets_of(lengths)
    n_visits = int(offsets[-1])
    labels = pl.Series(ORDINARY + PROTECTED)
    codes = chance.integers(0, len(ORDINARY), n_visits)
    chosen: Mask = np.zeros(len(lengths), np.bool_)
    chosen[chance.choice(len(lengths), n_protected, replace=False)] = True
    is_protected = np.repeat(chosen, lengths) & (chance.random(n_visits) < 0.2)
    is_protected[offsets[:-1][chosen] + chance.integers(0, lengths[chosen])] = True
    own = len(ORDINARY) + chance.integers(0, len(PROTECTED), len(lengths))
    return labels.gather(np.where(is_protected, np.repeat(own, lengths), codes))
