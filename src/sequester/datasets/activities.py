"""One person's log of daily activities over months, with a taxonomy of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range
from sequester.datasets import SEED
from sequester.datasets.draws import MOST_PERSONS, check_n_persons, generator, repeat_keys
from sequester.hierarchies import Hierarchy

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask

    Reals = npt.NDArray[np.float64]

TAXONOMY = {
    "home": {
        "rest": ["nap", "sleep"],
        "hygiene": ["bath", "brush teeth", "shower", "toilet"],
        "meal": ["breakfast", "coffee", "dinner", "lunch", "snack"],
        "leisure": ["gaming", "music", "phone", "reading", "tv"],
        "housework": ["cleaning", "cooking", "laundry"],
    },
    "away": {
        "work": ["desk", "meeting"],
        "travel": ["bicycle", "bus", "walk"],
        "errand": ["bank", "groceries", "pharmacy"],
        "health": ["doctor", "gym", "therapy"],
        "going out": ["bar", "cinema", "friends"],
    },
}
"""Two halves of a life, groups of activities, and the activities."""
SENSITIVE = (("therapy", "pharmacy"), ("bar", "sleep"))
"""Patterns that the person of the log would rather not show."""

_WORKDAYS = (1.0,) * 5 + (0.0,) * 2
_ALL = (1.0,) * 7

# The day in order: the usual activity, what stands in for it, minutes, how likely from Monday to Sunday.
_DAY: tuple[tuple[str, tuple[str, ...], float, tuple[float, ...]], ...] = (
    ("toilet", (), 5, (0.95,) * 7),
    ("shower", ("bath",), 14, (0.8,) * 5 + (0.6,) * 2),
    ("breakfast", ("coffee", "snack"), 20, (0.9,) * 7),
    ("brush teeth", (), 4, (0.9,) * 7),
    ("bus", ("bicycle", "walk"), 30, _WORKDAYS),
    ("desk", ("meeting",), 120, _WORKDAYS),
    ("coffee", ("snack", "phone"), 12, (0.7,) * 5 + (0.4,) * 2),
    ("desk", ("meeting",), 90, _WORKDAYS),
    ("cleaning", ("laundry", "reading"), 60, (0.02,) * 5 + (0.6,) * 2),
    ("lunch", ("snack",), 35, (0.95,) * 7),
    ("toilet", (), 5, (0.8,) * 7),
    ("meeting", ("desk",), 60, (0.8, 0.4, 0.8, 0.4, 0.3, 0.0, 0.0)),
    ("desk", ("meeting",), 130, _WORKDAYS),
    ("nap", ("music", "phone"), 40, (0.0,) * 5 + (0.5,) * 2),
    ("bus", ("bicycle", "walk"), 30, _WORKDAYS),
    ("therapy", (), 55, (0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0)),
    ("pharmacy", ("walk",), 10, (0.03, 0.6, 0.03, 0.03, 0.03, 0.05, 0.0)),
    ("doctor", (), 40, (0.02, 0.02, 0.02, 0.02, 0.02, 0.0, 0.0)),
    ("groceries", ("bank", "walk"), 35, (0.3, 0.1, 0.3, 0.2, 0.4, 0.6, 0.05)),
    ("gym", ("walk", "bicycle"), 60, (0.5, 0.0, 0.5, 0.1, 0.1, 0.3, 0.2)),
    ("cooking", ("phone", "music"), 35, (0.85,) * 7),
    ("dinner", ("snack",), 35, _ALL),
    ("bar", ("cinema", "friends"), 130, (0.02, 0.02, 0.05, 0.1, 0.6, 0.6, 0.05)),
    ("tv", ("gaming", "reading", "music", "phone"), 80, (0.9,) * 4 + (0.5,) * 2 + (0.9,)),
    ("toilet", (), 5, (0.9,) * 7),
    ("brush teeth", (), 4, (0.9,) * 7),
    ("sleep", (), 0, _ALL),
)
_FIRST_DAY = np.datetime64("2024-01-01T00:00:00", "s")  # a Monday
_DAYS_AT_ONCE = 20_000

_LABELS = tuple(sorted({name for usual, others, _, _ in _DAY for name in (usual, *others)}))
_OPTIONS = [[_LABELS.index(name) for name in (usual, *others)] for usual, others, _, _ in _DAY]
_WIDTH = np.array([len(each) for each in _OPTIONS])
_TABLE = np.array([each + [each[0]] * (int(_WIDTH.max()) - len(each)) for each in _OPTIONS], np.int32)
_MINUTES = np.array([minutes for _, _, minutes, _ in _DAY])
_LIKELY = np.array([likely for _, _, _, likely in _DAY]).T


def taxonomy() -> Hierarchy:
    """Return the taxonomy of the activities as a tree.

    Examples
    --------
    >>> tree = taxonomy()
    >>> tree.generalize("therapy", 1), tree.generalize("therapy", 2)
    ('health', 'away')
    """
    return Hierarchy.from_tree(TAXONOMY)


def hierarchies() -> dict[str, Hierarchy]:
    """Return the tree of each column that has one."""
    return {"activity": taxonomy()}


def make(*, persons: int = 1, seed: str = SEED, days: int = 180, regularity: float = 0.85) -> pl.DataFrame:
    """Make a log: ``user``, ``at`` (when it begins) and ``activity``, in order of time.

    A day begins with getting up, at about seven on workdays and half past eight at weekends, and ends with
    going to sleep; between them the routine is filled with what the day of the week brings. Some hold what
    is private: every Tuesday `therapy`, and often the `pharmacy` after it.

    Parameters
    ----------
    persons
        Number of logs; each has a routine of its own.
    seed
        The same text gives the same logs.
    days
        Days in each log.
    regularity
        How much of the log is routine, 0 to 1; the rest is drawn from all that could be done at that point of
        the day, the usual included.

    Examples
    --------
    >>> log = make(days=30)
    >>> log.columns, log["at"].is_sorted(), set(log["activity"]) <= set(taxonomy())
    (['user', 'at', 'activity'], True, True)
    """
    check_n_persons(persons)
    in_range("days", days, 1)
    in_range("persons times days", persons * days, 1, MOST_PERSONS)
    in_range("regularity", regularity, 0, 1)
    chance = generator("activities", seed)
    habits = _habits(chance, persons)
    early = chance.normal(0, 0.5, persons)
    parts, per_day = [], []
    # In parts small enough to stay in the processor's cache.
    for low in range(0, persons * days, _DAYS_AT_ONCE):
        user, day = np.divmod(np.arange(low, min(low + _DAYS_AT_ONCE, persons * days)), days)
        frame, is_done = _log(chance, habits[user], early[user], day, regularity)
        parts.append(frame)
        per_day.append(is_done.sum(axis=1))
    lengths = np.concatenate(per_day).reshape(persons, days).sum(axis=1)
    return pl.concat(parts).insert_column(0, repeat_keys("u", lengths).alias("user"))


def _habits(chance: np.random.Generator, persons: int) -> Codes:
    """Choose each person's usual activity at each point of the day; the first person keeps the ones above."""
    choice = np.where(
        chance.random((persons, len(_DAY))) < 0.6, 0, chance.integers(0, _WIDTH, (persons, len(_DAY)))
    )
    choice[0] = 0
    habits: Codes = _TABLE[np.arange(len(_DAY)), choice]
    return habits


