"""GPS points of people who drive between home, work and shops on a grid of streets with shared avenues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester._validation import in_range
from sequester.datasets import SEED
from sequester.datasets.draws import check_n_persons, generator, repeat_keys
from sequester.ragged import offsets_of, owners_of, places_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts

    Reals = npt.NDArray[np.float64]

STREET = 200.0
"""Metres between two streets; every place stands at a crossing."""
AVENUE = 1_000.0
"""Metres between two avenues; all but the first and the last part of a trip is on one."""
CENTRE = (45.464, 9.19)
"""Latitude and longitude of the middle of the city."""
METRES_PER_DEGREE = 111_195.0
"""Along a meridian; along a parallel it is this times the cosine of the latitude."""
FASTEST = 15.4
"""Metres per second that nobody exceeds."""
_SPEEDS = np.array([8.0, 14.0, 14.0, 8.0])  # metres per second on a street, two avenues, and a street
_SLOWEST, _SWIFTEST = 0.6, 1.1  # what traffic makes of them
_HOUR = 3600
_FIRST_DAY = np.datetime64("2024-05-13T00:00:00", "s")  # a Monday
_TRIPS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class _Trips:
    """Trips in order of user and time; `start` and `end` are metres from the south-western corner."""

    user: Counts
    start: Reals
    end: Reals
    depart: Counts
    seconds: Counts


def make(
    *,
    persons: int = 1_000,
    seed: str = SEED,
    days: int = 1,
    every: int = 60,
    size: float = 12_000.0,
    errands: float = 0.3,
    noise: float = 4.0,
) -> pl.DataFrame:
    """Make points: ``user``, ``trip`` (numbered over the days), ``lat``, ``lon``, ``at``, in order per user.

    Everybody drives to work in the morning and back in the afternoon, some by way of a shop. Homes are spread
    around neighbourhoods, works are in three districts, shops stand where avenues cross. A trip follows its
    street to an avenue, one avenue and then another across the city, and a street to its end, at 17 to 55
    km/h as the traffic of the hour allows.

    Parameters
    ----------
    persons
        Number of users.
    seed
        The same text gives the same points.
    days
        Days in a row on which everybody drives.
    every
        Whole seconds between two points; a trip also has a point at its end.
    size
        Metres from one side of the city to the other, 2,000 to 40,000.
    errands
        Share of the ways home that lead past a shop, which makes them two trips.
    noise
        Standard deviation of the receiver's error, in metres in each direction.

    Examples
    --------
    >>> points = make(persons=3, errands=0)
    >>> points.columns
    ['user', 'trip', 'lat', 'lon', 'at']
    >>> points.group_by("user", maintain_order=True).agg(pl.col("trip").max()).rows()
    [('u1', 2), ('u2', 2), ('u3', 2)]
    """
    check_n_persons(persons)
    in_range("days", days, 1)
    in_range("every", every, 1)
    in_range("noise", noise, 0)
    in_range("errands", errands, 0, 1)
    in_range("size", size, 2_000, 40_000)
    chance = generator("trips", seed)
    trips = _trips(chance, persons, days, size, errands)
    n_points = 1 + -(-trips.seconds // every)
    number = 1 + np.arange(len(trips.user)) - np.searchsorted(trips.user, trips.user)
    # In parts small enough to stay in the processor's cache.
    points = pl.concat(
        _points(chance, trips, slice(low, low + _TRIPS_AT_ONCE), n_points, number, every, size, noise)
        for low in range(0, len(trips.user), _TRIPS_AT_ONCE)
    )
    per_user = np.bincount(trips.user, weights=n_points, minlength=persons).astype(np.int64)
    return points.insert_column(0, repeat_keys("u", per_user).alias("user"))


def _places(chance: np.random.Generator, centres: Reals, persons: int, spread: float, size: float) -> Reals:
    """Draw for each person a crossing of streets around one of the centres."""
    middle = centres[chance.integers(0, len(centres), persons)]
    near = middle + chance.normal(0, spread, (persons, 2))
    crossings: Reals = np.clip(np.round(near / STREET), 0, size // STREET) * STREET
    return crossings


def _trips(chance: np.random.Generator, persons: int, days: int, size: float, errands: float) -> _Trips:
    """Plan each person's days: to work, to a shop or home, and from the shop home."""
    homes = _places(chance, chance.uniform(0.05, 0.95, (12, 2)) * size, persons, size / 12, size)
    works = _places(chance, chance.uniform(0.3, 0.7, (3, 2)) * size, persons, size / 30, size)
    shops = chance.integers(0, int(size // AVENUE) + 1, (20, 2)) * AVENUE
    user = np.repeat(np.arange(persons), days)
    home, work = homes[user], works[user]
    shop = shops[chance.integers(0, len(shops), (persons, 3))[user, chance.integers(0, 3, len(user))]]
    has_errand = chance.random(len(user)) < errands
    stops = [home, work, np.where(has_errand[:, None], shop, home), home]
    clock = np.tile(np.arange(days), persons) * 24 * _HOUR
    # Whatever is drawn, a day is over before the next one begins at five in the morning.
    hours = (
        np.clip(chance.normal(8.0, 0.8, len(user)), 5, 9.5),
        np.clip(chance.normal(8.5, 1.0, len(user)), 5, 10),
        chance.uniform(0.2, 1, len(user)),
    )
    departs, durations = [], []
    for stay, start, end in zip(hours, stops[:-1], stops[1:], strict=True):
        clock = clock + (stay * _HOUR).astype(np.int64)
        departs.append(clock)
        durations.append(_seconds(chance, clock, start, end))
        clock = clock + durations[-1]
    is_made = np.stack([np.ones_like(has_errand), np.ones_like(has_errand), has_errand], axis=1)
    return _Trips(
        user=np.repeat(user, is_made.sum(axis=1)),
        start=np.stack(stops[:-1], axis=1)[is_made],
        end=np.stack(stops[1:], axis=1)[is_made],
        depart=np.stack(departs, axis=1)[is_made],
        seconds=np.stack(durations, axis=1)[is_made],
    )


def _corners(start: Reals, end: Reals) -> Reals:
    """Return the five corners of each way: along a street, an avenue, another avenue, and a street."""
    avenue = np.round(start[:, 0] / AVENUE) * AVENUE
    across = np.round(end[:, 1] / AVENUE) * AVENUE
    return np.stack(
        [
            start,
            np.stack([avenue, start[:, 1]], axis=1),
            np.stack([avenue, across], axis=1),
            np.stack([end[:, 0], across], axis=1),
            end,
        ],
        axis=1,
    )


def _seconds(chance: np.random.Generator, depart: Counts, start: Reals, end: Reals) -> Counts:
    """Return how long each way takes in the traffic of its hour."""
    hour = depart % (24 * _HOUR) / _HOUR
    rush = np.exp(-(((hour - 8.25) / 0.75) ** 2)) + np.exp(-(((hour - 17.75) / 0.75) ** 2))
    pace = np.clip(chance.normal(1 - 0.25 * rush, 0.1), _SLOWEST, _SWIFTEST)
    metres = np.abs(np.diff(_corners(start, end), axis=1)).sum(axis=2)
    seconds: Counts = np.ceil((metres / _SPEEDS).sum(axis=1) / pace).astype(np.int64)
    return seconds


def _points(
    chance: np.random.Generator,
    trips: _Trips,
    part: slice,
    n_points: Counts,
    number: Counts,
    every: int,
    size: float,
    noise: float,
) -> pl.DataFrame:
    """Place each point of some trips on its way by the time that has passed since the departure."""
    corners = _corners(trips.start[part], trips.end[part])
    needed = np.abs(np.diff(corners, axis=1)).sum(axis=2) / _SPEEDS
    reached = np.concatenate([np.zeros((len(needed), 1)), np.cumsum(needed, axis=1)], axis=1)
    offsets = offsets_of(n_points[part])
    trip, rank = owners_of(offsets), places_of(offsets)
    duration = trips.seconds[part][trip]
    passed = np.minimum(rank * every, duration)
    along = passed * (reached[:, -1] / np.maximum(trips.seconds[part], 1))[trip]
    corner = 5 * trip
    for turn in (1, 2, 3):
        corner += along > reached[:, turn][trip]
    begun = reached.ravel()[corner]
    done = (along - begun) / np.maximum(reached.ravel()[corner + 1] - begun, 1e-9)
    x, y = (line[corner] + done * (line[corner + 1] - line[corner]) for line in corners.reshape(-1, 2).T)
    east, north = np.stack([x, y]) - size / 2 + chance.normal(0, noise, (len(trip), 2)).T
    at = _FIRST_DAY + (trips.depart[part][trip] + passed).astype("timedelta64[s]")
    return pl.DataFrame(
        {
            "trip": number[part][trip],
            "lat": np.round(CENTRE[0] + north / METRES_PER_DEGREE, 6),
            "lon": np.round(CENTRE[1] + east / (METRES_PER_DEGREE * np.cos(np.radians(CENTRE[0]))), 6),
            "at": at.astype("datetime64[us]"),
        }
    )
