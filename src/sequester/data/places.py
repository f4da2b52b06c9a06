"""Coordinates and trips in a schema, and the regions that points become."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester._validation import one_of, positive, within
from sequester.errors import ParameterError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.kinds import FINEST, load_h3

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes

    Reals = npt.NDArray[np.float64]


REGION = "region"
"""The column of regions, in a table and in a release."""
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_GAP = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h|d)")


@dataclass(frozen=True, slots=True)
class GridRegions:
    """Every cell of a square grid that a point lies in is a region."""

    cell: float
    """Metres from one side of a cell to the other."""

    def __post_init__(self) -> None:
        _check_cell(self.cell)


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
        _check_cell(self.cell)
        if positive("threshold", self.threshold) > 1:
            msg = (
                f"threshold must be a share of the trajectories, above 0 and at most 1, got {self.threshold}"
            )
            raise ParameterError(msg)
        one_of("touch", self.touch, ("points", "segments"))


@dataclass(frozen=True, slots=True)
class H3Regions:
    """Every H3 cell that a point lies in is a region. Needs the extra ``geo``."""

    resolution: int
    """0, continents, to 15, less than a square metre."""

    def __post_init__(self) -> None:
        within("resolution", self.resolution, 0, FINEST)


def _check_cell(cell: float) -> None:
    # A row or column of the earth must have a number of 31 bits.
    if positive("cell", cell) < 1:
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


@dataclass(frozen=True, slots=True)
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
    time_of_day: Sequence[int] = ()
    """Hours at which another part of the day begins; a symbol is then a region and a part of the day."""
    max_speed: float | None = None
    """Metres per second; a point that could only be reached faster is invalid."""

    def __post_init__(self) -> None:
        hours = tuple(self.time_of_day)
        if not all(
            isinstance(hour, int) and not isinstance(hour, bool) and 0 <= hour <= 23 for hour in hours
        ):
            msg = f"time_of_day must be whole hours from 0 to 23, got {list(hours)}"
            raise ParameterError(msg)
        if len(hours) == 1 or any(late <= early for early, late in pairwise(hours)):
            msg = f"time_of_day must be at least two hours, each later than the one before, got {list(hours)}"
            raise ParameterError(msg)
        if self.max_speed is not None:
            positive("max_speed", self.max_speed)
        object.__setattr__(self, "time_of_day", hours)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the day, each by its first and last hour; none where the day has no parts."""
        hours = self.time_of_day
        return tuple(f"{hour:02}-{hours[(number + 1) % len(hours)]:02}" for number, hour in enumerate(hours))