def _log(
    chance: np.random.Generator, habits: Codes, early: Reals, day: Counts, regularity: float
) -> tuple[pl.DataFrame, Mask]:
    """Draw some days: what is done, and when it begins."""
    shape = habits.shape
    is_done = chance.random(shape) < _LIKELY[day % 7]
    other = _TABLE[np.arange(len(_DAY)), chance.integers(0, _WIDTH, shape)]
    activity = np.where(chance.random(shape) < regularity, habits, other)
    is_weekend = day % 7 >= 5
    wake = np.clip(chance.normal(7 + 1.5 * is_weekend + early, 0.3), 4.5, 10.5)
    bed = np.clip(chance.normal(22.75 + 0.75 * (day % 7 >= 4) + early, 0.4), 20.5, 25.5)
    minutes = _MINUTES * np.exp(chance.normal(0, 0.3, shape)) * is_done
    before = np.cumsum(minutes, axis=1) - minutes
    hour = wake[:, None] + before / minutes.sum(axis=1, keepdims=True) * (bed - wake)[:, None]
    seconds = (hour * 3600).astype(np.int64) + day[:, None] * 86_400
    at = _FIRST_DAY + seconds[is_done].astype("timedelta64[s]")
    frame = pl.DataFrame(
        {"at": at.astype("datetime64[us]"), "activity": pl.Series(_LABELS).gather(activity[is_done])}
    )
    return frame, is_done
