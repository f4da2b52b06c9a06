"""Records that arrive day by day, with one sensitive value each that is sometimes far too common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range
from sequester.datasets import SEED
from sequester.datasets.draws import check_n_persons, generator, repeat_keys

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts, Mask

    Shares = npt.NDArray[np.float64]

DIAGNOSES = (
    "influenza",
    "gastroenteritis",
    "hypertension",
    "asthma",
    "fracture",
    "migraine",
    "depression",
    "hepatitis",
    "tuberculosis",
    "HIV",
)
"""The sensitive values, the most frequent first."""
_FIRST_DAY = np.datetime64("2024-01-01", "D")  # a Monday
_WEEK = np.array([1.25, 1.1, 1.05, 1.05, 1.1, 0.75, 0.7])
_DISTRICTS = 24


def make(
    *,
    persons: int = 10_000,
    seed: str = SEED,
    days: int = 90,
    mean_records: float = 1.3,
    skew: float = 0.7,
    outbreaks: float = 0.1,
) -> pl.DataFrame:
    """Make records: ``patient``, ``date``, ``sex``, ``age``, ``district``, ``diagnosis``, in order of date.

    Nobody has two records on one day; sex, age and district are the same in all records of a patient. On an
    ordinary day the diagnoses follow a Zipf law; in an outbreak, one of the first three takes 60 to 90 % of
    the day, which is then not even 2-eligible.

    Parameters
    ----------
    persons
        Number of patients, each with at least one record.
    seed
        The same text gives the same records.
    days
        Days in a row; Mondays are busy, weekends are quiet.
    mean_records
        Records per patient, on average, before a second one on the same day is dropped; at least 1.
    skew
        Exponent of the Zipf law: the share of the r-th diagnosis goes with ``r ** -skew``, so 0 makes all
        equally frequent.
    outbreaks
        Share of days with an outbreak, met to the nearest day.

    Examples
    --------
    >>> records = make(persons=100, days=7)
    >>> records.columns
    ['patient', 'date', 'sex', 'age', 'district', 'diagnosis']
    >>> records["date"].is_sorted(), records.select("date", "patient").is_unique().all()
    (True, True)
    """
    check_n_persons(persons)
    in_range("days", days, 1)
    in_range("mean_records", mean_records, 1)
    in_range("skew", skew, 0)
    in_range("outbreaks", outbreaks, 0, 1)
    chance = generator("days", seed)
    day, patient = _appearances(chance, persons, days, mean_records)
    shares = _shares(chance, days, skew, round(outbreaks * days))
    diagnosis = (chance.random(len(day))[:, None] >= np.cumsum(shares, axis=1)[day, :-1]).sum(axis=1)
    sex = chance.integers(0, 2, persons)
    age = np.clip(chance.gamma(4, 11, persons), 0, 99).astype(np.int64)
    weights = 1 / np.arange(1, _DISTRICTS + 1)
    district = chance.choice(_DISTRICTS, persons, p=weights / weights.sum())
    return pl.DataFrame(
        {
            "patient": repeat_keys("p", np.ones(persons, np.int64)).gather(patient),
            "date": _FIRST_DAY + day,
            "sex": pl.Series(["F", "M"]).gather(sex[patient]),
            "age": age[patient],
            "district": repeat_keys("D", np.ones(_DISTRICTS, np.int64)).gather(district[patient]),
            "diagnosis": pl.Series(DIAGNOSES).gather(diagnosis),
        }
    )


def _appearances(
    chance: np.random.Generator, persons: int, days: int, mean_records: float
) -> tuple[Counts, Counts]:
    """Draw who comes on which day: pairs without repeats, sorted by day and in random order within it."""
    lengths = 1 + chance.poisson(mean_records - 1, persons)
    patient = np.repeat(np.arange(persons), lengths)
    busy = np.cumsum(_WEEK[np.arange(days) % 7])
    day = np.searchsorted(busy / busy[-1], chance.random(len(patient)), side="right")
    day = np.minimum(day, days - 1)
    pairs = np.unique(day * persons + patient)
    day, patient = np.divmod(pairs, persons)
    order = np.lexsort((chance.random(len(day)), day))
    return day, patient[order]


def _shares(chance: np.random.Generator, days: int, skew: float, n_outbreaks: int) -> Shares:
    """Return how frequent each diagnosis is on each day."""
    ordinary = np.arange(1.0, len(DIAGNOSES) + 1) ** -skew
    shares = np.tile(ordinary / ordinary.sum(), (days, 1))
    is_outbreak: Mask = np.zeros(days, np.bool_)
    is_outbreak[chance.choice(days, n_outbreaks, replace=False)] = True
    spreading = chance.integers(0, 3, n_outbreaks)
    taken = chance.uniform(0.6, 0.9, n_outbreaks)
    shares[is_outbreak] *= 1 - taken[:, None]
    shares[is_outbreak, spreading] += taken
    return shares
