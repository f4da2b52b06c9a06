"""The regions that points became: their outlines, what lies above them, and how far they are apart."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sequester.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    Reals = npt.NDArray[np.float64]

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
        """Tell the region and the part of the day of a symbol; the part is empty where there is none."""
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
        """Give latitude and longitude of the middle of each symbol's region, or group of regions."""
        found = np.empty((len(symbols), 2))
        for number, symbol in enumerate(symbols):
            region = self.split(symbol)[0]
            found[number] = self.inner.get(region) or np.mean(self.outlines[region], axis=0)
        return found

    def metres(self, symbols: Sequence[str], others: Sequence[str] | None = None) -> Reals:
        """Give the metres between the middles of the regions of each of `symbols` and each of `others`."""
        lat, lon = np.radians(self.centres(symbols)).T[:, :, None]
        other_lat, other_lon = np.radians(self.centres(symbols if others is None else others)).T[:, None, :]
        north, east = np.sin((lat - other_lat) / 2), np.sin((lon - other_lon) / 2)
        chord = north**2 + np.cos(lat) * np.cos(other_lat) * east**2
        apart: Reals = 2 * EARTH * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
        return apart

    def minutes(self, symbols: Sequence[str], others: Sequence[str]) -> Reals:
        """Give the minutes between the parts of the day of symbols and of others; 0 where parts adjoin."""
        start, length = self._hours(symbols)[:, :, None]
        other_start, other_length = self._hours(others)[:, None, :]
        # From the end of one part on to the start of the other, either way round; below 0 where they overlap.
        apart: Reals = np.minimum(
            (start - other_start) % _DAY - other_length, (other_start - start) % _DAY - length
        )
        return np.maximum(apart, 0)

    def _hours(self, symbols: Sequence[str]) -> Reals:
        """Give the first minute of each symbol's part of the day, and how many it has."""
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
    """Give the corners of a rectangle, counter-clockwise."""
    return (south, west), (south, east), (north, east), (north, west)


def _written(ring: Ring) -> list[list[float]]:
    corners = [[round(lon, _DIGITS), round(lat, _DIGITS)] for lat, lon in ring]
    return [*corners, corners[0]]
