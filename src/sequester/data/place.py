"""Where: the columns of coordinates, the kind of regions they become, and what separates trips."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

REGION = "region"
"""The column of regions, in a table and in a release."""
FINEST_H3 = 15
"""The largest resolution of H3."""
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_GAP = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h|d)")


def _positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        msg = f"{name} must be a number above 0, got {value!r}"
        raise ParameterError(msg)


@dataclass(frozen=True, slots=True)
class GridRegions:
    """Every cell of a square grid that a point lies in is a region."""

    cell: float
    """Metres from one side of a cell to the other."""

    def __post_init__(self) -> None:
        _positive("cell", self.cell)
        _not_tiny(self.cell)


@dataclass(frozen=True, slots=True)
class DensityRegions:
    """Disjoint rectangles of cells that many trajectories touch.

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), section 5.1, after Giannotti and others (2007).
    """

    cell: float
    """Metres from one side of a cell to the other."""
    threshold: float
    """Share of the trajectories that a dense cell has, and the cells of a region on average."""
    touch: Literal["points", "segments"] = "points"
    """What touches a cell: a point in it, or also the straight line between two points."""

    def __post_init__(self) -> None:
        _positive("cell", self.cell)
        _not_tiny(self.cell)
        _positive("threshold", self.threshold)
        if self.threshold > 1:
            msg = (
                f"threshold must be a share of the trajectories, above 0 and at most 1, got {self.threshold}"
            )
            raise ParameterError(msg)
        if self.touch not in ("points", "segments"):
            msg = f'touch must be "points" or "segments", got {self.touch!r}'
            raise ParameterError(msg)


@dataclass(frozen=True, slots=True)
class H3Regions:
    """Every H3 cell that a point lies in is a region. Needs the extra ``geo``."""

    resolution: int
    """0, continents, to 15, less than a square metre."""

    def __post_init__(self) -> None:
        resolution: object = self.resolution
        if (
            isinstance(resolution, bool)
            or not isinstance(resolution, int)
            or not 0 <= resolution <= FINEST_H3
        ):
            msg = f"resolution must be a whole number from 0 to {FINEST_H3}, got {resolution!r}"
            raise ParameterError(msg)


def _not_tiny(cell: float) -> None:
    # A row or column of the earth must have a number of 31 bits.
    if cell < 1:
        msg = f"cell must be at least 1 metre, got {cell}"
        raise ParameterError(msg)


@dataclass(frozen=True, slots=True)
class Gap:
    """A person's next trip begins where so much time passes between two events.

    Examples
    --------
    >>> Gap("30min").micros
    1800000000
    >>> Gap("soon")
    Traceback (most recent call last):
    sequester.errors.ParameterError: gap must be a number of s, min, h or d such as "30min", got 'soon'
    """

    gap: str
    """A number and a unit: s, min, h or d."""

    def __post_init__(self) -> None:
        gap: object = self.gap
        if not isinstance(gap, str) or _GAP.fullmatch(gap) is None or self.micros <= 0:
            msg = f'gap must be a number of s, min, h or d such as "30min", got {gap!r}'
            raise ParameterError(msg)

    @property
    def micros(self) -> int:
        """The gap in microseconds."""
        number, unit = _GAP.fullmatch(self.gap).groups()  # type: ignore[union-attr]
        return round(float(number) * _UNITS[unit] * 10**6)


@dataclass(frozen=True, slots=True, init=False)
class Place:
    """The coordinates of events, in degrees, and the regions that they become.

    Examples
    --------
    >>> Place("lat", "lon", GridRegions(500), time_of_day=[6, 10, 16, 20]).parts
    ('06-10', '10-16', '16-20', '20-06')
    """

    lat: str
    """The column of latitudes."""
    lon: str
    """The column of longitudes."""
    regions: GridRegions | DensityRegions | H3Regions
    """What becomes a region."""
    time_of_day: tuple[int, ...]
    """Hours at which another part of the day begins; a symbol is then a region and a part of the day."""
    max_speed: float | None
    """Metres per second; a point that could only be reached faster is invalid."""

    def __init__(
        self,
        lat: str,
        lon: str,
        regions: GridRegions | DensityRegions | H3Regions,
        time_of_day: Sequence[int] = (),
        max_speed: float | None = None,
    ) -> None:
        hours = tuple(time_of_day)
        if not all(
            isinstance(hour, int) and not isinstance(hour, bool) and 0 <= hour <= 23 for hour in hours
        ):
            msg = f"time_of_day must be whole hours from 0 to 23, got {list(hours)}"
            raise ParameterError(msg)
        if len(hours) == 1 or any(late <= early for early, late in pairwise(hours)):
            msg = f"time_of_day must be at least two hours, each later than the one before, got {list(hours)}"
            raise ParameterError(msg)
        if max_speed is not None:
            _positive("max_speed", max_speed)
        for name, value in (
            ("lat", lat),
            ("lon", lon),
            ("regions", regions),
            ("time_of_day", hours),
            ("max_speed", max_speed),
        ):
            object.__setattr__(self, name, value)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the day, each by its first and last hour; none where the day has no parts."""
        hours = self.time_of_day
        return tuple(f"{hour:02}-{hours[(number + 1) % len(hours)]:02}" for number, hour in enumerate(hours))