Ring = tuple[tuple[float, float], ...]
"""The corners of an outline as (latitude, longitude), the first one not repeated."""
AT = "@"
"""Between a region and a part of the day."""
EARTH = 6_371_008.8
"""Mean radius of the earth in metres."""
_DIGITS = 6
_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions by label, each with its outline and the groups above it; a day may have parts.

    Examples
    --------
    >>> squares = {"west": box(0, 0, 1, 1), "east": box(0, 1, 1, 2), "both": box(0, 0, 1, 2)}
    >>> regions = Regions(squares, {"west": ("both",), "east": ("both",)}, ("06-18", "18-06"))
    >>> regions.symbols
    ('west@06-18', 'west@18-06', 'east@06-18', 'east@18-06')
    >>> print(regions.hierarchy(["west@06-18", "east@18-06"]))
    * (2 leaves)
      both (2 leaves)
        east (1 leaf)
          east@18-06
        west (1 leaf)
          west@06-18
    """

    outlines: Mapping[str, Ring]
    """The outline of each region and of each group above."""
    groups: Mapping[str, tuple[str, ...]]
    """Region to the groups it lies in, finest first; the regions are in the order of their codes."""
    parts: tuple[str, ...] = ()
    """The parts of the day, by their first and last hour, such as ``06-10``."""
    inner: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Region to its middle, where that is not the middle of its corners."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The regions, in the order of their codes."""
        return tuple(self.groups)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The regions, or each region with each part of the day."""
        if not self.parts:
            return self.labels
        return tuple(f"{region}{AT}{part}" for region in self.groups for part in self.parts)

    def split(self, symbol: str) -> tuple[str, str]:
        """Return the region and the part of the day of a symbol; the part is empty where there is none."""
        region, _, part = symbol.partition(AT) if self.parts else (symbol, "", "")
        return region, part

    def hierarchy(self, symbols: Iterable[str], *, missing: bool = False) -> Hierarchy:
        """Make the tree of `symbols`: parts of the day join first, then regions in their groups."""
        wanted = list(symbols)
        tree = Hierarchy.from_paths([symbol, *self._above(symbol), "*"] for symbol in wanted)
        return tree.build(wanted, column="region", missing=missing)

    def _above(self, symbol: str) -> list[str]:
        region, part = self.split(symbol)
        above = list(self.groups[region])
        if part:
            above.insert(0, region)
            if len(self.parts) > 2:
                above.insert(0, f"{region}{AT}{self._pair(part)}")
        return above

    def _pair(self, part: str) -> str:
        """Join a part of the day with the one beside it: the first with the second, and so on."""
        number = self.parts.index(part) // 2 * 2
        last = self.parts[min(number + 1, len(self.parts) - 1)]
        joined = f"{self.parts[number][:2]}-{last[-2:]}"
        # The last of an odd number of parts has nobody to join; its group must not be named like it.
        return joined if joined != part else f"{joined} alone"

    def centres(self, symbols: Sequence[str]) -> Reals:
        """Return latitude and longitude of the middle of each symbol's region, or group of regions."""
        found = np.empty((len(symbols), 2))
        for number, symbol in enumerate(symbols):
            region = self.split(symbol)[0]
            found[number] = self.inner.get(region) or np.mean(self.outlines[region], axis=0)
        return found

    def metres(self, symbols: Sequence[str], others: Sequence[str] | None = None) -> Reals:
        """Return the metres between the middles of the regions of each of `symbols` and each of `others`."""
        lat, lon = np.radians(self.centres(symbols)).T[:, :, None]
        other_lat, other_lon = np.radians(self.centres(symbols if others is None else others)).T[:, None, :]
        north, east = np.sin((lat - other_lat) / 2), np.sin((lon - other_lon) / 2)
        chord = north**2 + np.cos(lat) * np.cos(other_lat) * east**2
        apart: Reals = 2 * EARTH * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
        return apart

    def minutes(self, symbols: Sequence[str], others: Sequence[str]) -> Reals:
        """Return the minutes between the parts of the day of symbols and of others; 0 where parts adjoin."""
        start, length = self._hours(symbols)[:, :, None]
        other_start, other_length = self._hours(others)[:, None, :]
        # From the end of one part on to the start of the other, either way round; below 0 where they overlap.
        apart: Reals = np.minimum(
            (start - other_start) % _DAY - other_length, (other_start - start) % _DAY - length
        )
        return np.maximum(apart, 0)

    def _hours(self, symbols: Sequence[str]) -> Reals:
        """Return the first minute of each symbol's part of the day, and how many it has."""
        parts = [self.split(symbol)[1] for symbol in symbols]
        start, end = (np.array([60.0 * int(part[at]) for part in parts]) for at in (slice(2), slice(3, 5)))
        return np.stack([start, np.where(end > start, end - start, end - start + _DAY)])

    def geojson(self, values: Iterable[str]) -> str:
        """Write the outlines of the regions of `values`, and of no others, as GeoJSON."""
        wanted = dict.fromkeys(self.split(value)[0] for value in values)
        features = [
            {
                "type": "Feature",
                "properties": {"region": region},
                "geometry": {"type": "Polygon", "coordinates": [_written(self.outlines[region])]},
            }
            for region in wanted
            if region in self.outlines
        ]
        document = {"type": "FeatureCollection", "features": features}
        return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def box(south: float, west: float, north: float, east: float) -> Ring:
    """Return the corners of a rectangle, counter-clockwise."""
    return (south, west), (south, east), (north, east), (north, west)


def _written(ring: Ring) -> list[list[float]]:
    corners = [[round(lon, _DIGITS), round(lat, _DIGITS)] for lat, lon in ring]
    return [*corners, corners[0]]


def h3_regions(lat: Reals, lon: Reals, resolution: int, parts: tuple[str, ...]) -> tuple[Codes, Regions]:
    """Return the region of each point, and the regions."""
    h3 = load_h3()
    # The library takes one place at a time, so each place is asked for once.
    places, place_of_point = np.unique(np.stack([lat, lon], axis=1), axis=0, return_inverse=True)
    names = np.array([h3.latlng_to_cell(*place, resolution) for place in places.tolist()], dtype=object)
    labels, region_of_place = np.unique(names, return_inverse=True)
    groups = {
        label: tuple(h3.cell_to_parent(label, coarse) for coarse in range(resolution - 1, -1, -1))
        for label in labels.tolist()
    }
    # A level at which all cells have one parent says no more than the root.
    n_levels = max((sum(len(set(level)) > 1 for level in zip(*groups.values(), strict=True)), 0))
    groups = {label: above[:n_levels] for label, above in groups.items()}
    nodes = dict.fromkeys([*groups, *(group for above in groups.values() for group in above)])
    outlines = {node: tuple(h3.cell_to_boundary(node)) for node in nodes}
    inner = {node: tuple(h3.cell_to_latlng(node)) for node in nodes}
    codes = region_of_place.reshape(-1).astype(np.int32)[place_of_point.reshape(-1)]
    return codes, Regions(outlines, groups, parts, inner)
