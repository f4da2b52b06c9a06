"""The tables ``trip`` and ``[data.place]`` of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from sequester.data.place import DensityRegions, Gap, GridRegions, H3Regions, Place
from sequester.workflow.hierarchy_settings import Table

KINDS = ("density", "grid", "h3")
"""What ``kind`` of regions may be."""


class TripSettings(Table):
    """What separates the trips of a person."""

    gap: str
    """A new trip begins where more time passes between two events: "90s", "30min", "2h", "1d"."""

    def value(self) -> Gap:
        """Make what splits persons into trips."""
        return Gap(self.gap)


class DensitySettings(Table):
    """Rectangles of cells that many trajectories touch."""

    kind: Literal["density"]
    """The kind of regions."""
    cell: int | float
    """Metres from one side of a cell to the other."""
    threshold: int | float
    """Share of the trajectories that touch a dense cell, and the cells of a region on average."""
    touch: Literal["points", "segments"] = "points"
    """What touches a cell: points, or also the straight lines between them."""

    def value(self) -> DensityRegions:
        """Make the kind of regions."""
        return DensityRegions(self.cell, self.threshold, self.touch)


class GridSettings(Table):
    """Every cell of a grid that a point lies in."""

    kind: Literal["grid"]
    """The kind of regions."""
    cell: int | float
    """Metres from one side of a cell to the other."""

    def value(self) -> GridRegions:
        """Make the kind of regions."""
        return GridRegions(self.cell)


class H3Settings(Table):
    """Every H3 cell that a point lies in; needs the extra geo."""

    kind: Literal["h3"]
    """The kind of regions."""
    resolution: int
    """0 (continents) to 15 (less than a square metre)."""

    def value(self) -> H3Regions:
        """Make the kind of regions."""
        return H3Regions(self.resolution)


def _tag(given: object) -> str | None:
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return f"<{kind}>" if kind in KINDS else None


RegionSettings = Annotated[
    Annotated[DensitySettings, Tag("<density>")]
    | Annotated[GridSettings, Tag("<grid>")]
    | Annotated[H3Settings, Tag("<h3>")],
    Discriminator(_tag),
    Field(description=f"kind = one of {', '.join(KINDS)}."),
]
"""One of the kinds, told apart by ``kind``."""


class PlaceSettings(Table):
    """Coordinates that become regions: the symbol, or a quasi-identifier beside sensitive columns."""

    lat: str
    """The column of latitudes, in degrees."""
    lon: str
    """The column of longitudes, in degrees."""
    regions: RegionSettings
    time_of_day: list[int] = Field(default_factory=list)
    """Hours at which another part of the day begins; symbols are then a region and a part of the day."""
    max_speed: int | float | None = None
    """Metres per second; points that could only be reached faster follow invalid."""

    def value(self) -> Place:
        """Make what turns points into regions."""
        return Place(self.lat, self.lon, self.regions.value(), self.time_of_day, self.max_speed)
